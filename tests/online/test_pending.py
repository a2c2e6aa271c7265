"""Decisions that wait: how they expire, and a dictionary of them that is saved while it changes."""

from __future__ import annotations

from collections import OrderedDict
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.online import Bandit, Outcome, bandit_files, load
from driftwise.online.decisions import LayeredDict
from tests.online.streams import make

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
