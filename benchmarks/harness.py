"""What the harness costs: an experiment run by `driftwise run` against the bare simulator, and many tasks.

    python -m benchmarks.harness

First, one agent for about a minute, with and without checkpoints, files, figure and manifest, in turns; the
better of two counts, and more than a tenth on top is a failure. The table is a grid of parameter points in
small simulations, cut into as many tasks: if starting, storing and reading are linear in their number, the
time for a task stays the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftwise.analysis.finished import FinishedStudy
from driftwise.analysis.report import write_report
from driftwise.experiments import prepare, run_study
from driftwise.experiments.experiment import Experiment, experiment_of
from driftwise.simulation import tasks as splitting
from driftwise.simulation.running import simulate

LIMIT = 0.1  # of the time, for all but playing


def seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def experiment(episodes: int, runs: int, **agent: Any) -> Experiment:
    return experiment_of(
        dict(
            name="harness",
            summary="What the harness costs",
            episodes=episodes,
            runs=runs,
            environment=dict(type="combination_lock", drift=dict(type="Abrupt", at=["50%"])),
            agents={"agent": dict(algorithm="opt_wlsvi", **agent)},
        )
    )


def bare(given: Experiment) -> None:
    (group,) = prepare(given).groups
    simulate(group.task.agent, group.task.environment, num_episodes=given.episodes, num_runs=given.runs)


def harness(given: Experiment, folder: Path) -> None:
    study = prepare(given)
    finished = FinishedStudy.of(study, run_study(study, checkpoints=folder / "tasks"))
    finished.write(folder)
    finished.write_figure(folder)


def overhead(target: float) -> dict[str, float]:
    """The better of two times of both, compiled beforehand, for episodes that take about `target` seconds."""
    agent = dict(rate=0.98, radius=0.6)
    bare(experiment(512, 64, **agent))
    speed = 4096 / seconds(lambda: bare(experiment(4096, 64, **agent)))
    given = experiment(int(speed * target) // 256 * 256, 64, **agent)
    alone, within = [], []
    for _ in range(2):
        alone.append(seconds(lambda: bare(given)))
        with tempfile.TemporaryDirectory() as folder:
            within.append(seconds(lambda folder=folder: harness(given, Path(folder))))
    return {"episodes": given.episodes, "bare": min(alone), "harness": min(within)}


def tasks(count: int) -> dict[str, float]:
    """Seconds for a grid of `count` points, a task each: running, running again, reporting."""
    rates = [round(0.9 + 0.1 * i / count, 6) for i in range(count)]
    given = experiment(100, 4, rate=rates, radius=0.6)
    before, splitting.RUNS_OF_A_TASK = splitting.RUNS_OF_A_TASK, 4
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            first = seconds(lambda: harness(given, folder))
            again = seconds(lambda: harness(given, folder))
            report = seconds(lambda: write_report(folder))
            size = (folder / "report.html").stat().st_size
    finally:
        splitting.RUNS_OF_A_TASK = before
    return {"tasks": count, "first": first, "again": again, "report": report, "megabytes": size / 1e6}


def main() -> int:
    parser = argparse.ArgumentParser(description="What the harness costs.")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the run")
    parser.add_argument("--tasks", type=int, nargs="*", default=[125, 250, 500, 1000])
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    cost = overhead(options.seconds)
    print(f"{cost['episodes']:.0f} episodes × 64 runs: bare engine {cost['bare']:.1f} s, ", end="")
    share = cost["harness"] / cost["bare"] - 1
    print(f"with the harness {cost['harness']:.1f} s: {100 * share:+.1f} %\n")
    print("| tasks | run, ms a task | run again, ms a task | report, s | report, MB |\n|---|---|---|---|---|")
    rows = []
    harness_warm_up = tasks(8)
    for count in options.tasks:
        row = tasks(count)
        rows.append(row)
        each = [1000 * row[name] / count for name in ("first", "again")]
        print(f"| {count} | {each[0]:.1f} | {each[1]:.1f} | {row['report']:.1f} | {row['megabytes']:.1f} |")
    if options.json:
        options.json.write_text(json.dumps({"overhead": cost, "warm_up": harness_warm_up, "tasks": rows}))
    return int(share > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
