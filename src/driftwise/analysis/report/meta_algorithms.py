"""Meta-algorithms: when they restarted the agents that they watch, and how they weighted several agents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.figures import AnyFigure, Axis, Bars, Curve, Figure, distinct_texts, mean_curve
from driftwise.analysis.page import Section, Story
from driftwise.analysis.regret_curves import thinned
from driftwise.analysis.report import stories
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.regret import change_marks
from driftwise.analysis.statistics.formatting import format_percent
from driftwise.simulation.results import EVENTS

_MAX_STRETCHES = 40  # of time, in which events are counted


class _Measure(NamedTuple):
    """A diagnostic that is one number."""

    caption: str
    axis: Axis
    describe: Callable[[ReportData, str], str]  # a sentence on an agent


_MEASURES = {
    "memory": _Measure("Effective memory, in episodes", Axis(log=True), stories.describe_memory),
    "noise": _Measure("Learnt noise, as a standard deviation", Axis(from_zero=True), stories.describe_noise),
}


class _Shares(NamedTuple):
    """Diagnostics of an agent that combines several others: one share for each of them."""

    curves: str  # diagnostics that sum to one at any time
    totals: str  # diagnostics whose mean is the share in the whole run
    names: Callable[[Any, int], list[str]]
    caption: str
    total_caption: str
    unit: str
    note: str


def arm_names(parameters: Any, count: int) -> list[str]:
    """Return names of the arms by the parameters in which they differ, `rate = 0.99`; else their numbers."""
    columns = [(name, values) for name, values in _columns(parameters) if len(values) == count]
    distinct = {name: len({*map(str, values)}) for name, values in columns}
    differing = [(name, values) for name, values in columns if distinct[name] > 1]
    decisive = [(name, values) for name, values in differing if distinct[name] == count]
    texts = (
        [f"{name} = {text}" for text in distinct_texts(values)] for name, values in decisive[:1] or differing
    )
    names = [", ".join(parts) for parts in zip(*texts, strict=True)]
    return names if len({*names}) == count else [f"arm {arm}" for arm in range(count)]


def memory_names(parameters: Any, count: int) -> list[str]:
    """Return names of memories by their lengths, `memory 64`, if weights are exponential; else as of arms."""
    rates = [rate for rate in dict(_columns(parameters)).get("rate", []) if isinstance(rate, (int, float))]
    names = ["all" if rate == 1 else f"memory {1 / (1 - rate):.4g}" for rate in rates]
    return names if len({*names}) == count else arm_names(parameters, count)


def _columns(config: Any, name: str = "", *, within: bool = False) -> Iterator[tuple[str, list[Any]]]:
    """Lists with a number for each arm, by name; earlier versions wrote a list of arms instead."""
    if isinstance(config, Mapping):
        for key, value in config.items():
            yield from _columns(value, str(key), within=within or key == "base")
    elif isinstance(config, list) and name == "arms" and all(isinstance(arm, Mapping) for arm in config):
        arms = [dict(_leaves(arm)) for arm in config]
        yield from ((path[-1], [arm.get(path) for arm in arms]) for path in (arms[0] if arms else ()))
    elif isinstance(config, list) and within:
        yield name, config


def _leaves(config: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The values in a configuration with their paths."""
    if isinstance(config, Mapping):
        for key, value in config.items():
            yield from _leaves(value, *path, str(key))
    else:
        yield path, config


_SHARES = (
    _Shares(
        "probability",
        "played",
        arm_names,
        "Probabilities of the arms",
        "Episodes played in",
        "share of the episodes",
        "Arms: the probability with which the arm of the present block was drawn, mean over runs, and the "
        "share of all episodes that each arm played.",
    ),
    _Shares(
        "weight",
        "weight",
        memory_names,
        "Weights of the memories",
        "Mean weight in",
        "mean over the run",
        "Weights: the weight of each memory in the mixture, mean over runs, and its mean over the run.",
    ),
)


def meta_algorithms(data: ReportData) -> Section | None:
    """Return a sentence for each diagnostic of each agent, and the figures of these diagnostics."""
    sentences = []
    for label in data.labels:
        known = data.results[label].diagnostics
        sentences += [stories.describe_events(data, label, name) for name in EVENTS if name in known]
        sentences += [own.describe(data, label) for name, own in _MEASURES.items() if name in known]
        combined = (_named_shares(data, kind, label) for kind in _SHARES if _combines(data, label, kind))
        sentences += [stories.describe_shares(label, *shares) for shares in combined]
    if not sentences:
        return None
    results = data.results.values()
    occurred = {name for result in results for name, count in result.counts.items() if count.any()}
    recorded = {name for result in results for name in result.diagnostics}
    events = [name for name in EVENTS if name in occurred]  # for others there is a sentence only
    measures = [name for name in _MEASURES if name in recorded]
    figures: list[tuple[AnyFigure, ...]] = [
        tuple(_events(data, name) for name in events),
        tuple(_measure(data, name) for name in measures),
    ]
    notes = []
    if events:
        stretches = len(_borders(data)) - 1
        counted = f"how many fell into each of {stretches} stretches of time, mean over runs."
        notes.append(f"{' and '.join(events).capitalize()}: {counted}")
    if measures:
        notes.append("Effective memory: the number of episodes that count, by the weights. Mean over runs.")
    for kind in _SHARES:
        labels = [label for label in data.labels if _combines(data, label, kind)]
        figures += [_share_figures(data, kind, label, number) for number, label in enumerate(labels)]
        notes += [kind.note] if labels else []
    if data.changes and any(figures):
        notes.append("Dotted vertical lines are changes of the environment.")
    blocks = filter(None, [*figures, " ".join(notes)])
    return Section("What the meta-algorithms did", [Story(sentences), *blocks])


def _combines(data: ReportData, label: str, kind: _Shares) -> bool:
    return f"{kind.curves}.0" in data.results[label].diagnostics


def _named_shares(
    data: ReportData, kind: _Shares, label: str
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The curves `[runs, points]` of the combined agents, and their shares of the run, by name."""
    result, diagnostics = data.results[label], data.results[label].diagnostics
    count = sum(name.startswith(f"{kind.curves}.") for name in diagnostics)
    names = kind.names(data.agents[data.labels.index(label)].get("parameters"), count)
    curves = {name: diagnostics[f"{kind.curves}.{place}"] for place, name in enumerate(names)}
    totals = (diagnostics[f"{kind.totals}.{place}"].mean(axis=0) for place in range(count))
    shares = (float(np.average(total, weights=result.lengths)) for total in totals)
    return curves, dict(zip(names, shares, strict=True))


def _events(data: ReportData, name: str) -> Figure:
    """The number of events in each stretch of time."""
    borders, curves = _borders(data), []
    for label, number in data.styles.items():
        if name in data.results[label].diagnostics:
            counts = data.results[label].diagnostics[name].mean(axis=0) * data.lengths
            counts = np.add.reduceat(counts, borders[:-1])
            curves.append(mean_curve(label, number, np.append(counts, counts[-1]), kind="steps"))
    starts = np.concatenate([[0], data.episodes])[borders] + 0.5  # between two episodes, as changes are
    text, caption = f"{name.capitalize()} of every agent over episodes", f"{name.capitalize()} in a run"
    return _over_episodes(data, name, curves, text, caption=caption, x=starts)


def _borders(data: ReportData) -> np.ndarray:
    """Borders of the stretches of time, as numbers of points."""
    points = len(data.lengths)
    return np.linspace(0, points, min(points, _MAX_STRETCHES) + 1).round().astype(int)


def _measure(data: ReportData, name: str) -> Figure:
    """A diagnostic over time, of every agent that records it."""
    kept, measure = thinned(len(data.lengths)), _MEASURES[name]
    curves = [
        mean_curve(label, number, data.results[label].diagnostics[name].mean(axis=0)[kept])
        for label, number in data.styles.items()
        if name in data.results[label].diagnostics
    ]
    caption, text = measure.caption, f"{measure.caption}, of every agent over episodes"
    return _over_episodes(data, name, curves, text, measure.axis, caption=caption, x=data.episodes[kept])


def _share_figures(data: ReportData, kind: _Shares, label: str, number: int) -> tuple[AnyFigure, ...]:
    """The share of each combined agent over time, and in the whole run."""
    kept = thinned(len(data.lengths))
    by_name, totals = _named_shares(data, kind, label)
    curves = [  # hidden with their agent, in colours of their own
        Curve(name, share.mean(axis=0)[kept], place, kind="stacked", agent=label)
        for place, (name, share) in enumerate(by_name.items())
    ]
    name, caption = f"{kind.curves}-{number}", f"{kind.caption} of {label}"
    more: dict[str, Any] = dict(caption=caption, x=data.episodes[kept], legend=True, rows=len(curves))
    over_time = _over_episodes(data, name, curves, f"{caption} over episodes", **more)
    caption = f"{kind.total_caption} {label}"
    text = ", ".join(f"{name} {format_percent(share)}" for name, share in totals.items())
    shares = [*totals], [*totals.values()]
    bars = Bars(f"total-{name}", *shares, kind.unit, f"{caption}: {text}", caption=caption, agent=label)
    return over_time, bars


def _over_episodes(
    data: ReportData, name: str, curves: Sequence[Curve], text: str, vertical: Axis | None = None, **more: Any
) -> Figure:
    """A figure of curves over episodes with marks at the changes."""
    axes = Axis("episode", integer=True), vertical or Axis(from_zero=True)
    return Figure(name, curves, *axes, text, marks=change_marks(data), **more)
