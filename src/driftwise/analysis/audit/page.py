"""The page of an audit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from driftwise.analysis.audit.auditing import Audit
from driftwise.analysis.audit.findings import Finding, findings_table, grouped, worst_of
from driftwise.analysis.audit.lemmas import LEMMAS
from driftwise.analysis.page import Article, Figure, Page, Section, axis, plotly_text, write_html
from driftwise.analysis.statistics.wording import counted, rounded
from driftwise.analysis.table import Table, words

READING = (
    "Statements about this agent fail if it does not do what it says; those of mathematics test the lemmas "
    "and the models, which it cannot break. Worst ratio: the largest left side over its right side; above 1 "
    "the statement fails. A bound says nothing here if it is above what holds without any proof (HK for the "
    "theorem), is loose by 10^x where even the worst ratio is below 10^−x, and vacuous where no left side is "
    "above 0. Identities are held to 1e-8. Statements that may fail with probability δ are violated if so "
    "many of the runs fail that the chance of it would be at most δ; all others if they fail once. Where the "
    "radius is below theory's, optimism and what follows from it are not promised."
)
BY_HAND = (
    "Instances of one and two dimensions that turn round after a sample of each. They can be done by hand: "
    "the ratio of left to right side is known, and has to be exactly that. Where it is above ½ the bound is "
    "called attained, since half of it would be too small."
)


def html_page(audits: Sequence[Audit]) -> str:
    """An article for each audit, its tightest statements first, then every agent in every environment."""
    audited = [finding for audit in audits for finding in audit.findings]
    rows = [(name, lemma.group, lemma.where, lemma.formula) for name, lemma in LEMMAS.items()]
    statements = Table.of("statements", words("statement", "about", "in the paper", "what it says"), rows)
    return write_html(
        Page(
            title="audit",
            kicker=" · ".join(audit.name for audit in audits),
            heading="What is proven, and what is done, on live runs",
            lead=_lead(audited),
            parts=[*map(_article, audits), Article("", [Section("The statements", [statements])])],
        )
    )


def _lead(findings: Sequence[Finding]) -> str:
    violated = sum(finding.violated for finding in findings)
    checked = sum(finding.checked for finding in findings)
    text = f"{counted(checked, 'check')} of {counted(len(findings), 'statement')}: "
    text += f"{violated} violated. " if violated else "none is violated beyond chance. "
    for verdict, meaning in (
        ("says nothing here", "above what holds anyway"),
        ("not promised", "not promised"),
    ):
        named = dict.fromkeys(each.statement for each in findings if each.verdict == verdict)
        text += f"Somewhere {meaning}: {', '.join(named)}. " if named else ""
    return text


def _article(audit: Audit) -> Article:
    groups = grouped(audit.findings)
    own, shared = groups.get("this agent", ()), groups.get("mathematics", ())
    pairs = dict.fromkeys((finding.environment, finding.agent) for finding in own)
    sections = []
    if pairs:
        sections.append(Section("How tight the statements are", [_heat_map(audit, list(pairs)), READING]))
    if shared:
        table = findings_table(worst_of(shared) if own else shared, "mathematics")
        table = table.without("about", "median ratio", "median margin")
        sections.append(Section("Mathematics", [table] if own else [table, BY_HAND]))
    for environment, agent in pairs:
        found = [each for each in own if (each.environment, each.agent) == (environment, agent)]
        table = findings_table(found, f"{agent}, {environment}").without("about", "in the paper", "worst for")
        sections.append(Section(f"This agent: {agent} in {environment}", [table]))
    if audit.skipped:
        rows = [(each.environment, each.agent, each.statement or "all", each.why) for each in audit.skipped]
        table = Table.of("skipped", words("environment", "agent", "statement", "why"), rows)
        sections.append(Section("Not audited", [table]))
    return Article(audit.name, sections, kicker=" · ".join(audit.sizes))


def _heat_map(audit: Audit, pairs: Sequence[tuple[str, str]]) -> Figure:
    """The worst ratio of statements that are no identities, for all agents in all environments."""
    inequalities = [each for each in audit.findings if each.kind != "identity"]
    statements = list(dict.fromkeys(each.statement for each in inequalities))
    ratios = {(each.statement, each.environment, each.agent): each.worst_ratio for each in inequalities}
    grid = [[ratios.get((statement, *pair), math.nan) for pair in pairs] for statement in statements]
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": [plotly_text(f"{agent}, {environment}") for environment, agent in pairs],
        "y": [plotly_text(statement) for statement in statements],
        "z": [[math.log10(ratio) if 0 < ratio < math.inf else None for ratio in row] for row in grid],
        "text": [[rounded(ratio, 2) for ratio in row] for row in grid],
        "colorbar": {"title": {"text": "log₁₀", "side": "right"}},
        "hovertemplate": "%{y}<br>%{x}: worst ratio %{text}<extra></extra>",
    }
    layout = {"xaxis": axis(""), "yaxis": axis("", autorange="reversed")}
    text = "The worst ratio of left to right side of each statement, for each agent in each environment"
    return Figure(f"ratios-{audit.name}", [trace], layout, text, rows=max(13, len(statements)))
