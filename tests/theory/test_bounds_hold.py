"""Bounds against measured regret, with the radii of the theory: where they say something, and above that."""

from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import ALGORITHMS
from driftwise.environments import LinearBandit, LinearMdp, random_linear_mdp
from driftwise.theory.bounds import BOUNDS, BoundValue, Setting


def lost_and_allowed(
    name: str, environment: Any, num_episodes: int, **known: Any
) -> tuple[float, BoundValue]:
    """The regret of the worst of a few runs, and the bound."""
    spec, moves = environment.spec, environment.variation(num_episodes)
    bound = BOUNDS[name]
    told = dict(variations=moves) if bound.options.get("local_variation") == "known" else {}
    run = dict(num_episodes=num_episodes, variation=moves.total)
    agent = ALGORITHMS[bound.algorithm].tuned(spec, **run, **known, **told, **bound.options)
    setting = Setting(spec.dim, num_episodes, moves.total, horizon=spec.horizon, **known)
    allowed = bound.evaluate(setting)
    result = dw.simulate(agent, environment, num_episodes=num_episodes, num_runs=3, record_every=num_episodes)
    return float(result.cumulative_regret[:, -1].max()), allowed


HELD = [name for name, bound in BOUNDS.items() if not bound.rate_only and bound.status != "withdrawn"]
BANDITS = [name for name in HELD if BOUNDS[name].problem == "linear bandit"]
ONE_HOT = "theorem_1_orthogonal"
SLOWLY, NOT_AT_ALL = dw.drift.Gradual((50_000, 150_000)), dw.drift.Constant()
MDPS = [(name, SLOWLY) for name in HELD if name not in (*BANDITS, ONE_HOT, "lsvi_ucb")]
MDPS += [(name, NOT_AT_ALL) for name in ("lsvi_ucb", "theorem_1", "lsvi_ucb_restart", "sw_lsvi_ucb")]


@pytest.mark.slow
@pytest.mark.parametrize("name", BANDITS)
def test_bandits_lose_less_than_their_bounds(name: str) -> None:
    """Little noise and little drift: the bounds are at about half of what can be lost."""
    arms, anchors = [(1.0, 0.0), (0.0, 1.0), (0.6, 0.8)], ((0.9, 0.1), (0.898, 0.102))
    if BOUNDS[name].assumes:
        arms, anchors = arms[:2], ((0.7, 0.3), (0.3, 0.7))  # orthogonal
    path = dw.paths.Mixture(anchors, dw.drift.Gradual((1000, 4000)))
    environment = LinearBandit(dw.arms.FixedArms(tuple(arms)), path, noise_scale=0.1)
    lost, allowed = lost_and_allowed(name, environment, 5000, noise_scale=0.1)
    assert allowed.is_informative
    assert 0 < lost <= allowed.total


def small_mdp(drift: dw.drift.Drift) -> LinearMdp:
    """Two features, two steps and three states; rewards move by 3·10⁻⁵."""
    features = [[[1.0, 0.0], [0.0, 1.0]], [[0.8, 0.2], [0.3, 0.7]], [[0.1, 0.9], [0.6, 0.4]]]
    theta = np.array([[0.9, 0.1], [0.2, 0.8]])
    moved = theta + 3e-5 * np.array([[-1.0, 1.0], [1.0, -1.0]])
    mu = np.tile([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], (2, 2, 1, 1))
    anchors = drift.num_anchors
    return LinearMdp(
        features=np.array(features),
        theta=np.stack([theta, moved])[:anchors],
        mu=mu[:anchors],
        initial=np.full(3, 1 / 3),
        drift=drift,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "drift"), MDPS)
def test_linear_mdps_lose_less_than_their_bounds(name: str, drift: dw.drift.Drift) -> None:
    """Even here, with c = 1, it takes hundreds of thousands of episodes for the bounds to say something."""
    lost, allowed = lost_and_allowed(name, small_mdp(drift), 200_000)
    assert allowed.is_informative
    assert 0 < lost <= allowed.total


@pytest.mark.slow
def test_a_tabular_mdp_loses_less_than_the_bound_for_one_hot_features() -> None:
    table = random_linear_mdp(num_states=2, num_actions=2, dim=4, horizon=2, drift=dw.drift.Constant())
    features = table.features.reshape(4, 4)
    theta, mu = table.theta[0] @ features.T, features @ table.mu[0]
    one_hot = LinearMdp(
        features=np.eye(4).reshape(2, 2, 4),
        theta=np.stack([theta, (1 - 1e-4) * theta]),
        mu=np.stack([mu, mu]),
        initial=np.full(2, 1 / 2),
        drift=dw.drift.Gradual((250_000, 750_000)),
    )
    lost, allowed = lost_and_allowed(ONE_HOT, one_hot, 10**6)
    assert allowed.is_informative
    assert 0 < lost <= allowed.total
