"""The contract of forgettings: moments are the weighted sums of a definition, or at least those of some."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.base.part import require_single
from driftwise.base.types import Forgetting, Moments, Sample, WeightFunction
from driftwise.checks.contract import TOLERANCE, check_compiled, check_described, leaves, require
from driftwise.parts.regression import contributions, empty_moments

NUM_STEPS, DIM, NUM_STATES, RIDGE = 2, 3, 4, 0.7


def check_forgetting(forgetting: Forgetting, *, num_ticks: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless a forgetting keeps what all of them keep.

    It prints and goes to a configuration and back; shapes and types stay; `update` gives the same compiled as
    on NumPy. Weights of a weight function lie in [0, 1], and after every tick all moments are the sums that
    they define, of samples that count zero times, once or twice. Of any other, `cross` is linear in the
    rewards, `gram` does not depend on them, and `gram_sq` covers what their noise does to `cross` without
    being above `gram`. Choose `num_ticks` so that everything happens within them that can happen.
    """
    check_described("forgetting", forgetting, Forgetting)
    require_single(forgetting)
    check_definition(forgetting, num_ticks=num_ticks, seed=seed)
    first, *others = _samples(3, seed)
    for sample in others:
        check_compiled("update", _updated, forgetting, _absorbed(forgetting, [first]), sample)


def check_definition(forgetting: Forgetting, *, num_ticks: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless moments are what their definition says."""
    if isinstance(forgetting, WeightFunction):
        check_recursion(forgetting, num_ticks=num_ticks, seed=seed)
    else:
        check_influence(forgetting, num_ticks=num_ticks, seed=seed)


def check_influence(forgetting: Forgetting, *, num_ticks: int, seed: int) -> None:
    r"""Raise a `ContractError` unless moments are those of a linear estimate, with the width that it has.

    With $k_\tau$ what a reward of 1 in sample $\tau$ is in $b$: $b = \sum k_\tau r_\tau$, and
    $\sum k_\tau k_\tau^\top/n_\tau \preceq \tilde\Lambda \preceq \Lambda$ for counts $n_\tau$.
    """
    samples = _samples(num_ticks, seed)
    moments = _absorbed(forgetting, samples)
    silent = [sample._replace(reward=0 * sample.reward) for sample in samples]
    alone = [
        _absorbed(
            forgetting, [*silent[:tau], sample._replace(reward=1 + 0 * sample.reward), *silent[tau + 1 :]]
        )
        for tau, sample in enumerate(samples)
    ]
    same = all(np.array_equal(each.gram, moments.gram) for each in alone)
    require(same, "gram must not depend on rewards")
    influence = np.array([each.cross[..., 0] for each in alone])  # [n, H, d]
    rewards, counts = (np.array([getattr(each, name) for each in samples]) for name in ("reward", "count"))
    away = float(np.abs(np.einsum("nhd,nh->hd", influence, rewards) - moments.cross[..., 0]).max())
    require(away <= TOLERANCE, f"cross must be linear in rewards, got {away:g} away")
    share = np.where(counts > 0, 1 / np.maximum(counts, 1), 0)
    noise = np.einsum("nhd,nhe,nh->hde", influence, influence, share)
    wide = moments.gram if moments.gram_sq is None else moments.gram_sq
    for name, room in (
        ("cover the noise in cross", wide - noise),
        ("not be above gram", moments.gram - wide),
    ):
        lowest = float(np.linalg.eigvalsh(room).min())
        require(lowest >= -TOLERANCE, f"gram_sq must {name}, got an eigenvalue {lowest:g} of the difference")
    layouts = [_layout(_absorbed(forgetting, samples[:tick])) for tick in (0, 1, num_ticks)]
    require(layouts == layouts[:1] * 3, "moments must keep their shapes and types")


def check_recursion(forgetting: WeightFunction, *, num_ticks: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless moments are the sums that the weights define, at every tick."""
    samples = _samples(num_ticks, seed)
    moments, epoch = _absorbed(forgetting, []), 0
    layout = _layout(moments)
    for tick, sample in enumerate(samples, start=1):
        moments = forgetting.update(moments, sample)
        weights = np.asarray(forgetting.weights(tick))
        within = weights.shape == (tick,) and bool(((weights >= 0) & (weights <= 1)).all())
        require(within, f"weights must be {tick} numbers in [0, 1] at tick {tick}, got {weights}")
        epoch += not weights.any()
        expected = _expected(samples[:tick], weights)
        if moments.gram_sq is None:
            plain = bool((weights**2 == weights).all())
            require(plain, f"gram_sq may be left out where all weights are 0 or 1, got {weights}")
            del expected["gram_sq"]
        for name, wanted in {**expected, "tick": tick, "epoch": epoch}.items():
            away = float(np.abs(np.asarray(getattr(moments, name)) - wanted).max())
            near = away <= TOLERANCE * max(1.0, float(np.max(np.abs(wanted))))
            require(near, f"{name} of the moments must be what weights say, got {away:g} away at tick {tick}")
        require(
            _layout(moments) == layout, f"moments must keep their shapes and types, changed at tick {tick}"
        )


def _expected(samples: list[Sample], weights: np.ndarray) -> dict[str, Any]:
    """`Σ ω φφᵀ + λI`, `Σ ω² φφᵀ + λI`, `Σ ω φ yᵀ`, `Σ ω` and `Σ ω²`, over samples as often as they count."""
    grams, crosses = (np.array(each) for each in zip(*map(_contribution, samples), strict=True))
    ridge, numbers = RIDGE * np.eye(DIM), np.array([sample.number for sample in samples])
    return {
        "gram": np.tensordot(weights, grams, axes=1) + ridge,
        "gram_sq": np.tensordot(weights**2, grams, axes=1) + ridge,
        "cross": np.tensordot(weights, crosses, axes=1),
        "weight": weights @ numbers,
        "weight_sq": weights**2 @ numbers,
    }


def _contribution(sample: Sample) -> tuple[Any, Any]:
    return contributions(sample, NUM_STATES)


def _updated(forgetting: Forgetting, moments: Moments, sample: Sample) -> Moments:
    return forgetting.update(moments, sample)


def _absorbed(forgetting: Forgetting, samples: list[Sample]) -> Moments:
    (example,) = _samples(1, 0)
    moments = forgetting.init(empty_moments(example, NUM_STATES, RIDGE, gram_sq=True), example)
    for sample in samples:
        moments = forgetting.update(moments, sample)
    return moments


def _samples(num: int, seed: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [
        Sample(
            features=rng.uniform(-1, 1, (NUM_STEPS, DIM)) / np.sqrt(DIM),
            reward=rng.random(NUM_STEPS),
            successor=rng.integers(NUM_STATES, size=NUM_STEPS),
            count=rng.integers(3, size=NUM_STEPS).astype(float),
        )
        for _ in range(num)
    ]


def _layout(moments: Moments) -> list[tuple[tuple[int, ...], np.dtype]]:
    return [(leaf.shape, leaf.dtype) for leaf in leaves(moments)]
