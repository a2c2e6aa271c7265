"""Growth of the cost of OPT-WLSVI in d, S, A, H and K, one at a time, as exponents beside those of theory.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.growth

An exponent is the slope of log time over log size, over sizes at which the size already matters; the other
sizes are d = 10, S = 20, A = 5 and H = 10. Ours plays 64 runs at once, 50 episodes each, with exact regret;
the literal Algorithm 1 plays one run of 250 episodes. Time is the processor's, of all cores together: other
work on the machine hardly counts. *Counted* is the slope, over the same sizes, of the number of
multiplications that the code asks for:

- ours, `KH (3d³ + SA d(d+1)/2 + 2SA d + 5Sd)`: an inverse and a sandwich; widths of all pairs; their values,
  optimistic and exact; measures of successors, which are learnt, forgotten, planned with and drawn from;
- literal, `KH 3d³ + K²H (A(d² + d) + d) / 2`: an inverse and a sandwich; every past successor again.

Theory's are the slopes in the limit: `d³SAHK` and, as Jin et al. 2020 state for LSVI-UCB, `d²AHK²`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from benchmarks.literal import opt_wlsvi as literal_opt_wlsvi
from benchmarks.measuring import exponent, print_table, seconds, short
from driftwise import drift
from driftwise.algorithms import opt_wlsvi
from driftwise.environments import LinearMdp, random_linear_mdp
from driftwise.simulation.running import simulate

RATE, RADIUS = 0.99, 1.0
NUM_RUNS = 64


class Sizes(NamedTuple):
    """Of a model and a run."""

    K: int
    d: int = 10
    S: int = 20
    A: int = 5
    H: int = 10

    def environment(self) -> LinearMdp:
        return random_linear_mdp(
            num_states=self.S,
            num_actions=self.A,
            dim=self.d,
            horizon=self.H,
            drift=drift.Abrupt(at=(self.K // 2,)),
            seed=0,
        )


def our_seconds(sizes: Sizes) -> float:
    """For one of 64 runs."""
    environment = sizes.environment()
    agent = opt_wlsvi(environment.spec, rate=RATE, radius=RADIUS)
    run = partial(simulate, agent, environment, num_runs=NUM_RUNS)
    run(num_episodes=1)  # compiles
    return seconds(partial(run, num_episodes=sizes.K), 3, clock=time.process_time) / NUM_RUNS


def our_count(sizes: Sizes) -> float:
    K, d, S, A, H = sizes
    return K * H * (3 * d**3 + S * A * d * (d + 1) / 2 + 2 * S * A * d + 5 * S * d)


def literal_seconds(sizes: Sizes) -> float:
    settings: dict[str, Any] = dict(num_episodes=sizes.K, rate=RATE, radius=RADIUS)
    return seconds(partial(literal_opt_wlsvi, sizes.environment(), **settings), clock=time.process_time)


def literal_count(sizes: Sizes) -> float:
    K, d, _, A, H = sizes
    return K * H * 3 * d**3 + K**2 / 2 * H * (A * (d**2 + d) + d)


class Code(NamedTuple):
    """What is measured, and what theory says about it."""

    name: str
    seconds: Callable[[Sizes], float]
    counted: Callable[[Sizes], float]
    base: Sizes
    swept: Mapping[str, tuple[int, ...]]
    limits: Mapping[str, int]


CODES = (
    Code(
        "ours",
        our_seconds,
        our_count,
        Sizes(K=50),
        {
            "d": (20, 32, 48),
            "S": (160, 320, 640),
            "A": (40, 80, 160),
            "H": (10, 20, 40),
            "K": (250, 500, 1000),
        },
        dict(d=3, S=1, A=1, H=1, K=1),
    ),
    Code(
        "literal",
        literal_seconds,
        literal_count,
        Sizes(K=250),
        {"d": (32, 48, 64), "S": (20, 80, 320), "A": (40, 80, 160), "H": (10, 20, 40), "K": (250, 500, 1000)},
        dict(d=2, S=0, A=1, H=1, K=2),
    ),
)


def rows(codes: tuple[Code, ...], shrink: int) -> Iterator[list[str]]:
    for code in codes:
        for name, swept in code.swept.items():
            points = [code.base._replace(**{name: max(2, size // shrink)}) for size in swept]
            spent = [code.seconds(sizes) for sizes in points]
            at = [getattr(sizes, name) for sizes in points]
            counted = exponent(at, [code.counted(sizes) for sizes in points])
            steps = [1e6 * each / (sizes.K * sizes.H) for each, sizes in zip(spent, points, strict=True)]
            yield [
                code.name,
                name,
                ", ".join(map(str, at)),
                ", ".join(map(short, steps)),
                f"{exponent(at, spent):.2f}",
                f"{counted:.2f}",
                str(code.limits[name]),
            ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shrink", type=int, default=1, help="divide all sizes, to try the benchmark out")
    headings = ("code", "in", "sizes", "processor, µs a step", "exponent of a run", "counted", "theory")
    title = "Growth of the cost of a run of OPT-WLSVI"
    print_table(title, headings, rows(CODES, parser.parse_args().shrink))


if __name__ == "__main__":
    main()
