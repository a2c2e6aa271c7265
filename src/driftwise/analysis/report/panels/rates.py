"""Exponents of regret in the length of a run and in the variation."""

from __future__ import annotations

from collections.abc import Sequence

from driftwise.analysis.page import Figure, Section
from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.panels.common import bootstrap_caution, legend
from driftwise.analysis.report.rates import NEAR, Sweep, rates_table, sweeps
from driftwise.analysis.traces import axis, line, packed


def rates(report: Report) -> Section | None:
    """Final regret along every sweep, and the exponents beside those of the bounds."""
    found = sweeps(report)
    if not found:
        return None
    data = longest(report)
    note = (
        "The exponent α of R ≈ C·Kᵅ (or C·Δᵅ), fitted by least squares to the logarithms of the mean final "
        "regret, with an interval from 1,000 bootstrap resamples of the runs. Declared is the exponent in "
        f"the rate of the agent’s bound; near it is what differs by {NEAR:g} at most, as much as logarithms "
        "are worth at such sizes, and the interval, which knows of chance alone, has it within or outside. "
        "Regret is held against a bound where the agent is the one it is about: told the true variation, "
        "with its radius and its clipping. A bound is one from above: it is broken where regret exceeds it, "
        f"not where an exponent does. A fit over a finite stretch proves no rate.{bootstrap_caution(data)}"
    )
    figures = tuple(_figure(number, sweep, data.drawn) for number, sweep in enumerate(found))
    return Section("Rates", [*legend(data), figures, rates_table(found), note])


def _figure(number: int, sweep: Sweep, drawn: Sequence[str]) -> Figure:
    means = {fit.agent: fit.means for fit in sweep.fits}
    traces = [
        line(place, label, means[label], mode="lines+markers", x=packed(sweep.sizes))
        for place, label in enumerate(drawn)
    ]
    layout = {
        "xaxis": axis({"K": "episodes K", "Δ": "variation Δ"}[sweep.symbol], type="log"),
        "yaxis": axis("final regret", type="log"),
    }
    title = f"{sweep.symbol} varies, {sweep.fixed}"
    return Figure(f"rates-{number}", traces, layout, f"Final regret: {title}", caption=title)
