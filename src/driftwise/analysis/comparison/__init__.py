"""Comparison of two results folders: of what was run, and of the numbers, with a test for each.

`manifests` holds manifests against each other, `agents` curves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from driftwise.analysis.comparison.agents import (
    ALPHA,
    METRICS,
    ComparedAgent,
    adjusted,
    compared_agent,
    comparison_table,
)
from driftwise.analysis.comparison.manifests import (
    ManifestDifference,
    Participant,
    manifest_differences,
    manifests_table,
)
from driftwise.analysis.report.data import Report
from driftwise.analysis.statistics import ROUNDING
from driftwise.base.validation import require_choice

__all__ = [
    "METRICS",
    "ComparedAgent",
    "Comparison",
    "ManifestDifference",
    "Participant",
    "compare",
    "comparison_table",
    "manifests_table",
]


@dataclass(frozen=True)
class Comparison:
    """Two results folders side by side."""

    metric: str
    method: str  # paired or welch
    facts: tuple[ManifestDifference, ...]
    rows: tuple[ComparedAgent, ...]
    only_first: tuple[Participant, ...]
    only_second: tuple[Participant, ...]
    notes: tuple[str, ...]  # how to read the rows, in sentences


def compare(first: Report, second: Report, *, metric: str = "regret") -> Comparison:
    """Compare two folders, each as `load_report_data` gives it, after the last episode that both recorded.

    With one seed, run `i` of both meets the same draws: the two samples depend on each other, and it is their
    differences that are tested (paired t-test). With two seeds they are independent (Welch's t-test).
    """
    require_choice("metric", metric, list(METRICS))
    sides = [
        [Participant(name, agent) for name, data in side.items() for agent in data.labels]
        for side in (first, second)
    ]
    common = [each for each in sides[0] if each in sides[1]]
    manifests = [next(iter(side.values())).manifest for side in (first, second)]
    seeds = [manifest.get("seed") for manifest in manifests]
    paired = seeds[0] is not None and seeds[0] == seeds[1]
    rows = adjusted(
        compared_agent(each, first[each.environment], second[each.environment], metric=metric, paired=paired)
        for each in common
    )
    return Comparison(
        metric=metric,
        method="paired" if paired else "welch",
        facts=manifest_differences(manifests[0], manifests[1], common),
        rows=rows,
        only_first=tuple(each for each in sides[0] if each not in common),
        only_second=tuple(each for each in sides[1] if each not in common),
        notes=(*_how_tested(rows, seeds, paired), *_left_out(rows, first, second), *_verdicts(rows)),
    )


def _how_tested(rows: Sequence[ComparedAgent], seeds: Sequence[Any], paired: bool) -> Iterator[str]:
    if not rows:
        yield "No agent in the same environment is in both: there are no numbers to compare."
    elif paired:
        yield f"Both have seed {seeds[0]}: differences are taken run by run (paired t-test)."
    else:
        yield f"The seeds are {seeds[0]} and {seeds[1]}: two independent samples (Welch's t-test)."


def _left_out(rows: Sequence[ComparedAgent], first: Report, second: Report) -> Iterator[str]:
    for name in dict.fromkeys(row.environment for row in rows):
        row = next(row for row in rows if row.environment == name)
        sides = first[name], second[name]
        if (row.runs_first, row.runs_second) != (runs := tuple(side.num_runs for side in sides)):
            yield f"{name}: only the {row.runs_first} runs in common count, of {runs[0]} and {runs[1]}."
        lengths = [side.num_episodes for side in sides]
        if max(lengths) > row.episode:
            yield (
                f"{name}: the numbers are those after episode {row.episode}, the last that both recorded "
                f"of {lengths[0]} and {lengths[1]}."
            )


def _verdicts(rows: Sequence[ComparedAgent]) -> Iterator[str]:
    found = {row.verdict for row in rows}
    number = sum(row.tested for row in rows)
    if number:
        yield f"lower, higher: p ≤ {ALPHA:g}, adjusted by Holm for the number of tests, which is {number}."
    if "unclear" in found:
        yield "unclear: a difference is not shown, nor is it shown that there is none."
    if "identical" in found:
        yield "identical: all numbers agree to the last bit."
    if "rounding" in found:
        yield f"rounding: all numbers agree to {ROUNDING:g} of the largest."
    if "not tested" in found:
        yield "not tested: one run cannot tell luck from a difference."
