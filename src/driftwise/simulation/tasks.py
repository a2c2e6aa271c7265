"""A task: one frozen description of a simulation, from the file that asks for it to its last byte on disk."""

from __future__ import annotations

import itertools
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

from driftwise.base.agent import Agent
from driftwise.base.part import is_part, to_config
from driftwise.base.validation import ArgumentError, require_choice, require_count, require_kind
from driftwise.environments.environment import Environment

CHUNK = 256  # episodes between two looks at the clock
RUNS_OF_A_TASK = 64

Device = Literal["cpu", "gpu"]
Precision = Literal["float64", "float32"]

_COUNTS: dict[str, dict[str, int]] = {
    "num_episodes": {"bits": 32},  # what an address of randomness holds
    "num_runs": {"bits": 32},
    "first_run": {"at_least": 0, "bits": 32},
    "seed": {"at_least": 0},
    "record_every": {"bits": 32},  # no run is longer
    "chunk_size": {},
}


@dataclass(frozen=True, eq=False)
class Task:
    """An agent, or a grid of its numbers, in an environment for some runs; see `simulate` for the fields.

    Tasks know nothing of each other, nor of who will run them.
    """

    agent: Agent
    environment: Environment
    _: KW_ONLY
    num_episodes: int
    num_runs: int = 1
    first_run: int = 0
    seed: int = 0
    record_every: int = 1
    precision: Precision = "float64"
    device: Device | None = None
    chunk_size: int = CHUNK
    name: str = ""  # for errors

    def __post_init__(self) -> None:
        for name, limits in _COUNTS.items():
            object.__setattr__(self, name, require_count(name, getattr(self, name), **limits))
        if self.first_run + self.num_runs > 1 << 32:
            got = f"{self.first_run} with num_runs = {self.num_runs}"
            raise ArgumentError("first_run", "leave the last run a number below 2^32", self.first_run, got)
        object.__setattr__(self, "chunk_size", min(self.chunk_size, max(self.num_episodes, CHUNK)))
        require_choice("precision", self.precision, ("float64", "float32"))
        if self.device is not None:
            require_choice("device", self.device, ("cpu", "gpu"))
        require_kind("environment", self.environment, Environment)
        if not (isinstance(self.agent, Agent) and is_part(self.agent)):
            raise ArgumentError("agent", "be built by one of driftwise.algorithms", self.agent)
        own, here = self.agent.spec, self.environment.spec
        if own != here:
            raise ArgumentError("agent", f"be built for {here}", self.agent, f"an agent for {own}")

    def arguments(self) -> dict[str, Any]:
        """All that determines the numbers, in plain values."""
        return dict(
            agent=to_config(self.agent),
            environment={"name": self.environment.name, **self.environment.config},
            **{name: getattr(self, name) for name in _COUNTS},
            precision=self.precision,
        )

    def split(self) -> list[Task]:
        """The same runs in tasks of at most `RUNS_OF_A_TASK`, alike in size: each size is compiled for."""
        count = -(-self.num_runs // RUNS_OF_A_TASK)
        borders = [self.first_run + self.num_runs * i // count for i in range(count + 1)]
        return [
            replace(self, first_run=first, num_runs=stop - first)
            for first, stop in itertools.pairwise(borders)
        ]
