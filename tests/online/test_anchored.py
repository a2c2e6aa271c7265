"""An inverse from an anchor is the inverse, however old the anchor is and whatever is forgotten."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms.bandits.agent import bandit_agent
from driftwise.base.agent import Agent
from driftwise.base.part import part
from driftwise.base.types import Moments, Sample, Spec, WeightFunction
from driftwise.online import Bandit, load
from driftwise.online.bandits import anchored, apart
from driftwise.online.bandits.ahead import Ahead, Work, made_of
from driftwise.online.bandits.anchor import BLOCK, FEW, lower_product, product
from driftwise.online.bandits.anchored import LARGE, ROUGH, Anchored, Written, life, room
from driftwise.online.bandits.deciders import Draws, Planned
from driftwise.online.bandits.direct import Direct
from driftwise.online.bandits.fastest import decider_of
from driftwise.online.bandits.recent import Recent
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import ExponentialWeights
from tests.online.streams import bits

ALGORITHMS: dict[str, dict[str, Any]] = {
    "lin_ucb": {},
    "d_lin_ucb": {"rate": 0.99},
    "weight_ucb": {"rate": 0.9},
    "sw_lin_ucb": {"length": 30},
    "restart_lin_ucb": {"period": 50},
    "robust_weight_ucb": {"rate": 0.9, "corruption": 2.0},
}
LIFE = life(1000)  # of an anchor of many dimensions, for those of few


def anchored_of(
    gram: Callable[[], np.ndarray], dim: int, ridge: float = 1.0, rough: float = ROUGH
) -> Anchored:
    made = Anchored(Written(gram), Recent(room(dim), dim), ridge, rough=rough)
    made.reset()
    return made


def offers(num: int) -> list[tuple[np.ndarray, float]]:
    rng = np.random.default_rng(5)
    return [(rng.normal(size=(4, LARGE)) / LARGE**0.5, float(rng.uniform())) for _ in range(num)]


@pytest.mark.parametrize(("ridge", "rough"), [(1e-3, ROUGH), (1e-6, ROUGH), (1e-3, apart.ROUGH)])
@pytest.mark.parametrize(("rate", "length"), [(1.0, None), (0.999, None), (0.5, None), (1.0, 10)])
def test_the_error_stays_within_its_bound(monkeypatch, rate, length, ridge, rough):
    """That is the rounding of any inverse, with room for that of a whole anchor, and εR² on top."""
    monkeypatch.setattr(anchored, "life", lambda dim: LIFE)
    rounding = LIFE * np.finfo(float).eps
    bound = max(1e-11, np.finfo(float).eps * rough**2)
    rng, dim = np.random.default_rng(1), 7
    gram, window = ridge * np.eye(dim), deque()
    inverse = anchored_of(lambda: gram, dim, ridge, rough)
    for _ in range(3 * LIFE):
        features = rng.normal(size=dim) * (rng.uniform(size=dim) < 0.4)
        gram = rate * gram + (1 - rate) * ridge * np.eye(dim) + np.outer(features, features)
        inverse.shrunk(rate)
        inverse.added(features, 1.0)
        window.append(features)
        if length and len(window) > length:
            leaving = window.popleft()
            gram = ridge * np.eye(dim) + np.array(window).T @ np.array(window)
            inverse.added(leaving, -1.0)
        inverse.settle()
        arms = rng.normal(size=(3, dim))
        exact = np.linalg.solve(gram, arms.T).T
        error = np.abs(inverse.map(arms) - exact).max() / np.abs(exact).max()
        assert error <= rounding * np.linalg.cond(gram) + bound


@pytest.mark.parametrize("num", [1, BLOCK, 3 * BLOCK + 1])
def test_a_product_in_blocks_has_the_lower_half_of_the_whole(num):
    rows = np.random.default_rng(2).normal(size=(num, FEW // num + 1))
    np.testing.assert_allclose(np.tril(lower_product(rows)), np.tril(product(rows)), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_with_many_dimensions_decisions_are_those_of_plans(name):
    require_as_planned(Bandit(name, dim=LARGE, noise_scale=0.1, **ALGORITHMS[name]).agent)


@part
class Halving(WeightFunction):
    """A forgetting of somebody else's, which drops half of the past in every round."""

    def weights(self, tick: int) -> np.ndarray:
        return 0.5 ** np.arange(tick - 1, -1, -1.0)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments

    def update(self, moments: Moments, sample: Sample) -> Moments:
        return ExponentialWeights(0.5).update(moments, sample)


def test_with_many_dimensions_any_forgetting_may_come():
    require_as_planned(bandit_agent(Spec.bandit(dim=LARGE, num_arms=1), Halving(), Ucb(0.3)))


def require_as_planned(agent: Agent) -> None:
    direct, planned = decider_of(agent, 3), Planned(agent, Draws(3))
    assert isinstance(direct, Direct)
    for t, (arms, reward) in enumerate(offers(2 * life(LARGE))):
        fast, slow = direct.offer(arms, t), planned.offer(arms, t)
        arm = int(fast.scores.argmax())
        assert arm == slow.scores.argmax()
        np.testing.assert_allclose(fast.scores, slow.scores, rtol=0, atol=1e-10)
        direct.learn(direct.choice(fast, arm), reward)
        planned.learn(planned.choice(slow, arm), reward)
    np.testing.assert_allclose(direct.state.gram, planned.state.gram, rtol=1e-12, atol=1e-12)


def test_saved_and_loaded_it_has_the_same_sums_and_decides_the_same(tmp_path):
    """Its anchor is a new one, so that the last digits of an index may be others."""
    bandit = Bandit("d_lin_ucb", dim=LARGE, rate=0.99, noise_scale=0.1)
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

    def __init__(self, work: Work) -> None:
        self.result = work


@pytest.mark.parametrize(("made", "asked"), [(Late, 1), (Ahead, 7), (Late, 2 * LIFE)])
def test_numbers_depend_neither_on_when_a_thread_is_done_nor_on_who_asks(monkeypatch, made, asked):
    monkeypatch.setattr(anchored, "life", lambda dim: LIFE)
    every = mapped(1)
    monkeypatch.setattr(anchored, "Ahead", made)
    for number, inverse in mapped(asked).items():
        assert np.array_equal(inverse, every[number])


def mapped(asked: int) -> dict[int, np.ndarray]:
    """The inverses that are asked for, by numbers of rounds."""
    rng, dim, found = np.random.default_rng(6), 6, {}
    gram = np.eye(dim)
    inverse = anchored_of(lambda: gram, dim)
    for t in range(4 * LIFE + 1):
        if t % asked == 0:
            found[t] = inverse.map(np.eye(dim))
            np.testing.assert_allclose(found[t], np.linalg.inv(gram), rtol=0, atol=1e-12)
        features = rng.normal(size=dim)
        gram = 0.9 * gram + 0.1 * np.eye(dim) + np.outer(features, features)
        inverse.shrunk(0.9)
        inverse.added(features, 1.0)
        inverse.settle()
    return found


def test_eigenvectors_need_no_thread(monkeypatch):
    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    np.testing.assert_allclose(Ahead(lambda: made_of([matrix])).result().eigen.values, [1.0, 3.0])


def test_a_gram_that_is_not_finite_has_no_inverse():
    assert np.isnan(anchored_of(lambda: np.full((3, 3), np.nan), 3).map(np.eye(3))).all()
