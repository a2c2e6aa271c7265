"""Inverses from anchors are inverses, and memories are regressions, however their matrices are kept."""

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from driftwise.base.resources import BackgroundWork
from driftwise.online import Bandit, load
from driftwise.online.deciders import anchors
from driftwise.online.deciders.anchored_memories import AnchoredMemories
from driftwise.online.deciders.anchors import (
    BLOCK,
    FEW_NUMBERS,
    FINE,
    MIN_ANCHORED_DIM,
    ROUGH,
    AnchoredInverse,
    GramSnapshot,
    RecentSamples,
    anchor_life,
    factorise,
    multiply_lower,
)
from driftwise.online.deciders.memories import BatchedMemories, Sums, WaitingGram, Width
from tests.online.streams import bits

LIFE = anchor_life(1000)  # of an anchor of many dimensions, for those of few
SHORT_LIFE = anchor_life(500)


def anchored_of(
    gram: Callable[[], np.ndarray], dim: int, ridge: float = 1.0, refine_above: float = FINE
) -> AnchoredInverse:
    recent = RecentSamples(dim)
    return AnchoredInverse(
        lambda: partial(factorise, [gram().copy()]), recent, ridge, refine_above=refine_above
    )


def offers(num: int) -> list[tuple[np.ndarray, float]]:
    rng = np.random.default_rng(5)
    shape, root = (4, MIN_ANCHORED_DIM), MIN_ANCHORED_DIM**0.5
    return [(rng.normal(size=shape) / root, float(rng.uniform())) for _ in range(num)]


@pytest.mark.parametrize(("ridge", "rough"), [(1e-3, FINE), (1e-6, FINE), (1e-3, ROUGH)])
@pytest.mark.parametrize(("rate", "length"), [(1.0, None), (0.999, None), (0.5, None), (1.0, 10)])
def test_the_error_stays_within_its_bound(monkeypatch, rate, length, ridge, rough):
    """That is the rounding of any inverse, with room for that of a whole anchor, and εR² on top."""
    monkeypatch.setattr(anchors, "anchor_life", lambda dim: LIFE)
    rounding = LIFE * np.finfo(float).eps
    bound = max(1e-11, np.finfo(float).eps * rough**2)
    rng, dim = np.random.default_rng(1), 7
    gram, window = ridge * np.eye(dim), deque()
    inverse = anchored_of(lambda: gram, dim, ridge, rough)
    for _ in range(3 * LIFE):
        features = rng.normal(size=dim) * (rng.uniform(size=dim) < 0.4)
        gram = rate * gram + (1 - rate) * ridge * np.eye(dim) + np.outer(features, features)
        inverse.shrink(rate)
        inverse.add(features, 1.0)
        window.append(features)
        if length and len(window) > length:
            leaving = window.popleft()
            gram = ridge * np.eye(dim) + np.array(window).T @ np.array(window)
            inverse.add(leaving, -1.0)
        inverse.settle()
        arms = rng.normal(size=(3, dim))
        exact = np.linalg.solve(gram, arms.T).T
        error = np.abs(inverse.anchor().map(arms) - exact).max() / np.abs(exact).max()
        assert error <= rounding * np.linalg.cond(gram) + bound


@pytest.mark.parametrize("num", [1, BLOCK, 3 * BLOCK + 1])
def test_a_product_in_blocks_has_the_lower_half_of_the_whole(num):
    rows = np.random.default_rng(2).normal(size=(num, FEW_NUMBERS // num + 1))
    np.testing.assert_allclose(np.tril(multiply_lower(rows)), np.tril(rows @ rows.T), rtol=0, atol=1e-10)


def test_saved_and_loaded_it_has_the_same_sums_and_decides_the_same(tmp_path):
    """Its anchor is a new one, so that the last digits of an index may be others."""
    bandit = Bandit("d_lin_ucb", dim=MIN_ANCHORED_DIM, rate=0.99, noise_scale=0.1)
    for arms, reward in offers(30):
        bandit.learn(bandit.decide(arms).id, reward)
    bandit.save(tmp_path / "agent.safetensors")
    other = load(tmp_path / "agent.safetensors")
    for arms, reward in offers(30):
        decision, again = bandit.decide(arms), other.decide(arms)
        assert again.arm == decision.arm
        assert again.index == pytest.approx(decision.index, abs=1e-12)
        bandit.learn(decision.id, reward)
        other.learn(again.id, reward)
    assert bits(bandit.state) == bits(other.state)


class Late:
    """Eigenvectors that nobody begins with before they are needed."""

    def __init__(self, work: Callable[[], GramSnapshot]) -> None:
        self.result = work


@pytest.mark.parametrize(("made", "asked"), [(Late, 1), (BackgroundWork, 7), (Late, 2 * LIFE)])
def test_numbers_depend_neither_on_when_a_thread_is_done_nor_on_who_asks(monkeypatch, made, asked):
    monkeypatch.setattr(anchors, "anchor_life", lambda dim: LIFE)
    every = mapped(1)
    monkeypatch.setattr(anchors, "BackgroundWork", made)
    for number, inverse in mapped(asked).items():
        assert np.array_equal(inverse, every[number])


def mapped(asked: int) -> dict[int, np.ndarray]:
    """The inverses that are asked for, by numbers of rounds."""
    rng, dim, found = np.random.default_rng(6), 6, {}
    gram = np.eye(dim)
    inverse = anchored_of(lambda: gram, dim)
    for t in range(4 * LIFE + 1):
        if t % asked == 0:
            found[t] = inverse.anchor().map(np.eye(dim))
            np.testing.assert_allclose(found[t], np.linalg.inv(gram), rtol=0, atol=1e-12)
        features = rng.normal(size=dim)
        gram = 0.9 * gram + 0.1 * np.eye(dim) + np.outer(features, features)
        inverse.shrink(0.9)
        inverse.add(features, 1.0)
        inverse.settle()
    return found


def test_eigenvectors_need_no_thread(monkeypatch):
    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(BackgroundWork(lambda: factorise([matrix])).result().values, [1.0, 3.0])


def test_a_gram_that_is_not_finite_has_no_inverse():
    assert np.isnan(anchored_of(lambda: np.full((3, 3), np.nan), 3).anchor().map(np.eye(3))).all()


FEW_DIM, RATES, RIDGES = 5, np.array([0.7, 0.99, 1.0]), np.full(3, 0.1)


@pytest.fixture
def long_lives(monkeypatch):
    monkeypatch.setattr(anchors, "anchor_life", lambda dim: SHORT_LIFE)


def first_sums(squared: bool = True) -> Sums:
    gram = RIDGES[:, None, None] * np.eye(FEW_DIM)
    return Sums(gram, gram.copy() if squared else None, np.zeros((len(RATES), FEW_DIM)))


@pytest.mark.usefixtures("long_lives")
@pytest.mark.parametrize("squared", [True, False])
def test_memories_with_anchors_are_the_same_within_the_bound_of_their_error(squared):
    """Eight digits, through anchors of all ages, sums that are asked for in between, and a fresh start."""
    rng, both = np.random.default_rng(2), list[AnchoredMemories | BatchedMemories]()
    for kind in (BatchedMemories, AnchoredMemories):
        both.append(kind(RATES, RIDGES, first_sums(squared)))
    one, other = both
    for t in range(3 * SHORT_LIFE + SHORT_LIFE // 2):
        arms, reward = rng.normal(size=(4, FEW_DIM)) * (rng.uniform(size=FEW_DIM) < 0.5), float(rng.normal())
        for first, second in zip(one.memories, other.memories, strict=True):
            variance = 0.0 if squared else 10.0 ** rng.uniform(-6, 0)  # where the prior is learnt
            rows = rng.normal(size=(3, FEW_DIM))
            width = Width(
                1.0, 0.1, variance, WaitingGram(rows.T @ rows, np.ones(FEW_DIM)) if t % 5 == 0 else None
            )
            answers = [(*each.estimate(arms, width), *each.spread(arms, width)) for each in (first, second)]
            for pair in zip(*answers, strict=True):
                np.testing.assert_allclose(*pair, rtol=1e-8, atol=1e-8)
        for pair in zip(one.forecast(arms[0], reward), other.forecast(arms[0], reward), strict=True):
            np.testing.assert_allclose(*pair, rtol=1e-8, atol=1e-8)
        for each in both:
            each.absorb((t // SHORT_LIFE + 1) % len(RATES), -0.5 * (t % 7 == 0))  # some rewards are clipped
            if t in (40, 2 * SHORT_LIFE + 5):  # before anything was turned for the leader, and after
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
    begun, turned, ahead = list[Any](), list[bool](), anchors.BackgroundWork

    class Watched:
        def __init__(self, work: Callable[[], GramSnapshot]) -> None:
            self._made, self._rounds = ahead(work), rounds
            begun.append(self)

        def result(self) -> GramSnapshot:
            assert self._rounds < rounds or not rounds
            made = self._made.result()
            turned.append(made.turned is not None)
            return made

    monkeypatch.setattr(anchors, "BackgroundWork", Watched)
    rounds = 0
    memories = AnchoredMemories(RATES, RIDGES, first_sums())
    assert len(begun) == len(RATES)
    for rounds in range(4 * SHORT_LIFE):
        before = len(begun)
        memories.forecast(np.full(FEW_DIM, 0.1), 0.0)
        memories.absorb(0, 0.0)
        assert len(begun) - before <= 1
        if rounds == SHORT_LIFE:
            memories.renew(0)
    assert len(begun) > 3 * len(RATES)
    assert 2 <= sum(turned) <= len(turned) // len(RATES)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [("adaptive_lin_ucb", {"longest": 16}), ("lin_ucb", {"noise_scale": 1.0, "ridge": 1e-5})],
)
def test_with_many_dimensions_looking_changes_nothing(name, numbers):
    seen, alone = (Bandit(name, dim=MIN_ANCHORED_DIM, **numbers) for _ in range(2))
    rng = np.random.default_rng(7)

    def look() -> None:
        seen.summary()
        assert bits(seen.state) == bits(Bandit.from_bytes(seen.to_bytes()).state)
        seen.scores(np.eye(MIN_ANCHORED_DIM)[:2])

    for t in range(0, anchor_life(MIN_ANCHORED_DIM) + 10, 2):
        arms = rng.normal(size=(2, MIN_ANCHORED_DIM)) / MIN_ANCHORED_DIM**0.5
        for bandit in (seen, alone):
            for id in (t, t + 1):
                bandit.decide(arms, id=id)
        for id in (t, t + 1):
            if t % 9 == 4:
                look()
            for bandit in (seen, alone):
                bandit.learn(id, arms.item(0))
    assert bits(seen.state) == bits(alone.state)
    assert np.array_equal(seen.scores(np.eye(MIN_ANCHORED_DIM)), alone.scores(np.eye(MIN_ANCHORED_DIM)))


@pytest.mark.parametrize("options", [{}, dict(shortest="10min", longest="2h")], ids=["rounds", "clock"])
def test_a_waiting_decision_of_a_mixture_keeps_one_arm(options):
    bandit, rng = Bandit(dim=3, **options), np.random.default_rng(4)
    for offered in (50, 1, 2):
        bandit.decide(rng.normal(size=(offered, 3)), id=offered)
    assert {entry.choice.features.size for entry in bandit._pending.waiting.values()} == {3}
    again, length = (
        Bandit.from_bytes(bandit.to_bytes()),
        np.linalg.norm(bandit._pending.waiting["50"].choice[3]),
    )
    for each in (bandit, again):
        each.learn(50, 7.0)
        each.learn(2, 8.0)
    assert bits(again.state) == bits(bandit.state)
    assert (bandit.state.origin, bandit.state.unit) == (7.0, pytest.approx(min(length, 1.0)))
