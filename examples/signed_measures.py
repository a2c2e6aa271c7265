"""Signed measures whose masses cancel: the assumption on linear MDPs holds, and optimism fails.

The ridge pulls the estimate of PV below the truth by far more than the assumption allows for: estimate and
bonus together stay below it. With a radius for the true measures they do not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, png_bytes
from driftwise.theory.counter_examples import signed_measures
from driftwise.theory.tuning import opt_wlsvi_radius

NUM_SAMPLES = 10**6


def main(target: Path) -> None:
    worst = signed_measures(num_samples=NUM_SAMPLES)
    run: dict[str, Any] = dict(dim=2, horizon=worst.horizon, num_episodes=NUM_SAMPLES, delta=0.05, rate=1.0)
    sizes = np.geomspace(1e-6, 1e-1, 61)
    found = [signed_measures(size=float(size), num_samples=NUM_SAMPLES) for size in sizes]
    printed = opt_wlsvi_radius(**run)
    true = [opt_wlsvi_radius(**run, mu_bound=each.needed) for each in found]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7, 4.2), layout="constrained")
        axes = figure.subplots()
        axes.axhline(worst.truth, color="#999999", label="PV")
        axes.plot(
            sizes, [each.optimistic(printed) for each in found], color=COLOURS[1], label="radius for √d"
        )
        raised = [
            min(each.optimistic(radius), worst.horizon) for each, radius in zip(found, true, strict=True)
        ]
        axes.plot(sizes, raised, color=COLOURS[0], label="radius for ‖|μ|(S)‖, clipped at H")
        axes.set_xscale("log")
        axes.set_xlabel("ε, how far the features of the two states differ")
        axes.set_ylabel("estimate + bonus")
        axes.set_title("Estimate and bonus after a million samples, without noise", loc="left")
        axes.legend(frameon=False)
        target.write_bytes(png_bytes(figure))
    print(f"‖μ(S)‖ = {worst.assumed:.3g} = √d, ‖|μ|(S)‖ = {worst.needed:.4g}")
    print(
        f"ridge term {worst.ridge_term:.3g}, at most {worst.ridge_bound(worst.assumed):.2g} by the assumption"
    )
    print(f"PV = {worst.truth:.3g}, estimate + bonus = {worst.optimistic(printed):.3g}")
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "signed_measures.png"))
