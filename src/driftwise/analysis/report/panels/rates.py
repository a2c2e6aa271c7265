"""Exponents of regret in the length of a run and in the variation, where environments differ in them."""

from __future__ import annotations

import inspect
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms import ALGORITHMS
from driftwise.analysis.page import Figure, Section, axis, line, packed
from driftwise.analysis.report.data import Report, ReportData, longest
from driftwise.analysis.report.panels.slopes import READING, ROOM, reference_slopes
from driftwise.analysis.statistics import Interval, scaling_exponent
from driftwise.analysis.statistics.wording import with_interval
from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.environments import LinearMdp
from driftwise.theory.bounds.bound import Bound, Setting
from driftwise.theory.bounds.catalogue import BOUNDS

FEWEST = 3  # points of a line that is worth fitting
NEAR = 0.1  # as much as logarithms are worth at such sizes
VERDICTS = (
    "measured: compatible, if the interval has the declared one; else near, if it differs by "
    f"{NEAR:g} at most, which logarithms are worth at such sizes; else above or below."
)
SAME = 1.02  # variations that differ by less are one: that of a turn depends a little on its steps
UNLIKE_ITS_BOUND = ("beta_scale", "radius_scale", "variation_scale")  # unless they are one
OF_THE_PROOF = ("clip",)  # options that a bound asks for, and that its rate does not depend on
MOVING = ("path", "drift")  # tables of an environment that say how it moves
KEPT = ("type", "dim", "radius")  # what of them must be the same nevertheless
SIZES = ("num_rounds", "budget", "segments")  # likewise what may differ, of environments without such tables
SYMBOLS = {"num_episodes": "K", "variation": "Δ"}
SLOPES = {  # drawn beside those that bounds declare
    "num_episodes": {Fraction(1, 2), Fraction(2, 3), Fraction(1)},
    "variation": {Fraction(1, 4), Fraction(1, 3)},
}


class Fit(NamedTuple):
    """The exponent of an agent's regret along a sweep, and that of its bound."""

    agent: str
    means: np.ndarray  # [points] of final cumulative regret
    exponent: Interval
    bound: Bound | None
    declared: Fraction | None  # the exponent in the bound's rate
    share: float  # of the bound, where the mean regret comes closest to it; NaN if it is not the agent's own

    @property
    def verdict(self) -> str:
        """Where the measured exponent lies; `VERDICTS` says it in a sentence."""
        declared = float(self.declared or 0)
        if self.exponent.low <= declared <= self.exponent.high:
            return "compatible"
        excess = float(self.exponent.estimate) - declared
        return "near" if abs(excess) <= NEAR else "above" if excess > 0 else "below"

    @property
    def cells(self) -> tuple[Cell | str, ...]:
        """Cells of the columns of `rates_table` from the agent on."""
        exponent, nothing = Cell.of(with_interval, *map(float, self.exponent)), Cell("–", (math.nan,))
        if self.bound is None:
            return self.agent, exponent, nothing, "–", "–", nothing
        declared = Cell(str(self.declared), (float(self.declared or 0),))
        share = Cell(f"{self.share:.2g}" if np.isfinite(self.share) else "–", (self.share,))
        return self.agent, exponent, declared, self.verdict, self.bound.status, share


class Sweep(NamedTuple):
    """Environments of one kind that differ in the length of their runs, or in their variation, alone."""

    along: str  # a key of SYMBOLS
    fixed: str  # what they share, in words
    sizes: np.ndarray  # [points], ascending
    fits: tuple[Fit, ...]

    @property
    def symbol(self) -> str:
        return SYMBOLS[self.along]

    @property
    def title(self) -> str:
        """The sizes and what is fixed, as the heading of a table."""
        number = "{:.3g}" if self.along == "variation" else "{:,.0f}"
        sizes = ", ".join(map(number.format, self.sizes))
        return f"How regret grows with {self.symbol}, {sizes}, at {self.fixed}"


def rates_table(sweeps: Sequence[Sweep]) -> Table:
    """The exponents of all agents along the sweeps, beside those that their bounds declare."""
    columns = words("sweep", "agent") + numbers("exponent [95 %]", "declared")
    columns += words("measured", "bound") + numbers("regret / bound")
    rows = [(f"{sweep.symbol}, at {sweep.fixed}", *fit.cells) for sweep in sweeps for fit in sweep.fits]
    return Table.of("rates", columns, rows).without_empty()


def verdicts(table: Table) -> str:
    """A legend for the words of a table of rates."""
    legend = "exponent: α of R ≈ C·Kᵅ or C·Δᵅ, with a jackknife interval over the runs."
    if all(column.heading != "declared" for column in table.columns):
        return legend
    legend += (
        f" declared: α in the rate of the agent’s bound. {VERDICTS} bound: whether it is proven as printed, "
        "corrected, withdrawn or ours; –: the agent has none that is about drift."
    )
    if any(column.heading == "regret / bound" for column in table.columns):
        legend += " regret / bound: at the size where regret comes closest to it."
    return legend


def sweeps(report: Report) -> tuple[Sweep, ...]:
    """All sweeps among the environments of a report: three sizes or more at which the rest is the same."""
    points = []
    for data in report.values():
        if isinstance(data.environment, str):  # it cannot be made
            continue
        if (variation := data.environment.variation(data.num_episodes).total) > 0:
            points.append(_Point(data, data.num_episodes, variation))
    kinds = [list(kind) for _, kind in itertools.groupby(sorted(points, key=_kind), key=_kind)]
    found = []
    for members in kinds:
        for variation, group in _alike(members):
            found.append(("num_episodes", f"Δ = {variation:.3g}", group))
        for length in sorted({point.num_episodes for point in members}):
            group = [point for point in members if point.num_episodes == length]
            found.append(("variation", f"K = {length:,}", group))
    found = [each for each in found if len({getattr(point, each[0]) for point in each[2]}) >= FEWEST]
    return tuple(_sweep(*each, named=len(kinds) > 1) for each in found)


class _Point(NamedTuple):
    data: ReportData
    num_episodes: int
    variation: float


def _kind(point: _Point) -> str:
    """The configuration that environments of a sweep have in common: all but for how far they move."""
    config = point.data.environment_config
    return json.dumps({key: _still(key, value) for key, value in config.items() if key not in SIZES})


def _still(key: str, value: Any) -> Any:
    if key not in MOVING or not isinstance(value, Mapping):
        return value
    return {name: _still(name, each) for name, each in value.items() if name in (*KEPT, *MOVING)}


def _alike(points: list[_Point]) -> Iterator[tuple[float, list[_Point]]]:
    """Groups of points whose variation is the same, but for the steps it is made of."""
    rest = sorted(points, key=lambda point: point.variation)
    while rest:
        least = rest[0].variation
        group = [point for point in rest if point.variation <= SAME * least]
        rest = rest[len(group) :]
        yield least, group


def _sweep(along: str, fixed: str, points: list[_Point], *, named: bool) -> Sweep:
    if named:
        fixed = f"{fixed}, in {', '.join(point.data.environment_label for point in points)}"
    points = sorted(points, key=lambda point: getattr(point, along))
    sizes = np.array([getattr(point, along) for point in points], dtype=float)
    fits = []
    for label in points[0].data.labels:
        scores = np.stack(
            [point.data.results[label].cumulative_regret[:, -1] for point in points], axis=1
        )  # [runs, points]
        table = _table(points[0].data, label)
        bound, share = _declared(table), math.nan
        means, fit = scores.mean(axis=0), scaling_exponent(scores, sizes)
        if bound is not None and _about(bound, table):
            share = max(means / [bound.evaluate(_setting(point, table)).total for point in points])
        declared = None if bound is None else getattr(bound.exponents, along)
        fits.append(Fit(label, means, fit, bound, declared, float(share)))
    return Sweep(along, fixed, sizes, tuple(fits))


def _setting(point: _Point, table: Mapping[str, Any]) -> Setting:
    environment = point.data.environment
    assert not isinstance(environment, str)
    own = {name: table[name] for name in ("delta", "noise_scale", "norm_bound") if name in table}
    spec = environment.spec
    if isinstance(environment, LinearMdp):
        own["mu_bound"] = environment.mu_bound
    return Setting(spec.dim, point.num_episodes, point.variation, spec.horizon, **own)


def _table(data: ReportData, label: str) -> Mapping[str, Any]:
    """The table of an agent in the experiment's file, with the values of its lists for this agent."""
    entry = data.agents[data.labels.index(label)]
    return {**data.config.get("agents", {}).get(entry.get("name"), {}), **entry.get("point", {})}


def _declared(table: Mapping[str, Any]) -> Bound | None:
    """The bound on the regret under drift of the tuned form that an agent is, where there is one."""
    algorithm = ALGORITHMS.get(str(table.get("algorithm")))
    if algorithm is None or table.get("tuned") is not True:
        return None
    usual = {name: each.default for name, each in inspect.signature(algorithm.tuned).parameters.items()}
    given = {**usual, **table}
    fitting = (
        bound
        for bound in BOUNDS.values()
        if bound.algorithm == algorithm.name and bound.exponents.variation > 0
        if all(given.get(name) == each for name, each in bound.options.items() if name not in OF_THE_PROOF)
    )
    return next(fitting, None)


def _about(bound: Bound, table: Mapping[str, Any]) -> bool:
    """Whether the agent is the one that the bound is about, and not only tuned alike."""
    as_told = all(table.get(name, 1) == 1 for name in UNLIKE_ITS_BOUND)
    needs = {name: each for name, each in bound.options.items() if name in OF_THE_PROOF}
    return as_told and all(table.get(name) == each for name, each in needs.items())


def rates(report: Report) -> Section | None:
    """Final regret along every sweep, and the exponents beside those of the bounds."""
    found = sweeps(report)
    if not found:
        return None
    data = longest(report)
    table = rates_table(found)
    note = (
        f"{verdicts(table)} Exponents are fitted by least squares to the logarithms of the mean final "
        "regret; the interval knows of chance alone. Regret is held against a bound where the agent is the "
        "one it is about: told the true variation, with its radius and its clipping. A bound is one from "
        "above: it is broken where regret exceeds it, not where an exponent does. A fit over a few sizes "
        f"proves no rate. {READING}"
    )
    figures = tuple(_figure(number, sweep, data.styles) for number, sweep in enumerate(found))
    return Section("Rates", [figures, table, note])


def _figure(place: int, sweep: Sweep, styles: Mapping[str, int | None]) -> Figure:
    means = {fit.agent: fit.means for fit in sweep.fits}
    traces = [
        line(number, label, means[label], mode="lines+markers", x=packed(sweep.sizes))
        for label, number in styles.items()
    ]
    declared = sorted({fit.declared for fit in sweep.fits if fit.declared} | SLOPES[sweep.along])
    traces += reference_slopes(declared, sweep.sizes, [means[label] for label in styles])
    layout = {
        "xaxis": axis({"K": "episodes K", "Δ": "variation Δ"}[sweep.symbol], type="log"),
        "yaxis": axis("final regret", type="log"),
        "margin": ROOM,
    }
    title = f"{sweep.symbol} varies, {sweep.fixed}"
    return Figure(f"rates-{place}", traces, layout, f"Final regret: {title}", caption=title)
