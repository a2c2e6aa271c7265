"""Control problems at rest and under drift: our agent, with one default, against DQN and PPO.

    pip install -e '.[bench-control]'
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.control --out results/control.json

Each cell (world, learner, seed) is written as it ends and not played again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from driftwise.environments.drift import Abrupt, Drift, Gradual, Periodic
from driftwise.gym import make_drifting

NUM_EPISODES = 240  # where a parameter drifts
STRETCH = 40  # episodes between jumps
TORQUES = 9  # of Pendulum, for learners with discrete actions
_JUMPS = Abrupt(tuple(range(STRETCH, NUM_EPISODES, STRETCH)), num_anchors=2)
_SLOPE, _WAVE = Gradual((0, NUM_EPISODES)), Periodic(2 * STRETCH)


class Torques(gymnasium.ActionWrapper):
    """Pendulum with evenly spaced torques for actions."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(TORQUES)
        self._torques = np.linspace(-2, 2, TORQUES)

    def action(self, action: Any) -> np.ndarray:
        return self._torques[[int(action)]]


class World(NamedTuple):
    """An environment of Gymnasium, at rest or with a drift of `driftwise.gym.READY_DRIFTS`."""

    id: str
    max_steps: int
    num_episodes: int
    parameter: str = ""
    drift: Drift | None = None

    def make(self, *, discrete: bool = False) -> gymnasium.Env:
        options: dict[str, Any] = dict(max_episode_steps=self.max_steps)
        if self.drift is None:
            env = gymnasium.make(self.id, **options)
        else:
            env = make_drifting(self.id, self.parameter, self.drift, **options)
        return Torques(env) if discrete and self.id == "Pendulum-v1" else env


WORLDS = {
    "CartPole": World("CartPole-v1", 500, 400),
    "MountainCar": World("MountainCar-v0", 200, 750),
    "Acrobot": World("Acrobot-v1", 500, 240),
    "Pendulum": World("Pendulum-v1", 200, 240),
    "CartPole, force reversed": World("CartPole-v1", 300, NUM_EPISODES, "reversed", _JUMPS),
    "CartPole, pole grows": World("CartPole-v1", 300, NUM_EPISODES, "length", _SLOPE),
    "CartPole, gravity rises and falls": World("CartPole-v1", 300, NUM_EPISODES, "gravity", _WAVE),
    "MountainCar, force reversed": World("MountainCar-v0", 200, NUM_EPISODES, "reversed", _JUMPS),
    "MountainCar, gravity rises": World("MountainCar-v0", 200, NUM_EPISODES, "gravity", _SLOPE),
    "MountainCar, force rises and falls": World("MountainCar-v0", 200, NUM_EPISODES, "force", _WAVE),
    "Acrobot, torque reversed": World("Acrobot-v1", 500, NUM_EPISODES, "reversed", _JUMPS),
    "Acrobot, link becomes heavy": World("Acrobot-v1", 500, NUM_EPISODES, "mass", _SLOPE),
    "Acrobot, link grows and shrinks": World("Acrobot-v1", 500, NUM_EPISODES, "length", _WAVE),
    "Pendulum, gravity jumps": World("Pendulum-v1", 200, NUM_EPISODES, "gravity", _JUMPS),
    "Pendulum, mass falls": World("Pendulum-v1", 200, NUM_EPISODES, "mass", _SLOPE),
    "Pendulum, length rises and falls": World("Pendulum-v1", 200, NUM_EPISODES, "length", _WAVE),
}


def play_cell(cell: tuple[str, str, int]) -> dict[str, Any]:
    """Return the returns of a learner in a world for a seed."""
    name, learner, seed = cell
    world = WORLDS[name]
    if learner in ("dqn", "ppo"):
        from benchmarks import deep

        return deep.play(learner, world, world.num_episodes, seed)
    raise NotImplementedError


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--learners", nargs="+", default=["dqn", "ppo"])
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which nothing is begun")
    options = parser.parse_args()
    played = json.loads(options.out.read_text()) if options.out.exists() else {}
    cells = [(w, a, s) for a in options.learners for w in options.worlds for s in range(options.seeds)]
    missing = [cell for cell in cells if "|".join(map(str, cell)) not in played]
    start = time.monotonic()
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=1) as pool:
        results = pool.imap_unordered(_played, missing)
        for _ in missing:
            try:
                cell, result = results.next(timeout=max(options.limit - (time.monotonic() - start), 1))
            except multiprocessing.TimeoutError:
                break
            played["|".join(map(str, cell))] = result
            options.out.write_text(json.dumps(played))
            print(
                cell,
                round(result["seconds"][-1]),
                round(float(np.mean(result["returns"][-40:])), 1),
                flush=True,
            )
        pool.terminate()
    return 0


def _played(cell: tuple[str, str, int]) -> tuple[Any, dict[str, Any]]:
    return cell, play_cell(cell)


if __name__ == "__main__":
    sys.exit(main())
