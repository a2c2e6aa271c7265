"""Contracts of explorations and detectors."""

from __future__ import annotations

import copy

import numpy as np

from driftwise.base import random
from driftwise.base.arrays import spd_inverse
from driftwise.base.part import require_single
from driftwise.base.types import Array, FeatureTable, Key, Moments
from driftwise.checks.contract import (
    array_leaves,
    check_compiled,
    check_config,
    layout_of,
    on_simplex,
    require,
)
from driftwise.checks.forgetting_contract import DIM, NUM_STATES, NUM_STEPS, moments_after, random_samples
from driftwise.parts import Detector, Exploration, ExponentialWeights
from driftwise.parts.regression import feature_table

_NUM_ACTIONS = 4
_TICKS = (0, 1, 20)  # samples before each check


def check_exploration(exploration: Exploration, *, seed: int = 0) -> None:
    """Raise a `ContractError` unless an exploration fulfils its contract.

    It survives a round trip through its config; `perturb` is finite for every step and pair, is a function of
    its arguments, works without `gram_sq`, which some forgettings leave out, and uses it only if
    `uses_gram_sq` is true; `doubt` lies in [0, 1]; policies are probabilities over the available actions; all
    methods give the same results compiled as with NumPy.
    """
    check_config("exploration", exploration, Exploration)
    require_single(exploration)
    rng = np.random.default_rng(seed)
    table = feature_table(rng.uniform(-1, 1, (NUM_STATES, _NUM_ACTIONS, DIM)) / np.sqrt(DIM))
    key = random.fold(random.key(seed), 0)
    for tick in _TICKS:
        moments = moments_after(ExponentialWeights(0.8), random_samples(tick, rng))
        inverse = spd_inverse(moments.gram)
        bare = moments._replace(gram_sq=None)
        for given in (moments, bare):
            _check_perturbation(exploration, inverse, given, table, key, f"after {tick} ticks")
        alike = np.array_equal(*(exploration.perturb(inverse, own, table, key) for own in (moments, bare)))
        allowed = alike or exploration.uses_gram_sq
        require(allowed, "perturb must not look at gram_sq where uses_gram_sq is False")
        check_compiled("perturb", type(exploration).perturb, exploration, inverse, moments, table, key)
    index = rng.normal(size=(NUM_STEPS, NUM_STATES, _NUM_ACTIONS))  # with ties and unavailable actions
    index[0, 0] = 1.0
    index[1, 1:, 2:] = -np.inf
    policy = np.asarray(exploration.policy(index))
    require(policy.shape == index.shape, f"policy must have the shape of the index, got {policy.shape}")
    require(bool(on_simplex(policy).all()), f"policy must be probabilities that sum to 1, got {policy}")
    absent = float(np.abs(policy[np.isneginf(index)]).max())
    require(absent == 0, f"policy must leave out actions that are not there, got probability {absent}")
    check_compiled("policy", type(exploration).policy, exploration, index)


def _check_perturbation(
    exploration: Exploration, inverse: Array, moments: Moments, table: FeatureTable, key: Key, where: str
) -> None:
    shape = (NUM_STEPS, len(table.values))
    first, second = (np.asarray(exploration.perturb(inverse, moments, table, key)) for _ in "ab")
    proper = first.shape == shape and bool(np.isfinite(first).all())
    require(proper, f"perturb must give finite numbers of shape {shape}, got {first} {where}")
    require(np.array_equal(first, second), f"perturb must be the same for the same key, and is not {where}")
    doubt = exploration.doubt(inverse, moments, table)
    if doubt is not None:
        shares = np.broadcast_to(doubt, shape) if np.ndim(doubt) <= len(shape) else np.full(shape, np.nan)
        within = bool(((shares >= 0) & (shares <= 1)).all())
        require(within, f"doubt must be shares in [0, 1] of shape {shape}, got {doubt} {where}")


def check_detector(detector: Detector, *, num_episodes: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless a detector fulfils its contract.

    It survives a round trip through its config; its events are names that include `restarts`; its state keeps
    shapes and types, and `detect` does not modify it; an alarm is a boolean; `detect` gives the same results
    compiled as with NumPy.
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
        same = layout_of(following) == layout
        require(same, f"the state must keep its shapes and types, changed in episode {t}")
        if t % 10 == 9:
            check_compiled("detect", type(detector).detect, detector, state, observed, chance)
        state = following
