"""Bounds for linear MDPs, and for mixtures of known kernels."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from driftwise.theory.bounds import terms
from driftwise.theory.bounds.bound import Bound, Setting, Term, derive, exponents, make_rate
from driftwise.theory.tuning import opt_wlsvi_rate, restart_period, restart_period_if_known

_PAPER = "Touati & Vincent 2020"
ZHOU = "Zhou, Chen, Varshney & Jagmohan 2020, Nonstationary RL with Linear Function Approximation"
VTR_PLUS = "Zhou, Gu & Szepesvári 2021"
_TIGHT = {"clip": "tight"}  # V ≥ 0, which the proofs need


def _tuned(tune: Callable[..., float], **options: str) -> dict[str, Any]:
    """The memory of a tuning, and the keywords of the recipe that has it."""
    tuning = {"tuning": options["tuning"]} if "tuning" in options else {}

    def memory(setting: Setting) -> float:
        names = ("dim", "horizon", "num_episodes", "variation")
        return tune(**{name: getattr(setting, name) for name in names}, **tuning)

    return dict(memory=memory, options={**options, **_TIGHT})


def _rate_memory(**run: Any) -> float:
    return terms.memory_of(opt_wlsvi_rate(**run))


_explore = partial(terms.explore, r"2\beta H")


def _drift(drift: Term) -> Term:
    return drift.times("4H", lambda setting: 4 * setting.horizon)


_older = terms.weighted_tail.times(
    r"16H^2K\frac{\sqrt d}\lambda",
    lambda s: 16 * s.horizon**2 * s.num_episodes * s.measures / terms.ridge_of(s),
)
WEIGHTED = (_explore(terms.opt_wlsvi_beta, terms.weighted_width), terms.martingale)
UNSPLIT = (*WEIGHTED, _drift(terms.unsplit_drift))
WINDOWED = (_explore(terms.lsvi_ucb_beta, terms.window_width), terms.martingale)

THEOREM_1 = Bound(
    name="theorem_1",
    algorithm="opt_wlsvi",
    problem="linear MDP",
    forgetting="exponential weights",
    terms=(*WEIGHTED, _drift(terms.weighted_drift), _older),
    exponents=exponents("5/4 2 1/4 3/4"),
    source=f"{_PAPER}, Theorem 1, Equations (10) and (22) to (25); H² in the first term, log K in ι",
    status="corrected",
    **_tuned(_rate_memory, tuning="paper"),
)


def _ours(tuning: str, powers: str, source: str, **more: Any) -> Bound:
    """Return Theorem 1 with another tuning, with no split at W."""
    source = f"{_PAPER}, Theorem 1, {source} no split at W"
    named = dict(name=f"theorem_1_{tuning}", exponents=exponents(powers), source=source, status="ours")
    return replace(THEOREM_1, **{"terms": UNSPLIT, **named, **_tuned(_rate_memory, tuning=tuning), **more})


_AVERAGES = dict(terms=(*WEIGHTED, _drift(terms.fading_average_drift)), assumes="one-hot features")
RESTART = derive(
    THEOREM_1,
    "lsvi_ucb_restart",
    forgetting="periodic restart",
    terms=(*WINDOWED, _drift(terms.window_drift)),
    source=f"{ZHOU}, regret of LSVI-UCB-Restart, unknown local variation",
    status="proven",
    **_tuned(restart_period, local_variation="unknown"),
)
_rate = partial(make_rate, problem="linear MDP", status="proven")
_mixture_rate = partial(make_rate, problem="linear mixture MDP", status="proven", forgetting="none")
MDP_BOUNDS: tuple[Bound, ...] = (
    THEOREM_1,
    _ours("paper", "5/4 2 1/4 3/4", "with", name="theorem_1_unsplit"),
    _ours("horizon_aware", "5/4 7/4 1/4 3/4", "with a rate that depends on H and"),
    _ours("ridge_dim", "9/8 7/4 1/4 3/4", "with λ = d, a rate that depends on H and", ridge="dim"),
    _ours("orthogonal", "1 5/3 1/3 2/3", "where estimates are averages, with", **_AVERAGES),
    RESTART,
    replace(
        RESTART,
        name="lsvi_ucb_restart_known",
        terms=(*WINDOWED, terms.known_drift),
        exponents=exponents("4/3 2 1/3 2/3"),
        source=f"{ZHOU}, regret of LSVI-UCB-Restart, known local variation",
        assumes="the variation of every epoch is known",
        **_tuned(restart_period_if_known, local_variation="known"),
    ),
    derive(
        RESTART,
        "sw_lsvi_ucb",
        forgetting="sliding window",
        source="LSVI-UCB on a window, as with restarts",
        status="ours",
        options=_TIGHT,
    ),
    derive(
        RESTART,
        "lsvi_ucb",
        forgetting="none",
        exponents=exponents("3/2 2 0 1/2"),
        source="Jin, Yang, Wang & Jordan 2020, Theorem 3.1; the term in Δ is ours",
        memory=lambda s: math.inf,
        options=_TIGHT,
    ),
    _rate(
        "corollary_1",
        "5/4 2 1/4 3/4",
        algorithm="opt_wlsvi",
        forgetting="exponential weights",
        source=f"{_PAPER}, Corollary 1",
        **_tuned(_rate_memory, tuning="paper"),
    ),
    _rate(
        "master_mdp",
        "4/3 2 1/3 2/3 + 3/2 2 0 1/2",
        algorithm="master_lsvi_ucb",
        forgetting="change detection",
        source="Wei & Luo 2021, Theorem 2; powers of d and H by our reading of its assumption",
        caveat="by our reading",
        options=_TIGHT,
    ),
    _rate(
        "lower_mdp",
        "2/3 1 1/3 2/3",
        source=f"{ZHOU}, minimax lower bound d^(2/3) H^(1/3) Δ^(1/3) T^(2/3), T = HK",
        side="lower",
    ),
    _rate(
        "lsvi_ucb_plus_plus",
        "1 3/2 0 1/2 + 7 8 0 0",
        forgetting="none",
        source="He, Zhao, Zhou & Gu 2023, Theorem 5.1; K ≥ d^12 H^13 before the first term leads",
    ),
    _mixture_rate(
        "ucrl_vtr",
        "1 2 0 1/2",
        source="Ayoub, Jia, Szepesvári, Wang & Yang 2020, Theorem 13 of the supplement, one mixture for all "
        f"steps; {VTR_PLUS}, Remark 7, a mixture for each",
        caveat="d known kernels",
    ),
    _mixture_rate(
        "ucrl_vtr_plus",
        "1 3/2 0 1/2 + 1/2 2 0 1/2 + 2 3 0 0 + 3 2 0 0",
        source=f"{VTR_PLUS}, Theorem 6; d ≥ H and HK ≥ d^4 H^2 + d^3 H^3 before the first term leads",
        caveat="d known kernels",
    ),
    _mixture_rate(
        "lower_mixture",
        "1 3/2 0 1/2",
        source=f"{VTR_PLUS}, Theorem 8, for d ≥ 4, H ≥ 3 and K ≥ (d-1)^2 H/2",
        side="lower",
    ),
)
