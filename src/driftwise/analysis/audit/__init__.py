"""The audit: each statement of the theory, checked on live runs with the true model at hand."""

from __future__ import annotations

from driftwise.analysis.audit.auditing import (
    Audit,
    Skipped,
    audit_agent,
    audit_study,
    builtin_experiments,
)
from driftwise.analysis.audit.findings import Finding, findings_table, worst_of
from driftwise.analysis.audit.lemmas import LEMMAS, Lemma

__all__ = [
    "LEMMAS",
    "Audit",
    "Finding",
    "Lemma",
    "Skipped",
    "audit_agent",
    "audit_study",
    "builtin_experiments",
    "findings_table",
    "worst_of",
]
