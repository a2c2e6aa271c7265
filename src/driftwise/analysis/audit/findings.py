"""Findings of an audit: how often each statement was checked, how tight it is, and whether it holds."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from driftwise.analysis.audit.lemma import Lemma
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
    group: str  # what a violation puts in doubt: this agent, or mathematics
    checked: int  # inequalities, over all runs
    worst_ratio: float  # left over right side; infinite where the right one is 0 and the left is not
    median_ratio: float
    median_margin: float  # right less left side
    violations: int  # inequalities that do not hold
    runs: int
    failing_runs: int  # with a violation
    allowed: float  # probability that a run may fail with
    silent: int  # inequalities whose right side is no less than what holds without any proof
    radius_share: float | None  # of theory's radius, at the least, where the statement rests on it
    verdict: str  # holds, loose by 10^x, vacuous, says nothing here, not promised, violated, …

    @property
    def violated(self) -> bool:
        """Whether it fails more often than chance allows."""
        return self.verdict == "violated"

    @property
    def reading(self) -> str:
        """The verdict, and the share of theory's radius where that is not one."""
        if self.radius_share is None or self.radius_share == 1:
            return self.verdict
        return f"{self.verdict}: radius is {rounded(self.radius_share, 2)} × theory's"


class Evidence:
    """Both sides of one statement at every check, gathered run by run."""

    def __init__(self, lemma: Lemma, num_runs: int) -> None:
        self.lemma = lemma
        self._sides: list[list[Arrays]] = [[] for _ in range(num_runs)]
        self._silent = 0

    def look(self, run: int, view: Any) -> None:
        """Check the statement on a `Snapshot` or a `Trace`; of an identity, keep residual and tolerance."""
        left, right = np.broadcast_arrays(*self.lemma.check(view))
        if self.lemma.trivial is not None:
            self._silent += int(np.sum(right >= np.broadcast_to(self.lemma.trivial(view), right.shape)))
        if self.lemma.kind == "identity":
            left, right = np.abs(left - right), TOLERANCE * np.maximum(1.0, np.abs(right).max(initial=0.0))
        self._sides[run].append((np.ravel(left), np.ravel(np.broadcast_to(right, left.shape))))

    def finding(self, environment: str, agent: str, delta: float, radius_share: float | None) -> Finding:
        """Counts, ratios and the verdict over all checks.

        `radius_share` is the least share of theory's radius that the agent had.
        """
        broken = [_broken(*_joined(sides)) for sides in self._sides]
        likely, exact = self.lemma.kind in ("probable", "promised"), self.lemma.kind == "identity"
        failing, allowed = sum(map(bool, broken)), delta if likely else 0.0
        share = radius_share if self.lemma.kind == "promised" else None
        ratios = self._ratios
        if beyond_chance(failing, len(broken), allowed):
            verdict = "violated" if share is None or share >= 1 else "not promised"
        elif self._silent == ratios.size:
            verdict = "says nothing here"
        else:
            verdict = "holds" if exact else _tightness(float(ratios.max()))
        return self._finding(
            environment,
            agent,
            self.lemma.group,
            violations=sum(broken),
            failing_runs=failing,
            allowed=allowed,
            radius_share=share,
            verdict=verdict,
        )

    def finding_by_hand(self, environment: str, agent: str, share: float) -> Finding:
        """Whether the largest ratio of left to right side is exactly the given one.

        A bound is attained where half of it would be too small.
        """
        missed = int(abs(float(self._ratios.max()) - share) > TOLERANCE)
        verdict = "violated" if missed else "attained" if share > 1 / 2 else "as computed"
        counts = dict(violations=missed, failing_runs=missed, allowed=0.0, radius_share=None)
        return self._finding(environment, agent, "mathematics", **counts, verdict=verdict)

    @property
    def _ratios(self) -> np.ndarray:
        left, right = self._together
        with np.errstate(divide="ignore", invalid="ignore"):  # a left side that is 0 but for rounding is 0
            return np.where(left > TOLERANCE, left / np.maximum(right, 0.0), 0.0)

    @property
    def _together(self) -> Arrays:
        return _joined([_joined(sides) for sides in self._sides])

    def _finding(self, environment: str, agent: str, group: str, **counted: Any) -> Finding:
        ratios, (left, right) = self._ratios, self._together
        return Finding(
            environment=environment,
            agent=agent,
            statement=self.lemma.name,
            where=self.lemma.where,
            formula=self.lemma.formula,
            kind=self.lemma.kind,
            group=group,
            checked=left.size,
            worst_ratio=float(ratios.max()),
            median_ratio=float(np.median(ratios)),
            median_margin=float(np.round(np.median(right - left), ROUNDED) + 0.0),  # no −0
            runs=len(self._sides),
            silent=self._silent,
            **counted,
        )


def findings_table(findings: Sequence[Finding], name: str) -> Table:
    """A row for each finding: how often it was checked, how tight it is, and its verdict."""
    columns = words("statement", "about", "in the paper", "verdict")
    columns += numbers("checked", "violations", "worst ratio", "median ratio", "median margin")
    columns += words("worst for")
    return Table.of(name, columns, map(_row, findings))


def _row(finding: Finding) -> tuple[Cell | str, ...]:
    exact = finding.kind == "identity"
    sizes = finding.worst_ratio, finding.median_ratio, finding.median_margin
    return (
        finding.statement,
        finding.group,
        finding.where,
        finding.reading,
        *(Cell.of("{:,}".format, count) for count in (finding.checked, finding.violations)),
        *(Cell("–", (0.0,)) if exact else Cell(rounded(size, 2), (size,)) for size in sizes),
        f"{finding.agent}, {finding.environment}",
    )


def grouped(findings: Sequence[Finding]) -> dict[str, tuple[Finding, ...]]:
    """Findings by what a violation puts in doubt, this agent first."""
    groups = sorted({each.group for each in findings}, reverse=True)
    return {group: tuple(each for each in findings if each.group == group) for group in groups}


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


def _tightness(worst: float) -> str:
    if worst >= TIGHT:
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
