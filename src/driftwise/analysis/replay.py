"""A replay as a table, in words, and as a page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftwise.analysis.page import Article, Figure, Page, Section, axis, line, write_html
from driftwise.analysis.statistics.wording import counted, rounded
from driftwise.analysis.table import Cell, Column, Table, numbers
from driftwise.online.replay.estimates import NORMAL_95, Estimates
from driftwise.online.replay.replaying import Replay, Window

READING = (
    "Logged: the mean reward of the policy that wrote the log. Replay: of the events that were accepted as "
    "if the agent had acted itself. IPS, SNIPS and DR weight all events by the agent's probability of the "
    "logged action over that of the logging policy; the effective number of events says how much is left."
)


def html_page(replay: Replay) -> str:
    """The final estimates, then how they came about."""
    blocks = [estimates_table(replay), READING, *_figures(replay)]
    return write_html(
        Page(
            title="replay",
            kicker=f"{replay.log.path} · {replay.algorithm} · seed {replay.seed}",
            heading="What the agent would have earned",
            lead=lead(replay),
            parts=[Article("", [Section("", blocks)])],
        )
    )


def estimates_table(replay: Replay) -> Table:
    """The final estimates with their standard errors and intervals."""
    columns = (
        Column("estimate", explained="mean reward"),
        *numbers("value", "standard error", "95 % from", "to"),
    )
    rows = [
        (name, *(Cell.of(rounded, number) for number in (each.value, each.error, each.low, each.high)))
        for name, each in replay.final.values.items()
    ]
    return Table.of("replay", columns, rows, title=f"{replay.algorithm} on {replay.log.path}")


def lead(replay: Replay) -> str:
    """The amount that was replayed, in a sentence or two."""
    final = replay.final
    text = f"{counted(replay.rows, 'row')} with {counted(len(replay.actions), 'action')}"
    if replay.skipped:
        text += f", {counted(replay.skipped, 'more row')} skipped for a value that is missing or not finite"
    if replay.frozen_after is not None:
        text += f"; learnt from the first {replay.frozen_after:,}, estimated on the other {final.events:,}"
    text += f". Accepted {final.accepted:,} events of {final.events:,}; weighted ones count as "
    text += f"{final.effective:,.0f}, and their mean weight is {final.mean_weight:.3g} "
    text += "(1, up to chance, if propensities are right)."
    if replay.warning:
        text += f" Beware: {replay.warning}."
    if not replay.log.has_propensities:
        text += " Propensities are the actions' shares of the log: right if actions were drawn regardless of "
        text += "the context and of time."
    return text


def _figures(replay: Replay) -> list[Figure]:
    parts: tuple[tuple[str, str, Callable[[Window], Estimates]], ...] = (
        ("so-far", "Mean reward so far", lambda window: window.so_far),
        ("window", "Mean reward in each window", lambda window: window.window),
    )
    rows = np.array([window.row for window in replay.windows], dtype=float)
    figures = []
    for name, title, taken in parts:
        lines = []
        for number, method in enumerate(replay.final.values):
            found = [taken(window).values[method] for window in replay.windows]
            values = np.array([each.value for each in found])
            errors = np.array([each.error for each in found])
            lines.append(line(number, method, values, NORMAL_95 * errors))
        layout = {"xaxis": axis("row"), "yaxis": axis(""), "showlegend": True}
        text = f"{title}, by each estimate, over the rows of the log"
        figures.append(Figure(name, lines, layout, text, title, x=rows))
    return figures
