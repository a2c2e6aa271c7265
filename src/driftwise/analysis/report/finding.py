"""The finding in words: who has the least regret, by how much, how sure that is, and since when."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from driftwise.analysis.report.data import Report, ReportData
from driftwise.analysis.report.panels.comparisons import differences_to_best, ranking
from driftwise.analysis.report.panels.regret import FEWEST_RUNS, lead_spans
from driftwise.analysis.statistics import (
    difference,
    jackknife_interval,
    lowest,
    mean_interval,
    paired_difference,
)
from driftwise.analysis.statistics.wording import (
    counted,
    percent,
    probability,
    rounded,
    with_half_width,
    with_interval,
)
from driftwise.analysis.views import views

MAX_NAMED = 4  # agents that share the lead, by name
CLEAR = 0.05


def opening(report: Report) -> str:
    """The first sentence of the page."""
    return finding(next(iter(report.values()))) if len(report) == 1 else finding_over_all(report)


def finding(data: ReportData) -> str:
    """The agents of lowest regret, how much less it is than that of the next one, and how sure that is."""
    leaders, others = _split(data)
    names = listed([data.labels[index] for index in leaders])
    ends = "ends" if len(leaders) == 1 else "end"
    if len(others) == 0:
        regret = f"{ends} with a {data.quantity} of {_regret(data, leaders[0])}"
        return f"{names} {regret}{' in every run' * (len(leaders) > 1 and _identical(data, leaders))}"
    following = data.labels[others[0]]
    less, sure = _less(data, leaders[0], others[0])
    ahead = f"{ends} with {less} less regret"
    if "regret" not in data.measured:
        ahead = f"{'earns' if len(leaders) == 1 else 'earn'} {less} more"
    text = f"{names} {ahead} than the next best agent, {following}"
    if data.num_runs < 2:
        return f"{text}, in one run, which cannot tell luck from skill"
    p = differences_to_best(data).adjusted[len(leaders) - 1]
    chance = f"p {probability(p)}" if p < 0.001 else f"p = {probability(p)}"
    doubt = "" if p <= CLEAR else f": too close to call with {counted(data.num_runs, 'run')}"
    return f"{text} ({sure}{chance}){doubt}"


def details(data: ReportData) -> str:
    """The regret behind the finding, as a share of random actions, and since when the lead is sure."""
    leaders, others = _split(data)
    best = data.labels[leaders[0]]
    text = (
        f"After {counted(data.num_episodes, 'episode')} the {data.quantity} of {best} is "
        f"{_regret(data, leaders[0])}"
    )
    if math.isfinite(data.random_regret):
        share = data.scores[:, leaders[0]].mean() / (data.random_regret * data.num_episodes)
        text += f", {percent(share)} of that of random actions"
    if len(others) and data.num_runs > 1:
        found = differences_to_best(data).found
        more = with_interval(*(float(each[len(leaders) - 1]) for each in found[:3]))
        text += f"; {data.labels[others[0]]} has {more} more, paired by run"
    return f"{text}. {_when(data)}".strip()


def finding_over_all(report: Report) -> str:
    """The agents of lowest rank over the environments, and the next one."""
    found = ranking(report)
    count = int(found.leads.sum())
    names = listed(found.agents[:count])
    text = (
        f"{names} {'has' if count == 1 else 'share'} the lowest average rank over {len(report)} environments"
    )
    text += f", {_rank(found.ranks, 0)}"
    if count < len(found.agents):
        text += f"; next is {found.agents[count]} with {_rank(found.ranks, count)}"
    return text


def details_over_all(report: Report) -> str:
    """In how many environments the leader has the lowest regret."""
    found, word = ranking(report), next(iter(report.values())).quantity
    wins = int(found.best[0].sum()) or "none"
    return f"{found.agents[0]} has the lowest final {word} in {wins} of the {len(report)} environments."


def listed(names: Sequence[str]) -> str:
    """The names in a sentence, the first few of many."""
    few = list(names) if len(names) <= MAX_NAMED else [*names[:MAX_NAMED], f"{len(names) - MAX_NAMED:,} more"]
    return " and ".join([", ".join(few[:-1]), few[-1]] if len(few) > 1 else few)


def _split(data: ReportData) -> tuple[np.ndarray, np.ndarray]:
    """The agents that share the lowest mean regret, and the others, from the next one on."""
    leaders, others = np.split(data.order, [lowest(data.scores.mean(axis=0)).sum()])
    return leaders, others


def _identical(data: ReportData, leaders: np.ndarray) -> bool:
    return not difference(data.scores[:, leaders], data.scores[:, leaders[:1]]).any()


def _regret(data: ReportData, index: int) -> str:
    mean, half_width = mean_interval(data.scores[:, index])
    return with_half_width(float(mean), float(half_width))


def _less(data: ReportData, best: int, following: int) -> tuple[str, str]:
    """How much less regret the best has, and the interval: as a share where regret is known and positive."""
    scores = data.scores[:, [following, best]]
    if "regret" not in data.measured or (scores.mean(axis=0) <= 0).any():  # of problems without episodes
        found = paired_difference(scores[:, 0], scores[:, 1])
        sure = f"95 %: {rounded(float(found.low))} to {rounded(float(found.high))}, "
        return rounded(float(found.mean)), "" if math.isnan(found.low) else sure
    share, low, high = map(float, jackknife_interval(scores, lambda mean: 1 - mean[..., 1] / mean[..., 0]))
    sure = "" if math.isnan(low) else f"95 %: {_points(low)} to {_points(high)}, "
    return _points(share), sure


def _points(share: float) -> str:
    """A share as text, with a digit more where it is small."""
    text = f"{100 * share:.1f} %" if abs(share) < 0.1 else percent(share)
    return text.replace("-", "−")


def _rank(ranks: Sequence[np.ndarray], place: int) -> str:
    return with_interval(*(float(each[place]) for each in ranks))


def _when(data: ReportData) -> str:
    """The episodes in which the leader's cumulative regret is significantly below all others."""
    if data.num_runs < FEWEST_RUNS or len(data.labels) < 2:
        return ""
    cumulative, _ = views(data.results[data.labels[0]], data.changes)
    spans = lead_spans(data, cumulative)
    if not spans:
        return "At no time is it significantly below all others."
    first, last = spans[-1]
    until = "on" if last == data.num_episodes else f"to {last:,}"
    return f"It is significantly below all others from episode {first:,} {until}."
