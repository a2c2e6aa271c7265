"""Tunings that recipes for bandits share."""

from __future__ import annotations

from typing import Any, Unpack

from driftwise.base.keywords import with_defaults
from driftwise.base.types import Spec
from driftwise.base.validation import require_choice
from driftwise.theory.bandit_tuning import (
    TUNINGS,
    BanditRun,
    RidgeRule,
    Tuning,
    bandit_rate,
    bandit_ridge,
    bandit_window,
)


def stationary(
    spec: Spec, *, tuning: Tuning = "corrected", ridge: RidgeRule | float = "one"
) -> dict[str, Any]:
    """`λ = 1` or `λ = d`. Nothing is forgotten: no use is made of the run and its `tuning`."""
    require_choice("tuning", tuning, TUNINGS)
    return dict(ridge=bandit_ridge(dim=spec.dim, ridge=ridge))


def weighted(spec: Spec, **run: Unpack[BanditRun]) -> dict[str, Any]:
    """The rate of a `tuning`, and `λ = 1` or `λ = d`."""
    ridge = with_defaults(BanditRun, run)["ridge"]
    return dict(rate=bandit_rate(dim=spec.dim, **run), ridge=bandit_ridge(dim=spec.dim, ridge=ridge))


def windowed(spec: Spec, **run: Unpack[BanditRun]) -> tuple[int, dict[str, Any]]:
    """The window or the period of a `tuning`; and λ and the confidence that go with it."""
    ridge = with_defaults(BanditRun, run)["ridge"]
    numbers = dict(ridge=bandit_ridge(dim=spec.dim, ridge=ridge), **confidence(**run))
    return bandit_window(dim=spec.dim, **run), numbers


def confidence(**run: Unpack[BanditRun]) -> dict[str, Any]:
    """A radius for all rounds of the run; a published tuning comes with the published radius."""
    published = run.get("tuning") == "published"
    return dict(num_episodes=run["num_episodes"], confidence="published" if published else "uniform")
