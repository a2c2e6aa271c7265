"""Intervals that hold at all times, whatever drifts, and the tests that rest on the same bets."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

from driftwise.online.intervals import (
    _BETS,
    ConstancyTest,
    DriftBound,
    PlugInBound,
    TwoSided,
    asymptotic_half_width,
    pseudo_outcome,
    psi,
)
from tests.reference.sequences import drift_bound, gamma_bound, plug_in_bound


def test_a_step_of_the_supermartingale_is_at_most_one() -> None:
    """Exact finite sums: a row is logged with chance h and weighted by 1/h, or has weight 0."""
    chances, means, bets = (0.02, 0.3, 1.0), np.linspace(0, 1, 6), (*_BETS, 0.9, 0.999)
    for cap, h, mean, bet in itertools.product((0.25, 0.5, 1.0), chances, means, bets):
        for centre in np.linspace(cap - 2, cap, 7):
            for reward in {1.0, *means[means > 0]}:
                share = mean / reward
                if share > 1:
                    continue
                low = cap - 1  # the least outcome; the others lie h-fold above it
                outcomes = np.array([low + cap * reward / h, low])
                chance = np.array([h * share, 1 - h * share])
                mu = chance @ outcomes
                if mu > cap:
                    continue
                exponents = bet * (outcomes - mu) - psi(bet) * (outcomes - centre) ** 2
                assert chance @ np.exp(exponents) <= 1 + 1e-12
    for bet, weight in itertools.product(bets, np.linspace(0.01, 1, 25)):
        assert psi(bet * weight) <= weight**2 * psi(bet) * (1 + 1e-12)


@pytest.mark.parametrize("cap", [0.5, 1.0])
@pytest.mark.parametrize("rate", [1.0, 0.9])
def test_bounds_are_their_definitions(cap: float, rate: float) -> None:
    outcomes = (np.random.default_rng(0).exponential(0.7, 20) + cap - 1).tolist()
    drift, plug_in = DriftBound(cap, rate), PlugInBound(cap, 0.05)
    for t, outcome in enumerate(outcomes, start=1):
        drift.add(outcome)
        plug_in.add(outcome)
        assert drift.at(0.05)[1] == pytest.approx(drift_bound(outcomes[:t], cap, rate, 0.05), rel=1e-9)
        assert plug_in.at(0.05)[1] == pytest.approx(plug_in_bound(outcomes[:t], cap, 0.05), rel=1e-9)


@pytest.mark.parametrize("seed", [6, 19])
def test_the_value_lies_in_its_interval_where_the_mean_of_weighted_rewards_does_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rewards, weights = rng.uniform(0.4, 0.8, 2000), 60.0 * (rng.random(2000) < 1 / 60)
    sequence = TwoSided(DriftBound, scale=1.0, top=1.0)
    for reward, weight in zip(rewards.tolist(), weights.tolist(), strict=True):
        sequence.add(weight * reward, weight * (1 - reward))
    value, low, high = sequence.at(0.05)
    assert low < value < high < (weights * rewards).mean()
    assert value == pytest.approx(0.6, abs=0.1)


@pytest.mark.parametrize("seed", range(3))
def test_the_value_of_rare_rewards_is_the_mean_that_knows_them_best(seed: int) -> None:
    """Rewards are 0 but for one in a hundred; weights vary, and only ρ(1 − r) feels that."""
    rng = np.random.default_rng(seed)
    rewards, weights = (rng.random(2000) < 0.01).astype(float), rng.choice([0.2, 5.0], 2000, p=[5 / 6, 1 / 6])
    up, down = (TwoSided(DriftBound, scale=1.0, top=1.0) for _ in range(2))
    for reward, weight in zip(rewards.tolist(), weights.tolist(), strict=True):
        up.add(weight * reward, weight * (1 - reward))
        down.add(weight * (1 - reward), weight * reward)
    value, low, high = up.at(0.05)
    assert low <= value <= high
    assert value == pytest.approx((weights * rewards).mean(), abs=0.02)
    assert down.at(0.05) == pytest.approx((1 - value, 1 - high, 1 - low))  # whatever is called the reward


@pytest.mark.parametrize("num", [300, 1500])
def test_the_mixture_of_eight_bets_is_about_as_tight_as_that_of_all(num: int) -> None:
    """The one with special functions, of the paper."""
    rng, bound = np.random.default_rng(5), DriftBound(1.0)
    outcomes = (np.where(rng.random(num) < 0.5, 2.0, 0.0) * (rng.random(num) < 0.6)).tolist()
    for outcome in outcomes:
        bound.add(outcome)
    mean, low = bound.at(0.05)
    assert (mean - low) / (mean - gamma_bound(outcomes, 0.05)) == pytest.approx(1, abs=0.25)


def drift(t: np.ndarray) -> np.ndarray:
    return 0.5 * (1 - np.sin(2 * np.log(np.e + 10 * t)) / np.log(np.e + 0.001 * t))


def misses(seed: int, num: int, every: int) -> tuple[bool, int, bool]:
    """Whether the running and the asymptotic interval ever miss, and how often the weighted one does."""
    rng, chance, rate = np.random.default_rng(seed), 0.5, 0.99
    means = drift(np.arange(1, num + 1))
    weights = np.where(rng.random(num) < chance, 1 / chance, 0.0)
    rewards = (rng.random(num) < means).astype(float)
    outcomes, opposites = weights * rewards, weights * (1 - rewards)
    running, weighted = (TwoSided(partial(DriftBound, rate=each), scale=1.0, top=1.0) for each in (1.0, rate))
    found, short, aged = [False, False], 0, 0.0
    for t, (up, down) in enumerate(zip(outcomes.tolist(), opposites.tolist(), strict=True), start=1):
        running.add(up, down)
        weighted.add(up, down)
        aged = rate * aged + means[t - 1]
        if t % every:
            continue
        target, inside = means[:t].mean(), running.at(0.1)
        found[0] |= not inside.low <= target <= inside.high
        now = weighted.at(0.1)
        short += not now.low <= aged * (1 - rate) / (1 - rate**t) <= now.high
        if t >= 200:
            half = asymptotic_half_width(t, outcomes[:t].var(), 500.0, 0.1)
            found[1] |= abs(outcomes[:t].mean() - target) > half
    return found[0], short, found[1]


@pytest.mark.parametrize(
    ("runs", "num", "every", "allowed"),
    [(20, 1000, 100, 4), pytest.param(300, 10_000, 25, 30, marks=pytest.mark.slow)],
)
def test_intervals_cover_a_mean_that_drifts(runs: int, num: int, every: int, allowed: int) -> None:
    running, weighted, asymptotic = zip(*(misses(seed, num, every) for seed in range(runs)), strict=True)
    assert sum(running) <= allowed  # at level 0.1; in few runs twice what there may be on average
    assert sum(weighted) <= 0.1 * runs * num / every
    assert sum(asymptotic) <= 0.15 * runs  # it holds for large t


def test_a_bound_is_not_idle() -> None:
    """Where the log takes the policy's action three times in ten, 4,000 rows tell its value to 0.16 or so."""
    rng, sequence = np.random.default_rng(2), TwoSided(DriftBound, scale=1.0, top=1.0)
    weights = np.where(rng.random(4000) < 0.3, 1 / 0.3, 0.0)
    rewards = (rng.random(4000) < np.where(np.arange(4000) < 2000, 0.7, 0.3)).astype(float)
    for weight, reward in zip(weights.tolist(), rewards.tolist(), strict=True):
        sequence.add(weight * reward, weight * (1 - reward))
    found = sequence.at(0.05)
    assert found.low < 0.5 < found.high < found.low + 0.16


@pytest.mark.parametrize("k", [0.0, 0.4, 3.0])
@pytest.mark.parametrize("clip", [math.inf, 2.0])
def test_a_pseudo_outcome_has_the_value_as_its_mean_and_is_bounded_below(k: float, clip: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        logged, policy = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
        rewards, predicted = rng.random(4), rng.random(4)
        weights = np.minimum(policy / logged, clip)
        outcomes = [pseudo_outcome(rewards[a], a, logged, weights, predicted, k) for a in range(4)]
        assert min(outcomes) >= -k - 1e-12
        assert logged @ outcomes == pytest.approx(logged @ (weights * rewards))
        assert logged @ outcomes <= policy @ rewards + 1e-12  # no more than its value, that without clipping
        if k == 0:  # inverse propensity weighting
            assert outcomes == pytest.approx(weights * rewards)


def test_constancy_is_refuted_after_a_change_and_seldom_without_one() -> None:
    def changed_by(means: np.ndarray, seed: int) -> int | None:
        rng, test = np.random.default_rng(seed), ConstancyTest(0.1)
        weights = np.where(rng.random(len(means)) < 0.5, 2.0, 0.0)
        rewards = rng.random(len(means)) < means
        for weight, reward in zip(weights.tolist(), rewards.astype(float), strict=True):
            test.add(weight * reward, weight * (1 - reward))
        return test.changed_by

    jump = np.repeat([0.8, 0.2], [700, 700])
    for seed in range(3):
        found = changed_by(jump, seed)
        assert found is not None
        assert found > 700
    assert sum(changed_by(np.full(300, 0.5), seed) is not None for seed in range(10)) <= 2
