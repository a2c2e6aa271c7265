"""Regret over time, beside random actions and the drift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from driftwise.analysis.leaders import leading, spans
from driftwise.analysis.page import Figure, Section, axis, curve_style, line
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.panels.common import (
    over_episodes,
    plain,
    with_strip,
)
from driftwise.analysis.statistics import mean_interval
from driftwise.analysis.statistics.wording import counted, rounded
from driftwise.analysis.views import View, smoothing, thinned, views

FAR = 1.5  # times the highest curve, beyond which the level of random actions is out of sight
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)  # of shares, between ticks
UNCHOSEN_POINTS = 60  # of a faint curve
FEWEST_RUNS = 6  # of which signs can be flipped often enough to tell anything at 5 %


def regret(data: ReportData) -> Section:
    """Cumulative regret, and smoothed regret of an episode, of every agent."""
    first = data.results[data.labels[0]]
    both = views(first, data.changes, data.quantity)
    figures = tuple(_figure(data, view) for view in both)
    note = "Mean over runs, and its 95 % interval (Student’s t)." if data.num_runs > 1 else "One run."
    if (width := smoothing(first)) > 1:
        note += f" {data.quantity.capitalize()} of an episode is the mean over the last {width} points"
        note += ", of none before the last change." if data.changes else "."
    if data.changes:
        note += " Dotted vertical lines are changes of the environment."
    if data.drift is not None:
        note += " Strip: how far the environment is from where it began, as a share of the furthest."
    if math.isfinite(data.random_regret):
        note += (
            f" Grey: random actions, {rounded(data.random_regret, 3)} an episode; the axis to the right has "
            "shares of that."
        )
    if data.grid_notes:
        note += " Faint in the colour of an agent: the other points of its grid."
    if faint := sum(number is None for number in data.styles.values()):
        note += f" Faint: {counted(faint, 'agent')} of higher average rank."
    return Section(
        f"{data.quantity.capitalize()} over time", [figures, _lead_note(data, both), note, *data.grid_notes]
    )


def _lead_note(data: ReportData, both: Sequence[View]) -> str:
    if len(data.labels) < 2:
        return "One agent leads alone."
    if data.num_runs < FEWEST_RUNS:
        return f"With fewer than {FEWEST_RUNS} runs no test can tell when {data.leader} is ahead."
    below = "significantly below all others, by sign-flip tests over runs at 5 % for all episodes together"
    if any(lead_spans(data, view) for view in both):
        return f"Shaded: where the curve of {data.leader} is {below}."
    return f"At no time is the curve of {data.leader} {below}."


def lead_spans(data: ReportData, view: View) -> list[tuple[int, int]]:
    """The first and last episodes of stretches in which the leader is significantly below all others."""
    if data.num_runs < FEWEST_RUNS or len(data.labels) < 2:
        return []
    kept = np.concatenate(view.thinned())
    curves = {label: view.curves(result)[:, kept] for label, result in data.results.items()}
    episodes = data.episodes[kept]
    return [(int(episodes[a]), int(episodes[b])) for a, b in spans(leading(curves, data.leader))]


def _figure(data: ReportData, view: View) -> Figure:
    """Means of all agents, with a gap after each piece, the level of random actions, and the drift below."""
    kept = view.thinned()
    places, gaps = np.concatenate(kept), np.cumsum([len(piece) for piece in kept])
    traces, lowest, highest = [], 0.0, 0.0  # below zero only problems without episodes go
    for label, number in data.styles.items():
        mean, half_width = mean_interval(view.curves(data.results[label])[:, places])
        band = np.insert(half_width, gaps, np.nan) if number is not None and data.num_runs > 1 else None
        traces.append(line(number, label, np.insert(mean, gaps, np.nan), band))
        lowest, highest = min(lowest, float(mean.min())), max(highest, float(mean.max()))
    layout = over_episodes(data, lowest)
    layout["shapes"] += [_shade(data, *span) for span in lead_spans(data, view)]
    level, shares = _random(data, view, lowest, highest)
    strip, layout = with_strip(data, {**layout, **shares})
    traces = [*_unchosen(data, view, places, highest), *level, *traces, *strip]
    episodes = np.insert(data.episodes[places].astype(float), gaps, np.nan)
    text = f"{view.heading} of every agent over episodes"
    return Figure(view.name, traces, layout, text, view.heading, x=episodes)


def _unchosen(data: ReportData, view: View, places: np.ndarray, highest: float) -> list[dict[str, Any]]:
    """The other points of each grid as one faint trace, as far as they do not press the rest together."""
    few, traces = places[thinned(len(places), UNCHOSEN_POINTS)], []
    for label, shown in data.shown.items():
        means = [view.curves(each)[:, few].mean(axis=0) for each in shown.others.values()]
        if not means:
            continue
        y = np.concatenate(
            [np.append(np.where(mean > FAR * highest, np.nan, mean), np.nan) for mean in means]
        )
        x = np.tile(np.append(data.episodes[few], np.nan), len(means))
        colour, _ = curve_style(data.styles[label])
        trace = plain(colour, label, x, y, hoverinfo="skip", opacity=0.3)
        trace["meta"]["agent"] = label  # hidden with it
        traces.append({**trace, "line": {"width": 0.8}})
    return traces


def _shade(data: ReportData, start: int, end: int) -> dict[str, Any]:
    """An area in the colour of the leader."""
    edges = {"x0": start, "x1": end, "y0": 0, "y1": 1}
    colour, _ = curve_style(data.styles[data.leader])
    return {"type": "rect", "xref": "x", "yref": "y domain", **edges, "layer": "below", "colour": colour}


def _random(
    data: ReportData, view: View, lowest: float, highest: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The level of random actions as far as it is near, and an axis of shares of where it ends."""
    if not math.isfinite(data.random_regret) or highest <= 0:
        return [], {}
    top, ends = FAR * highest, np.array([0.0, data.num_episodes])
    level = view.random(data.random_regret, ends)
    unit = float(level[-1])
    if level.min() > top:  # a level that is out of sight
        level = np.full(2, np.nan)
    elif unit > top:  # a ray, until it leaves the figure
        ends = ends * 1.05 * highest / unit
        level = view.random(data.random_regret, ends)
    step = next((each for each in STEPS if top / unit <= 6 * each), STEPS[-1])
    ticks = np.arange(0, top / unit + step, step).tolist()
    decimals = 1 if step < 0.01 else 0
    axes = axis(
        "of random actions",
        overlaying="y",
        matches="y",
        side="right",
        showgrid=False,
        rangemode="tozero",
        minallowed=lowest,
        tickvals=[each * unit for each in ticks],
        ticktext=[f"{100 * each:.{decimals}f} %" for each in ticks],
    )
    trace = plain("soft", "random", ends, level, yaxis="y2")
    trace["line"] = {"width": 1.2, "dash": "dot"}
    return [trace], {"yaxis2": axes}
