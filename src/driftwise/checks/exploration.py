"""The contract of explorations: a finite perturbation of every pair, and a policy of what is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.base import random
from driftwise.base.arrays import spd_inverse
from driftwise.base.part import require_single
from driftwise.base.types import Array, FeatureTable, Key, Moments, Sample
from driftwise.checks.contract import TOLERANCE, check_compiled, check_described, require
from driftwise.parts.exploration import Exploration
from driftwise.parts.forgetting import ExponentialWeights
from driftwise.parts.regression import empty_moments, feature_table

NUM_STEPS, NUM_STATES, NUM_ACTIONS, DIM = 2, 3, 4, 3
TICKS = (0, 1, 20)  # before anything was seen, and after


def check_exploration(exploration: Exploration, *, seed: int = 0) -> None:
    """Raise a `ContractError` unless an exploration keeps what all of them keep.

    It prints and goes to a configuration and back; `perturb` is finite for every step and pair, depends on
    its key alone, does without `gram_sq`, which some forgettings leave out, and looks at it only if
    `uses_gram_sq` says so; `doubt` lies in [0, 1]; policies are probabilities over the actions that are
    there; all of it gives the same compiled as on NumPy.
    """
    check_described("exploration", exploration, Exploration)
    require_single(exploration)
    rng = np.random.default_rng(seed)
    table = feature_table(rng.uniform(-1, 1, (NUM_STATES, NUM_ACTIONS, DIM)) / np.sqrt(DIM))
    key = random.fold(random.key(seed), 0)
    for tick in TICKS:
        moments = _moments(tick, rng)
        inverse = spd_inverse(moments.gram)
        bare = moments._replace(gram_sq=None)
        for given in (moments, bare):
            _check_perturbation(exploration, inverse, given, table, key, f"after {tick} ticks")
        alike = np.array_equal(*(exploration.perturb(inverse, each, table, key) for each in (moments, bare)))
        says = "perturb must not look at gram_sq where uses_gram_sq is False"
        require(alike or exploration.uses_gram_sq, says)
        check_compiled("perturb", _perturbed, exploration, inverse, moments, table, key)
    _check_policy(exploration, rng)


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


def _check_policy(exploration: Exploration, rng: np.random.Generator) -> None:
    """Policies of an index with ties, and with actions that are not there."""
    index = rng.normal(size=(NUM_STEPS, NUM_STATES, NUM_ACTIONS))
    index[0, 0] = 1.0
    index[1, 1:, 2:] = -np.inf
    policy = np.asarray(exploration.policy(index))
    require(policy.shape == index.shape, f"policy must have the shape of the index, got {policy.shape}")
    proper = bool((policy >= -TOLERANCE).all()) and np.allclose(policy.sum(-1), 1, rtol=0, atol=TOLERANCE)
    require(proper, f"policy must be probabilities that sum to 1, got {policy}")
    absent = float(np.abs(policy[np.isneginf(index)]).max())
    require(absent == 0, f"policy must leave out actions that are not there, got probability {absent}")
    check_compiled("policy", _policy, exploration, index)


def _perturbed(exploration: Exploration, *given: Any) -> Array:
    return exploration.perturb(*given)


def _policy(exploration: Exploration, index: Array) -> Array:
    return exploration.policy(index)


def _moments(tick: int, rng: np.random.Generator) -> Moments:
    """Moments after so many samples, whose weights are neither 0 nor 1."""
    forgetting = ExponentialWeights(0.8)

    def sample() -> Sample:
        features = rng.uniform(-1, 1, (NUM_STEPS, DIM)) / np.sqrt(DIM)
        successors = rng.integers(NUM_STATES, size=NUM_STEPS)
        return Sample(features, rng.random(NUM_STEPS), successors, np.ones(NUM_STEPS))

    moments = forgetting.init(empty_moments(sample(), NUM_STATES, 1.0, gram_sq=True), sample())
    for _ in range(tick):
        moments = forgetting.update(moments, sample())
    return moments
