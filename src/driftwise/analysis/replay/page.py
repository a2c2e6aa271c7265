"""The page of a replay."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from driftwise.analysis.drawings import Curve, Drawing
from driftwise.analysis.page import Page, Section, write_html
from driftwise.analysis.replay.tables import KINDS, evaluated, tables
from driftwise.analysis.replay.wording import INTERVALS, READING, lead
from driftwise.online.replay import Evaluation, Interval, Replay, Window

X = "row of the log"
MOST_POINTS = 100  # of a curve
NOWHERE = Interval(np.nan, np.nan, np.nan)


def html_page(replay: Replay) -> str:
    """The means with their intervals, how they came about, then what they rest on."""
    means, estimates, weights, actions = tables(replay)
    known = replay.options.reward_range is not None
    kind = "running" if known else "asymptotic"
    shown = f"intervals: {KINDS[kind]}"
    figures = [
        _drawing(
            replay, "so-far", f"Mean reward so far ({shown})", "mean reward", lambda each: each.value[kind]
        ),
        _drawing(
            replay,
            "differences",
            f"The same less that of the logged policy ({shown})",
            "difference",
            lambda each: each.differences.get("logged", {}).get(kind, NOWHERE),
        ),
    ]
    if known:
        title = f"Weighted mean reward, memory {replay.memory:,.0f} rows"
        figures.append(
            _drawing(replay, "weighted", title, "mean reward", lambda each: each.value["weighted"])
        )
    title = "Mean reward in each window (DR, normal intervals)"
    figures.append(_drawing(replay, "windows", title, "mean reward", _in_window))
    names = ", ".join(replay.policies)
    return write_html(
        Page(
            title="replay",
            kicker=f"{replay.log.path} · {names} · seed {replay.options.seed}",
            heading="What the policies would have earned" + " (biased)" * replay.biased,
            lead=lead(replay),
            parts=[
                Section("Mean rewards", [means, INTERVALS, *_pairs(figures)]),
                Section("Estimates and weights", [estimates, weights, READING]),
                Section("Actions", [actions]),
            ],
        )
    )


def _in_window(window: Window) -> Interval:
    found = window.window.values["DR"]
    return Interval(found.value, found.low, found.high)


def _drawing(
    replay: Replay, name: str, title: str, y_label: str, taken: Callable[[Window], Interval]
) -> Drawing:
    rows = np.array([window.row for window in _shown(replay.logged)], dtype=float)
    curves = [_curve(label, each, taken) for label, each in evaluated(replay)]
    text = f"{title}, by each policy, over the rows of the log"
    return Drawing(name, rows, curves, X, y_label, title, text)


def _shown(evaluation: Evaluation) -> tuple[Window, ...]:
    """So many windows that a page stays small, up to the last."""
    step = -(-len(evaluation.windows) // MOST_POINTS)
    return evaluation.windows[::-1][::step][::-1]


def _curve(label: str, evaluation: Evaluation, taken: Callable[[Window], Interval]) -> Curve:
    found = np.array([taken(window) for window in _shown(evaluation)], dtype=float)
    return Curve(label, *found.T)


def _pairs(figures: list[Drawing]) -> list[tuple[Drawing, ...]]:
    return [tuple(figures[place : place + 2]) for place in range(0, len(figures), 2)]
