"""The page of an audit."""

import math
from collections.abc import Sequence

import numpy as np

from driftwise.analysis.audit.auditing import Audit
from driftwise.analysis.audit.findings import findings_table, grouped, worst_of
from driftwise.analysis.audit.lemmas import LEMMAS
from driftwise.analysis.figures import HeatMap
from driftwise.analysis.formatting import format_count, format_number
from driftwise.analysis.page import Article, Page, Section, write_html
from driftwise.analysis.table import Table, words

_READING = (
    "Statements about this agent fail if it does not do what it says; those of mathematics test the lemmas "
    "and the models, which the agent cannot break. Worst ratio: the largest left side over its right side; "
    "above 1 the statement fails. A bound says nothing here if it is larger than a bound that needs no proof "
    "(HK for the theorem), is loose by 10^x where even the worst ratio is below 10^−x, and vacuous where no "
    "left side is above 0. Identities are checked to 1e-8. Statements that may fail with probability δ are "
    "violated if the number of failing runs has probability at most δ; all others if they fail once. Where "
    "the radius is below theory's, optimism and its consequences are not promised."
)
_BY_HAND = (
    "Instances of one and two dimensions whose parameter turns after one sample of every arm. They are "
    "computed by hand: the ratio of left to right side is known, and must be exactly that. Where it is above "
    "½ the bound is called attained, since half of it would be too small."
)


def audit_html(audits: Sequence[Audit]) -> str:
    """Return the page of audits as HTML: an article for each, a section for each agent."""
    findings = [finding for audit in audits for finding in audit.findings]
    violated = sum(finding.violated for finding in findings)
    checked = format_count(sum(finding.checked for finding in findings), "check")
    lead = f"{checked} of {format_count(len(findings), 'statement')}: "
    lead += f"{violated} violated. " if violated else "none is violated beyond chance. "
    meanings = {
        "says nothing here": "Bounds that are vacuous here",
        "not promised": "Not promised for some agent",
    }
    for verdict, meaning in meanings.items():
        names = dict.fromkeys(finding.statement for finding in findings if finding.verdict == verdict)
        lead += f"{meaning}: {', '.join(names)}. " if names else ""
    rows = [(name, lemma.group, lemma.where, lemma.formula) for name, lemma in LEMMAS.items()]
    statements = Table.of("statements", words("statement", "about", "in the paper", "what it says"), rows)
    articles = [*map(_article, audits), Article("", [Section("The statements", [statements])])]
    kicker = " · ".join(audit.name for audit in audits)
    title = "Statements of the theory, checked on recorded runs"
    return write_html(Page("audit", kicker, title, lead, articles))


def _article(audit: Audit) -> Article:
    groups = grouped(audit.findings)
    own, shared = groups.get("this agent", ()), groups.get("mathematics", ())
    pairs = list(dict.fromkeys((finding.environment, finding.agent) for finding in own))
    sections = []
    if pairs:
        sections.append(Section("How tight the statements are", [_heat_map(audit, pairs), _READING]))
    if shared:
        table = findings_table(worst_of(shared) if own else shared, "mathematics")
        table = table.without("about", "median ratio", "median margin")
        sections.append(Section("Mathematics", [table] if own else [table, _BY_HAND]))
    for environment, agent in pairs:
        in_place = (finding for finding in own if finding.environment == environment)
        findings = [finding for finding in in_place if finding.agent == agent]
        table = findings_table(findings, f"{agent}, {environment}")
        table = table.without("about", "in the paper", "worst for")
        sections.append(Section(f"This agent: {agent} in {environment}", [table]))
    if audit.skipped:
        rows = [(*place, statement or "all", why) for *place, statement, why in audit.skipped]
        table = Table.of("skipped", words("environment", "agent", "statement", "why"), rows)
        sections.append(Section("Not audited", [table]))
    return Article(audit.name, sections, kicker=" · ".join(audit.sizes))


def _heat_map(audit: Audit, pairs: Sequence[tuple[str, str]]) -> HeatMap:
    """The worst ratio of statements that are no identities, for all agents in all environments."""
    inequalities = [finding for finding in audit.findings if finding.kind != "identity"]
    statements = list(dict.fromkeys(finding.statement for finding in inequalities))
    ratios = {(item.statement, item.environment, item.agent): item.worst_ratio for item in inequalities}
    grid = np.array([[ratios.get((name, *pair), math.nan) for pair in pairs] for name in statements])
    return HeatMap(
        f"ratios-{audit.name}",
        statements,
        [f"{agent}, {environment}" for environment, agent in pairs],
        np.log10(np.where((grid > 0) & np.isfinite(grid), grid, np.nan)),
        [[format_number(ratio, 2) for ratio in row] for row in grid.tolist()],
        "The worst ratio of left to right side of each statement, for each agent in each environment",
        value_label="worst ratio",
        scale="log₁₀",
        downwards=True,
        rows=max(13, len(statements)),
    )
