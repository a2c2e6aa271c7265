"""A battery on ten years of Dutch electricity prices, and on the one German year beside them.

The prices come with packages: `pip install 'driftwise[data]'` and `pip install --no-deps ev2gym==2.0.0`.

    python -m examples.battery_years docs/images/battery-years.svg

prints the tables of docs/case-studies.md and draws the figure.
"""

from __future__ import annotations

import sys
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from examples.battery import BLOCKS, LEVELS, MEMORIES, battery, best_policy, earned, largest_flow
from examples.battery import prices as german_prices
from examples.dutch_prices import Days, dutch_days
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import driftwise as dw
from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, figure_bytes
from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.table import Table, words
from driftwise.environments import planning
from driftwise.environments.models.linear_mdp import LinearMdp
from driftwise.online import Bandit

RIDGE = 1e-3  # of forecasts, as of the planner of the German year
BILLS: dict[str, Any] = dict(radius=0.05, ridge=1e-4)  # as in the house of the German year
SPAN = 28  # days of a block of days: means of such blocks are taken for independent
BASELINES = ("yesterday's best", "last week's mean")
YEARLY = ("clairvoyant", "best fixed of the year", *BASELINES, "all days", "14 days", "adaptive")


class Study(NamedTuple):
    """Cents of each day by who plans it."""

    known: dict[str, np.ndarray]  # [days], nothing left to chance
    bills: dict[str, np.ndarray]  # [runs, days], of agents that learn from their own bills


def forecaster(memory: float | None) -> Bandit:
    """A regression with a weight for each block of a day; it remembers so many days, or tunes itself."""
    greedy: dict[str, Any] = dict(epsilon=0.0, ridge=RIDGE)
    if memory is None:
        return Bandit("adaptive", dim=BLOCKS, base=dict(algorithm="epsilon_greedy", **greedy))
    return Bandit("epsilon_greedy", dim=BLOCKS, rate=(1 - 1 / memory) ** (1 / BLOCKS), **greedy)


def forecasts(prices: np.ndarray, memory: float | None) -> np.ndarray:
    """The prices that are expected in the morning of each day; in the evening the day's are public."""
    regression, blocks = forecaster(memory), np.eye(BLOCKS)
    expected = np.zeros_like(prices)
    for day, today in enumerate(prices):
        expected[day] = regression.scores(blocks)
        regression.learn_from(blocks, today)
    return expected


def recent_means(prices: np.ndarray, num_days: int) -> np.ndarray:
    """Mean prices of the last days before each: of fewer at the start, zeros on the first day."""
    sums = np.concatenate([np.zeros((1, BLOCKS)), prices.cumsum(axis=0)])[:-1]
    day = np.arange(len(prices))
    first = np.maximum(day - num_days, 0)
    return (sums - sums[first]) / np.maximum(day - first, 1)[:, None]


def planned(env: LinearMdp, expected: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Cents of each day for the best plan at expected prices; nothing is done where all are alike."""
    model = battery(expected)
    hold = np.broadcast_to(np.eye(3)[1], (BLOCKS, LEVELS, 3))
    plans = [
        best_policy(model, np.array([day])) if np.ptp(prices_expected) else hold
        for day, prices_expected in enumerate(expected)
    ]
    return earned(env, plans, prices)


def from_bills(env: LinearMdp, prices: np.ndarray, num_runs: int) -> dict[str, np.ndarray]:
    """Cents `[runs, days]` of OPT-WLSVI, which knows a price only if it traded at it."""
    best = [planning.optimal_values(env.features, env.model(day))[0].mean() for day in range(len(prices))]
    agents = {
        "all days": dw.algorithms.opt_wlsvi(env.spec, rate=1.0, clip="tight", **BILLS),
        "60 days": dw.algorithms.opt_wlsvi(env.spec, rate=1 - 1 / 60, clip="tight", **BILLS),
        "adaptive": dw.algorithms.adaptive(
            dw.algorithms.opt_wlsvi(env.spec, rate=1.0, clip="tight", **BILLS)
        ),
    }
    cents = {}
    for label, agent in agents.items():
        result = dw.simulate(agent, env, num_episodes=len(prices), num_runs=num_runs)
        lost = np.diff(np.asarray(result.cumulative_regret), axis=-1, prepend=0.0)
        cents[label] = (np.array(best) - lost - BLOCKS / 2) * 2 * largest_flow(prices)
    return cents


def study(days: Days, num_runs: int = 16) -> Study:
    """Everybody's cents, on days that are lived through one after the other."""
    env, prices = battery(days.prices), days.prices
    year_means = {year: prices[days.years == year].mean(axis=0) for year in np.unique(days.years)}
    expected = {
        "clairvoyant": prices,
        "best fixed of the year": np.array([year_means[year] for year in days.years]),
        "best fixed": np.broadcast_to(prices.mean(axis=0), prices.shape),
        **{label: recent_means(prices, num) for label, num in zip(BASELINES, (1, 7), strict=True)},
        **{label: forecasts(prices, memory) for label, memory in MEMORIES.items()},
        "adaptive": forecasts(prices, None),
    }
    known = {label: planned(env, given, prices) for label, given in expected.items()}
    return Study(known, from_bills(env, prices, num_runs))


def against(cents: np.ndarray, baseline: np.ndarray) -> tuple[float, float]:
    """Cents a day more than a baseline's, and half of the 95 % interval, from means of blocks of days."""
    more = cents - baseline
    blocks = [each.mean() for each in np.array_split(more, max(len(more) // SPAN, 2))]
    return float(more.mean()), float(mean_interval(np.array(blocks))[1])


def german_days() -> Days:
    """The German year, in the form of the Dutch ones."""
    prices = german_prices()
    return Days(np.datetime64("2022-01-01") + np.arange(len(prices)).astype("timedelta64[D]"), prices)


def tables(dutch: Days, found: Study, german: Study) -> list[Table]:
    """Cents a day: with public prices, from own bills, and both by the year."""
    in_2022 = dutch.years == 2022

    def public(label: str, cents: np.ndarray) -> list[str]:
        more = (against(cents, found.known[each]) for each in BASELINES)
        versus = (f"{mean:+.2f} ± {half:.2f}" if half else "" for mean, half in more)
        years = (cents[in_2022], german.known[label])
        return [label, f"{cents.mean():.2f}", *versus, *(f"{each.mean():.1f}" for each in years)]

    def own(label: str, cents: np.ndarray) -> list[str]:
        means = (each.mean(axis=-1) for each in (cents, cents[:, in_2022], german.bills[label]))
        return [label, *("{:.1f} ± {:.1f}".format(*mean_interval(each)) for each in means)]

    yearly = {label: found.known[label] for label in YEARLY}
    yearly |= {f"bills, {label}": cents.mean(axis=0) for label, cents in found.bills.items()}
    rows = (
        [str(year), *(f"{cents[dutch.years == year].mean():.1f}" for cents in yearly.values())]
        for year in np.unique(dutch.years)
    )
    spans, beyond = ("Dutch 2022", "German 2022"), (f"beyond {each}" for each in BASELINES)
    return [
        Table.of(
            "public", words("public prices", "Dutch", *beyond, *spans), starmap(public, found.known.items())
        ),
        Table.of("bills", words("own bills", "Dutch", *spans), starmap(own, found.bills.items())),
        Table.of("years", words("year", *yearly), rows),
    ]


def main(target: Path, num_runs: int = 16) -> None:
    dutch, german = dutch_days(), german_days()
    found = study(dutch, num_runs)
    print(*tables(dutch, found, study(german, num_runs)), sep="\n\n")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_prices(left, dutch)
        _draw_shares(right, dutch, found)
        target.write_bytes(figure_bytes(figure, format="svg", metadata={"Date": None}))
    print(target)


def _draw_prices(axes: Axes, days: Days) -> None:
    edges = np.linspace(0, 24, BLOCKS + 1)
    for year, colour in zip(np.unique(days.years)[::3], COLOURS, strict=False):
        shape = days.prices[days.years == year].mean(axis=0)
        shape = 100 * shape / shape.mean()
        axes.stairs(shape, edges, baseline=None, color=colour, linewidth=2, label=str(year))
    axes.set_title("Mean price, per cent of the year's", loc="left", fontsize=10.5)
    axes.set_xlabel("hour of the day")
    axes.set_xticks(range(0, 25, 6))
    axes.legend(frameon=False, fontsize=9)


def _draw_shares(axes: Axes, days: Days, found: Study) -> None:
    years = np.unique(days.years)
    for label, colour in zip(YEARLY[1:], COLOURS, strict=False):
        spans = [days.years == year for year in years]
        shares = [found.known[label][each].sum() / found.known["clairvoyant"][each].sum() for each in spans]
        named = f"remembers {label}" if label in MEMORIES else label
        axes.plot(years, 100 * np.array(shares), "o-", color=colour, markersize=4, label=named)
    axes.set_title("Earned, per cent of the clairvoyant's", loc="left", fontsize=10.5)
    axes.set_xticks(years[::3])
    axes.legend(frameon=False, fontsize=9)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "battery-years.svg"))
