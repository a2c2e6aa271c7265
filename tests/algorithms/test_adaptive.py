"""Mixtures of memories: their definition, what they reduce to, and what does not change them."""

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import (
    adaptive,
    adaptive_lin_ts,
    adaptive_lin_ucb,
    adaptive_opt_wlsvi,
    epsilon_greedy_lsvi,
    lin_ucb,
    opt_wlsvi,
    q_ucb,
    sw_lin_ucb,
    ucbvi,
)
from driftwise.base import Episode, FeatureTable, Spec, random
from driftwise.base.arrays import map_tree
from driftwise.base.part import index_part
from driftwise.environments import LinearBandit, LinearMdp, latent_chains
from driftwise.environments.mdps.linear_features import random_linear_mdp
from driftwise.simulation.devices import find_devices
from driftwise.simulation.program import jax_settings, lower_agent
from tests.examples import BANDIT, SPEC, make
from tests.reference import adaptive as definition
from tests.reference import opt_wlsvi as textbook

KEY = random.key(0)
RATES = (0.5, 0.75, 0.875, 1.0)  # memories of 2, 4 and 8


def defined(agent: Any, favour: float, ridge: float, horizon: int) -> definition.Mixture:
    """A mixture of memories of 2, 4, 8 and all, by its definition."""
    rate = 1023 / 1024 if horizon > 1 else 63 / 64
    lost = 1 if agent.origin == "learnt" else 0
    noises = [definition.Noise(rate, max_degrees=8.0, lost=lost) for _ in range(horizon)]
    prior = [(1 - favour) / 4] * 3 + [(1 - favour) / 4 + favour]
    memories = [definition.Memory(rate, ridge) for rate in RATES]
    return definition.Mixture(
        memories, noises, prior, 0.0, fresh=agent.fresh == "at_alarm", outlier=agent.outlier
    )


@pytest.mark.parametrize("favour", [0.0, 0.4])
def test_mixture_equals_its_definition(favour):
    """Weights by forecasts of `r + V̄`, and an index by textbook OPT-WLSVI, in units of each memory."""
    environment = random_linear_mdp(
        num_states=5, num_actions=3, dim=4, horizon=3, drift=dw.drift.Abrupt((10,)), rewards="bernoulli"
    )
    numbers: dict[str, Any] = dict(radius=0.4, ridge=0.5, shortest=2, longest=8)
    agent = adaptive_opt_wlsvi(environment.spec, **numbers, favour=favour, fresh="never")
    mixture = defined(agent, favour, 0.5, 3)
    for t, played in enumerate(dw.play(agent, environment, 22)):
        weights = np.array(mixture.weights)
        np.testing.assert_allclose(np.exp(played.before.log_weights), weights, rtol=1e-7)
        if t % 7 == 0:
            heaviest = mixture.memories[weights.argmax()]
            options: dict[str, Any] = dict(rate=heaviest.rate, ridge=0.5, clip="tight")
            options |= dict(radius=[0.4 * unit for unit in heaviest.units(3)])
            plan = textbook.plan(heaviest.history, environment.features, 3, **options)
            np.testing.assert_allclose(played.plan.q, plan.q, atol=1e-8)
        mixture.learn(played.episode, np.concatenate([played.plan.values, np.zeros((1, 5))]))
        told, shares = agent.diagnostics(played.carry.state), mixture.weights
        held = [sum(each.weights) for each in mixture.memories]
        np.testing.assert_allclose([told[f"weight.{j}"] for j in range(4)], shares, rtol=1e-7)
        np.testing.assert_allclose(told["noise"] ** 2, np.mean([each.variance for each in mixture.noises]))
        np.testing.assert_allclose(told["memory"], np.dot(shares, held))
        np.testing.assert_allclose(played.carry.state.base.weight, held)


def test_the_last_memory_starts_anew_from_the_heaviest_one_after_a_jump():
    """And it forecasts from there as its definition does."""
    path = dw.paths.Mixture(((0.9, 0.0), (-0.9, 0.0)), dw.drift.Abrupt((40, 70), num_anchors=2))
    environment = LinearBandit(dw.arms.FixedArms(((1.0, 0.0), (0.8, 0.6))), path, noise_scale=0.1)
    agent = adaptive_lin_ucb(environment.spec, shortest=2, longest=8)
    mixture, values = defined(agent, 0.1, 0.2, 1), np.zeros((2, 1))
    for played in dw.play(agent, environment, 100):
        np.testing.assert_allclose(np.exp(played.before.log_weights), mixture.weights, rtol=1e-6)
        mixture.learn(played.episode, values)
    assert any(40 < t < 50 for t in mixture.renewals)
    assert any(70 < t < 80 for t in mixture.renewals)
    assert sum(mixture.memories[-1].weights) < 40


def swapping() -> LinearMdp:
    """Two chains, of which the other is good from episode 40 on."""
    drift = dw.drift.Abrupt((40,), num_anchors=2)
    return latent_chains(num_chains=2, states_per_chain=2, num_actions=2, horizon=2, drift=drift)


def test_the_last_memory_starts_anew_in_mdps_too():
    environment = swapping()
    agent = adaptive_opt_wlsvi(environment.spec, radius=0.1, ridge=0.5, shortest=2, longest=8)
    mixture = defined(agent, 0.1, 0.5, 2)
    for played in dw.play(agent, environment, 60):
        np.testing.assert_allclose(np.exp(played.before.log_weights), mixture.weights, rtol=1e-6)
        mixture.learn(played.episode, np.concatenate([played.plan.values, np.zeros((1, 4))]))
        held = [sum(each.weights) for each in mixture.memories]
        np.testing.assert_allclose(played.carry.state.base.weight, held)
    assert mixture.renewals


@pytest.mark.slow
def test_fresh_starts_are_the_same_when_compiled():
    environment = swapping()
    agent = adaptive(ucbvi(environment.spec, scale=0.001), shortest=2, longest=8)
    told = [agent.diagnostics(played.carry.state)["memory"] for played in dw.play(agent, environment, 60)]
    held = [played.carry.state.base.moments.weight[-1] for played in dw.play(agent, environment, 60)]
    assert min(np.diff(held)) < 0
    result = dw.simulate(agent, environment, num_episodes=60, num_runs=1, seed=0)
    np.testing.assert_allclose(result.diagnostics["memory"][0], told, rtol=1e-8)


def test_a_mixture_of_one_memory_is_that_agent():
    environment = make()
    alone = adaptive([opt_wlsvi(SPEC, rate=(0.9,), radius=0.4)])
    for one, other in zip(
        dw.play(alone, environment, 12), dw.play(index_part(alone.base, 0), environment, 12), strict=True
    ):
        np.testing.assert_array_equal(one.plan.q, other.plan.q)


def bandit_of(kind: str, *, added: float = 0.0, unit: float = 1.0, size: float = 1.0) -> LinearBandit:
    """Three arms whose rewards have an amount more and a unit, and whose features have another one."""
    rows, constant = np.eye(3), np.ones(3)  # the parameter that gives all arms a reward of one
    if kind == "blocks":
        rows, constant = np.kron(rows, [0.6, 0.8]), np.tile([0.6, 0.8], 3)
    if kind == "dense":
        rows, constant = (
            np.array([[0.1, 0.2, 0.5], [-0.6, 0.3, 0.5], [0.4, -0.4, 0.5]]),
            np.array([0, 0, 2.0]),
        )
    first = np.linspace(0.5, -0.7, len(constant))
    thetas = [(unit * (theta + added * constant) / size).tolist() for theta in (first, -first)]
    path = dw.paths.Mixture(thetas, dw.drift.Abrupt((40,), num_anchors=2))
    return LinearBandit(dw.arms.FixedArms((size * rows).tolist()), path, noise_scale=0.2 * unit)


@pytest.mark.parametrize("recipe", [adaptive_lin_ucb, adaptive_lin_ts])
@pytest.mark.parametrize("kind", ["one-hot", "blocks", "dense"])
def test_neither_units_nor_an_amount_that_is_added_to_all_rewards_change_a_run(kind, recipe):
    regret = []
    changes: list[dict[str, float]] = [{}, dict(added=-200.0, unit=1e8), dict(unit=1e-8, size=0.1)]
    for change in changes:
        environment = bandit_of(kind, **change)
        agent = recipe(environment.spec, shortest=4, longest=16)
        run = dw.simulate(agent, environment, num_episodes=80, num_runs=2, seed=0)
        regret.append(run.regret / change.get("unit", 1.0))
    for each in regret[1:]:
        np.testing.assert_allclose(each, regret[0], rtol=0, atol=1e-6)
    assert regret[0].std() > 0


@pytest.mark.parametrize("dim", [1, 3, 20])
def test_no_memory_raises_an_alarm_before_it_has_five_samples_for_each_dimension(dim):
    agent: Any = adaptive_lin_ucb(Spec.bandit(dim=dim, num_arms=2))
    for size in (5 * dim - 1, 5 * dim, 100 * dim):
        alarm = agent.alarm(*(np.array(value) for value in (0.0, 0.2, size, size / 3, 50)))
        assert alarm == (size >= 5 * dim)


@pytest.mark.parametrize(
    ("base", "num"),
    [(sw_lin_ucb(BANDIT, length=(3, 9), noise_scale=0.3), 2), (lin_ucb(BANDIT, noise_scale=0.3), 11)],
)
def test_candidates_are_points_of_a_grid_or_all_memories(base, num):
    assert len(adaptive(base).init(FeatureTable(np.zeros((4, 3)))).log_weights) == num


@pytest.mark.parametrize(
    ("numbers", "fresh"),
    [
        (dict(rate=(0.5, 0.9, 1.0)), "at_alarm"),
        (dict(rate=(1.0, 0.9, 0.5)), "never"),
        (dict(rate=(0.5, 0.9), ridge=(1.0, 2.0)), "never"),
    ],
)
def test_only_memories_that_differ_in_their_rates_are_copied(numbers, fresh):
    assert adaptive(opt_wlsvi(SPEC, radius=0.4, **numbers)).fresh == fresh


def test_a_share_of_all_weights_is_no_alarm():
    path = dw.paths.Mixture(((0.9, 0.0),), dw.drift.Constant())
    environment = LinearBandit(dw.arms.FixedArms(((1.0, 0.0), (0.8, 0.6))), path, noise_scale=0.5)
    agent = adaptive_lin_ucb(environment.spec, shortest=2, longest=8, share=1.0, favour=0.0)
    held = [played.carry.state.base.weight[-1] for played in dw.play(agent, environment, 50)]
    assert held == [*range(1, 51)]


def test_an_error_beyond_all_measure_leaves_weights():
    agent: Any = adaptive_lin_ucb(BANDIT)
    table = FeatureTable(np.eye(3)[[0, 1, 2, 0]])
    state, nowhere = agent.init(table), np.zeros(1, dtype=np.int32)
    for reward in (1e-100, 2e-100, 1e60, 0.5):
        plan = agent.plan(state, table, KEY)
        episode = Episode(nowhere, nowhere, table.values[:1], np.array([reward]), nowhere)
        with np.errstate(over="ignore"):
            state = agent.update(state, table, plan, episode)
    assert np.isfinite(state.log_weights).all()


def test_a_list_of_agents_is_a_grid():
    apart = [opt_wlsvi(SPEC, rate=rate, radius=0.4) for rate in (0.5, 0.9)]
    assert adaptive(apart) == adaptive(opt_wlsvi(SPEC, rate=(0.5, 0.9), radius=0.4))
    assert adaptive(apart[:1]) == adaptive(apart[0])


def test_agents_that_count_are_mixed_too():
    agent = adaptive(ucbvi(SPEC, scale=0.01), shortest=4, longest=16)
    states = [played.carry.state for played in dw.play(agent, make(), 15)]
    np.testing.assert_allclose(np.exp(states[-1].log_weights).sum(), 1)
    assert np.ptp(states[-1].log_weights) > 0.01  # their forecasts differ


def test_one_memory_decides_as_it_would_alone():
    """Also where its policy has numbers of its own, as that of ε-greedy has."""
    agent = adaptive(epsilon_greedy_lsvi(SPEC, epsilon=0.25), shortest=2, longest=8)
    for played in dw.play(agent, make(), 12):
        heaviest = int(played.before.log_weights.argmax())
        state = map_tree(operator.itemgetter(heaviest), played.before.base)
        alone = index_part(agent.base, heaviest).plan(state, played.features, KEY)
        for name in ("weights", "bonus", "q", "policy", "values"):
            np.testing.assert_array_equal(getattr(played.plan, name), getattr(alone, name))


def test_what_forecasts_nothing_is_refused():
    with pytest.raises(
        ValueError, match="base must forecast: be on least squares or mirror descent, or count"
    ):
        adaptive(q_ucb(SPEC, scale=0.1))
    with pytest.raises(ValueError, match=r"shortest must be an integer of at least 2, got 1"):
        adaptive_opt_wlsvi(SPEC, shortest=1)
    with pytest.raises(ValueError, match=r"longest must be an integer of at least 100, got 50"):
        adaptive_opt_wlsvi(SPEC, shortest=100, longest=50)
    with pytest.raises(ValueError, match="shortest or longest must be left out for a base with a grid"):
        adaptive(opt_wlsvi(SPEC, rate=(0.5, 0.9), radius=0.4), longest=64)
    with pytest.raises(ValueError, match="fresh must be 'never' unless memories differ in exponential rates"):
        adaptive(sw_lin_ucb(BANDIT, length=(3, 9), noise_scale=0.3), fresh="at_alarm")
    with pytest.raises(ValueError, match=r"ridge must be one number; only `adaptive\(base\)` takes several"):
        adaptive_lin_ucb(BANDIT, ridge=(0.1, 1.0))
    with pytest.raises(ValueError, match="spec must be a bandit's"):
        adaptive_lin_ucb(SPEC)


@pytest.mark.parametrize(
    ("recipe", "horizon", "expected"), [(adaptive_lin_ucb, 1, 3), (adaptive_opt_wlsvi, 3, 2)]
)
def test_factorisations_of_an_episode_wait_for_each_other(recipe, horizon, expected):
    """On CPUs XLA may run two at once if neither depends on the other, and they can wait for ever.

    They are of the plan, of the forecast that outliers are clipped by, and of all memories.
    """
    dim, num_states = 20, 1 if horizon == 1 else 2  # many dimensions: small matrices are not factored
    agent = recipe(Spec(num_states=num_states, num_actions=2, dim=dim, horizon=horizon))

    def step(agent: Any, table: FeatureTable, state: Any) -> Any:
        plan, nowhere = agent.plan(state, table, jnp.asarray(KEY)), jnp.zeros(horizon, dtype=jnp.int32)
        played = jnp.ones((horizon, dim)) * plan.policy[:, 0, :1]
        return agent.update(state, table, plan, Episode(nowhere, nowhere, played, played[:, 0], nowhere))

    with jax_settings(find_devices("cpu")[0]):
        _, lowered = lower_agent(agent, np.dtype(float))
        alone = jax.tree.map(lambda leaf: leaf[0], lowered)
        table = FeatureTable(jnp.ones((2 * num_states, dim)))
        program = jax.make_jaxpr(step)(alone, table, alone.init(table)).jaxpr
    num_factored, after_the_last = 0, set()
    for equation in program.eqns:
        waits = any(str(each) in after_the_last for each in equation.invars)
        factors = "cholesky" in str(equation)
        if factors:
            assert waits or num_factored == 0
            num_factored, after_the_last = num_factored + 1, set()
        if factors or waits:
            after_the_last |= {str(each) for each in equation.outvars}
    assert num_factored == expected
