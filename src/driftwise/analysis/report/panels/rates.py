"""Exponents of regret in the length of a run and in the variation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.elements import (
    Cell,
    Section,
    axis,
    bootstrap_caution,
    figure,
    legend,
    line,
    packed,
    paragraph,
    sortable_table,
)
from driftwise.analysis.report.rates import HEADINGS, NEAR, Sweep, sweeps


def rates(report: Report) -> Section | None:
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
    figures = "".join(_figure(number, sweep, data.drawn) for number, sweep in enumerate(found))
    rows = [row for sweep in found for row in _rows(sweep)]
    headings = ("sweep", "agent", *HEADINGS)
    body = legend(data) + f'<div class="pair">{figures}</div>'
    return Section("Rates", body + sortable_table(headings, rows, name="rates") + paragraph(note))


def _figure(number: int, sweep: Sweep, drawn: Sequence[str]) -> str:
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
    return figure(f"rates-{number}", traces, layout, text=f"Final regret: {title}", caption=title)


def _rows(sweep: Sweep) -> list[tuple[Cell, ...]]:
    rows = []
    for fit in sweep.fits:
        keys = (
            math.nan if fit.declared is None else float(fit.declared),
            float(fit.exponent.estimate),
            fit.share,
        )
        numbers = (Cell(text, key) for text, key in zip(fit.words[2:], keys, strict=True))
        rows.append(
            (Cell(f"{sweep.symbol}, at {sweep.fixed}"), Cell(fit.agent), *map(Cell, fit.words[:2]), *numbers)
        )
    return rows
