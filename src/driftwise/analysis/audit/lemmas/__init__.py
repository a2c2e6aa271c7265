"""The statements, in the order of tables; the modules enter them as they are imported."""

from __future__ import annotations

from driftwise.analysis.audit.lemma import LEMMAS, Lemma

from driftwise.analysis.audit.lemmas import regression, planning, algebra, confidence, runs  # isort: skip
from driftwise.analysis.audit.lemmas import mixtures, mathematics  # isort: skip

__all__ = [
    "LEMMAS",
    "Lemma",
    "algebra",
    "confidence",
    "mathematics",
    "mixtures",
    "planning",
    "regression",
    "runs",
]
