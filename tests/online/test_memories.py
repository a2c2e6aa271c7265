"""Memories of a mixture are regressions, however their matrices are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftwise.online import Bandit
from driftwise.online.bandits import anchored
from driftwise.online.bandits.ahead import Made, Work
from driftwise.online.bandits.anchored import LARGE, life
from driftwise.online.bandits.apart import Apart
from driftwise.online.bandits.deciders import Draws, Planned
from driftwise.online.bandits.memories import Memories, Sums, Together
from driftwise.online.limits import silently
from tests.online.streams import bits

DIM, RATES, RIDGES = 5, np.array([0.7, 0.99, 1.0]), np.full(3, 0.1)
LIFE = life(500)  # of an anchor of many dimensions, for those of few


@pytest.fixture
def long_lives(monkeypatch):
    monkeypatch.setattr(anchored, "life", lambda dim: LIFE)


def first_sums(squared: bool = True) -> Sums:
    gram = RIDGES[:, None, None] * np.eye(DIM)
    return Sums(gram, gram.copy() if squared else None, np.zeros((len(RATES), DIM)))


def test_a_matrix_that_rounding_has_made_indefinite_still_forecasts():
    gram = np.array([np.eye(2), [[1, 1 + 1e-9], [1 + 1e-9, 1]]])  # the second has no factor
    cross = np.array([[1.0, 2.0], [3.0, 3.0]])
    features = np.array([1.0, 0.5])
    memories = Together(np.array([0.5, 1.0]), np.ones(2), Sums(gram, None, cross))
    error, variance = silently(memories.forecast, features, 4.0)
    direction = np.linalg.solve(gram, features[:, None])[..., 0]
    np.testing.assert_allclose(error, 4 - np.vecdot(direction, cross))
    np.testing.assert_allclose(variance, direction @ features)


@pytest.mark.usefixtures("long_lives")
@pytest.mark.parametrize("squared", [True, False])
def test_memories_with_anchors_are_the_same_within_the_bound_of_their_error(squared):
    """Eight digits, through anchors of all ages, sums that are asked for in between, and a fresh start."""
    rng, both = np.random.default_rng(2), list[Memories]()
    for kind in (Together, Apart):
        both.append(kind(RATES, RIDGES, first_sums(squared)))
    one, other = both
    for t in range(3 * LIFE + LIFE // 2):
        arms, reward = rng.normal(size=(4, DIM)) * (rng.uniform(size=DIM) < 0.5), float(rng.normal())
        for j in range(len(RATES)):
            for ask in ("estimate", "spread"):
                for pair in zip(*(getattr(each, ask)(j, arms) for each in both), strict=True):
                    np.testing.assert_allclose(*pair, rtol=1e-8, atol=1e-8)
        for pair in zip(one.forecast(arms[0], reward), other.forecast(arms[0], reward), strict=True):
            np.testing.assert_allclose(*pair, rtol=1e-8, atol=1e-8)
        for each in both:
            each.absorb((t // LIFE + 1) % len(RATES))
            if t in (40, 2 * LIFE + 5):  # before anything was turned for the leader, and after
                each.renew(1)
        if t % 90 in (30, 40):
            for first, second in zip(one.sums, other.sums, strict=True):
                assert (first is None) == (second is None)
                if first is not None and second is not None:
                    np.testing.assert_allclose(first, second, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("long_lives")
def test_anchors_are_made_ahead_and_in_turns(monkeypatch):
    """No anchor is begun when it is needed, not even that of a memory that starts anew.

    Sums are turned for the leader alone.
    """
    begun, turned, ahead = list[Any](), list[bool](), anchored.Ahead

    class Watched:
        def __init__(self, work: Work) -> None:
            self._made, self._rounds = ahead(work), rounds
            begun.append(self)

        def result(self) -> Made:
            assert self._rounds < rounds or not rounds
            made = self._made.result()
            turned.append(made.turned is not None)
            return made

    monkeypatch.setattr(anchored, "Ahead", Watched)
    rounds = 0
    memories = Apart(RATES, RIDGES, first_sums())
    assert len(begun) == len(RATES)
    for rounds in range(4 * LIFE):
        before = len(begun)
        memories.forecast(np.full(DIM, 0.1), 0.0)
        memories.absorb(0)
        assert len(begun) - before <= 1
        if rounds == LIFE:
            memories.renew(0)
    assert len(begun) > 3 * len(RATES)
    assert 2 <= sum(turned) <= len(turned) // len(RATES)


def test_with_many_dimensions_a_mixture_decides_as_planned(tmp_path):
    bandit = Bandit(dim=LARGE, longest=32)
    fast, slow, rng = bandit._decider, Planned(bandit.agent, Draws(0)), np.random.default_rng(3)
    for t in range(12):
        arms = rng.normal(size=(3, LARGE)) / LARGE**0.5
        offers = fast.offer(arms, t), slow.offer(arms, t)
        np.testing.assert_allclose(offers[0].scores, offers[1].scores, rtol=1e-8, atol=1e-8)
        for decider, offer in zip((fast, slow), offers, strict=True):
            decider.learn(decider.choice(offer, 0), float(t))
    bandit.save(tmp_path / "agent.safetensors")
    again = Bandit.from_bytes(bandit.to_bytes())
    assert bits(again.state) == bits(bandit.state)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("adaptive_lin_ucb", {"longest": 16}), ("lin_ucb", {"noise_scale": 1.0, "ridge": 1e-5})],
)
def test_with_many_dimensions_looking_changes_nothing(name, numbers):
    seen, alone = (Bandit(name, dim=LARGE, **numbers) for _ in range(2))
    rng = np.random.default_rng(7)

    def look() -> None:
        seen.summary()
        assert bits(seen.state) == bits(Bandit.from_bytes(seen.to_bytes()).state)
        seen.scores(np.eye(LARGE)[:2])

    for t in range(0, life(LARGE) + 10, 2):
        arms = rng.normal(size=(2, LARGE)) / LARGE**0.5
        for bandit in (seen, alone):
            for id in (t, t + 1):
                bandit.decide(arms, id=id)
        for id in (t, t + 1):
            if t % 9 == 4:
                look()
            for bandit in (seen, alone):
                bandit.learn(id, arms.item(0))
    assert bits(seen.state) == bits(alone.state)
    assert np.array_equal(seen.scores(np.eye(LARGE)), alone.scores(np.eye(LARGE)))


def test_a_waiting_decision_of_a_mixture_keeps_one_arm_and_which_features_were_constant(tmp_path):
    bandit, rng = Bandit(dim=3), np.random.default_rng(4)
    for offered in (50, 1, 2):
        arms = np.column_stack([rng.normal(size=(offered, 2)), np.ones(offered)])
        bandit.decide(arms, id=offered)
    assert {entry.choice.features.size for entry in bandit._pending.waiting.values()} == {6}
    again = Bandit.from_bytes(bandit.to_bytes())
    for each in (bandit, again):
        each.learn(50, 7.0)
        each.learn(2, 8.0)
    assert bits(again.state) == bits(bandit.state)
    assert bandit.state.origin.tolist() == [0.0, 0.0, 7.0]
