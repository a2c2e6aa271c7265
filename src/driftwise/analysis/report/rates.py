"""Exponents of regret in the length of a run and in the variation, where environments differ in these."""

import inspect
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms import ALGORITHMS
from driftwise.analysis.figures import Axis, Figure, mean_curve
from driftwise.analysis.formatting import format_interval
from driftwise.analysis.page import Section
from driftwise.analysis.report.data import Report, ReportData, longest
from driftwise.analysis.report.regret import SLOPES_NOTE, reference_slopes
from driftwise.analysis.statistics import IntervalEstimate, scaling_exponent
from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.environments import LinearMdp
from driftwise.theory.bounds import BOUNDS
from driftwise.theory.bounds.bound import Bound, Setting

_MIN_SIZES = 3  # of a fitted line
_NEAR = 0.1  # difference of exponents that logarithmic factors explain at such sizes
_SAME = 1.02  # ratio of variations that count as equal: that of a turn depends a little on its steps
_SCALES = ("beta_scale", "radius_scale", "variation_scale")  # a bound holds where they are one
_PROOF_OPTIONS = ("clip",)  # options that a bound needs, and that its rate does not depend on
_DRIFT_TABLES = ("path", "drift")  # tables of an environment that describe its drift
_FIXED_KEYS = ("type", "dim", "radius")  # entries of these tables that must be equal
_FREE_KEYS = ("num_rounds", "budget", "segments")  # entries of other environments that may differ
_SYMBOLS = {"num_episodes": "K", "variation": "Δ"}
_SLOPES = {  # drawn beside those that bounds declare
    "num_episodes": {Fraction(1, 2), Fraction(2, 3), Fraction(1)},
    "variation": {Fraction(1, 4), Fraction(1, 3)},
}


class Fit(NamedTuple):
    """The exponent of an agent's regret along a sweep, and that of its bound."""

    agent: str
    means: np.ndarray  # [points] of final cumulative regret
    exponent: IntervalEstimate
    bound: Bound | None
    declared: Fraction | None  # the exponent in the bound's rate
    share: float  # the largest ratio of mean regret to the bound; NaN if the bound is not about this agent

    @property
    def verdict(self) -> str:
        """Where the measured exponent lies; `exponents_legend` explains it."""
        declared = float(self.declared or 0)
        if self.exponent.low <= declared <= self.exponent.high:
            return "compatible"
        excess = float(self.exponent.estimate) - declared
        return "near" if abs(excess) <= _NEAR else "above" if excess > 0 else "below"

    @property
    def cells(self) -> tuple[Cell | str, ...]:
        """Cells of the columns of `exponents_table` from the agent on."""
        exponent, unknown = Cell.of(format_interval, *map(float, self.exponent)), Cell("–", (math.nan,))
        if self.bound is None:
            return self.agent, exponent, unknown, "–", "–", unknown
        declared = Cell(str(self.declared), (float(self.declared or 0),))
        share = Cell(f"{self.share:.2g}" if np.isfinite(self.share) else "–", (self.share,))
        return self.agent, exponent, declared, self.verdict, self.bound.status, share


class Sweep(NamedTuple):
    """Environments of one kind that differ only in the length of their runs, or only in their variation."""

    along: str  # num_episodes or variation
    fixed: str  # the other of the two, in words
    sizes: np.ndarray  # [points], ascending
    fits: tuple[Fit, ...]

    @property
    def title(self) -> str:
        """The sizes and what is fixed, as the heading of a table."""
        number = "{:.3g}" if self.along == "variation" else "{:,.0f}"
        sizes = ", ".join(map(number.format, self.sizes))
        return f"How regret grows with {_SYMBOLS[self.along]}, {sizes}, at {self.fixed}"


def exponents_table(sweeps: Sequence[Sweep]) -> Table:
    """Return the exponents of all agents along the sweeps, beside those that their bounds declare."""
    columns = words("sweep", "agent") + numbers("exponent [95 %]", "declared")
    columns += words("measured", "bound") + numbers("regret / bound")
    rows = [(f"{_SYMBOLS[item.along]}, at {item.fixed}", *fit.cells) for item in sweeps for fit in item.fits]
    return Table.of("rates", columns, rows).without_empty()


def exponents_legend(table: Table) -> str:
    """Return a legend for the words of a table of exponents."""
    headings = [column.heading for column in table.columns]
    legend = "exponent: α of R ≈ C·Kᵅ or C·Δᵅ, with a jackknife interval over the runs."
    if "declared" in headings:
        legend += (
            " declared: α in the rate of the agent’s bound. measured: compatible, if the interval contains "
            f"the declared one; else near, if they differ by at most {_NEAR:g}, which logarithmic factors "
            "explain at such sizes; else above or below. bound: whether it is proven as printed, corrected, "
            "withdrawn or ours; –: the agent has none that is about drift."
        )
    if "declared" in headings and "regret / bound" in headings:
        legend += " regret / bound: at the size where regret comes closest to it."
    return legend


def _fixed(key: str, value: Any) -> Any:
    """An entry of an environment without what may differ along a sweep: the extent of its drift."""
    if key not in _DRIFT_TABLES or not isinstance(value, Mapping):
        return value
    return {name: _fixed(name, own) for name, own in value.items() if name in (*_FIXED_KEYS, *_DRIFT_TABLES)}


def find_sweeps(report: Report) -> tuple[Sweep, ...]:
    """Return all sweeps among the environments: three or more sizes with everything else equal."""
    kinds = defaultdict[str, list[ReportData]](list)
    for data in report.values():
        if data.variation > 0:
            entries = data.environment_config.items()
            kind = json.dumps({key: _fixed(key, item) for key, item in entries if key not in _FREE_KEYS})
            kinds[kind].append(data)
    sweeps = []
    for _, points in sorted(kinds.items()):
        for along, fixed, group in _groups(points):
            sizes = np.sort([float(getattr(point, along)) for point in group])
            if len(np.unique(sizes)) >= _MIN_SIZES:
                if len(kinds) > 1:
                    fixed += f", in {', '.join(point.environment_label for point in group)}"
                group = sorted(group, key=attrgetter(along))
                fits = (_fit(label, along, group, sizes) for label in group[0].labels)
                sweeps.append(Sweep(along, fixed, sizes, tuple(fits)))
    return tuple(sweeps)


def _groups(points: list[ReportData]) -> Iterator[tuple[str, str, list[ReportData]]]:
    """Points of one variation, up to the steps it is made of, and points of one length."""
    rest = sorted(points, key=attrgetter("variation"))
    while rest:
        group = [point for point in rest if point.variation <= _SAME * rest[0].variation]
        yield "num_episodes", f"Δ = {rest[0].variation:.3g}", group
        rest = rest[len(group) :]
    for length in sorted({point.num_episodes for point in points}):
        yield "variation", f"K = {length:,}", [point for point in points if point.num_episodes == length]


def _fit(label: str, along: str, points: Sequence[ReportData], sizes: np.ndarray) -> Fit:
    finals = [point.results[label].cumulative_regret[:, -1] for point in points]
    scores = np.stack(finals, axis=1)  # [runs, points]
    means, exponent, entry = scores.mean(axis=0), scaling_exponent(scores, sizes), points[0].agents[label]
    agents = (points[0].manifest.get("config") or {}).get("agents", {})
    table = {**agents.get(entry.get("name"), {}), **entry.get("point", {})}
    bound, share = declared_bound(table), math.nan
    if bound is None:
        return Fit(label, means, exponent, None, None, share)
    if is_about(bound, table):
        settings = {name: table[name] for name in ("delta", "noise_scale", "norm_bound") if name in table}
        totals = []
        for data in points:
            environment: Any = data.environment
            bounds = {"mu_bound": environment.mu_bound} if isinstance(environment, LinearMdp) else {}
            spec = environment.spec
            setting = Setting(spec.dim, data.num_episodes, data.variation, spec.horizon, **settings, **bounds)
            totals.append(bound.evaluate(setting).total)
        share = float(max(means / totals))
    return Fit(label, means, exponent, bound, getattr(bound.exponents, along), share)


def declared_bound(table: Mapping[str, Any]) -> Bound | None:
    """Return the bound on the regret under drift of a tuned agent, if there is one."""
    algorithm = ALGORITHMS.get(str(table.get("algorithm")))
    if algorithm is None or table.get("tuned") is not True:
        return None
    defaults = {name: item.default for name, item in inspect.signature(algorithm.tuned).parameters.items()}
    options = {**defaults, **table}
    for bound in BOUNDS.values():
        needed = {name: value for name, value in bound.options.items() if name not in _PROOF_OPTIONS}
        fits = all(options.get(name) == value for name, value in needed.items())
        if fits and bound.algorithm == algorithm.name and bound.exponents.variation > 0:
            return bound
    return None


def is_about(bound: Bound, table: Mapping[str, Any]) -> bool:
    """Return whether the bound is about this agent, not only about one with the same tuning."""
    needed = {name: value for name, value in bound.options.items() if name in _PROOF_OPTIONS}
    needed |= {name: 1 for name in _SCALES if name in table}
    return all(table.get(name) == value for name, value in needed.items())


def rates(report: Report) -> Section | None:
    """Return final regret along every sweep, and the exponents beside those of the bounds."""
    sweeps = find_sweeps(report)
    if not sweeps:
        return None
    table, styles, figures = exponents_table(sweeps), longest(report).styles, []
    for place, sweep in enumerate(sweeps):
        means = {fit.agent: fit.means for fit in sweep.fits}
        drawn = [mean_curve(label, number, means[label], kind="marked") for label, number in styles.items()]
        declared = sorted({fit.declared for fit in sweep.fits if fit.declared} | _SLOPES[sweep.along])
        drawn += reference_slopes(declared, sweep.sizes, [means[label] for label in styles])
        symbol = _SYMBOLS[sweep.along]
        label = f"{'episodes' if symbol == 'K' else 'variation'} {symbol}"
        axes = Axis(label, log=True), Axis("final regret", log=True)
        title = f"{symbol} varies, {sweep.fixed}"
        figures.append(Figure(f"rates-{place}", drawn, *axes, f"Final regret: {title}", title, x=sweep.sizes))
    note = (
        f"{exponents_legend(table)} Exponents are fitted by least squares to the logarithms of the mean "
        "final regret; the interval covers chance alone. Regret is compared with a bound where the bound is "
        "about this agent: with the true variation, the bound's radius and its clipping. A bound is violated "
        "where regret exceeds it, not where an exponent does. A fit over a few sizes proves no rate. "
        f"{SLOPES_NOTE}"
    )
    return Section("Rates", [tuple(figures), table, note])
