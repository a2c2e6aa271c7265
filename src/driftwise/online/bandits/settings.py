"""The settings of a bandit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from driftwise.base.agent import Agent
from driftwise.base.part import choice, count, member, record, scalar, to_config
from driftwise.base.times import seconds_of
from driftwise.base.validation import ArgumentError, require_count, require_kind, require_number
from driftwise.online.bandits import clocked, clocked_mixture
from driftwise.online.bandits.deciders import looks_at_arms
from driftwise.online.limits import within_memory
from driftwise.online.rewards import require_range


@record
class BanditSettings:
    """All that a bandit is made with and keeps, but for its metadata, which is the caller's."""

    algorithm: str
    agent: Agent = member(Agent)
    seed: int = count(at_least=0, bits=64)
    max_pending: int = count(bits=64)
    expire_after: int | None
    expire_after_seconds: Any  # a duration; kept in seconds
    epsilon: float = scalar(at_least=0, at_most=1)
    num_draws: int = count(bits=16)
    reward_range: Sequence[float] | None
    outside: Literal["refuse", "clip"] = choice("refuse", "clip", default="refuse")

    def __post_init__(self) -> None:
        algorithm, agent = require_kind("algorithm", self.algorithm, str), self.agent
        if agent.needs:
            found = f"{algorithm!r}, which needs {' and '.join(agent.needs)}"
            raise ArgumentError("algorithm", "learn from what it earns alone", algorithm, found)
        with within_memory(agent):
            known_by_features = looks_at_arms(agent)
        if not known_by_features:
            found = f"{algorithm!r}, which does not"
            raise ArgumentError("algorithm", "know arms by their features", algorithm, found)
        if clocked.uses_clock(agent) and not (clocked.fits(agent) or clocked_mixture.fits(agent)):
            found = f"{algorithm!r}, which has the clock within"
            raise ArgumentError("algorithm", "forget by the clock itself", algorithm, found)
        if self.expire_after is not None:
            require_count("expire_after", self.expire_after)
        if self.expire_after_seconds is not None:
            seconds = seconds_of("expire_after_seconds", self.expire_after_seconds)
            object.__setattr__(self, "expire_after_seconds", require_number("expire_after_seconds", seconds))
        if self.reward_range is not None:
            object.__setattr__(self, "reward_range", require_range(self.reward_range))

    def described(self) -> dict[str, Any]:
        """The settings as plain values, by their names."""
        return {name: value for name, value in to_config(self).items() if name != "type"}
