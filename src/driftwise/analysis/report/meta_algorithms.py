"""Meta-algorithms: when they restarted the agents that they watch, and how they weighted several agents."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from driftwise.analysis.figures import AnyFigure, Axis, Bars, Curve, Figure, distinct_texts, mean_curve
from driftwise.analysis.page import Section
from driftwise.analysis.regret_curves import thinned
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.regret import change_marks
from driftwise.analysis.statistics.formatting import format_count, format_number, format_percent
from driftwise.simulation.results import EVENTS, Result

_MAX_STRETCHES = 40  # of time, in which events are counted
_UNIFORM = 0.25  # of an equal share: shares that differ by less count as equal
_SETTLED = 0.2  # of a fall on a logarithmic axis: the rest of it does not count
_FALL = 0.8  # of the level before a change: a memory that stays above did not react
_EVENT_WORDS = {"restarts": ("restarted", "a restart"), "alarms": ("raised an alarm", "one")}
_MEASURES = {  # diagnostics that are one number, with their captions and axes
    "memory": ("Effective memory, in episodes", Axis(log=True)),
    "noise": ("Learnt noise, as a standard deviation", Axis(from_zero=True)),
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

    def combines(self, result: Result) -> bool:
        """Return whether the agent of this result records them."""
        return f"{self.curves}.0" in result.diagnostics


def arm_names(parameters: Any, count: int) -> list[str]:
    """Return names of the arms by the parameters in which they differ, `rate = 0.99`; else their numbers."""
    columns = [column for column in _columns(parameters) if len(column[1]) == count]
    differing = [column for column in columns if len({*map(str, column[1])}) > 1]
    decisive = [column for column in differing if len({*map(str, column[1])}) == count]
    texts = ([f"{name} = {text}" for text in distinct_texts(own)] for name, own in decisive[:1] or differing)
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
        arms = pd.json_normalize(config)
        yield from ((str(path).split(".")[-1], arms[path].tolist()) for path in arms)
    elif isinstance(config, list) and within:
        yield name, config


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
    for label, result in data.results.items():
        known = result.diagnostics
        sentences += [_describe_events(data, label, name) for name in EVENTS if name in known]
        if "memory" in known:
            sentences.append(_describe_memory(data, label))
        if "noise" in known:
            last = format_number(float(known["noise"].mean(axis=0)[-1]), 2)
            sentences.append(f"{label} has learnt a noise of {last} by the end.")
        combined = (_named_shares(data, kind, label) for kind in _SHARES if kind.combines(result))
        sentences += [_describe_shares(label, *shares) for shares in combined]
    if not sentences:
        return None
    results = data.results.values()
    # of events that never occurred there is a sentence only
    events = [name for name in EVENTS if any(own.counts[name].any() for own in results if name in own.counts)]
    measures = [name for name in _MEASURES if any(name in own.diagnostics for own in results)]
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
        labels = [label for label, result in data.results.items() if kind.combines(result)]
        figures += [_share_figures(data, kind, label, number) for number, label in enumerate(labels)]
        notes += [kind.note] if labels else []
    if data.changes and any(figures):
        notes.append("Dotted vertical lines are changes of the environment.")
    blocks = filter(None, [*figures, " ".join(notes)])
    return Section("What the meta-algorithms did", [sentences, *blocks])


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
    borders = _borders(data)

    def count(mean: np.ndarray) -> np.ndarray:
        counts = np.add.reduceat(mean * data.lengths, borders[:-1])
        return np.append(counts, counts[-1])

    curves = _mean_curves(data, name, count, kind="steps")
    starts = np.concatenate([[0], data.episodes])[borders] + 0.5  # between two episodes, as changes are
    text, caption = f"{name.capitalize()} of every agent over episodes", f"{name.capitalize()} in a run"
    return _over_episodes(data, name, curves, text, caption=caption, x=starts)


def _borders(data: ReportData) -> np.ndarray:
    """Borders of the stretches of time, as numbers of points."""
    points = len(data.lengths)
    return np.linspace(0, points, min(points, _MAX_STRETCHES) + 1).round().astype(int)


def _measure(data: ReportData, name: str) -> Figure:
    """A diagnostic over time, of every agent that records it."""
    kept, (caption, axis) = thinned(len(data.lengths)), _MEASURES[name]
    curves = _mean_curves(data, name, lambda mean: mean[kept])
    text = f"{caption}, of every agent over episodes"
    return _over_episodes(data, name, curves, text, axis, caption=caption, x=data.episodes[kept])


def _mean_curves(
    data: ReportData, name: str, reduce: Callable[[np.ndarray], np.ndarray], **look: Any
) -> list[Curve]:
    """Means over runs of a diagnostic, of the agents that record it."""
    known = {label: result.diagnostics.get(name) for label, result in data.results.items()}
    means = {label: curve.mean(axis=0) for label, curve in known.items() if curve is not None}
    styles = data.styles.items()
    return [
        mean_curve(label, number, reduce(means[label]), **look) for label, number in styles if label in means
    ]


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
    bars = Bars(f"total-{name}", *shares, kind.unit, f"{caption}: {text}", caption, label, len(curves))
    return over_time, bars


def _over_episodes(
    data: ReportData, name: str, curves: Sequence[Curve], text: str, vertical: Axis | None = None, **more: Any
) -> Figure:
    """A figure of curves over episodes with marks at the changes."""
    axes = Axis("episode", integer=True), vertical or Axis(from_zero=True)
    return Figure(name, curves, *axes, text, marks=change_marks(data), **more)


def _describe_events(data: ReportData, label: str, name: str) -> str:
    """Return how often an event happened in a run, and how soon after a change: "MASTER never restarted"."""
    result, (verb, noun) = data.results[label], _EVENT_WORDS[name]
    counts = result.diagnostics[name] * result.lengths  # [runs, points]
    mean = float(counts.sum(axis=-1).mean())
    if mean == 0:
        return f"{label} never {verb}."
    text = f"{label} {verb} {'once' if mean == 1 else f'{format_number(mean, 2)} times'} in a run"
    waits = np.full((len(counts), len(data.changes)), np.inf)  # from each change to the first event after it
    for number, (change, _, after) in enumerate(_stretches(result, data.changes)):
        if after.size:
            first = result.episodes[after][(counts[:, after] > 0).argmax(axis=1)] - change
            waits[:, number] = np.where((counts[:, after] > 0).any(axis=1), first, np.inf)
    if not waits.size:
        return f"{text}."
    finite = np.isfinite(waits)
    if not finite.any():
        return f"{text}, never after a change."
    median, share = format_number(float(np.median(waits[finite])), 3), format_percent(float(finite.mean()))
    which = "the change" if len(data.changes) == 1 else "a change"
    return (
        f"{text}; {which} was followed by {noun} in {share} of the cases, after {median} episodes (median)."
    )


def _stretches(result: Result, changes: Sequence[int]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Each change with the points before it, and those after it until the next."""
    episodes = result.episodes
    for change, end in itertools.pairwise([*changes, episodes[-1]]):
        after = np.flatnonzero((episodes > change) & (episodes <= end))
        yield change, np.flatnonzero(episodes <= change), after


def _describe_shares(label: str, curves: Mapping[str, np.ndarray], totals: Mapping[str, float]) -> str:
    """Return whether one of several was given the most weight: "BoRL stayed uniform, 33/33/34 %".

    `curves` are shares `[runs, points]` by name, `totals` those in the whole run.
    """
    equal, names = 1 / len(curves), list(curves)
    shares = np.stack([*curves.values()])  # [names, runs, points]
    means = shares.mean(axis=1)
    last = means[:, -1]
    top = int(last.argmax())
    if np.abs(means - equal).max() > _UNIFORM * equal:
        at_end, total = format_percent(float(last[top])), format_percent(totals[names[top]])
        return f"{label} gave '{names[top]}' the most weight: {at_end} at the end, {total} over the run."
    favourite = float(shares[:, :, -1].max(axis=0).mean())
    if favourite > 2 * equal:
        return f"{label} preferred a different one in each run: {format_percent(favourite)} at the end."
    if len(curves) > 6:
        lowest, highest = (format_percent(float(end)) for end in (means.min(), means.max()))
        return f"{label} stayed uniform, {lowest} to {highest}."
    return f"{label} stayed uniform, {'/'.join(f'{100 * share:.0f}' for share in last)} %."


def _describe_memory(data: ReportData, label: str) -> str:
    """Return how a memory reacted to changes: "fell from 900 to 40 episodes within 60 of the change"."""
    result, changes = data.results[label], data.changes
    memory = np.exp(np.log(np.maximum(result.diagnostics["memory"], 1e-9)).mean(axis=0))  # a typical run
    falls = []  # at each change: memory before, the lowest until the next, episodes until it nearly is
    for change, before, after in _stretches(result, changes):
        if before.size and after.size:
            start, least = float(memory[before[-1]]), float(memory[after].min())
            nearly = least * (start / least) ** _SETTLED if least < start else start
            reached = after[np.argmax(memory[after] <= nearly)]
            falls.append((start, least, float(result.episodes[reached] - change)))
    name = f"The memory of {label}"
    if not falls:
        start, end = (format_number(memory[place], 2) for place in (0, -1))
        return f"{name} went from {start} to {end} episodes."
    before, after, duration = (float(np.median(values)) for values in zip(*falls, strict=True))
    start, least, within = (format_number(number, 2) for number in (before, after, duration))
    one = len(falls) == 1
    if after > _FALL * before:
        which = "the change" if one else "the changes"
        return f"{name} did not react to {which}: {start} episodes before, at least {least} after."
    which = "the change" if one else f"a change, in the median of {format_count(len(falls), 'change')}"
    return f"{name} fell from {start} to {least} episodes within {within} episodes of {which}."
