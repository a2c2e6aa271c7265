"""Speed of the simulator against a literal Algorithm 1, as ratios measured in one run.

    python -m benchmarks.speed              # the whole table; the literal code takes some minutes
    python -m benchmarks.speed --quick      # shorter runs, the same comparisons at K = 250 and 1000
    python -m benchmarks.speed --runs 8192  # the simulator alone with so many runs, for accelerators

Ours computes exact regret in every episode; the literal code computes none.
"""

from __future__ import annotations

import argparse
import inspect
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

import driftwise as dw
from benchmarks.literal import opt_wlsvi
from driftwise.environments import LinearMdp
from driftwise.simulation.simulator import simulate

HORIZON = 10
RATE, RADIUS = 0.99, 1.0


def environment(num_episodes: int) -> LinearMdp:
    drift = dw.drift.Abrupt(at=(max(1, num_episodes // 2),))
    return dw.environments.random_linear_mdp(
        num_states=20, num_actions=5, dim=10, horizon=HORIZON, drift=drift, seed=0
    )


def seconds(task: Callable[[], object], repeats: int = 1) -> float:
    """The median of a few timings."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        task()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def ours(num_episodes: int, num_runs: int, **options: Any) -> Callable[[], object]:
    env = environment(num_episodes)
    agent = dw.algorithms.opt_wlsvi(env.spec, rate=RATE, radius=RADIUS)
    return partial(simulate, agent, env, num_episodes=num_episodes, num_runs=num_runs, **options)


def numpy_code(num_episodes: int, *, careful: bool) -> Callable[[], object]:
    env = environment(num_episodes)
    return partial(opt_wlsvi, env, num_episodes=num_episodes, rate=RATE, radius=RADIUS, careful=careful)


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def microseconds(spent: float, num_runs: int, num_episodes: int) -> float:
    """Per run, episode and step."""
    return spent / (num_runs * num_episodes * HORIZON) * 1e6


def against_literal(sizes: list[int]) -> None:
    print("OPT-WLSVI, d=10 S=20 A=5 H=10; ours with exact regret, the NumPy codes without\n")
    print(f"{'':>12} {'seconds for one run':^33}    {'times faster than':^17} {'ours':>9}")
    print(f"{'K':>6} {'runs':>5} {'literal':>10} {'careful':>10} {'ours':>11}", end="")
    print(f"    {'literal':>8} {'careful':>8} {'µs/step':>9}")
    slow: dict[bool, list[float]] = {False: [], True: []}
    fast: dict[int, list[float]] = {1: [], 64: []}
    for runs in fast:
        ours(1, runs)()  # compile
    for size in sizes:
        for careful, times in slow.items():
            times.append(seconds(numpy_code(size, careful=careful)))
        for runs, times in fast.items():
            spent = seconds(ours(size, runs), 5)
            times.append(spent / runs)
            literal, careful = slow[False][-1], slow[True][-1]
            print(f"{size:>6} {runs:>5} {literal:>10.2f} {careful:>10.2f} {times[-1]:>11.4f}", end="")
            print(f"    {literal / times[-1]:>7.0f}x {careful / times[-1]:>7.0f}x", end="")
            print(f" {microseconds(spent, runs, size):>9.2f}", flush=True)
    growth = {"literal": slow[False], "careful": slow[True]}
    growth |= {f"ours, runs: {runs}": times for runs, times in fast.items()}
    fitted = (f"{exponent(sizes, times):.2f} ({name})" for name, times in growth.items())
    print("\ncost grows in K with exponent", ", ".join(fitted))


def all_algorithms(num_episodes: int, num_runs: int) -> None:
    print(f"\nAll algorithms, {num_runs} runs\n\n{'algorithm':>20} {'first call s':>13} {'µs/step':>8}")
    drift = dw.drift.Abrupt(at=(max(1, num_episodes // 2),))
    env = dw.environments.latent_chains(drift=drift)  # which can tell every agent what it needs
    known = dict(num_episodes=num_episodes, variation=env.variation(num_episodes).total)
    for name, algorithm in dw.algorithms.ALGORITHMS.items():
        if algorithm.wraps or algorithm.problem not in ("linear MDP", "tabular MDP", "any"):
            continue
        taken = inspect.signature(algorithm.tuned).parameters
        agent = algorithm.tuned(env.spec, **{key: known[key] for key in known if key in taken})
        play = partial(simulate, agent, env, num_runs=num_runs)
        first = seconds(partial(play, num_episodes=1))
        later = seconds(partial(play, num_episodes=num_episodes), 3)
        print(f"{name:>20} {first:>13.2f} {microseconds(later, num_runs, num_episodes):>8.2f}")


def alone(num_runs: int, num_episodes: int) -> None:
    for precision in ("float64", "float32"):
        play = ours(num_episodes, num_runs, precision=precision, record_every=16)
        first, later = seconds(play), seconds(play, 3)
        print(
            f"{jax.devices()[0].device_kind}, {num_runs} runs, K={num_episodes}, {precision}: first call "
            f"{first:.2f} s, later {later:.2f} s, {microseconds(later, num_runs, num_episodes):.4f} µs/step"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="K = 250 and 1000, not 1000, 2000 and 4000")
    parser.add_argument("--runs", type=int, help="only the simulator, with this many runs")
    options = parser.parse_args()
    if options.runs:
        alone(options.runs, 512)
        return
    against_literal([250, 1000] if options.quick else [1000, 2000, 4000])
    all_algorithms(500, 64)


if __name__ == "__main__":
    main()
