"""Decisions are logged with their probabilities, and read back as they were."""

import re
import threading
from pathlib import Path

import numpy as np
import pytest

from driftwise.online import Bandit, DecisionLog
from driftwise.online.decision_log import LoggedReward
from driftwise.online.replay import TableLog
from driftwise.online.replay.logged_rows import read_rows
from tests.online.streams import run_together
from tests.online.test_replay import replay, write_csv

THETA = np.array([0.8, 0.2, 0.4])


def write(path: Path, num: int = 300) -> list[dict]:
    """A log of changing arms, each third decision without a reward; what happened is returned."""
    rng, log = np.random.default_rng(0), DecisionLog(path)
    bandit, happened = Bandit("square_cb", dim=3, gamma=5.0), []
    for t in range(num):
        arms = rng.uniform(size=(rng.integers(2, 6), 3))
        decision = bandit.decide(arms)
        log.add_decision(decision, arms=arms, time=float(t))
        happened.append({"arms": arms, "decision": decision, "reward": None})
        if t % 3:
            reward = float(arms[decision.arm] @ THETA + 0.1 * rng.normal())
            bandit.learn(decision.id, reward)
            log.add_reward(decision.id, reward)
            happened[-1]["reward"] = reward
    log.close()
    return happened


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict]]:
    path = tmp_path_factory.mktemp("log") / "decisions.jsonl"
    return path, write(path)


def test_a_log_has_every_decision_bit_for_bit(logged: tuple[Path, list[dict]]) -> None:
    path, happened = logged
    found = list(DecisionLog(path).decisions())
    assert len(found) == len(happened)
    for t, (one, expected) in enumerate(zip(found, happened, strict=True)):
        decision = expected["decision"]
        assert (one.id, one.time, one.arm) == (decision.id, float(t), decision.arm)
        assert one.reward == expected["reward"]
        np.testing.assert_array_equal(one.arms, expected["arms"])
        np.testing.assert_array_equal(one.probabilities, decision.probabilities)


def test_a_replay_of_the_log_weights_its_decisions_by_their_probabilities(logged):
    """`uniform` on changing arms: IPS and the logged mean by hand."""
    path, happened = logged
    found = replay(DecisionLog(path), "uniform")
    rewarded = [each for each in happened if each["reward"] is not None]
    terms = [each["reward"] / len(each["arms"]) / each["decision"].probability for each in rewarded]
    whole = found.whole
    assert (whole.rows, whole.skipped, whole.dim) == (len(rewarded), len(happened) - len(rewarded), 3)
    assert found.final.values["IPS"].value == pytest.approx(np.mean(terms), rel=1e-12)
    own = whole.logged.final.values["IPS"].value
    assert own == pytest.approx(np.mean([each["reward"] for each in rewarded]))
    estimate = found.final.values["DR"]
    truth = np.mean([(each["arms"] @ THETA).mean() for each in rewarded])
    assert abs(estimate.value - truth) < 5 * estimate.error


def test_a_replay_of_the_same_decisions_is_the_same_from_a_table_and_from_a_log(tmp_path: Path) -> None:
    rng, num = np.random.default_rng(4), 120
    contexts, rewards = rng.uniform(-1, 1, size=num), rng.normal(size=num)
    contexts[:2] = -1, 1  # the range that a table is scaled by
    log = DecisionLog(tmp_path / "log.jsonl")
    bandit, columns = Bandit("uniform", dim=4), {"x": [], "arm": [], "gain": [], "chance": []}
    for x, reward in zip(contexts, rewards, strict=True):
        features = np.array([1.0, x]) / np.sqrt(2)
        decision = bandit.decide(np.kron(np.eye(2), features))
        log.add_decision(decision, features=features)
        log.add_reward(decision.id, reward)
        for name, value in zip(columns, (x, decision.arm, reward, decision.probability), strict=True):
            columns[name].append(repr(float(value)) if name != "arm" else str(value))
    table = TableLog(write_csv(tmp_path / "log.csv", columns), "arm", "gain", ("x",), "chance")
    one, other = (replay(file, "d_lin_ucb", dict(rate=0.95, noise_scale=0.5)) for file in (table, log))
    assert one.own.actions == other.own.actions
    assert (one.own.learnt, one.whole.rows) == (other.own.learnt, other.whole.rows)
    assert one.own.learnt > 20
    for name, estimate in one.final.values.items():
        np.testing.assert_allclose(other.final.values[name], estimate, rtol=1e-9)


def test_a_policy_is_replayed_with_the_floor_that_it_is_deployed_with(logged):
    log, given = DecisionLog(logged[0]), dict(noise_scale=0.1)
    always, uniform = (
        replay(log, name, extra).final
        for name, extra in (("lin_ucb", given | {"epsilon": 1.0}), ("uniform", {}))
    )
    for name in ("IPS", "SNIPS", "DR"):
        np.testing.assert_allclose(always.values[name], uniform.values[name], rtol=1e-9)
    with pytest.raises(ValueError, match="max_pending"):
        replay(log, "lin_ucb", given | {"max_pending": 3})


def test_events_come_in_the_order_in_which_they_were_logged(logged: tuple[Path, list[dict]]) -> None:
    path, happened = logged
    log, expected = DecisionLog(path), []
    for each in happened:
        expected += [each["decision"].id] * (1 if each["reward"] is None else 2)
    assert [event.id for event in log.events()] == expected
    earned = [event.reward for event in log.events() if isinstance(event, LoggedReward)]
    assert earned == [each["reward"] for each in happened if each["reward"] is not None]


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(path, 9)
    whole = path.read_bytes()
    path.write_bytes(whole[: -len(whole.splitlines()[-1]) // 2])
    before = len(list(DecisionLog(path).decisions()))
    log, arms = DecisionLog(path), np.eye(3)
    decision = Bandit("greedy", dim=3).decide(arms)
    log.add_decision(decision, arms=arms)
    *_, last = found = list(DecisionLog(path).decisions())
    assert len(found) == before + 1
    assert last.id == decision.id


def test_threads_may_share_a_log_and_of_two_rewards_the_first_counts(tmp_path: Path) -> None:
    log, bandit, arms = DecisionLog(tmp_path / "log.jsonl", sync=True), Bandit("greedy", dim=3), np.eye(3)

    def decide() -> None:
        for _ in range(25):
            decision = bandit.decide(arms)
            log.add_decision(decision, arms=arms)
            log.add_reward(decision.id, 0.5)
            log.add_reward(decision.id, 0.9)

    run_together(*(threading.Thread(target=decide) for _ in range(4)))
    assert [each.reward for each in log.decisions()] == [0.5] * 100


LINE = '{"id":"a","time":1.0,"arm":0,"probabilities":[0.5,0.5],"arms":[[1.0],[2.0]]}'
BAD = {
    "no decision": ("", "must have at least one decision to learn from, but it has none"),
    "no reward": (LINE, "all 1 lack a reward"),
    "no JSON": ("a,b\n1,2", "it has none"),
    "one arm": (
        '{"id":"a","time":1,"arm":0,"probabilities":[1],"arms":[[1]]}\n{"id":"a","time":2,"reward":1}',
        "some decision must have at least two arms",
    ),
    "no arm": (LINE.replace('"arm":0,', ""), "line 1: arm is missing"),
    "an arm that is not there": (LINE.replace('"arm":0', '"arm":2'), "line 1: arm must be"),
    "not probabilities": (
        LINE.replace("[0.5,0.5]", "[0.5,0.6]"),
        "probabilities must be at least 0 and sum to 1",
    ),
    "an arm without a chance": (LINE.replace("[0.5,0.5]", "[0,1]"), "above 0 for the chosen arm"),
    "other arms": (LINE.replace("[2.0]", "[2.0, 3.0]"), "line 1: arms must be"),
    "not finite": (LINE.replace("[2.0]", "[NaN]"), "line 1: arms must be"),
    "the same id": (f"{LINE}\n{LINE}", "line 2: id 'a' must be unique"),
    "a word as a reward": (f'{LINE}\n{{"id":"a","time":2,"reward":"x"}}', "line 2: reward must be"),
    "another dimension": (
        LINE + "\n" + LINE.replace('"a"', '"b"').replace("[1.0],[2.0]", "[1.0,1.0],[2.0,1.0]"),
        "arms must have 1 features in all decisions, got 2 at decision 'b'",
    ),
    "a short line that asks for much": (
        LINE.replace("[0.5,0.5]", str([1 / 400] * 400)).replace(
            '"arms":[[1.0],[2.0]]', f'"features":{[0.0] * 100}'
        ),
        "features must make at most 10,000,000 numbers of all arms, got 400 arms of 40000 numbers",
    ),
    "one row that all of many arms share": (
        LINE.replace("[0.5,0.5]", str([1 / 4000] * 4000)).replace(
            '"arms":[[1.0],[2.0]]', f'"shared":[{[0.0] * 4000}]'
        ),
        "shared must make at most 10,000,000 numbers of all arms, got 4000 arms of 4000 numbers",
    ),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_a_log_that_cannot_be_replayed_is_refused_in_one_sentence(text, message, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(message)):
        replay(DecisionLog(path), "uniform")


def test_what_cannot_be_logged_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    path, arms = tmp_path / "log.jsonl", np.eye(2)
    log, decision = DecisionLog(path), Bandit("greedy", dim=2).decide(np.eye(2))
    for mistake in (
        lambda: log.add_decision(decision),
        lambda: log.add_decision(decision, arms=arms, features=[1.0]),
        lambda: log.add_decision(decision, arms=np.eye(3)),
        lambda: log.add_decision(decision, arms=arms * np.nan),
        lambda: log.add_decision(decision, arms=arms, time=np.inf),
        lambda: log.add_reward(decision.id, np.nan),
    ):
        with pytest.raises(ValueError, match=r"arms|time|reward"):
            mistake()
    assert not path.exists()
    with pytest.raises(ValueError, match=r"ending of the log's name must be \.jsonl|must be one of"):
        DecisionLog(tmp_path / "log.csv")


def test_a_log_that_gets_new_arms_between_two_readings_is_refused(tmp_path: Path) -> None:
    path, reward = tmp_path / "log.jsonl", '{"id":"a","time":1.0,"reward":1.0}'
    path.write_text(f"{LINE}\n{reward}\n", encoding="utf-8")
    rows = read_rows(DecisionLog(path))
    more = LINE.replace("[0.5,0.5]", "[0.5,0.2,0.3]").replace("[2.0]", "[2.0],[3.0]")
    path.write_text(f"{more}\n{reward}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"log\.jsonl must stay as it is while it is read"):
        list(rows.read())
