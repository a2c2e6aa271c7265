"""Contract of forgettings: the recursion on the moments equals the weighted sums of its definition."""

from __future__ import annotations

import numpy as np

from driftwise.base.part import require_single
from driftwise.base.types import Forgetting, Moments, Sample, WeightFunction
from driftwise.checks.contract import CONTRACT_TOLERANCE, check_compiled, check_config, layout_of, require
from driftwise.parts.regression import contributions, empty_moments

NUM_STEPS, DIM, NUM_STATES, RIDGE = 2, 3, 4, 0.7


def check_forgetting(forgetting: Forgetting, *, num_ticks: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless a forgetting fulfils its contract.

    It survives a round trip through its config; shapes and types stay; `update` gives the same results
    compiled as with NumPy. The weights of a weight function lie in [0, 1], and after every tick all moments
    are the sums that they define, of samples with counts 0, 1 and 2. For any other forgetting `cross` is
    linear in the rewards, `gram` does not depend on them, and `gram_sq` lies between the covariance of the
    noise in `cross` and `gram`. Choose `num_ticks` large enough for restarts and windows to take effect.
    """
    check_config("forgetting", forgetting, Forgetting)
    require_single(forgetting)
    check_definition(forgetting, num_ticks=num_ticks, seed=seed)
    first, *others = random_samples(3, np.random.default_rng(seed))
    for sample in others:
        check_compiled(
            "update", type(forgetting).update, forgetting, moments_after(forgetting, [first]), sample
        )


def check_definition(forgetting: Forgetting, *, num_ticks: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless the moments equal their definition."""
    samples = random_samples(num_ticks, np.random.default_rng(seed))
    if isinstance(forgetting, WeightFunction):
        _check_recursion(forgetting, samples)
    else:
        _check_influence(forgetting, samples)


def _check_influence(forgetting: Forgetting, samples: list[Sample]) -> None:
    r"""Raise a `ContractError` unless the estimate is linear in the rewards and `gram_sq` covers its noise.

    With $k_\tau$ the influence of the reward of sample $\tau$ on $b$: $b = \sum k_\tau r_\tau$, and
    $\sum k_\tau k_\tau^\top/n_\tau \preceq \tilde\Lambda \preceq \Lambda$ for counts $n_\tau$.
    """
    moments = moments_after(forgetting, samples)
    silent, paid = ([sample._replace(reward=np.full(NUM_STEPS, r)) for sample in samples] for r in (0.0, 1.0))
    alone = [
        moments_after(forgetting, [*silent[:tau], paid[tau], *silent[tau + 1 :]])
        for tau in range(len(samples))
    ]
    same = all(np.array_equal(other.gram, moments.gram) for other in alone)
    require(same, "gram must not depend on rewards")
    influence = np.array([other.cross[..., 0] for other in alone])  # [n, H, d]
    rewards = np.array([sample.reward for sample in samples])
    counts = np.array([sample.count for sample in samples])
    away = float(np.abs(np.einsum("nhd,nh->hd", influence, rewards) - moments.cross[..., 0]).max())
    require(away <= CONTRACT_TOLERANCE, f"cross must be linear in rewards, got {away:g} away")
    share = np.where(counts > 0, 1 / np.maximum(counts, 1), 0)
    noise = np.einsum("nhd,nhe,nh->hde", influence, influence, share)
    wide = moments.gram if moments.gram_sq is None else moments.gram_sq
    differences = {"cover the noise in cross": wide - noise, "not be above gram": moments.gram - wide}
    for name, difference in differences.items():
        low = float(np.linalg.eigvalsh(difference).min())
        covers = low >= -CONTRACT_TOLERANCE
        require(covers, f"gram_sq must {name}, got an eigenvalue {low:g} of the difference")
    layouts = [layout_of(moments_after(forgetting, samples[:tick])) for tick in (0, 1, len(samples))]
    require(layouts == layouts[:1] * 3, "moments must keep their shapes and types")


def _check_recursion(forgetting: WeightFunction, samples: list[Sample]) -> None:
    """Raise a `ContractError` unless the moments equal the weighted sums at every tick."""
    moments, epoch = moments_after(forgetting, []), 0
    layout = layout_of(moments)
    grams, crosses = map(np.array, zip(*(contributions(own, NUM_STATES) for own in samples), strict=True))
    numbers, ridge = np.array([sample.number for sample in samples]), RIDGE * np.eye(DIM)
    for tick, sample in enumerate(samples, start=1):
        moments = forgetting.update(moments, sample)
        weights = np.asarray(forgetting.weights(tick))
        within = weights.shape == (tick,) and bool(((weights >= 0) & (weights <= 1)).all())
        require(within, f"weights must be {tick} numbers in [0, 1] at tick {tick}, got {weights}")
        epoch += not weights.any()
        expected = {
            "gram": np.tensordot(weights, grams[:tick], axes=1) + ridge,
            "gram_sq": np.tensordot(weights**2, grams[:tick], axes=1) + ridge,
            "cross": np.tensordot(weights, crosses[:tick], axes=1),
            "weight": weights @ numbers[:tick],
            "weight_sq": weights**2 @ numbers[:tick],
        }
        if moments.gram_sq is None:
            plain = bool((weights**2 == weights).all())
            require(plain, f"gram_sq may be left out where all weights are 0 or 1, got {weights}")
            del expected["gram_sq"]
        for name, wanted in {**expected, "tick": tick, "epoch": epoch}.items():
            away = float(np.abs(np.asarray(getattr(moments, name)) - wanted).max())
            near = away <= CONTRACT_TOLERANCE * max(1.0, float(np.max(np.abs(wanted))))
            require(near, f"{name} of the moments must be what weights say, got {away:g} away at tick {tick}")
        kept = layout_of(moments) == layout
        require(kept, f"moments must keep their shapes and types, changed at tick {tick}")


def moments_after(forgetting: Forgetting, samples: list[Sample]) -> Moments:
    """Return the moments of a forgetting after these samples."""
    (example,) = random_samples(1, np.random.default_rng(0))
    moments = forgetting.init(empty_moments(example, NUM_STATES, RIDGE, gram_sq=True), example)
    for sample in samples:
        moments = forgetting.update(moments, sample)
    return moments


def random_samples(num: int, rng: np.random.Generator) -> list[Sample]:
    """Return samples with counts 0, 1 and 2."""
    return [
        Sample(
            features=rng.uniform(-1, 1, (NUM_STEPS, DIM)) / np.sqrt(DIM),
            reward=rng.random(NUM_STEPS),
            successor=rng.integers(NUM_STATES, size=NUM_STEPS),
            count=rng.integers(3, size=NUM_STEPS).astype(float),
        )
        for _ in range(num)
    ]
