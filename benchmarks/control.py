"""Control problems at rest and under drift: our agent, with one default, against DQN and PPO.

    pip install -e '.[bench-control]'
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.control --out results/control-benchmark.json

What the file has is not played again. `--figures` writes the figure of the README.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from driftwise.gym.control_problems import CONTROL_AGENTS, CONTROL_PROBLEMS, STRETCH
from driftwise.online import EpisodicAgent, train

DEEP_EPISODES = {"cart_pole": 400, "mountain_car": 750}  # of DQN and PPO; else as many as with a drift
WITH_DRIFT = 240
TORQUES = 9  # of Pendulum, for DQN
LEARNERS = (*CONTROL_AGENTS, "dqn", "ppo")

Cell = tuple[str, str, int]  # a problem, a learner and a seed
Played = dict[str, dict[str, list[float]]]


class Torques(gymnasium.ActionWrapper):
    """Pendulum with evenly spaced torques for actions."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.action_space = gymnasium.spaces.Discrete(TORQUES)
        self._torques = np.linspace(-2, 2, TORQUES)

    def action(self, action: Any) -> np.ndarray:
        return self._torques[[int(action)]]


def play_cell(cell: Cell) -> tuple[Cell, dict[str, list[float]]]:
    """Return returns and end times of the episodes of a learner in a problem for a seed."""
    name, learner, seed = cell
    problem = CONTROL_PROBLEMS[name]
    if learner not in CONTROL_AGENTS:
        from benchmarks import deep

        wrapped = learner == "dqn" and problem.id == "Pendulum-v1"
        make = (lambda: Torques(problem.make())) if wrapped else problem.make
        num = DEEP_EPISODES.get(name, WITH_DRIFT)
        return cell, deep.play(learner, problem, make, num, seed)
    env, start, ends = problem.make(), time.perf_counter(), list[float]()
    agent = EpisodicAgent.for_env(env, seed=seed, **CONTROL_AGENTS[learner])
    watch = lambda *_: ends.append(time.perf_counter() - start)  # noqa: E731
    played = train(agent, env, problem.num_episodes, seed=seed, progress=watch)
    return cell, {"returns": played.returns.round(3).tolist(), "seconds": np.round(ends, 3).tolist()}


def runs_of(played: Played, problem: str, learner: str) -> list[dict[str, list[float]]]:
    """Return the runs of a learner in a problem."""
    return [own for key, own in played.items() if key.split("|")[:2] == [problem, learner]]


def interval(values: np.ndarray) -> str:
    """Return the mean over seeds with its standard error."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():.0f} ± {error:.0f}"


def report(played: Played) -> None:
    """Print mean returns of stretches of episodes, and seconds an episode, in Markdown."""
    columns = ["1–20", "21–60", "61–100", "101–200", "201–400", "401–750", "s/episode"]
    print("| problem | learner |", " | ".join(columns), "|\n|---|---|" + "---|" * len(columns))
    spans = [(0, 20), (20, 60), (60, 100), (100, 200), (200, 400), (400, 750)]
    for name in CONTROL_PROBLEMS:
        for learner in LEARNERS:
            if not (runs := runs_of(played, name, learner)):
                continue
            returns = np.array([run["returns"] for run in runs])
            means = [interval(returns[:, a:b].mean(axis=1)) if returns.shape[1] > a else "" for a, b in spans]
            seconds = np.mean([run["seconds"][-1] / len(run["returns"]) for run in runs])
            print(f"| {name} | {learner} |", " | ".join([*means, f"{seconds:.2f}"]), "|")
    print("\nMeans of the second half of each stretch between jumps:\n")
    for name, problem in CONTROL_PROBLEMS.items():
        for learner in LEARNERS:
            runs = runs_of(played, name, learner)
            if runs and problem.drift and problem.drift.changes(problem.num_episodes):
                returns = np.array([run["returns"] for run in runs]).reshape(len(runs), -1, STRETCH)
                halves = returns[..., STRETCH // 2 :].mean(axis=-1)
                firsts = returns[:, 2:, :10].mean(axis=-1)
                texts = [[interval(column) for column in part.T] for part in (halves, firsts)]
                later = f"first ten of stretches 3 to 6: {', '.join(texts[1])}"
                print(f"{name}, {learner}: {', '.join(texts[0])}; {later}")


FIGURE = "cart_pole_reversed"  # the problem of the README's figure, with these curves
CURVES = {
    "adaptive": "weighs memories, and knows\nworlds that return",
    "memory_all": "one memory of all episodes,\nno worlds",
    "dqn": "DQN",
}
_SMOOTH = 5  # episodes of a mean


def write_figures(played: Played) -> None:
    """Write the figure of the README, for light and for dark pages."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from tools.first_figure import IMAGES, PAGES

    from driftwise.analysis.matplotlib_figures import COLOURS, STYLE

    kernel, colours = np.full(_SMOOTH, 1 / _SMOOTH), (COLOURS[1], COLOURS[3], COLOURS[0])
    for page, (text, lines) in PAGES.items():
        ink = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), text)
        look: dict[Any, Any] = {**STYLE, **ink, "axes.edgecolor": lines, "grid.color": lines, "font.size": 12}
        with mpl.rc_context(look):
            drawing = Figure(figsize=(9.6, 3.4), layout="constrained")
            axes = drawing.subplots()
            for (learner, name), colour in zip(CURVES.items(), colours, strict=True):
                runs = [run["returns"] for run in runs_of(played, FIGURE, learner)]
                smooth = np.array([np.convolve(returns, kernel, mode="valid") for returns in runs])
                mean, error = smooth.mean(axis=0), smooth.std(axis=0, ddof=1) / np.sqrt(len(runs))
                x = np.arange(_SMOOTH, WITH_DRIFT + 1)
                axes.plot(x, mean, color=colour)
                axes.fill_between(x, mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
                place = (1, mean[-20:].mean()), (8, -4), ("axes fraction", "data"), "offset points"
                axes.annotate(name, *place, size=11, va="center")
            for jump in range(STRETCH, WITH_DRIFT, STRETCH):
                axes.axvline(jump, color=text, linewidth=1, linestyle=(0, (4, 3)))
            axes.set(xlabel="episode", ylabel="steps balanced", xlim=(0, WITH_DRIFT), ylim=(0, 310))
            drawing.savefig(IMAGES / f"control-{page}.svg", transparent=True, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description="Control problems at rest and under drift.")
    parser.add_argument("--out", type=Path, required=True, help="file of what was played, to which is added")
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=LEARNERS)
    known = list(CONTROL_PROBLEMS)
    parser.add_argument("--problems", nargs="+", default=known, choices=known)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--figures", action="store_true", help="also write the README's figure")
    options = parser.parse_args()
    played = json.loads(options.out.read_text()) if options.out.exists() else {}
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    cells = [(name, own, seed) for own in options.learners for name in options.problems for seed in seeds]
    missing = [cell for cell in cells if "|".join(map(str, cell)) not in played]
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=1) as pool:
        for cell, result in pool.imap_unordered(play_cell, missing):
            played["|".join(map(str, cell))] = result
            options.out.write_text(json.dumps(played))
    report(played)
    if options.figures:
        write_figures(played)
    return 0


if __name__ == "__main__":
    sys.exit(main())
