"""The direct way through least squares equals the one over plans, and lazy draws are the simulator's."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from driftwise.algorithms.bandits.agent import bandit_agent
from driftwise.algorithms.unknown_variation.adaptive import mixture
from driftwise.base import random
from driftwise.base.arrays import map_tree
from driftwise.base.types import Spec
from driftwise.online.bandits.deciders import Choice, Decider, Draws, Planned
from driftwise.online.bandits.direct import Direct
from driftwise.online.bandits.fastest import decider_of
from driftwise.online.bandits.mixed import Mixed
from driftwise.online.episodes.blocks import in_blocks
from driftwise.online.episodes.remembering import remembering
from driftwise.online.limits import silently
from driftwise.parts.caution import Caution
from driftwise.parts.exploration import Thompson, Ucb
from driftwise.parts.forgetting import ExponentialWeights, PeriodicRestart, SlidingWindow
from driftwise.parts.noise import LearntNoise
from driftwise.parts.radii import ConfidenceRadius
from tests.online.streams import BANDITS, make, rounds

DIRECT = [name for name in BANDITS if isinstance(make(name)._decider, Direct)]


def choose(decider: Decider, arms: np.ndarray, number: int) -> Choice:
    offer = decider.offer(arms, number)
    return decider.choice(offer, decider.draws.arm(offer.policy, number))


def test_numpy_is_silent_within_deciders_alone():
    huge = np.array([1e300])
    with np.errstate(all="raise"):
        assert silently(lambda: silently(np.multiply, huge, huge) + huge) == np.inf
        with pytest.raises(FloatingPointError, match="overflow"):
            np.multiply(huge, huge)


def test_the_fast_way_is_taken_by_upper_confidence_bounds():
    assert {"d_lin_ucb", "lin_ucb", "weight_ucb", "sw_lin_ucb", "restart_lin_ucb", "opt_wlsvi"} <= set(DIRECT)
    assert "d_lin_ts" not in DIRECT


@pytest.mark.parametrize("name", DIRECT)
def test_the_direct_way_equals_the_planned_one(name):
    agent = make(name).agent
    direct, planned = make(name)._decider, Planned(agent, Draws(3))
    assert isinstance(direct, Direct)
    for t, (arms, reward) in enumerate(rounds(60, seed=4)):
        fast, slow = choose(direct, arms, t), choose(planned, arms, t)
        assert fast.arm == slow.arm
        np.testing.assert_allclose(fast[1:3], slow[1:3], rtol=0, atol=1e-9)
        direct.learn(fast, reward)
        planned.learn(slow, reward)
    for one, other in zip(direct.state[:5], planned.state[:5], strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("forgetting", [SlidingWindow(9), PeriodicRestart(25)], ids=str)
def test_the_direct_way_is_as_cautious_as_the_planned_one(forgetting):
    agent = bandit_agent(Spec.bandit(dim=3, num_arms=1), forgetting, Ucb(0.5, "single"), 0.3, Caution(0.4))
    direct, planned = decider_of(agent, 3), Planned(agent, Draws(3))
    assert isinstance(direct, Direct)
    for t, (arms, reward) in enumerate(rounds(60, seed=4)):
        fast, slow = choose(direct, arms, t), choose(planned, arms, t)
        np.testing.assert_allclose(fast[1:3], slow[1:3], rtol=0, atol=1e-9)
        direct.learn(fast, reward)
        planned.learn(slow, reward)
    plain = Planned(dataclasses.replace(agent, caution=None), Draws(3))
    for t, (arms, reward) in enumerate(rounds(60, seed=4)):
        plain.learn(choose(plain, arms, t), reward)
    assert np.linalg.norm(plain.state.gram - planned.state.gram) > 0.1


def test_what_knows_no_caution_leaves_it_to_plans_or_refuses():
    base = bandit_agent(
        Spec.bandit(dim=3, num_arms=1), ExponentialWeights((0.9, 1.0)), Ucb(0.5, "single"), 0.3, Caution(0.4)
    )
    agent = mixture(dataclasses.replace(base, noise=LearntNoise()), "zero")
    assert isinstance(decider_of(agent, 3), Planned)
    spec = Spec(num_states=4, num_actions=2, dim=3, horizon=2)
    states = dataclasses.replace(base, spec=spec, forgetting=ExponentialWeights(0.9))
    assert in_blocks(states) is states
    with pytest.raises(
        ValueError, match=r"^algorithm must be one of plain least squares for continuous states"
    ):
        remembering(states, memory=9, tolerance=0.1)


@pytest.mark.parametrize("origin", ["zero", "first"])
@pytest.mark.parametrize(
    ("norm", "information"), [("sandwich", "count"), ("single", "count"), ("single", "determinant")]
)
def test_the_fast_way_through_a_mixture_equals_the_planned_one(origin, norm, information):
    """With rewards that come late, and a feature that is constant."""
    base = bandit_agent(
        Spec.bandit(dim=3, num_arms=1),
        ExponentialWeights((0.8, 0.97, 1.0)),
        Ucb(ConfidenceRadius(noise_scale=1.0, norm_bound=0.0, information=information), norm),
        0.3,
    )
    agent = mixture(dataclasses.replace(base, noise=LearntNoise()), origin)
    fast, slow = decider_of(agent, 3), Planned(agent, Draws(3))
    assert isinstance(fast, Mixed)
    waiting = []
    for t, (arms, reward) in enumerate(rounds(80, seed=4)):
        arms = np.concatenate([np.ones((len(arms), 1)), arms[:, 1:]], axis=1)
        pair = choose(fast, arms, t), choose(slow, arms, t)
        assert pair[0].arm == pair[1].arm
        np.testing.assert_allclose(pair[0][1:3], pair[1][1:3], rtol=0, atol=1e-9)
        waiting.append((*pair, reward + 3 * (t > 40)))
        if t % 3:
            one, other, late = waiting.pop(0)
            fast.learn(one, late)
            slow.learn(other, late)
    map_tree(lambda *each: np.testing.assert_allclose(*each, rtol=1e-9, atol=1e-11), fast.state, slow.state)


@pytest.mark.parametrize("num_draws", [1, 3])
@pytest.mark.parametrize("decision", ["heaviest", "draw"])
@pytest.mark.parametrize(
    "exploration", [Ucb(0.5), Thompson(0.5), Thompson(ConfidenceRadius(noise_scale=1.0))], ids=str
)
def test_the_fast_way_through_a_mixture_draws_as_the_planned_one(exploration, decision, num_draws):
    base = bandit_agent(
        Spec.bandit(dim=3, num_arms=1), ExponentialWeights((0.8, 0.97, 1.0)), exploration, 0.3
    )
    agent = mixture(dataclasses.replace(base, noise=LearntNoise()), "first", decision=decision)
    fast, slow = decider_of(agent, 3, num_draws), Planned(agent, Draws(3), num_draws)
    assert isinstance(fast, Mixed)
    for t, (arms, reward) in enumerate(rounds(40, seed=4)):
        offers = fast.offer(arms, t), slow.offer(arms, t)
        for one, other in zip(offers[0][1:5], offers[1][1:5], strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
        for each, offer in zip((fast, slow), offers, strict=True):
            each.learn(each.choice(offer, t % len(arms)), reward)
    map_tree(lambda *each: np.testing.assert_allclose(*each, rtol=1e-9, atol=1e-11), fast.state, slow.state)


def test_a_reward_that_no_memory_explains_leaves_weights_as_planned():
    """Under a noise with light tails the density of such a reward is 0 in floating point."""
    base = bandit_agent(
        Spec.bandit(dim=3, num_arms=1), ExponentialWeights((0.8, 0.97, 1.0)), Ucb(0.5, "single"), 0.3
    )
    agent = mixture(dataclasses.replace(base, noise=LearntNoise()), "zero")
    agent = dataclasses.replace(agent, noise=LearntNoise(max_degrees=1e6))
    fast, slow = decider_of(agent, 3), Planned(agent, Draws(3))
    assert isinstance(fast, Mixed)
    for t, (arms, reward) in enumerate(rounds(60, seed=4)):
        for each in (fast, slow):
            silently(each.learn, choose(each, arms, t), 1e9 if t == 50 else reward)
        np.testing.assert_allclose(np.exp(fast.state.log_weights), np.exp(slow.state.log_weights), atol=1e-6)


def test_ties_are_broken_by_the_draws_of_the_simulator():
    direct, planned = make()._decider, Planned(make().agent, Draws(3))
    chosen = [tuple(choose(each, np.eye(3), t).arm for each in (direct, planned)) for t in range(20)]
    assert all(one == other for one, other in chosen)
    assert {one for one, _ in chosen} == {0, 1, 2}


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9])
def test_few_words_are_the_first_of_many(size):
    key = random.fold(random.key(11), 5)
    for draw in (random.uniform, random.coarse):
        assert np.array_equal(draw(key, size, np.float64)[:1], draw(key, 200, np.float64)[:1])
    assert np.array_equal(random.uniform(key, size, np.float64), random.uniform(key, 200, np.float64)[:size])
    many = random.fold(key, np.arange(100))  # beyond the few
    assert all(np.array_equal(random.fold(key, i), many[i]) for i in range(100))


def test_a_lazy_key_draws_what_the_key_draws():
    key = random.fold(random.key(2), 0)
    lazy, eager = random.LazyKey(key, 9), random.fold(key, 9)
    assert np.array_equal(random.fold(lazy, 4), random.fold(eager, 4))
    assert np.array_equal(random.uniform(lazy, 3, np.float64), random.uniform(eager, 3, np.float64))
    assert np.array_equal(random.normal(lazy, 12, np.float64), random.normal(eager, 12, np.float64))


def test_an_agent_that_does_not_know_arms_by_features_is_refused():
    with pytest.raises(ValueError, match="algorithm must know arms by their features, got 'ucbvi', which"):
        make("ucbvi")


def test_a_choice_keeps_no_array_of_the_callers():
    arms = np.eye(3)
    choice = choose(make()._decider, arms, 0)
    assert not np.shares_memory(choice.features, arms)
