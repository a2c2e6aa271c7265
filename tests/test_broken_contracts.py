"""The public contract checks: what breaks them is told."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import ALGORITHMS
from driftwise.base import Agent, Plan, SuccessorProjection, Variation
from driftwise.base.part import part
from driftwise.checks import ContractError, check_agent, check_environment
from driftwise.environments import LinearMdp, linear_bandit
from driftwise.environments.models.linear_mdp import EpisodeInputs, LinearMdpArrays
from driftwise.parts import LeastSquares, NoForgetting
from tests.examples import DRIFTS, NUM_RUNS, SPEC, agent, make, make_bandit
from tests.test_checks import BARE


@part
class Careless(LeastSquares):
    """Its probabilities do not sum to one."""

    def plan(self, state: Any, features: Any, key: Any) -> Plan:
        plan = LeastSquares.plan(self, state, features, key)
        return plan._replace(policy=plan.policy * 0.5)


@part
class Restless(LeastSquares):
    """Its values depend on where it runs."""

    def update(self, state: Any, features: Any, plan: Plan, episode: Any) -> Any:
        sign = -1 if isinstance(episode.rewards, np.ndarray) else 1
        return LeastSquares.update(
            self, state, features, plan, episode._replace(rewards=sign * episode.rewards)
        )


@part
class Forgetful(LeastSquares):
    """It does not come back from its configuration as it was."""

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = LeastSquares.__hash__


@part
class Nameless(LeastSquares):
    """It prints as something else."""

    def __repr__(self) -> str:
        return "an agent"


@part
class Stubborn(LeastSquares):
    """It takes the first action, whatever its policy."""

    def act(self, plan: Plan, h: Any, state: Any, uniform: Any) -> Any:
        return 0 * state


@part
class Unsettled(LeastSquares):
    """Its state changes type where no compiler forbids it."""

    def update(self, state: Any, features: Any, plan: Plan, episode: Any) -> Any:
        state = LeastSquares.update(self, state, features, plan, episode)
        return state._replace(tick=state.tick * 1.0) if isinstance(episode.rewards, np.ndarray) else state


@part
class Boasting(LeastSquares):
    """What it tells depends on where it runs."""

    def diagnostics(self, state: Any) -> dict[str, Any]:
        return {"restarts": 1.0 if isinstance(state.gram, np.ndarray) else 0.0}


@part
class Wordy(LeastSquares):
    """What it tells of depends on where it runs."""

    def diagnostics(self, state: Any) -> dict[str, Any]:
        return {"here" if isinstance(state.gram, np.ndarray) else "there": 0.0}


@part
class Speechless(LeastSquares):
    """What it tells is no number."""

    def diagnostics(self, state: Any) -> dict[str, Any]:
        return {"restarts": np.nan}


@part
class Uncounted(NoForgetting):
    """It forgets to sum its weights."""

    def update(self, moments: Any, sample: Any) -> Any:
        return NoForgetting.update(self, moments, sample)._replace(weight_sq=moments.weight_sq)


def like(cls: type, name: str) -> Agent:
    made: Any = agent(name)
    return cls(**{field.name: getattr(made, field.name) for field in dataclasses.fields(made)})


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (Careless, r"^policy must hold probabilities"),
        (Restless, r"^the simulator must equal NumPy, got value"),
        (Forgetful, r"^agent must survive the way to_config and back"),
        (Nameless, r"^agent must print its own name, got an agent"),
        (Unsettled, r"^state must keep its shapes and types, changed in episode 0 of run 0"),
        (Boasting, r"^the simulator must equal NumPy, got restarts 1.0 away in episode 0 of run 0"),
        (Wordy, r"^diagnostics must always have the same names, got \['here'\] and \['there'\]"),
        (Speechless, r"^diagnostics must be finite numbers, got restarts nan"),
    ],
)
def test_an_agent_that_breaks_its_contract_is_told_so(cls, said):
    with pytest.raises(ContractError, match=said):
        check_agent(like(cls, "lsvi_ucb"), make(), num_episodes=10, num_runs=NUM_RUNS)


def test_a_bandit_whose_policy_is_none_is_told_so():
    with pytest.raises(ContractError, match=r"^policy must be probabilities that sum to 1"):
        check_agent(like(Careless, "lin_ucb"), make_bandit(), num_episodes=5, num_runs=NUM_RUNS)


def test_a_forgetting_that_does_not_sum_its_weights_is_told_so():
    careless = dataclasses.replace(cast(Any, agent("lsvi_ucb")), forgetting=Uncounted())
    with pytest.raises(ContractError, match=r"^weight_sq of the moments must be what weights say"):
        check_agent(careless, make(), num_episodes=10, num_runs=NUM_RUNS)


@pytest.mark.parametrize(("name", "policy"), [("lsvi_ucb", r"\[0. 1.\]"), ("uniform", r"\[0.5 0.5\]")])
def test_an_agent_whose_actions_ignore_its_policy_is_told_so(name, policy):
    said = rf"^act must draw from the policy {policy}, got action 0 and shares \[1. 0.\]"
    with pytest.raises(ContractError, match=said):
        check_agent(like(Stubborn, name), make(), num_episodes=10, num_runs=NUM_RUNS)


def test_an_agent_that_is_not_optimistic_is_told_so():
    with pytest.raises(ContractError, match=r"^the value must be at least V\*, got .* less in episode"):
        check_agent(
            ALGORITHMS["lsvi_ucb"](SPEC, radius=0.0),
            make(),
            optimistic=True,
            num_episodes=10,
            num_runs=NUM_RUNS,
        )


class Late(dw.drift.Drift):
    """A drift that tells of its change when it is over, or depends on what else is asked."""

    num_anchors = 2

    def __init__(self, told: tuple[int, ...] = (), jumpy: bool = False) -> None:
        self.told, self.jumpy = told, jumpy

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        late = np.asarray(episodes) >= (episodes[0] + 3 if self.jumpy else 10)
        return np.eye(2)[late.astype(int)]

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        return self.told


def rebuilt(cls: type[LinearMdp], drift: Any = DRIFTS["abrupt"]) -> LinearMdp:
    like = make()
    return cls(like.features, like.theta, like.mu, like.initial, drift)


@pytest.mark.parametrize(
    ("drift", "said"),
    [
        (Late(told=(12,)), "^changes must be moves, but nothing moves at 12"),
        (Late(told=(12, 10)), "^changes must be increasing episodes of the run"),
        (Late(told=(99,)), "^changes must be increasing episodes of the run"),
        (Late(jumpy=True), "^at must not depend on which episodes are asked for together"),
        (Late(told=(10,)), "^digest must be the same for a copy"),  # it prints as its place in memory
    ],
)
def test_a_drift_that_breaks_the_contract_is_told_so(drift, said):
    with pytest.raises(ContractError, match=said):
        check_environment(rebuilt(LinearMdp, drift))


class Short(LinearMdp):
    """It leaves out the last episode asked for."""

    def at(self, episodes: np.ndarray) -> np.ndarray:
        return LinearMdp.at(self, episodes)[:-1]


class Backward(LinearMdp):
    """Its moves are negative."""

    def variation(self, num_episodes: int, **options: Any) -> Variation:
        moved = LinearMdp.variation(self, num_episodes)
        return Variation(-moved.reward, -moved.transition)


class Brief(LinearMdp):
    """It leaves out a move."""

    def variation(self, num_episodes: int, **options: Any) -> Variation:
        return LinearMdp.variation(self, num_episodes - 1)


class Modest(LinearMdpArrays):
    """Its optimum is half of what it is."""

    share = 0.5

    def inputs(self, path: Any) -> EpisodeInputs:
        inputs = LinearMdpArrays.inputs(self, path)
        return inputs._replace(optimal_values=self.share * inputs.optimal_values)


class Boastful(Modest):
    """Its optimum is twice what it is."""

    share = 2.0


def altered(alter: Callable[[LinearMdpArrays, int], LinearMdpArrays]) -> LinearMdp:
    """An environment with another world, which may know how often it was asked for."""
    calls = itertools.count()

    class Altered(LinearMdp):
        def to_arrays(self, *args: Any, **options: Any) -> LinearMdpArrays:
            return alter(LinearMdp.to_arrays(self, *args, **options), next(calls))

    return rebuilt(Altered)


def fading(world: LinearMdpArrays, call: int) -> LinearMdpArrays:
    """It pays less each time that it is asked for."""
    return world._replace(theta=world.theta * 0.9**call)


def growing(world: LinearMdpArrays, call: int) -> LinearMdpArrays:
    """It carries more each time that it is asked for, to no effect."""
    return world._replace(table=world.table.with_extras(SuccessorProjection(np.zeros(call))))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (rebuilt(Short), "^at must give 20 episodes, got 19"),
        (rebuilt(Backward), "^variation must not be negative"),
        (rebuilt(Brief), r"^variation must have K − 1 moves, got shape \(18,\)"),
        (
            make().with_description("random_linear_mdp", {**make().config, "seed": 5}),
            "^config must make the same",
        ),
        (altered(fading), "^advance must be the same for the same key"),
        (altered(lambda world, _: Modest(*world)), "^regret must not be negative, got -"),
        (altered(lambda world, _: Boastful(*world)), r"^V\* must be exact, got .* away in episode 0"),
    ],
)
def test_an_environment_that_breaks_its_contract_is_told_so(broken, said):
    with pytest.raises(ContractError, match=said):
        check_environment(broken)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (altered(fading), "^returns must be the same for the same seed"),
        (altered(growing), "^a second call must not compile anything"),
        (altered(lambda world, _: Modest(*world)), "^regret must not be negative, got -"),
    ],
)
def test_an_agent_in_an_environment_that_breaks_its_contract_is_told_so(broken, said):
    with pytest.raises(ContractError, match=said):
        check_agent(agent("lsvi_ucb"), broken, num_episodes=10, num_runs=NUM_RUNS)


def test_what_is_no_agent_or_environment_is_told_so():
    with pytest.raises(ContractError, match=r"^environment must be an Environment, got 3"):
        check_environment(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ContractError, match=r"^agent must be an Agent, got 'me'"):
        check_agent("me", make())  # pyright: ignore[reportArgumentType]
    check_environment(linear_bandit(**BARE["linear_bandit"]))
