"""A replay in words: what was estimated, on how much, and what to beware of."""

from __future__ import annotations

from driftwise.analysis.replay.tables import evaluated
from driftwise.analysis.statistics.wording import counted, percent, with_interval
from driftwise.online.replay import Replay
from driftwise.online.replay.independence import LEVEL

LEARN = {
    "accepted": "Agents learnt from accepted rows alone, as if each had acted itself: evaluated is an agent "
    "as it would have lived, at the pace of acceptance.",
    "all": "Agents learnt from every row: evaluated are the policies that they made of this log as it is, "
    "and not agents that had acted themselves.",
}
READING = (
    "IPS, SNIPS and DR weight rows by the policy's probability of the logged action over that of the logging "
    "policy; replay is the mean of accepted rows. effective rows: (Σρ)²/Σρ², how much is left of the log. "
    "mean weight: 1 up to chance if propensities are right. clipped weight: the part of the mean weight that "
    "was cut; with rewards in [0, 1] it bounds the bias. without a chance: choices of the policy that the "
    "log could not make."
)
INTERVALS = (
    "normal: DR, at one time, for many rows. asymptotic: DR, at all times, for many rows. at all times: the "
    "running mean of IPS from both ends of the range, however rewards drift, at all times together, for any "
    "number of rows. weighted: the same with exponential weights, at the ends of all windows together. "
    "early: plug-in empirical Bernstein, at all times, for a mean that favours early rows."
)


def lead(replay: Replay) -> str:
    """Sentences on what was replayed, and what to beware of."""
    learnt = LEARN[replay.options.learn]
    return " ".join([*_biases(replay), _answer(replay), _amount(replay), learnt, *_limits(replay)])


def _answer(replay: Replay) -> str:
    kind = "asymptotic" if replay.options.reward_range is None else "running"
    told = (
        f"{name} {with_interval(*each.differences['logged'][kind])}" for name, each in replay.policies.items()
    )
    return f"Mean reward less that of the logged policy: {', '.join(told)}."


def _biases(replay: Replay) -> list[str]:
    if replay.dependence is None:
        return []
    on = replay.dependence.on
    if replay.biased:
        return [
            f"BIASED: the actions of the log depend on {on} (level {LEVEL:g}), and their propensities are "
            "not known. Shares of the log took their place, so that no estimate or interval here can be "
            "trusted."
        ]
    return [
        "Propensities are the actions' shares of the log: right if actions were drawn regardless of the "
        f"context and of time. A test found nothing against it (level {LEVEL:g}), which proves nothing for "
        "it."
    ]


def _amount(replay: Replay) -> str:
    text = f"{counted(replay.rows, 'row')} with {counted(len(replay.logged.actions), 'action')}"
    if replay.skipped:
        rows = counted(replay.skipped, "more row")
        text += f", {rows} skipped without a reward, or for a value that is missing or not finite"
    if (frozen := replay.options.frozen_after) is not None:
        text += f"; learnt from the first {frozen:,}, estimated on the other {replay.logged.final.events:,}"
    return f"{text}."


def _limits(replay: Replay) -> list[str]:
    found = [f"Beware: {warning}." for warning in replay.warnings]
    options = replay.options
    if options.clip is not None:
        found.append(
            f"Weights are clipped at {options.clip:g}: IPS is too low by the rewards of what was cut, for "
            "rewards from 0, and normal and asymptotic intervals do not know of that; the others are "
            "wider, and stay valid."
        )
    for name, each in replay.policies.items():
        if each.unsupported:
            found.append(
                f"{name}: {percent(each.unsupported)} of its choices had no chance in the log; of "
                "them nothing is known but what the reward model of DR says."
            )
    if options.reward_range is None:
        found.append(
            "Without the range of rewards (--range LOW,HIGH) there are no intervals at all times and no "
            "weighted ones, only those for many rows."
        )
    else:
        found.append(f"Weighted means have a memory of {replay.memory:,.0f} rows.")
    for name, each in evaluated(replay):
        if each.changed_by is not None:
            found.append(
                f"The mean reward of {name} changed: {each.changed_by:,} rows refute every constant one "
                f"(level {options.delta:g})."
            )
    return found
