"""The statements, in the order of tables: each module registers its own when it is imported."""

from driftwise.analysis.audit.lemma import LEMMAS

from driftwise.analysis.audit.lemmas import updates_and_plans, inequalities, memories_of_mixtures, mathematics  # isort: skip

__all__ = ["LEMMAS", "inequalities", "mathematics", "memories_of_mixtures", "updates_and_plans"]
