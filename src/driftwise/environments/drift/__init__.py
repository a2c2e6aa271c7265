"""Drift: curves `c(t)` on the simplex of anchor models.

If anchors share their features, every convex mixture of them is a valid linear MDP again, so a
drifting environment is a handful of anchors and one of these curves. Episodes count from 0.
"""

from __future__ import annotations

from driftwise.environments.drift.composite import Product, Repeat, Sum, Then
from driftwise.environments.drift.curves import (
    Abrupt,
    Constant,
    Drift,
    Gradual,
    Periodic,
    RandomWalk,
    require_anchor_numbers,
    require_drift,
)
from driftwise.environments.drift.recorded import Recorded

__all__ = [
    "Abrupt",
    "Constant",
    "Drift",
    "Gradual",
    "Periodic",
    "Product",
    "RandomWalk",
    "Recorded",
    "Repeat",
    "Sum",
    "Then",
    "require_anchor_numbers",
    "require_drift",
]
