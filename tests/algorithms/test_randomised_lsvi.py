"""OPT-RLSVI equals its paper, and falls back on what it is made of where noise or doubt are taken away."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise import parts
from driftwise.algorithms import epsilon_greedy_lsvi, opt_rlsvi
from driftwise.algorithms.any_forgetting import choose_forgetting
from driftwise.base import Agent, Forgetting, random
from driftwise.base.random import episode_keys
from driftwise.environments import LinearMdp, PlayedEpisode, random_linear_mdp
from driftwise.theory.tuning import opt_wlsvi_radius, opt_wlsvi_rate, restart_period
from tests.examples import FORGETTINGS, NUM_EPISODES, SPEC, assert_fields_close, assert_play_alike, make
from tests.reference import opt_rlsvi as textbook

TRUSTED = 1e6  # no norm is that large


def small(seed: int = 0) -> LinearMdp:
    sizes: dict[str, Any] = dict(num_states=5, num_actions=3, dim=4, horizon=3)
    return random_linear_mdp(**sizes, drift=dw.drift.Abrupt((10,)), rewards="bernoulli", seed=seed)


def played(agent: Agent, environment: LinearMdp, num_episodes: int = NUM_EPISODES) -> list[PlayedEpisode]:
    return list(dw.play(agent, environment, num_episodes))


@pytest.mark.parametrize("name", FORGETTINGS)
@pytest.mark.parametrize(("seed", "lower", "upper"), [(0, 0.3, 0.7), (1, 0.2, 0.45)])
def test_it_equals_the_textbook_with_the_same_draws(name, seed, lower, upper):
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
        expected = textbook.plan(history, environment.features, draws, **options, weight=weight)
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
def test_without_noise_and_doubt_it_is_greedy_lsvi(rate):
    """Features are one-hot: estimates are averages of values, below H, and greedy LSVI's clip never binds."""
    environment = make("combination_lock")
    silent = opt_rlsvi(SPEC, scale=0.0, upper=TRUSTED, lower=TRUSTED, rate=rate)
    assert_play_alike(silent, epsilon_greedy_lsvi(SPEC, epsilon=0.0, rate=rate), environment)


def test_pairs_that_were_never_visited_are_worth_all_that_can_be_had():
    environment = make("combination_lock")  # one-hot features: the norm of n visits is 1/√(n + 1)
    agent = opt_rlsvi(SPEC, scale=0.3, upper=0.99, lower=0.8)
    visits = np.zeros((SPEC.horizon, SPEC.num_states, SPEC.num_actions))
    steps = np.arange(SPEC.horizon)
    for one in played(agent, environment):
        most = np.broadcast_to((SPEC.horizon - steps)[:, None, None], visits.shape)
        np.testing.assert_allclose(one.plan.q[visits == 0], most[visits == 0], rtol=0, atol=1e-12)
        assert np.abs(one.plan.q[visits > 0] - most[visits > 0]).min(initial=1.0) > 1e-6
        visits[steps, one.episode.states, one.episode.actions] += 1
    assert 10 <= (visits > 0).sum() < visits.size  # both kinds were there to the end


def test_between_the_thresholds_it_goes_linearly_from_the_draw_to_the_most():
    """One visit that paid 1: the norm is 1/√2, the estimate 1/2."""
    environment = make("combination_lock", rewards="mean")
    agent = opt_rlsvi(SPEC, scale=0.0, lower=0.5, upper=0.9)
    table = environment.to_arrays().table
    first = played(agent, environment, 1)[0]
    paid = first.episode._replace(rewards=np.ones(SPEC.horizon))
    learnt = agent.update(agent.init(table), table, first.plan, paid)
    plan = agent.plan(learnt, table, random.key(0))
    at = -1, paid.states[-1], paid.actions[-1]
    share = (np.sqrt(0.5) - 0.5) / 0.4
    np.testing.assert_allclose(plan.q[at], share * 1 + (1 - share) * 0.5, rtol=1e-12)


def test_recipe_is_the_parts_it_is_described_as():
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


def test_tuned_form_uses_its_formulas():
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
    run: dict[str, Any] = dict(num_episodes=100, variation=1.0)
    with pytest.raises(ValueError, match=r"^forgetting must be one of none, exponential, window, restart"):
        opt_rlsvi.tuned(SPEC, **run, forgetting="rate")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"^upper_scale must be a number above 0, got 0"):
        opt_rlsvi.tuned(SPEC, **run, upper_scale=0)
    with pytest.raises(ValueError, match=r"^variation must be a number of at least 0, got -1"):
        opt_rlsvi.tuned(SPEC, num_episodes=100, variation=-1.0, forgetting="none")
