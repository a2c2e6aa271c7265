"""Sentences on what agents did, one for each diagnostic that they record."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics.formatting import format_count, format_number, format_percent
from driftwise.simulation.results import Result

_EVENTS = {"restarts": ("restarted", "a restart"), "alarms": ("raised an alarm", "one")}
_UNIFORM = 0.25  # of an equal share: shares that differ by less count as equal
_SETTLED = 0.2  # of a fall on a logarithmic axis: the rest of it does not count
_FALL = 0.8  # of the level before a change: a memory that stays above did not react


def describe_events(data: ReportData, label: str, name: str) -> str:
    """Return how often an event happened in a run, and how soon after a change: "MASTER never restarted"."""
    result, (verb, noun) = data.results[label], _EVENTS[name]
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


def describe_shares(label: str, curves: Mapping[str, np.ndarray], totals: Mapping[str, float]) -> str:
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


def describe_memory(data: ReportData, label: str) -> str:
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


def describe_noise(data: ReportData, label: str) -> str:
    """Return the noise that an agent has learnt by the end."""
    last = float(data.results[label].diagnostics["noise"].mean(axis=0)[-1])
    return f"{label} has learnt a noise of {format_number(last, 2)} by the end."
