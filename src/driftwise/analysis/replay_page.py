"""A replay as a page in the look of the report, in a single file that needs no network."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib.resources import files

import numpy as np
from plotly.offline import get_plotlyjs

from driftwise import __version__
from driftwise.analysis.report.elements import (
    Cell,
    axis,
    counted,
    figure,
    line,
    paragraph,
    shown,
    sortable_table,
)
from driftwise.analysis.report.page import ICON, PAGE, POLICY
from driftwise.online.replay.estimates import NORMAL_95, Estimates
from driftwise.online.replay.replaying import Replay, Window

HEADINGS = ("estimate", "value", "standard error", "95 % from", "to")
READING = (
    "Logged: the mean reward of the policy that wrote the log. Replay: of the events that were accepted as "
    "if the agent had acted itself. IPS, SNIPS and DR weight all events by the agent's probability of the "
    "logged action over that of the logging policy; the effective number of events says how much is left."
)


def html_page(replay: Replay) -> str:
    """The final estimates, then how they came about."""
    parts = files("driftwise.analysis.report")
    return PAGE.format(
        policy=POLICY,
        icon=ICON,
        title="replay · driftwise",
        css=parts.joinpath("page.css").read_text(encoding="utf-8"),
        kicker=escape(f"{replay.log.path} · {replay.algorithm} · seed {replay.seed}"),
        heading="What the agent would have earned",
        lead=paragraph(lead(replay), "lead"),
        navigation="",
        body=f"<article>{_table(replay)}{paragraph(READING)}{_figures(replay)}</article>",
        footer=escape(f"Written by driftwise {__version__}"),
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
        script=parts.joinpath("page.js").read_text(encoding="utf-8"),
    )


def lead(replay: Replay) -> str:
    """How much was replayed, in a sentence or two."""
    final = replay.final
    told = f"{counted(replay.rows, 'row')} with {counted(len(replay.actions), 'action')}"
    if replay.skipped:
        told += f", {counted(replay.skipped, 'more row')} skipped for a value that is missing or not finite"
    if replay.frozen_after is not None:
        told += f"; learnt from the first {replay.frozen_after:,}, estimated on the other {final.events:,}"
    told += f". Accepted {final.accepted:,} events of {final.events:,}; weighted ones count as "
    told += f"{final.effective:,.0f}, and their mean weight is {final.mean_weight:.3g} "
    told += "(1, up to chance, if propensities are right)."
    if replay.warning:
        told += f" Beware: {replay.warning}."
    if replay.log.propensity is None:
        told += " Propensities are the actions' shares of the log: right if actions were drawn regardless of "
        told += "the context and of time."
    return told


def _table(replay: Replay) -> str:
    rows = []
    for name, each in replay.final.values.items():
        numbers = (each.value, each.error, each.low, each.high)
        rows.append([Cell(name), *(Cell(shown(number, 4), number) for number in numbers)])
    return sortable_table(HEADINGS, rows, name="replay")


def _figures(replay: Replay) -> str:
    parts: tuple[tuple[str, str, Callable[[Window], Estimates]], ...] = (
        ("so-far", "Mean reward so far", lambda window: window.so_far),
        ("window", "Mean reward in each window", lambda window: window.window),
    )
    rows = np.array([window.row for window in replay.windows], dtype=float)
    drawn = []
    for name, title, taken in parts:
        lines = []
        for number, method in enumerate(replay.final.values):
            found = [taken(window).values[method] for window in replay.windows]
            values = np.array([each.value for each in found])
            errors = np.array([each.error for each in found])
            lines.append(line(number, method, values, NORMAL_95 * errors))
        layout = {"xaxis": axis("row"), "yaxis": axis(""), "showlegend": True}
        text = f"{title}, by each estimate, over the rows of the log"
        drawn.append(figure(name, lines, layout, text=text, caption=title, x=rows))
    return "".join(drawn)
