"""Contracts that every registered algorithm keeps, in every problem it is for, under every drift."""

from typing import Any

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise import parts
from driftwise.algorithms import ALGORITHMS
from driftwise.base import Agent
from driftwise.checks import ContractError, check_agent
from driftwise.environments import Environment, PlayedEpisode
from driftwise.experiments import EXPERIMENTS, run_experiment
from tests import examples
from tests.examples import BANDIT, BANDIT_PARAMETERS, DRIFTS, NUM_EPISODES, NUM_RUNS, PARAMETERS, SPEC, agent
from tests.reference import bandits
from tests.reference.planning import optimal_values

OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, seed=5)
RAW_GAP = -1e-10  # V* − V^π is never negative; what is left is the rounding of sums of size H


def test_every_algorithm_is_under_the_contracts_of_its_problems():
    problems = {name: each.problem for name, each in ALGORITHMS.items()}
    apart = ("linear bandit", "average reward")  # which have examples of their own
    assert set(PARAMETERS) == {name for name, problem in problems.items() if problem not in apart}
    bandits = {name for name, problem in problems.items() if problem in ("any", "linear bandit")}
    assert set(BANDIT_PARAMETERS) == bandits


@pytest.mark.parametrize("rewards", ["mean", pytest.param("bernoulli", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PARAMETERS)
def test_simulator_equals_the_plain_numpy_loop(name, rewards):
    environment = examples.make(examples.fitting(agent(name))[0], rewards=rewards)
    result = dw.simulate(agent(name), environment, **OPTIONS, keep_state=True)
    for run in range(NUM_RUNS):
        played = assert_equals_the_loop(result, agent(name), environment, run)
        np.testing.assert_allclose(
            result.optimal_values[run], optimal_values(environment, played), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("rewards", ["gaussian", pytest.param("bernoulli", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", BANDIT_PARAMETERS)
def test_simulator_equals_the_plain_numpy_loop_in_a_bandit(name, rewards):
    environment = examples.make_bandit(rewards=rewards, noise_scale=0.3)
    result = dw.simulate(examples.bandit_agent(name), environment, **OPTIONS, keep_state=True)
    for run in range(NUM_RUNS):
        assert_equals_the_loop(result, examples.bandit_agent(name), environment, run)
        best = [
            one.means[one.present].max() for one in bandits.rounds(environment, NUM_EPISODES, seed=5, run=run)
        ]
        np.testing.assert_allclose(result.optimal_values[run], best, rtol=0, atol=1e-9)


def assert_equals_the_loop(
    result: dw.Result, agent: Agent, environment: Environment, run: int
) -> list[PlayedEpisode]:
    """One run of a result, its curves and its last state."""
    played = list(dw.play(agent, environment, NUM_EPISODES, seed=5, run=run))
    for curve, plain in (
        (result.values, [one.record.value for one in played]),
        (result.returns, [one.record.reward for one in played]),
    ):
        np.testing.assert_allclose(curve[run], plain, rtol=0, atol=1e-9)
    of_run = jax.tree.leaves(jax.tree.map(lambda leaf: leaf[run], result.state))
    for leaf, plain in zip(of_run, jax.tree.leaves(played[-1].carry.state), strict=True):
        np.testing.assert_allclose(leaf, plain, rtol=0, atol=1e-9)
    return played


@pytest.mark.parametrize("name", PARAMETERS)
def test_regret_is_never_negative_and_values_stay_in_range(name):
    for environment_name in examples.fitting(agent(name)):
        for drift in DRIFTS.values():
            result = dw.simulate(agent(name), examples.make(environment_name, drift), **OPTIONS)
            assert_sound(result)
            assert result.optimal_values.max() <= SPEC.horizon
            assert result.returns.min() >= 0
            assert result.returns.max() <= SPEC.horizon


@pytest.mark.parametrize("name", BANDIT_PARAMETERS)
def test_regret_in_a_bandit_is_never_negative(name):
    for drift in DRIFTS.values():
        assert_sound(
            dw.simulate(examples.bandit_agent(name), examples.make_bandit(drift, noise_scale=0.3), **OPTIONS)
        )


def test_regret_is_never_negative_without_drift():
    for environment_name in examples.SIZES:
        assert_sound(
            dw.simulate(agent("opt_wlsvi"), examples.make(environment_name, dw.drift.Constant()), **OPTIONS)
        )


def assert_sound(result: dw.Result) -> None:
    assert (result.optimal_values - result.values).min() >= RAW_GAP
    assert result.values.min() >= 0
    assert (np.diff(result.cumulative_regret) >= 0).all()


@pytest.mark.parametrize(
    ("name", "numbers", "factor"),
    [("lsvi_ucb", dict(radius=0.1), 2), ("oppo", dict(step_size=0.3, radius=0.1, rate=1.0), 3)],
)
def test_learning_beats_chance_where_nothing_changes(name, numbers, factor):
    """The last quarter of 400 episodes, mean regret: uniform play stays, the learner comes down."""
    environment = examples.make("combination_lock", examples.STATIONARY)
    learnt = dw.simulate(ALGORITHMS[name](SPEC, **numbers), environment, **{**OPTIONS, "num_episodes": 400})
    chance = dw.simulate(dw.algorithms.uniform(SPEC), environment, **{**OPTIONS, "num_episodes": 400})
    assert learnt.regret[:, 300:].mean() < chance.regret[:, 300:].mean() / factor


LOCK: dict[str, Any] = dict(name="combination_lock", drift=dw.drift.Abrupt((200,), num_anchors=2))


@pytest.mark.parametrize(
    ("forgets", "keeps", "environment"),
    [
        (
            dw.algorithms.d_lin_ucb(BANDIT, rate=0.95, radius=0.3),
            dw.algorithms.lin_ucb(BANDIT, radius=0.3),
            examples.make_bandit(dw.drift.Abrupt((200,)), noise_scale=0.3),
        ),
        (
            dw.algorithms.ucbvi(SPEC, scale=0.005, rate=0.95, bonus="bernstein"),
            dw.algorithms.ucbvi(SPEC, scale=0.005, bonus="bernstein"),
            examples.make(**LOCK),
        ),
        (
            dw.algorithms.restart_q_ucb(SPEC, period=200, scale=0.02),
            dw.algorithms.restart_q_ucb(SPEC, period=10**9, scale=0.02),
            examples.make(**LOCK),
        ),
    ],
    ids=["d_lin_ucb", "ucbvi", "restart_q_ucb"],
)
def test_forgetting_beats_remembering_after_a_change(forgets, keeps, environment):
    """From 50 episodes after the change: what never forgets is still misled."""
    regrets = [dw.simulate(one, environment, num_episodes=400, num_runs=3).regret for one in (forgets, keeps)]
    assert regrets[0][:, 250:].mean() < regrets[1][:, 250:].mean() / 2


NOTHING_FORGOTTEN = [dict(rate=1.0), dict(length=NUM_EPISODES), dict(period=NUM_EPISODES)]
FORGETFUL: list[tuple[str, dict[str, Any], list[dict[str, Any]]]] = [  # and what forgets nothing in a run
    ("adaptive_q_learning", dict(radius=0.5), NOTHING_FORGOTTEN[2:]),
    ("opt_rlsvi", dict(scale=0.4, upper=0.8), NOTHING_FORGOTTEN),
    ("oppo", dict(step_size=0.4, radius=0.3, ridge=0.7), NOTHING_FORGOTTEN[2:]),
    ("restart_q_ucb", dict(scale=0.02, period=10**9), NOTHING_FORGOTTEN[2:]),
    ("ucbvi", dict(scale=0.03), [*NOTHING_FORGOTTEN, dict(length=NUM_EPISODES + 9)]),
    ("ucbvi", dict(scale=0.02, bonus="bernstein"), [*NOTHING_FORGOTTEN, dict(length=NUM_EPISODES + 9)]),
]


@pytest.mark.parametrize(("name", "numbers", "changes"), FORGETFUL)
def test_what_forgets_nothing_within_the_run_plays_as_what_never_forgets(name, numbers, changes):
    algorithm = ALGORITHMS[name]
    environment = examples.make("oil_discovery" if name == "adaptive_q_learning" else "random_linear_mdp")
    plain = list(dw.play(algorithm(SPEC, **numbers), environment, NUM_EPISODES))
    for change in changes:
        same = dw.play(algorithm(SPEC, **{**numbers, **change}), environment, NUM_EPISODES)
        for one, other in zip(plain, same, strict=True):
            np.testing.assert_allclose(one.plan.q, other.plan.q, rtol=0, atol=1e-12)
            np.testing.assert_array_equal(one.episode.actions, other.episode.actions)
    soon = dw.play(algorithm(SPEC, **{**numbers, "period": 10}), environment, NUM_EPISODES)
    assert max(np.abs(one.plan.q - other.plan.q).max() for one, other in zip(plain, soon, strict=True)) > 1e-3


@pytest.mark.parametrize(
    ("name", "numbers", "grid"),
    [
        ("oppo", dict(radius=0.3, rate=0.9), dict(step_size=[[0.1], [0.4]], policy_period=(0, 7))),
        ("restart_q_ucb", {}, dict(scale=(0.01, 0.05), period=(7, 19))),
        ("ucbvi", dict(bonus="bernstein"), dict(scale=(0.01, 0.05), rate=(0.8, 0.95))),
        ("ucrl2", {}, dict(scale=(0.02, 0.2))),
        ("dynamic_lin_ucb", dict(noise_scale=0.3, delta=0.95, capacity=3), dict(window=(5, 12))),
    ],
)
def test_a_grid_is_its_points(name, numbers, grid):
    spec, environment = {
        "ucrl2": (examples.CONTINUING, examples.make_continuing()),
        "dynamic_lin_ucb": (BANDIT, examples.make_bandit(noise_scale=0.3)),
    }.get(name, (SPEC, examples.make()))
    together = dw.simulate(ALGORITHMS[name](spec, **numbers, **grid), environment, **OPTIONS).values
    points = dict(zip(grid, np.broadcast_arrays(*grid.values()), strict=True))
    for index in np.ndindex(next(iter(points.values())).shape):
        point = {key: values[index].item() for key, values in points.items()}
        alone = dw.simulate(ALGORITHMS[name](spec, **numbers, **point), environment, **OPTIONS).values
        np.testing.assert_allclose(together[index], alone, rtol=0, atol=1e-9)


STILL = examples.make("latent_chains", examples.STATIONARY)
SLOPES: dict[str, Any] = dict(num_states=6, num_actions=2, horizon=3, sharpness=0.5, moving_cost=0.5)
SLOPING = dw.environments.oil_discovery(**SLOPES, drift=examples.STATIONARY, rewards="bernoulli")  # at most 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "environment", "enough", "too_little"),
    [
        ("ucbvi", STILL, dict(beta_scale=0.01), dict(beta_scale=0.0)),
        ("ucbvi", STILL, dict(bonus="bernstein", beta_scale=0.01), dict(bonus="bernstein", beta_scale=0.0)),
        ("q_ucb", STILL, dict(beta_scale=0.05), dict(beta_scale=0.0)),
        ("restart_q_ucb", STILL, dict(beta_scale=0.05), dict(beta_scale=0.0)),
        ("kernel_ucbvi", SLOPING, dict(beta_scale=0.05), dict(beta_scale=0.0, lipschitz=0.2)),
        ("adaptive_q_learning", SLOPING, dict(beta_scale=0.02), dict(beta_scale=0.01)),
    ],
)
def test_values_are_optimistic_with_a_share_of_the_bonus_of_theory(name, environment, enough, too_little):
    def check(numbers: dict[str, Any]) -> None:
        tuned = ALGORITHMS[name].tuned(environment.spec, num_episodes=400, variation=0.0, **numbers)
        check_agent(tuned, environment, optimistic=True, num_episodes=200, num_runs=NUM_RUNS)

    check(enough)
    with pytest.raises(ContractError, match=r"^the value must be at least V\*"):
        check(too_little)


FORGETTING = {  # agents of an experiment that forget, and their stationary bases
    "OPT-WLSVI": "LSVI-UCB",
    "SW-LSVI-UCB": "LSVI-UCB",
    "LSVI-UCB-Restart": "LSVI-UCB",
    "OPT-RLSVI, forgetting": "OPT-RLSVI",
    "MatrixRL, forgetting": "MatrixRL",
    "OPPO, forgetting": "OPPO",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["combination_lock_abrupt", "combination_lock_gradual"])
def test_on_the_combination_lock_forgetting_beats_its_stationary_base_by_more_than_chance(name):
    """The runs are paired by their seeds: the 95 % interval of the difference is above zero."""
    outcomes = {outcome.label: outcome.result for outcome in run_experiment(EXPERIMENTS[name])}
    tested = {label: base for label, base in FORGETTING.items() if label in outcomes}
    assert len(tested) >= 5
    for label, base in tested.items():
        final = [outcomes[each].cumulative_regret[:, -1] for each in (base, label)]
        mean, half_width = dw.statistics.mean_interval(final[0] - final[1])
        assert mean - half_width > 0, (label, float(mean), float(half_width))


@pytest.mark.parametrize("name", ["opt_wlsvi", "uniform"])
def test_sampled_returns_average_to_the_exact_values(name):
    """Returns minus values are martingale differences if the agent's chances are independent of the world's;
    their mean stays within four standard errors."""
    result = dw.simulate(agent(name), examples.make(rewards="bernoulli"), **{**OPTIONS, "num_episodes": 4000})
    noise = (result.returns - result.values).ravel()
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(noise.size)
    assert noise.std() > 0.3  # coins were thrown


def test_recipes_are_the_parts_they_are_described_as():
    algorithms, weights, none = dw.algorithms, parts.ExponentialWeights(0.9), parts.NoForgetting()
    own: dict[str, Any] = dict(norm="single", clip="tight", ridge=3)
    for made, described in {
        algorithms.opt_wlsvi(SPEC, rate=0.9, radius=2, **own): (weights, parts.Ucb(2, "single"), 3, "tight"),
        algorithms.lsvi_ucb(SPEC, radius=2): (none, parts.Ucb(2)),
        algorithms.lsvi_ucb_restart(SPEC, period=4, radius=2): (parts.PeriodicRestart(4), parts.Ucb(2)),
        algorithms.sw_lsvi_ucb(SPEC, length=4, radius=2): (parts.SlidingWindow(4), parts.Ucb(2)),
        algorithms.epsilon_greedy_lsvi(SPEC, epsilon=0.1, rate=0.9): (weights, parts.EpsilonGreedy(0.1)),
        algorithms.uniform(SPEC): (none, parts.Uniform()),
    }.items():
        assert made == parts.LeastSquares(SPEC, *described)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_prints_and_documents_itself(name):
    algorithm = ALGORITHMS[name]
    assert repr(algorithm) == f"<algorithm {name}>"
    assert algorithm.name == name
    assert algorithm.__doc__
    assert algorithm.tuned.__doc__
    for field in ("problem", "forgetting", "exploration", "bound", "paper"):
        assert getattr(algorithm, field)
