"""An audit beside the results."""

from __future__ import annotations

from driftwise.analysis.audit.findings import findings_table, worst_of
from driftwise.analysis.page import Section
from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.statistics.wording import counted

NOTE = (
    "Every statement of the theory on live runs with the true model at hand, for the agent and environment "
    "that come closest to a violation. Worst ratio: the largest left side over its right side; above 1 the "
    "statement fails. The page audit.html beside this one has all agents in all environments."
)


def audit(report: Report) -> Section | None:
    """The findings, if `driftwise audit --out` wrote into the folder of the results."""
    findings = longest(report).findings
    if not findings:
        return None
    violated = sum(finding.violated for finding in findings)
    text = f"{counted(len(findings), 'statement')} about an agent somewhere, {violated or 'none'} violated."
    table = findings_table(worst_of(findings), "audit").without("median ratio", "median margin")
    return Section("Audit", [text, table, NOTE])
