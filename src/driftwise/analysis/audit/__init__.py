"""The audit: statements about an algorithm and its theory, checked on recorded runs with the true model."""

from driftwise.base.extras import require_extra

with require_extra("audit", "cli"):
    from driftwise.analysis.audit.auditing import (
        Audit,
        Skipped,
        audit_agent,
        audit_study,
        builtin_experiments,
    )
    from driftwise.analysis.audit.by_hand import audit_by_hand
    from driftwise.analysis.audit.findings import AuditFinding, findings_table, grouped, worst_of
    from driftwise.analysis.audit.lemmas import LEMMAS, Lemma

__all__ = ["LEMMAS", "Audit", "AuditFinding", "Lemma", "Skipped", "audit_agent", "audit_by_hand"]
__all__ += ["audit_study", "builtin_experiments", "findings_table", "grouped", "worst_of"]
