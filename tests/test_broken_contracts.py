"""The public contract checks: what breaks them is told."""

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import ALGORITHMS
from driftwise.base import Agent, SuccessorProjection, Variation
from driftwise.checks import ContractError, check_agent, check_environment
from driftwise.environments import LinearMdp, linear_bandit
from driftwise.environments.models.linear_mdp import LinearMdpArrays
from driftwise.parts import LeastSquares, NoForgetting
from tests.examples import DRIFTS, NUM_RUNS, SPEC, agent, broken_part, make, make_bandit
from tests.test_checks import BARE

FEW: dict[str, Any] = dict(num_episodes=10, num_runs=NUM_RUNS)
plan, update = LeastSquares.plan, LeastSquares.update


def like(name: str, **methods: Callable) -> Agent:
    """An agent of the examples in which some methods are others."""
    made: Any = agent(name)
    values = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}
    return broken_part(LeastSquares, **methods)(**values)


def halved(self: Any, *args: Any) -> Any:
    right = plan(self, *args)
    return right._replace(policy=right.policy * 0.5)


def restless(self: Any, state: Any, features: Any, plan: Any, episode: Any) -> Any:
    sign = -1 if isinstance(episode.rewards, np.ndarray) else 1
    return update(self, state, features, plan, episode._replace(rewards=sign * episode.rewards))


def unsettled(self: Any, state: Any, features: Any, plan: Any, episode: Any) -> Any:
    """The state changes type where no compiler forbids it."""
    state = update(self, state, features, plan, episode)
    return state._replace(tick=state.tick * 1.0) if isinstance(episode.rewards, np.ndarray) else state


def diagnosed(here: dict[str, float], there: dict[str, float]) -> dict[str, Callable]:
    """Other diagnostics on NumPy than in the simulator."""
    return dict(diagnostics=lambda self, state: here if isinstance(state.gram, np.ndarray) else there)


RESTARTS, LOST = {"restarts": 0.0}, {"restarts": np.nan}


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        (dict(plan=halved), r"^policy must hold probabilities"),
        (dict(update=restless), r"^the simulator must equal NumPy, got value"),
        (dict(__eq__=lambda self, other: False), r"^agent must survive the way to_config and back"),
        (dict(__repr__=lambda self: "an agent"), r"^agent must print its own name, got an agent"),
        (dict(update=unsettled), r"^state must keep its shapes and types, changed in episode 0 of run 0"),
        (diagnosed({"restarts": 1.0}, RESTARTS), r"^the simulator must equal NumPy, got restarts 1.0 away"),
        (diagnosed({"value": 1.0}, {"value": 0.0}), r"^the simulator must equal NumPy, got value 1.0 away"),
        (dict(update=restless) | diagnosed({"value": 0.0}, {"value": 0.0}), r"must equal NumPy, got value"),
        (diagnosed({"here": 0.0}, {"there": 0.0}), r"have the same names, got \['here'\] and \['there'\]"),
        (diagnosed(LOST, LOST), r"^diagnostics must be finite numbers, got restarts nan"),
    ],
)
def test_an_agent_that_breaks_its_contract_is_told_so(methods, said):
    with pytest.raises(ContractError, match=said):
        check_agent(like("lsvi_ucb", **methods), make(), **FEW)


def test_a_bandit_whose_policy_is_none_is_told_so():
    with pytest.raises(ContractError, match=r"^policy must be probabilities that sum to 1"):
        check_agent(like("lin_ucb", plan=halved), make_bandit(), num_episodes=5, num_runs=NUM_RUNS)


def test_a_forgetting_that_does_not_sum_its_weights_is_told_so():
    def uncounted(self: Any, moments: Any, sample: Any) -> Any:
        return NoForgetting.update(self, moments, sample)._replace(weight_sq=moments.weight_sq)

    forgetting = broken_part(NoForgetting, update=uncounted)()
    careless = dataclasses.replace(cast(Any, agent("lsvi_ucb")), forgetting=forgetting)
    with pytest.raises(ContractError, match=r"^weight_sq of the moments must be what weights say"):
        check_agent(careless, make(), **FEW)


@pytest.mark.parametrize(("name", "policy"), [("lsvi_ucb", r"\[0. 1.\]"), ("uniform", r"\[0.5 0.5\]")])
def test_an_agent_whose_actions_ignore_its_policy_is_told_so(name, policy):
    stubborn = like(name, act=lambda self, plan, h, state, uniform: 0 * state)
    said = rf"^act must draw from the policy {policy}, got action 0 and shares \[1. 0.\]"
    with pytest.raises(ContractError, match=said):
        check_agent(stubborn, make(), **FEW)


def test_an_agent_that_is_not_optimistic_is_told_so():
    with pytest.raises(ContractError, match=r"^the value must be at least V\*, got .* less in episode"):
        check_agent(ALGORITHMS["lsvi_ucb"](SPEC, radius=0.0), make(), optimistic=True, **FEW)


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


def rebuilt(drift: dw.drift.Drift = DRIFTS["abrupt"], **methods: Callable) -> LinearMdp:
    """The example's environment in which the drift and some methods are others."""
    like = make()
    return type("Rebuilt", (LinearMdp,), methods)(like.features, like.theta, like.mu, like.initial, drift)


def negative(self: LinearMdp, num_episodes: int) -> Variation:
    moved = LinearMdp.variation(self, num_episodes)
    return Variation(-moved.reward, -moved.transition)


class Modest(LinearMdpArrays):
    """Its optimum is half of what it is."""

    share = 0.5

    def inputs(self, path: Any) -> Any:
        inputs = LinearMdpArrays.inputs(self, path)
        return inputs._replace(optimal=self.share * inputs.optimal)


class Boastful(Modest):
    share = 2.0


def altered(alter: Callable[[LinearMdpArrays, int], LinearMdpArrays]) -> LinearMdp:
    """An environment with other arrays, which may know how often they were asked for."""
    calls = itertools.count()
    return rebuilt(
        to_arrays=lambda self, *args, **how: alter(LinearMdp.to_arrays(self, *args, **how), next(calls))
    )


def fading(world: LinearMdpArrays, call: int) -> LinearMdpArrays:
    """It pays less each time that it is asked for."""
    return world._replace(theta=world.theta * 0.9**call)


def growing(world: LinearMdpArrays, call: int) -> LinearMdpArrays:
    """It carries more each time that it is asked for, to no effect."""
    return world._replace(table=world.table.with_extras(SuccessorProjection(np.zeros(call))))


SHORT = rebuilt(variation=lambda self, num: LinearMdp.variation(self, num - 1))
OTHER = replace(make(), config={**make().config, "seed": 5})


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (rebuilt(at=lambda self, all: LinearMdp.at(self, all)[:-1]), "^at must give 20 episodes, got 19"),
        (rebuilt(variation=negative), "^variation must not be negative"),
        (SHORT, r"^variation must have K − 1 moves, got shape \(18,\)"),
        (OTHER, "^config must make the same"),
        (altered(fading), "^advance must be the same for the same key"),
        (altered(lambda world, _: Modest(*world)), "^regret must not be negative, got -"),
        (altered(lambda world, _: Boastful(*world)), r"^V\* must be exact, got .* away in episode 0"),
        (rebuilt(Late(told=(12,))), "^changes must be moves, but nothing moves at 12"),
        (rebuilt(Late(told=(12, 10))), "^changes must be increasing episodes of the run"),
        (rebuilt(Late(told=(99,))), "^changes must be increasing episodes of the run"),
        (rebuilt(Late(jumpy=True)), "^at must not depend on which episodes are asked for together"),
        (
            rebuilt(Late(told=(10,))),
            "^digest must be the same for a copy",
        ),  # it prints its place
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
        check_agent(agent("lsvi_ucb"), broken, **FEW)


def test_what_is_no_agent_or_environment_is_told_so():
    with pytest.raises(ContractError, match=r"^environment must be an Environment, got 3"):
        check_environment(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ContractError, match=r"^agent must be an Agent, got 'me'"):
        check_agent("me", make())  # pyright: ignore[reportArgumentType]
    check_environment(linear_bandit(**BARE["linear_bandit"]))
