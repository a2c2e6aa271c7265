"""Control problems at rest and under drift, and the playing of agents in them as tasks of an engine."""

import json
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from driftwise.base.provenance import provenance
from driftwise.base.validation import ArgumentError
from driftwise.environments.drift import Abrupt, Drift, Gradual, Periodic
from driftwise.gym.drifting import make_drifting
from driftwise.online import ControlAgent, EpisodicAgent, train
from driftwise.simulation.tasks import read_progress

STRETCH = 40  # episodes between jumps
_NUM_STRETCHES = 6


@dataclass(frozen=True)
class ControlProblem:
    """An environment of Gymnasium, at rest or with one of `READY_DRIFTS`."""

    id: str
    max_steps: int
    num_episodes: int
    parameter: str = ""
    drift: Drift | None = None

    def make(self) -> gymnasium.Env:
        """Return the environment."""
        if self.drift is None:
            return gymnasium.make(self.id, max_episode_steps=self.max_steps)
        return make_drifting(self.id, self.parameter, self.drift, max_episode_steps=self.max_steps)


def _problems() -> dict[str, ControlProblem]:
    num = STRETCH * _NUM_STRETCHES
    jumps = Abrupt(tuple(range(STRETCH, num, STRETCH)), num_anchors=2)
    slope, wave = Gradual((0, num)), Periodic(2 * STRETCH)
    rest = {"cart_pole": ("CartPole-v1", 500), "mountain_car": ("MountainCar-v0", 200)}
    rest |= {"acrobot": ("Acrobot-v1", 500), "pendulum": ("Pendulum-v1", 200)}
    problems = {name: ControlProblem(*sizes, 100) for name, sizes in rest.items()}
    moving: dict[str, dict[str, Drift]] = {
        "cart_pole": {"reversed": jumps, "length": slope, "gravity": wave},
        "mountain_car": {"reversed": jumps, "gravity": slope, "force": wave},
        "acrobot": {"reversed": jumps, "mass": slope, "length": wave},
        "pendulum": {"gravity": jumps, "mass": slope, "length": wave},
    }
    for name, drifts in moving.items():
        id, steps = rest[name]
        for parameter, drift in drifts.items():
            sizes = id, min(steps, 300) if name == "cart_pole" else steps, num
            problems[f"{name}_{parameter}"] = ControlProblem(*sizes, parameter, drift)
    return problems


CONTROL_PROBLEMS = _problems()
CONTROL_AGENTS: dict[str, dict[str, Any]] = {  # options of `EpisodicAgent.for_env`
    "adaptive": {},
    "memory_10": {"memories": [10], "max_worlds": 1},
    "memory_all": {"memories": [None], "max_worlds": 1},
}


class ControlRun(NamedTuple):
    """The episodes of an agent in a problem."""

    returns: np.ndarray  # [num_episodes]
    seconds: float


@dataclass(frozen=True)
class ControlTask:
    """A run of an agent of `CONTROL_AGENTS` in a problem; see `simulation.tasks.Job`.

    Episode t begins with a seed of its own, so that a run that was stopped goes on as if it had not been.
    """

    agent: str
    problem: str
    seed: int
    num_episodes: int
    device: Any = "cpu"

    @property
    def name(self) -> str:
        return f"{self.agent} in {self.problem}, seed {self.seed}"

    def identity(self) -> dict[str, Any]:
        versions = {"numpy": np.__version__, "gymnasium": gymnasium.__version__}
        facts = {"problem": repr(CONTROL_PROBLEMS[self.problem]), "options": CONTROL_AGENTS[self.agent]}
        return {"kind": "control", "seed": self.seed, "num_episodes": self.num_episodes, **facts, **versions}

    def on(self, device: Any) -> "ControlTask":
        return self  # agents play on the CPU

    def begin(self) -> "ControlWork":
        return ControlWork(self)


class ControlWork:
    """A control task in progress; see `simulation.tasks.Work`."""

    platform = "cpu"

    def __init__(self, task: ControlTask) -> None:
        self.task, self.seconds = task, 0.0
        self.sources: dict[str, str] = dict(provenance()["sources"])
        self._env = CONTROL_PROBLEMS[task.problem].make()
        self._agent = EpisodicAgent.for_env(self._env, seed=task.seed, **CONTROL_AGENTS[task.agent])
        self._returns: list[float] = []
        self._before: str | None = None  # the origin of a checkpoint that was read

    @property
    def done(self) -> int:
        """Episodes that are finished."""
        return len(self._returns)

    @property
    def finished(self) -> bool:
        return self.done == self.task.num_episodes

    def advance(self, seconds: float | None = None) -> None:
        """Play on, for about so many seconds if they are given, or else one episode."""
        started = time.perf_counter()
        while not self.finished:
            number = self.done
            seed = int(np.random.SeedSequence([self.task.seed, number]).generate_state(1)[0])
            env = _StartingAt(self._env, number) if CONTROL_PROBLEMS[self.task.problem].drift else self._env
            self._returns.append(float(train(self._agent, env, 1, seed=seed).returns[0]))
            if seconds is None or time.perf_counter() - started >= seconds:
                break
        self.seconds += time.perf_counter() - started

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Return all that `restore` needs."""
        origin = {"device": platform.processor(), **provenance(), "sources": self.sources}
        origin = self._before or json.dumps(origin, sort_keys=True)
        agent = np.frombuffer(self._agent.to_bytes(), dtype=np.uint8)
        returns = np.array(self._returns, dtype=np.float64)
        arrays: dict[str, Any] = dict(done=self.done, seconds=self.seconds, origin=origin)
        arrays |= {"agent": agent, "returns": returns}
        return {name: np.asarray(value) for name, value in arrays.items()}

    def restore(self, checkpoint: Mapping[str, np.ndarray]) -> None:
        """Continue from a checkpoint of the same task."""
        done, seconds = read_progress(checkpoint, self.task.num_episodes)
        returns = checkpoint["returns"].tolist()
        agent = ControlAgent.from_bytes(checkpoint["agent"].tobytes())
        if len(returns) != done or agent.num_episodes != done:
            raise ArgumentError("returns", f"be of the {done} episodes that were played", returns)
        self._returns, self._agent, self.seconds = returns, agent, seconds
        self._before = str(checkpoint["origin"])

    def result(self) -> ControlRun:
        """Return the finished episodes."""
        return ControlRun(np.array(self._returns), self.seconds)


class _StartingAt(gymnasium.Wrapper):
    """A drifting environment whose next reset is that of an episode's number."""

    def __init__(self, env: gymnasium.Env, number: int) -> None:
        super().__init__(env)
        self._number = number

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.env.reset(seed=seed, options={"episode": self._number, **(options or {})})
