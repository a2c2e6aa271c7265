"""The audit: what an algorithm does and what is proven of it, checked on live runs with the true model."""

from __future__ import annotations

from driftwise.base.extras import needed_by

with needed_by("audit", "cli"):
    from driftwise.analysis.audit.auditing import (
        Audit,
        Skipped,
        audit_agent,
        audit_by_hand,
        audit_study,
        builtin_experiments,
    )
    from driftwise.analysis.audit.findings import Finding, findings_table, grouped, worst_of
    from driftwise.analysis.audit.lemmas import LEMMAS, Lemma

__all__ = [
    "LEMMAS",
    "Audit",
    "Finding",
    "Lemma",
    "Skipped",
    "audit_agent",
    "audit_by_hand",
    "audit_study",
    "builtin_experiments",
    "findings_table",
    "grouped",
    "worst_of",
]
