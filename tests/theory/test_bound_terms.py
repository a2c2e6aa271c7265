"""The terms of bounds against actual sequences: widths, biases, and how they compare."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from driftwise.theory.bounds import Setting
from driftwise.theory.bounds import terms as bound_terms
from driftwise.theory.bounds.bound import whole_episodes


def test_no_split_at_a_window_is_better_and_holds_where_nothing_is_forgotten_too():
    setting = replace(Setting(5, 10**5, 1.0), ridge=1.0)
    for memory in (10.0, 100.0, 1000.0):
        assert bound_terms.unsplit_drift(setting, memory) < bound_terms.weighted_drift(setting, memory) / 2
    never = bound_terms.window_drift(setting, math.inf)
    assert bound_terms.unsplit_drift(setting, math.inf) == pytest.approx(never)
    assert bound_terms.weighted_drift(setting, math.inf) == pytest.approx(never)


def weighted_grams(weights: np.ndarray, features: np.ndarray, ridge: float) -> np.ndarray:
    """`Λ_t` for all t, from weights `[t, τ]`."""
    return np.einsum("st,ti,tj->sij", weights, features, features) + ridge * np.eye(features.shape[1])


@pytest.mark.parametrize("ridge", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("memory", [3.0, 20.0, 1000.0])
@pytest.mark.parametrize("kind", ["weights", "window", "restart"])
def test_terms_bound_the_sums_they_stand_for(kind, memory, ridge):
    """Widths and biases of an actual sequence, with directions that come one after the other."""
    num_rounds, dim, rng = 200, 4, np.random.default_rng(0)
    directions = np.eye(dim)[np.arange(num_rounds) // 25 % dim] + 0.2 * rng.normal(size=(num_rounds, dim))
    features = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    path = np.cumsum(rng.normal(size=(num_rounds, dim)), axis=0)
    path /= np.linalg.norm(path, axis=1).max()
    moves = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    setting = Setting(dim, num_rounds, moves, ridge=ridge)
    length = whole_episodes(setting, memory)
    age = np.arange(num_rounds)[:, None] - 1 - np.arange(num_rounds)[None, :]
    epoch = np.arange(num_rounds) // length
    weights = {
        "weights": np.exp(-np.maximum(age, 0) / memory),
        "window": 1.0 * (age < length),
        "restart": 1.0 * (epoch[:, None] == epoch[None, :]),
    }[kind] * (age >= 0)
    inverse = np.linalg.inv(weighted_grams(weights, features, ridge))
    widths = np.sqrt(np.einsum("ti,tij,tj->t", features, inverse, features)).sum()
    apart = np.einsum("si,tsi->ts", features, path[None, :, :] - path[:, None, :])
    biases = np.einsum("tij,ts,sj,ts->ti", inverse, weights, features, apart)
    bias = np.linalg.norm(biases, axis=1).sum()
    told = np.sqrt(dim * weights.sum(1)) * np.bincount(epoch[1:], moves_of_epochs(path, epoch))[epoch]
    if kind == "weights":
        assert widths <= bound_terms.weighted_width(setting, memory) < 10 * widths
        tail = 2 * num_rounds / ridge * bound_terms.weighted_tail(setting, memory)
        assert bias <= bound_terms.weighted_drift(setting, memory) + tail
        assert bias <= bound_terms.unsplit_drift(setting, memory)
    else:
        assert widths <= bound_terms.window_width(setting, memory) < 10 * widths
        assert bias <= bound_terms.window_drift(setting, memory)
    if kind == "restart":  # 2βw with what the radius adds for the variation of its epoch
        added = 2 * told * np.sqrt(np.einsum("ti,tij,tj->t", features, inverse, features))
        assert 0 < added.sum() <= bound_terms.known_drift(setting, memory)


def moves_of_epochs(path: np.ndarray, epoch: np.ndarray) -> np.ndarray:
    """The moves after each round, 0 from one epoch to the next: `[K − 1]`."""
    return np.linalg.norm(np.diff(path, axis=0), axis=1) * (np.diff(epoch) == 0)


@pytest.mark.parametrize("ridge", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("memory", [3.0, 20.0, 1000.0])
@pytest.mark.parametrize("turns", [1, 25, 100])
def test_terms_bound_the_biases_of_orthogonal_directions(turns, memory, ridge):
    """Directions are left for a while: what moved then still counts, the longer the shorter the ridge."""
    num_rounds, dim, rng = 200, 2, np.random.default_rng(0)
    features = np.eye(dim)[np.arange(num_rounds) // turns % dim]
    path = np.cumsum(rng.normal(size=(num_rounds, dim)), axis=0)
    path /= np.linalg.norm(path, axis=1).max()
    setting = Setting(dim, num_rounds, np.linalg.norm(np.diff(path, axis=0), axis=1).sum(), ridge=ridge)
    age = np.arange(num_rounds)[:, None] - 1 - np.arange(num_rounds)[None, :]
    length = whole_episodes(setting, memory)
    apart = np.einsum("si,tsi->ts", features, path[None, :, :] - path[:, None, :])
    biases = []
    for weights in (np.exp(-np.maximum(age, 0) / memory) * (age >= 0), 1.0 * (age >= 0) * (age < length)):
        inverse = np.linalg.inv(weighted_grams(weights, features, ridge))
        vectors = np.einsum("tij,ts,sj,ts->ti", inverse, weights, features, apart)
        biases.append(np.linalg.norm(vectors, axis=1).sum())
    weighted, windowed = biases
    tail = 2 * num_rounds / ridge * bound_terms.weighted_tail(setting, memory)
    split = bound_terms.averaged_drift(bound_terms.analysis_window)
    assert 0 < weighted <= bound_terms.fading_average_drift(setting, memory)
    assert weighted <= split(setting, memory) + tail
    assert 0 < windowed <= bound_terms.averaged_drift(whole_episodes)(setting, memory)


def test_a_direction_that_is_left_keeps_what_it_was_for_longer_than_the_memory():
    """One jump while nobody looks: the biases after it add up to more than Δ/(1−η), with no logarithm."""
    memory, ridge, seen = 20.0, 1.0, 200
    setting = Setting(2, 1000, 1.0, ridge=ridge)
    left = np.exp(-np.arange(1000 - seen) / memory) * bound_terms.weight_total(memory, seen)
    biases = (left / (left + ridge)).sum()
    assert bound_terms.weight_total(memory, math.inf) < biases / 2
    assert biases <= bound_terms.fading_average_drift(setting, memory)
