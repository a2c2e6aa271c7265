"""When agents that watch over others restarted them, and which of several they let play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.elements import (
    Section,
    axis,
    change_marks,
    curve_style,
    figure,
    legend,
    line,
    paragraph,
    plotly_text,
    thinned,
    told_apart,
)
from driftwise.simulation.results import EVENTS, Result

STRETCHES = 40  # of time at most, in which events are counted
ARM_CURVES = {"probability.0", "played.0"}  # what an agent that chooses among others tells of the first


def meta_algorithms(data: ReportData) -> Section | None:
    shown = {label: data.results[label] for label in data.drawn}
    events = [name for name in EVENTS if any(name in result.counts for result in shown.values())]
    bandits = [label for label, result in shown.items() if {*result.diagnostics} >= ARM_CURVES]
    if not events and not bandits:
        return None
    pairs = [[_events(data, name) for name in events]] if events else []
    pairs += [_arms(data, label, number) for number, label in enumerate(bandits)]
    body = "".join(f'<div class="pair">{"".join(pair)}</div>' for pair in pairs)
    notes = {
        f"{' and '.join(events).capitalize()}: how many fell into each of {len(_borders(data)) - 1} "
        "stretches of time, mean over runs.": events,
        "Arms: with which probability the one that plays the present block was drawn, mean over runs, and "
        "the share of all episodes that each played.": bandits,
        "Dotted vertical lines are changes of the environment.": data.changes,
    }
    note = paragraph(" ".join(text for text, there in notes.items() if there))
    return Section("What the meta-algorithms did", legend(data) + body + note)


def _events(data: ReportData, name: str) -> str:
    """How often something happened in each stretch of time."""
    borders, traces = _borders(data), []
    for index, label in enumerate(data.drawn):
        if name not in data.results[label].diagnostics:
            continue
        happened = data.results[label].diagnostics[name].mean(axis=0) * data.lengths
        counts = np.add.reduceat(happened, borders[:-1])
        curve = line(index, label, np.append(counts, counts[-1]))
        traces.append({**curve, "line": {**curve["line"], "shape": "hv"}})
    layout = {
        "shapes": change_marks(data),
        "xaxis": axis("episode"),
        "yaxis": axis("", rangemode="tozero", minallowed=0),
    }
    starts = np.concatenate([[0], data.episodes])[borders] + 0.5  # between two episodes, as changes are
    text = f"{name.capitalize()} of every agent over episodes"
    return figure(name, traces, layout, x=starts, text=text, caption=f"{name.capitalize()} in a run")


def _borders(data: ReportData) -> np.ndarray:
    """Of the stretches of time, as numbers of points."""
    points = len(data.lengths)
    return np.linspace(0, points, min(points, STRETCHES) + 1).round().astype(int)


def _arms(data: ReportData, label: str, number: int) -> list[str]:
    """Probabilities of the arms over time, and how often each played."""
    result, kept = data.results[label], thinned(len(data.lengths))
    count = sum(name.startswith("probability.") for name in result.diagnostics)
    names = arm_names(data.agents[data.labels.index(label)].get("parameters"), count)
    curves = []
    for arm, name in enumerate(names):
        mean = result.diagnostics[f"probability.{arm}"].mean(axis=0)
        curves.append({**line(arm, name, mean[kept]), "meta": _look(label, arm)})
    layout = {
        "shapes": change_marks(data),
        "xaxis": axis("episode"),
        "yaxis": axis("", rangemode="tozero", minallowed=0),
        "showlegend": True,
    }
    text = f"Probability of every arm of {label} over episodes"
    caption = f"Probabilities of the arms of {label}"
    over_time = figure(
        f"arms-{number}",
        curves,
        layout,
        x=data.episodes[kept],
        text=text,
        caption=caption,
        rows=count,
    )
    return [over_time, _plays(label, number, names, _shares(result, count))]


def _plays(label: str, number: int, names: Sequence[str], shares: Sequence[float]) -> str:
    """A bar for each arm, in the colour of its curve."""
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [share],
            "y": [plotly_text(name)],
            "text": [_percent(share)],
            "textposition": "auto",
            "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
            "meta": _look(label, arm),
        }
        for arm, (name, share) in enumerate(zip(names, shares, strict=True))
    ]
    layout = {
        "barmode": "stack",  # each has its row to itself
        "xaxis": axis("share of the episodes", tickformat=".0%", rangemode="tozero"),
        "yaxis": axis("", autorange="reversed", showgrid=False),
        "hovermode": "closest",
    }
    played = ", ".join(f"{name} {_percent(share)}" for name, share in zip(names, shares, strict=True))
    text = f"Share of the episodes that each arm of {label} played: {played}"
    caption = f"Who played in {label}"
    return figure(f"plays-{number}", bars, layout, text=text, caption=caption, rows=len(names))


def _shares(result: Result, count: int) -> list[float]:
    plays = (result.diagnostics[f"played.{arm}"].mean(axis=0) for arm in range(count))
    return [float(np.average(each, weights=result.lengths)) for each in plays]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _look(label: str, arm: int) -> dict[str, Any]:
    """An arm is hidden with its agent, and has a colour of its own."""
    return {"agent": label, "colour": curve_style(arm)[0]}


def arm_names(parameters: Any, count: int) -> list[str]:
    """What tells the arms of an agent's configuration apart, `rate = 0.99`; else their numbers."""
    arms = [dict(_leaves(arm)) for arm in next(_lists_of_arms(parameters), [])]
    differing = [key for key in (arms[0] if arms else ()) if len({str(arm.get(key)) for arm in arms}) > 1]
    decisive = [key for key in differing if len({str(arm.get(key)) for arm in arms}) == len(arms)]
    keys = decisive[:1] or differing
    columns = [told_apart([arm.get(key) for arm in arms]) for key in keys]
    names = [
        ", ".join(f"{key[-1]} = {value}" for key, value in zip(keys, values, strict=True))
        for values in zip(*columns, strict=True)
    ]
    return names if len(names) == len({*names}) == count else [f"arm {arm}" for arm in range(count)]


def _lists_of_arms(config: Any) -> Iterator[list[Any]]:
    """The `arms` in a configuration, or in a part of it."""
    if isinstance(config, Mapping):
        arms = config.get("arms")
        if isinstance(arms, list) and all(isinstance(arm, Mapping) for arm in arms):
            yield arms
        for value in config.values():
            yield from _lists_of_arms(value)


def _leaves(config: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values in a configuration, by where they stand."""
    if isinstance(config, Mapping):
        for key, value in config.items():
            yield from _leaves(value, *path, str(key))
    else:
        yield path, config
