"""UCBVI, Q-UCB and RestartQ-UCB equal their papers, and keep what they promise."""

import dataclasses
import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import (
    lsvi_ucb,
    q_ucb,
    q_ucb_bernstein,
    restart_q_ucb,
    restart_q_ucb_freedman,
    ucbvi,
)
from driftwise.algorithms.tabular.counting import RunningVariance
from driftwise.algorithms.tabular.q_ucb import OptimisticQLearning
from driftwise.algorithms.tabular.restart_q_ucb import StagedQLearning
from driftwise.algorithms.tabular.ucbvi import CountingValueIteration
from driftwise.base import Episode, FeatureTable
from driftwise.base.random import key
from driftwise.environments import LinearMdp
from driftwise.experiments import experiment_of, prepare
from driftwise.parts import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.theory.tuning import tabular_log_term, tabular_memory, tabular_period
from tests import examples
from tests.examples import (
    BANDIT,
    DRIFTS,
    FORGETTINGS,
    NUM_EPISODES,
    SPEC,
    STATIONARY,
    assert_plans_close,
    make,
    make_bandit,
)
from tests.reference import tabular as textbook

SCALES = dict(hoeffding=0.03, bernstein=0.02)  # scales at which some Q is below its ceiling


def assert_is_ucbvi(
    environment: LinearMdp, weight: Any, *, num_episodes: int = 14, **parameters: Any
) -> None:
    agent = ucbvi(SPEC, **parameters)
    most = [SPEC.horizon - h if agent.clip == "tight" else SPEC.horizon for h in range(SPEC.horizon)]
    known, history = examples.reward_tables(environment, num_episodes), []
    previous, met = None, False
    for t, one in enumerate(dw.play(agent, environment, num_episodes, seed=3)):
        options: Any = {name: parameters[name] for name in ("scale", "log_term")}
        options |= dict(bonus=agent.bonus, shared=agent.steps == "shared", ceilings=most)
        options |= dict(rewards=known[t] if agent.rewards == "known" else None, previous=previous)
        expected = textbook.ucbvi(history, SPEC, **options, weight=weight)
        examples.assert_fields_close(one.plan, expected)
        previous = expected.q if agent.monotone else None
        history.append(one.episode)
        met = met or bool((expected.q < np.array(most)[:, None, None] - 0.1).any())
    assert met  # the comparison saw more than ceilings


@pytest.mark.parametrize(("forgetting", "weight"), FORGETTINGS.values(), ids=FORGETTINGS)
@pytest.mark.parametrize("bonus", ["hoeffding", "bernstein"])
def test_ucbvi_is_the_algorithm_of_its_paper_under_every_forgetting(bonus, forgetting, weight):
    environment = make(rewards="bernoulli")
    assert_is_ucbvi(environment, weight, bonus=bonus, scale=SCALES[bonus], log_term=1.3, **forgetting)


@pytest.mark.parametrize("bonus", ["hoeffding", "bernstein"])
def test_as_printed_ucbvi_knows_rewards_shares_steps_and_never_raises_q(bonus):
    environment = make("combination_lock", dw.drift.Constant())
    options: dict[str, Any] = dict(bonus=bonus, rewards="known", steps="shared", monotone=True)
    assert_is_ucbvi(environment, lambda t, tau: 1.0, scale=SCALES[bonus], log_term=1.3, **options)


@pytest.mark.parametrize(("forgetting", "weight"), FORGETTINGS.values(), ids=FORGETTINGS)
def test_bernsteins_last_sum_falls_with_the_visits_of_successors(forgetting, weight):
    """With a small logarithm the minimum in it is not H²."""
    options: dict[str, Any] = dict(bonus="bernstein", scale=0.3, log_term=3e-4, clip="tight")
    assert_is_ucbvi(make(), weight, **options, **forgetting)


def q_once_left(agent: CountingValueIteration, num_episodes: int) -> list[float]:
    """Of a pair that was visited in the first episode only, after each."""
    features = FeatureTable(np.zeros((12, 12)))
    state = agent.init(features)
    seen = []
    for states in np.array([[0, 0, 0]] + [[1, 1, 1]] * num_episodes):
        episode = Episode(states, np.zeros(3, int), np.zeros((3, 12)), np.zeros(3), states)
        plan = agent.plan(state, features, np.zeros(2, np.uint32))
        state = agent.update(state, features, plan, episode)
        seen.append(agent.plan(state, features, np.zeros(2, np.uint32)).q[2, 0, 0])
    return seen


@pytest.mark.parametrize("scale", [0.0, 0.02])
def test_a_count_that_has_all_but_gone_overflows_nothing(scale):
    """After 1060 episodes it is below 1e-308, and its reciprocal is infinite."""
    seen = q_once_left(ucbvi(SPEC, scale=scale, rate=0.5, bonus="bernstein"), 1060)
    assert np.isfinite(seen).all()
    assert seen[1055] == (SPEC.horizon if scale else 0)


def test_what_was_not_visited_for_long_is_doubted_again():
    """Its effective number of samples stays one; its weighted count goes to nothing, and trust with it."""
    seen = q_once_left(ucbvi(SPEC, scale=0.02, rate=0.5), 30)
    assert seen[0] < 0.5
    assert (np.diff(seen) >= 0).all()
    assert seen[-1] == SPEC.horizon


def test_without_a_ridge_lsvi_ucb_on_one_hot_features_has_the_same_values():
    environment = make("combination_lock", rewards="bernoulli")
    near = lsvi_ucb(SPEC, radius=7 * SPEC.horizon * 0.02, ridge=1e-12)
    features = environment.to_arrays().example
    state, key = near.init(features), np.zeros(2, np.uint32)
    for one in dw.play(ucbvi(SPEC, scale=0.02), environment, NUM_EPISODES):
        plan = near.plan(state, features, key)
        np.testing.assert_allclose(one.plan.values, plan.values, rtol=0, atol=1e-8)
        state = near.update(state, features, plan, one.episode)


def test_the_recipe_is_the_part_it_is_described_as():
    assert ucbvi(SPEC, scale=0.1) == CountingValueIteration(SPEC, NoForgetting(), 0.1)
    assert ucbvi(SPEC, scale=0.1, rate=0.9).forgetting == ExponentialWeights(0.9)


def test_memory_balances_epochs_against_drift():
    """`√(H^a SATD) = HTΔ/D` at `D = K / memory`."""
    for power, variation in itertools.product((1, 2, 3, 4), (0.3, 5.0)):
        epochs = 1000 / tabular_memory(SPEC, num_episodes=1000, variation=variation, power=power)
        steps = SPEC.horizon * 1000
        pairs = SPEC.num_states * SPEC.num_actions
        learning = math.sqrt(SPEC.horizon**power * pairs * steps * epochs)
        assert learning == pytest.approx(SPEC.horizon * steps * variation / epochs, rel=1e-12)


def test_tuned_forms_use_these_formulas():
    run: dict[str, Any] = dict(num_episodes=1000, variation=8.0)
    agent = ucbvi.tuned(SPEC, **run, forgetting="exponential", delta=0.1, beta_scale=0.3)
    long = tabular_memory(SPEC, **run, power=3)
    assert agent == ucbvi(SPEC, scale=0.3, log_term=math.log(5 * 12 * 3000 / 0.1), rate=math.exp(-1 / long))
    powers: list[tuple[Any, Any, int]] = [
        ("bernstein", "apart", 2),
        ("bernstein", "shared", 1),
        ("hoeffding", "shared", 2),
    ]
    for bonus, steps, power in powers:
        window = ucbvi.tuned(SPEC, **run, forgetting="window", bonus=bonus, steps=steps)
        assert window.forgetting == SlidingWindow(tabular_period(SPEC, **run, power=power))
        assert (window.bonus, window.steps) == (bonus, steps)
    assert ucbvi.tuned(SPEC, **run).forgetting == NoForgetting()
    for variation, kind, forgetting in (
        (0.0, "exponential", ExponentialWeights(1.0)),
        (0.0, "restart", PeriodicRestart(1000)),
        (1e12, "window", SlidingWindow(1)),
    ):
        tuned = ucbvi.tuned(SPEC, num_episodes=1000, variation=variation, forgetting=kind)
        assert tuned.forgetting == forgetting
    assert tabular_log_term(SPEC, 2, num_episodes=10, delta=0.5) == pytest.approx(math.log(2 * 12 * 30 / 0.5))


def test_what_makes_no_sense_is_refused():
    with examples.refused("monotone must be False where something is forgotten"):
        ucbvi(SPEC, scale=1, rate=0.9, monotone=True)
    with examples.refused("monotone must be True or False, got 'yes'"):
        ucbvi(SPEC, scale=1, monotone="yes")  # pyright: ignore[reportArgumentType]
    for counting in (ucbvi, q_ucb, partial(restart_q_ucb, period=3)):
        with pytest.raises(ValueError, match="always offer every action"):
            dw.simulate(counting(BANDIT, scale=1), make_bandit(), num_episodes=2)
    apart = make("random_linear_mdp", DRIFTS["abrupt"])
    with pytest.raises(ValueError, match="which the agent needs"):
        dw.simulate(ucbvi(SPEC, scale=1.0, steps="shared"), apart, num_episodes=2)


@pytest.mark.parametrize("name", ["restart_q_ucb", "kernel_ucbvi"])
def test_experiments_tell_those_who_count_how_much_the_worst_pair_moves(name):
    told: dict[str, Any] = dict(name="n", summary="s", finding="f", episodes=50, runs=1)
    drift = dict(type="Abrupt", at=["50%"])
    for scale in (1.0, 0.5):
        given = dict(algorithm=name, tuned=True, variation_scale=scale)
        told |= dict(environment=dict(type="oil_discovery", drift=drift), agents=dict(a=given))
        (group,) = prepare(experiment_of(told)).groups
        assert isinstance(group.task.environment, LinearMdp)
        moved = scale * group.task.environment.variation(50, norm="pairs").total
        tuned = dw.algorithms.ALGORITHMS[name].tuned(
            group.task.environment.spec, num_episodes=50, variation=moved
        )
        assert group.task.agent == tuned
    assert moved < group.task.environment.variation(50).total / 8


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
def test_q_learning_is_the_algorithm_of_its_paper(recipe, numbers, name):
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
    state, zeros = agent.init(features), np.zeros(3, np.int32)
    episode = Episode(zeros, zeros, np.zeros((3, 12)), np.zeros(3), zeros)
    lengths = []
    for _ in range(sum(grown)):
        if state.count[0, 0, 0] == 0:
            lengths.append(int(state.length[0, 0, 0]))
        state = agent.update(state, features, agent.plan(state, features, key(0)), episode)
    assert lengths == grown


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
