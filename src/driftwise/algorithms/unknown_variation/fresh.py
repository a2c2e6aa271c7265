"""What is kept of an episode's features so that an agent can begin anew when its reward comes."""

from __future__ import annotations

from driftwise.base.arrays import namespace
from driftwise.base.types import FeatureTable


def shown_to_init(features: FeatureTable) -> FeatureTable:
    """What agents look at before they have seen anything: sizes and types, measures, positions.

    A plan that waits for its reward holds this instead of a whole state.
    """
    nothing = namespace(features.values).zeros_like(features.values)
    return FeatureTable(nothing, measures=features.measures, positions=features.positions)
