"""Drift: curves `c(t)` on the simplex of anchor models that share their features; episodes count from 0."""

from driftwise.environments.drift.composite import Product, Recorded, Repeat, Sum, Then
from driftwise.environments.drift.curves import Abrupt, Constant, Drift, Gradual, Periodic, RandomWalk
from driftwise.environments.drift.curves import require_drift as require_drift

__all__ = ["Abrupt", "Constant", "Drift", "Gradual", "Periodic", "Product", "RandomWalk", "Recorded"]
__all__ += ["Repeat", "Sum", "Then", "require_drift"]
