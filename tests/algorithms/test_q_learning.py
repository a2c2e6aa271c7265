"""Q-UCB and RestartQ-UCB equal their papers, and keep what they promise."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import q_ucb, q_ucb_bernstein, restart_q_ucb, restart_q_ucb_freedman
from driftwise.algorithms.tabular.counting import RunningVariance
from driftwise.algorithms.tabular.q_ucb import OptimisticQLearning
from driftwise.algorithms.tabular.restart_q_ucb import StagedQLearning
from driftwise.base import Episode
from driftwise.base.random import key
from driftwise.checks import ContractError, check_agent
from tests.examples import BANDIT, DRIFTS, NUM_RUNS, SPEC, STATIONARY, assert_plans_close, make, make_bandit
from tests.reference import q_learning as textbook

SMALL: dict[str, Any] = dict(log_term=1e-6)  # so small that references matter within the run
FREEDMAN = [
    dict(period=1000, scale=0.0, reference_after=5, **SMALL),
    dict(period=1000, scale=20.0, reference_after=1, **SMALL),
    dict(period=1000, scale=50.0, reference_after=1000, **SMALL),
    dict(period=70, scale=50.0, reference_after=12, drift_bonus=0.01, **SMALL),
    dict(period=70, scale=0.02, reference_after=12),
]
CASES: list[tuple[Any, dict[str, Any]]] = [
    *((q_ucb, dict(scale=c, clip=clip)) for c in (0.0, 0.1, 0.4) for clip in ("paper", "tight")),
    (restart_q_ucb, dict(period=1000, scale=0.0)),
    (restart_q_ucb, dict(period=1000, scale=0.1)),
    (restart_q_ucb, dict(period=70, scale=0.05)),
    (restart_q_ucb, dict(period=70, scale=0.05, drift_bonus=0.2)),
    (q_ucb_bernstein, dict(scale=0.3, variance_scale=0.02)),
    (q_ucb_bernstein, dict(scale=0.3, variance_scale=0.0005, clip="tight")),
    (q_ucb_bernstein, dict(scale=100.0, variance_scale=0.01)),  # the variance decides at once
    *((restart_q_ucb_freedman, numbers) for numbers in FREEDMAN),
]


def assert_is_its_textbook(
    recipe: Any, numbers: dict[str, Any], environment: Any, num_episodes: int = 120
) -> None:
    numbers = {"log_term": 1.7, **numbers}
    played = list(dw.play(recipe(environment.spec, **numbers), environment, num_episodes, seed=2))
    if "clip" in numbers:
        numbers["tight"] = numbers.pop("clip") == "tight"
    plain = textbook.restart_q_ucb if "period" in numbers else textbook.q_ucb
    assert_plans_close(played, plain([one.episode for one in played], environment.spec, **numbers))
    assert max(np.abs(one.plan.q - played[0].plan.q).max() for one in played) > 0.1


@pytest.mark.parametrize("name", ["random_linear_mdp", "combination_lock"])
@pytest.mark.parametrize(("recipe", "numbers"), CASES)
def test_each_is_the_algorithm_of_its_paper(recipe, numbers, name):
    assert_is_its_textbook(recipe, numbers, make(name, rewards="bernoulli"))


def test_restart_q_ucb_freedman_is_that_of_its_paper_where_variances_decide():
    """In longer episodes: Hoeffding's bonus grows with H, the variance of a reference does not."""
    sizes: dict[str, Any] = dict(num_states=3, num_actions=2, dim=6, horizon=8, concentration=0.5)
    environment = dw.environments.random_linear_mdp(**sizes, drift=DRIFTS["abrupt"], rewards="bernoulli")
    numbers: dict[str, Any] = dict(period=1000, scale=100.0, log_term=1e-6, reference_after=16)
    assert_is_its_textbook(restart_q_ucb_freedman, numbers, environment, num_episodes=200)


def test_stages_grow_by_a_share_of_the_horizon():
    """A pair that is visited in every episode has stages of these numbers of visits."""
    grown = [3, 4, 5, 6, 8, 10, 13]
    ends = sorted(textbook.ends_of_stages(3, sum(grown)))
    assert np.diff([0, *ends]).tolist()[:7] == grown
    agent, features = restart_q_ucb(SPEC, period=1000, scale=0.1), make().to_arrays().example
    state = agent.init(features)
    zeros = np.zeros(3, np.int32)
    episode = Episode(zeros, zeros, np.zeros((3, 12)), np.zeros(3), zeros)
    lengths = []
    for _ in range(sum(grown)):
        if state.count[0, 0, 0] == 0:
            lengths.append(int(state.length[0, 0, 0]))
        state = agent.update(state, features, agent.plan(state, features, key(0)), episode)
    assert lengths == grown
    assert (state.length[:, 1:] == 3).all()


def test_an_epoch_starts_as_the_first_did():
    played = list(dw.play(restart_q_ucb(SPEC, period=20, scale=0.01), make(), 41))
    for again in (20, 40):
        np.testing.assert_array_equal(played[again].plan.q, played[0].plan.q)
        assert not np.array_equal(played[again - 1].plan.q, played[0].plan.q)


def test_within_an_epoch_q_only_falls():
    played = list(dw.play(restart_q_ucb(SPEC, period=1000, scale=0.02), make(), 80))
    falls = [late.plan.q - early.plan.q for early, late in itertools.pairwise(played)]
    assert np.max(falls) <= 0
    assert np.min(falls) < 0


@pytest.mark.slow
@pytest.mark.parametrize(("algorithm", "scale"), [(q_ucb, 0.05), (restart_q_ucb, 0.05)])
def test_they_are_optimistic_with_a_share_of_the_bonus_of_theory(algorithm, scale):
    still = make("latent_chains", STATIONARY)

    def check(scale: float) -> None:
        agent = algorithm.tuned(SPEC, num_episodes=400, variation=0.0, beta_scale=scale)
        check_agent(agent, still, optimistic=True, num_episodes=200, num_runs=NUM_RUNS)

    check(scale)
    with pytest.raises(ContractError, match=r"^the value must be at least V\*"):
        check(0.0)


@pytest.mark.parametrize(("scale", "enough"), [(0.2, True), (0.0, False)])
def test_bernsteins_bonus_is_optimistic_with_a_share_of_that_of_theory(scale, enough):
    agent = q_ucb_bernstein.tuned(SPEC, num_episodes=400, beta_scale=scale)
    played = dw.play(agent, make("latent_chains", STATIONARY), 200)
    above = [one.plan.value[one.episode.states[0]] - one.record.optimal for one in played]
    assert (min(above) >= -1e-9) == enough


def test_tuned_forms_use_the_logarithms_and_epochs_of_their_papers():
    """`D = (SA)^(−1/3) Δ^(2/3) T^(1/3)` epochs of `K/D` episodes; for Hoeffding `H^(2/3)` times fewer."""
    given: dict[str, Any] = dict(num_episodes=1000, delta=0.1, beta_scale=0.3)
    log = math.log(12 * 3000 / 0.1)
    plain = OptimisticQLearning(SPEC, 0.3, log)
    assert q_ucb.tuned(SPEC, **given) == plain
    bernstein = dataclasses.replace(plain, bonus="bernstein", variance_scale=0.3)
    assert q_ucb_bernstein.tuned(SPEC, **given) == bernstein
    epochs = 12 ** (-1 / 3) * 8 ** (2 / 3) * 3000 ** (1 / 3)
    log = math.log(2 * 12 * 3000 / 0.1)
    given |= dict(variation=8.0, drift_bonus=0.2)
    staged = StagedQLearning(SPEC, math.ceil(1000 / (epochs * 3 ** (-2 / 3))), 0.3, log, 0.2)
    assert restart_q_ucb.tuned(SPEC, **given) == staged
    published = dataclasses.replace(staged, log_term=math.log(2 / 0.1))
    assert restart_q_ucb.tuned(SPEC, **given, confidence="published") == published
    tuned = restart_q_ucb_freedman.tuned(SPEC, **given, reference_scale=0.005)
    freedman: dict[str, Any] = dict(
        period=math.ceil(1000 / epochs), bonus="freedman", reference_after=math.ceil(0.005 * 12 * 3**6 * log)
    )
    assert tuned == dataclasses.replace(staged, **freedman)
    for algorithm in (restart_q_ucb, restart_q_ucb_freedman):
        assert algorithm.tuned(SPEC, num_episodes=1000, variation=0.0).period == 1000


def test_a_reference_that_takes_longer_than_the_run_is_never_set():
    tuned = restart_q_ucb_freedman.tuned(SPEC, num_episodes=1000, variation=1.0)
    assert tuned.reference_after == 1001
    assert tuned.log_term == math.log(2 * 12 * 3000 / 0.05)


def test_the_two_summands_of_q_are_estimate_and_bonus():
    """At the last step nothing is ahead: there Q less its bonus is the Q of one without bonuses."""
    for agent in (q_ucb(SPEC, scale=0.3), q_ucb_bernstein(SPEC, scale=0.3, variance_scale=0.01)):
        curious = list(dw.play(agent, make(), 60, seed=1))
        plain = textbook.q_ucb([one.episode for one in curious], SPEC, scale=0.0, log_term=1.0)
        for one, other in zip(curious, plain, strict=True):
            visited, estimate = one.plan.bonus[-1] < 3, one.plan.q - one.plan.bonus
            np.testing.assert_allclose(estimate[-1][visited], other.q[-1][visited], atol=1e-9)


def test_q_of_stages_less_its_bonus_is_the_mean_of_the_stage_it_comes_from():
    """At the last step that is a mean of rewards; later stages that do not lower Q leave its bonus alone."""
    environment = make(rewards="bernoulli")
    played = list(dw.play(restart_q_ucb(SPEC, period=1000, scale=0.1), environment, 200, seed=2))
    ends, paid = sorted(textbook.ends_of_stages(3, 200)), {}
    for one in played:
        paid.setdefault((one.episode.states[-1], one.episode.actions[-1]), []).append(one.episode.rewards[-1])
    estimates = (played[-1].plan.q - played[-1].plan.bonus)[-1]
    ignored = 0
    for (state, action), rewards in paid.items():
        means = [np.mean(stage) for stage in np.split(rewards, ends) if len(stage)]
        complete = means[: sum(end <= len(rewards) for end in ends)]
        if complete:
            assert np.abs(np.array(complete) - estimates[state, action]).min() < 1e-12
            ignored += abs(complete[-1] - estimates[state, action]) > 0.1
    assert ignored > 0


def test_references_only_lower_q():
    """On one trajectory Freedman's Q is nowhere above Hoeffding's, and below it somewhere."""
    parameters: dict[str, Any] = dict(period=1000, scale=50.0, log_term=1e-6)
    agent = restart_q_ucb_freedman(SPEC, **parameters, reference_after=3)
    played = list(dw.play(agent, make(), 120, seed=2))
    plain = textbook.restart_q_ucb([one.episode for one in played], SPEC, **parameters)
    above = [other.q - one.plan.q for one, other in zip(played, plain, strict=True)]
    assert np.min(above) >= -1e-12
    assert np.max(above) > 0.01


def test_references_need_ten_thousand_visits_for_each_unit_of_the_logarithm():
    """Even without any variance `2b̄ < b` takes `ň > ι(10H/(H−1))⁴`; half as many more will do."""
    least = 1.7 * (10 * 3 / 2) ** 4

    agent = restart_q_ucb_freedman(SPEC, period=9, scale=1.0, log_term=1.7, reference_after=1)
    start = agent.init(make().to_arrays().example)
    empty = start.reference
    assert empty is not None

    def bound(size: float, total: float) -> np.ndarray:
        sizes = np.full_like(start.q, size)
        reference = empty._replace(count=np.full_like(sizes, total))
        return agent.bound(0 * sizes, reference, sizes)[1] - agent.bound(0 * sizes, None, sizes)[1]

    assert (bound(least, 1e12) == 0).all()
    assert (bound(1.5 * least, 1e12) < 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_running_variance_is_that_of_the_numbers_and_never_negative(dtype):
    """Numbers near 10 whose variance is 1e-6: a difference of sums has lost it in float32, sign and all."""
    numbers = (10 + 1e-3 * np.random.default_rng(0).standard_normal(2000)).astype(dtype)
    nothing, one = np.zeros((1, 1, 2), dtype), np.array([[[1.0, 0.0]]], dtype)
    spread = RunningVariance(nothing, nothing)
    for i, value in enumerate(numbers):
        spread = spread.add(np.full((1, 1, 1), value, dtype), one, np.full((1, 1, 2), i + 1, dtype))
    assert spread.squares.dtype == dtype
    assert spread.mean[0, 0, 0] == pytest.approx(np.mean(numbers, dtype=np.float64), abs=2e-5)
    variance = np.var(numbers, dtype=np.float64)
    assert spread.squares[0, 0, 0] / len(numbers) == pytest.approx(variance, rel=0.02)
    assert spread.mean[0, 0, 1] == spread.squares[0, 0, 1] == 0


@pytest.mark.parametrize("agent", [q_ucb(BANDIT, scale=1), restart_q_ucb(BANDIT, period=3, scale=1)])
def test_arms_that_come_and_go_are_refused(agent):
    with pytest.raises(ValueError, match="always offer every action"):
        dw.simulate(agent, make_bandit(), num_episodes=2, num_runs=1)
