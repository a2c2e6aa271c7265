"""Speed of the simulator against a literal Algorithm 1, as ratios measured in one run, and of all algorithms.

    python -m benchmarks.speed              # both tables; the literal code takes some minutes
    python -m benchmarks.speed --quick      # shorter runs, the same comparisons at K = 250 and 1000
    python -m benchmarks.speed --runs 8192  # the simulator alone with so many runs, for accelerators

Ours computes exact regret in every episode; the literal code computes none. `benchmarks.first_calls` has what
compilation takes.
"""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax

import driftwise as dw
from benchmarks.literal import opt_wlsvi
from benchmarks.measuring import exponent, print_table, seconds, short, times_faster
from driftwise.base.agent import Agent
from driftwise.base.validation import ArgumentError
from driftwise.environments import LinearMdp
from driftwise.simulation.running import simulate

HORIZON = 10
RATE, RADIUS = 0.99, 1.0


def environment(num_episodes: int) -> LinearMdp:
    drift = dw.drift.Abrupt(at=(max(1, num_episodes // 2),))
    return dw.environments.random_linear_mdp(
        num_states=20, num_actions=5, dim=10, horizon=HORIZON, drift=drift, seed=0
    )


def every_agent(num_episodes: int) -> tuple[LinearMdp, dict[str, Agent]]:
    """All algorithms for MDPs with episodes, tuned for a world that can tell each of them what it needs."""
    env = dw.environments.latent_chains(drift=dw.drift.Abrupt(at=(max(1, num_episodes // 2),)))
    known = dict(num_episodes=num_episodes, variation=env.variation(num_episodes).total)
    agents = {}
    for name, algorithm in dw.algorithms.ALGORITHMS.items():
        if algorithm.wraps or algorithm.problem not in ("linear MDP", "tabular MDP", "any"):
            continue
        taken = inspect.signature(algorithm.tuned).parameters
        try:
            agent = algorithm.tuned(env.spec, **{key: known[key] for key in known if key in taken})
            env.to_arrays(needs=agent.needs)
        except (TypeError, ArgumentError) as error:
            print(f"`{name}` is left out: {error}", file=sys.stderr)
        else:
            agents[name] = agent
    return env, agents


def ours(num_episodes: int, num_runs: int, **options: Any) -> Callable[[], object]:
    env = environment(num_episodes)
    agent = dw.algorithms.opt_wlsvi(env.spec, rate=RATE, radius=RADIUS)
    return partial(simulate, agent, env, num_episodes=num_episodes, num_runs=num_runs, **options)


def numpy_code(num_episodes: int, *, careful: bool) -> Callable[[], object]:
    env = environment(num_episodes)
    return partial(opt_wlsvi, env, num_episodes=num_episodes, rate=RATE, radius=RADIUS, careful=careful)


def microseconds(spent: float, num_runs: int, num_episodes: int) -> float:
    """Per run, episode and step."""
    return spent / (num_runs * num_episodes * HORIZON) * 1e6


def against_literal(sizes: list[int]) -> None:
    slow: dict[bool, list[float]] = {False: [], True: []}
    fast: dict[int, list[float]] = {1: [], 64: []}
    for runs in fast:
        ours(1, runs)()  # compile

    def rows() -> Iterator[list[str]]:
        for size in sizes:
            for careful, times in slow.items():
                times.append(seconds(numpy_code(size, careful=careful)))
            literal, careful = slow[False][-1], slow[True][-1]
            for runs, times in fast.items():
                spent = seconds(ours(size, runs), 5)
                times.append(spent / runs)
                yield [
                    *(str(size), str(runs), short(literal), short(careful), short(times[-1])),
                    *(times_faster(each, times[-1]) for each in (literal, careful)),
                    short(microseconds(spent, runs, size)),
                ]

    headings = (
        "K",
        "runs",
        "literal, s",
        "careful, s",
        "ours, s a run",
        "against literal",
        "against careful",
    )
    print_table("OPT-WLSVI, d = 10, S = 20, A = 5, H = 10", (*headings, "ours, µs a step"), rows())
    growth = {"literal": slow[False], "careful": slow[True]}
    growth |= {f"ours, runs: {runs}": times for runs, times in fast.items()}
    fitted = (f"{exponent(sizes, times):.2f} ({name})" for name, times in growth.items())
    print("\nExponent of the cost in K:", ", ".join(fitted))


def all_algorithms(num_episodes: int, num_runs: int) -> None:
    env, agents = every_agent(num_episodes)

    def rows() -> Iterator[list[str]]:
        for name, agent in agents.items():
            play = partial(simulate, agent, env, num_runs=num_runs)
            play(num_episodes=1)  # compiles
            spent = seconds(partial(play, num_episodes=num_episodes), 3)
            yield [f"`{name}`", f"{microseconds(spent, num_runs, num_episodes):.1f}"]

    title = f"All algorithms, {num_runs} runs of {num_episodes} episodes of `latent_chains`"
    print_table(title, ("algorithm", "µs a step"), rows())


def alone(num_runs: int, num_episodes: int) -> None:
    def rows() -> Iterator[list[str]]:
        for precision in ("float64", "float32"):
            play = ours(num_episodes, num_runs, precision=precision, record_every=16)
            first, later = seconds(play), seconds(play, 3)
            step = microseconds(later, num_runs, num_episodes)
            yield [str(num_runs), precision, f"{first:.1f}", f"{later:.2f}", short(step)]

    title = f"OPT-WLSVI on {jax.devices()[0].device_kind}, {num_episodes} episodes"
    print_table(title, ("runs", "precision", "first call, s", "later, s", "µs a step"), rows())


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
