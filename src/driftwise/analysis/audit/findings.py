"""Findings of an audit: how often each statement was checked, how tight it is, and whether it holds."""

import dataclasses
import json
import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from driftwise.analysis.audit.lemmas import Lemma
from driftwise.analysis.formatting import format_number
from driftwise.analysis.table import Cell, Table, numbers, words

_TOLERANCE = 1e-8  # for rounding, relative to the larger side, absolute below one
_TIGHT = 0.1  # the least worst ratio of a bound that is not called loose


@dataclass(frozen=True)
class AuditFinding:
    """One statement in all runs of an agent in an environment."""

    environment: str
    agent: str
    statement: str
    where: str
    formula: str
    kind: str
    group: str  # what a violation calls into question: this agent, or mathematics
    checked: int  # inequalities, over all runs
    worst_ratio: float  # left over right side; infinite where the right one is 0 and the left is not
    median_ratio: float
    median_margin: float  # right less left side
    violations: int  # inequalities that do not hold
    runs: int
    failing_runs: int  # with a violation
    allowed: float  # probability with which a run may fail
    silent: int  # inequalities whose right side is at least a bound that needs no proof
    radius_share: float | None  # least ratio to theory's radius, where the statement rests on it
    verdict: str  # holds, loose by 10^x, vacuous, says nothing here, not promised, violated, …

    @property
    def violated(self) -> bool:
        return self.verdict == "violated"

    @property
    def reading(self) -> str:
        """The verdict, with the ratio to theory's radius where that is not one."""
        if self.radius_share is None or self.radius_share == 1:
            return self.verdict
        return f"{self.verdict}: radius is {format_number(self.radius_share, 2)} × theory's"


class Evidence:
    """Both sides of one statement at every check; of an identity, residual and tolerance."""

    def __init__(self, lemma: Lemma, num_runs: int) -> None:
        self.lemma, self.num_runs = lemma, num_runs
        self._checks: list[np.ndarray] = []
        self._silent = 0

    def check(self, run: int, view: Any) -> None:
        """Evaluate the statement on a view."""
        left, right, *trivial = self.lemma.check(view)
        left, right = np.broadcast_arrays(left, right)
        if trivial:
            self._silent += int(np.sum(right >= trivial[0]))
        if self.lemma.kind == "identity":
            left, right = np.abs(left - right), _TOLERANCE * np.maximum(1.0, np.abs(right).max(initial=0.0))
        self._checks.append(np.stack([side.ravel() for side in np.broadcast_arrays(run, left, right)]))

    @property
    def sides(self) -> np.ndarray:
        return np.concatenate(self._checks, axis=1)  # [3, n] run, left and right side of all

    def finding(
        self, place: tuple[str, str], delta: float, share: float | None, known_ratio: float | None = None
    ) -> AuditFinding:
        """Return counts, ratios and the verdict; `place` names environment and agent, `share` is the radius'.

        If the largest ratio of left to right side is known, the verdict is whether it is exactly that; a
        bound is called attained where half of it would be too small.
        """
        lemma, group = self.lemma, self.lemma.group
        runs, left, right = self.sides
        with np.errstate(divide="ignore", invalid="ignore"):  # a left side that is 0 but for rounding is 0
            ratios = np.where(left > _TOLERANCE, left / np.maximum(right, 0.0), 0.0)
        worst = float(ratios.max())
        scale = np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
        broken = ~(left <= right + _TOLERANCE * scale)  # a side that is NaN, too
        violations, failing = int(broken.sum()), len(np.unique(runs[broken]))
        allowed = delta if lemma.kind in ("probable", "promised") else 0.0
        share = share if lemma.kind == "promised" else None
        if known_ratio is not None:
            failing, allowed, group = int(abs(worst - known_ratio) > _TOLERANCE), 0.0, "mathematics"
            violations = failing
            verdict = "violated" if failing else "attained" if known_ratio > 1 / 2 else "as computed"
        elif beyond_chance(failing, self.num_runs, allowed):
            verdict = "violated" if share is None or share >= 1 else "not promised"
        elif self._silent == ratios.size:
            verdict = "says nothing here"
        elif lemma.kind == "identity" or worst >= _TIGHT:
            verdict = "holds"
        else:
            verdict = f"loose by 10^{math.floor(-math.log10(worst))}" if worst > 0 else "vacuous"
        statement = lemma.name, lemma.where, lemma.formula, lemma.kind, group
        margin = float(np.round(np.median(right - left), 12) + 0.0)  # no −0
        sizes = left.size, worst, float(np.median(ratios)), margin
        counts = violations, self.num_runs, failing, allowed, self._silent
        return AuditFinding(*place, *statement, *sizes, *counts, share, verdict)


def findings_table(findings: Sequence[AuditFinding], name: str) -> Table:
    """Return a row for each finding: its checks, its ratios and its verdict."""
    columns = words("statement", "about", "in the paper", "verdict")
    columns += numbers("checked", "violations", "worst ratio", "median ratio", "median margin")
    columns += words("worst for")
    rows = []
    for finding in findings:
        counts = (Cell.of("{:,}".format, count) for count in (finding.checked, finding.violations))
        sizes = finding.worst_ratio, finding.median_ratio, finding.median_margin
        exact = finding.kind == "identity"
        ratios = (Cell("–", (0.0,)) if exact else Cell(format_number(size, 2), (size,)) for size in sizes)
        texts = finding.statement, finding.group, finding.where, finding.reading
        rows.append((*texts, *counts, *ratios, f"{finding.agent}, {finding.environment}"))
    return Table.of(name, columns, rows)


def grouped(findings: Sequence[AuditFinding]) -> dict[str, tuple[AuditFinding, ...]]:
    """Return the findings by what a violation calls into question, this agent first."""
    groups = sorted({finding.group for finding in findings}, reverse=True)
    return {group: tuple(finding for finding in findings if finding.group == group) for group in groups}


def read_findings(folder: Path) -> tuple[AuditFinding, ...]:
    """Return the findings that `driftwise audit` wrote into a folder; `ValueError` if they are damaged."""
    path = folder / "audit.json"
    if not path.exists():
        return ()
    names = [field.name for field in dataclasses.fields(AuditFinding)]
    try:
        audits = json.loads(path.read_text(encoding="utf-8"))
        entries = [{name: entry[name] for name in names} for audit in audits for entry in audit["findings"]]
        for entry in entries:
            entry["worst_ratio"] = math.inf if entry["worst_ratio"] is None else entry["worst_ratio"]
        return tuple(AuditFinding(**entry) for entry in entries)
    except (OSError, ValueError, LookupError, TypeError):  # unreadable, no JSON, or another structure
        raise ValueError(f"{path} is damaged: it is not what 'driftwise audit' writes") from None


def beyond_chance(failing: int, runs: int, allowed: float) -> bool:
    """Return whether so many failing runs, each of probability `allowed`, are less probable than that."""
    return failing > 0 and bool(binom.sf(failing - 1, runs, allowed) <= allowed)


def worst_of(findings: Sequence[AuditFinding]) -> tuple[AuditFinding, ...]:
    """Return the finding of each statement that is closest to a violation, with the counts of all."""
    by_statement = defaultdict[str, list[AuditFinding]](list)
    for finding in findings:
        by_statement[finding.statement].append(finding)
    worst = []
    for same in by_statement.values():
        first = max(same, key=lambda finding: (finding.violated, finding.worst_ratio))
        counts = {name: sum(getattr(finding, name) for finding in same) for name in ("checked", "violations")}
        worst.append(dataclasses.replace(first, **counts))
    return tuple(worst)
