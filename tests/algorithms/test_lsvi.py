"""LSVI-UCB told how much it moves, with drawn parameters, and with known features of successors."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportCallIssue=false

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise import parts
from driftwise.algorithms import epsilon_greedy_lsvi, lsvi_ucb, lsvi_ucb_restart, matrix_rl, opt_rlsvi
from driftwise.algorithms.any_forgetting import choose_forgetting
from driftwise.base import (
    Agent,
    Forgetting,
    MeanRewards,
    Moments,
    SuccessorProjection,
    Variation,
    from_config,
    random,
    to_config,
)
from driftwise.base.random import episode_keys
from driftwise.environments import LinearMdp, PlayedEpisode, latent_chains, random_linear_mdp
from driftwise.parts import (
    ExponentialWeights,
    LeastSquares,
    LocalVariationRadius,
    NoForgetting,
    PeriodicRestart,
    Ucb,
)
from driftwise.parts.radii import local_variation_radius
from driftwise.parts.regression import matvec
from driftwise.theory import tuning
from driftwise.theory.tuning import opt_wlsvi_radius, opt_wlsvi_rate, restart_period
from tests import examples
from tests.examples import (
    BANDIT,
    DRIFTS,
    FORGETTINGS,
    NUM_EPISODES,
    SPEC,
    STATIONARY,
    assert_fields_close,
    assert_play_alike,
    make,
    make_bandit,
    plain_values,
    refused,
)
from tests.reference import lsvi as textbook

RADIUS = LocalVariationRadius(0.5, 3, (1.0, 0.0, 2.0), (0.0, 5.0, 1.0))
DRIFTING = RADIUS.reward_variation, RADIUS.transition_variation
VARIATIONS = Variation(reward=np.arange(1.0, 8.0), transition=10 * np.arange(1.0, 8.0))  # of eight episodes


def moments_at(tick: int, dim: int = 2) -> Moments:
    epoch, seen = divmod(tick, 4)
    ridge, clock, weight, restarts = map(np.asarray, (1.0, tick, float(seen), epoch))
    cross = np.zeros((1, dim, 1))
    return Moments(np.eye(dim)[None], None, cross, ridge, clock, weight, weight, restarts, ())


@pytest.mark.parametrize(
    ("tick", "expected"),
    [
        (0, 0.5),
        (1, 0.5 + np.sqrt(2) * 1),  # √(d·1)(B_θ + 3 B_μ) with d = 2, B_θ = 1, B_μ = 0
        (3, 0.5 + np.sqrt(6) * 1),
        (4, 0.5),  # a new epoch
        (6, 0.5 + np.sqrt(4) * 15),  # B_θ = 0, B_μ = 5
        (9, 0.5 + np.sqrt(2) * 5),  # B_θ = 2, B_μ = 1
        (15, 0.5 + np.sqrt(6) * 5),  # beyond the end: as in the last epoch
    ],
)
def test_the_radius_grows_within_an_epoch_as_it_varies(tick, expected):
    assert RADIUS.at(moments_at(tick)) == pytest.approx(expected)


def test_an_epoch_s_variation_is_what_moves_within_it():
    """Of eight episodes the moves are 1, …, 7; the third and the sixth lead to a new epoch."""
    radius = local_variation_radius(0.5, period=3, horizon=2, num_episodes=8, variations=VARIATIONS)
    assert radius == LocalVariationRadius(0.5, 2, (3.0, 9.0, 7.0), (30.0, 90.0, 70.0))
    shorter = local_variation_radius(0.5, period=3, horizon=2, num_episodes=5, variations=VARIATIONS)
    assert shorter.reward_variation == (3.0, 4.0)
    alone = local_variation_radius(0.5, period=1, horizon=2, num_episodes=4, variations=VARIATIONS)
    assert alone.reward_variation == alone.transition_variation == (0.0,) * 4


@pytest.mark.parametrize(
    ("variation", "period"),
    [
        (8.0, 9),  # (100/8)^⅔ 4^⅓ = 5.386… · 1.587… = 8.549…
        (100.0, 2),  # 4^⅓ = 1.587…
        (0.2, 100),  # 0.2²·100 = 4 = d: the period is K exactly
        (0.1, 100),
        (0.0, 100),
    ],
)
def test_period_if_the_local_variation_is_known(variation, period):
    sizes: dict[str, Any] = dict(dim=4, horizon=4, num_episodes=100)
    assert tuning.restart_period_if_known(**sizes, variation=variation) == period


def test_tuned_takes_period_and_radius_from_the_variation():
    environment = make(drift=DRIFTS["gradual"])
    variations = environment.variation(NUM_EPISODES)
    run: dict[str, Any] = dict(num_episodes=NUM_EPISODES, variation=variations.total)
    sizes: dict[str, Any] = dict(dim=SPEC.dim, horizon=SPEC.horizon)
    period = tuning.restart_period_if_known(**sizes, **run)
    plain = tuning.lsvi_ucb_radius(**sizes, num_episodes=NUM_EPISODES, delta=0.1, beta_scale=0.2)
    radius = local_variation_radius(
        plain, period=period, horizon=SPEC.horizon, num_episodes=NUM_EPISODES, variations=variations
    )
    assert max(radius.reward_variation) > 0
    assert 1 < period < NUM_EPISODES
    known = lsvi_ucb_restart.tuned(
        SPEC, **run, variations=variations, local_variation="known", delta=0.1, beta_scale=0.2
    )
    assert known == LeastSquares(SPEC, PeriodicRestart(period), Ucb(radius))
    unknown = lsvi_ucb_restart.tuned(SPEC, **run, variations=variations, delta=0.1, beta_scale=0.2)
    assert unknown == LeastSquares(SPEC, PeriodicRestart(tuning.restart_period(**sizes, **run)), Ucb(plain))


def test_the_bonus_has_the_grown_radius_in_both_engines():
    environment = make()
    agent = lsvi_ucb_restart(SPEC, period=4, radius=RADIUS)
    values, gram = [], np.zeros(0)
    for t, one in enumerate(dw.play(agent, environment, NUM_EPISODES, seed=5)):
        values.append(one.record.value)
        if t in (4, 6):  # the first and the third of an epoch
            epoch, seen = t // 4, t % 4
            reward, transition = (each[epoch] for each in DRIFTING)
            radius = 0.5 + np.sqrt(SPEC.dim * seen) * (reward + 3 * transition)
            phi = environment.features
            norms = np.sqrt(np.sum(matvec(np.linalg.inv(gram)[:, None, None], phi) * phi, axis=-1))
            np.testing.assert_allclose(one.plan.bonus, radius * norms, rtol=1e-9)
        gram = one.carry.state.gram
    compiled = dw.simulate(agent, environment, num_episodes=NUM_EPISODES, seed=5)
    np.testing.assert_allclose(compiled.values[0], values, rtol=0, atol=1e-9)


def test_a_world_that_stands_still_and_one_long_epoch_are_lsvi_ucb():
    environment = make(drift=STATIONARY)
    variations = environment.variation(NUM_EPISODES)
    run: dict[str, Any] = dict(num_episodes=NUM_EPISODES, beta_scale=0.01)
    known = lsvi_ucb_restart.tuned(
        SPEC, **run, variation=variations.total, variations=variations, local_variation="known"
    )
    assert known.forgetting == PeriodicRestart(NUM_EPISODES)
    plain = plain_values(lsvi_ucb.tuned(SPEC, **run), environment)
    np.testing.assert_allclose(plain_values(known, environment), plain, rtol=0, atol=1e-12)


def test_the_radius_round_trips_to_a_configuration():
    assert from_config(to_config(RADIUS)) == RADIUS
    assert LocalVariationRadius(0.5, 3, [1, 0, 2], np.array([0.0, 5.0, 1.0])) == RADIUS


def test_bad_arguments_are_refused_by_name():
    with refused("reward_variation must be a list of numbers"):
        LocalVariationRadius(0.5, 3, 1.0, (1.0,))
    with refused("transition_variation must be a number of at least 0, got -1.0"):
        LocalVariationRadius(0.5, 3, (1.0,), (-1.0,))
    with refused("transition_variation must have as many entries as reward_variation (2), got 1"):
        LocalVariationRadius(0.5, 3, (1.0, 2.0), (1.0,))
    run: dict[str, Any] = dict(num_episodes=9, variation=1.0, local_variation="known")
    with refused("variations must be a Variation, got None"):
        lsvi_ucb_restart.tuned(SPEC, **run)
    with refused("variations must cover num_episodes = 9 episodes, got 8"):
        lsvi_ucb_restart.tuned(SPEC, **run, variations=VARIATIONS)


TRUSTED = 1e6  # no norm is that large


def small(seed: int = 0) -> LinearMdp:
    sizes: dict[str, Any] = dict(num_states=5, num_actions=3, dim=4, horizon=3)
    return random_linear_mdp(**sizes, drift=dw.drift.Abrupt((10,)), rewards="bernoulli", seed=seed)


def played(agent: Agent, environment: LinearMdp, num_episodes: int = NUM_EPISODES) -> list[PlayedEpisode]:
    return list(dw.play(agent, environment, num_episodes))


@pytest.mark.parametrize("name", FORGETTINGS)
@pytest.mark.parametrize(("seed", "lower", "upper"), [(0, 0.3, 0.7), (1, 0.2, 0.45)])
def test_opt_rlsvi_equals_the_textbook_with_the_same_draws(name, seed, lower, upper):
    environment, (chosen, weight) = small(seed), FORGETTINGS[name]
    options: dict[str, Any] = dict(scale=0.5, lower=lower, upper=upper, ridge=0.7)
    agent = opt_rlsvi(environment.spec, **options, **chosen)
    played = list(dw.play(agent, environment, 26, seed=seed))
    for t in range(0, 26, 5):
        for_plan, history = (
            episode_keys(random.fold(random.key(seed), 0), t)[1],
            [o.episode for o in played[:t]],
        )
        draws = random.draw_normal(for_plan, 3 * 4, np.float64).reshape(3, 4)
        expected = textbook.opt_rlsvi(history, environment.features, draws, **options, weight=weight)
        assert_fields_close(played[t].plan, expected)  # two ways to sum, two to invert


def test_the_textbook_comparison_meets_trust_doubt_and_what_is_between():
    environment = small()
    agent = opt_rlsvi(environment.spec, scale=0.5, lower=0.3, upper=0.7, ridge=0.7)
    norms = []
    table = environment.to_arrays().table
    for one in played(agent, environment, 26):
        inverse = np.linalg.inv(one.carry.state.gram)
        norms.append(np.sqrt(np.einsum("nd,hde,ne->hn", table.values, inverse, table.values)))
    for share in (np.less(norms, 0.3), np.greater(norms, 0.7)):
        assert 0.05 < share.mean() < 0.9


@pytest.mark.parametrize("rate", [1.0, 0.8])
def test_opt_rlsvi_without_noise_and_doubt_is_greedy_lsvi(rate):
    """Features are one-hot: estimates are averages of values, below H, and greedy LSVI's clip never binds."""
    environment = make("combination_lock")
    silent = opt_rlsvi(SPEC, scale=0.0, upper=TRUSTED, lower=TRUSTED, rate=rate)
    assert_play_alike(silent, epsilon_greedy_lsvi(SPEC, epsilon=0.0, rate=rate), environment)


def test_opt_rlsvi_is_the_parts_it_is_described_as():
    made = opt_rlsvi(SPEC, scale=2, upper=0.5, rate=0.9, ridge=3)
    exploration = parts.TruncatedThompson(2, lower=0.25, upper=0.5)
    assert made == parts.LeastSquares(SPEC, parts.ExponentialWeights(0.9), exploration, 3, clip="none")
    grid = opt_rlsvi(SPEC, scale=2, upper=[0.5, 0.8]).exploration
    assert grid == parts.TruncatedThompson(2, lower=(0.25, 0.4), upper=(0.5, 0.8))


def test_one_forgetting_is_chosen_by_its_parameter():
    assert choose_forgetting() == parts.NoForgetting()
    assert choose_forgetting(rate=0.9) == parts.ExponentialWeights(0.9)
    assert choose_forgetting(length=3) == parts.SlidingWindow(3)
    assert choose_forgetting(period=3) == parts.PeriodicRestart(3)
    assert choose_forgetting(directional=0.9) == parts.DirectionalForgetting(0.9)
    message = r"^only one of rate, length, period and directional may be .*, got rate = 0.9 and period = 3$"
    with pytest.raises(ValueError, match=message):
        opt_rlsvi(SPEC, scale=1, upper=1, rate=0.9, period=3)


def test_tuned_opt_rlsvi_uses_its_formulas():
    run: dict[str, Any] = dict(num_episodes=100, variation=4.0)
    sizes: dict[str, Any] = dict(dim=SPEC.dim, horizon=SPEC.horizon, num_episodes=100)
    rate, period = opt_wlsvi_rate(**sizes, variation=4.0), restart_period(**sizes, variation=4.0)
    scale = np.sqrt(3) * opt_wlsvi_radius(**sizes, delta=0.1, rate=rate, beta_scale=0.2)
    made = opt_rlsvi.tuned(SPEC, **run, delta=0.1, beta_scale=0.2, upper_scale=3.0)
    upper = 3 / (scale * np.sqrt(12))
    exploration: Any = made.exploration
    np.testing.assert_allclose(
        [exploration.scale, exploration.lower, exploration.upper], [scale, upper / 2, upper], rtol=1e-12
    )
    assert made.forgetting == parts.ExponentialWeights(rate)
    assert opt_rlsvi.tuned(SPEC, **run, beta_scale=0.0).exploration == parts.TruncatedThompson(0.0, 0.5, 1.0)
    kinds: dict[Any, Forgetting] = {
        "none": parts.NoForgetting(),
        "window": parts.SlidingWindow(period),
        "restart": parts.PeriodicRestart(period),
    }
    for kind, forgetting in kinds.items():
        assert opt_rlsvi.tuned(SPEC, **run, forgetting=kind).forgetting == forgetting


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"^upper must be at least lower = 2.0, got 0.8$"):
        opt_rlsvi(SPEC, scale=0.3, upper=0.8, lower=2.0)


def factored(seed: int, *, identity: bool = False, alike: bool = True) -> LinearMdp:
    """A random path of models with `μ = Mψᵀ` for three features of six successors that overlap.

    Steps are `alike` in their transitions, not in their rewards.
    """
    rng = np.random.default_rng(seed)
    psi = np.eye(6) if identity else rng.dirichlet(np.ones(6), size=3).T
    core = rng.dirichlet(np.ones(psi.shape[1]), size=(2, 3, 4))
    core = np.repeat(core[:, :1], 3, axis=1) if alike else core
    return LinearMdp(
        features=rng.dirichlet(np.ones(4), size=(6, 2)),
        theta=rng.uniform(size=(2, 3, 4)),
        mu=core @ psi.T,
        initial=rng.dirichlet(np.ones(6)),
        drift=dw.drift.Abrupt((10,)),
        rewards="bernoulli",
        successor_features=psi,
    )


@pytest.mark.parametrize("steps", ["shared", "apart"])
@pytest.mark.parametrize("name", FORGETTINGS)
def test_matrix_rl_equals_the_textbook(name, steps):
    environment, (chosen, weight) = factored(seed=1, alike=steps == "shared"), FORGETTINGS[name]
    psi = environment.successor_features
    assert psi is not None
    agent = matrix_rl(environment.spec, radius=0.6, ridge=0.7, steps=steps, **chosen)
    numbers: dict[str, Any] = dict(radius=0.6, ridge=0.7, shared=steps == "shared", weight=weight)
    played, rewards = list(dw.play(agent, environment, 26, seed=1)), examples.reward_tables(environment, 26)
    for t in range(0, 26, 5):
        history = [one.episode for one in played[:t]]
        expected = textbook.matrix_rl(history, environment.features, psi, rewards[t], **numbers)
        examples.assert_fields_close(played[t].plan, expected)  # two ways to sum, two to invert


def test_with_all_successors_as_features_matrix_rl_is_lsvi_with_known_rewards():
    environment = factored(seed=2, identity=True)
    plain = LeastSquares(environment.spec, NoForgetting(), Ucb(0.6), clip="range", rewards="known")
    examples.assert_play_alike(matrix_rl(environment.spec, radius=0.6, steps="apart"), plain, environment)


def test_simulator_equals_the_plain_loop_where_successors_share_features():
    environment = factored(seed=4)
    agent = matrix_rl(environment.spec, radius=0.6, rate=0.9)
    result = dw.simulate(agent, environment, num_episodes=NUM_EPISODES, seed=5)
    np.testing.assert_allclose(result.values[0], plain_values(agent, environment, seed=5), rtol=0, atol=1e-9)


def test_matrix_rl_is_the_parts_it_is_described_as():
    made = matrix_rl(SPEC, radius=2, ridge=3, steps="apart", clip="tight", period=4)
    assert made == LeastSquares(
        SPEC, PeriodicRestart(4), Ucb(2, "single"), 3, "tight", rewards="known", successors="features"
    )
    assert matrix_rl(SPEC, radius=2).steps == "shared"
    assert matrix_rl(SPEC, radius=2).clip == "range"
    assert made.needs == (MeanRewards, SuccessorProjection)


def test_tuned_matrix_rl_uses_its_formulas():
    sizes: dict[str, Any] = dict(dim=SPEC.dim, horizon=SPEC.horizon, num_episodes=100)
    rate = opt_wlsvi_rate(**sizes, variation=4.0)
    radius = opt_wlsvi_radius(**sizes, delta=0.1, rate=rate, beta_scale=0.2) / np.sqrt(SPEC.dim)
    made = matrix_rl.tuned(SPEC, num_episodes=100, variation=4.0, delta=0.1, beta_scale=0.2, clip="tight")
    assert made.forgetting == ExponentialWeights(rate)
    assert made == matrix_rl(SPEC, radius=radius, rate=rate, clip="tight")


def test_environments_that_cannot_tell_matrix_rl_are_refused_in_one_sentence():
    with pytest.raises(
        ValueError, match=r"^environment must have successor_features, which the agent needs, got LinearMdp"
    ):
        dw.simulate(matrix_rl(SPEC, radius=1, steps="apart"), make(), num_episodes=2)
    uneven = factored(seed=1, alike=False)
    with pytest.raises(
        ValueError, match=r"^environment must have transitions that do not depend on the step"
    ):
        dw.simulate(matrix_rl(uneven.spec, radius=1), uneven, num_episodes=2)
    with pytest.raises(
        ValueError, match=r"^environment must have rewards and projection and shared_steps, which the agent"
    ):
        dw.simulate(matrix_rl(BANDIT, radius=1), make_bandit(), num_episodes=2)
    with pytest.raises(ValueError, match=r"^steps must be one of apart, shared, got 'pooled'"):
        matrix_rl(SPEC, radius=1, steps="pooled")  # pyright: ignore[reportArgumentType]


def test_matrix_rl_learns_latent_chains_in_a_fraction_of_what_lsvi_ucb_loses():
    """It pools steps, knows rewards, and knows that successors differ by their chain alone."""
    environment = latent_chains(num_chains=3, states_per_chain=3, num_actions=3, horizon=4)
    lost = {}
    for algorithm in (matrix_rl, lsvi_ucb):
        agent = algorithm(environment.spec, radius=0.5)
        records = [one.record for one in dw.play(agent, environment, 100)]
        lost[algorithm] = sum(each.optimal - each.value for each in records)
    assert lost[matrix_rl] < lost[lsvi_ucb] / 3
