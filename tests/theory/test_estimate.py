"""The variation estimated from logs whose variation is known.

Seeds are fixed, so a threshold is met or not once and for all; each leaves about twice what was seen, and a
broken estimate (noise counted as drift, windows off by one, a jump lost) misses it by more.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.environments import random_linear_mdp
from driftwise.theory.estimate import MdpVariationEstimate, estimate_mdp_variation, estimate_variation
from driftwise.theory.windows import euclidean, split_windows
from tests.examples import STATIONARY, refused

NUM_ROUNDS = 2000
SHARE = np.arange(NUM_ROUNDS) / NUM_ROUNDS
PATHS = {
    "abrupt": np.where(SHARE[:, None] < 0.35, [1.0, 0.0], np.where(SHARE[:, None] < 0.65, [-1, 0], [0, 1])),
    "gradual": np.stack([np.cos(np.pi * SHARE), np.sin(np.pi * SHARE)], axis=1),
    "stationary": np.tile([1.0, 0.0], (NUM_ROUNDS, 1)),
}


def log(path: np.ndarray, noise_scale: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, path.shape)
    return features, (features * path).sum(1) + noise_scale * rng.normal(size=len(path))


def true_variation(path: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


@pytest.mark.parametrize("seed", range(3))
def test_jumps_and_most_of_a_slow_drift_are_found_and_noise_is_no_drift(seed: int) -> None:
    jumps, slow, still = (estimate_variation(*log(path, seed=seed)) for path in PATHS.values())
    for found, path in ((jumps, PATHS["abrupt"]), (slow, PATHS["gradual"])):
        truth = true_variation(path)
        assert found.drifts
        assert found.low <= truth <= found.high_of_lines < 2.5 * truth
        assert (0.9 if found is jumps else 0.7) * truth < found.variation < 1.1 * truth
    assert jumps.changes == (700, 1300)
    assert jumps.plug_in > 2 * true_variation(PATHS["abrupt"])  # which is why it is not the estimate
    assert (still.drifts, still.variation, still.low, still.walk.excluded) == (False, 0, 0, False)
    assert 0 < still.high_of_lines < 0.1 * still.plug_in
    assert "compatible with no drift" in str(still)


def no_drift(features: np.ndarray, targets: np.ndarray, window: int = 50) -> float:
    """The p-value of a log without drift, less all that is not needed for it."""
    windows = split_windows(features, targets.reshape(len(features), -1), window)
    return windows.p_value(np.arange(len(windows.gram)) == 0)


def test_without_drift_the_p_value_is_uniform() -> None:
    gradual = log(PATHS["gradual"][::8])
    assert estimate_variation(*gradual, window=50).p_value == no_drift(*gradual)
    values = [no_drift(*log(PATHS["stationary"], seed=seed)) for seed in range(100, 200)]
    below = np.mean(np.array(values)[:, None] <= [0.05, 0.5], axis=0)
    assert below[0] < 0.12  # 0.05 and more than three standard deviations of 100 draws
    assert 0.35 < below[1] < 0.65  # likewise


def test_a_steady_drift_that_is_not_seen_is_below_the_upper_end() -> None:
    path = np.stack([0.15 * SHARE, np.ones(NUM_ROUNDS)], axis=1)
    found = estimate_variation(*log(path, noise_scale=1.0))
    assert found.low == 0
    assert true_variation(path) < found.high


def test_standard_errors_are_those_of_least_squares() -> None:
    features, rewards = log(PATHS["abrupt"])
    found = estimate_variation(features, rewards, window=100)
    z = (found.parameters[..., 0] - PATHS["abrupt"][::100]) / found.standard_errors[..., 0]
    assert z.shape == (20, 2)
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3  # 40 values of deviation one


def test_without_noise_the_jumps_are_exact_and_rounding_is_no_drift() -> None:
    moved = estimate_variation(*log(PATHS["abrupt"], noise_scale=0.0))
    still = estimate_variation(*log(PATHS["stationary"], noise_scale=0.0))
    assert moved.variation == pytest.approx(true_variation(PATHS["abrupt"]), rel=1e-6)
    assert (still.variation, still.drifts) == (0, False)


def test_the_same_seed_gives_the_same_interval() -> None:
    first, second, other = (estimate_variation(*log(PATHS["gradual"]), seed=seed) for seed in (0, 0, 1))
    assert (first.low, first.high) == (second.low, second.high) != (other.low, other.high)
    assert first.over(2 * NUM_ROUNDS - 1) == pytest.approx(2 * first.variation)


def mdp_estimate(drift: dw.drift.Drift, num_episodes: int, seed: int = 1) -> tuple[MdpVariationEstimate, Any]:
    environment = random_linear_mdp(
        num_states=3, num_actions=3, dim=2, horizon=2, concentration=0.3, drift=drift, seed=3
    )
    rng, (num_states, num_actions, dim) = np.random.default_rng(seed), environment.features.shape
    mixture = environment.at(np.arange(num_episodes))
    features = np.empty((num_episodes, 2, dim))
    rewards, successors = np.empty((num_episodes, 2)), np.empty((num_episodes, 2), dtype=int)
    for t in range(num_episodes):
        for h in range(2):
            phi = environment.features[rng.integers(num_states), rng.integers(num_actions)]
            law = phi @ np.tensordot(mixture[t], environment.mu[:, h], 1)
            features[t, h] = phi
            rewards[t, h] = phi @ (mixture[t] @ environment.theta[:, h]) + 0.1 * rng.normal()
            successors[t, h] = rng.choice(num_states, p=law / law.sum())
    found = estimate_mdp_variation(features, rewards, successors, num_states=num_states)
    return found, environment.variation(num_episodes)


def test_rewards_and_transitions_of_a_linear_mdp_are_told_apart_from_noise() -> None:
    found, truth = mdp_estimate(dw.drift.Abrupt((1000,), num_anchors=2), 2000)
    assert found.drifts
    assert found.reward_budget == pytest.approx(truth.reward_budget, rel=0.15)
    assert found.transition_budget == pytest.approx(truth.transition_budget, rel=0.3)
    assert found.low <= truth.total <= found.high
    assert found.variation == found.reward_budget + found.transition_budget
    still, truth = mdp_estimate(STATIONARY, 1000)
    assert (still.drifts, still.variation, truth.total) == (False, 0, 0)


def successors(before: Any, after: Any, seed: int) -> float:
    """p-value of no drift where transitions jump in the middle of 1,000 rounds."""
    rng, num = np.random.default_rng(seed), 1000
    features = rng.dirichlet([1, 1], num)
    laws = np.where(np.arange(num)[:, None] < num / 2, features @ before, features @ after)
    states = (rng.random((num, 1)) > np.cumsum(laws, axis=1)).sum(axis=1)
    return no_drift(features, np.eye(laws.shape[1])[states], window=25)


STILL = np.array([[0.8, 0.2], [0.3, 0.7]])
UNREACHED = np.hstack([STILL, np.zeros((2, 3))])


@pytest.mark.parametrize("law", [STILL, UNREACHED], ids=["two states", "states that are never reached"])
def test_drift_of_transitions_is_tested_in_as_many_directions_as_there_is_noise(law: np.ndarray) -> None:
    """One-hot successors sum to one, and are 0 where nothing arrives: no noise there."""
    still = np.array([successors(law, law, seed) for seed in range(40)])
    assert np.mean(still <= 0.05) <= 0.15  # 0.05 and three standard deviations of 40 draws
    assert 0.25 < np.median(still) < 0.75
    moved = law + np.pad([[-0.3, 0.3], [0.3, -0.3]], [(0, 0), (0, law.shape[1] - 2)])
    found = [successors(law, moved, seed) for seed in range(40)]
    assert np.mean(np.array(found) <= 0.05) > 0.4  # as of one column that says which of the two it was


def wave(phase: float) -> np.ndarray:
    """Two coordinates that swing against each other, twice in the log."""
    swing = 0.5 * np.sin(4 * np.pi * SHARE + phase)
    return np.stack([0.5 + swing, 0.5 - swing], axis=1)


def wandering(seed: int) -> np.ndarray:
    return np.cumsum(0.02 * np.random.default_rng(seed).normal(size=(NUM_ROUNDS, 2)), axis=0)


KINDS: dict[str, Callable[[int], np.ndarray]] = {
    "constant": lambda seed: PATHS["stationary"],
    "jumps": lambda seed: PATHS["abrupt"],
    "sinusoid": wave,
    "random walk": wandering,
    "steady line": lambda seed: np.stack([1 - 2 * SHARE, 1 - 2 * SHARE], axis=1),
    "rotation": lambda seed: np.stack([f(2 * np.pi * SHARE + seed) for f in (np.cos, np.sin)], axis=1),
}


def covers(kind: str, seed: int, noise_scale: float) -> bool:
    path = KINDS[kind](seed)
    found = estimate_variation(*log(path, noise_scale, seed=seed), num_resamples=100, seed=seed)
    return found.low <= true_variation(path) <= found.high


@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_has_the_variation_of_each_kind_of_path(kind: str) -> None:
    assert all(covers(kind, seed, 0.5) for seed in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("noise_scale", [0.5, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_covers_at_its_level(kind: str, noise_scale: float) -> None:
    """Of 100 intervals at 95 % at least 90 cover in all but one of a hundred studies."""
    assert np.mean([covers(kind, seed, noise_scale) for seed in range(100)]) >= 0.9


def test_what_does_not_fit_is_said() -> None:
    paths = wave(0.0), PATHS["abrupt"], wandering(0)
    moving, jumping, walking = (estimate_variation(*log(path, noise_scale=0.1)) for path in paths)
    assert [found.fits for found in (moving, jumping, walking)] == [False, True, False]
    assert [found.walk.excluded for found in (moving, jumping, walking)] == [True, True, False]
    assert walking.high == walking.walk.high
    assert "which do not fit" in str(moving)
    assert "fit" not in str(jumping)
    assert "random walk" not in str(moving)
    assert "if it is a random walk" in str(walking)
    still = replace(estimate_variation(*log(PATHS["stationary"])), p_value=0.01)
    assert str(still).startswith("variation 0 in 1 piece;")


def test_lines_within_pieces_are_exact_where_the_path_is_made_of_them() -> None:
    """Up by 3, down by 1 at once, and up by 2 again, without noise: a variation of 6."""
    path = np.where(SHARE < 0.5, 6 * SHARE, 2 + 4 * (SHARE - 0.5))
    features = np.random.default_rng(0).uniform(0.5, 1, (NUM_ROUNDS, 1))
    windows = split_windows(features, features * path[:, None], 100)
    lines, variation = windows.fit_lines(windows.cross, np.isin(np.arange(20), [0, 10]), euclidean)
    assert variation == pytest.approx(6, rel=0.01)  # features are not quite even within windows
    np.testing.assert_allclose(lines[:, 0, 0], path[50::100], atol=0.02)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (dict(rewards=np.zeros(5)), r"rewards must have shape \(60\), got \(5,\)"),
        (dict(window=2), "window must be above the dimension 2, got 2"),
        (dict(window=31), "features must have at least two windows of 31 rounds, got 60 rounds"),
        (dict(features=np.ones((60, 2))), "features must span all 2 directions .* rank 1 .* starts at 0"),
        (dict(level=1.0), r"level must be a number in \(0, 0.9999\], got 1.0"),
        (dict(features=np.full((60, 2), np.nan)), r"features must be finite, got nan at index \(0, 0\)"),
    ],
)
def test_too_little_data_is_refused(changed: dict[str, Any], message: str) -> None:
    features, rewards = log(PATHS["stationary"][:60])
    arguments: dict[str, Any] = {"features": features, "rewards": rewards, **changed}
    with pytest.raises(ValueError, match=message):
        estimate_variation(**arguments)

    states = np.full((40, 1), 7)
    with refused("next_states must be states from 0 to 2, got 7"):
        estimate_mdp_variation(np.ones((40, 1, 1)), np.zeros((40, 1)), states, num_states=3)
