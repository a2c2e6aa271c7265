"""Findings of an audit: how often each statement was checked, how tight it is, and whether it holds."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binom

from driftwise.analysis.audit.lemma import Lemma, Sides
from driftwise.analysis.statistics.wording import rounded
from driftwise.analysis.table import Cell, Table, numbers, words

Arrays = tuple[np.ndarray, np.ndarray]  # [checks] both sides
AUDIT = "audit.json"
TOLERANCE = 1e-8  # of rounding, relative to the larger side, absolute below one
ROUNDED = 12  # decimals of a margin
TIGHT = 0.1  # a worst ratio from which on a bound is not called loose


@dataclass(frozen=True)
class Finding:
    """One statement in all runs of an agent in an environment."""

    environment: str
    agent: str
    statement: str
    where: str
    formula: str
    kind: str
    checked: int  # inequalities, over all runs
    worst_ratio: float  # left over right side; infinite where the right one is 0 and the left is not
    median_ratio: float
    median_margin: float  # right less left side
    violations: int  # inequalities that do not hold
    runs: int
    failing_runs: int  # with a violation
    allowed: float  # probability that a run may fail with
    verdict: str  # holds, loose by 10^x, vacuous (no left side is above 0), or violated

    @property
    def violated(self) -> bool:
        """Whether it fails more often than chance allows."""
        return self.verdict == "violated"


class Evidence:
    """Both sides of one statement at every check, gathered run by run."""

    def __init__(self, lemma: Lemma, num_runs: int) -> None:
        self.lemma = lemma
        self._sides: list[list[Arrays]] = [[] for _ in range(num_runs)]

    def add(self, run: int, sides: Sides) -> None:
        """Keep both sides; of an identity, its residual and the tolerance."""
        left, right = np.broadcast_arrays(*sides)
        if self.lemma.kind == "identity":
            left, right = np.abs(left - right), TOLERANCE * np.maximum(1.0, np.abs(right).max(initial=0.0))
        self._sides[run].append((np.ravel(left), np.ravel(np.broadcast_to(right, left.shape))))

    def finding(self, environment: str, agent: str, delta: float) -> Finding:
        """Counts, ratios and the verdict over all checks."""
        together = [_joined(sides) for sides in self._sides]
        broken = [_broken(*sides) for sides in together]
        left, right = _joined(together)
        failing, allowed = sum(map(bool, broken)), delta if self.lemma.kind == "probable" else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):  # a left side that is 0 but for rounding is 0
            ratios = np.where(left > TOLERANCE, left / np.maximum(right, 0.0), 0.0)
        worst = float(ratios.max())
        return Finding(
            environment=environment,
            agent=agent,
            statement=self.lemma.name,
            where=self.lemma.where,
            formula=self.lemma.formula,
            kind=self.lemma.kind,
            checked=left.size,
            worst_ratio=worst,
            median_ratio=float(np.median(ratios)),
            median_margin=float(np.round(np.median(right - left), ROUNDED) + 0.0),  # no −0
            violations=sum(broken),
            runs=len(together),
            failing_runs=failing,
            allowed=allowed,
            verdict=_verdict(self.lemma.kind, worst, failing, len(together), allowed),
        )


def findings_table(findings: Sequence[Finding], name: str) -> Table:
    """A row for each finding: how often it was checked, how tight it is, and its verdict."""
    columns = words("statement", "in the paper")
    columns += numbers("checked", "violations", "worst ratio", "median ratio", "median margin")
    columns += words("worst for", "verdict")
    return Table.of(name, columns, map(_row, findings))


def _row(finding: Finding) -> tuple[Cell | str, ...]:
    exact = finding.kind == "identity"
    sizes = finding.worst_ratio, finding.median_ratio, finding.median_margin
    return (
        finding.statement,
        finding.where,
        *(Cell.of("{:,}".format, count) for count in (finding.checked, finding.violations)),
        *(Cell("–", (0.0,)) if exact else Cell(rounded(size, 2), (size,)) for size in sizes),
        f"{finding.agent}, {finding.environment}",
        finding.verdict,
    )


def read_findings(folder: Path) -> tuple[Finding, ...]:
    """The findings that `driftwise audit` wrote into a folder, if any; `ValueError` if they are damaged."""
    path = folder / AUDIT
    if not path.exists():
        return ()
    names = [field.name for field in dataclasses.fields(Finding)]
    try:
        audits = json.loads(path.read_text(encoding="utf-8"))
        found = [each for audit in audits for each in audit["findings"]]
        for each in found:
            each["worst_ratio"] = math.inf if each["worst_ratio"] is None else each["worst_ratio"]
        return tuple(Finding(**{name: each[name] for name in names}) for each in found)
    except (OSError, ValueError, LookupError, TypeError):  # no file to read, no JSON, or other things in it
        raise ValueError(f"{path} is damaged: it is not what 'driftwise audit' writes") from None


def beyond_chance(failing: int, runs: int, allowed: float) -> bool:
    """Whether so many failing runs or more have at most the chance `allowed`, if each fails with that chance.

    Of a single run one failure is enough; of 10 at 5 % it takes three.
    """
    return failing > 0 and bool(binom.sf(failing - 1, runs, allowed) <= allowed)


def _verdict(kind: str, worst: float, failing: int, runs: int, allowed: float) -> str:
    if beyond_chance(failing, runs, allowed):
        return "violated"
    if kind == "identity" or worst >= TIGHT:
        return "holds"
    return f"loose by 10^{math.floor(-math.log10(worst))}" if worst > 0 else "vacuous"


def _joined(sides: Sequence[Arrays]) -> Arrays:
    left, right = zip(*sides, strict=True)
    return np.concatenate(left), np.concatenate(right)


def _broken(left: np.ndarray, right: np.ndarray) -> int:
    """Number of inequalities that do not hold; NaN does not."""
    scale = np.maximum(1.0, np.maximum(np.abs(left), np.abs(right)))
    return int(np.sum(~(left <= right + TOLERANCE * scale)))


def worst_of(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The finding of each statement that comes closest to a violation, with the counts of all."""
    by_statement: dict[str, list[Finding]] = {}
    for finding in findings:
        by_statement.setdefault(finding.statement, []).append(finding)
    return tuple(
        dataclasses.replace(
            max(alike, key=lambda each: (each.violated, each.worst_ratio)),
            checked=sum(each.checked for each in alike),
            violations=sum(each.violations for each in alike),
        )
        for alike in by_statement.values()
    )
