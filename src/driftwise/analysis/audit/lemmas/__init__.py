"""The statements: importing a module enters those in it, and this is their order in tables."""
# ruff: isort: skip_file

from __future__ import annotations

from driftwise.analysis.audit.lemmas import regression, bias, confidence, regret  # noqa: F401
from driftwise.analysis.audit.lemma import LEMMAS, Lemma

__all__ = ["LEMMAS", "Lemma"]
