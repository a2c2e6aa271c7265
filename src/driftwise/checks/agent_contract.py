"""Contract of agents."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.part import expand_grid, is_part
from driftwise.base.types import Forgetting
from driftwise.checks.contract import (
    CONTRACT_TOLERANCE,
    ContractError,
    check_config,
    layout_of,
    on_simplex,
    play_run,
    require,
)
from driftwise.checks.forgetting_contract import check_definition
from driftwise.environments import Environment
from driftwise.environments.environment import PlayedEpisode
from driftwise.simulation.program import num_programs
from driftwise.simulation.results import CURVES
from driftwise.simulation.running import simulate

UNIFORMS = (np.arange(8) + 0.5) / 8  # draws that `act` is tried with


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
    value of the first state must never be below V*, as theory guarantees for its radii without drift; some
    value must also be below H, since otherwise the check is vacuous.
    """
    check_config("agent", agent, Agent)
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
    require(gap >= -CONTRACT_TOLERANCE or environment.continuing, f"regret must not be negative, got {gap}")
    start = layout_of(environment.to_arrays(needs=agent.needs).begin(agent))
    lowest = np.inf
    for run in range(num_runs):
        for t, played in enumerate(play_run(agent, environment, num_episodes, seed=seed, run=run)):
            where = f"in episode {t} of run {run}"
            _check_plan(agent, played, where)
            for name, compiled in (("value", first.values), ("reward", first.returns)):
                away = abs(float(compiled[run, t]) - float(getattr(played.record, name)))
                near = away <= CONTRACT_TOLERANCE
                require(near, f"the simulator must equal NumPy, got {name} {away} away {where}")
            same = layout_of(played.carry) == start
            require(same, f"state must keep its shapes and types, changed {where}")
            here = {name: curve[run, t] for name, curve in first.diagnostics.items()}
            _check_diagnostics(here, agent.diagnostics(played.carry.state), where)
            value = float(np.asarray(played.plan.value)[int(played.episode.states[0])])
            lowest = min(lowest, value)
            if optimistic:
                less = float(played.record.optimal - value)
                enough = less <= CONTRACT_TOLERANCE
                require(enough, f"the value must be at least V*, got {less} less {where}")
    horizon = environment.spec.horizon
    some = f"some value must be below H = {horizon} for optimism to show anything, got none below {lowest}"
    require(not optimistic or lowest < horizon, some)


def _check_diagnostics(compiled: Mapping[str, Any], plain: Mapping[str, Any], where: str) -> None:
    """Check that both programs report the same finite diagnostics."""
    names = f"{sorted(plain)} and {sorted(compiled)}"
    require({*plain} == {*compiled}, f"diagnostics must always have the same names, got {names} {where}")
    for name, value in plain.items():
        number = np.ndim(value) == 0 and bool(np.isfinite(value))
        require(number, f"diagnostics must be finite numbers, got {name} {value} {where}")
        away = abs(float(value) - float(compiled[name]))
        require(away <= CONTRACT_TOLERANCE, f"the simulator must equal NumPy, got {name} {away} away {where}")


def _check_plan(agent: Agent, played: PlayedEpisode, where: str) -> None:
    """Check that policies are probabilities and that actions are drawn from them."""
    plan, episode = played.plan, played.episode
    policy = np.asarray(plan.policy)
    if not on_simplex(policy).all():  # sentences with arrays take longer to write than the checks
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
    """Yield all forgettings within a part, one for each grid point."""
    for field in dataclasses.fields(part):
        inner = getattr(part, field.name)
        if isinstance(inner, Forgetting):
            yield from expand_grid(inner)
        elif is_part(inner):
            yield from _forgettings_in(inner)
