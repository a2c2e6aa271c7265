"""Bytes that a run takes, for every forgetting: by the shapes of its arrays, and as the compiler says.

    python -m benchmarks.bytes                # a Markdown table
    python -m benchmarks.bytes --length 100   # of shorter windows

Nothing is played: two programs are compiled for a CPU, one that plays runs in blocks, as CPUs do, and one
that plays all of them at once, as accelerators do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import driftwise as dw
from driftwise.base.agent import Agent
from driftwise.base.arrays import map_tree
from driftwise.environments import Environment
from driftwise.parts.forgetting import WindowMemory
from driftwise.simulation.devices import Split, find_devices
from driftwise.simulation.memory_budget import compiled_bytes, measure_footprint
from driftwise.simulation.tasks import Task

RUNS = 256, 512  # the compiler's bytes for a run are the difference of two programs
DEVICE = find_devices("cpu")[:1]


def cases(length: int) -> dict[str, tuple[Agent, Environment]]:
    """Agents that differ in their memory alone, by what the table calls them."""
    mdp = dw.environments.random_linear_mdp(num_states=20, num_actions=5, dim=10, horizon=10, seed=0)
    forgettings = {
        "`NoForgetting`": dw.forgetting.NoForgetting(),
        "`PeriodicRestart`, `RestartAt`": dw.forgetting.PeriodicRestart(length),
        "`ExponentialWeights`": dw.forgetting.ExponentialWeights(1 - 1 / length),
        "`DirectionalForgetting`": dw.forgetting.DirectionalForgetting(1 - 1 / length),
        f"`SlidingWindow({length})`": dw.forgetting.SlidingWindow(length),
    }
    ucb = dw.exploration.Ucb(1.0)
    found: dict[str, tuple[Agent, Environment]] = {
        name: (dw.algorithms.least_squares(mdp.spec, forgetting=forgetting, exploration=ucb), mdp)
        for name, forgetting in forgettings.items()
    }
    fresh = dw.environments.linear_bandit(
        arms=dw.arms.FreshArms(20, 10), path=dw.paths.Mixture((np.full(10, 0.3),), dw.drift.Constant())
    )
    window = dw.forgetting.SlidingWindow(length)
    bandit = dw.algorithms.least_squares(fresh.spec, forgetting=window, exploration=ucb)
    found[f"`SlidingWindow({length})`, counts (`ucbvi`)"] = (
        dw.algorithms.ucbvi(mdp.spec, scale=1.0, length=length),
        mdp,
    )
    found[f"`SlidingWindow({length})`, a bandit with new arms"] = bandit, fresh
    return found


def sample_bytes(agent: Agent, environment: Environment) -> int:
    """Bytes of the samples that the agent's memory keeps."""
    found: list[int] = []

    def look(state: Any) -> None:
        if isinstance(state, WindowMemory):
            map_tree(lambda leaf: found.append(leaf.nbytes), state.samples)
        elif isinstance(state, tuple):
            for part in state:
                look(part)

    look(agent.init(environment.to_arrays().example))
    return sum(found)


def played(task: Task, split_of: Callable[[int], Split]) -> float:
    """Bytes that the compiled program takes for one more run."""
    few, many = (compiled_bytes(replace(task, num_runs=each), split_of(each)) or 0 for each in RUNS)
    return (many - few) / (RUNS[1] - RUNS[0])


def row(name: str, agent: Agent, environment: Environment) -> str:
    task = Task(agent, environment, num_episodes=1000, num_runs=1)
    double, single = measure_footprint(task), measure_footprint(replace(task, precision="float32"))
    in_blocks = played(task, partial(Split.of, DEVICE))
    at_once = played(task, lambda num_runs: Split(DEVICE, num_runs, num_blocks=1, size=num_runs))
    numbers = (double.state, sample_bytes(agent, environment), single.state, in_blocks, at_once)
    told = " | ".join(f"{number:,.0f}" for number in numbers)
    return f"| {name} | {told} | {32_768 * at_once / 2**30:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--length", type=int, default=1000, help="of windows")
    length = parser.parse_args().length
    print("d = 10, S = 20, A = 5, H = 10; bytes a run, in float64 unless said\n")
    columns = "state", "samples in it", "state, float32", "in blocks", "at once", "32,768 runs, GiB"
    print(f"| forgetting | {' | '.join(columns)} |")
    print(f"|{'---|' * (1 + len(columns))}")
    for name, (agent, environment) in cases(length).items():
        print(row(name, agent, environment), flush=True)


if __name__ == "__main__":
    main()
