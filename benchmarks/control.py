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
from driftwise.online import EpisodicAgent, train

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


OURS: dict[str, dict[str, Any]] = {
    "ours": {},
    "never forgetting": dict(memories=[None], max_worlds=1),
    "ten episodes": dict(memories=[10], max_worlds=1),
}
LEARNERS = (*OURS, "dqn", "ppo")
_OURS_AT_REST = 100  # episodes of our agents where nothing changes

Cell = tuple[str, str, int]  # a world, a learner and a seed


def play_cell(cell: Cell) -> tuple[Cell, dict[str, list[float]]]:
    """Return returns and end times of the episodes of a learner in a world for a seed."""
    name, learner, seed = cell
    world = WORLDS[name]
    if learner not in OURS:
        from benchmarks import deep

        return cell, deep.play(learner, world, world.num_episodes, seed)
    env, start, ends = world.make(), time.perf_counter(), list[float]()
    agent = EpisodicAgent.for_env(env, seed=seed, **OURS[learner])
    num = world.num_episodes if world.drift else _OURS_AT_REST
    played = train(agent, env, num, seed=seed, progress=lambda *_: ends.append(time.perf_counter() - start))
    return cell, {"returns": played.returns.round(3).tolist(), "seconds": np.round(ends, 3).tolist()}


def interval(values: np.ndarray) -> str:
    """Return the mean over seeds with its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.0f} ± {error:.0f}"


def report(played: dict[str, dict[str, list[float]]]) -> None:
    """Print mean returns of stretches of episodes, and seconds an episode, in Markdown."""
    columns = ["1–20", "21–60", "61–100", "101–200", "201–400", "401–750", "s/episode"]
    print("| world | learner |", " | ".join(columns), "|\n|---|---|" + "---|" * len(columns))
    spans = [(0, 20), (20, 60), (60, 100), (100, 200), (200, 400), (400, 750)]
    for name in WORLDS:
        for learner in LEARNERS:
            runs = [own for key, own in played.items() if key.split("|")[:2] == [name, learner]]
            if not runs:
                continue
            returns = np.array([run["returns"] for run in runs])
            means = [interval(returns[:, a:b].mean(axis=1)) if returns.shape[1] > a else "" for a, b in spans]
            seconds = np.mean([run["seconds"][-1] / len(run["returns"]) for run in runs])
            print(f"| {name} | {learner} |", " | ".join([*means, f"{seconds:.2f}"]), "|")
    print("\nMeans of the second half of each stretch between jumps:\n")
    for name in WORLDS:
        for learner in LEARNERS:
            runs = [own for key, own in played.items() if key.split("|")[:2] == [name, learner]]
            if runs and WORLDS[name].drift is _JUMPS:
                returns = np.array([run["returns"] for run in runs]).reshape(len(runs), -1, STRETCH)
                halves = returns[..., STRETCH // 2 :].mean(axis=-1)
                firsts = returns[:, 2:, :10].mean(axis=-1)
                texts = [[interval(column) for column in part.T] for part in (halves, firsts)]
                later = f"first ten of stretches 3 to 6: {', '.join(texts[1])}"
                print(f"{name}, {learner}: {', '.join(texts[0])}; {later}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Control problems at rest and under drift.")
    parser.add_argument("--out", type=Path, required=True, help="file of what was played, to which is added")
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=LEARNERS)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    played = json.loads(options.out.read_text()) if options.out.exists() else {}
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    cells = [
        (world, learner, seed) for learner in options.learners for world in options.worlds for seed in seeds
    ]
    missing = [cell for cell in cells if "|".join(map(str, cell)) not in played]
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=1) as pool:
        for cell, result in pool.imap_unordered(play_cell, missing):
            played["|".join(map(str, cell))] = result
            options.out.write_text(json.dumps(played))
    report(played)
    return 0


if __name__ == "__main__":
    sys.exit(main())
