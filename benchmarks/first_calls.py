"""Seconds of the first call of each algorithm: with nothing compiled before, and in a second process.

    python -m benchmarks.first_calls

Each call is one episode of 64 runs in a process of its own, after its imports. The first process begins with
an empty folder for compiled programs, the second with what the first has left there. More than the limit is a
failure.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from benchmarks.measuring import print_table, seconds
from benchmarks.speed import every_agent
from driftwise.simulation.devices import CACHE_SETTING
from driftwise.simulation.running import simulate

LIMIT = 3.0
NUM_RUNS, NUM_EPISODES = 64, 500


def called(name: str, folder: str) -> float:
    """Seconds of the call in a new process, which keeps compiled programs in this folder."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("JAX_")}
    command = [sys.executable, "-m", "benchmarks.first_calls", "--call", name]
    process = subprocess.run(
        command, env=environ | {CACHE_SETTING: folder}, capture_output=True, text=True, check=True
    )
    return float(process.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description="Seconds of first calls.")
    parser.add_argument("--call", help="make this algorithm's first call here, and say how long it took")
    chosen = parser.parse_args().call
    environment, agents = every_agent(NUM_EPISODES)
    if chosen:
        print(seconds(lambda: simulate(agents[chosen], environment, num_episodes=1, num_runs=NUM_RUNS)))
        return 0
    slowest = 0.0

    def rows() -> Iterator[list[str]]:
        nonlocal slowest
        for name in agents:
            with tempfile.TemporaryDirectory() as folder:
                first, second = called(name, folder), called(name, folder)
            slowest = max(slowest, first)
            yield [f"`{name}`", f"{first:.1f}", f"{second:.1f}"]

    headings = ("algorithm", "first call, s", "in a second process, s")
    print_table(f"First calls, {NUM_RUNS} runs", headings, rows())
    return int(slowest > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
