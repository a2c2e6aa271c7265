"""What an audit beside the results found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.elements import Cell, Section, counted, paragraph, shown, sortable_table

HEADINGS = ("statement", "in the paper", "checked", "violations", "worst ratio", "worst for", "verdict")
NOTE = (
    "Every statement of the theory on live runs with the true model at hand, for the agent and environment "
    "that come closest to a violation. Worst ratio: the largest left side over its right side; above 1 the "
    "statement fails. The page audit.html beside this one has all agents in all environments."
)


def audit(report: Report) -> Section | None:
    """Where `driftwise audit --out` wrote into the folder of the results."""
    findings = [finding for each in longest(report).audits for finding in each["findings"]]
    if not findings:
        return None
    violated = sum(finding["verdict"] == "violated" for finding in findings)
    told = f"{counted(len(findings), 'statement')} about an agent somewhere, {violated or 'none'} violated."
    by_statement: dict[str, list[Mapping[str, Any]]] = {}
    for finding in findings:
        by_statement.setdefault(finding["statement"], []).append(finding)
    table = sortable_table(HEADINGS, map(_row, by_statement.values()), name="audit")
    return Section("Audit", paragraph(told) + table + paragraph(NOTE))


def _row(alike: Sequence[Mapping[str, Any]]) -> tuple[Cell, ...]:
    worst = max(alike, key=lambda each: (each["verdict"] == "violated", _ratio(each)))
    checked, violations = (sum(each[name] for each in alike) for name in ("checked", "violations"))
    exact = worst["kind"] == "identity"
    return (
        Cell(worst["statement"]),
        Cell(worst["where"]),
        Cell(f"{checked:,}", checked),
        Cell(f"{violations:,}", violations),
        Cell("–" if exact else shown(_ratio(worst), 2), 0.0 if exact else _ratio(worst)),
        Cell(f"{worst['agent']}, {worst['environment']}"),
        Cell(worst["verdict"]),
    )


def _ratio(finding: Mapping[str, Any]) -> float:
    """Files have no infinity."""
    return math.inf if finding["worst_ratio"] is None else finding["worst_ratio"]
