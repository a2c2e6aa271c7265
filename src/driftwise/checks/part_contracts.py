"""Contracts of parts (drifts, forgettings, explorations, detectors), and checks that all contracts share."""

import copy
import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from driftwise.base import random
from driftwise.base.arrays import map_tree, spd_inverse
from driftwise.base.part import from_config, require_single, to_config
from driftwise.base.types import Forgetting, Moments, Sample, WeightFunction
from driftwise.base.validation import add_article
from driftwise.environments.drift import Drift
from driftwise.parts import Detector, Exploration, ExponentialWeights
from driftwise.parts.regression import contributions, empty_moments, feature_table
from driftwise.simulation.program import call_compiled

TOLERANCE = 1e-9
NUM_STEPS, DIM, NUM_STATES, RIDGE = 2, 3, 4, 0.7
_NUM_ACTIONS = 4


class ContractError(AssertionError):
    """A contract is violated; the message is one sentence."""


def require(condition: Any, sentence: str) -> None:
    """Raise a `ContractError` with the sentence unless the condition holds."""
    if not condition:
        raise ContractError(sentence)


def check_config(name: str, part: Any, kind: type) -> None:
    """Check that a part has its type, prints all its fields, and survives a round trip through a config."""
    of_kind = isinstance(part, kind) and not isinstance(part, type)
    require(of_kind, f"{name} must be {add_article(kind.__name__)}, got {part!r}")
    require(dataclasses.is_dataclass(part), f"{name} must be made by @part or @record, got {part!r}")
    try:
        again = from_config(json.loads(json.dumps(to_config(part))))
    except (ValueError, TypeError) as error:
        raise ContractError(f"{name} must survive the way to_config and back, got {error}") from None
    require(again == part, f"{name} must survive the way to_config and back")
    require(type(part).__name__ in repr(part), f"{name} must print its own name, got {part!r}")
    same = repr(copy.deepcopy(part)) == repr(part)
    require(same, f"{name} must print all that tells it from others and nothing else, got {part!r}")


def check_compiled(name: str, function: Callable[..., Any], part: Any, *arrays: Any) -> None:
    """Check that a function of a part and arrays gives the same with NumPy as when compiled."""
    expected = array_leaves(function(part, *arrays))
    try:
        compiled = array_leaves(call_compiled(function, part, *arrays))
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise ContractError(f"{name} must compile, got {type(error).__name__}: {reason}") from error
    require(len(compiled) == len(expected), f"{name} must give the same arrays compiled as on NumPy")
    for here, there in zip(expected, compiled, strict=True):
        near = here.shape == there.shape and np.allclose(here, there, rtol=TOLERANCE, atol=TOLERANCE)
        require(near, f"{name} must give the same compiled as on NumPy, got {there} where that gives {here}")


def array_leaves(tree: Any) -> list[np.ndarray]:
    """Return all arrays of nested tuples."""
    leaves: list[np.ndarray] = []
    map_tree(lambda leaf: leaves.append(np.asarray(leaf)), tree)
    return leaves


def layout_of(tree: Any) -> list[tuple[tuple[int, ...], np.dtype]]:
    """Return the shapes and types of all arrays of nested tuples."""
    return [(leaf.shape, leaf.dtype) for leaf in array_leaves(tree)]


def require_layout(name: str, tree: Any, layout: list[tuple[tuple[int, ...], np.dtype]], where: str) -> None:
    """Check that arrays have the layout of the first ones."""
    require(layout_of(tree) == layout, f"{name} must keep its shapes and types, changed {where}")


def on_simplex(weights: np.ndarray) -> np.ndarray:
    """Return, for each row, whether its weights are not negative and sum to 1."""
    return (weights >= -TOLERANCE).all(axis=-1) & (np.abs(weights.sum(-1) - 1) <= TOLERANCE)


def check_changes(changes: Sequence[int], num_episodes: int, moves: Callable[[int], bool]) -> None:
    """Check that changes are increasing episodes of a run in which something moves."""
    increasing = [0, *changes, num_episodes] == sorted({0, *changes, num_episodes})
    require(increasing, f"changes must be increasing episodes of the run, got {changes}")
    for change in changes:
        require(moves(change), f"changes must be moves, but nothing moves at {change}")


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
        moments = moments_after(forgetting, [first])
        check_compiled("update", type(forgetting).update, forgetting, moments, sample)


def _check_influence(forgetting: Forgetting, samples: list[Sample]) -> None:
    r"""Check that the estimate is linear in the rewards and that `gram_sq` covers its noise.

    With $k_\tau$ the influence of the reward of sample $\tau$ on $b$: $b = \sum k_\tau r_\tau$, and
    $\sum k_\tau k_\tau^\top/n_\tau \preceq \tilde\Lambda \preceq \Lambda$ for counts $n_\tau$.
    """
    moments = moments_after(forgetting, samples)
    silent, paid = ([sample._replace(reward=np.full(NUM_STEPS, r)) for sample in samples] for r in (0.0, 1.0))
    others = ([*silent[:tau], own, *silent[tau + 1 :]] for tau, own in enumerate(paid))
    alone = [moments_after(forgetting, own) for own in others]
    same = all(np.array_equal(other.gram, moments.gram) for other in alone)
    require(same, "gram must not depend on rewards")
    influence = np.array([other.cross[..., 0] for other in alone])  # [n, H, d]
    rewards = np.array([sample.reward for sample in samples])
    counts = np.array([sample.count for sample in samples])
    away = float(np.abs(np.einsum("nhd,nh->hd", influence, rewards) - moments.cross[..., 0]).max())
    require(away <= TOLERANCE, f"cross must be linear in rewards, got {away:g} away")
    share = np.where(counts > 0, 1 / np.maximum(counts, 1), 0)
    noise = np.einsum("nhd,nhe,nh->hde", influence, influence, share)
    wide = moments.gram if moments.gram_sq is None else moments.gram_sq
    differences = {"cover the noise in cross": wide - noise, "not be above gram": moments.gram - wide}
    for name, difference in differences.items():
        low = float(np.linalg.eigvalsh(difference).min())
        require(low >= -TOLERANCE, f"gram_sq must {name}, got an eigenvalue {low:g} of the difference")
    layout = layout_of(moments_after(forgetting, []))
    for tick in (1, len(samples)):
        require_layout("moments", moments_after(forgetting, samples[:tick]), layout, f"after {tick} ticks")


def check_definition(forgetting: Forgetting, *, num_ticks: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless all moments are weighted sums, if there are weights."""
    samples = random_samples(num_ticks, np.random.default_rng(seed))
    if not isinstance(forgetting, WeightFunction):
        _check_influence(forgetting, samples)
        return
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
            del expected["gram_sq"]
            plain = bool((weights**2 == weights).all())
            require(plain, f"gram_sq may be left out where all weights are 0 or 1, got {weights}")
        for name, wanted in {**expected, "tick": tick, "epoch": epoch}.items():
            away = float(np.abs(np.asarray(getattr(moments, name)) - wanted).max())
            near = away <= TOLERANCE * max(1.0, float(np.max(np.abs(wanted))))
            require(near, f"{name} of the moments must be what weights say, got {away:g} away at tick {tick}")
        require_layout("moments", moments, layout, f"at tick {tick}")


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


def check_exploration(exploration: Exploration, *, seed: int = 0) -> None:
    """Raise a `ContractError` unless an exploration fulfils its contract.

    It survives a round trip through its config; `perturb` is finite for every step and pair, is a function of
    its arguments, works without `gram_sq`, and uses it only if `uses_gram_sq` is true; `doubt` lies in [0,
    1]; policies are probabilities over the available actions; all is the same compiled as with NumPy.
    """
    check_config("exploration", exploration, Exploration)
    require_single(exploration)
    rng = np.random.default_rng(seed)
    table = feature_table(rng.uniform(-1, 1, (NUM_STATES, _NUM_ACTIONS, DIM)) / np.sqrt(DIM))
    key = random.fold(random.key(seed), 0)
    for tick in (0, 1, 20):
        moments = moments_after(ExponentialWeights(0.8), random_samples(tick, rng))
        inverse = spd_inverse(moments.gram)
        shape, where, perturbations = (NUM_STEPS, len(table.values)), f"after {tick} ticks", []
        for own in (moments, moments._replace(gram_sq=None)):
            first, second = (np.asarray(exploration.perturb(inverse, own, table, key)) for _ in "ab")
            proper = first.shape == shape and bool(np.isfinite(first).all())
            require(proper, f"perturb must give finite numbers of shape {shape}, got {first} {where}")
            same = np.array_equal(first, second)
            require(same, f"perturb must be the same for the same key, and is not {where}")
            if (doubt := exploration.doubt(inverse, own, table)) is not None:
                fits = np.ndim(doubt) <= len(shape)
                shares = np.broadcast_to(doubt, shape) if fits else np.full(shape, np.nan)
                within = ((shares >= 0) & (shares <= 1)).all()
                require(within, f"doubt must be shares in [0, 1] of shape {shape}, got {doubt} {where}")
            perturbations.append(first)
        allowed = np.array_equal(*perturbations) or exploration.uses_gram_sq
        require(allowed, "perturb must not look at gram_sq where uses_gram_sq is False")
        check_compiled("perturb", type(exploration).perturb, exploration, inverse, moments, table, key)
    index = rng.normal(size=(NUM_STEPS, NUM_STATES, _NUM_ACTIONS))  # with ties and unavailable actions
    index[0, 0] = 1.0
    index[1, 1:, 2:] = -np.inf
    policy = np.asarray(exploration.policy(index))
    require(policy.shape == index.shape, f"policy must have the shape of the index, got {policy.shape}")
    require(on_simplex(policy).all(), f"policy must be probabilities that sum to 1, got {policy}")
    absent = float(np.abs(policy[np.isneginf(index)]).max())
    require(absent == 0, f"policy must leave out actions that are not there, got probability {absent}")
    check_compiled("policy", type(exploration).policy, exploration, index)


def check_detector(detector: Detector, *, num_episodes: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless a detector fulfils its contract.

    It survives a round trip through its config; its events are names that include `restarts`; its state keeps
    shapes and types; an alarm is a boolean; `detect` leaves its state alone, and is the same compiled.
    """
    check_config("detector", detector, Detector)
    require_single(detector)
    events = detector.events
    named = isinstance(events, tuple) and "restarts" in events and all(type(event) is str for event in events)
    require(named, f"events must be names with 'restarts' among them, got {events!r}")
    rng = np.random.default_rng(seed)
    state = detector.init(np.float64(0))
    layout = layout_of(state)
    for t in range(num_episodes):
        observed, chance = np.float64(rng.random() + (t > num_episodes // 2)), np.float64(rng.random())
        before = copy.deepcopy(state)
        following, alarm = detector.detect(state, observed, chance)
        kept = all(map(np.array_equal, array_leaves(before), array_leaves(state)))
        require(kept, f"detect must leave the state as it was given, changed in episode {t}")
        boolean = np.ndim(alarm) == 0 and np.asarray(alarm).dtype == bool
        require(boolean, f"an alarm must be true or false, got {alarm!r} in episode {t}")
        require_layout("the state", following, layout, f"in episode {t}")
        if t % 10 == 9:
            check_compiled("detect", type(detector).detect, detector, state, observed, chance)
        state = following


def check_drift(drift: Drift, *, num_episodes: int = 200) -> None:
    """Raise a `ContractError` unless a drift fulfils its contract.

    It survives a round trip through its config; its weights lie on the simplex and do not depend on which
    episodes are requested together; its changes are increasing episodes in which the weights change.
    """
    check_config("drift", drift, Drift)
    episodes = np.arange(num_episodes)
    weights = np.asarray(drift.mixture(episodes))
    shape = (num_episodes, drift.num_anchors)
    require(weights.shape == shape, f"mixture must have shape {shape}, got {weights.shape}")
    proper = on_simplex(weights)
    t = int(np.argmin(proper))
    require(proper.all(), f"mixture must be weights that sum to 1, got {weights[t]} in episode {t}")
    require(np.array_equal(episodes, np.arange(num_episodes)), "mixture must not change what it is given")
    backwards = episodes[::-1]
    parts = [*np.split(episodes, [num_episodes // 3]), backwards, *([t] for t in episodes[:3])]
    for part in map(np.asarray, parts):
        same = np.array_equal(drift.mixture(part), weights[part])
        require(same, "mixture must not depend on which episodes are asked for together")
    changes = drift.changes(num_episodes)
    check_changes(changes, num_episodes, lambda t: not np.array_equal(weights[t], weights[t - 1]))
