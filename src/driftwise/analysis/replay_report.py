"""A replay as tables, in words, and as a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from driftwise.analysis.figures import Axis, Curve, Figure
from driftwise.analysis.page import Page, Section, write_html
from driftwise.analysis.statistics.formatting import (
    format_count,
    format_interval,
    format_number,
    format_percent,
)
from driftwise.analysis.table import Cell, Table, TableColumn, numbers, words
from driftwise.online.replay import INDEPENDENCE_LEVEL, Interval, PolicyEvaluation, Replay, Window

_INTERVAL_NAMES = {
    "normal": "normal",
    "asymptotic": "asymptotic",
    "running": "at all times",
    "weighted": "weighted",
    "plug_in": "early",
}
_MAX_ACTIONS = 100  # in a table; JSON has all
_MAX_POINTS = 100  # of a curve
_UNKNOWN = Interval(math.nan, math.nan, math.nan)
_LEARNING = {
    "accepted": "This evaluates the agents learning only from the rows that they accepted, as if they had "
    "acted themselves.",
    "all": "Agents learnt from every row: this evaluates the policies that they made of this log as it is, "
    "and not agents that had acted themselves.",
}
_ESTIMATES_NOTE = (
    "IPS, SNIPS and DR weight rows by the policy's probability of the logged action over that of the logging "
    "policy; replay is the mean of accepted rows. effective rows: (Σρ)²/Σρ², how much is left of the log. "
    "mean weight: 1 up to chance if propensities are right. clipped weight: the part of the mean weight that "
    "was cut; with rewards in [0, 1] it bounds the bias. without a chance: choices of the policy that the "
    "log could not make."
)
_INTERVALS_NOTE = (
    "normal: DR, at one time, for many rows. asymptotic: DR, at all times, for many rows. at all times: the "
    "running mean of IPS from both ends of the range, however rewards drift, at all times together, for any "
    "number of rows. weighted: the same with exponential weights, at the ends of all windows together. "
    "early: plug-in empirical Bernstein, at all times, for a mean that favours early rows."
)


def replay_page(replay: Replay) -> str:
    """Return the page: the means with their intervals, then their windows, weights and actions."""
    means, estimates, weights, actions = replay_tables(replay)
    known = replay.options.reward_range is not None
    kind = "running" if known else "asymptotic"
    suffix = f"(intervals: {_INTERVAL_NAMES[kind]})"
    views: list[tuple[str, str, str, Callable[[Window], Interval]]] = [
        ("so-far", f"Mean reward so far {suffix}", "mean reward", lambda window: window.value[kind]),
        (
            "differences",
            f"The same less that of the logged policy {suffix}",
            "difference",
            lambda window: window.differences.get("logged", {}).get(kind, _UNKNOWN),
        ),
    ]
    if known:
        title = f"Weighted mean reward, memory {replay.memory:,.0f} rows"
        views.append(("weighted", title, "mean reward", lambda window: window.value["weighted"]))
    title = "Mean reward in each window (DR, normal intervals)"
    views.append(("windows", title, "mean reward", lambda window: window.window.values["DR"].interval))
    figures = [_figure(replay, *view) for view in views]
    pairs = [tuple(figures[first : first + 2]) for first in range(0, len(figures), 2)]
    return write_html(
        Page(
            title="replay",
            kicker=f"{replay.log.path} · {', '.join(replay.policies)} · seed {replay.options.seed}",
            heading="What the policies would have earned" + " (biased)" * replay.biased,
            lead=replay_lead(replay),
            parts=[
                Section("Mean rewards", [means, _INTERVALS_NOTE, *pairs]),
                Section("Estimates and weights", [estimates, weights, _ESTIMATES_NOTE]),
                Section("Actions", [actions]),
            ],
            static=True,
        )
    )


def _figure(
    replay: Replay, name: str, title: str, y_label: str, interval: Callable[[Window], Interval]
) -> Figure:
    rows = np.array([window.row for window in _thinned(replay.logged)], dtype=float)
    curves = []
    for number, (label, evaluation) in enumerate(_evaluations(replay)):
        ends = np.array([interval(window) for window in _thinned(evaluation)], dtype=float)
        value, low, high = ends.T
        curves.append(Curve(label, value, number, low, high))
    axes = Axis("row of the log", integer=True), Axis(y_label)
    text = f"{title}, by each policy, over the rows of the log"
    return Figure(name, curves, *axes, text, title, x=rows, legend=True)


def _thinned(evaluation: PolicyEvaluation) -> tuple[Window, ...]:
    """Return so many windows that a page stays small, up to the last."""
    step = -(-len(evaluation.windows) // _MAX_POINTS)
    return evaluation.windows[::-1][::step][::-1]


def _evaluations(replay: Replay) -> Iterator[tuple[str, PolicyEvaluation]]:
    """Yield the logged policy and all others, with their names."""
    yield "logged", replay.logged
    yield from replay.policies.items()


def replay_tables(replay: Replay) -> list[Table]:
    """Return the tables of means, estimates, weights and actions."""
    return [_means_table(replay), _estimates_table(replay), _weights_table(replay), _actions_table(replay)]


def _means_table(replay: Replay) -> Table:
    """Return the values of all policies and their differences, with every interval."""
    kinds = [TableColumn(name, (name, f"{name}: from", f"{name}: to")) for name in _INTERVAL_NAMES.values()]
    compared = {}
    for name, evaluation in _evaluations(replay):
        compared[name] = evaluation.value
        compared |= {f"{name} − {other}": intervals for other, intervals in evaluation.differences.items()}
    rows = [
        (
            name,
            *(
                Cell.of(format_interval, *intervals[kind]) if kind in intervals else Cell("–", _UNKNOWN)
                for kind in _INTERVAL_NAMES
            ),
        )
        for name, intervals in compared.items()
    ]
    confidence = f"{100 * (1 - replay.options.delta):g} % intervals"
    title = f"Mean rewards on {replay.log.path}, with {confidence}{' (BIASED)' * replay.biased}"
    return Table.of("means", (*words("policy"), *kinds), rows, title).without_empty()


def _estimates_table(replay: Replay) -> Table:
    """Return the estimates of all methods with their standard errors."""
    columns = (*words("policy", "estimate"), *numbers("value", "standard error", "95 % from", "to"))
    rows = [
        (
            name,
            method,
            *(Cell.of(format_number, number) for number in (*estimate, *estimate.interval[1:])),
        )
        for name, evaluation in replay.policies.items()
        for method, estimate in evaluation.final.values.items()
        if method != "replay" or replay.options.learn == "accepted"
    ]
    title = f"Estimates, with normal intervals{' (BIASED)' * replay.biased}"
    return Table.of("estimates", columns, rows, title)


def _weights_table(replay: Replay) -> Table:
    """Return how much the log says about each policy."""
    columns = (
        *words("policy"),
        *numbers("learnt from", "effective rows", "mean weight", "clipped rows", "clipped weight"),
        TableColumn("without a chance", ("unsupported",)),
    )
    rows = []
    for name, policy in replay.policies.items():
        final, share = policy.final, policy.unsupported
        weights = policy.learnt, final.effective, final.mean_weight, final.clipped, final.clipped_weight
        unsupported = Cell("–", (math.nan,)) if share is None else Cell.of(format_percent, share)
        rows.append((name, *(Cell.of(format_number, weight) for weight in weights), unsupported))
    title = f"Weights of {replay.logged.final.events:,} rows"
    return Table.of("weights", columns, rows, title).without_empty()


def _actions_table(replay: Replay) -> Table:
    """Return the frequency and the mean reward of every action, and its share and weight by each policy."""
    policies = [
        TableColumn(f"{name}: {kind}", (f"{name} {kind}",))
        for name in replay.policies
        for kind in ("share", "weight")
    ]
    columns = (*words("action"), *numbers("rows", "share", "mean reward"), *policies)
    rows = []
    by_rows = sorted(replay.logged.actions.items(), key=lambda item: -item[1].rows)
    for action, logged in by_rows[:_MAX_ACTIONS]:
        views = [evaluation.actions[action] for evaluation in replay.policies.values()]
        pairs = ((Cell.of(format_percent, view.share), Cell.of(format_number, view.weight)) for view in views)
        rows.append(
            (
                action,
                Cell.of("{:,}".format, logged.rows),
                Cell.of(format_percent, logged.share),
                Cell.of(format_number, logged.reward),
                *(cell for pair in pairs for cell in pair),
            )
        )
    most = f", the {_MAX_ACTIONS} most logged of {len(by_rows):,}" * (len(by_rows) > _MAX_ACTIONS)
    return Table.of("actions", columns, rows, f"Actions{most}")


def replay_lead(replay: Replay) -> str:
    """Return sentences on the result of a replay, the rows behind it, and its limits."""
    kind = "asymptotic" if replay.options.reward_range is None else "running"
    answers = (
        f"{name} {format_interval(*policy.differences['logged'][kind])}"
        for name, policy in replay.policies.items()
    )
    answer = f"Mean reward less that of the logged policy: {', '.join(answers)}."
    learning, bias = _LEARNING[replay.options.learn], ""
    if replay.dependence is not None:
        bias = (
            "Propensities are the actions' shares of the log: right if actions were drawn regardless of the "
            f"context and of time. A test found nothing against it (level {INDEPENDENCE_LEVEL:g}), which "
            "proves nothing for it."
        )
    if replay.dependence is not None and replay.biased:
        bias = (
            f"BIASED: the actions of the log depend on {replay.dependence.on} (level "
            f"{INDEPENDENCE_LEVEL:g}), and their propensities are not known. Shares of the log took their "
            "place, so that no estimate or interval here can be trusted."
        )
    text = f"{format_count(replay.rows, 'row')} with {format_count(len(replay.logged.actions), 'action')}"
    if replay.skipped:
        rows = format_count(replay.skipped, "more row")
        text += f", {rows} skipped without a reward, or for a value that is missing or not finite"
    if (frozen := replay.options.frozen_after) is not None:
        text += f"; learnt from the first {frozen:,}, estimated on the other {replay.logged.final.events:,}"
    return " ".join(filter(None, [bias, answer, f"{text}.", learning, *_limits(replay)]))


def _limits(replay: Replay) -> list[str]:
    sentences = [f"Beware: {warning}." for warning in replay.warnings]
    options = replay.options
    if options.clip is not None:
        sentences.append(
            f"Weights are clipped at {options.clip:g}: IPS is too low by the rewards of what was cut, for "
            "rewards from 0, and normal and asymptotic intervals do not know of that; the others are "
            "wider, and stay valid."
        )
    for name, policy in replay.policies.items():
        if policy.unsupported:
            sentences.append(
                f"{name}: {format_percent(policy.unsupported)} of its choices had no chance in the log; only "
                "the reward model of DR says something about them."
            )
    if options.reward_range is None:
        sentences.append(
            "Without the range of rewards (--range LOW,HIGH) there are no intervals at all times and no "
            "weighted ones, only those for many rows."
        )
    else:
        sentences.append(f"Weighted means have a memory of {replay.memory:,.0f} rows.")
    for name, policy in _evaluations(replay):
        if policy.changed_by is not None:
            sentences.append(
                f"The mean reward of {name} changed: {policy.changed_by:,} rows refute every constant one "
                f"(level {options.delta:g})."
            )
    return sentences
