"""UCBVI equals its paper under every forgetting, and keeps what it promises."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import lsvi_ucb, ucbvi
from driftwise.algorithms.any_forgetting import tabular_keyword
from driftwise.algorithms.tabular.ucbvi import CountingValueIteration
from driftwise.base import Episode, FeatureTable
from driftwise.checks import ContractError, check_agent
from driftwise.environments import LinearMdp
from driftwise.experiments import experiment_of, prepare
from driftwise.parts import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.theory.tuning import tabular_log_term, tabular_memory, tabular_period
from tests import examples
from tests.examples import BANDIT, DRIFTS, FORGETTINGS, NUM_EPISODES, NUM_RUNS, SPEC, STATIONARY, make
from tests.reference import ucbvi as textbook

SMALL = dict(hoeffding=0.03, bernstein=0.02)  # scales at which some Q is below its ceiling


def assert_is_the_textbook(
    environment: LinearMdp, weight: Any, *, num_episodes: int = 14, **parameters: Any
) -> None:
    agent = ucbvi(SPEC, **parameters)
    most = [SPEC.horizon - h if agent.clip == "tight" else SPEC.horizon for h in range(SPEC.horizon)]
    known, history = examples.reward_tables(environment, num_episodes), []
    previous, met = None, False
    for t, one in enumerate(dw.play(agent, environment, num_episodes, seed=3)):
        expected = textbook.plan(
            history,
            SPEC,
            scale=parameters["scale"],
            log_term=parameters["log_term"],
            bonus=agent.bonus,
            shared=agent.steps == "shared",
            ceilings=most,
            rewards=known[t] if agent.rewards == "known" else None,
            previous=previous,
            weight=weight,
        )
        examples.assert_fields_close(one.plan, expected)
        previous = expected.q if agent.monotone else None
        history.append(one.episode)
        met = met or bool((expected.q < np.array(most)[:, None, None] - 0.1).any())
    assert met  # the comparison saw more than ceilings


@pytest.mark.parametrize(("forgetting", "weight"), FORGETTINGS.values(), ids=FORGETTINGS)
@pytest.mark.parametrize("bonus", ["hoeffding", "bernstein"])
def test_it_is_the_algorithm_of_its_paper_under_every_forgetting(bonus, forgetting, weight):
    environment = make(rewards="bernoulli")
    assert_is_the_textbook(environment, weight, bonus=bonus, scale=SMALL[bonus], log_term=1.3, **forgetting)


@pytest.mark.parametrize("bonus", ["hoeffding", "bernstein"])
def test_as_printed_it_knows_rewards_shares_steps_and_never_raises_q(bonus):
    environment = make("combination_lock", dw.drift.Constant())
    options: dict[str, Any] = dict(bonus=bonus, rewards="known", steps="shared", monotone=True)
    assert_is_the_textbook(environment, lambda t, tau: 1.0, scale=SMALL[bonus], log_term=1.3, **options)


@pytest.mark.parametrize(("forgetting", "weight"), FORGETTINGS.values(), ids=FORGETTINGS)
def test_bernsteins_last_sum_falls_with_the_visits_of_successors(forgetting, weight):
    """With a small logarithm the minimum in it is not H²."""
    options: dict[str, Any] = dict(bonus="bernstein", scale=0.3, log_term=3e-4, clip="tight")
    assert_is_the_textbook(make(), weight, **options, **forgetting)


def test_pairs_never_visited_promise_all_that_can_be_had():
    ceilings: list[tuple[Any, list[float]]] = [("paper", [3.0, 3.0, 3.0]), ("tight", [3.0, 2.0, 1.0])]
    for clip, most in ceilings:
        one, *_ = dw.play(ucbvi(SPEC, scale=1.0, clip=clip), make(), 1)
        assert (one.plan.q == np.array(most)[:, None, None]).all()


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


def test_monotone_values_only_fall():
    for monotone in (True, False):
        played = [
            one.plan.q for one in dw.play(ucbvi(SPEC, scale=0.01, monotone=monotone), make(), NUM_EPISODES)
        ]
        rises = max(float((late - early).max()) for early, late in itertools.pairwise(played))
        assert (rises <= 0) == monotone


@pytest.mark.slow
@pytest.mark.parametrize(("bonus", "scale"), [("hoeffding", 0.01), ("bernstein", 0.01)])
def test_it_is_optimistic_with_a_share_of_the_bonus_of_theory(bonus, scale):
    still = make("latent_chains", STATIONARY)

    def check(scale: float) -> None:
        agent = ucbvi.tuned(SPEC, num_episodes=400, bonus=bonus, beta_scale=scale)
        check_agent(agent, still, optimistic=True, num_episodes=200, num_runs=NUM_RUNS)

    check(scale)
    with pytest.raises(ContractError, match=r"^the value must be at least V\*"):
        check(0.0)


def test_the_recipe_is_the_part_it_is_described_as():
    assert ucbvi(SPEC, scale=0.1) == CountingValueIteration(SPEC, NoForgetting(), 0.1)
    assert ucbvi(SPEC, scale=0.1, rate=0.9).forgetting == ExponentialWeights(0.9)
    assert ucbvi(SPEC, scale=0.1, length=9).forgetting == SlidingWindow(9)
    assert ucbvi(SPEC, scale=0.1, period=9).forgetting == PeriodicRestart(9)


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
    still: dict[str, Any] = dict(num_episodes=1000, variation=0.0, power=3)
    assert tabular_keyword(SPEC, "exponential", **still) == {"rate": 1.0}
    assert tabular_keyword(SPEC, "restart", **still) == {"period": 1000}
    run = dict(num_episodes=1000, variation=1e12, power=3)
    assert tabular_keyword(SPEC, "window", **run) == {"length": 1}
    assert tabular_log_term(SPEC, 2, num_episodes=10, delta=0.5) == pytest.approx(math.log(2 * 12 * 30 / 0.5))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(scale=1, rate=0.9, monotone=True), r"^monotone must be False where something is forgotten"),
        (dict(scale=1, monotone="yes"), r"^monotone must be True or False, got 'yes'$"),
    ],
)
def test_what_makes_no_sense_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        ucbvi(SPEC, **parameters)


def test_worlds_that_it_cannot_count_in_are_refused():
    with pytest.raises(ValueError, match="always offer every action"):
        dw.simulate(ucbvi(BANDIT, scale=1.0), examples.make_bandit(), num_episodes=2, num_runs=1)
    apart = make("random_linear_mdp", DRIFTS["abrupt"])
    with pytest.raises(ValueError, match="which the agent needs"):
        dw.simulate(ucbvi(SPEC, scale=1.0, steps="shared"), apart, num_episodes=2, num_runs=1)


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
