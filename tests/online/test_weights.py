"""A reward of weight n is the mean of n rewards that came at once: for every decider and every forgetting."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import d_glb_omd, glb_weight_ucb
from driftwise.algorithms.bandits.bandit_agent import bandit_agent
from driftwise.algorithms.unknown_variation.adaptive import mixture
from driftwise.base import Agent, Episode, Forgetting, Moments, Spec, WeightFunction
from driftwise.base.arrays import map_tree
from driftwise.base.part import PARTS
from driftwise.online.deciders import (
    ClockDecider,
    Decider,
    LeastSquaresDecider,
    MixtureDecider,
    PlannedDecider,
    RoundDraws,
    make_decider,
)
from driftwise.parts import (
    Caution,
    CautiousUcb,
    ClockWeights,
    ConfidenceRadius,
    DirectionalForgetting,
    Exploration,
    ExponentialWeights,
    LearntNoise,
    NoForgetting,
    PeriodicRestart,
    RestartAt,
    SlidingWindow,
    Thompson,
    Ucb,
)
from tests.online.streams import bits, make
from tests.reference import adaptive as definition
from tests.reference.moments import Together, directional_sums, index, sums_of

DIM, NUM = 3, 17
RADIUS = ConfidenceRadius(noise_scale=0.3, information="count", spread="epochs", shares=1)
FORGETTINGS = [
    NoForgetting(),
    ExponentialWeights(0.8),
    SlidingWindow(4),
    PeriodicRestart(5),
    RestartAt((3, 11)),
    ClockWeights(3.0, reference="last"),
    DirectionalForgetting(0.8),
    DirectionalForgetting(0.8, fading=0.95),
]
EXPLORATIONS = [Ucb(RADIUS, "single"), Ucb(RADIUS, "sandwich"), Thompson(RADIUS)]


def groups(num: int = NUM, dim: int = DIM) -> list[Together]:
    """One to five rewards at a time."""
    rng = np.random.default_rng(num)
    sizes = rng.integers(1, 6, size=num)
    return [Together(rng.normal(size=dim) / dim**0.5, rng.normal(size=n).tolist()) for n in sizes]


def agent_of(
    forgetting: Forgetting, exploration: Exploration, caution: Caution | None = None, dim: int = DIM
) -> Any:
    return bandit_agent(Spec.bandit(dim=dim, num_arms=1), forgetting, exploration, caution=caution)


def deciders_of(agent: Agent) -> list[Decider]:
    """The fastest, by one draw and by many, and the plain one where it counts rounds."""
    fastest, sampled = make_decider(agent, 3), make_decider(agent, 3, num_draws=5)
    plain = [] if isinstance(fastest, ClockDecider) else [PlannedDecider(agent, RoundDraws(3))]
    return [fastest, sampled, *plain]


def learn(decider: Decider, features: np.ndarray, reward: float, time: float, weight: float) -> None:
    offer = decider.offer(features[None], 0, time)
    decider.learn(offer.choice(0), reward, time, weight)


def lead(decider: Decider, together: list[Together]) -> None:
    """One sample for each group, a second apart."""
    for second, (features, rewards) in enumerate(together):
        learn(decider, features, float(np.mean(rewards)), float(second), float(len(rewards)))


@pytest.mark.parametrize("exploration", EXPLORATIONS, ids=["single", "sandwich", "thompson"])
@pytest.mark.parametrize("forgetting", FORGETTINGS, ids=str)
def test_sums_and_scores_are_those_of_all_rewards_one_by_one(forgetting, exploration):
    together, arms = groups(), np.eye(DIM)
    if isinstance(forgetting, WeightFunction):
        expected = sums_of(together, list(forgetting.weights(NUM)), ridge=1.0)
    else:
        squares = exploration.uses_gram_sq
        numbers = dict(rate=forgetting.rate, fading=forgetting.fading)
        expected = directional_sums(together, **numbers, ridge=1.0, squares=squares)
    for decider in deciders_of(agent_of(forgetting, exploration)):
        lead(decider, together)
        state = decider.state
        np.testing.assert_allclose(state.gram[0], expected.gram, rtol=1e-12, atol=1e-12)
        if state.gram_sq is not None:
            np.testing.assert_allclose(state.gram_sq[0], expected.gram_sq, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(state.cross[0, :, 0], expected.cross, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose([state.weight, state.weight_sq], expected[3:], rtol=1e-12)
        assert state.tick == NUM  # one step of forgetting for each group
        if isinstance(exploration, Ucb):
            sandwich = exploration.norm == "sandwich"
            scores = index(expected, arms, noise_scale=0.3, delta=0.05, sandwich=sandwich)
            np.testing.assert_allclose(decider.offer(arms, 0, NUM - 1.0).scores, scores, rtol=1e-12)


def test_every_decider_of_least_squares_and_every_forgetting_is_among_them():
    ours = (cls for cls in PARTS.values() if cls.__module__.startswith("driftwise."))
    assert {type(each) for each in FORGETTINGS} == {cls for cls in ours if issubclass(cls, Forgetting)}
    kinds = {
        type(decider)
        for forgetting in FORGETTINGS
        for exploration in EXPLORATIONS
        for decider in deciders_of(agent_of(forgetting, exploration))
    }
    assert kinds == {LeastSquaresDecider, PlannedDecider, ClockDecider}


UNFORGOTTEN = [NoForgetting(), PeriodicRestart(8), ClockWeights(1e9), ExponentialWeights(1.0)]


@pytest.mark.parametrize("exploration", [Ucb(RADIUS, "single"), CautiousUcb(RADIUS, 0.2)], ids=["one", "two"])
@pytest.mark.parametrize("forgetting", UNFORGOTTEN, ids=str)
def test_with_caution_each_of_the_rewards_has_the_share_of_what_was_known_before_them(
    forgetting, exploration
):
    together = groups(7)
    expected = sums_of(together, [1.0] * 7, ridge=1.0, alpha=0.3)
    assert expected.gram.trace() < 0.8 * sums_of(together, [1.0] * 7, ridge=1.0).gram.trace()
    for decider in deciders_of(agent_of(forgetting, exploration, Caution(0.3))):
        lead(decider, together)
        np.testing.assert_allclose(decider.state.gram[0], expected.gram, rtol=1e-7)  # 7 s of the half-life
        if exploration.uses_gram_sq:  # which has the squares of the shares
            np.testing.assert_allclose(decider.state.gram_sq[0], expected.gram_sq, rtol=1e-7)
        np.testing.assert_allclose(decider.state.cross[0, :, 0], expected.cross, rtol=1e-7)
        np.testing.assert_allclose([decider.state.weight, decider.state.weight_sq], expected[3:], rtol=1e-7)


def mixture_of(forgetting: Forgetting, origin: Any = "zero", dim: int = DIM) -> Any:
    """A mixture for features of so many dimensions."""
    inner = dim + (origin == "learnt")
    base = agent_of(forgetting, Ucb(dataclasses.replace(RADIUS, norm_bound=0.0), "sandwich"), dim=inner)
    return mixture(dataclasses.replace(base, noise=LearntNoise()), origin)


def test_a_mixture_weighs_its_memories_by_the_density_of_the_mean():
    rates, together = (0.8, 0.97, 1.0), groups(40)
    agent = mixture_of(ExponentialWeights(rates))
    favour = agent.sharing.favour
    prior = [(1 - favour) / 3 + favour * (rate == 1) for rate in rates]
    memories = [definition.Memory(rate, 1.0) for rate in rates]
    noise = definition.Noise(agent.noise_forgetting.rate, max_degrees=agent.noise.max_degrees)
    expected = definition.Mixture(memories, [noise], prior, agent.sharing.share, fresh=True)
    for features, rewards in together:
        nowhere, counts = np.zeros(1, dtype=int), np.array([float(len(rewards))])
        mean = np.array([np.mean(rewards)])
        expected.learn(Episode(nowhere, nowhere, features[None], mean, nowhere, counts), np.zeros((2, 1)))
    fast, slow = make_decider(agent, 3), PlannedDecider(agent, RoundDraws(3))
    assert isinstance(fast, MixtureDecider)
    for decider in (fast, slow):
        lead(decider, together)
        state, errors = decider.state, decider.state.noise.errors
        np.testing.assert_allclose(np.exp(state.log_weights), expected.weights, rtol=1e-8)
        np.testing.assert_allclose(agent.noise.variance(errors)[0], noise.variance, rtol=1e-8)
        assert_sums(state.base, together, [memory.weights for memory in memories])


def assert_sums(base: Moments, together: list[Together], weights: list[list[float]]) -> None:
    """Those of all rewards one by one, for memories that weigh the groups so."""
    assert base.gram_sq is not None
    for j, each in enumerate(weights):
        sums = sums_of(together, each, ridge=1.0)
        np.testing.assert_allclose(base.gram[j, 0], sums.gram, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(base.gram_sq[j, 0], sums.gram_sq, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(base.cross[j, 0, :, 0], sums.cross, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose([base.weight[j], base.weight_sq[j]], sums[3:], rtol=1e-8)


def test_a_mixture_by_the_clock_sees_the_mean_of_n_as_one_reward_that_is_a_root_of_n_as_large():
    half_lives, together = (3.0, 20.0, 1e9), groups()
    agent = mixture_of(ClockWeights(half_lives, reference="last"))
    weighed, enlarged = make_decider(agent, 3), make_decider(agent, 3)
    assert isinstance(weighed, ClockDecider)
    lead(weighed, together)
    for second, (features, rewards) in enumerate(together):
        root = len(rewards) ** 0.5
        learn(enlarged, root * features, root * float(np.mean(rewards)), float(second), 1.0)
    own, other = weighed.state, enlarged.state
    weights = [ClockWeights(each, reference="last").weights(NUM).tolist() for each in half_lives]
    assert_sums(own.base, together, weights)
    counted = own.base._replace(weight=other.base.weight, weight_sq=other.base.weight_sq)
    close = dict(rtol=1e-9, atol=1e-11)
    map_tree(lambda *each: np.testing.assert_allclose(*each, **close), own._replace(base=counted), other)


def test_the_first_mean_is_the_origin_under_any_weight():
    agent = mixture_of(ExponentialWeights((0.9, 1.0)), "learnt")
    for decider in (make_decider(agent, 3), PlannedDecider(agent, RoundDraws(3))):
        learn(decider, np.array([0.3, 0.0, 0.4]), 7.0, 0.0, 4.0)
        state = decider.state
        assert (state.origin, state.unit) == (7.0, 0.5)
        np.testing.assert_allclose(state.base.gram[0, 0, -1], [24.0, 0.0, 32.0, 401.0])  # 4 of (φ/0.5, 10)
        assert not state.base.cross.any()


def test_at_weight_zero_nothing_happens():
    for name in ("d_lin_ucb", "adaptive_lin_ucb"):
        bandit = make(name)
        bandit.learn_from(np.eye(3), [1.0, 0.3, 0.4])
        before = bits(bandit.state), bandit.summary(), bandit.scores(np.eye(3)).tolist()
        bandit.learn_from(np.eye(3), [1.0, 0.3, 0.4], weight=0)
        assert (bits(bandit.state), bandit.summary(), bandit.scores(np.eye(3)).tolist()) == before


CLICKS = Spec.bandit(dim=DIM, num_arms=1)


def clicks() -> list[tuple[np.ndarray, list[float]]]:
    return [(features, [float(each > 0) for each in rewards]) for features, rewards in groups()]


def test_the_mean_of_n_clicks_is_n_clicks_in_the_likelihood():
    agent = glb_weight_ucb(CLICKS, rate=1.0, num_episodes=100)
    once, apart = PlannedDecider(agent, RoundDraws(3)), PlannedDecider(agent, RoundDraws(3))
    for features, rewards in clicks():
        learn(once, features, float(np.mean(rewards)), 0.0, float(len(rewards)))
        for click in rewards:
            learn(apart, features, click, 0.0, 1.0)
    for name in ("gram", "cross", "weight"):
        np.testing.assert_allclose(getattr(once.state, name), getattr(apart.state, name), rtol=1e-12)
    np.testing.assert_allclose(once.state.memory.theta, apart.state.memory.theta, rtol=1e-9)
    assert once.state.memory.counts.sum() == apart.state.tick


def test_means_of_n_clicks_have_a_dispersion_that_is_n_times_as_small():
    agent = d_glb_omd(CLICKS, rate=0.9, norm_bound=2.0, ridge=0.5)
    weighed = make_decider(agent, 3)
    sharper = make_decider(dataclasses.replace(agent, dispersion=agent.dispersion / 3), 3)
    for features, rewards in clicks():
        for decider, weight in ((weighed, 3.0), (sharper, 1.0)):
            learn(decider, features, float(np.mean(rewards)), 0.0, weight)
    for name in ("gram", "cross", "memory"):
        np.testing.assert_allclose(getattr(weighed.state, name), getattr(sharper.state, name), rtol=1e-12)
    np.testing.assert_allclose(weighed.state.weight, 3 * sharper.state.weight, rtol=1e-12)
