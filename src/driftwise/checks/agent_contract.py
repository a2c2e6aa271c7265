"""Contract of agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.part import expand_grid, iterate_parts
from driftwise.base.types import Forgetting
from driftwise.checks.contract import (
    CONTRACT_TOLERANCE,
    ContractError,
    check_config,
    layout_of,
    on_simplex,
    play_run,
    require,
    require_exact_regret,
    require_layout,
)
from driftwise.checks.part_contracts import check_definition
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
    require_exact_regret(environment, (first.optimal_values - first.values).min())
    start = layout_of(environment.to_arrays(needs=agent.needs).begin(agent))
    lowest = np.inf
    for run in range(num_runs):
        for t, played in enumerate(play_run(agent, environment, num_episodes, seed=seed, run=run)):
            where, record = f"in episode {t} of run {run}", played.record
            _check_plan(agent, played, where)
            compiled = {"value": first.values[run, t], "reward": first.returns[run, t]}
            _require_equal({"value": record.value, "reward": record.reward}, compiled, where)
            require_layout("state", played.carry, start, where)
            here = {name: curve[run, t] for name, curve in first.diagnostics.items()}
            _check_diagnostics(here, agent.diagnostics(played.carry.state), where)
            value = float(np.asarray(played.plan.value)[int(played.episode.states[0])])
            lowest, less = min(lowest, value), float(record.optimal - value)
            enough = not optimistic or less <= CONTRACT_TOLERANCE
            require(enough, f"the value must be at least V*, got {less} less {where}")
    horizon = environment.spec.horizon
    some = f"some value must be below H = {horizon} for optimism to show anything, got none below {lowest}"
    require(not optimistic or lowest < horizon, some)


def _require_equal(plain: Mapping[str, Any], compiled: Mapping[str, Any], where: str) -> None:
    for name, value in plain.items():
        away = abs(float(value) - float(compiled[name]))
        require(away <= CONTRACT_TOLERANCE, f"the simulator must equal NumPy, got {name} {away} away {where}")


def _check_diagnostics(compiled: Mapping[str, Any], plain: Mapping[str, Any], where: str) -> None:
    """Check that both programs report the same finite diagnostics."""
    names = f"{sorted(plain)} and {sorted(compiled)}"
    require({*plain} == {*compiled}, f"diagnostics must always have the same names, got {names} {where}")
    for name, value in plain.items():
        number = np.ndim(value) == 0 and bool(np.isfinite(value))
        require(number, f"diagnostics must be finite numbers, got {name} {value} {where}")
    _require_equal(plain, compiled, where)


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
        if here[[action, *tried]].min() <= 0 or np.abs(shares - here).max() > 1 / len(tried):
            got = f"action {action} and shares {shares} {where}"
            raise ContractError(f"act must draw from the policy {here}, got {got}")
