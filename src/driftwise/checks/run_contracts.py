"""Contracts of agents and environments."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from driftwise.algorithms import uniform
from driftwise.base.agent import Agent
from driftwise.base.part import expand_grid, iterate_parts
from driftwise.base.types import Forgetting
from driftwise.base.validation import ArgumentError
from driftwise.checks.part_contracts import (
    TOLERANCE,
    ContractError,
    check_changes,
    check_config,
    check_definition,
    layout_of,
    on_simplex,
    require,
    require_layout,
)
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearMdp, PlayedEpisode
from driftwise.environments.environment import build_environment
from driftwise.parts.extended_value_iteration import extended_value_iteration
from driftwise.simulation.program import num_programs
from driftwise.simulation.results import CURVES
from driftwise.simulation.running import simulate
from driftwise.simulation.tasks import play


def check_agent(
    agent: Agent,
    environment: Environment,
    *,
    num_episodes: int = 30,
    num_runs: int = 2,
    seed: int = 0,
    optimistic: bool = False,
) -> None:
    """Raise a `ContractError` unless an agent fulfils the contract of agents in this environment.

    It survives a round trip through its config; the same seed gives the same numbers; the compiled simulator
    equals a NumPy loop, including diagnostics, which are finite; policies are probabilities, and actions are
    drawn from them; regret is not negative in episodic problems; states keep their shapes; every forgetting
    fulfils its definition, as in `check_forgetting`; a second call compiles nothing. With `optimistic` the
    value of the first state must never be below V*, and some value below H, or else the check is vacuous.
    """
    check_config("agent", agent, Agent)
    for part in iterate_parts(agent):
        for forgetting in expand_grid(part) if isinstance(part, Forgetting) else ():
            check_definition(forgetting)
    sizes: dict[str, Any] = dict(num_episodes=num_episodes, num_runs=num_runs, seed=seed)
    first = simulate(agent, environment, **sizes, keep_state=True)
    programs = num_programs()
    second = simulate(agent, environment, **sizes)
    require(num_programs() == programs, "a second call must not compile anything")
    for name in CURVES:
        same = np.array_equal(getattr(first, name), getattr(second, name))
        require(same, f"{name} must be the same for the same seed")
    gap = float((first.optimal_values - first.values).min())
    require(environment.continuing or gap >= -TOLERANCE, f"regret must not be negative, got {gap}")
    start = layout_of(environment.to_arrays(needs=agent.needs).begin(agent))
    lowest = np.inf
    for run in range(num_runs):
        for t, played in enumerate(_play(agent, environment, num_episodes, seed=seed, run=run)):
            where, record = f"in episode {t} of run {run}", played.record
            _check_plan(agent, played, where)
            diagnostics = agent.diagnostics(played.carry.state)
            names = f"{sorted(diagnostics)} and {sorted(first.diagnostics)} {where}"
            same = {*diagnostics} == {*first.diagnostics}
            require(same, f"diagnostics must always have the same names, got {names}")
            for name, number in diagnostics.items():
                finite = np.ndim(number) == 0 and bool(np.isfinite(number))
                require(finite, f"diagnostics must be finite numbers, got {name} {number} {where}")
            compared = [("value", record.value, first.values), ("reward", record.reward, first.returns)]
            compared += [(name, number, first.diagnostics[name]) for name, number in diagnostics.items()]
            for name, number, curve in compared:
                away = abs(float(number) - float(curve[run, t]))
                require(away <= TOLERANCE, f"the simulator must equal NumPy, got {name} {away} away {where}")
            require_layout("state", played.carry, start, where)
            value = float(np.asarray(played.plan.value)[int(played.episode.states[0])])
            lowest, less = min(lowest, value), float(record.optimal - value)
            enough = not optimistic or less <= TOLERANCE
            require(enough, f"the value must be at least V*, got {less} less {where}")
    horizon = environment.spec.horizon
    some = f"some value must be below H = {horizon} for optimism to show anything, got none below {lowest}"
    require(not optimistic or lowest < horizon, some)


def _check_plan(agent: Agent, played: PlayedEpisode, where: str) -> None:
    """Check that policies are probabilities and that actions are drawn from them."""
    plan, episode = played.plan, played.episode
    policy = np.asarray(plan.policy)
    if not on_simplex(policy).all():  # sentences with arrays take longer to write than the checks
        raise ContractError(f"policy must be probabilities that sum to 1, got {policy} {where}")
    for h, (state, action) in enumerate(zip(episode.states, episode.actions, strict=True)):
        here = policy[h, state]
        tried = [agent.act(plan, h, state, u) for u in (np.arange(8) + 0.5) / 8]
        shares = np.bincount(tried, minlength=len(here)) / len(tried)
        if here[[action, *tried]].min() <= 0 or np.abs(shares - here).max() > 1 / len(tried):
            got = f"action {action} and shares {shares} {where}"
            raise ContractError(f"act must draw from the policy {here}, got {got}")


def check_environment(environment: Environment, *, num_episodes: int = 20) -> None:
    """Raise a `ContractError` unless an environment is well-formed, repeatable, and has exact regret."""
    require(isinstance(environment, Environment), f"environment must be an Environment, got {environment!r}")
    episodes = np.arange(num_episodes)
    path = environment.at(episodes)
    require(len(path) == num_episodes, f"at must give {num_episodes} episodes, got {len(path)}")
    again = np.concatenate([environment.at(part) for part in np.split(episodes, [num_episodes // 3])])
    require(np.array_equal(path, again), "at must not depend on which episodes are asked for together")
    variation = environment.variation(num_episodes)
    moves = np.asarray(variation.reward) + np.asarray(variation.transition)
    require(moves.shape == (num_episodes - 1,), f"variation must have K − 1 moves, got shape {moves.shape}")
    require(bool((moves >= 0).all()), "variation must not be negative")
    check_changes(environment.changes(num_episodes), num_episodes, lambda change: bool(moves[change - 1] > 0))
    same = copy.deepcopy(environment).digest() == environment.digest()
    require(same, "digest must be the same for a copy of the environment")
    if environment.name in ENVIRONMENTS and environment.config:  # made by a registered maker
        config = json.loads(json.dumps(dict(environment.config)))
        twin = build_environment(environment.name, **config)
        require(twin.digest() == environment.digest(), "config must make the same environment again")
    agent = uniform(environment.spec)
    twice = zip(*(_play(agent, environment, num_episodes) for _ in "ab"), strict=True)
    for t, (played, other) in enumerate(twice):
        record = played.record
        require(record == other.record, "advance must be the same for the same key")
        gap = float(record.optimal - record.value)
        sound = environment.continuing or gap >= -TOLERANCE
        require(sound, f"regret must not be negative, got {gap} in episode {t}")
        if isinstance(environment, ContinuingMdp):
            reward, kernel = environment.model(t)
            lazy = (kernel + np.eye(len(reward))[:, None, :]) / 2  # has the same gain, and no period
            how: dict[str, Any] = dict(tolerance=TOLERANCE, active=np.True_, max_iterations=100_000)
            best = extended_value_iteration(reward, lazy, np.zeros_like(reward), **how)
            away = max(best.low - record.optimal, record.optimal - best.high)
            require(away <= TOLERANCE, f"the gain must be exact, got {away} away in step {t}")
        if isinstance(environment, LinearMdp):
            model, features = environment.model(t), environment.features
            for name, got, over_actions in (("V*", record.optimal, np.max), ("value", record.value, np.mean)):
                values = np.zeros(len(features))
                for theta, mu in zip(model.theta[::-1], model.mu[::-1], strict=True):  # the kernel is Φμ
                    values = over_actions(features @ theta + features @ mu @ values, axis=-1)
                away = abs(float(got - values[int(played.episode.states[0])]))
                require(away <= TOLERANCE, f"{name} must be exact, got {away} away in episode {t}")


def _play(agent: Agent, environment: Environment, num: int, **address: Any) -> Iterator[PlayedEpisode]:
    """Play a run episode by episode; an invalid plan is a violated contract."""
    try:
        yield from play(agent, environment, num, **address)
    except ArgumentError as error:
        raise ContractError(str(error)) from None
