"""The public contract checks: all that is registered keeps them, and what breaks them is told."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import ALGORITHMS
from driftwise.arms import FreshArms
from driftwise.checks import ContractError, check_agent, check_environment
from driftwise.drift import Abrupt, Constant
from driftwise.environments import ENVIRONMENTS, Environment, LinearMdp, linear_bandit
from driftwise.least_squares import LeastSquares
from driftwise.parts import part
from driftwise.paths import Rotation
from driftwise.types import Agent, Plan
from tests.examples import (
    BANDIT,
    BANDIT_PARAMETERS,
    DRIFTS,
    PARAMETERS,
    SPEC,
    agent,
    bandit_agent,
    fitting,
    make,
    make_bandit,
)

OPTIMISTIC = ("lsvi_ucb", "lsvi_ucb_restart", "matrix_rl", "opt_wlsvi", "sw_lsvi_ucb")
OPTIMISTIC_BANDITS = ("d_lin_ucb", "lin_ucb", "oracle_restart", "restart_lin_ucb", "sw_lin_ucb", "weight_ucb")
BARE: dict[str, Any] = {  # where a maker has no defaults
    "linear_bandit": dict(arms=FreshArms(5, 3, fewest=2), path=Rotation(0.0, 1.0, 10, dim=3))
}


def default(name: str) -> Environment:
    return ENVIRONMENTS[name](**BARE.get(name, {}))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_keeps_its_contract(name):
    check_environment(default(name))


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_environments_keep_it_under_every_drift(drift):
    check_environment(make(drift=drift))
    check_environment(make_bandit(drift))


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_agent_keeps_its_contract(name):
    check_agent(agent(name), make(fitting(agent(name))[0]))


@pytest.mark.parametrize("name", BANDIT_PARAMETERS)
def test_every_agent_of_bandits_keeps_its_contract(name):
    check_agent(bandit_agent(name), make_bandit(noise_scale=0.3))


@pytest.mark.parametrize("name", OPTIMISTIC)
def test_optimism_is_kept_with_the_radius_of_theory(name):
    tuned = ALGORITHMS[name].tuned(SPEC, num_episodes=30, variation=0.0)
    check_agent(tuned, make("latent_chains", Constant()), optimistic=True)


@pytest.mark.parametrize("name", OPTIMISTIC_BANDITS)
def test_optimism_is_kept_in_bandits(name):
    known = dict(changes=()) if name == "oracle_restart" else {}
    tuned = ALGORITHMS[name].tuned(BANDIT, num_episodes=30, variation=0.0, noise_scale=0.3, **known)
    check_agent(tuned, make_bandit(Abrupt((10**9,), num_anchors=2), noise_scale=0.3), optimistic=True)


def pairs() -> Iterator[tuple[str, str]]:
    """Every algorithm and every environment that it is for."""
    for name, algorithm in ALGORITHMS.items():
        for environment in ENVIRONMENTS:
            bandit = not isinstance(default(environment), LinearMdp)
            if algorithm.problem in ("any", "linear bandit" if bandit else "linear MDP"):
                yield name, environment


@pytest.mark.slow
@pytest.mark.parametrize(("name", "environment"), list(pairs()))
def test_every_agent_keeps_its_contract_everywhere(name, environment):
    here = default(environment)
    bandit = not isinstance(here, LinearMdp)
    given = (BANDIT_PARAMETERS if bandit else PARAMETERS)[name]
    made = ALGORITHMS[name](here.spec, **given)
    if "projection" in getattr(made, "needs", ()) and getattr(here, "successor_features", None) is None:
        with pytest.raises(ValueError, match="which the agent needs"):
            check_agent(made, here)
    else:
        check_agent(made, here, num_episodes=12)


@part
class Careless(LeastSquares):
    """Its probabilities do not sum to one."""

    def plan(self, state: Any, features: Any, key: Any) -> Plan:
        plan = LeastSquares.plan(self, state, features, key)
        return plan._replace(policy=plan.policy * 0.5)


@part
class Restless(LeastSquares):
    """Its values depend on where it runs."""

    def update(self, state: Any, plan: Plan, episode: Any) -> Any:
        sign = -1 if isinstance(episode.rewards, np.ndarray) else 1
        return LeastSquares.update(self, state, plan, episode._replace(rewards=sign * episode.rewards))


@part
class Forgetful(LeastSquares):
    """It does not come back from its configuration as it was."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = LeastSquares.__hash__


def like(cls: type, name: str) -> Agent:
    made: Any = agent(name)
    return cls(**{field.name: getattr(made, field.name) for field in dataclasses.fields(made)})


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (Careless, r"^policy must be probabilities"),
        (Restless, r"^the simulator must equal NumPy, got value"),
        (Forgetful, r"^agent must survive the way to_config and back"),
    ],
)
def test_an_agent_that_breaks_its_contract_is_told_so(cls, said):
    with pytest.raises(ContractError, match=said):
        check_agent(like(cls, "lsvi_ucb"), make(), num_episodes=10)


def test_an_agent_that_is_not_optimistic_is_told_so():
    with pytest.raises(ContractError, match=r"^the value must be at least V\*, got .* less in episode"):
        check_agent(ALGORITHMS["lsvi_ucb"](SPEC, radius=0.0), make(), optimistic=True, num_episodes=10)


class Late:
    """A drift that tells of its change when it is over, or depends on what else is asked."""

    num_anchors = 2

    def __init__(self, told: tuple[int, ...] = (), jumpy: bool = False) -> None:
        self.told, self.jumpy = told, jumpy

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        late = np.asarray(episodes) >= (episodes[0] + 3 if self.jumpy else 10)
        return np.eye(2)[late.astype(int)]

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        return self.told


@pytest.mark.parametrize(
    ("drift", "said"),
    [
        (Late(told=(12,)), "^changes must be moves, but nothing moves at 12"),
        (Late(told=(12, 10)), "^changes must be increasing episodes of the run"),
        (Late(told=(99,)), "^changes must be increasing episodes of the run"),
        (Late(jumpy=True), "^at must not depend on which episodes are asked for together"),
    ],
)
def test_an_environment_that_breaks_its_contract_is_told_so(drift, said):
    like = make()
    broken = LinearMdp(like.features, like.theta, like.mu, like.initial, drift)
    with pytest.raises(ContractError, match=said):
        check_environment(broken)


def test_what_is_no_agent_or_environment_is_told_so():
    with pytest.raises(ContractError, match=r"^environment must be an Environment, got 3"):
        check_environment(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ContractError, match=r"^agent must be an Agent, got 'me'"):
        check_agent("me", make())  # pyright: ignore[reportArgumentType]
    check_environment(linear_bandit(**BARE["linear_bandit"]))
