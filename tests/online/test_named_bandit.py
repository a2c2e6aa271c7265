"""Arms with names are blocks of a plain bandit, whoever comes and goes."""

import json
import pickle
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from driftwise.online import Bandit, DecisionLog, Encoder, NamedBandit, Outcome, agent_files
from driftwise.online.encoding import Category, Number
from driftwise.online.replay import replay
from tests.online.streams import COPIES, bits, run_together
from tests.reference.named_arms import EveryArm

CONTEXT = Encoder((Number("age", 0, 100), Category("country", ("DE", "FR"))))
ARM = Encoder((Number("age", 0, 100), Number("price", 0, 10)), (("age", "price"),), constant=False)
SETTINGS: dict[str, Any] = {"rate": 0.95, "noise_scale": 0.3}
RED, BLUE, GREEN = ({"price": price} for price in (1.0, 4.0, 9.0))


def rows(num: int, seed: int = 0) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    ages, countries = rng.uniform(0, 100, num).tolist(), rng.choice(["DE", "FR", "GB"], num).tolist()
    return [{"age": age, "country": country} for age, country in zip(ages, countries, strict=True)]


def named(**options: Any) -> NamedBandit:
    return NamedBandit("d_lin_ucb", **{"own": CONTEXT, "max_arms": 3, **SETTINGS, **options})


def lead(bandit: NamedBandit, num: int, arms: Any, seed: int = 0) -> list[Any]:
    """Decisions whose rewards come at once, but for every fifth, which has none."""
    made = []
    for t, row in enumerate(rows(num, seed)):
        made.append(bandit.decide(row, arms, id=f"{seed}-{t}", time=float(t)))
        if t % 5:
            bandit.learn(made[-1].id, float(len(made[-1].arm)) / 5)
    return made


ENCODERS = {"own": {}, "shared": {"own": None, "shared": ARM, "max_arms": 0}, "both": {"shared": ARM}}


@pytest.mark.parametrize("encoders", ENCODERS.values(), ids=ENCODERS)
def test_it_is_a_plain_bandit_on_blocks_of_own_weights_beside_the_columns_of_context_and_arm(encoders):
    arms, bandit = {"red": RED, "blue": BLUE, "green": GREEN}, named(**encoders)
    plain = Bandit("d_lin_ucb", dim=bandit.encoding.dim, **SETTINGS)
    for decision, row in zip(lead(bandit, 40, arms), rows(40), strict=True):
        own = np.kron(np.eye(3), CONTEXT(row))
        shared = ARM.rows([{**row, **each} for each in arms.values()])
        both = own if not encoders else shared if "own" in encoders else np.hstack([shared, own]) / np.sqrt(2)
        np.testing.assert_array_equal(decision.blocks.features, both)
        expected = plain.decide(both, id=decision.id)
        assert (decision.arm, decision.index) == ([*arms][expected.arm], expected.index)
        assert (decision.bonus, decision.probability) == (expected.bonus, expected.probability)
        assert [*decision.probabilities.items()] == [*zip(arms, expected.probabilities, strict=True)]
        assert [*decision.scores.values()] == expected.scores.tolist()
        if not decision.id.endswith(("0", "5")):
            plain.learn(decision.id, len(decision.arm) / 5)
    assert bits(bandit.bandit.state) == bits(plain.state)


class Kept:
    """What a bandit with named arms should know and wait for: a regression that never lets an arm go."""

    def __init__(self) -> None:
        self.lives: dict[str, int] = {}
        self.waiting: dict[str, tuple[str, dict[str, Any]]] = {}
        self.regression = EveryArm(ARM.dim, CONTEXT.dim, 1.0)

    def of(self, name: str, row: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, str]:
        return ARM(row) / np.sqrt(2), CONTEXT(row) / np.sqrt(2), f"{name}, life {self.lives.get(name, 0)}"

    def gone(self, names: set[str]) -> None:
        self.lives |= {name: self.lives.get(name, 0) + 1 for name in names}
        self.waiting = {id: each for id, each in self.waiting.items() if each[0] not in names}


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_others_know_what_a_regression_with_every_arm_that_ever_was_knows(seed):
    """Six names through three slots: offered, rewarded late or never, retired, copied, come again."""
    rng, kept = np.random.default_rng(seed), Kept()
    bandit = NamedBandit("lin_ucb", own=CONTEXT, shared=ARM, max_arms=3, when_full="retire", radius=1.0)
    for t, row in enumerate(rows(120, seed)):
        before, chosen = {*bandit.arms}, rng.choice(6, size=rng.integers(1, 4), replace=False)
        names = [f"arm {i}" for i in chosen]
        arms = {name: {"price": float(rng.uniform(0, 10))} for name in names}
        match rng.choice(["decide", "learn", "learn from", "retire", "copy"], p=[0.5, 0.3, 0.08, 0.08, 0.04]):
            case "decide":
                decision = bandit.decide(row, arms)
                kept.gone(before - {*bandit.arms})
                known = kept.of(decision.arm, {**row, **arms[decision.arm]})
                if t > 20:
                    expected = kept.regression.prediction(*known)[:2]
                    found = decision.index - decision.bonus, decision.bonus
                    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
                kept.waiting[decision.id] = decision.arm, {**row, **arms[decision.arm]}
            case "learn" if kept.waiting:
                id = [*kept.waiting][rng.integers(len(kept.waiting))]
                reward, known = float(rng.normal()), kept.of(*kept.waiting.pop(id))
                bandit.learn(id, reward)
                kept.regression.learn(*known, reward)
            case "learn from":
                name, reward = names[0], float(rng.normal())
                bandit.learn_from({**row, **arms[name]}, name, reward)
                kept.gone(before - {*bandit.arms})
                kept.regression.learn(*kept.of(name, {**row, **arms[name]}), reward)
            case "retire" if before:
                name = sorted(before)[0]
                assert bandit.retire(name) == sum(each[0] == name for each in kept.waiting.values())
                kept.gone({name})
            case "copy":
                bandit = pickle.loads(pickle.dumps(bandit))
        assert [each[:2] for each in bandit.pending()] == [(id, each[0]) for id, each in kept.waiting.items()]
    assert sum(kept.lives.values()) > 10


def test_new_names_take_free_slots_and_are_refused_when_there_are_none():
    bandit, (row,) = named(max_arms=2), rows(1)
    bandit.decide(row, ["red", "blue"])
    before = bandit.to_bytes()
    with pytest.raises(ValueError, match=r"^arms .* all 2 slots are taken, got 'green', .* as 'red', unused"):
        bandit.decide(row, ["blue", "green"])
    with pytest.raises(ValueError, match=r"^arms must be known where all 2 slots are taken"):
        bandit.scores(row, ["green"])
    assert bandit.to_bytes() == before
    bandit.retire("red")
    assert bandit.decide(row, ["green"]).blocks.slots == [0]
    assert bandit.arms == ["blue", "green"]
    with pytest.raises(ValueError, match=r"^arm must be known, got 'gren' \(did you mean 'green'\?\)$"):
        bandit.retire("gren")


def test_when_full_the_arms_that_were_not_on_offer_for_longest_retire_and_their_decisions_expire():
    bandit, (row,) = named(max_arms=3, when_full="retire"), rows(1)
    ids = {name: bandit.decide(row, [name]).id for name in ("red", "blue", "green")}
    bandit.decide(row, ["red"])
    assert bandit.arms == ["blue", "green", "red"]
    bandit.decide(row, ["black", "green"])
    assert bandit.arms == ["red", "black", "green"]
    assert bandit.learn(ids["blue"], 1.0, strict=False) is Outcome.EXPIRED
    assert bandit.learn(ids["green"], 1.0) is Outcome.LEARNT
    assert bandit.summary().expired == 1
    with pytest.raises(ValueError, match=r"^arms must be at most max_arms=3, got 4 of them$"):
        bandit.decide(row, ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match=r"^id must be unique"):
        bandit.decide(row, ["a", "b", "c"], id=ids["red"])
    assert bandit.arms == ["red", "black", "green"]


def test_decisions_of_an_arm_that_retires_expire_even_where_its_own_features_are_zero():
    bandit = named(own=Encoder((Number("age", 0, 100),), constant=False))
    middle = {"age": 50.0}
    decision, other = bandit.decide(middle, ["red"]), bandit.decide(middle, ["blue"])
    assert not decision.blocks.features.any()
    assert bandit.retire("red") == 1
    assert bandit.learn(decision.id, 1.0, strict=False) is Outcome.EXPIRED
    assert bandit.learn(other.id, 1.0) is Outcome.LEARNT


def test_scores_are_those_of_the_next_decision_and_take_no_slot():
    bandit, (row,) = named(), rows(1)
    lead(bandit, 10, ["red", "blue"])
    before = bandit.to_bytes()
    scores = bandit.scores(row, ["new", "red", "blue", "newer"])
    assert scores["new"] == scores["newer"]
    assert bandit.top(row, ["red", "blue"], 2) == sorted(("red", "blue"), key=scores.get, reverse=True)  # pyright: ignore
    assert bandit.to_bytes() == before
    found = bandit.decide(row, ["new", "red", "blue"]).scores
    assert found == {name: scores[name] for name in found}


def test_what_is_learnt_from_is_the_same_from_rows_columns_frames_and_one_by_one():
    """Seven arms through three slots: those retire that were not used for longest."""
    table = [{**row, **RED} for row in rows(40)]
    names = [f"arm {i}" for i in np.random.default_rng(3).integers(7, size=40)]
    rewards, weights = np.linspace(0, 1, 40), np.linspace(0.5, 2, 40)
    columns = {name: [row[name] for row in table] for name in table[0]}
    frame = pd.DataFrame({**columns, "reward": rewards})
    given: dict[str, Any] = dict(own=CONTEXT, shared=ARM, max_arms=3, when_full="retire", radius=1.0)
    first, *others, single = (NamedBandit("lin_ucb", **given) for _ in range(4))
    first.learn_from(table, names, rewards, weight=weights)
    for other, contexts, arms in zip(
        others, (columns, frame), (np.array(names), pd.Series(names)), strict=True
    ):
        other.learn_from(contexts, arms, rewards, weight=weights)
        assert bits(other.bandit.state) == bits(first.bandit.state)
    for row, name, reward, weight in zip(table, names, rewards, weights, strict=True):
        single.learn_from(row, name, reward, weight=weight)
    assert first.arms == single.arms
    assert first.summary().samples == single.summary().samples == 40
    found, expected = (each.scores(table[0], dict.fromkeys(single.arms, RED)) for each in (first, single))
    np.testing.assert_allclose([*found.values()], [*expected.values()], rtol=1e-12)
    with pytest.raises(ValueError, match=r"^arms must be at most max_arms=3, got 7 of them$"):
        named(when_full="refuse").learn_from(table, names, np.zeros(40))
    limited = named(when_full="retire", reward_range=(0, 1))
    with pytest.raises(ValueError, match=r"^reward must lie in reward_range"):
        limited.learn_from(table, names, np.arange(40))
    assert limited.arms == []
    shared = named(own=None, shared=ARM, max_arms=0)
    shared.learn_from(table, names, rewards)
    assert (shared.summary().samples, shared.arms) == (40, [])


def test_rows_of_weight_0_leave_everything_as_it_was():
    bandit, table = named(max_arms=2, when_full="refuse"), rows(4)
    bandit.learn_from(table[0], "red", 1.0)
    before = bandit.to_bytes()
    bandit.learn_from(table, ["blue", "green", "red", "grey"], [1.0] * 4, weight=0)
    assert bandit.to_bytes() == before
    bandit.learn_from(table[:3], ["green", "blue", "grey"], [0.2, 0.4, 0.6], weight=[0, 3, 0])
    assert bandit.arms == ["red", "blue"]
    alone = named(max_arms=2, when_full="refuse")
    alone.learn_from(table[0], "red", 1.0)
    alone.learn_from(table[1], "blue", 0.4, weight=3)
    assert bits(bandit.bandit.state) == bits(alone.bandit.state)


def test_without_a_context_arms_have_a_mean_each():
    bandit = NamedBandit("greedy", own=Encoder(), max_arms=3)
    bandit.learn_from(None, ["red", "blue", "red"], [1.0, 0.0, 0.0])
    bandit.learn_from(None, "red", 1.0)
    assert bandit.scores(None, ["red", "blue", "new"]) == pytest.approx({"red": 2 / 4, "blue": 0, "new": 0})
    assert bandit.decide(None, ["blue", "red"]).arm == "red"


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", ["d_lin_ucb", "adaptive_lin_ucb", "maps"])
def test_a_copy_goes_on_bit_for_bit_with_its_encoders_names_and_waiting_decisions(name, how, tmp_path):
    options = {"own": CONTEXT, "shared": ARM, "max_arms": 3, "when_full": "retire"}
    own: dict[str, Any] = SETTINGS if name == "d_lin_ucb" else {"expand": "auto" if name == "maps" else "no"}
    bandit = NamedBandit("d_lin_ucb" if name == "d_lin_ucb" else "adaptive_lin_ucb", **options, **own)
    bandit.metadata = {"at": 7}
    lead(bandit, 15, {"red": RED, "blue": BLUE})
    bandit.retire("red")
    lead(bandit, 15, {"blue": BLUE, "green": GREEN}, seed=1)
    copied = COPIES[how](bandit, tmp_path)
    assert (copied.encoding, copied.arms, copied.metadata) == (bandit.encoding, bandit.arms, {"at": 7})
    assert (copied.pending(), copied.summary()) == (bandit.pending(), bandit.summary())
    assert {each.arm for each in copied.pending()} <= {"blue", "green"}
    arms = {"red": RED, "blue": BLUE, "black": GREEN}
    assert lead(copied, 15, arms, seed=2) == lead(bandit, 15, arms, seed=2)
    assert bits(copied.bandit.state) == bits(bandit.bandit.state)
    assert copied.arms == bandit.arms


def test_decisions_wait_under_the_names_of_their_arms_and_others_under_numbers():
    bandit = named()
    decision = bandit.decide(rows(1)[0], ["red", "blue"], arm="blue", time=5.0)
    assert decision.arm == "blue"
    assert bandit.pending() == [(decision.id, "blue", 5.0)]
    plain = Bandit("d_lin_ucb", dim=2, **SETTINGS)
    assert plain.pending() == []
    plain.decide(np.eye(2), id=1, arm=1, time=5.0)
    plain.decide(np.eye(2), id=2, arm=0, time=5.0, names=["a", "b"])
    for each in (plain, Bandit.from_bytes(plain.to_bytes())):
        assert each.pending() == [("1", 1, 5.0), ("2", "a", 5.0)]
    with pytest.raises(ValueError, match=r"^names must be one for each of 2 arms, got 1$"):
        plain.decide(np.eye(2), names=["a"])


ROW = {"age": 3, "country": "DE"}
FRAME: Any = pd.DataFrame({"price": [3.5]}, index=["red"])
MISTAKES = {
    "no arm": (lambda b: b.decide(ROW, []), r"arms must be one or more, of different names, got \[\]"),
    "an arm twice": (lambda b: b.decide(ROW, ["a", "a"]), "arms must be one or more, of different names"),
    "a number twice": (lambda b: b.decide(ROW, ["1", 1]), "arms must be one or more, of different names"),
    "a name alone": (lambda b: b.decide(ROW, "red"), "arms must be names in a list, or map names"),
    "no names": (lambda b: b.decide(ROW, 3), "arms must be names in a list"),
    "a data frame": (lambda b: b.decide(ROW, FRAME), "arms must be names .* to their columns, got .*…$"),
    "an empty name": (lambda b: b.decide(ROW, [""]), "arms must be an integer .* or text of 1 to 200"),
    "no columns": (lambda b: b.decide(ROW, {"red": 3}), "arms must be a Mapping, got 3"),
    "no context": (lambda b: b.decide(None, ["a"]), "columns must have 'age' among them, got none"),
    "a list as a context": (lambda b: b.decide([1], ["a"]), r"context must be a Mapping, got \[1\]"),
    "an arm that is not on offer": (lambda b: b.decide(ROW, ["a"], arm="b"), "arm must be one of the arms"),
    "no time": (lambda b: b.decide(ROW, ["a"], time="now"), "time must be seconds since 1970"),
    "too many of the best": (lambda b: b.top(ROW, ["x"], 2), "k must be at most the number of arms, 1"),
    "an arm too few": (lambda b: b.learn_from([ROW, ROW], ["a"], [1, 1]), "arms must be one .* of the 2"),
    "no arms at all": (lambda b: b.learn_from(ROW, None, 1.0), "arms must be names in a list"),
    "times that nobody counts": (
        lambda b: b.learn_from([ROW], ["a"], [1], time=5.0),
        "time must be left out for d_lin_ucb, which counts rewards",
    ),
    "no reward": (lambda b: b.learn_from(ROW, "a", np.nan), "reward must be finite"),
    "a reward too few": (lambda b: b.learn_from([ROW], ["a"], [1, 2]), "reward must have shape"),
    "an unknown arm": (lambda b: b.retire("red"), "arm must be known, got 'red'"),
    "an id twice": (lambda b: b.decide(ROW, ["a"], id="taken"), "id must be unique"),
}


@pytest.mark.parametrize(("mistake", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_refused_in_one_sentence_and_change_nothing(mistake, message):
    bandit = named(when_full="retire")
    bandit.decide(ROW, ["x", "y", "z"], id="taken")
    before = bandit.to_bytes()
    with pytest.raises(ValueError, match=f"^{message}"):
        mistake(bandit)
    assert bandit.to_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"own": None, "shared": ARM}, "max_arms must be 0 without `own`, got 3"),
        ({"own": None, "max_arms": 0}, "own, shared must be given, one of them or both, got neither"),
        ({"max_arms": 0}, "max_arms must be at least 1 with `own`, got 0"),
        ({"own": "age"}, "own must be an Encoder, got 'age'"),
        ({"dim": 3}, "dim must be left out: encoders and max_arms make it, got 3"),
        ({"when_full": "forget"}, "when_full must be one of refuse, retire, got 'forget'"),
        ({"noise": 1}, "noise is no"),
        ({"expand": "auto"}, "^expand is no key of d_lin_ucb"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_sentence(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        named(**options)


def test_an_algorithm_with_samples_that_could_not_retire_arms_is_refused_from_the_start():
    given: dict[str, Any] = {"own": CONTEXT, "shared": ARM, "max_arms": 2, "noise_scale": 0.3, "length": 5}
    with pytest.raises(ValueError, match=r"^when_full must be 'refuse' .* shared, for sw_lin_ucb"):
        NamedBandit("sw_lin_ucb", **given, when_full="retire")
    bandit = NamedBandit("sw_lin_ucb", **given)
    bandit.learn_from({**ROW, **RED}, "red", 1.0)
    with pytest.raises(ValueError, match=r"^algorithm must keep sums that weights can be removed from"):
        bandit.retire("red")
    assert bandit.arms == ["red"]
    alone = NamedBandit("sw_lin_ucb", **{**given, "shared": None}, when_full="retire")
    lead(alone, 20, ["red", "blue"])
    lead(alone, 20, ["green"], seed=1)
    assert alone.arms == ["blue", "green"]


def test_arms_that_nothing_tells_apart_are_refused():
    bandit = named(own=None, shared=ARM, max_arms=0)
    with pytest.raises(ValueError, match=r"^arms must have columns where all weights are shared, got names"):
        bandit.decide({**ROW, **RED}, ["red", "blue"])
    assert bandit.decide({**ROW, **RED}, ["red"]).arm == "red"


def test_threads_may_decide_learn_and_retire_at_once():
    bandit, failed = named(max_arms=4, when_full="retire", max_pending=1000), []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for row in rows(40, seed):
                names = [f"arm {i}" for i in rng.choice(8, size=3, replace=False)]
                decision = bandit.decide(row, names)
                bandit.learn(decision.id, 1.0, strict=False)
                if rng.uniform() < 0.2 and (known := bandit.arms):
                    bandit.retire(known[0])
        except ValueError as error:
            if "arm must be known" not in str(error):  # another thread was faster
                failed.append(error)

    run_together(*(threading.Thread(target=work, args=(seed,)) for seed in range(4)))
    assert not failed
    slots = bandit._slots.taken
    assert len({*slots.values()}) == len(slots) <= 4
    summary = bandit.summary()
    assert summary.rewards + summary.expired == summary.decisions
    state = NamedBandit.from_bytes(bandit.to_bytes()).bandit.state
    for free in bandit._slots.free:  # nothing is left of whoever was there
        assert not state.cross[0, bandit.encoding.block(free)].any()


@pytest.mark.parametrize("encoders", ENCODERS.values(), ids=ENCODERS)
def test_decisions_with_names_are_logged_and_replayed_as_they_are(encoders, tmp_path):
    bandit = named(epsilon=0.2, **encoders)
    log, arms = DecisionLog(tmp_path / "log.jsonl"), {"red": RED, "blue": BLUE, "green": GREEN}
    made = []
    for t, row in enumerate(rows(40)):
        offered = {name: arms[name] for name in [*arms][t % 2 :]}
        made.append(bandit.decide(row, offered))
        log.add_decision(made[-1])
        log.add_reward(made[-1].id, 1.0 if made[-1].arm == "red" else 0.0)
    for decision, found in zip(made, log.decisions(), strict=True):
        assert found.names == tuple(decision.probabilities)
        assert [*decision.probabilities][found.arm] == decision.arm
        np.testing.assert_array_equal(found.arms, decision.blocks.features)
        np.testing.assert_array_equal(found.probabilities, [*decision.probabilities.values()])
    found = replay(log, {"as it is": bandit}).logged.actions
    taken = Counter(decision.arm for decision in made)
    assert {name: (view.rows, view.reward) for name, view in found.items()} == {
        name: (taken[name], float(name == "red")) for name in arms
    }
    lines = [json.loads(line) for line in Path(log.path).read_text(encoding="utf-8").splitlines()]
    assert all(len(line["own"]) == 1 for line in lines if "own" in line)  # one context for all arms
    with pytest.raises(ValueError, match=r"^arms, features must be left out .* have names, got some$"):
        log.add_decision(made[0], arms=np.eye(3))


BAD = {
    "a slot twice": ({"slots": [0, 0]}, "slots must be different ones of 3"),
    "a slot that is not there": ({"slots": [0, 3]}, "slots must be different ones of 3"),
    "no slots": ({"slots": None}, "slots must be an array of numbers"),
    "many slots": ({"num_slots": 10**9}, "num_slots must make at most 10,000,000 numbers of all arms"),
    "many slots of nothing": ({"own": [[]], "num_slots": 10**15, "slots": [0, 10**15]}, "slots must be"),
    "a row too many": ({"own": [[1.0]] * 3}, "own must be one row or 2 of them, got 3"),
    "a name too few": ({"names": ["a"]}, "names must be 2 different ones"),
    "no names": ({"names": 3}, "names must be a list, got 3"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_lines_with_names_that_nobody_logged_are_refused(change, message, tmp_path):
    line = {"id": "a", "time": 1.0, "arm": 0, "probabilities": [0.5, 0.5], "names": ["a", "b"]}
    blocks = {"own": [[1.0]], "slots": [2, 0], "num_slots": 3}
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(line | blocks), encoding="utf-8")
    (found,) = DecisionLog(path).decisions()
    assert found.arms.tolist() == [[0, 0, 1], [1, 0, 0]]
    path.write_text(json.dumps(line | blocks | change), encoding="utf-8")
    with pytest.raises(ValueError, match=f"line 1: {message}"):
        next(DecisionLog(path).decisions())


CRAFTED = {
    "a slot twice": {"arms.slots": np.array([1, 1])},
    "a slot that is not there": {"arms.slots": np.array([0, 3])},
    "a slot too few": {"arms.slots": np.array([0])},
    "a negative slot": {"arms.slots": np.array([-1, 0])},
    "slots that are none": {"arms.slots": np.array([0.0, 1.0])},
    "names that are none": {"arms.names": np.frombuffer(b"[1, 2]", dtype=np.uint8)},
    "no list": {"arms.names": np.frombuffer(b"7", dtype=np.uint8)},
    "no name at all": {"arms.names": np.frombuffer(b"[\"\", \"b\"]", dtype=np.uint8)},
    "waiting without names": {"pending.names": np.frombuffer(b"[]", dtype=np.uint8)},
    "waiting for a number": {"pending.names": np.frombuffer(b"[3]", dtype=np.uint8)},
}  # fmt: skip


@pytest.mark.parametrize("change", CRAFTED.values(), ids=CRAFTED)
def test_files_whose_names_and_slots_do_not_fit_are_refused(change):
    bandit = named()
    bandit.decide(ROW, ["red", "blue"])
    content = bandit._content()
    assert agent_files.from_bytes(agent_files.to_bytes(content)).arms == ["red", "blue"]
    with pytest.raises(ValueError, match=r"^content must be .* of this version, .*cannot be made"):
        agent_files.from_bytes(agent_files.to_bytes(content._replace(tensors={**content.tensors, **change})))
    smaller = {**content.description, "arms": {**content.description["arms"], "max_arms": 2}}
    with pytest.raises(ValueError, match="bandit must have 8 weights"):
        agent_files.from_bytes(agent_files.to_bytes(content._replace(description=smaller)))
    with pytest.raises(ValueError, match="content must be of a Bandit, got one of a NamedBandit"):
        Bandit.from_bytes(bandit.to_bytes())
