"""Rewards that come together are learnt in one update, which is that of its definition."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise.algorithms import adaptive_lin_ucb
from driftwise.algorithms.bandits.bandit_agent import bandit_agent
from driftwise.algorithms.unknown_variation.adaptive import mixture
from driftwise.base import ArgumentError, Spec
from driftwise.base.arrays import map_tree
from driftwise.online import Bandit
from driftwise.online.deciders import MixtureDecider, RoundDraws, compiled_mixture, mixture_decider
from driftwise.online.deciders.anchors import MIN_ANCHORED_DIM, anchor_life
from driftwise.online.deciders.definition import Choice
from driftwise.online.limits import run_silently
from driftwise.parts import ExponentialWeights, LearntNoise, Ucb
from tests.online.streams import BANDITS, bits, make
from tests.reference import adaptive as definition

RATES = (0.5, 0.75, 0.875, 1.0)  # memories of 2, 4 and 8


def agent_of(kind: str, dim: int = 2, **options: Any) -> Any:
    spec = Spec.bandit(dim=dim, num_arms=1)
    if kind == "default":
        return adaptive_lin_ucb(spec, shortest=2, longest=8, **options)
    exploration = Ucb(0.5, "sandwich" if kind == "sandwich" else "single")
    base = bandit_agent(spec, ExponentialWeights(RATES), exploration, 0.2, noise=LearntNoise())
    return mixture(base, **options)


def defined(agent: Any) -> definition.Mixture:
    lost = 1 if agent.origin == "learnt" else 0
    noise = definition.Noise(63 / 64, max_degrees=8.0, lost=lost)
    memories = [definition.Memory(rate, 0.2) for rate in RATES]
    return definition.Mixture(
        memories, [noise], [0.225] * 3 + [0.325], 0.0, fresh=True, outlier=agent.outlier
    )


def learn_many(decider: Any, rows: np.ndarray, rewards: np.ndarray) -> None:
    choices = [Choice(0, 0.0, 0.0, row, None) for row in rows]
    run_silently(decider.learn_many, choices, rewards.tolist(), [0.0] * len(rows))


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(2, 12), min_size=1, max_size=7),
    kind=st.sampled_from(["default", "sandwich", "single"]),
    compiled=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_batch_is_learnt_as_its_definition_says(sizes, kind, compiled, seed):
    """In parts, through jumps, outliers, memories that start anew; scores of thousands make rounding 1e-6."""
    rng, agent = np.random.default_rng(seed), agent_of(kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixture_decider, "LARGEST_PART", 9)
        if not compiled:
            patch.setattr(compiled_mixture, "KERNEL", None)
        decider, expected, theta = MixtureDecider(agent, RoundDraws(0)), defined(agent), rng.normal(size=2)
        for number, size in enumerate(sizes):
            rows = rng.normal(size=(size, 2))
            rewards = rows @ theta + 0.1 * rng.normal(size=size) + 3
            if number % 3 == 1:
                rewards[0], theta = 1e3, -3 * theta
            score = run_silently(decider.learn_batch, rows, rewards)
            defined_score = expected.learn_batch(rows, rewards, most=9)
            if number or size > 2:  # the noise is known
                np.testing.assert_allclose(score, defined_score, rtol=1e-6, atol=1e-6)
            state, (noise,) = decider.state, expected.noises
            np.testing.assert_allclose(np.exp(state.log_weights), expected.weights, rtol=1e-6, atol=1e-12)
            held = [sum(memory.weights) for memory in expected.memories]
            np.testing.assert_allclose(state.base.weight, held, rtol=1e-9)
            variance = agent.noise.variance(state.noise.errors).item()
            np.testing.assert_allclose(variance, noise.variance, rtol=1e-6)
            assert state.tick == sum(sizes[: number + 1])


@pytest.mark.parametrize("kind", ["default", "sandwich", "single"])
def test_a_batch_of_one_is_one_reward(kind):
    rng, one, other = np.random.default_rng(0), *(MixtureDecider(agent_of(kind), RoundDraws(0)) for _ in "ab")
    other.least_batch = 1
    for t in range(40):
        rows, rewards = rng.normal(size=(1, 2)), rng.normal(size=1) + 5 * (t > 20) + 1e4 * (t == 30)
        for decider in (one, other):
            learn_many(decider, rows, rewards)
    map_tree(lambda *pair: np.testing.assert_allclose(*pair, rtol=1e-8, atol=1e-10), one.state, other.state)


@pytest.mark.parametrize(
    ("kind", "dim"), [("default", 2), ("sandwich", 2), ("default", MIN_ANCHORED_DIM), ("sandwich", 150)]
)
def test_sums_after_a_batch_are_those_of_one_reward_after_another(kind, dim):
    """A tick for every reward. In many dimensions few are learnt in turn, so that anchors go on."""
    rng = np.random.default_rng(0)
    one, other = (MixtureDecider(agent_of(kind, dim, fresh="never"), RoundDraws(0)) for _ in "ab")
    theta = rng.normal(size=dim)
    for size in (3, anchor_life(dim) + 9, 1, 2):
        rows = rng.normal(size=(size, dim)) / dim**0.5
        rewards = rows @ theta + 0.1 * rng.normal(size=size)
        learn_many(one, rows, rewards)
        for row, reward in zip(rows, rewards, strict=True):
            learn_many(other, row[None], reward[None])
        for sums in ("gram", "gram_sq", "weight", "weight_sq"):
            found, expected = (getattr(decider.state.base, sums) for decider in (one, other))
            assert (found is None) == (expected is None) == (sums == "gram_sq" and kind != "sandwich")
            if found is not None:
                np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        if kind != "default":  # it counts rewards from another origin, and clips outliers
            np.testing.assert_allclose(one.state.base.cross, other.state.base.cross, rtol=1e-8, atol=1e-8)


def waiting(name: str, num: int, **options: Any) -> tuple[Bandit, np.ndarray]:
    rng, bandit = np.random.default_rng(1), make(name, **options)
    for number in range(num):
        arms = rng.uniform(size=(3, bandit.agent.spec.dim))
        bandit.decide(arms / np.linalg.norm(arms, axis=1, keepdims=True), id=number, time=number)
    return bandit, rng.uniform(size=num)


@pytest.mark.parametrize("name", BANDITS)
def test_a_batch_leaves_a_bandit_that_goes_on(name):
    """In the order of decisions, however it is given; other algorithms learn one reward after another."""
    num = 9
    (one, rewards), (other, _), (turns, _) = (waiting(name, num) for _ in range(3))
    backwards = [*range(num)][::-1]
    assert one.learn_many(range(num), rewards) == ["learnt"] * num
    other.learn_many(np.array(backwards), rewards[backwards].tolist())
    assert bits(one.state) == bits(other.state)
    for number, reward in enumerate(rewards.tolist()):
        turns.learn(number, reward)
    if not isinstance(one._decider, MixtureDecider):
        assert bits(one.state) == bits(turns.state)
    assert one.summary().rewards == turns.summary().rewards == num
    assert one.summary().recent_error == turns.summary().recent_error
    assert not one.pending()
    assert one._pending.sums is None or one._pending.sums.gram(num) is None
    again = Bandit.from_bytes(one.to_bytes())
    arms = np.eye(one.agent.spec.dim)
    assert again.decide(arms, time=num).scores.tolist() == one.decide(arms, time=num).scores.tolist()


def test_one_decision_alone_is_learnt_as_by_learn():
    (one, rewards), (other, _) = (waiting("adaptive_lin_ucb", 4) for _ in range(2))
    for number, reward in enumerate(rewards.tolist()):
        one.learn(number, reward)
        assert other.learn_many([number], [reward]) == ["learnt"]
    assert one.learn_many([], []) == []
    assert bits(one.state) == bits(other.state)


@pytest.mark.parametrize(
    ("ids", "rewards", "message"),
    [
        ([0, 1, 7], [1, 1, 1], "ids must be of a decision that waits .* got '7': it was never made here"),
        ([0, 1, 0], [1, 1, 1], "ids must be of a decision .* got '0': it is there twice"),
        ([0, 3], [1, 1], "got '3': it was rewarded already"),
        ([0, 1], [1, np.nan], "rewards must be finite"),
        ([0, 1], [1, 1e200], "rewards must lie between"),
        ([0, 1], [1], r"rewards must have shape \(2\), got \(1,\)"),
        ([0, 1], [1, 9], "lie in reward_range, from 0 to 5, got 9"),
        ("01", [1, 1], "ids must be those of many decisions, in a list, got '01'"),
        (4, [1], "ids must be those of many decisions"),
        ([0, None], [1, 1], "ids must be an integer"),
    ],
)
def test_of_a_batch_with_a_mistake_nothing_is_learnt(ids, rewards, message):
    bandit, _ = waiting("adaptive_lin_ucb", 4, reward_range=(0, 5))
    bandit.learn(3, 1.0)
    before, gauge = bits(bandit.state), bandit._gauge.to_array()
    with pytest.raises(ArgumentError, match=message):
        bandit.learn_many(ids, rewards)
    assert (bits(bandit.state), len(bandit.pending())) == (before, 3)
    assert bandit._gauge.to_array()[:6].tolist() == gauge[:6].tolist()  # what was refused is counted


def test_messages_that_come_twice_are_told_from_others():
    (one, rewards), (other, _) = (waiting("adaptive_lin_ucb", 5, max_pending=4) for _ in range(2))
    outcomes = one.learn_many([2, 1, 2, 0, "x", "x"], [*rewards, 1], strict=False)
    assert outcomes == ["learnt", "learnt", "repeated", "expired", "unknown", "unknown"]
    other.learn_many([2, 1], rewards[:2])
    assert bits(one.state) == bits(other.state)
    assert one.summary().rewards == 2
