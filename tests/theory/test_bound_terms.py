"""The terms of bounds against actual sequences: widths, biases, and how they compare."""

import math
from dataclasses import replace

import numpy as np
import pytest

from driftwise.theory.bounds import BOUNDS, Setting
from driftwise.theory.bounds import terms as bound_terms
from driftwise.theory.bounds.bound import whole_episodes

NUM_ROUNDS = 200


def test_no_split_at_a_window_is_better_and_holds_where_nothing_is_forgotten_too():
    setting = replace(Setting(5, 10**5, 1.0), ridge=1.0)
    for memory in (10.0, 100.0, 1000.0):
        assert bound_terms.unsplit_drift(setting, memory) < bound_terms.weighted_drift(setting, memory) / 2
    never = bound_terms.window_drift(setting, math.inf)
    assert bound_terms.unsplit_drift(setting, math.inf) == pytest.approx(never)
    assert bound_terms.weighted_drift(setting, math.inf) == pytest.approx(never)


def drifting(rng: np.random.Generator, dim: int, ridge: float) -> tuple[Setting, np.ndarray]:
    """A path in the unit ball, and the numbers that bounds know of it."""
    path = np.cumsum(rng.normal(size=(NUM_ROUNDS, dim)), axis=0)
    path /= np.linalg.norm(path, axis=1).max()
    return Setting(dim, NUM_ROUNDS, np.linalg.norm(np.diff(path, axis=0), axis=1).sum(), ridge=ridge), path


def weights_of(kind: str, memory: float) -> np.ndarray:
    """The weight of round τ in round t, `[t, τ]`."""
    rounds = np.arange(NUM_ROUNDS)
    age, epoch = rounds[:, None] - 1 - rounds, rounds // memory
    weights = dict(
        weights=np.exp(-np.maximum(age, 0) / memory), window=age < memory, restart=epoch[:, None] == epoch
    )
    return weights[kind] * (age >= 0.0)


def bias_and_widths(
    weights: np.ndarray, features: np.ndarray, path: np.ndarray, ridge: float
) -> tuple[float, np.ndarray]:
    """The summed lengths of the biases of the estimates, and the width of each round's feature."""
    grams = np.einsum("st,ti,tj->sij", weights, features, features) + ridge * np.eye(features.shape[1])
    inverse = np.linalg.inv(grams)
    apart = np.einsum("si,tsi->ts", features, path[None, :, :] - path[:, None, :])
    biases = np.einsum("tij,ts,sj,ts->ti", inverse, weights, features, apart)
    widths = np.sqrt(np.einsum("ti,tij,tj->t", features, inverse, features))
    return np.linalg.norm(biases, axis=1).sum(), widths


@pytest.mark.parametrize("ridge", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("memory", [3.0, 20.0, 1000.0])
@pytest.mark.parametrize("kind", ["weights", "window", "restart"])
def test_terms_bound_the_sums_they_stand_for(kind, memory, ridge):
    """Widths and biases of an actual sequence, with directions that come one after the other."""
    rng = np.random.default_rng(0)
    directions = np.eye(4)[np.arange(NUM_ROUNDS) // 25 % 4] + 0.2 * rng.normal(size=(NUM_ROUNDS, 4))
    features = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    setting, path = drifting(rng, 4, ridge)
    weights = weights_of(kind, whole_episodes(setting, memory) if kind != "weights" else memory)
    bias, widths = bias_and_widths(weights, features, path, ridge)
    if kind == "weights":
        assert widths.sum() <= bound_terms.weighted_width(setting, memory) < 10 * widths.sum()
        tail = 2 * NUM_ROUNDS / ridge * bound_terms.weighted_tail(setting, memory)
        assert bias <= bound_terms.weighted_drift(setting, memory) + tail
        assert bias <= bound_terms.unsplit_drift(setting, memory)
    else:
        assert widths.sum() <= bound_terms.window_width(setting, memory) < 10 * widths.sum()
        assert bias <= bound_terms.window_drift(setting, memory)
    if kind == "restart":  # 2βw with what the radius adds for the variation of its epoch
        epoch = np.arange(NUM_ROUNDS) // whole_episodes(setting, memory)
        moves = np.linalg.norm(np.diff(path, axis=0), axis=1) * (np.diff(epoch) == 0)  # within epochs
        told = np.sqrt(4 * weights.sum(1)) * np.bincount(epoch[1:], moves)[epoch]
        assert 0 < (2 * told * widths).sum() <= bound_terms.known_drift(setting, memory)


@pytest.mark.parametrize("ridge", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("memory", [3.0, 20.0, 1000.0])
@pytest.mark.parametrize("turns", [1, 25, 100])
def test_terms_bound_the_biases_of_orthogonal_directions(turns, memory, ridge):
    """Directions are left for a while: what moved then still counts, the longer the shorter the ridge."""
    features = np.eye(2)[np.arange(NUM_ROUNDS) // turns % 2]
    setting, path = drifting(np.random.default_rng(0), 2, ridge)
    kinds = weights_of("weights", memory), weights_of("window", whole_episodes(setting, memory))
    weighted, windowed = (bias_and_widths(weights, features, path, ridge)[0] for weights in kinds)
    tail = 2 * NUM_ROUNDS / ridge * bound_terms.weighted_tail(setting, memory)
    split, whole = (BOUNDS[f"{name}_lin_ucb_orthogonal"].terms[1] for name in ("d", "sw"))  # twice the drift
    assert 0 < weighted <= bound_terms.fading_average_drift(setting, memory)
    assert weighted <= split(setting, memory) / 2 + tail
    assert 0 < windowed <= whole(setting, memory) / 2


def test_a_direction_that_is_left_keeps_what_it_was_for_longer_than_the_memory():
    """One jump while nobody looks: the biases after it add up to more than Δ/(1−η), with no logarithm."""
    memory, ridge, seen = 20.0, 1.0, 200
    setting = Setting(2, 1000, 1.0, ridge=ridge)
    left = np.exp(-np.arange(1000 - seen) / memory) * bound_terms.weight_total(memory, seen)
    biases = (left / (left + ridge)).sum()
    assert bound_terms.weight_total(memory, math.inf) < biases / 2
    assert biases <= bound_terms.fading_average_drift(setting, memory)
