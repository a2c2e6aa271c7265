"""Standings of agents: ranks over all environments, differences to the best in one, and both in words."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from driftwise.analysis.formatting import (
    format_count,
    format_half_width,
    format_interval,
    format_number,
    format_p_value,
    format_percent,
)
from driftwise.analysis.page import Section
from driftwise.analysis.regret_curves import FEWEST_RUNS, lead_spans, views
from driftwise.analysis.report.data import Report, ReportData, differences_to_best
from driftwise.analysis.statistics import (
    IntervalEstimate,
    is_lowest,
    jackknife_interval,
    mean_interval,
    paired_difference,
    rank_table,
    rounded_difference,
)
from driftwise.analysis.table import Table, cells, numbers, words

_FEW_RUNS = 10  # too few to resample
_MAX_NAMED = 4  # agents that share the lead, by name
_LEVEL = 0.05


class Ranking(NamedTuple):
    """All agents over all environments, from the lowest rank to the highest."""

    agents: tuple[str, ...]
    ranks: IntervalEstimate  # [agents] mean rank over runs and environments, with a bootstrap interval
    num_leaders: int  # agents of lowest rank
    means: np.ndarray  # [agents, environments] of final cumulative regret
    half_widths: np.ndarray
    best: np.ndarray  # the lowest mean of the environment, or equal to it


def ranking(report: Report) -> Ranking:
    """Return ranks and final regrets of all agents."""
    agents = next(iter(report.values())).labels
    finals = np.stack(
        [data.scores[:, [data.labels.index(agent) for agent in agents]] for data in report.values()], axis=1
    )  # [runs, environments, agents]
    ranks = rank_table({agent: finals[..., place] for place, agent in enumerate(agents)}).overall
    order = np.argsort(ranks.estimate, kind="stable")
    means, half_widths = (values[:, order].T for values in mean_interval(finals))
    ordered = IntervalEstimate(*(values[order] for values in ranks))
    leaders, best = is_lowest(ranks.estimate).sum(), np.apply_along_axis(is_lowest, 0, means)
    return Ranking(tuple(agents[place] for place in order), ordered, int(leaders), means, half_widths, best)


def overview(report: Report) -> Section | None:
    """Return the average rank of every agent and its regret in every environment, if there are several."""
    if len(report) < 2:
        return None
    agents, ranks, _, *regrets = ranking(report)
    first = next(iter(report.values()))
    by_environment = zip(*(values.T for values in regrets), strict=True)
    columns = [cells(format_half_width, *own, best=best) for *own, best in by_environment]
    rows = zip(agents, cells(format_interval, *ranks), *columns, strict=True)
    table = Table.of("overview", words("agent") + numbers("average rank [95 %]", *report), rows)
    word = first.quantity
    note = (
        f"Final cumulative {word}, mean ± 95 % half-width (Student’s t); bold: the lowest mean of an "
        f"environment. Average rank: by final {word} within each run of each environment, averaged over all, "
        f"so that environments count equally whatever the size of their {word}; the interval is a bootstrap "
        f"over runs.{bootstrap_caution(first)}"
    )
    return Section("Overview", [table, note])


def bootstrap_caution(data: ReportData) -> str:
    """Return a warning about bootstrap intervals; empty where there are enough runs."""
    if not 1 < data.num_runs < _FEW_RUNS:
        return ""
    return f" With {data.num_runs} runs, which are few to resample, such intervals are too narrow."


def differences(data: ReportData) -> Section | None:
    """Return every difference with its test, and how often the best agent won; none for one agent."""
    if len(data.labels) < 2:
        return None
    title = "Differences to the best agent"
    if data.num_runs < 2:
        return Section(title, ["One run cannot tell luck from skill: there is nothing to test."])
    scores, identical, p, adjusted = differences_to_best(data)
    paired = paired_difference(*scores)
    labels, intervals = (data.labels[index] for index in data.order[1:]), cells(format_interval, *paired[:3])
    pairs = zip(intervals, identical, strict=True)
    intervals = [replace(cell, text="identical") if equal else cell for cell, equal in pairs]
    tests, won = [cells(format_p_value, values) for values in (adjusted, p)], 1 - paired.share_better
    rows = zip(labels, intervals, *tests, cells(format_percent, won), strict=True)
    headings = numbers("difference [95 %]", "p, adjusted", "p", "runs won by the best")
    shared = "" if data.is_external else " under common random numbers"
    note = (
        f"Final cumulative {data.quantity} minus that of {data.leader}, run by run{shared}; paired t-tests, "
        "adjusted by Holm for the number of tests. The best agent was chosen by the same runs, which "
        "flatters it: confirm a close call with another seed."
    )
    if identical.any():
        note += " Identical: equal in every run, up to rounding."
    return Section(title, [Table.of("differences", words("agent") + headings, rows), note])


def headline(report: Report) -> tuple[str, str]:
    """Return the first sentence of a page, and the sentences that follow it."""
    first = next(iter(report.values()))
    if len(report) == 1:
        return finding(first), details(first)
    agents, ranks, count, *_, best = ranking(report)
    places = [format_interval(*place) for place in np.transpose(ranks)]
    verb, several = "has" if count == 1 else "share", f"{len(report)} environments"
    text = f"{_listed(agents[:count])} {verb} the lowest average rank over {several}, {places[0]}"
    if count < len(agents):
        text += f"; next is {agents[count]} with {places[count]}"
    wins = int(best[0].sum()) or "none"
    return text, f"{agents[0]} has the lowest final {first.quantity} in {wins} of the {several}."


def finding(data: ReportData) -> str:
    """Return the agents of lowest regret, how much lower it is than that of the next one, and the p-value."""
    num_leaders, best = int(is_lowest(data.scores.mean(axis=0)).sum()), data.order[0]
    names = _listed([data.labels[index] for index in data.order[:num_leaders]])
    ends, earns = ("ends", "earns") if num_leaders == 1 else ("end", "earn")
    if num_leaders == len(data.labels):
        identical = num_leaders > 1 and not rounded_difference(data.scores, data.scores[:, :1]).any()
        regret = format_half_width(*map(float, mean_interval(data.scores[:, best])))
        return f"{names} {ends} with a {data.quantity} of {regret}{' in every run' * identical}"
    # the difference in regret and its interval, as a share where regret is known and positive
    following = data.order[num_leaders]
    scores = data.scores[:, [following, best]]
    if "regret" not in data.metrics or (scores.mean(axis=0) <= 0).any():  # of problems without episodes
        difference = [*map(float, paired_difference(scores[:, 0], scores[:, 1])[:3])]
        less, low, high = map(format_number, difference)
    else:  # with a digit more where it is small
        difference = [*map(float, jackknife_interval(scores, lambda mean: 1 - mean[..., 1] / mean[..., 0]))]
        texts = (f"{100 * share:.{int(abs(share) < 0.1)}f} %" for share in difference)
        less, low, high = (text.replace("-", "−") for text in texts)
    interval = "" if math.isnan(difference[1]) else f"95 %: {low} to {high}, "
    advantage = f"{ends} with {less} less regret" if "regret" in data.metrics else f"{earns} {less} more"
    text = f"{names} {advantage} than the next best agent, {data.labels[following]}"
    if data.num_runs < 2:
        return f"{text}, in one run, which cannot tell luck from skill"
    p = differences_to_best(data).adjusted[num_leaders - 1]
    chance = f"p {'' if p < 0.001 else '= '}{format_p_value(p)}"
    doubt = "" if p <= _LEVEL else f": too close to call with {format_count(data.num_runs, 'run')}"
    return f"{text} ({interval}{chance}){doubt}"


def details(data: ReportData) -> str:
    """Return the regret of the best agent, its share of random actions, and where it leads significantly."""
    num_leaders, best = int(is_lowest(data.scores.mean(axis=0)).sum()), data.scores[:, data.order[0]]
    regret = format_half_width(*map(float, mean_interval(best)))
    episodes = format_count(data.num_episodes, "episode")
    text = f"After {episodes} the {data.quantity} of {data.leader} is {regret}"
    if math.isfinite(data.random_regret):
        share = best.mean() / (data.random_regret * data.num_episodes)
        text += f", {format_percent(share)} of that of random actions"
    if num_leaders < len(data.labels) and data.num_runs > 1:
        paired = paired_difference(*differences_to_best(data).scores)
        more = format_interval(*(float(values[num_leaders - 1]) for values in paired[:3]))
        text += f"; {data.labels[data.order[num_leaders]]} has {more} more, paired by run"
    if data.num_runs < FEWEST_RUNS or len(data.labels) < 2:
        return f"{text}."
    cumulative, _ = views(data.results[data.leader], data.changes)
    spans = lead_spans(data.results, cumulative)
    if not spans:
        return f"{text}. At no time is it significantly below all others."
    first, last = spans[-1]
    until = "on" if last == data.num_episodes else f"to {last:,}"
    return f"{text}. It is significantly below all others from episode {first:,} {until}."


def _listed(names: Sequence[str]) -> str:
    """The names in a sentence, the first few of many."""
    few = [*names]
    if len(few) > _MAX_NAMED:
        few = [*names[:_MAX_NAMED], f"{len(names) - _MAX_NAMED:,} more"]
    return " and ".join([", ".join(few[:-1]), few[-1]] if len(few) > 1 else few)
