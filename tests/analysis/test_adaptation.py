"""Scores of adaptation: equal to their definitions, and right at both ends of the scale."""

import math

import numpy as np
import pytest

from driftwise.analysis.adaptation import (
    Recovery,
    adaptation,
    alarm_scores,
    decision_lag,
    lag,
    median_recovery,
    performance,
)
from driftwise.base import ArgumentError
from driftwise.scenarios import Scenario, bandit_policy, play_policy
from driftwise.scenarios.contestants import RADIUS
from tests.reference import adaptation as reference


@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    optimal = 1 + rng.random(200)
    values = optimal * np.clip(0.8 + 0.2 * np.sin(np.arange(200) / 9) + 0.1 * rng.normal(size=200), 0, 1)
    changes = sorted(rng.choice(np.arange(1, 200), size=4, replace=False).tolist())
    frozen = rng.random(4)
    found = adaptation(values, optimal, changes, frozen=frozen, window=7, tolerance=0.02)
    expected = reference.scores(values, optimal, changes, frozen, 7, 0.02)
    for own, theirs in zip(found, expected, strict=True):
        assert own.recovery == theirs.pop("recovery")
        numbers = {name: each for name, each in own._asdict().items() if name != "recovery"}
        assert numbers == pytest.approx(theirs, rel=0, abs=1e-12)
    good = performance(values, optimal)
    assert good == pytest.approx((sum(values) / 200, sum(values / optimal) / 200), abs=1e-12)


def test_an_oracle_has_recovered_at_once_and_who_never_learns_again_does_not():
    optimal = 0.5 + np.random.default_rng(0).random(300)
    for own in adaptation(optimal, optimal, [100, 200]):
        assert (own.drop, own.recovery, own.area) == (0, Recovery(0, True), 0)
        assert (own.resilience, own.adaptability) == (1, 1)
    values = np.concat([np.full(100, 0.9), np.full(100, 0.4), np.full(100, 0.2)])
    found = adaptation(values, np.ones(300), [100, 200])
    assert [own.recovery for own in found] == [Recovery(100, False)] * 2
    assert [own.area for own in found] == pytest.approx([50, 20])
    assert median_recovery([own.recovery for own in found]) == math.inf


@pytest.mark.slow
def test_who_restarts_at_the_changes_beats_who_restarts_by_chance_in_the_mean_of_every_score():
    """With the radius of the benchmark, over twelve runs: in one, who is bad before is soon as bad again."""
    scenario = Scenario("linear_bandit", "abrupt_rare")
    base = {"algorithm": "lin_ucb", "radius": RADIUS}
    agents = {
        "oracle": bandit_policy("oracle_restart", changes=scenario.changes, radius=RADIUS),
        "random": bandit_policy("random_restart", base=base, probability=0.01),
    }
    scores = {}
    for name, make in agents.items():
        runs = [play_policy(make, scenario, run=run) for run in range(12)]
        found = [own for run in runs for own in adaptation(run.values, run.optimal, scenario.changes)]
        recovery = median_recovery([own.recovery for own in found])
        means = np.mean([(-own.area, own.adaptability) for own in found], axis=0)
        scores[name] = np.array([*means, -recovery])
    assert (scores["oracle"] > scores["random"]).all()


def test_scores_at_the_edges():
    (only,) = adaptation([0.0] * 5 + [1.0] * 5, np.ones(10), [5])
    assert math.isnan(only.retention)  # of nothing
    assert (only.resilience, only.drop) == (1, -1)
    values = np.array([0.1] * 5 + [0.9] * 5 + [0.5] * 40)
    _, second = adaptation(values, np.ones(50), [5, 10], window=20)
    assert second.drop == pytest.approx(0.4)  # the window ends at the change before
    first, _ = adaptation(np.ones(50), np.ones(50), [20, 30], window=20)
    assert first.recovery == Recovery(10, False)  # a stretch shorter than the window


@pytest.mark.parametrize("seed", range(4))
def test_the_median_with_censoring_is_that_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    drawn = zip(rng.integers(30, size=25).tolist(), (rng.random(25) < 0.7).tolist(), strict=True)
    recoveries = [Recovery(*one) for one in drawn]
    assert median_recovery(recoveries) == reference.median(recoveries)


def test_the_median_without_censoring_is_the_lower_median_and_censoring_makes_it_later():
    recovered = [Recovery(n, True) for n in (3, 5, 8, 13)]
    assert median_recovery(recovered) == 5
    assert median_recovery([*recovered, Recovery(4, False), Recovery(4, False)]) == 8
    assert median_recovery([Recovery(3, True), Recovery(9, False), Recovery(9, False)]) == math.inf


@pytest.mark.parametrize("behind", [0, 7, 19])
def test_the_lag_of_a_late_copy_is_how_late_it_is(behind):
    rng = np.random.default_rng(behind)
    truth = np.cumsum(rng.normal(size=400))
    predictions = 2 + 0.5 * np.roll(truth, behind) + 0.05 * rng.normal(size=400)
    assert lag(predictions, truth, at_most=30) == behind == reference.lag(predictions, truth, 30)


@pytest.mark.parametrize("seed", range(4))
def test_the_lag_of_decisions_is_that_of_plain_loops_and_takes_no_easy_world_for_a_followed_one(seed):
    rng = np.random.default_rng(seed)
    lags, easy = [0, 1, 2, 3, 5], rng.random((5, 200))  # how good all decisions are
    chance, best = easy, easy + 0.1 + rng.random((5, 200))
    chance[:, :3] = best[:, :3]  # in these rounds nothing can be gained
    skill = 0.2 + 0.1 * rng.permutation(5)[:, None] + 0.3 * rng.normal(size=(5, 200))
    values = chance + np.clip(skill, -1, 1) * (best - chance)
    found = decision_lag(values, best, chance, lags)
    assert found == reference.decision_lag(values.tolist(), best.tolist(), chance.tolist(), lags)
    by_chance = chance + 0.3 * rng.choice([-1, 1], size=200) * (best - chance)
    assert decision_lag(by_chance, best, chance, lags) is None
    assert decision_lag(chance, best, chance, lags) is None
    assert decision_lag(values[:, :12], best[:, :12], chance[:, :12], lags) is None  # nine rounds say little


@pytest.mark.parametrize(
    ("rung", "changes"),
    [([], []), ([3, 50], []), ([], [10, 60]), ([5, 12, 14, 59, 99], [10, 60]), ([10, 60], [10, 60])],
)
def test_alarms_are_counted_as_plain_loops_count_them(rung, changes):
    assert alarm_scores(rung, changes, 100) == reference.alarms(rung, changes, 100)
    assert alarm_scores([5, 12, 14, 59], [10, 60], 100) == ((2,), 1, 30.0)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: performance([1.0], [0.0]), "optimal must be values above 0"),
        (lambda: performance([1.0, 2.0], [1.0]), "values must"),
        (lambda: adaptation([1.0, 1.0], [1.0, 1.0], [2]), "changes must be increasing rounds from 1 to 1"),
        (lambda: adaptation([1.0, 1.0], [1.0, 1.0], [0]), "changes must be increasing rounds from 1 to 1"),
        (lambda: alarm_scores([4, 4], [], 10), "alarms must be increasing rounds from 0 to 9"),
        (lambda: median_recovery([]), "recoveries must be at least one"),
        (lambda: lag([1.0, 2, 3], [1.0, 2, 3], at_most=2), "at_most must be at most 1, for 3 rounds"),
        (lambda: lag([1.0, 2, 3], [1.0, 1, 1], at_most=1), "truth must move in every stretch"),
        (lambda: decision_lag([[1.0]], [[0.5]], [[0.0]], [0]), "optimal must be the best values, one for"),
    ],
)
def test_what_cannot_be_scored_is_refused(call, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        call()
