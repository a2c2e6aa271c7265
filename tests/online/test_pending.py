"""Decisions that wait: their ids, how they expire, how they are saved, and what a crash loses."""

import os
import subprocess
import sys
from collections import OrderedDict
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.base import times as base_times
from driftwise.online import Bandit, EpisodicAgent, Outcome, bandit_files, load
from driftwise.online import waiting as online_waiting
from driftwise.online.deciders.definition import Choice
from driftwise.online.decisions import LayeredDict, PendingDecisions
from driftwise.online.waiting import WaitingSums
from tests.online.streams import bits, make
from tests.reference.waiting_decisions import Made, WaitingDecisions

ARMS = np.array([[0.6, 0.0, 0.8], [0.1, 0.5, 0.2]])


def waiting(bandit: Bandit) -> list[str]:
    return [each.id for each in bandit.pending()]


def decided_at(bandit: Bandit, *times: float) -> None:
    for time in times:
        bandit.decide(ARMS, id=len(bandit.pending()) + bandit.summary().expired, time=time)


def test_a_decision_expires_when_another_is_made_more_than_so_many_seconds_later():
    bandit = make(expire_after_seconds=timedelta(minutes=1))
    decided_at(bandit, 1000, 1030, 1060)
    assert waiting(bandit) == ["0", "1", "2"]  # 60 seconds are not more than 60
    decided_at(bandit, 1060.5)
    assert waiting(bandit) == ["1", "2", "3"]
    assert bandit.learn("0", 1.0, strict=False) == Outcome.EXPIRED
    with pytest.raises(ValueError, match=r"it has expired \(.*expire_after_seconds=60"):
        bandit.learn("0", 1.0)
    decided_at(bandit, 5000)
    assert waiting(bandit) == ["4"]


@pytest.mark.parametrize(
    ("times", "left"),
    [
        ((1000, 200, 210, 1090), "0123"),  # for a while the clock was wrong
        ((1000, 200, 210, 1090, 1100.5), "34"),  # those after the jump count from the latest time before it
        ((1000, 90_000, 1010, 1020, 1030), "1234"),  # a time in the future makes none after it older
    ],
)
def test_a_clock_that_jumps_makes_nothing_older(times, left):
    bandit = make(expire_after_seconds="100s")
    decided_at(bandit, *times)
    assert [(each.id, each.since) for each in bandit.pending()] == [(id, times[int(id)]) for id in left]


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12), st.integers(0, 12))
def test_times_and_ages_survive_a_file_bit_for_bit_whatever_the_clock_does(gaps, where):
    bandit = make(expire_after_seconds=30)
    times = (1.7e9 + np.cumsum(gaps)).tolist()
    decided_at(bandit, *times[:where])
    restored = Bandit.from_bytes(bandit.to_bytes())
    assert restored.pending() == bandit.pending()
    for each in (bandit, restored):
        decided_at(each, *times[where:])
    assert restored.pending() == bandit.pending()
    assert restored.summary() == bandit.summary()


def test_a_time_that_is_none_is_refused_and_changes_nothing():
    bandit = make()
    with pytest.raises(ValueError, match=r"^time must be seconds since 1970"):
        bandit.decide(ARMS, time=1.7e12)
    assert bandit.summary().decisions == 0


@pytest.mark.parametrize("seed", range(4))
def test_layers_are_an_ordered_dictionary_whatever_is_frozen_meanwhile(seed):
    rng, layers, plain = np.random.default_rng(seed), OrderedDict(), OrderedDict()
    frozen, was = {}, {}
    for number in range(400):
        action, keys = rng.integers(8), [*plain]
        if action < 4:  # a key that left may come back
            key = int(rng.choice([number, *range(5)]))
            if key not in plain:
                layers[key] = plain[key] = -number
        elif action < 6 and plain:
            assert next(iter(layers)) == keys[0]
            key = keys[0] if action == 4 else int(rng.choice(keys))
            del layers[key], plain[key]
        elif action == 6 and isinstance(layers, OrderedDict):
            frozen, was, layers = layers, dict(plain), LayeredDict(layers)
        elif action == 7 and isinstance(layers, LayeredDict):
            frozen, was, layers = {}, {}, layers.merged()
        assert list(layers.items()) == list(plain.items())
        assert (len(layers), number in layers) == (len(plain), number in plain)
        assert dict(frozen) == was


@pytest.mark.parametrize("many", [1000, 3])  # removals after which rounding is removed
@given(
    actions=st.lists(st.sampled_from(["decide", "decide", "reward", "batch", "ask", "save"]), max_size=60),
    limit=st.sampled_from([3, 40]),
    seed=st.integers(0, 99),
)
def test_sums_of_waiting_decisions_are_those_over_all_that_count(many, actions, limit, seed):
    """However late rewards come, whatever expires, and bit for bit after a save."""
    rng, dim, plain = np.random.default_rng(seed), 3, WaitingDecisions()
    pending = PendingDecisions(limit, limit, None, sums=(sums := WaitingSums(dim)))

    def ask() -> None:
        num, copied = pending.num_decisions, sums.copy()
        expected = plain.gram(num, dim)
        for _ in range(2):
            gram = sums.gram(num)
            assert (gram is None) == (not plain.counting)
            np.testing.assert_allclose(0 if gram is None else gram, expected, rtol=0, atol=1e-9)
            assert bits(copied.gram(num)) == bits(gram)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(online_waiting, "_MANY", many)
        for action in actions:
            if action == "decide":
                ask()
                number, features = pending.num_decisions, rng.normal(size=dim)
                id = pending.add(Choice(0, 0.0, 0.0, features, None), str(number), 0.0)
                plain.counting[id] = Made(number, features)
                plain.counting = {id: plain.counting[id] for id in plain.counting if id in pending.waiting}
            elif action == "ask":
                ask()
            elif action == "save":
                rows = [(id, entry.number, entry.choice.features) for id, entry in pending.waiting.items()]
                restored = WaitingSums(dim)
                restored.restore(sums.to_tensors(), rows)
                pending.sums = sums = restored
            elif action == "batch":
                ids = [id for id in pending.waiting if rng.random() < 0.5]
                for id in ids:
                    plain.reward(id, pending.num_decisions, pending.waiting[id].number)
                pending.remove(ids, Outcome.REPEATED)
            elif pending.waiting:
                id = str(rng.choice([*pending.waiting]))
                plain.reward(id, pending.num_decisions, pending.waiting[id].number)
                pending.remove([id], Outcome.REPEATED)
        ask()


@pytest.mark.parametrize("options", [{}, dict(algorithm="adaptive_lin_ts")], ids=str)
def test_with_decisions_that_wait_neither_looking_nor_a_file_changes_anything(options):
    rng, seen = np.random.default_rng(0), Bandit(dim=2, seed=1, **options)
    alone, late = Bandit(dim=2, seed=1, **options), list[str]()
    for t in range(40):
        arms = rng.normal(size=(3, 2))
        scores = seen.scores(arms) if t % 4 else None
        if t % 9 == 8:
            seen = Bandit.from_bytes(seen.to_bytes())
        one, other = (bandit.decide(arms, id=t) for bandit in (seen, alone))
        assert one.scores.tolist() == other.scores.tolist()
        assert scores is None or one.scores.tolist() == scores.tolist()
        late.append(one.id)
        if t % 4 and t > 5:
            seen.scores(arms)
            reward, id = float(rng.normal()), late.pop(0 if t % 5 else -1)
            for bandit in (seen, alone):
                bandit.learn(id, reward)
    assert bits(seen.state) == bits(alone.state)
    sums = [each._pending.sums or WaitingSums(2) for each in (seen, alone)]
    one, other = (bits((*each.to_tensors().values(),)) for each in sums)
    assert one == other


def test_a_file_is_of_one_moment_although_decisions_and_rewards_go_on(tmp_path, monkeypatch):
    bandit = make(max_pending=4)
    decisions = [bandit.decide(np.eye(3)) for _ in range(4)]
    slowly = bandit_files._slowly

    def meanwhile(values):
        monkeypatch.setattr(bandit_files, "_slowly", slowly)
        bandit.learn(decisions[2].id, 0.5)
        bandit.decide(np.eye(3))
        bandit.decide(np.eye(3))  # the oldest expires
        return slowly(values)

    monkeypatch.setattr(bandit_files, "_slowly", meanwhile)
    bandit.save(tmp_path / "agent.safetensors")
    restored = load(tmp_path / "agent.safetensors")
    assert [each.id for each in restored.pending()] == [each.id for each in decisions]
    assert (restored.summary().rewards, bandit.summary().rewards) == (0, 1)
    assert [each.id for each in bandit.pending()][:2] == [decisions[1].id, decisions[3].id]
    assert len(bandit.pending()) == 4


def test_a_reward_of_a_decision_that_a_crash_has_lost_is_told_from_all_others(tmp_path: Path) -> None:
    path, bandit = tmp_path / "agent.safetensors", make()
    kept = bandit.decide(ARMS)
    bandit.save(path)
    lost = bandit.decide(ARMS)
    restored = load(path)
    others = [restored.decide(ARMS) for _ in range(3)]
    before = restored.state
    with pytest.raises(ValueError, match=f"^id must be .* got '{lost.id}': it was never made here, was lost"):
        restored.learn(lost.id, 0.5)
    assert bits(restored.state) == bits(before)
    assert [each.id for each in restored.pending()] == [each.id for each in (kept, *others)]


def test_a_reward_that_comes_twice_is_reported_and_counts_once(tmp_path: Path) -> None:
    bandit = make(max_pending=2)
    first, second, third = (bandit.decide(ARMS).id for _ in range(3))
    assert bandit.learn(second, 0.5) == Outcome.LEARNT == "learnt"
    before = bandit.state, bandit.summary()
    assert bandit.learn(second, 0.5, strict=False) == "repeated"
    assert bandit.learn(first, 0.5, strict=False) == "expired"
    assert bandit.learn("nobody's", 0.5, strict=False) == "unknown"
    assert (bits(bandit.state), bandit.summary()) == (bits(before[0]), before[1])
    assert [each.id for each in bandit.pending()] == [third]
    bandit.save(tmp_path / "agent.safetensors")
    restored = load(tmp_path / "agent.safetensors")
    assert [restored.learn(each, 0.5, strict=False) for each in (first, second)] == ["expired", "repeated"]
    assert restored.pending() == bandit.pending()


def test_an_id_of_the_callers_own_is_text_and_of_one_decision() -> None:
    bandit = make()
    assert bandit.decide(ARMS, id="request 7").id == "request 7"
    assert bandit.decide(ARMS, id=7).id == "7"
    bandit.learn("7", 0.5)
    before = bandit.summary()
    for taken, why in (("request 7", "waits for its reward"), (7, "was rewarded already"), ("7", "was rew")):
        with pytest.raises(ValueError, match=f"^id must be unique, got '.*{taken}': it {why}"):
            bandit.decide(ARMS, id=taken)
    assert bandit.summary() == before


def test_what_waits_is_listed_with_the_time_of_its_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    bandit, clock = make(), iter([100.0, 160.0, 161.5])
    monkeypatch.setattr(base_times.clock, "time", lambda: next(clock))
    made = [bandit.decide(ARMS) for _ in range(3)]
    bandit.learn(made[1].id, 0.5)
    waits = [(made[0].id, made[0].arm, 100.0), (made[2].id, made[2].arm, 161.5)]
    assert bandit.pending() == waits


def test_metadata_is_the_callers_and_is_saved_with_the_agent(tmp_path: Path) -> None:
    path, given = tmp_path / "agent.safetensors", {"model": "shop", "read": [3, {"offset": 1.5}]}
    bandit = make(metadata=given)
    bandit.metadata["offset"] = 17
    bandit.save(path)
    assert load(path).metadata == given | {"offset": 17}
    bandit.metadata["offset"] = {17}
    with pytest.raises(ValueError, match=r"^metadata must be a dictionary of words, numbers, lists and "):
        bandit.save(path)
    assert load(path).metadata == given | {"offset": 17}
    agent = EpisodicAgent(
        "lsvi_ucb", features=np.eye(4).reshape(2, 2, 4), horizon=2, radius=1.0, metadata=given
    )
    agent.save(path)
    assert load(path).metadata == given
    for wrong in ([1], {1: "one"}, {"x": float("nan")}, {"x": (1, 2)}, {"x": object()}):
        with pytest.raises(ValueError, match=r"^metadata must be a dictionary"):
            make(metadata=wrong)


KILLED = """
import hashlib, itertools, os, signal, sys
from pathlib import Path

import numpy as np

from driftwise.online import Bandit, load

path, log, saves = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[2] + ".saves")
theta = np.array([0.5, -1.0, 0.25])
log_file, saves_file = (os.open(each, os.O_RDWR | os.O_CREAT | os.O_APPEND) for each in (log, saves))


def save(bandit):
    content = hashlib.sha256(bandit.to_bytes()).hexdigest()
    os.write(saves_file, f"{content} begun\\n".encode())
    bandit.save(path)
    os.write(saves_file, f"{content} done\\n".encode())


def loaded():  # the agent of the last save that was done, or of one that was begun since: all else is lost
    lines, bandit = [line.split() for line in saves.read_text().splitlines()], load(path)
    done = max(number for number, (_, how) in enumerate(lines) if how == "done")
    assert hashlib.sha256(bandit.to_bytes()).hexdigest() in [content for content, _ in lines[done:]]
    return bandit


def serve(rng):
    bandit = loaded()
    known = [line.split() for line in log.read_text().splitlines()]  # of all lives before
    waiting = [(id, np.array(x, dtype=float)) for id, *x in known if len(x) == 3][-40:]
    last = rng.integers(5, 40)
    for step in itertools.count():
        if step == last:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 0.005))  # ends the process wherever it is
        arms = rng.normal(size=(3, 3))
        decision = bandit.decide(arms)
        x = arms[decision.arm]
        os.write(log_file, f"{decision.id} {' '.join(map(repr, x.tolist()))}\\n".encode())
        waiting.append((decision.id, x))
        for _ in range(2):
            id, x = waiting[rng.integers(len(waiting))]
            bandit.learn(id, float(theta @ x), strict=False)
        if rng.random() < 0.2:
            save(bandit)


save(Bandit("lin_ucb", dim=3, noise_scale=0.1, max_pending=100_000))
for life in range(int(sys.argv[3])):
    rng = np.random.default_rng(life)
    child = os.fork()
    if child == 0:
        serve(rng)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGALRM
loaded()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("kills", [8, pytest.param(50, marks=pytest.mark.slow)])
def test_a_kill_loses_what_came_after_a_save_and_lets_no_reward_stray_or_count_twice(
    kills: int, tmp_path: Path
) -> None:
    path, log, theta = tmp_path / "agent.safetensors", tmp_path / "log", np.array([0.5, -1.0, 0.25])
    script = [sys.executable, "-c", KILLED, str(path), str(log), str(kills)]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in log.read_text().splitlines()]
    logged = {id: np.array(x, dtype=float) for id, *x in lines}
    assert len(logged) == len(lines)  # no id was given twice
    bandit: Bandit = load(path)
    rewarded = [id for id in logged if bandit.learn(id, 0.0, strict=False) == Outcome.REPEATED]
    assert len(rewarded) == load(path).summary().rewards > 50
    features, state = np.array([logged[id] for id in rewarded]), load(path).state
    np.testing.assert_allclose(state.gram[0], np.eye(3) + features.T @ features, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(state.cross[0, :, 0], features.T @ features @ theta, rtol=1e-9, atol=1e-9)
