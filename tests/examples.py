"""Small problems of one shape and one agent for every algorithm.

All tests that simulate use these sizes: a compiled program depends on shapes and structure only, so the
whole suite shares a handful of them.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import build
from driftwise.base import Agent, Spec
from driftwise.base.part import part
from driftwise.environments import (
    ENVIRONMENTS,
    ContinuingMdp,
    Environment,
    LinearBandit,
    LinearMdp,
    PlayedEpisode,
)
from driftwise.parts import Cusum, ExponentialWeights, Glr, Thompson, Ucb

T = TypeVar("T")

SPEC = Spec(num_states=6, num_actions=2, dim=12, horizon=3)
BANDIT = Spec.bandit(dim=3, num_arms=4)
CONTINUING = Spec(num_states=6, num_actions=2, dim=12, horizon=1)
NUM_RUNS = 3
NUM_EPISODES = 40

STATIONARY = dw.drift.Abrupt((10**9,))  # one anchor for ever, in arrays of the same shape as the drifts below
DRIFTS: dict[str, dw.drift.Drift] = {
    "abrupt": dw.drift.Abrupt((7, 20), num_anchors=2),
    "gradual": dw.drift.Gradual((5, 25)),
    "periodic": dw.drift.Periodic(12.5),
    "random_walk": dw.drift.RandomWalk(0.2, seed=1),
}

SIZES: dict[str, dict[str, Any]] = {
    "random_linear_mdp": dict(num_states=6, num_actions=2, dim=12, horizon=3, concentration=0.5),
    "latent_chains": dict(num_chains=6, states_per_chain=1, num_actions=2, horizon=3),
    "combination_lock": dict(horizon=3),
    "oil_discovery": dict(num_states=6, num_actions=2, horizon=3, noise=0.2),
}

BASE: dict[str, Any] = dict(algorithm="lsvi_ucb", radius=0.4)  # of the agents that wrap one
BANDIT_BASE: dict[str, Any] = dict(algorithm="lin_ucb", noise_scale=0.3)
SENSITIVE = Glr(noise_scale=0.2, delta=0.9, window=16)  # alarms within a run of this length
# alarms, too, and plays by force
ALERT: dict[str, Any] = dict(
    num_episodes=NUM_EPISODES, noise_scale=0.05, norm_bound=0.1, delta=1.0, forcing=0.2
)
PARAMETERS: dict[str, dict[str, Any]] = {
    "ada_lsvi_ucb_restart": dict(num_episodes=NUM_EPISODES, beta_scale=0.03, block_length=12),
    "adaptive": dict(base=dict(algorithm="opt_rlsvi", scale=0.3, upper=0.8, rate=(0.75, 0.9375, 1.0))),
    "adaptive_opt_wlsvi": dict(radius=0.4),
    "adaptive_q_learning": dict(radius=0.5, period=15),
    "borl": dict(
        base=dict(algorithm="opt_wlsvi", rate=(0.7, 0.9, 1.0), radius=0.4),
        num_episodes=NUM_EPISODES,
        block_length=7,
    ),
    "change_detection": dict(base=BASE, detector=SENSITIVE),
    "detect_and_restart": dict(base=BASE, **ALERT),
    "epsilon_greedy_lsvi": dict(epsilon=0.3, rate=0.9, ridge=0.5),
    "kernel_ucbvi": dict(bandwidth=0.2, radius=0.3, lipschitz=2.0, bias_scale=0.1, rate=0.9),
    "least_squares": dict(forgetting=ExponentialWeights(0.9), exploration=Ucb(0.4)),
    "lsvi_ucb": dict(radius=0.4),
    "lsvi_ucb_restart": dict(period=6, radius=0.4),
    "lsvi_ucb_plus_plus": dict(
        radius=0.3, lower_radius=0.2, squares_radius=0.2, ridge=0.1, gap_scale=1e-4, width_scale=1e-4
    ),
    "master": dict(base=BASE, num_episodes=NUM_EPISODES, regret_scale=10.0, test_scale=0.00003),
    "master_lsvi_ucb": dict(num_episodes=NUM_EPISODES, beta_scale=0.03, test_scale=0.00003),
    "matrix_rl": dict(radius=0.4, rate=0.9),
    "online_q_reps": dict(learning_rate=0.1, softness=0.3, exploration=0.2, period=25),
    "oppo": dict(step_size=0.3, radius=0.4, rate=0.9, policy_period=15),
    "opt_rlsvi": dict(scale=0.3, upper=0.8, rate=0.9),
    "opt_wlsvi": dict(rate=0.9, radius=0.4),
    "opt_wlsvi_borl": dict(num_episodes=NUM_EPISODES, beta_scale=0.03, block_length="paper"),
    "q_ucb": dict(scale=0.05),
    # online there is one state more: with so small a logarithm its term in √(SA) does not matter
    "q_ucb_bernstein": dict(scale=3e8, variance_scale=3e8, log_term=1e-20),
    "random_restart": dict(base=BASE, probability=0.1),
    "restart_q_ucb": dict(period=15, scale=0.05),
    "restart_q_ucb_freedman": dict(period=15, scale=30.0, log_term=1e-6, reference_after=4),
    "sw_lsvi_ucb": dict(length=5, radius=0.4),
    "ucbvi": dict(scale=0.01, bonus="bernstein", rate=0.9),
    "ucrl_vtr": dict(radius=0.2, rate=0.9),
    "ucrl_vtr_plus": dict(radius=0.2, variance_radius=0.05, squares_radius=0.05, period=15),
    "uniform": {},
}
BANDIT_PARAMETERS: dict[str, dict[str, Any]] = {
    "adaptive": dict(base=dict(algorithm="sw_lin_ucb", length=(5, 20), noise_scale=0.3)),
    "adaptive_glb_omd": dict(shortest=4, longest=16),
    "adaptive_lin_ts": dict(shortest=4, longest=16),
    "adaptive_lin_ucb": dict(shortest=4, longest=16),
    "bob": dict(num_episodes=NUM_EPISODES, noise_scale=0.3, block_length=9),
    "borl": dict(
        base=dict(algorithm="d_lin_ucb", rate=(0.7, 0.9, 1.0), noise_scale=0.3),
        num_episodes=NUM_EPISODES,
        block_length="paper",
    ),
    "change_detection": dict(
        base=BANDIT_BASE, detector=Cusum(warmup=4, slack=0.05, threshold=0.5), watch="rewards"
    ),
    "clock_lin_ucb": dict(half_life=7.0, noise_scale=0.3, reference="last"),
    "covering_restart": dict(
        base=BANDIT_BASE, num_episodes=NUM_EPISODES, noise_scale=0.1, delta=1.0, forcing=0.6, window=8
    ),
    "cw_oful": dict(corruption=2.0, noise_scale=0.3),
    "d_glb_omd": dict(rate=0.9, norm_bound=2.0, ridge=0.5, radius_scale=0.1),
    "d_lin_ts": dict(rate=0.9, scale=0.4, ridge=0.5),
    "d_lin_ucb": dict(rate=0.9, noise_scale=0.3),
    "d_rand_lin_ucb": dict(rate=0.9, noise_scale=0.3),
    "detect_and_restart": dict(base=BANDIT_BASE, keep="window", **ALERT),
    "dynamic_lin_ucb": dict(noise_scale=0.3, window=10, capacity=2),
    "epsilon_greedy": dict(epsilon=0.3, rate=0.9),
    "glb_weight_ucb": dict(rate=0.9, ridge=0.5, radius_scale=0.02, num_episodes=NUM_EPISODES),
    "greedy": dict(ridge=0.5),
    "least_squares": dict(forgetting=ExponentialWeights(0.9), exploration=Thompson(0.4), clip="none"),
    "lin_ts": dict(scale=0.4),
    "lin_ucb": dict(noise_scale=0.3, information="determinant"),
    "master": dict(base=BANDIT_BASE, num_episodes=NUM_EPISODES, regret_scale=10.0, test_scale=0.0001),
    "master_lin_ucb": dict(num_episodes=NUM_EPISODES, radius_scale=0.03, test_scale=0.0005),
    "oracle_restart": dict(changes=(7, 20), noise_scale=0.3),
    "random_restart": dict(base=BANDIT_BASE, probability=0.1),
    "restart_adv": dict(period=15, step_scale=2.0),
    "restart_lin_ucb": dict(period=6, noise_scale=0.3),
    "robust_weight_ucb": dict(rate=0.9, corruption=2.0, noise_scale=0.3, num_episodes=NUM_EPISODES),
    "square_cb": dict(gamma=20.0, rate=0.9),
    "sift_lin_ucb": dict(rate=0.9, noise_scale=0.3),
    "sc_d_glucb": dict(rate=0.9, ridge=0.5, radius_scale=0.002, num_episodes=NUM_EPISODES),
    "sw_lin_ucb": dict(length=5, noise_scale=0.3),
    "uniform": {},
    "weight_ucb": dict(rate=0.9, noise_scale=0.3, num_episodes=NUM_EPISODES),
}

CONTINUING_PARAMETERS: dict[str, dict[str, Any]] = {
    "sw_ucrl": dict(length=12, scale=0.05),
    "swucrl2_cw": dict(length=12, widening=0.2, num_episodes=NUM_EPISODES, scale=0.05),
    "ucrl2": dict(scale=0.05),
    "uniform": {},
    "variation_ucrl": dict(restarts=(9, 25), transition_widening=0.1, scale=0.05),
}

WRAPPING: dict[str, dict[str, Any]] = {  # what algorithms that wrap any agent take besides it
    "borl": dict(num_episodes=NUM_EPISODES, block_length=7),
    "change_detection": dict(detector=SENSITIVE),
    "detect_and_restart": ALERT,
    "master": dict(num_episodes=NUM_EPISODES, regret_scale=10.0, test_scale=0.00003),
    "random_restart": dict(probability=0.1),
}
# of agents that are not optimistic, which `master` does not take
PLAIN = {"uniform", "greedy", "epsilon_greedy", "epsilon_greedy_lsvi", "online_q_reps", "restart_adv"}
PLAIN.add("square_cb")


# keywords of a forgetting, and the weight of episode τ in episode t
FORGETTINGS: dict[str, tuple[dict[str, Any], Callable[[int, int], float]]] = {
    "none": ({}, lambda t, tau: 1.0),
    "rate": (dict(rate=0.8), lambda t, tau: 0.8 ** (t - 1 - tau)),
    "length": (dict(length=4), lambda t, tau: float(tau >= t - 4)),
    "period": (dict(period=5), lambda t, tau: float(tau // 5 == t // 5)),
}


_numbers = itertools.count()


def broken_part(base: type, **methods: Any) -> Any:
    """A part in which some methods are others, under a name of its own."""
    return part(type(f"{base.__name__}{next(_numbers)}", (base,), methods))


def reward_tables(environment: LinearMdp, num_episodes: int = 1) -> list[np.ndarray]:
    """Mean rewards `[H, S, A]` of each episode."""
    models = [environment.model(t) for t in range(num_episodes)]
    return [np.einsum("sad,hd->hsa", environment.features, model.theta) for model in models]


def kernel_tables(environment: LinearMdp) -> np.ndarray:
    """Transitions of all anchors."""
    return np.einsum("sad,jhdx->jhsax", environment.features, environment.mu)


def assert_fields_close(actual: Any, expected: Any, names: Iterable[str] = (), atol: float = 1e-8) -> None:
    """Fields of two named tuples are alike, all of the second that are not None unless some are named."""
    for name in names or [name for name, value in expected._asdict().items() if value is not None]:
        np.testing.assert_allclose(
            getattr(actual, name), getattr(expected, name), rtol=0, atol=atol, err_msg=name
        )


def assert_plans_close(played: Iterable[PlayedEpisode], expected: Iterable[Any], atol: float = 1e-8) -> None:
    """What was planned for each episode is what a plain loop plans for it."""
    for one, plain in zip(played, expected, strict=True):
        assert_fields_close(one.plan, plain, atol=atol)


def assert_play_alike(left: Agent, right: Agent, environment: Environment) -> None:
    """Whether two agents plan and act alike in a run, to rounding."""
    pair = (dw.play(agent, environment, NUM_EPISODES) for agent in (left, right))
    for one, other in zip(*pair, strict=True):
        np.testing.assert_allclose(one.plan.q, other.plan.q, rtol=0, atol=1e-8)
        np.testing.assert_array_equal(one.episode.actions, other.episode.actions)


def make(
    name: str = "random_linear_mdp", drift: dw.drift.Drift = DRIFTS["abrupt"], **options: Any
) -> LinearMdp:
    """An environment of the common shape."""
    environment = ENVIRONMENTS[name](**SIZES[name], drift=drift, **options)
    assert isinstance(environment, LinearMdp)
    return environment


def fitting(agent: Agent) -> list[str]:
    """Names of the environments that can tell an agent all it needs."""

    def fits(name: str) -> bool:
        try:
            make(name).to_arrays(needs=agent.needs)
        except ValueError:
            return False
        return True

    return [name for name in SIZES if fits(name)]


def make_bandit(drift: dw.drift.Drift = DRIFTS["abrupt"], **options: Any) -> LinearBandit:
    """A bandit of the common shape: of four arms in three contexts, some are missing in two of them."""
    features = np.abs(np.random.default_rng(0).normal(size=(3, 4, 3)))
    features /= np.linalg.norm(features, axis=-1, keepdims=True)
    features[1, 3] = features[2, 1:] = 0
    path = dw.paths.Mixture(((0.7, 0.1, 0.1), (0.1, 0.2, 0.6)), drift)
    return LinearBandit(dw.arms.ContextArms(features.tolist(), (0.5, 0.3, 0.2)), path, **options)


def agent(name: str) -> Agent:
    """The example agent of an algorithm."""
    if name in PARAMETERS:
        return build(SPEC, name, **PARAMETERS[name])
    if name in CONTINUING_PARAMETERS:
        return continuing_agent(name)
    return bandit_agent(name)


def nestings(bases: Iterable[str]) -> list[tuple[str, str]]:
    """All algorithms that wrap any agent, each with the names of those that it may wrap."""
    return [(meta, base) for meta in WRAPPING for base in bases if meta != "master" or base not in PLAIN]


def wrapped(meta: str, base: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of an algorithm around the example agent of another, or two of them to choose from."""
    own = dict(algorithm=base, **parameters)
    return dict(**WRAPPING[meta], base=[own, own] if meta == "borl" else own)


def bandit_agent(name: str) -> Agent:
    """The example agent of an algorithm, in the bandit."""
    return build(BANDIT, name, **BANDIT_PARAMETERS[name])


def make_continuing(drift: dw.drift.Drift = DRIFTS["abrupt"], **options: Any) -> ContinuingMdp:
    """A problem without episodes of the common shape."""
    environment = ENVIRONMENTS["random_communicating_mdp"](drift=drift, **options)
    assert isinstance(environment, ContinuingMdp)
    return environment


def continuing_agent(name: str) -> Agent:
    """The example agent of an algorithm, in a problem without episodes."""
    return build(CONTINUING, name, **CONTINUING_PARAMETERS[name])


def refused(message: str) -> Any:
    """A context in which a call has to fail with a sentence that begins so."""
    return pytest.raises(ValueError, match=f"^{re.escape(message)}")


def plain_values(agent: Agent, environment: Environment, **address: Any) -> np.ndarray:
    """Exact values of the policies of one run on NumPy: those of the simulator, with nothing to compile."""
    return np.array([float(one.record.value) for one in dw.play(agent, environment, NUM_EPISODES, **address)])


def only(mapping: Mapping[Any, T]) -> T:
    """The one value there is."""
    (value,) = mapping.values()
    return value
