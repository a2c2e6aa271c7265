"""Contract of environments."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.algorithms import uniform
from driftwise.base.part import from_config
from driftwise.checks.contract import (
    CONTRACT_TOLERANCE,
    check_changes,
    json_round_trip,
    play_run,
    require,
    require_exact_regret,
)
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, Environment, LinearMdp
from driftwise.parts.extended_value_iteration import extended_value_iteration


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
        config = {key: from_config(value) for key, value in json_round_trip(dict(environment.config)).items()}
        twin = ENVIRONMENTS[environment.name](**config)
        require(twin.digest() == environment.digest(), "config must make the same environment again")
    agent = uniform(environment.spec)
    twice = zip(*(play_run(agent, environment, num_episodes) for _ in "ab"), strict=True)
    for t, (played, other) in enumerate(twice):
        record = played.record
        require(record == other.record, "advance must be the same for the same key")
        require_exact_regret(environment, record.optimal - record.value, f" in episode {t}")
        if isinstance(environment, ContinuingMdp):
            reward, kernel = environment.model(t)
            lazy = (kernel + np.eye(len(reward))[:, None, :]) / 2  # has the same gain, and no period
            how: dict[str, Any] = dict(tolerance=CONTRACT_TOLERANCE, active=np.True_, max_iterations=100_000)
            best = extended_value_iteration(reward, lazy, np.zeros_like(reward), **how)
            away = max(best.low - record.optimal, record.optimal - best.high)
            require(away <= CONTRACT_TOLERANCE, f"the gain must be exact, got {away} away in step {t}")
        if isinstance(environment, LinearMdp):
            for name, got, over_actions in (("V*", record.optimal, np.max), ("value", record.value, np.mean)):
                away = abs(float(got - _induced(environment, t, over_actions)[int(played.episode.states[0])]))
                require(away <= CONTRACT_TOLERANCE, f"{name} must be exact, got {away} away in episode {t}")


def _induced(environment: LinearMdp, t: int, over_actions: Callable[..., np.ndarray]) -> np.ndarray:
    """Return first-step values `[S]` in episode `t`, by backward induction with the kernel `P = Φμ`."""
    model, values = environment.model(t), np.zeros(environment.spec.num_states)
    for theta, mu in zip(model.theta[::-1], model.mu[::-1], strict=True):
        values = over_actions(environment.features @ theta + environment.features @ mu @ values, axis=-1)
    return values
