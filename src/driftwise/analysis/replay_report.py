"""A replay as tables, in words, and as a page."""

import math

import numpy as np

from driftwise.analysis.figures import Axis, Curve, Figure
from driftwise.analysis.formatting import format_count, format_interval, format_number, format_percent
from driftwise.analysis.page import Page, Section, write_html
from driftwise.analysis.table import Cell, Table, TableColumn, numbers, words
from driftwise.online.replay import INDEPENDENCE_LEVEL, Interval, Replay

_INTERVAL_NAMES = {"normal": "normal", "asymptotic": "asymptotic", "running": "at all times"}
_INTERVAL_NAMES |= {"weighted": "weighted", "plug_in": "early"}
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
    num, bounded = len(replay.logged.windows), replay.options.reward_range is not None
    shown = slice((num - 1) % (step := math.ceil(num / _MAX_POINTS)), None, step)  # few, and the last
    kind = "running" if bounded else "asymptotic"
    suffix = f"(intervals: {_INTERVAL_NAMES[kind]})"
    titles = {"so-far": f"Mean reward so far {suffix}"}
    titles["differences"] = f"The same less that of the logged policy {suffix}"
    if bounded:
        titles["weighted"] = f"Weighted mean reward, memory {replay.memory:,.0f} rows"
    titles["windows"] = "Mean reward in each window (DR, normal intervals)"
    curves: dict[str, list[Curve]] = {name: [] for name in titles}
    for number, (policy, evaluation) in enumerate(replay.evaluations.items()):
        windows = evaluation.windows[shown]
        intervals = {
            "so-far": [window.value[kind] for window in windows],
            "differences": [window.differences.get("logged", {}).get(kind, _UNKNOWN) for window in windows],
            "weighted": [window.value.get("weighted", _UNKNOWN) for window in windows],
            "windows": [window.window.values["DR"].interval for window in windows],
        }
        for name, drawn in curves.items():
            value, low, high = np.array(intervals[name]).T
            drawn.append(Curve(policy, value, number, low, high))
    rows, figures = np.array([float(window.row) for window in replay.logged.windows[shown]]), []
    for name, title in titles.items():
        label = "difference" if name == "differences" else "mean reward"
        axes = Axis("row of the log", integer=True), Axis(label)
        text = f"{title}, by each policy, over the rows of the log"
        figures.append(Figure(name, curves[name], *axes, text, title, x=rows, legend=True))
    pairs = [tuple(figures[first : first + 2]) for first in range(0, len(figures), 2)]
    kicker = f"{replay.log.path} · {', '.join(replay.policies)} · seed {replay.options.seed}"
    heading = "What the policies would have earned" + " (biased)" * replay.biased
    sections = [
        Section("Mean rewards", [means, _INTERVALS_NOTE, *pairs]),
        Section("Estimates and weights", [estimates, weights, _ESTIMATES_NOTE]),
        Section("Actions", [actions]),
    ]
    return write_html(Page("replay", kicker, heading, replay_lead(replay), sections, static=True))


def replay_tables(replay: Replay) -> list[Table]:
    """Return the tables of means with every interval, estimates, weights and actions."""
    means, estimates, weights, actions = [], [], [], []
    for name, evaluation in replay.evaluations.items():
        compared = {f"{name} − {other}": intervals for other, intervals in evaluation.differences.items()}
        for label, intervals in {name: evaluation.value, **compared}.items():
            cells = (
                Cell.of(format_interval, *intervals[kind]) if kind in intervals else Cell("–", _UNKNOWN)
                for kind in _INTERVAL_NAMES
            )
            means.append((label, *cells))
    for name, policy in replay.policies.items():
        final, share = policy.final, policy.unsupported
        for method, estimate in final.values.items():
            if method != "replay" or replay.options.learn == "accepted":
                values = *estimate, *estimate.interval[1:]
                estimates.append((name, method, *(Cell.of(format_number, value) for value in values)))
        facts = policy.learnt, final.effective, final.mean_weight, final.clipped, final.clipped_weight
        unsupported = Cell("–", (math.nan,)) if share is None else Cell.of(format_percent, share)
        weights.append((name, *(Cell.of(format_number, fact) for fact in facts), unsupported))
    by_rows = sorted(replay.logged.actions.items(), key=lambda item: -item[1].rows)
    for action, logged in by_rows[:_MAX_ACTIONS]:
        share, reward = Cell.of(format_percent, logged.share), Cell.of(format_number, logged.reward)
        cells = [Cell.of("{:,}".format, logged.rows), share, reward]
        for view in (policy.actions[action] for policy in replay.policies.values()):
            cells += Cell.of(format_percent, view.share), Cell.of(format_number, view.weight)
        actions.append((action, *cells))
    biased, confidence = " (BIASED)" * replay.biased, f"{100 * (1 - replay.options.delta):g} % intervals"
    most = f", the {_MAX_ACTIONS} most logged of {len(by_rows):,}" * (len(by_rows) > _MAX_ACTIONS)
    kinds = [TableColumn(name, (name, f"{name}: from", f"{name}: to")) for name in _INTERVAL_NAMES.values()]
    named = [(name, kind) for name in replay.policies for kind in ("share", "weight")]
    of_policies = [TableColumn(f"{name}: {kind}", (f"{name} {kind}",)) for name, kind in named]
    of_estimates = *words("policy", "estimate"), *numbers("value", "standard error", "95 % from", "to")
    of_log = numbers("learnt from", "effective rows", "mean weight", "clipped rows", "clipped weight")
    of_weights = *words("policy"), *of_log, TableColumn("without a chance", ("unsupported",))
    of_actions = *words("action"), *numbers("rows", "share", "mean reward"), *of_policies
    title = f"Mean rewards on {replay.log.path}, with {confidence}{biased}"
    weighted = f"Weights of {replay.logged.final.events:,} rows"
    return [
        Table.of("means", (*words("policy"), *kinds), means, title).without_empty(),
        Table.of("estimates", of_estimates, estimates, f"Estimates, with normal intervals{biased}"),
        Table.of("weights", of_weights, weights, weighted).without_empty(),
        Table.of("actions", of_actions, actions, f"Actions{most}"),
    ]


def replay_lead(replay: Replay) -> str:
    """Return sentences on the result of a replay, the rows behind it, and its limits."""
    options, bias, level = replay.options, [], f"(level {INDEPENDENCE_LEVEL:g})"
    kind = "asymptotic" if options.reward_range is None else "running"
    gains = {name: policy.differences["logged"][kind] for name, policy in replay.policies.items()}
    answers = (f"{name} {format_interval(*gain)}" for name, gain in gains.items())
    if replay.dependence is not None and replay.biased:
        bias.append(
            f"BIASED: the actions of the log depend on {replay.dependence.on} {level}, and propensities are "
            "not known. Shares of the log took their place: no estimate or interval here can be trusted."
        )
    elif replay.dependence is not None:
        bias.append(
            "Propensities are the actions' shares of the log: right if actions were drawn regardless of the "
            f"context and of time. A test found nothing against it {level}, which proves nothing for it."
        )
    text = f"{format_count(replay.rows, 'row')} with {format_count(len(replay.logged.actions), 'action')}"
    if replay.skipped:
        rows = format_count(replay.skipped, "more row")
        text += f", {rows} skipped without a reward, or for a value that is missing or not finite"
    if (frozen := options.frozen_after) is not None:
        text += f"; learnt from the first {frozen:,}, estimated on the other {replay.logged.final.events:,}"
    limits = [f"Beware: {warning}." for warning in replay.warnings]
    if options.clip is not None:
        limits.append(
            f"Weights are clipped at {options.clip:g}: IPS is too low by the rewards of what was cut, for "
            "rewards from 0, and normal and asymptotic intervals do not know of that; the others are "
            "wider, and stay valid."
        )
    for name, policy in replay.policies.items():
        if policy.unsupported:
            limits.append(
                f"{name}: {format_percent(policy.unsupported)} of its choices had no chance in the log; only "
                "the reward model of DR says something about them."
            )
    if options.reward_range is None:
        limits.append(
            "Without the range of rewards (--range LOW,HIGH) there are no intervals at all times and no "
            "weighted ones, only those for many rows."
        )
    else:
        limits.append(f"Weighted means have a memory of {replay.memory:,.0f} rows.")
    for name, policy in replay.evaluations.items():
        if policy.changed_by is not None:
            limits.append(
                f"The mean reward of {name} changed: {policy.changed_by:,} rows refute every constant one "
                f"(level {options.delta:g})."
            )
    answer = f"Mean reward less that of the logged policy: {', '.join(answers)}."
    return " ".join([*bias, answer, f"{text}.", _LEARNING[options.learn], *limits])
