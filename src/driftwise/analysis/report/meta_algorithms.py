"""Meta-algorithms: when they restarted the agents that they watch, and how they weighted several agents."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from driftwise.analysis.figures import AnyFigure, Axis, Bars, Curve, Figure, distinct_texts, mean_curve
from driftwise.analysis.formatting import format_count, format_number, format_percent
from driftwise.analysis.page import Section
from driftwise.analysis.regret_curves import thinned
from driftwise.analysis.report.data import ReportData
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


def arm_names(parameters: Any, count: int) -> list[str]:
    """Return names of the arms by the parameters in which they differ, `rate = 0.99`; else their numbers."""
    columns = [column for column in _columns(parameters) if len(column[1]) == count]
    differing = [column for column in columns if len({*map(str, column[1])}) > 1]
    decisive = [column for column in differing if len({*map(str, column[1])}) == count]
    texts = ([f"{name} = {text}" for text in distinct_texts(row)] for name, row in decisive[:1] or differing)
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


class _Shares(NamedTuple):
    """Diagnostics of an agent that combines several others: one share for each of them."""

    curves: str  # diagnostics that sum to one at any time
    totals: str  # diagnostics whose mean is the share in the whole run
    names: Callable[[Any, int], list[str]]
    captions: tuple[str, str, str]  # of the curves, of the totals, and the unit of the totals
    note: str


_SHARES = (
    _Shares(
        "probability",
        "played",
        arm_names,
        ("Probabilities of the arms", "Episodes played in", "share of the episodes"),
        "Arms: the probability with which the arm of the present block was drawn, mean over runs, and the "
        "share of all episodes that each arm played.",
    ),
    _Shares(
        "weight",
        "weight",
        memory_names,
        ("Weights of the memories", "Mean weight in", "mean over the run"),
        "Weights: the weight of each memory in the mixture, mean over runs, and its mean over the run.",
    ),
)


def meta_algorithms(data: ReportData) -> Section | None:
    """Return a sentence for each diagnostic of each agent, and the figures of these diagnostics."""
    sentences: list[str] = []
    shares: dict[_Shares, list[tuple[AnyFigure, ...]]] = {kind: [] for kind in _SHARES}
    for label, result in data.results.items():
        series = result.diagnostics
        sentences += [_describe_events(data, label, name) for name in EVENTS if name in series]
        if "memory" in series:
            sentences.append(_describe_memory(data, label))
        if "noise" in series:
            last = format_number(float(series["noise"].mean(axis=0)[-1]), 2)
            sentences.append(f"{label} has learnt a noise of {last} by the end.")
        for kind, figures in shares.items():
            if f"{kind.curves}.0" in series:
                sentence, *drawn = _show_shares(data, kind, label, len(figures))
                sentences.append(sentence)
                figures.append(tuple(drawn))
    if not sentences:
        return None
    results, points = data.results.values(), len(data.lengths)
    # of events that never occurred there is a sentence only
    events = [name for name in EVENTS if any(own.counts[name].any() for own in results if name in own.counts)]
    measures = [name for name in _MEASURES if any(name in item.diagnostics for item in results)]
    borders = np.linspace(0, points, min(points, _MAX_STRETCHES) + 1).round().astype(int)
    starts = np.concatenate([[0], data.episodes])[borders] + 0.5  # between two episodes, as changes are

    def count(mean: np.ndarray) -> np.ndarray:
        counts = np.add.reduceat(mean * data.lengths, borders[:-1])
        return np.append(counts, counts[-1])

    counted, measured, shown = [], [], thinned(points)
    for name in events:
        curves, word = _mean_curves(data, name, count, kind="steps"), name.capitalize()
        text, caption = f"{word} of every agent over episodes", f"{word} in a run"
        counted.append(_over_episodes(data, name, curves, text=text, caption=caption, x=starts))
    for name in measures:
        curves, (caption, axis) = _mean_curves(data, name, lambda mean: mean[shown]), _MEASURES[name]
        more = dict(y_axis=axis, text=f"{caption}, of every agent over episodes", caption=caption)
        measured.append(_over_episodes(data, name, curves, x=data.episodes[shown], **more))
    notes = []
    if events:
        stretches = f"how many fell into each of {len(borders) - 1} stretches of time, mean over runs."
        notes.append(f"{' and '.join(events).capitalize()}: {stretches}")
    if measures:
        notes.append("Effective memory: the number of episodes that count, by the weights. Mean over runs.")
    notes += [kind.note for kind, figures in shares.items() if figures]
    pairs = [tuple(counted), tuple(measured), *itertools.chain(*shares.values())]
    if data.changes and any(pairs):
        notes.append("Dotted vertical lines are changes of the environment.")
    blocks = filter(None, [*pairs, " ".join(notes)])
    return Section("What the meta-algorithms did", [sentences, *blocks])


def _mean_curves(
    data: ReportData, name: str, reduce: Callable[[np.ndarray], np.ndarray], **look: Any
) -> list[Curve]:
    """Means over runs of a diagnostic, of the agents that record it."""
    series = {label: result.diagnostics.get(name) for label, result in data.results.items()}
    means = {label: reduce(curve.mean(axis=0)) for label, curve in series.items() if curve is not None}
    styles = data.styles.items()
    return [mean_curve(label, number, means[label], **look) for label, number in styles if label in means]


def _over_episodes(data: ReportData, name: str, curves: Sequence[Curve], **more: Any) -> Figure:
    """Return a figure of curves over episodes with marks at the changes; `more` is the rest of it."""
    axes = {"x_axis": Axis("episode", integer=True), "y_axis": Axis(from_zero=True)}
    return Figure(name, curves, **{**axes, "marks": [change + 0.5 for change in data.changes], **more})


def _show_shares(data: ReportData, kind: _Shares, label: str, number: int) -> tuple[str, Figure, Bars]:
    """A sentence on the share of each combined agent, and figures of it over time and in the whole run."""
    series, lengths = data.results[label].diagnostics, data.results[label].lengths
    count = sum(name.startswith(f"{kind.curves}.") for name in series)
    names = kind.names(data.agents[label].get("parameters"), count)
    shares = np.stack([series[f"{kind.curves}.{place}"] for place in range(count)])  # [names, runs, points]
    totals = [series[f"{kind.totals}.{place}"].mean(axis=0) for place in range(count)]
    total = [float(np.average(curve, weights=lengths)) for curve in totals]
    shown, means = thinned(len(lengths)), shares.mean(axis=1)
    pairs = enumerate(zip(names, means, strict=True))  # hidden with their agent, in colours of their own
    curves = [Curve(name, mean[shown], place, kind="stacked", agent=label) for place, (name, mean) in pairs]
    over, in_all, unit = kind.captions
    name, caption = f"{kind.curves}-{number}", f"{over} of {label}"
    more: dict[str, Any] = dict(caption=caption, x=data.episodes[shown], legend=True, rows=count)
    over_time = _over_episodes(data, name, curves, text=f"{caption} over episodes", **more)
    caption = f"{in_all} {label}"
    text = ", ".join(f"{name} {format_percent(share)}" for name, share in zip(names, total, strict=True))
    bars = Bars(f"total-{name}", names, total, unit, f"{caption}: {text}", caption, label, count)

    equal, last = 1 / count, means[:, -1]  # whether one of them was given the most weight
    top, favourite = int(last.argmax()), float(shares[:, :, -1].max(axis=0).mean())
    if np.abs(means - equal).max() > _UNIFORM * equal:
        at_end, mean = format_percent(float(last[top])), format_percent(total[top])
        sentence = f"gave '{names[top]}' the most weight: {at_end} at the end, {mean} over the run."
    elif favourite > 2 * equal:
        sentence = f"preferred a different one in each run: {format_percent(favourite)} at the end."
    elif count > 6:
        lowest, highest = (format_percent(float(end)) for end in (means.min(), means.max()))
        sentence = f"stayed uniform, {lowest} to {highest}."
    else:
        sentence = f"stayed uniform, {'/'.join(f'{100 * share:.0f}' for share in last)} %."
    return f"{label} {sentence}", over_time, bars


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
    text += f"; {which} was followed by {noun} in {share} of the cases"
    return f"{text}, after {median} episodes (median)."


def _stretches(result: Result, changes: Sequence[int]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Each change with the points before it, and those after it until the next."""
    episodes = result.episodes
    for change, end in itertools.pairwise([*changes, episodes[-1]]):
        after = np.flatnonzero((episodes > change) & (episodes <= end))
        yield change, np.flatnonzero(episodes <= change), after


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
    before, after, _ = medians = [float(np.median(values)) for values in zip(*falls, strict=True)]
    start, least, within = (format_number(number, 2) for number in medians)
    if after > _FALL * before:
        which = "the change" if len(falls) == 1 else "the changes"
        return f"{name} did not react to {which}: {start} episodes before, at least {least} after."
    text = f"{name} fell from {start} to {least} episodes within {within} episodes of"
    several = f"a change, in the median of {format_count(len(falls), 'change')}"
    return f"{text} {'the change' if len(falls) == 1 else several}."
