"""A confidence radius for weighted sums that holds in every round, and is crossed in nearly every run.

Weighted noise is forgotten, so the sum is drawn anew again and again: however rarely it is above a fixed
radius, at length it is once. Spreading δ over the rounds mends it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, png_bytes
from driftwise.theory.counter_examples import crossings

NUM_ROUNDS, NUM_RUNS, DELTA = 20_000, 400, 0.05
SHARES = {"δ, as published": 1, "δ/K, known horizon": NUM_ROUNDS, "δ/(2t(1 + ln t)²), anytime": 0}


def main(target: Path) -> None:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        rounds = np.arange(1, NUM_ROUNDS + 1)
        for (name, shares), colour in zip(SHARES.items(), COLOURS, strict=False):
            found = crossings(num_rounds=NUM_ROUNDS, num_runs=NUM_RUNS, delta=DELTA, shares=shares)
            left.semilogx(rounds, found.radius, color=colour, label=name)
            right.semilogx(rounds, found.share_by, color=colour, label=name)
            print(f"{name}: above the radius in a round {found.share_at.max():.2%} of runs at most,", end=" ")
            print(f"in some round by the last {found.share_by[-1]:.0%}")
        left.set_title("Radius of a confidence set at 95 %", loc="left")
        left.set_ylim(bottom=0)
        right.set_title(f"Share of {NUM_RUNS} runs that were above it so far", loc="left")
        right.axhline(DELTA, color="#999999", linewidth=1, linestyle="--")
        right.annotate("allowed", (1, DELTA), xytext=(2, 3), textcoords="offset points", color="#767676")
        for axes in (left, right):
            axes.set_xlabel("round")
            axes.legend(frameon=False)
        target.write_bytes(png_bytes(figure))
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "crossing_the_radius.png"))
