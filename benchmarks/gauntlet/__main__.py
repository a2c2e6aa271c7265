"""Regret of the default bandit in many small worlds, against yardsticks that play the same draws.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.gauntlet [--worlds PATTERN] [--runs 8] [--agent NAME]

The yardsticks are arms at random, `lin_ucb` with the noise that it is told, the best of a grid of fixed
memories and radii in hindsight, and Vowpal Wabbit where it is installed. The grid is told the mean and the
unit of the rewards; the default is told nothing. Defaults are chosen on the worlds of the half `choose` and
shown on those of the half `show`. Worlds with many arms or dimensions are played a quarter as often. Regrets
below that of five rounds at random count as that much, since there the best of a grid is only lucky.
"""

from __future__ import annotations

import argparse
import fnmatch
import math
import sys
import time
from typing import NamedTuple

import numpy as np

from benchmarks.gauntlet.parts import Draws
from benchmarks.gauntlet.playing import (
    Player,
    VowpalWabbit,
    has_vowpal_wabbit,
    make_bandit,
    play,
    play_grid,
)
from benchmarks.gauntlet.worlds import WORLDS, World

MEAN_LIMIT, WORST_LIMIT, LIN_UCB_LIMIT = 1.25, 2.0, 1.15
FREE_ROUNDS = 5  # at random, whose regret is not compared


class Row(NamedTuple):
    """Mean regrets of all runs of a world."""

    world: World
    uniform: float
    lin_ucb: float
    grid: float
    wabbit: float  # `nan` if it is not installed
    agent: float

    @property
    def ratio(self) -> float:
        """The agent's regret relative to the best of the grid."""
        return self._relative_to(self.grid)

    @property
    def lin_ucb_ratio(self) -> float:
        """The agent's regret relative to that of `lin_ucb`."""
        return self._relative_to(self.lin_ucb)

    @property
    def marks(self) -> str:
        """The marks of missed limits."""
        return "*" * (self.ratio > WORST_LIMIT) + "†" * (self.lin_ucb_ratio > LIN_UCB_LIMIT)

    def _relative_to(self, other: float) -> float:
        free = FREE_ROUNDS * self.uniform / self.world.rounds
        return max(self.agent, free) / max(other, free)


def measure(world: World, runs: int, agent: str, *, wabbit: bool) -> Row:
    """Return the regrets of an agent and of the yardsticks in a world."""
    uniform, grid, lin_ucb, wabbits, own = [], [], [], [], []
    for run in range(max(1, runs // 4) if world.is_costly else runs):
        draws = world.draw(run)

        def regret(player: Player, draws: Draws = draws) -> float:
            return draws.regrets(play(player, draws)).sum().item()

        uniform.append(draws.uniform_regret)
        grid.append([draws.regrets(taken).sum() for taken in play_grid(draws, run).T])
        lin_ucb.append(regret(make_bandit("lin_ucb", draws, run)))
        own.append(regret(make_bandit(agent, draws, run)))
        wabbits.append(regret(VowpalWabbit(draws.dim, run)) if wabbit else np.nan)
    means = [np.mean(regrets).item() for regrets in (uniform, lin_ucb, wabbits, own)]
    best = np.mean(grid, axis=0).min().item()
    return Row(world, means[0], means[1], best, *means[2:])


def geometric_mean(rows: list[Row]) -> float:
    """Return the geometric mean of the ratios to the best of the grid."""
    return math.exp(np.mean([math.log(row.ratio) for row in rows]))


def summary(rows: list[Row], half: str) -> str:
    """Return a line with the mean and the misses of the worlds of a half."""
    ratios = np.array([row.ratio for row in rows])
    worst = rows[int(ratios.argmax())]
    worse = sum(row.lin_ucb_ratio > LIN_UCB_LIMIT for row in rows)
    return (
        f"**{half}**, {len(rows)} worlds: geometric mean {geometric_mean(rows):.2f} "
        f"(limit {MEAN_LIMIT}); worst {worst.ratio:.2f}, {worst.world.name} (limit {WORST_LIMIT}), "
        f"{int(np.sum(ratios > WORST_LIMIT))} above the limit; "
        f"{worse} worse than lin_ucb by over {LIN_UCB_LIMIT - 1:.0%}."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Regret of a bandit in many small worlds.")
    parser.add_argument("--worlds", default="*", help="a pattern of names of worlds, or of halves")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--agent", default="adaptive_lin_ucb", help="the algorithm that plays")
    options = parser.parse_args()
    chosen = [
        world
        for world in WORLDS
        if any(fnmatch.fnmatch(name, options.worlds) for name in (world.name, world.half))
    ]
    if not chosen:
        parser.error(f"--worlds must match a name or a half, got {options.worlds!r}")
    wabbit, started, rows = has_vowpal_wabbit(), time.perf_counter(), []
    wanted = "uniform", "lin_ucb", "best of grid", *(["VW"] if wabbit else []), options.agent
    print("| world | half |", " | ".join(wanted), "| ratio |\n|---|---|" + "---:|" * (len(wanted) + 1))
    for world in chosen:
        row = measure(world, options.runs, options.agent, wabbit=wabbit)
        rows.append(row)
        found = row.uniform, row.lin_ucb, row.grid, *([row.wabbit] if wabbit else []), row.agent
        numbers = " | ".join(f"{number:,.4g}" for number in found)
        print(f"| {world.name} | {world.half} | {numbers} | {row.ratio:.2f}{row.marks} |", flush=True)
    print(f"\n* above {WORST_LIMIT}; † worse than lin_ucb by over {LIN_UCB_LIMIT - 1:.0%}.\n")
    halves = {half: [row for row in rows if row.world.half == half] for half in ("choose", "show")}
    for half, own in {**halves, "all": rows}.items():
        if own:
            print(summary(own, half))
    print(f"\n{time.perf_counter() - started:.0f} seconds.")
    return int(geometric_mean(rows) > MEAN_LIMIT or any(row.marks for row in rows))


if __name__ == "__main__":
    sys.exit(main())
