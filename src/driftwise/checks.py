"""Contracts: what every agent and every environment keeps, for your own tests of your own.

```python
from driftwise.checks import check_agent, check_environment

check_environment(mine)
check_agent(my_agent, mine)
```

A broken contract is a `ContractError` that says which, in one sentence.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from driftwise.algorithms import uniform
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.part import from_config, to_config
from driftwise.base.types import Moments
from driftwise.base.validation import ArgumentError
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearMdp
from driftwise.environments.environment import Played
from driftwise.parts.extended_value_iteration import Optimum, extended_value_iteration
from driftwise.parts.least_squares import LeastSquares
from driftwise.simulation.play import play
from driftwise.simulation.program import num_programs
from driftwise.simulation.results import CURVES
from driftwise.simulation.simulator import simulate

TOLERANCE = 1e-9
UNIFORMS = (np.arange(8) + 0.5) / 8  # what `act` is tried with


class ContractError(AssertionError):
    """An agent or an environment does not keep its word."""


def check_environment(environment: Environment, *, num_episodes: int = 20) -> None:
    """Raise a `ContractError` unless an environment is well-formed, repeatable, and has exact regret."""
    _require(isinstance(environment, Environment), f"environment must be an Environment, got {environment!r}")
    episodes = np.arange(num_episodes)
    path = environment.at(episodes)
    _require(len(path) == num_episodes, f"at must give {num_episodes} episodes, got {len(path)}")
    again = np.concatenate([environment.at(part) for part in np.split(episodes, [num_episodes // 3])])
    _require(np.array_equal(path, again), "at must not depend on which episodes are asked for together")
    changes = environment.changes(num_episodes)
    _require(
        all(0 < a < b for a, b in itertools.pairwise((*changes, num_episodes))),
        f"changes must be increasing episodes of the run, got {changes}",
    )
    variation = environment.variation(num_episodes)
    moves = np.asarray(variation.reward) + np.asarray(variation.transition)
    _require(moves.shape == (num_episodes - 1,), f"variation must have K − 1 moves, got shape {moves.shape}")
    _require(bool((moves >= 0).all()), "variation must not be negative")
    for change in changes:
        _require(bool(moves[change - 1] > 0), f"changes must be moves, but nothing moves at {change}")
    same = copy.deepcopy(environment).digest() == environment.digest()
    _require(same, "digest must be the same for a copy of the environment")
    if environment.name in ENVIRONMENTS and environment.config:  # made by a registered maker
        config = {key: from_config(value) for key, value in _plain(dict(environment.config)).items()}
        twin = ENVIRONMENTS[environment.name](**config)
        _require(twin.digest() == environment.digest(), "config must make the same environment again")
    agent = uniform(environment.spec)
    twice = zip(*(_played(agent, environment, num_episodes) for _ in "ab"), strict=True)
    for t, (played, other) in enumerate(twice):
        record = played.record
        _require(record == other.record, "advance must be the same for the same key")
        gap = float(record.optimal - record.value)
        sound = gap >= -TOLERANCE or environment.continuing
        _require(sound, f"regret must not be negative, got {gap} in episode {t}")
        if isinstance(environment, ContinuingMdp):
            best = _iterated(environment, t)
            away = max(best.low - record.optimal, record.optimal - best.high)
            _require(away <= TOLERANCE, f"the gain must be exact, got {away} away in step {t}")
        if isinstance(environment, LinearMdp):
            for name, got, over_actions in (("V*", record.optimal, np.max), ("value", record.value, np.mean)):
                away = abs(float(got - _induced(environment, t, over_actions)[int(played.episode.states[0])]))
                _require(away <= TOLERANCE, f"{name} must be exact, got {away} away in episode {t}")


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
    least squares keep the sums of their forgetting's weights; a second call compiles nothing. With
    `optimistic` its value of the first state is never below V*, which is promised with a radius from theory
    and where nothing drifts; that shows something only where some value is below the trivial bound H, so
    this is asked for too.
    """
    _require(isinstance(agent, Agent), f"agent must be an Agent, got {agent!r}")
    _require(from_config(_plain(to_config(agent))) == agent, "agent must survive the way to_config and back")
    _require(type(agent).__name__ in repr(agent), f"agent must print its own name, got {agent!r}")
    sizes: dict[str, Any] = dict(num_episodes=num_episodes, num_runs=num_runs, seed=seed)
    first = simulate(agent, environment, **sizes, keep_state=True)
    programs = num_programs()
    second = simulate(agent, environment, **sizes)
    _require(num_programs() == programs, "a second call must not compile anything")
    for name in CURVES:
        same = np.array_equal(getattr(first, name), getattr(second, name))
        _require(same, f"{name} must be the same for the same seed")
    gap = float((first.optimal_values - first.values).min())
    _require(gap >= -TOLERANCE or environment.continuing, f"regret must not be negative, got {gap}")
    start = _layout(environment.world(needs=agent.needs).begin(agent))
    lowest = np.inf
    for run in range(num_runs):
        for t, played in enumerate(_played(agent, environment, num_episodes, seed=seed, run=run)):
            where = f"in episode {t} of run {run}"
            _check_plan(agent, played, where)
            for name, compiled in (("value", first.values), ("reward", first.returns)):
                away = abs(float(compiled[run, t]) - float(getattr(played.record, name)))
                _require(away <= TOLERANCE, f"the simulator must equal NumPy, got {name} {away} away {where}")
            _require(_layout(played.carry) == start, f"state must keep its shapes and types, changed {where}")
            here = {name: curve[run, t] for name, curve in first.diagnostics.items()}
            _check_diagnostics(here, agent.diagnostics(played.carry.state), where)
            value = float(np.asarray(played.plan.value)[int(played.episode.states[0])])
            lowest = min(lowest, value)
            if optimistic:
                short = float(played.record.optimal - value)
                _require(short <= TOLERANCE, f"the value must be at least V*, got {short} less {where}")
            if t == num_episodes - 1 and isinstance(agent, LeastSquares):
                _check_sums(agent, played.carry.state)
    horizon = environment.spec.horizon
    _require(
        not optimistic or lowest < horizon,
        f"some value must be below H = {horizon} for optimism to show anything, got none below {lowest}",
    )


def _check_diagnostics(compiled: Mapping[str, Any], plain: Mapping[str, Any], where: str) -> None:
    """Numbers of the same names in both programs, in every episode."""
    _require(
        {*plain} == {*compiled},
        f"diagnostics must always have the same names, got {sorted(plain)} and {sorted(compiled)} {where}",
    )
    for name, value in plain.items():
        number = np.ndim(value) == 0 and bool(np.isfinite(value))
        _require(number, f"diagnostics must be finite numbers, got {name} {value} {where}")
        away = abs(float(value) - float(compiled[name]))
        _require(away <= TOLERANCE, f"the simulator must equal NumPy, got {name} {away} away {where}")


def _played(agent: Agent, environment: Environment, num_episodes: int, **address: Any) -> Iterator[Played]:
    """A run, episode by episode; a plan that is none is a broken contract."""
    try:
        yield from play(agent, environment, num_episodes, **address)
    except ArgumentError as error:
        raise ContractError(str(error)) from None


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


def _check_sums(agent: LeastSquares, moments: Moments) -> None:
    """Moments have the Σω and Σω² of the weights that define the forgetting: radii rest on them."""
    weights = agent.forgetting.weights(int(moments.tick))
    for name, total in (("weight", weights.sum()), ("weight_sq", (weights**2).sum())):
        kept = float(getattr(moments, name))
        near = abs(kept - total) <= TOLERANCE * max(1, total)
        _require(near, f"{name} of the moments must be {total}, as its forgetting's weights say, got {kept}")


def _induced(environment: LinearMdp, t: int, over_actions: Callable[..., np.ndarray]) -> np.ndarray:
    """Values `[S]` of the first step in episode `t`, by backward induction with the kernel `P = Φμ`."""
    model, values = environment.model(t), np.zeros(environment.spec.num_states)
    for theta, mu in zip(model.theta[::-1], model.mu[::-1], strict=True):
        values = over_actions(environment.features @ theta + environment.features @ mu @ values, axis=-1)
    return values


def _iterated(environment: ContinuingMdp, t: int) -> Optimum:
    """Bounds of the gain in step `t`, by value iteration in the lazy MDP, of the same gain and no period."""
    reward, kernel = environment.model(t)
    lazy = (kernel + np.eye(len(reward))[:, None, :]) / 2
    options: dict[str, Any] = dict(tolerance=TOLERANCE, wanted=np.True_, max_iterations=100_000)
    return extended_value_iteration(reward, lazy, np.zeros_like(reward), **options)


def _layout(state: Any) -> list[tuple[tuple[int, ...], np.dtype]]:
    found: list[tuple[tuple[int, ...], np.dtype]] = []
    map_tree(lambda leaf: found.append((np.shape(leaf), np.asarray(leaf).dtype)), state)
    return found


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _require(kept: bool, sentence: str) -> None:
    if not kept:
        raise ContractError(sentence)
