"""How recipes that come with every forgetting let their users choose one."""

from __future__ import annotations

from typing import Any, Literal

from driftwise.base.types import Forgetting, Numeric, Spec
from driftwise.base.validation import require_choice
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.theory import tabular_tuning
from driftwise.theory.tuning import opt_wlsvi_rate, rate_of, restart_period

ForgettingKind = Literal["none", "exponential", "window", "restart"]


def forgetting_of(
    *, rate: Numeric | None = None, length: Numeric | None = None, period: Numeric | None = None
) -> Forgetting:
    """Exponential weights, a sliding window or periodic restarts, whichever is asked for; else none."""
    makers = {"rate": ExponentialWeights, "length": SlidingWindow, "period": PeriodicRestart}
    given = {"rate": rate, "length": length, "period": period}
    given = {name: value for name, value in given.items() if value is not None}
    if len(given) > 1:
        listed = " and ".join(f"{name} = {value!r}" for name, value in given.items())
        raise ValueError(f"only one of rate, length and period may be given, got {listed}")
    for name, value in given.items():
        return makers[name](value)
    return NoForgetting()


def tuned_forgetting(
    spec: Spec, forgetting: ForgettingKind, *, num_episodes: int, variation: float
) -> dict[str, Any]:
    """What `forgetting_of` takes for a kind: OPT-WLSVI's rate, or LSVI-UCB-Restart's period as a length."""
    run: dict[str, Any] = dict(
        dim=spec.dim, horizon=spec.horizon, num_episodes=num_episodes, variation=variation
    )
    return asked_for(forgetting, rate=opt_wlsvi_rate(**run), period=restart_period(**run))


def asked_for(forgetting: ForgettingKind, *, rate: float, period: int) -> dict[str, Any]:
    """What `forgetting_of` takes for a kind, of a rate and a period that remember as long."""
    kinds = {
        "none": {},
        "exponential": {"rate": rate},
        "window": {"length": period},
        "restart": {"period": period},
    }
    return kinds[require_choice("forgetting", forgetting, list(kinds))]


def tuned_tabular_forgetting(
    spec: Spec, forgetting: ForgettingKind, *, num_episodes: int, variation: float, power: float
) -> dict[str, Any]:
    """What `forgetting_of` takes for a kind: a window, an epoch or weights that remember as long."""
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation, power=power)
    return asked_for(
        forgetting,
        rate=rate_of(1 / tabular_tuning.memory(spec, **run)),
        period=tabular_tuning.restart_period(spec, **run),
    )
