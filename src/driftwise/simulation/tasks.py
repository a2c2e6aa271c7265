"""Tasks: frozen descriptions of simulations, what engines expect of work, and one run in plain steps."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.base.part import is_part, require_single, to_config
from driftwise.base.validation import ArgumentError, require_choice, require_count, require_instance
from driftwise.environments.environment import Environment, PlayedEpisode

if TYPE_CHECKING:
    from driftwise.simulation.simulator import Simulation

CHUNK = 256  # episodes of a chunk by default
RUNS_OF_A_TASK = 64

OnProgress = Callable[[int, int, int], None]  # number of the task, episodes done, episodes in all
Poll = Callable[[], None]  # called several times a second; what it raises ends the run
Device = Literal["cpu", "gpu"]
Precision = Literal["float64", "float32"]

_BITS = {"bits": 32}  # what an address of randomness holds
COUNTS = {"num_episodes": _BITS, "num_runs": _BITS, "first_run": {"at_least": 0, **_BITS}}
COUNTS |= {"seed": {"at_least": 0}, "record_every": _BITS, "chunk_size": {}}


class Job(Protocol):
    """One frozen description of work that engines can run; it can be pickled."""

    @property
    def name(self) -> str: ...  # the name in error messages
    @property
    def num_episodes(self) -> int: ...  # episodes of the whole task
    @property
    def device(self) -> Device | None: ...  # the kind of device it needs; None for the one that JAX takes
    def identity(self) -> dict[str, Any]: ...  # what determines its numbers, in plain values: for its hash
    def on(self, device: Device) -> Job: ...  # the same task for a kind of device, as `Work.platform` has it
    def begin(self) -> Work: ...  # the work, of which nothing is done yet


class Work(Protocol):
    """A task in progress: a simulation, or a policy that plays a scenario."""

    sources: dict[str, str]  # digests of the code that computes it

    @property
    def task(self) -> Job: ...  # the task that it brings to its end
    @property
    def done(self) -> int: ...  # episodes that are finished
    @property
    def finished(self) -> bool: ...  # whether all episodes are finished
    @property
    def platform(self) -> str: ...  # the kind of device it runs on: `"cpu"` or `"gpu"`
    def advance(self, seconds: float | None = None) -> None: ...  # play on, for about so many seconds
    def checkpoint(self) -> dict[str, np.ndarray]: ...  # all that `restore` needs, with `origin` as JSON
    def restore(self, checkpoint: Mapping[str, np.ndarray]) -> None: ...  # or a `ValueError`
    def result(self) -> Any: ...  # the outcome of all finished episodes


OF_SAME_TASK = "come from the same task"


def require_stored(
    checkpoint: Mapping[str, np.ndarray], name: str, dtype: np.dtype, shape: tuple[int, ...] = ()
) -> None:
    """Refuse a checkpoint in which an array is missing, or of another type or shape."""
    stored = checkpoint.get(name)
    if stored is None:
        raise ArgumentError("checkpoint", OF_SAME_TASK, checkpoint, f"no {name}")
    if (stored.dtype, stored.shape) != (dtype, shape):
        got = f"{name} of {stored.dtype}{list(stored.shape)} where {dtype}{list(shape)} was expected"
        raise ArgumentError("checkpoint", OF_SAME_TASK, checkpoint, got)


def read_progress(checkpoint: Mapping[str, np.ndarray], num_episodes: int) -> tuple[int, float]:
    """Return the episodes that a checkpoint of a task has, and the seconds that they took."""
    for name, kind in (("done", np.int64), ("seconds", np.float64)):
        require_stored(checkpoint, name, np.dtype(kind))
    done, seconds = int(checkpoint["done"]), float(checkpoint["seconds"])
    if not 0 <= done <= num_episodes or not 0.0 <= seconds < math.inf:
        raise ArgumentError("checkpoint", OF_SAME_TASK, checkpoint, f"{done} episodes in {seconds} seconds")
    return done, seconds


class Chunk(NamedTuple):
    """Curves of the points that a chunk of episodes has finished, `[*grid, runs, points]`, as in `Result`."""

    environment: str  # labels in the experiment; empty in `simulate`
    agent: str
    first_run: int  # number of the first of the runs
    num_episodes: int  # of a whole run
    episodes: np.ndarray  # [points] episodes played up to and including each point
    returns: np.ndarray  # rewards collected in an episode
    regret: np.ndarray  # exact dynamic regret of an episode
    cumulative_regret: np.ndarray  # from the first episode on
    diagnostics: Mapping[str, np.ndarray]  # curves that some agents have

    def point(self, index: int) -> Chunk:
        """Return the chunk of one agent of a grid with one axis."""
        curves = {name: getattr(self, name)[index] for name in ("returns", "regret", "cumulative_regret")}
        own = {name: curve[index] for name, curve in self.diagnostics.items()}
        return self._replace(**curves, diagnostics=own)


OnChunk = Callable[[Chunk], None]


class EngineError(RuntimeError):
    """An engine that cannot run its tasks; the text says why. Finished work is kept."""


class Engine(Protocol):
    """A way to run many tasks: in processes, or on a cluster."""

    @property
    def at_once(self) -> int: ...  # tasks that run at a time on this machine

    def finish(self, tasks: Sequence[Job], folder: Path, report: OnProgress, poll: Poll) -> None:
        """Bring the checkpoint of every task in the folder to its end, or until `poll` raises something.

        The first report of a task has the episodes that were finished before.
        """


@dataclass(frozen=True, eq=False)
class Task:
    """An agent, or a grid of its numbers, in an environment for some runs; see `simulate` for the fields."""

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
        for name, limits in COUNTS.items():
            object.__setattr__(self, name, require_count(name, getattr(self, name), **limits))
        if self.first_run + self.num_runs > 1 << 32:
            got = f"{self.first_run} with num_runs = {self.num_runs}"
            raise ArgumentError("first_run", "leave the last run a number below 2^32", self.first_run, got)
        object.__setattr__(self, "chunk_size", min(self.chunk_size, max(self.num_episodes, CHUNK)))
        require_choice("precision", self.precision, ("float64", "float32"))
        if self.device is not None:
            require_choice("device", self.device, ("cpu", "gpu"))
        require_instance("environment", self.environment, Environment)
        if not (isinstance(self.agent, Agent) and is_part(self.agent)):
            raise ArgumentError("agent", "be built by one of driftwise.algorithms", self.agent)
        own, here = self.agent.spec, self.environment.spec
        if own != here:
            raise ArgumentError("agent", f"be built for {here}", self.agent, f"an agent for {own}")

    @property
    def prefix(self) -> str:
        """The beginning of error messages about the task: its name and a colon, if it has a name."""
        return f"{self.name}: " if self.name else ""

    def arguments(self) -> dict[str, Any]:
        """Return everything but the models that determines the numbers, in plain values."""
        return dict(
            agent=to_config(self.agent),
            environment={"name": self.environment.name, **self.environment.config},
            **{name: getattr(self, name) for name in COUNTS},
            precision=self.precision,
        )

    def identity(self) -> dict[str, Any]:
        """Return everything that determines its numbers; an environment by a digest of its models."""
        return {"models": self.environment.digest(), **self.arguments()}

    def on(self, device: Device) -> Task:
        """Return the same task for this kind of device."""
        return replace(self, device=device)

    def begin(self) -> Simulation:
        """Return the simulation of this task, of which nothing is played yet."""
        from driftwise.simulation.simulator import Simulation

        return Simulation(self)

    def split(self) -> list[Task]:
        """Return tasks of at most `RUNS_OF_A_TASK` of these runs, alike in size, as each size is compiled."""
        count = -(-self.num_runs // RUNS_OF_A_TASK)
        borders = [self.first_run + self.num_runs * i // count for i in range(count + 1)]
        return [replace(self, first_run=a, num_runs=b - a) for a, b in itertools.pairwise(borders)]


def play(
    agent: Agent,
    environment: Environment,
    num_episodes: int,
    *,
    seed: int = 0,
    run: int = 0,
    episodes: Sequence[int] | None = None,
) -> Iterator[PlayedEpisode]:
    """Play a run and give each episode in full: features, plan, trajectory, values and the agent's states.

    It plays what `simulate` plays, to rounding, step by step on NumPy: the same draws, agents and worlds.

    ```python
    for played in play(agent, environment, num_episodes=100):
        played.plan.q, played.episode.actions, played.record.optimal - played.record.value
    ```

    `episodes` are the only ones that are played, in this order; all of the run unless given.
    """
    task = Task(agent, environment, num_episodes=num_episodes, seed=seed, first_run=run)  # it checks them
    require_single(agent)
    return _played(task, np.arange(task.num_episodes) if episodes is None else np.asarray(episodes))


def _played(task: Task, chosen: np.ndarray) -> Iterator[PlayedEpisode]:
    agent, environment = task.agent, task.environment
    world = environment.to_arrays(needs=agent.needs)
    key, carry = random.fold(random.key(task.seed), task.first_run), world.begin(agent)
    path = environment.at(chosen)
    for place, t in enumerate(chosen.tolist()):
        inputs = map_tree(lambda leaf: leaf[0], world.inputs(path[place : place + 1]))
        played = world.advance(agent, copy.deepcopy(carry), inputs, key, t)  # which may overwrite the copy
        yield played._replace(before=carry.state)
        carry = played.carry
