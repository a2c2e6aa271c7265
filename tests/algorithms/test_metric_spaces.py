"""Agents for metric spaces against their definitions, and where oil lies."""

import dataclasses
import math
from typing import Any, get_args

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import adaptive_q_learning, kernel_ucbvi, ucbvi
from driftwise.base import Agent, Variation
from driftwise.environments import LinearMdp, PlayedEpisode, oil_discovery
from driftwise.experiments.building import Facts, read_agent_table
from driftwise.theory import tuning
from tests.examples import SPEC, assert_plans_close, make, make_bandit, refused
from tests.reference import metric_spaces as textbook

KERNEL: dict[str, Any] = dict(bandwidth=0.3, radius=0.1, lipschitz=1.5, ridge=0.2, bias_scale=0.2)


def oil(**options: Any) -> LinearMdp:
    return oil_discovery(num_states=5, num_actions=4, horizon=3, noise=0.1, **options)


def scattered(seed: int) -> LinearMdp:
    """Random transitions and rewards, and positions anywhere, some of them on borders."""
    environment, rng = make(rewards="bernoulli"), np.random.default_rng(seed)
    states = np.concatenate([[0.0, 1.0, 0.5], rng.random(3)])
    actions = np.array([0.25, rng.random()])
    return dataclasses.replace(
        environment, positions=np.stack(np.meshgrid(states, actions, indexing="ij"), -1)
    )


def played_by(agent: Agent, environment: LinearMdp, num_episodes: int) -> list[PlayedEpisode]:
    return list(dw.play(agent, environment, num_episodes, seed=3))


def assert_is_the_textbook(environment: LinearMdp, played: list[PlayedEpisode], **options: Any) -> None:
    assert environment.positions is not None
    planned = textbook.kernel_ucbvi([one.episode for one in played], environment.positions, **options)
    assert_plans_close(played, planned, atol=1e-9)
    most = np.arange(environment.spec.horizon, 0, -1)[:, None]
    assert any((one.plan.values < most - 0.1).any() for one in played)  # more was met than ceilings


@pytest.mark.parametrize("environment", [oil(rewards="bernoulli"), scattered(0)], ids=["oil", "scattered"])
@pytest.mark.parametrize(
    ("parameters", "definition"),
    [
        ({}, {}),
        (dict(rate=1.0), {}),
        (dict(rate=0.8), dict(weight=lambda k, s: 0.8 ** (k - 1 - s))),
        (dict(length=4), dict(weight=lambda k, s: float(s >= k - 4))),
        (dict(length=20), {}),
        (dict(period=5), dict(weight=lambda k, s: float(s // 5 == k // 5))),
    ],
    ids=["none", "rate 1", "rate", "window", "long window", "restarts"],
)
def test_kernels_are_those_of_the_papers(environment, parameters, definition):
    played = played_by(kernel_ucbvi(environment.spec, **KERNEL, **parameters), environment, 12)
    assert_is_the_textbook(environment, played, **KERNEL, **definition)


@pytest.mark.parametrize("bandwidth", [1e-3, 1e-200])
def test_a_narrow_kernel_counts_visits_as_ucbvi_does(bandwidth):
    environment = oil(rewards="bernoulli")
    played = played_by(
        kernel_ucbvi(environment.spec, **dict(KERNEL, bandwidth=bandwidth, rate=0.9)), environment, 25
    )
    tabular = ucbvi(environment.spec, scale=1.0, rate=0.9)
    counted = tabular.init(environment.to_arrays().example)
    for one in played:
        counted = tabular.update(counted, one.features, one.plan, one.episode)
    smoothed, counts = played[-1].carry.state.moments, counted.moments
    np.testing.assert_allclose(
        smoothed.gram.reshape(counts.gram.shape), KERNEL["ridge"] + counts.gram, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(smoothed.cross.reshape(counts.cross.shape), counts.cross, rtol=0, atol=1e-12)
    assert counts.gram.max() > 2


@pytest.mark.parametrize("environment", [oil(rewards="bernoulli"), scattered(1)], ids=["oil", "scattered"])
@pytest.mark.parametrize("period", [0, 9])
def test_the_partition_is_the_tree_of_its_paper(environment, period):
    played = played_by(adaptive_q_learning(environment.spec, radius=0.3, period=period), environment, 60)
    values = textbook.adaptive_q_learning(
        [one.episode for one in played], environment.positions, radius=0.3, period=period
    )
    assert_plans_close(played, values, atol=1e-12)
    if not period:
        assert played[-1].carry.state.depth.max() >= 3  # squares of squares were cut


def test_q_on_a_partition_less_its_bonus_is_the_estimate():
    """At the last step nothing is ahead: there it is the Q of one without bonuses."""
    environment = oil(rewards="bernoulli")
    assert environment.positions is not None
    played = played_by(adaptive_q_learning(environment.spec, radius=0.3, period=20), environment, 60)
    episodes = [one.episode for one in played]
    without = textbook.adaptive_q_learning(episodes, environment.positions, radius=0.0, period=20)
    for one, plain in zip(played, without, strict=True):
        visited = one.plan.bonus[-1] < environment.spec.horizon
        estimate = (one.plan.q - one.plan.bonus)[-1]
        np.testing.assert_allclose(estimate[visited], plain.q[-1][visited], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        lambda spec: kernel_ucbvi(spec, bandwidth=0.05, radius=0.05, lipschitz=5.0, bias_scale=0),
        lambda spec: adaptive_q_learning(spec, radius=0.5),
    ],
    ids=["kernel", "partition"],
)
def test_they_find_oil_that_stays(learner):
    """The last quarter of 400 episodes, mean regret: less than a quarter of uniform play's."""
    environment = oil_discovery(num_states=6, num_actions=6, horizon=3)
    learnt = dw.simulate(learner(environment.spec), environment, num_episodes=400, num_runs=2)
    chance = dw.planning.policy_values(environment.features, environment.model(0), np.full((3, 6, 6), 1 / 6))[
        0, 0
    ]
    assert learnt.regret[:, 300:].mean() < (learnt.optimal_values[0, 0] - chance) / 4


@pytest.mark.parametrize("agent", [kernel_ucbvi(SPEC, **KERNEL), adaptive_q_learning(SPEC, radius=1.0)])
def test_an_environment_without_a_metric_is_refused(agent):
    with refused(f"environment must have positions, which the agent needs, got {make()!r}"):
        dw.simulate(agent, make(), num_episodes=3)
    with refused("environment must have positions, which the agent needs"):
        make_bandit().to_arrays(needs=agent.needs)


def test_positions_are_checked():
    environment = make("oil_discovery")
    outside, shifted = np.array([environment.positions] * 2)
    outside[1, 0, 1], shifted[1, 1, 0] = 1.5, 0.9
    with refused("positions: coordinate at state 1, action 0, coordinate 1 is 1.5, expected in [0, 1]"):
        dataclasses.replace(environment, positions=outside)
    with refused("positions: shift of the state at state 1, action 1 is 0.65, expected 0"):
        dataclasses.replace(environment, positions=shifted)


def test_kernels_take_any_number_of_coordinates_and_squares_two():
    environment = scattered(2)
    more = np.random.default_rng(0).random((6, 2, 3))
    environment = dataclasses.replace(environment, positions=more)
    played = played_by(kernel_ucbvi(environment.spec, **KERNEL, rate=0.8), environment, 12)
    assert_is_the_textbook(environment, played, **KERNEL, weight=lambda k, s: 0.8 ** (k - 1 - s))
    with pytest.raises(ValueError, match=r"^positions must have 2 coordinates, of state and action, got 3"):
        dw.simulate(adaptive_q_learning(environment.spec, radius=1.0), environment, num_episodes=3)


def test_positions_tell_environments_apart():
    environment = make("oil_discovery")
    assert environment.positions is not None
    moved = dataclasses.replace(environment, positions=environment.positions / 2)
    assert moved.digest() != environment.digest() != dataclasses.replace(environment, positions=None).digest()


def test_oil_pays_by_distance_and_the_way_costs():
    environment = oil_discovery(num_states=4, num_actions=2, centres=(0.75,), sharpness=2.0, moving_cost=0.5)
    reward = environment.features @ environment.model(0).theta[0]
    places, targets = (0.125, 0.375, 0.625, 0.875), (0.25, 0.75)
    for s, x in enumerate(places):
        for a, y in enumerate(targets):
            assert reward[s, a] == pytest.approx(max(0, math.exp(-2 * abs(y - 0.75)) - 0.5 * abs(x - y)))
            np.testing.assert_array_equal(environment.positions[s, a], (x, y))  # pyright: ignore[reportOptionalSubscript]
    kernel = environment.features @ environment.model(0).mu[0]
    np.testing.assert_allclose(kernel[2], [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])  # the target lies between two


def test_published_oil_costs_its_way_and_lies_where_it_was_published():
    ours = oil_discovery(centres=(0.8, 0.2), sharpness=5.0, moving_cost=0.2)
    assert oil_discovery().digest() == ours.digest()
    for sharpness in (1, 10, 50):
        setting: Any = f"published_{sharpness}"
        centre = 0.7 + math.pi / 60
        alike = oil_discovery(centres=(centre, 1 - centre), sharpness=sharpness, moving_cost=1.0)
        assert oil_discovery(setting=setting).digest() == alike.digest()
        assert oil_discovery(setting=setting, moving_cost=0.5).digest() != alike.digest()


def test_noise_spreads_arrivals_around_the_target():
    environment = oil_discovery(num_states=9, num_actions=9, noise=0.1)
    kernel = (environment.features @ environment.model(0).mu[0])[0]
    assert (kernel.argmax(axis=-1) == np.arange(9)).all()
    assert kernel[4, 5] / kernel[4, 4] == pytest.approx(math.exp(-((1 / 9) ** 2) / 0.02))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (dict(centres=(1.2,)), "a number in [0, 1], got 1.2"),
        (dict(setting="mine"), "one of ours, published_1, published_10, published_50"),
        *((dict.fromkeys([name], -1), "a number of at least 0, got -1") for name in ("sharpness", "noise")),
        (dict(moving_cost=-0.1), "a number of at least 0, got -0.1"),
        (dict(num_states=0), "a positive integer, got 0"),
    ],
)
def test_bad_arguments_are_refused_by_name(given, expected):
    (name,) = given
    with refused(f"{name} must be {expected}"):
        oil_discovery(**given)


def test_tuned_forms_balance_their_terms():
    run: dict[str, Any] = dict(num_episodes=10_000, variation=5.0)
    memory = 1 / -math.log(tuning.kernel_rate(**run))
    assert memory * 5 == pytest.approx(10_000 * tuning.kernel_bandwidth(**run))  # drift and smoothing
    period = tuning.partition_period(**run)
    assert period * 5 == pytest.approx(10_000 / period * period**0.75, rel=0.01)
    still: dict[str, Any] = dict(num_episodes=10_000, variation=0.0)
    assert tuning.kernel_rate(**still) == 1
    assert tuning.kernel_bandwidth(**still) == pytest.approx(10_000 ** (-1 / 5))
    assert tuning.partition_period(**still) == 10_000
    made = kernel_ucbvi.tuned(SPEC, **run, lipschitz=3.0)
    expected = dict(bandwidth=tuning.kernel_bandwidth(**run), rate=tuning.kernel_rate(**run), lipschitz=3.0)
    assert made == kernel_ucbvi(
        SPEC, **expected, radius=3 * math.sqrt(math.log(2 * 3 * 10_000 * 12 / 0.05) / 2)
    )
    assert adaptive_q_learning.tuned(SPEC, **run) == adaptive_q_learning(
        SPEC, radius=2 * math.sqrt(27 * math.log(4 * 3 * 10_000 / 0.05)) + 4, period=period
    )


def theorem_1(tuned: tuning.KernelTuning, *, num_episodes: float, variation: float) -> float:
    """KeRNS's regret by Theorem 1 of its paper at a tuning, without constants, logarithms, H and L."""
    run: dict[str, Any] = dict(num_episodes=int(num_episodes), variation=variation, tuning=tuned)
    width, fading = tuning.kernel_bandwidth(**run), -math.log(tuning.kernel_rate(**run))
    cover, root = (
        width**-tuning.DIMENSION,
        math.sqrt(fading),
    )  # covering number, of pairs and at most of states
    first = num_episodes * (root * cover + fading * cover)
    second = num_episodes * (root * math.sqrt(cover) + fading * cover**2)
    return (first if tuned == "paper_r1" else second) + variation / fading + num_episodes * width


@pytest.mark.parametrize(
    ("tuned", "of_episodes", "of_variation"),
    [("ours", 5 / 6, 1 / 6), ("paper_r1", 6 / 7, 1 / 3), ("paper_r2", 5 / 6, 1 / 2)],
)
def test_tunings_of_kerns_have_the_rates_that_are_stated(tuned, of_episodes, of_variation):
    def grows(**larger: float) -> float:
        at = dict(num_episodes=1e12, variation=1e3)
        factor = math.prod(larger[name] / at[name] for name in larger)
        return math.log(theorem_1(tuned, **at | larger) / theorem_1(tuned, **at)) / math.log(factor)

    near: Any = dict(abs=0.02)  # terms of lower order are smaller, not zero
    assert grows(num_episodes=1e13) == pytest.approx(of_episodes, **near)
    assert grows(variation=1e4) == pytest.approx(of_variation, **near)


def test_our_tuning_of_kerns_has_the_smallest_bound():
    for variation in (1.0, 30.0, 1e4):
        ours, *papers = (
            theorem_1(each, num_episodes=1e9, variation=variation) for each in get_args(tuning.KernelTuning)
        )
        assert ours <= 1.5 * min(papers)  # equal where the variation is one, up to constants


def test_tuned_kerns_can_be_the_papers_whose_variation_weighs_transitions_by_the_lipschitz_constant():
    moves = Variation(np.array([0.5, 1.5]), np.array([0.25, 0.75]))  # of rewards by 2, of transitions by 1
    run: dict[str, Any] = dict(num_episodes=10_000, variation=5.0)
    for tuned in ("paper_r1", "paper_r2"):
        given: Any = dict(variation=99.0, variations=moves, lipschitz=3.0)
        made = kernel_ucbvi.tuned(SPEC, num_episodes=10_000, **given, tuning=tuned)
        with pytest.raises(ValueError, match=r"^variations must be a Variation, got None"):
            kernel_ucbvi.tuned(SPEC, **run, tuning=tuned)
        assert made.bandwidth == tuning.kernel_bandwidth(**run, tuning=tuned)
        rate = tuning.kernel_rate(**run, horizon=SPEC.horizon, tuning=tuned)
        assert made.forgetting == dw.forgetting.ExponentialWeights(rate)


def test_an_experiment_file_passes_on_the_moves_of_the_pair_that_moves_most():
    environment = oil_discovery(num_states=3, num_actions=3, horizon=2, drift=dw.drift.Abrupt(at=(20,)))
    table = dict(algorithm="kernel_ucbvi", tuned=True, tuning="paper_r2", lipschitz=4.0)
    read = read_agent_table("agents.x", table, Facts(environment, 50))
    made = environment.variation(50, norm="pairs")
    assert made.reward_budget != environment.variation(50).reward_budget
    assert read.build(read.values)[0] == kernel_ucbvi.tuned(
        environment.spec, num_episodes=50, variation=0.0, variations=made, tuning="paper_r2", lipschitz=4.0
    )
