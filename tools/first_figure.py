"""`python -m tools.first_figure results/quickstart`: the README's figure, for light and for dark pages."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

import driftwise as dw
from driftwise.analysis.matplotlib_figures import COLOURS, STYLE
from driftwise.analysis.statistics import mean_interval

IMAGES = Path(__file__).parent.parent / "docs" / "images"
AGENTS = {  # labels at the ends of the curves, and colours
    "adaptive OPT-WLSVI": ("adaptive OPT-WLSVI: tunes its memory", COLOURS[1]),
    "OPT-WLSVI": ("OPT-WLSVI: forgets at a given rate", COLOURS[0]),
    "LSVI-UCB-Restart": ("LSVI-UCB-Restart: restarts periodically", COLOURS[4]),
    "LSVI-UCB": ("LSVI-UCB: never forgets", COLOURS[3]),
    "ε-greedy LSVI": ("ε-greedy LSVI: not optimistic", COLOURS[5]),
}
EVERY = 10  # episodes to a point of a curve
PAGES = {"light": ("#24292f", "#d0d7de"), "dark": ("#e6edf3", "#3d444d")}  # text and lines


def first_figure(folder: Path, text: str, lines: str) -> Figure:
    """Plot the cumulative regret of the quickstart's agents, each labelled at the end of its curve."""
    rows: Any = dw.load_results(folder)
    rows = rows[rows.episode % EVERY == 0]
    ink = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), text)
    look: dict[Any, Any] = {**STYLE, **ink, "axes.edgecolor": lines, "grid.color": lines, "font.size": 12}
    with mpl.rc_context(look):
        figure = Figure(figsize=(9.6, 3.7), layout="constrained")
        axes = figure.subplots()
        for agent, (name, colour) in AGENTS.items():
            runs = rows[rows.agent == agent].pivot(index="run", columns="episode", values="cumulative_regret")
            mean, half = mean_interval(runs.to_numpy())
            axes.plot(runs.columns, mean, color=colour)
            axes.fill_between(runs.columns, mean - half, mean + half, color=colour, alpha=0.2, linewidth=0)
            axes.annotate(name, (1, mean[-1]), (8, -4), ("axes fraction", "data"), "offset points", size=11)
        axes.axvline(1000, color=text, linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate(
            "the environment changes", (1000, 1150), (-6, 0), textcoords="offset points", ha="right"
        )
        axes.set(xlabel="episode", ylabel="cumulative regret", xlim=(0, 2000), ylim=(0, None))
        return figure


if __name__ == "__main__":
    for page, look in PAGES.items():
        path = IMAGES / f"regret-{page}.svg"
        first_figure(Path(sys.argv[1]), *look).savefig(path, transparent=True, metadata={"Date": None})
        print(path)
