"""Meta-algorithms: when they restarted the agents they watch over, and which of several they let play."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from driftwise.analysis.page import Figure, Section, axis, distinct_texts, line, thinned
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.panels.common import legend, over_episodes
from driftwise.analysis.statistics.wording import percent
from driftwise.simulation.results import EVENTS

STRETCHES = 40  # of time at most, in which events are counted
ARM_CURVES = {"probability.0", "played.0"}  # diagnostics of the first arm


def meta_algorithms(data: ReportData) -> Section | None:
    """Events over time; of agents that choose among others, the probabilities and plays of their arms."""
    drawn = {label: data.results[label] for label in data.drawn}
    events = [name for name in EVENTS if any(name in result.counts for result in drawn.values())]
    bandits = [label for label, result in drawn.items() if {*result.diagnostics} >= ARM_CURVES]
    if not events and not bandits:
        return None
    pairs = [tuple(_events(data, name) for name in events)] if events else []
    pairs += [_arms(data, label, number) for number, label in enumerate(bandits)]
    notes = {
        f"{' and '.join(events).capitalize()}: how many fell into each of {len(_borders(data)) - 1} "
        "stretches of time, mean over runs.": events,
        "Arms: with which probability the one that plays the present block was drawn, mean over runs, and "
        "the share of all episodes that each played.": bandits,
        "Dotted vertical lines are changes of the environment.": data.changes,
    }
    note = " ".join(text for text, there in notes.items() if there)
    return Section("What the meta-algorithms did", [*legend(data), *pairs, note])


def _events(data: ReportData, name: str) -> Figure:
    """Number of events in each stretch of time."""
    borders, traces = _borders(data), []
    for index, label in enumerate(data.drawn):
        if name not in data.results[label].diagnostics:
            continue
        happened = data.results[label].diagnostics[name].mean(axis=0) * data.lengths
        counts = np.add.reduceat(happened, borders[:-1])
        curve = line(index, label, np.append(counts, counts[-1]))
        curve["line"]["shape"] = "hv"
        traces.append(curve)
    starts = np.concatenate([[0], data.episodes])[borders] + 0.5  # between two episodes, as changes are
    text = f"{name.capitalize()} of every agent over episodes"
    return Figure(name, traces, over_episodes(data), text, f"{name.capitalize()} in a run", x=starts)


def _borders(data: ReportData) -> np.ndarray:
    """Borders of the stretches of time, as numbers of points."""
    points = len(data.lengths)
    return np.linspace(0, points, min(points, STRETCHES) + 1).round().astype(int)


def _arms(data: ReportData, label: str, number: int) -> tuple[Figure, ...]:
    """Probabilities of the arms over time, and how often each played."""
    result, kept = data.results[label], thinned(len(data.lengths))
    count = sum(name.startswith("probability.") for name in result.diagnostics)
    names = arm_names(data.agents[data.labels.index(label)].get("parameters"), count)
    curves, shares = [], {}
    for arm, name in enumerate(names):
        curve = line(arm, name, result.diagnostics[f"probability.{arm}"].mean(axis=0)[kept])
        curve["meta"]["agent"] = label  # hidden with it, in a colour of its own
        curves.append(curve)
        plays = result.diagnostics[f"played.{arm}"].mean(axis=0)
        shares[name] = float(np.average(plays, weights=result.lengths))
    layout = over_episodes(data, showlegend=True)
    text = f"Probability of every arm of {label} over episodes"
    caption = f"Probabilities of the arms of {label}"
    over_time = Figure(f"arms-{number}", curves, layout, text, caption, x=data.episodes[kept], rows=count)
    return over_time, _plays(label, number, curves, shares)


def _plays(label: str, number: int, curves: Sequence[Mapping], shares: Mapping[str, float]) -> Figure:
    """A bar for each arm, in the colour of its curve."""
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [share],
            "y": [curve["name"]],
            "text": [percent(share)],
            "textposition": "auto",
            "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
            "meta": curve["meta"],
        }
        for curve, share in zip(curves, shares.values(), strict=True)
    ]
    layout = {
        "barmode": "stack",  # each has its row to itself
        "xaxis": axis("share of the episodes", tickformat=".0%", rangemode="tozero"),
        "yaxis": axis("", autorange="reversed", showgrid=False),
        "hovermode": "closest",
    }
    played = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    text = f"Share of the episodes that each arm of {label} played: {played}"
    return Figure(f"plays-{number}", bars, layout, text, f"Who played in {label}", rows=len(shares))


def arm_names(parameters: Any, count: int) -> list[str]:
    """Names of the arms by what differs in their configuration, `rate = 0.99`; else by their numbers."""
    columns = [(name, values) for name, values in _columns(parameters) if len(values) == count]
    differing = [(name, values) for name, values in columns if len({*map(str, values)}) > 1]
    decisive = [(name, values) for name, values in differing if len({*map(str, values)}) == count]
    texts = (
        [f"{name} = {text}" for text in distinct_texts(values)] for name, values in decisive[:1] or differing
    )
    names = [", ".join(each) for each in zip(*texts, strict=True)]
    return names if len({*names}) == count else [f"arm {arm}" for arm in range(count)]


def _columns(config: Any, name: str = "", *, within: bool = False) -> Iterator[tuple[str, list[Any]]]:
    """Lists of a number for each arm, by name; manifests of earlier versions have a list of arms instead."""
    if isinstance(config, Mapping):
        for key, value in config.items():
            yield from _columns(value, str(key), within=within or key == "base")
    elif isinstance(config, list) and name == "arms" and all(isinstance(arm, Mapping) for arm in config):
        arms = [dict(_leaves(arm)) for arm in config]
        yield from ((path[-1], [arm.get(path) for arm in arms]) for path in (arms[0] if arms else ()))
    elif isinstance(config, list) and within:
        yield name, config


def _leaves(config: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values in a configuration, by where they stand."""
    if isinstance(config, Mapping):
        for key, value in config.items():
            yield from _leaves(value, *path, str(key))
    else:
        yield path, config
