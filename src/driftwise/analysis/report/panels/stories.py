"""Sentences on what agents did, one for each diagnostic that they tell."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from driftwise.analysis.report.data import ReportData
from driftwise.analysis.statistics.wording import counted, percent, rounded
from driftwise.simulation.results import Result

DONE = {"restarts": ("restarted", "a restart"), "alarms": ("raised an alarm", "one")}
UNIFORM = 0.25  # of an equal share: a share that differs by less is as good as equal
SETTLED = 0.2  # of a fall on a logarithmic axis: the rest of it does not count
FALL = 0.8  # of the level before: a memory that stays above did not react


def event_story(data: ReportData, label: str, name: str) -> str:
    """How often something happened in a run, and how long after a change: "MASTER never restarted"."""
    result, (did, noun) = data.results[label], DONE[name]
    happened = result.diagnostics[name] * result.lengths  # [runs, points] counts
    often = float(happened.sum(axis=-1).mean())
    if often == 0:
        return f"{label} never {did}."
    text = f"{label} {did} {'once' if often == 1 else f'{rounded(often, 2)} times'} in a run"
    waits = _waits(happened > 0, result, data.changes)
    if not waits.size:
        return f"{text}."
    answered = np.isfinite(waits)
    if not answered.any():
        return f"{text}, never after a change."
    median = rounded(float(np.median(waits[answered])), 3)
    which = "the change" if len(data.changes) == 1 else "a change"
    share = percent(float(answered.mean()))
    return (
        f"{text}; {which} was followed by {noun} in {share} of the cases, after {median} episodes (median)."
    )


def _waits(happened: np.ndarray, result: Result, changes: Sequence[int]) -> np.ndarray:
    """Episodes from each change to the first event before the next, `[runs, changes]`; infinite if none."""
    waits = np.full((len(happened), len(changes)), np.inf)
    for number, (change, end) in enumerate(itertools.pairwise([*changes, result.episodes[-1]])):
        after = np.flatnonzero((result.episodes > change) & (result.episodes <= end))
        found = happened[:, after]
        if after.size:
            first = result.episodes[after][found.argmax(axis=1)] - change
            waits[:, number] = np.where(found.any(axis=1), first, np.inf)
    return waits


def share_story(label: str, curves: Mapping[str, np.ndarray], totals: Mapping[str, float]) -> str:
    """Whether one of several came to count most: "BoRL stayed uniform, 33/33/34 %".

    `curves` are shares `[runs, points]` by name, `totals` those in the whole run.
    """
    equal, names = 1 / len(curves), list(curves)
    shares = np.stack([*curves.values()])  # [names, runs, points]
    means = shares.mean(axis=1)
    last = means[:, -1]
    top = int(last.argmax())
    if np.abs(means - equal).max() > UNIFORM * equal:
        text = f"{label} came to trust {names[top]} most, {percent(float(last[top]))} at the end"
        return f"{text}, {percent(totals[names[top]])} over the run."
    favourite = float(shares[:, :, -1].max(axis=0).mean())
    if favourite > 2 * equal:
        return f"{label} settled on another one in every run, {percent(favourite)} at the end."
    if len(curves) > 6:
        return f"{label} stayed uniform, {percent(float(means.min()))} to {percent(float(means.max()))}."
    return f"{label} stayed uniform, {'/'.join(f'{100 * share:.0f}' for share in last)} %."


def memory_story(data: ReportData, label: str) -> str:
    """How a memory answered changes: "fell from 900 to 40 episodes within 60 episodes of the change"."""
    result = data.results[label]
    memory = np.exp(np.log(np.maximum(result.diagnostics["memory"], 1e-9)).mean(axis=0))  # a typical run
    falls = [*_falls(memory, result, data.changes)]
    name = f"The memory of {label}"
    if not falls:
        return f"{name} went from {rounded(memory[0], 2)} to {rounded(memory[-1], 2)} episodes."
    before, after, within = (float(np.median(each)) for each in zip(*falls, strict=True))
    one = len(falls) == 1
    which = "the change" if one else f"a change, in the median of {counted(len(falls), 'change')}"
    if after > FALL * before:
        levels = f"{rounded(before, 2)} episodes before it and {rounded(after, 2)} at the least after it"
        return f"{name} did not answer {'the change' if one else 'the changes'}: {levels}."
    return (
        f"{name} fell from {rounded(before, 2)} to {rounded(after, 2)} episodes within {rounded(within, 2)} "
        f"episodes of {which}."
    )


def _falls(
    memory: np.ndarray, result: Result, changes: Sequence[int]
) -> Iterator[tuple[float, float, float]]:
    """The memory before each change, the lowest until the next, and the episodes until it is nearly there."""
    for change, end in itertools.pairwise([*changes, result.episodes[-1]]):
        before = np.flatnonzero(result.episodes <= change)
        after = np.flatnonzero((result.episodes > change) & (result.episodes <= end))
        if not before.size or not after.size:
            continue
        start, least = float(memory[before[-1]]), float(memory[after].min())
        nearly = least * (start / least) ** SETTLED if least < start else start
        there = after[np.argmax(memory[after] <= nearly)]
        yield start, least, float(result.episodes[there] - change)


def noise_story(data: ReportData, label: str) -> str:
    """The noise that an agent has learnt by the end."""
    last = float(data.results[label].diagnostics["noise"].mean(axis=0)[-1])
    return f"{label} has learnt a noise of {rounded(last, 2)} by the end."
