"""Several policies on one log: differences, learning, clipping, actions, and logs that were not random."""

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.analysis.replay_report import replay_lead, replay_page, replay_tables
from driftwise.online import Bandit, DecisionLog
from driftwise.online.intervals import DriftBound, TwoSided
from driftwise.online.replay import Options, Replay, TableLog, replay
from driftwise.online.replay.logged_rows import _log_predicted, measure_dependence, read_rows
from driftwise.online.replay.options import ReplaySchedule
from tests.browser import find_chromium, probe
from tests.online.test_replay import COLUMNS, drawn, write_csv

POLICIES: dict[str, Any] = {"uniform": {}, "ucb": {"algorithm": "lin_ucb", "radius": 0.3}}
ROWS = 400
UNKNOWN = {**COLUMNS, "propensity": None}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> TableLog:
    return TableLog(write_csv(tmp_path_factory.mktemp("logs") / "log.csv", drawn(ROWS)), **COLUMNS)


@pytest.fixture(scope="module")
def found(log: TableLog) -> Replay:
    return replay(log, POLICIES, Options(reward_range=(0, 1), against="uniform"))


def test_policies_do_not_disturb_each_other(log: TableLog, found: Replay) -> None:
    for name, given in POLICIES.items():
        alone = replay(log, {name: given}, Options(reward_range=(0, 1)))
        assert str(alone.policies[name].final) == str(found.policies[name].final)
        assert alone.policies[name].value == found.policies[name].value
        assert alone.policies[name].actions == found.policies[name].actions


def test_the_logged_policy_has_the_sequence_of_its_own_rewards(found: Replay) -> None:
    """The weighted one with a memory of a tenth of the rows, for all 50 windows together."""
    for kind, memory in {"running": np.inf, "weighted": ROWS / 10}.items():
        sequence = TwoSided(partial(DriftBound, rate=1 - 1 / memory), scale=1.0, top=1.0)
        for reward in drawn(ROWS)["gain"].tolist():
            sequence.add(reward, 1 - reward)
        expected = sequence.at(0.05 if kind == "running" else 0.05 / 50)
        assert found.logged.value[kind] == pytest.approx(expected)


def test_differences_are_antisymmetric_and_tighter_than_two_intervals_apart(log, found):
    other = replay(log, POLICIES, Options(reward_range=(0, 1), against="ucb")).policies["uniform"]
    own = found.policies["ucb"]
    for kind, there in own.differences["uniform"].items():
        back = other.differences["ucb"][kind]
        assert (back.low, back.high) == pytest.approx((-there.high, -there.low)), kind
    for kind in ("normal", "running"):
        apart = sum(each.value[kind].high - each.value[kind].low for each in (own, found.logged))
        together = own.differences["logged"][kind]
        assert together.high - together.low < apart
    assert own.differences["logged"]["normal"].low > 0  # it is better than the log, by any reading


def test_an_agent_that_wrote_the_log_has_weights_of_one_and_its_mean_reward(tmp_path: Path) -> None:
    rng, log, rewards = np.random.default_rng(0), DecisionLog(tmp_path / "log.jsonl"), []
    bandit = Bandit("square_cb", dim=3, gamma=5.0)
    for _ in range(150):
        arms = rng.uniform(size=(4, 3))
        decision = bandit.decide(arms)
        rewards.append(float(rng.random() < arms[decision.arm].mean()))
        bandit.learn(decision.id, rewards[-1])
        log.add_decision(decision, arms=arms)
        log.add_reward(decision.id, rewards[-1])
    given = {"same": {"algorithm": "square_cb", "gamma": 5.0}, "later": bandit}
    found = replay(log, given, Options(learn="all", reward_range=(0, 1))).policies
    assert found["same"].final.values["IPS"].value == pytest.approx(np.mean(rewards), rel=1e-9)
    assert found["same"].final.effective == pytest.approx(150)
    assert found["same"].unsupported == 0
    none = found["same"].differences["logged"]["running"]
    assert none.low < 0 < none.high
    assert found["later"].learnt == 150
    assert found["later"].final.effective < 149  # it goes on from what it has learnt
    with pytest.raises(ValueError, match=r"policy small: it must have the 3 features of the log's .*, got 2"):
        replay(log, {"small": Bandit("uniform", dim=2)})


def test_learning_from_all_rows_is_learn_from(log: TableLog) -> None:
    """The policy at each row is that of a bandit that was shown all rows before."""
    found = replay(log, POLICIES, Options(learn="all", frozen_after=100))
    assert found.policies["ucb"].learnt == 100
    assert np.isnan(found.policies["ucb"].final.values["replay"].value)
    columns = drawn(ROWS)
    low, high = columns["x"].min(), columns["x"].max()
    contexts = np.stack([np.ones(ROWS), 2 * (columns["x"] - low) / (high - low) - 1], axis=1) / np.sqrt(2)
    actions = np.array(["abc".index(arm) for arm in columns["arm"]])
    bandit = Bandit("lin_ucb", dim=6, radius=0.3)
    for context, action, gain in zip(contexts[:100], actions, columns["gain"], strict=False):
        bandit.learn_from(np.kron(np.eye(3)[action], context), gain)
    best = [int(bandit.scores(np.kron(np.eye(3), context)).argmax()) for context in contexts[100:]]
    terms = (best == actions[100:]) / columns["chance"][100:] * columns["gain"][100:]
    assert found.policies["ucb"].final.values["IPS"].value == pytest.approx(terms.mean())
    assert "not agents that had acted themselves" in replay_lead(found)
    few = replay(log, {"ucb": POLICIES["ucb"]}, Options(learn="all", frozen_after=5))
    assert few.warnings == [f"ucb learnt from 5 of {ROWS:,} rows, fewer than its 6 features"]


def test_acceptance_with_one_bound_for_all_contexts_keeps_their_law_and_the_policys() -> None:
    """Exact sums. With a bound of each context's own, contexts are thinned out where the policies differ."""
    contexts, logged = np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.5, 0.5]])
    policy = np.array([[0.1, 0.9], [0.5, 0.5]])
    weights, law = policy / logged, contexts[:, None] * policy
    bounds = np.full((2, 1), 1 / logged.min()), weights.max(axis=1, keepdims=True)
    for bound, right in zip(bounds, (True, False), strict=True):
        accepted = contexts[:, None] * logged * weights / bound
        assert np.allclose(accepted / accepted.sum(), law) == right
        assert np.allclose(accepted / accepted.sum(axis=1, keepdims=True), policy)


def test_clipped_weights_are_told_and_intervals_stay_around_the_others(log: TableLog, found: Replay) -> None:
    clipped = replay(log, {"uniform": {}}, Options(reward_range=(0, 1), clip=1.5)).policies["uniform"]
    weights = 1 / 3 / drawn(ROWS)["chance"]
    assert clipped.final.clipped == (weights > 1.5).sum() > 0
    assert clipped.final.clipped_weight == pytest.approx((weights - np.minimum(weights, 1.5)).mean())
    assert clipped.final.mean_weight == pytest.approx(weights.mean())
    free = found.policies["uniform"]
    lost = free.final.values["IPS"].value - clipped.final.values["IPS"].value
    assert 0 < lost <= clipped.final.clipped_weight
    one, other = clipped.value["running"], free.value["running"]
    assert one.low <= other.value <= one.high
    assert one.high - one.low > other.high - other.low


@pytest.mark.slow
def test_the_model_inside_intervals_makes_them_tighter(tmp_path: Path) -> None:
    shares = TableLog(write_csv(tmp_path / "log.csv", drawn(3000)), **UNKNOWN)
    plain, robust = (
        replay(shares, {"ucb": POLICIES["ucb"]}, Options(learn="all", reward_range=(0, 1), k=k))
        .policies["ucb"]
        .value["running"]
        for k in (0.0, 1.0)
    )
    assert robust.high - robust.low < 0.9 * (plain.high - plain.low)
    assert robust.low < plain.value < robust.high


@pytest.mark.parametrize(("frozen", "every"), [(None, None), (100, 30), (90, 30), (399, 7)])
def test_weighted_intervals_are_for_as_many_looks_as_there_are(frozen: int | None, every: int | None) -> None:
    course = ReplaySchedule(Options(frozen_after=frozen, every=every), ROWS)
    ends = {*range(course.every, ROWS, course.every), ROWS}
    assert course.looks == sum(row > course.frozen for row in ends)


def test_actions_are_counted_and_shares_are_the_policies_own(found: Replay) -> None:
    columns = drawn(ROWS)
    for action, view in found.logged.actions.items():
        here = columns["arm"] == action
        assert (view.rows, view.share) == (here.sum(), pytest.approx(here.mean()))
        assert view.reward == pytest.approx(columns["gain"][here].mean())
        assert found.policies["uniform"].actions[action].share == pytest.approx(1 / 3)
        expected = (1 / 3 / columns["chance"][here]).mean()
        assert found.policies["uniform"].actions[action].weight == pytest.approx(expected)


def test_intervals_that_need_a_range_are_left_out_without_one(log: TableLog) -> None:
    found = replay(log, {"uniform": {}})
    assert found.policies["uniform"].value.keys() == {"normal", "asymptotic"}
    assert "Without the range of rewards (--range LOW,HIGH)" in replay_lead(found)
    assert "at all times" not in [column.heading for column in replay_tables(found)[0].columns]
    with pytest.raises(ValueError, match=r"must lie in reward_range, from 0 to 0\.5, got 1"):
        replay(log, {"uniform": {}}, Options(reward_range=(0, 0.5)))


def test_rewards_in_another_unit_have_the_same_intervals_in_that_unit(tmp_path: Path, found: Replay) -> None:
    columns = drawn(ROWS)
    log = TableLog(write_csv(tmp_path / "log.csv", columns | {"gain": 20 * columns["gain"] - 5}), **COLUMNS)
    other = replay(log, {"uniform": {}}, Options(reward_range=(-5, 15))).policies["uniform"]
    for kind in ("running", "weighted", "plug_in"):
        one = found.policies["uniform"]
        assert np.array(other.value[kind]) == pytest.approx(20 * np.array(one.value[kind]) - 5)
        there = np.array(one.differences["logged"][kind])
        assert np.array(other.differences["logged"][kind]) == pytest.approx(20 * there)


def test_choices_without_a_chance_in_the_log_are_told(tmp_path: Path) -> None:
    log, arms = DecisionLog(tmp_path / "log.jsonl"), np.eye(2)
    bandit = Bandit("greedy", dim=2)
    for _ in range(20):
        decision = bandit.decide(arms)
        bandit.learn(decision.id, 1.0)
        log.add_decision(decision, arms=arms)
        log.add_reward(decision.id, 1.0)
    found = replay(log, {"uniform": {}}, Options(reward_range=(0, 1)))
    assert found.policies["uniform"].unsupported == pytest.approx(0.5, abs=0.03)
    assert "of its choices had no chance in the log" in replay_lead(found)
    assert found.policies["uniform"].value["running"].high == 1  # nothing is known of the rest


@pytest.mark.parametrize("on", ["x", "time"])
def test_a_log_without_propensities_that_was_not_random_is_refused_or_marked(on: str, tmp_path: Path) -> None:
    columns, rng = drawn(600), np.random.default_rng(1)
    chance = 0.3 + 0.4 * (columns["x"] > 0) if on == "x" else 0.3 + 0.4 * (np.arange(600) > 300)
    arms = np.where(rng.random(600) < chance, "a", "b")
    log = TableLog(write_csv(tmp_path / "log.csv", columns | {"arm": arms}), **UNKNOWN)
    with pytest.raises(ValueError, match=f"propensities .* not drawn at random: they depend on {on}"):
        replay(log, {"uniform": {}})
    found = replay(log, {"uniform": {}}, Options(assume_random=True))
    assert found.biased
    assert found.to_json()["biased"] is True
    assert replay_lead(found).startswith(f"BIASED: the actions of the log depend on {on}")
    assert "(BIASED)" in replay_tables(found)[0].title
    if on == "x":
        assert "What the policies would have earned (biased)" in replay_page(found)


def test_a_random_log_passes_and_is_not_reassured(log: TableLog) -> None:
    found = replay(TableLog(log.path, **UNKNOWN), {"uniform": {}})
    assert not found.biased
    assert "which proves nothing for it" in replay_lead(found)
    assert measure_dependence(log, read_rows(log)).log_evidence < 0


def test_evidence_against_randomness_is_at_most_one_on_average() -> None:
    """An exact sum over all actions of six rows, of two kinds, for several shares."""
    kinds = np.array([0, 0, 1, 0, 1, 1])
    for share in (0.5, 0.2, 0.05):
        total = 0.0
        for actions in map(np.array, itertools.product((0, 1), repeat=6)):
            counts = np.zeros((2, 2))
            np.add.at(counts, (kinds, actions), 1)
            chance = np.prod(np.where(actions, share, 1 - share))
            ones = actions.mean()
            best = np.prod(np.where(actions, ones, 1 - ones))
            total += chance * np.exp(_log_predicted(counts)) / best
        assert total <= 1


@pytest.mark.parametrize(
    ("policies", "options", "message"),
    [
        ({}, {}, "policies must have at least one"),
        ({"logged": {}}, {}, "policies must have names other than 'logged'"),
        ({"lin_uc": {}}, {}, "did you mean 'lin_ucb'"),
        ({"mine": {"algorithm": "lin_ucb", "beta": 1}}, {}, "policy mine: beta is no key of .*, expected"),
        ({"lin_ucb": {"radus": 1}}, {}, r"\(did you mean 'radius'\?\), expected one of "),
        ({"lin_ucb": {"radius": -1.0}}, {}, "radius must be a number of at least 0, got -1"),
        ({"d_lin_ucb": {}}, {}, "rate is missing: d_lin_ucb needs it"),
        ({"d_lin_ucb": {"rate": [0.9, 0.8], "radius": 1}}, {}, r"single number, got a grid, \[0.9, 0.8\]$"),
        ({"uniform": {}}, {"frozen_after": ROWS}, "frozen_after must leave rows of the 400 to estimate on"),
        ({"uniform": {}}, {"against": "unifrom"}, "against must be one of uniform, got 'unifrom'"),
        ({"uniform": {}}, {"clip": 0}, "clip must be a number above 0, got 0"),
        ({"uniform": {}}, {"reward_range": (1, 0)}, "reward_range must be a lower number and a higher one"),
        ({"uniform": {}}, {"delta": 0}, "delta must be"),
        ({"uniform": {}}, {"k": 1}, "k must be 0 without a reward_range, as the intervals"),
        ({"uniform": {}}, {"k": 1.0, "reward_range": (0, 1)}, r"k must be 0 for .*log\.csv, which lacks "),
        ({"uniform": {}}, {"memory": 0.5}, "memory must be a number of at least 1"),
    ],
)
def test_wrong_policies_and_options_are_one_sentence(log, policies, options, message):
    with pytest.raises(ValueError, match=message):
        replay(log, policies, Options(**options))


def test_the_page_is_small_and_its_axes_have_labels(found: Replay) -> None:
    page = replay_page(found)
    assert len(page.encode()) < 1_000_000 / 4
    for label in ("row of the log", "mean reward", "difference", "Weighted mean reward, memory 40 rows"):
        assert f">{label}<" in page


@pytest.mark.slow
@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium here")
@pytest.mark.parametrize("width", [380, 1200])
def test_the_page_fits_and_is_seen_in_dark(found: Replay, width: int, tmp_path: Path) -> None:
    script = """
      const text = document.querySelector(".drawing text");
      return { colour: getComputedStyle(text).fill, drawings: document.querySelectorAll(".drawing").length,
               paper: getComputedStyle(document.body).backgroundColor };
    """
    seen = probe(replay_page(found), script, tmp_path, width=width, dark=True)
    assert seen["drawings"] == 4
    assert seen["paper"] == "rgb(20, 23, 27)"
    assert seen["colour"] == "rgb(154, 164, 175)"
