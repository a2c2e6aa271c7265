"""Meta-algorithms: when they restarted the agents they watch over, and which of several counted how much."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.page import Figure, Section, Story, axis, distinct_texts, line
from driftwise.analysis.report.data import ReportData
from driftwise.analysis.report.panels.common import over_episodes
from driftwise.analysis.report.panels.stories import event_story, memory_story, noise_story, share_story
from driftwise.analysis.statistics.wording import percent
from driftwise.analysis.views import thinned
from driftwise.simulation.results import EVENTS

MEASURE_STORIES = {"memory": memory_story, "noise": noise_story}
STRETCHES = 40  # of time at most, in which events are counted
MEASURES = {  # diagnostics that are one number, and how they are drawn
    "memory": ("Effective memory, in episodes", axis("", type="log", dtick="D2")),
    "noise": ("Learnt noise, as a standard deviation", axis("", rangemode="tozero", minallowed=0.0)),
}
MEASURED = (
    "Effective memory: how many episodes count, of each memory as many as its weight says. Mean over runs."
)


def _events(data: ReportData, name: str) -> Figure:
    """Number of events in each stretch of time."""
    borders, traces = _borders(data), []
    for label, number in data.styles.items():
        if name not in data.results[label].diagnostics:
            continue
        happened = data.results[label].diagnostics[name].mean(axis=0) * data.lengths
        counts = np.add.reduceat(happened, borders[:-1])
        curve = line(number, label, np.append(counts, counts[-1]))
        curve["line"]["shape"] = "hv"
        traces.append(curve)
    starts = np.concatenate([[0], data.episodes])[borders] + 0.5  # between two episodes, as changes are
    text = f"{name.capitalize()} of every agent over episodes"
    return Figure(name, traces, over_episodes(data), text, f"{name.capitalize()} in a run", x=starts)


def _borders(data: ReportData) -> np.ndarray:
    """Borders of the stretches of time, as numbers of points."""
    points = len(data.lengths)
    return np.linspace(0, points, min(points, STRETCHES) + 1).round().astype(int)


def _measure(data: ReportData, name: str) -> Figure:
    """A number over time, of every agent that tells it."""
    kept, (caption, vertical) = thinned(len(data.lengths)), MEASURES[name]
    told = {label: data.results[label].diagnostics.get(name) for label in data.styles}
    curves = [
        line(data.styles[label], label, curve.mean(axis=0)[kept])
        for label, curve in told.items()
        if curve is not None
    ]
    layout, text = over_episodes(data, yaxis=vertical), f"{caption}, of every agent over episodes"
    return Figure(name, curves, layout, text, caption, x=data.episodes[kept])


def _shares(data: ReportData, kind: Several, label: str, number: int) -> tuple[Figure, ...]:
    """The share of each over time, and in the whole run."""
    kept, curves = thinned(len(data.lengths)), []
    held, shares = _named_shares(data, kind, label)
    for place, (name, each) in enumerate(held.items()):
        curve = line(place, name, each.mean(axis=0)[kept])
        curve["meta"]["agent"] = label  # hidden with it, in a colour of its own
        curve["stackgroup"] = label
        curves.append(curve)
    layout = over_episodes(data, showlegend=True)
    caption = f"{kind.caption} of {label}"
    over_time = Figure(
        f"{kind.curves}-{number}",
        curves,
        layout,
        f"{caption} over episodes",
        caption,
        x=data.episodes[kept],
        rows=len(curves),
    )
    return over_time, _totals(kind, label, number, curves, shares)


def _totals(
    kind: Several, label: str, number: int, curves: Sequence[Mapping], shares: Mapping[str, float]
) -> Figure:
    """A bar for each, in the colour of its curve."""
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
        "xaxis": axis(kind.unit, tickformat=".0%", rangemode="tozero"),
        "yaxis": axis("", autorange="reversed", showgrid=False),
        "hovermode": "closest",
    }
    listed = ", ".join(f"{name} {percent(share)}" for name, share in shares.items())
    caption = f"{kind.total_caption} {label}"
    return Figure(
        f"total-{kind.curves}-{number}", bars, layout, f"{caption}: {listed}", caption, rows=len(shares)
    )


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


def memory_names(parameters: Any, count: int) -> list[str]:
    """Names of memories by their lengths, `memory 64`, if weights are exponential; else as of arms."""
    rates = dict(_columns(parameters)).get("rate", [])
    rates = [rate for rate in rates if isinstance(rate, (int, float))]
    named = ["all" if rate == 1 else f"memory {1 / (1 - rate):.4g}" for rate in rates]
    return named if len({*named}) == count else arm_names(parameters, count)


class Several(NamedTuple):
    """Agents that hold several others: the numbered curves they record, and what these are called."""

    curves: str  # diagnostics that sum to one at any time
    totals: str  # diagnostics whose mean is the share in the whole run
    names: Callable[[Any, int], list[str]]
    caption: str
    total_caption: str
    unit: str
    note: str


SEVERAL = (
    Several(
        "probability",
        "played",
        arm_names,
        "Probabilities of the arms",
        "Who played in",
        "share of the episodes",
        "Arms: with which probability the one that plays the present block was drawn, mean over runs, and "
        "the share of all episodes that each played.",
    ),
    Several(
        "weight",
        "weight",
        memory_names,
        "Weights of the memories",
        "Mean weight in",
        "mean over the run",
        "Weights: how far the mixture trusts each memory, mean over runs, and their means over the run.",
    ),
)


def meta_algorithms(data: ReportData) -> Section | None:
    """What each agent did in words; events and measures over time; shares of agents that hold several."""
    sentences = stories(data)
    if not sentences:
        return None
    happened = {
        name for result in data.results.values() for name, count in result.counts.items() if count.any()
    }
    told = {name for result in data.results.values() for name in result.diagnostics}
    events = [name for name in EVENTS if name in happened]  # where nothing happened a sentence says it
    measures = [name for name in MEASURES if name in told]
    holders = {kind: [label for label in data.labels if _holds(data, label, kind)] for kind in SEVERAL}
    shares = [
        _shares(data, kind, label, number)
        for kind, labels in holders.items()
        for number, label in enumerate(labels)
    ]
    pairs = [
        tuple(_events(data, name) for name in events),
        tuple(_measure(data, name) for name in measures),
        *shares,
    ]
    notes = {
        f"{' and '.join(events).capitalize()}: how many fell into each of {len(_borders(data)) - 1} "
        "stretches of time, mean over runs.": events,
        MEASURED: measures,
        **{kind.note: labels for kind, labels in holders.items()},
        "Dotted vertical lines are changes of the environment.": data.changes if any(pairs) else (),
    }
    note = " ".join(text for text, there in notes.items() if there)
    return Section("What the meta-algorithms did", [Story(sentences), *filter(None, [*pairs, note])])


def stories(data: ReportData) -> list[str]:
    """A sentence for each diagnostic of each agent."""
    sentences = []
    for label in data.labels:
        told = data.results[label].diagnostics
        sentences += [event_story(data, label, name) for name in EVENTS if name in told]
        sentences += [tell(data, label) for name, tell in MEASURE_STORIES.items() if name in told]
        sentences += [
            share_story(label, *_named_shares(data, kind, label))
            for kind in SEVERAL
            if _holds(data, label, kind)
        ]
    return sentences


def _holds(data: ReportData, label: str, kind: Several) -> bool:
    return f"{kind.curves}.0" in data.results[label].diagnostics


def _named_shares(
    data: ReportData, kind: Several, label: str
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """The curves `[runs, points]` of those that an agent holds, and their shares of the run, by name."""
    result = data.results[label]
    told = result.diagnostics
    count = sum(name.startswith(f"{kind.curves}.") for name in told)
    names = kind.names(data.agents[data.labels.index(label)].get("parameters"), count)
    curves = {name: told[f"{kind.curves}.{place}"] for place, name in enumerate(names)}
    totals = (told[f"{kind.totals}.{place}"].mean(axis=0) for place in range(count))
    shares = (float(np.average(total, weights=result.lengths)) for total in totals)
    return curves, dict(zip(names, shares, strict=True))


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
