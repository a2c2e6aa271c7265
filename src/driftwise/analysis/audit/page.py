"""The audit as a page in the look of the report, in a single file that needs no network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from plotly.offline import get_plotlyjs

from driftwise import __version__
from driftwise.analysis.audit.auditing import Audit
from driftwise.analysis.audit.findings import Finding, worst_of
from driftwise.analysis.audit.lemmas import LEMMAS
from driftwise.analysis.report.elements import (
    Cell,
    axis,
    counted,
    figure,
    paragraph,
    plotly_text,
    shown,
    sortable_table,
)
from driftwise.analysis.report.page import ICON, PAGE, POLICY

HEADINGS = (
    "statement",
    "checked",
    "violations",
    "worst ratio",
    "median ratio",
    "median margin",
    "verdict",
)
READING = (
    "Worst ratio: the largest left side over its right side; above 1 the statement fails. A bound is loose "
    "by 10^x where even the worst ratio is below 10^−x, and vacuous where no left side is above 0. "
    "Identities are held to 1e-8. Statements that may fail with probability δ are violated if so many of the "
    "runs fail that the chance of it would be at most δ; all others if they fail once."
)


def html_page(audits: Sequence[Audit]) -> str:
    """One article for each audit: what is tight, then every agent in every environment."""
    parts = files("driftwise.analysis.report")
    audited = [finding for audit in audits for finding in audit.findings]
    return PAGE.format(
        policy=POLICY,
        icon=ICON,
        title="audit · driftwise",
        css=parts.joinpath("page.css").read_text(encoding="utf-8"),
        kicker=escape(" · ".join(audit.name for audit in audits)),
        heading="Every lemma, checked on live runs",
        lead=paragraph(_lead(audited), "lead"),
        navigation="",
        body="\n".join([*map(_article, audits), _statements()]),
        footer=escape(f"Written by driftwise {__version__}"),
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
        script=parts.joinpath("page.js").read_text(encoding="utf-8"),
    )


def _lead(findings: Sequence[Finding]) -> str:
    violated = sum(finding.violated for finding in findings)
    checked = sum(finding.checked for finding in findings)
    loose = [each.statement for each in worst_of(findings) if each.verdict.startswith("loose")]
    told = f"{counted(checked, 'check')} of {counted(len(findings), 'statement')} about an agent: "
    told += f"{violated} violated. " if violated else "none is violated beyond chance. "
    return told + (f"Loose even at their worst: {', '.join(loose)}." if loose else "")


def _article(audit: Audit) -> str:
    heading = f'<h2 class="environment">{escape(audit.name)}</h2>'
    parts = [paragraph(" · ".join(audit.sizes), "kicker"), heading]
    if audit.findings:
        parts += [_section("How tight the statements are", _heat_map(audit) + paragraph(READING))]
        parts += [
            _section(
                f"{agent} in {environment}", _table(_of(audit, environment, agent), f"{agent}, {environment}")
            )
            for environment, agent in _pairs(audit)
        ]
    if audit.skipped:
        rows = [
            [Cell(each.environment), Cell(each.agent), Cell(each.statement or "all"), Cell(each.why)]
            for each in audit.skipped
        ]
        parts.append(
            _section(
                "Not audited",
                sortable_table(("environment", "agent", "statement", "why"), rows, name="skipped"),
            )
        )
    return f"<article>{''.join(parts)}</article>"


def _statements() -> str:
    """What the names stand for."""
    rows = [[Cell(name), Cell(lemma.where), Cell(lemma.formula)] for name, lemma in LEMMAS.items()]
    table = sortable_table(("statement", "in the paper", "what it says"), rows, name="statements")
    return f"<article>{_section('The statements', table)}</article>"


def _section(title: str, body: str) -> str:
    return f"<section><h3>{escape(title)}</h3>{body}</section>"


def _pairs(audit: Audit) -> list[tuple[str, str]]:
    return list(dict.fromkeys((finding.environment, finding.agent) for finding in audit.findings))


def _of(audit: Audit, environment: str, agent: str) -> list[Finding]:
    return [each for each in audit.findings if (each.environment, each.agent) == (environment, agent)]


def _table(findings: Sequence[Finding], name: str) -> str:
    return sortable_table(HEADINGS, map(_row, findings), name=name)


def _row(finding: Finding) -> list[Cell]:
    sizes = finding.worst_ratio, finding.median_ratio, finding.median_margin
    exact = finding.kind == "identity"
    return [
        Cell(finding.statement),
        Cell(f"{finding.checked:,}", finding.checked),
        Cell(f"{finding.violations:,}", finding.violations),
        *(Cell("–" if exact else shown(size, 2), 0.0 if exact else size) for size in sizes),
        Cell(finding.verdict),
    ]


def _heat_map(audit: Audit) -> str:
    """The worst ratio of statements that are no identities, for all agents in all environments."""
    pairs = _pairs(audit)
    inequalities = [each for each in audit.findings if each.kind != "identity"]
    statements = list(dict.fromkeys(each.statement for each in inequalities))
    ratios = {(each.statement, each.environment, each.agent): each.worst_ratio for each in inequalities}
    grid = [[ratios.get((statement, *pair), math.nan) for pair in pairs] for statement in statements]
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": [plotly_text(f"{agent}, {environment}") for environment, agent in pairs],
        "y": [plotly_text(statement) for statement in statements],
        "z": [[_order_of(ratio) for ratio in row] for row in grid],
        "text": [[shown(ratio, 2) for ratio in row] for row in grid],
        "colorscale": "Cividis",
        "colorbar": {"outlinewidth": 0, "thickness": 12, "title": {"text": "log₁₀"}},
        "hovertemplate": "%{y}<br>%{x}: worst ratio %{text}<extra></extra>",
    }
    layout = {
        "xaxis": axis("", type="category", showgrid=False),
        "yaxis": axis("", type="category", showgrid=False, autorange="reversed"),
        "hovermode": "closest",
    }
    text = "The worst ratio of left to right side of each statement, for each agent in each environment"
    return figure(f"ratios-{audit.name}", [trace], layout, text=text, rows=max(13, len(statements)))


def _order_of(ratio: float) -> float | None:
    return math.log10(ratio) if 0 < ratio < math.inf else None
