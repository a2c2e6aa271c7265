"""From a log of rounds to how fast to forget: the path of the parameter in windows, and its variation."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, png_bytes
from driftwise.environments import russac_abrupt
from driftwise.theory.bandit_tuning import bandit_rate
from driftwise.theory.estimate import estimate_variation

NUM_ROUNDS = 6000


def main(target: Path) -> None:
    environment = russac_abrupt(num_rounds=NUM_ROUNDS)
    path = environment.at(np.arange(NUM_ROUNDS))
    rng = np.random.default_rng(0)  # a pilot that plays at random
    features = rng.normal(size=path.shape)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    rewards = (features * path).sum(axis=1) + environment.noise_scale * rng.normal(size=NUM_ROUNDS)

    found = estimate_variation(features, rewards)
    print(found)
    print(
        f"the truth is {environment.variation(NUM_ROUNDS).total:.3g}, the plain plug-in {found.plug_in:.3g}"
    )
    rate = bandit_rate(dim=2, num_episodes=NUM_ROUNDS, variation=found.variation)
    print(f"so D-LinUCB should forget with rate {rate:.4f}: it remembers about {1 / (1 - rate):.0f} rounds")

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        axes = figure.subplots()
        middles = found.starts + np.diff(found.starts)[0] / 2
        for i, colour in enumerate(COLOURS[:2]):
            axes.plot(path[:, i], color=colour, linewidth=1, label=f"θ, coordinate {i + 1}")
            axes.step(found.starts, found.pieces[:, i, 0], where="post", color=colour, linestyle="--")
            bars = found.standard_errors[:, i, 0]
            axes.errorbar(middles, found.parameters[:, i, 0], 2 * bars, fmt="o", markersize=3, color=colour)
        axes.set_title("Windows (dots, two standard errors), pieces (dashed) and the truth", loc="left")
        axes.set_xlabel("round")
        axes.legend(frameon=False)
        target.write_bytes(png_bytes(figure))
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "how_much_does_it_drift.png"))
