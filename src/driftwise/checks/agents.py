"""The contract of agents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.part import is_part, points
from driftwise.base.types import Forgetting
from driftwise.checks.contract import TOLERANCE, ContractError, check_described, played_run, require
from driftwise.checks.forgetting import check_definition
from driftwise.environments import Environment
from driftwise.environments.environment import Played
from driftwise.simulation.program import num_programs
from driftwise.simulation.results import CURVES
from driftwise.simulation.simulator import simulate

UNIFORMS = (np.arange(8) + 0.5) / 8  # what `act` is tried with


def check_agent(
    agent: Agent,
    environment: Environment,
    *,
    num_episodes: int = 30,
    num_runs: int = 2,
    seed: int = 0,
    optimistic: bool = False,
) -> None:
    """Raise a `ContractError` unless an agent keeps what all agents keep in this environment.

    It prints and goes to a configuration and back; the same seed gives the same numbers; the compiled
    simulator equals a NumPy loop, also in diagnostics, which are finite; policies are probabilities, and
    actions are drawn from them; regret is not negative, if there are episodes; states keep their shapes;
    every forgetting in it has the moments of its definition, as in `check_forgetting`; a second call compiles
    nothing. With `optimistic` its value of the first state is never below V*, which is promised
    with a radius from theory and where nothing drifts; that shows something only where some value is below
    the trivial bound H, so this is asked for too.
    """
    check_described("agent", agent, Agent)
    for forgetting in _forgettings_in(agent):
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
    require(gap >= -TOLERANCE or environment.continuing, f"regret must not be negative, got {gap}")
    start = _layout(environment.world(needs=agent.needs).begin(agent))
    lowest = np.inf
    for run in range(num_runs):
        for t, played in enumerate(played_run(agent, environment, num_episodes, seed=seed, run=run)):
            where = f"in episode {t} of run {run}"
            _check_plan(agent, played, where)
            for name, compiled in (("value", first.values), ("reward", first.returns)):
                away = abs(float(compiled[run, t]) - float(getattr(played.record, name)))
                require(away <= TOLERANCE, f"the simulator must equal NumPy, got {name} {away} away {where}")
            require(_layout(played.carry) == start, f"state must keep its shapes and types, changed {where}")
            here = {name: curve[run, t] for name, curve in first.diagnostics.items()}
            _check_diagnostics(here, agent.diagnostics(played.carry.state), where)
            value = float(np.asarray(played.plan.value)[int(played.episode.states[0])])
            lowest = min(lowest, value)
            if optimistic:
                short = float(played.record.optimal - value)
                require(short <= TOLERANCE, f"the value must be at least V*, got {short} less {where}")
    horizon = environment.spec.horizon
    require(
        not optimistic or lowest < horizon,
        f"some value must be below H = {horizon} for optimism to show anything, got none below {lowest}",
    )


def _check_diagnostics(compiled: Mapping[str, Any], plain: Mapping[str, Any], where: str) -> None:
    """Numbers of the same names in both programs, in every episode."""
    require(
        {*plain} == {*compiled},
        f"diagnostics must always have the same names, got {sorted(plain)} and {sorted(compiled)} {where}",
    )
    for name, value in plain.items():
        number = np.ndim(value) == 0 and bool(np.isfinite(value))
        require(number, f"diagnostics must be finite numbers, got {name} {value} {where}")
        away = abs(float(value) - float(compiled[name]))
        require(away <= TOLERANCE, f"the simulator must equal NumPy, got {name} {away} away {where}")


def _check_plan(agent: Agent, played: Played, where: str) -> None:
    """Policies are probabilities, and actions are drawn from them."""
    plan, episode = played.plan, played.episode
    policy = np.asarray(plan.policy)
    proper = bool((policy >= -TOLERANCE).all()) and np.allclose(policy.sum(-1), 1, rtol=0, atol=TOLERANCE)
    if not proper:  # sentences with arrays take longer to write than the checks
        raise ContractError(f"policy must be probabilities that sum to 1, got {policy} {where}")
    for h, (state, action) in enumerate(zip(episode.states, episode.actions, strict=True)):
        here = policy[h, state]
        tried = [agent.act(plan, h, state, u) for u in UNIFORMS]
        shares = np.bincount(tried, minlength=len(here)) / len(tried)
        drawn = here[[action, *tried]].min() > 0 and np.abs(shares - here).max() <= 1 / len(tried)
        if not drawn:
            drawn_from = f"act must draw from the policy {here}"
            raise ContractError(f"{drawn_from}, got action {action} and shares {shares} {where}")


def _forgettings_in(part: Any) -> Iterator[Forgetting]:
    """All forgettings of a part and of the parts within, each with single numbers."""
    for field in dataclasses.fields(part):
        inner = getattr(part, field.name)
        if isinstance(inner, Forgetting):
            yield from points(inner)
        elif is_part(inner):
            yield from _forgettings_in(inner)


def _layout(state: Any) -> list[tuple[tuple[int, ...], np.dtype]]:
    found: list[tuple[tuple[int, ...], np.dtype]] = []
    map_tree(lambda leaf: found.append((np.shape(leaf), np.asarray(leaf).dtype)), state)
    return found
