"""Bounds for linear MDPs, and for mixtures of known kernels."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

from driftwise.theory.bounds import terms
from driftwise.theory.bounds.bound import Bound, Setting, Term, Value, exponents, make_rate
from driftwise.theory.tuning import RateTuning, opt_wlsvi_rate, restart_period, restart_period_if_known

_PAPER = "Touati & Vincent 2020"
ZHOU = "Zhou, Chen, Varshney & Jagmohan 2020, Nonstationary RL with Linear Function Approximation"
VTR_PLUS = "Zhou, Gu & Szepesvári 2021"
WEI = "Wei & Luo 2021, Theorem 2; powers of d and H by our reading of its assumption"


def _run(setting: Setting) -> dict[str, Any]:
    names = ("dim", "horizon", "num_episodes", "variation")
    return {name: getattr(setting, name) for name in names}


_TIGHT = {"clip": "tight"}  # V ≥ 0, which the proofs need


def _tuned(tuning: RateTuning) -> dict[str, Any]:
    def memory(setting: Setting) -> float:
        return terms.memory_of(opt_wlsvi_rate(**_run(setting), tuning=tuning))

    return dict(memory=memory, options={"tuning": tuning, **_TIGHT})


def _explore(beta: Value, width: Value, formula: str) -> tuple[Term, Term]:
    def exploration(setting: Setting, memory: float) -> float:
        return 2 * beta(setting, memory) * setting.horizon * width(setting, memory)

    return (
        Term("exploration", rf"2\beta H{formula}", exploration),
        Term("martingale", r"4\sqrt{H^3K\log(4/\delta)}", terms.martingale),
    )


def _drift(drift: Value, formula: str) -> Term:
    return Term("drift", f"4H{formula}", lambda s, m: 4 * s.horizon * drift(s, m))


def _older(setting: Setting, memory: float) -> float:
    size = 16 * setting.horizon**2 * setting.num_episodes * setting.measures
    return size / terms.ridge_of(setting) * terms.weighted_tail(setting, memory)


_OLDER = Term("what is older", r"16H^2K\frac{\sqrt d}\lambda\frac{\eta^W}{1-\eta}", _older)
WEIGHTED = _explore(terms.opt_wlsvi_beta, terms.weighted_width, terms.WEIGHTED_WIDTH)
UNSPLIT = (*WEIGHTED, _drift(terms.unsplit_drift, terms.UNSPLIT_DRIFT))
WINDOWED = _explore(terms.lsvi_ucb_beta, terms.window_width, terms.WINDOW_WIDTH)
_KNOWN = Term("drift", r"2H^2dE\Delta\sqrt{2\log(1 + \frac E{d\lambda})}", terms.known_drift)

THEOREM_1 = Bound(
    name="theorem_1",
    algorithm="opt_wlsvi",
    problem="linear MDP",
    forgetting="exponential weights",
    terms=(*WEIGHTED, _drift(terms.weighted_drift, terms.WEIGHTED_DRIFT), _OLDER),
    radius=terms.opt_wlsvi_beta,
    exponents=exponents("5/4", "2", "1/4", "3/4"),
    source=f"{_PAPER}, Theorem 1, Equations (10) and (22) to (25); H² in the first term, log K in ι",
    status="corrected",
    **_tuned("paper"),
)
RESTART = Bound(
    name="lsvi_ucb_restart",
    algorithm="lsvi_ucb_restart",
    problem="linear MDP",
    forgetting="periodic restart",
    terms=(*WINDOWED, _drift(terms.window_drift, terms.WINDOW_DRIFT)),
    radius=terms.lsvi_ucb_beta,
    exponents=exponents("5/4", "2", "1/4", "3/4"),
    source=f"{ZHOU}, regret of LSVI-UCB-Restart, unknown local variation",
    status="proven",
    memory=lambda s: restart_period(**_run(s)),
    options={"local_variation": "unknown", **_TIGHT},
)
_rate = partial(make_rate, problem="linear MDP", status="proven")
_mixture_rate = partial(make_rate, problem="linear mixture MDP", status="proven")
MDP_BOUNDS: tuple[Bound, ...] = (
    THEOREM_1,
    replace(
        THEOREM_1,
        name="theorem_1_unsplit",
        terms=UNSPLIT,
        source=f"{_PAPER}, Theorem 1, with no split at W",
        status="ours",
    ),
    replace(
        THEOREM_1,
        name="theorem_1_horizon_aware",
        terms=UNSPLIT,
        exponents=exponents("5/4", "7/4", "1/4", "3/4"),
        source=f"{_PAPER}, Theorem 1, with a rate that depends on H and no split at W",
        status="ours",
        **_tuned("horizon_aware"),
    ),
    replace(
        THEOREM_1,
        name="theorem_1_ridge_dim",
        terms=UNSPLIT,
        exponents=exponents("9/8", "7/4", "1/4", "3/4"),
        source=f"{_PAPER}, Theorem 1, with λ = d, a rate that depends on H and no split at W",
        status="ours",
        ridge="dim",
        **_tuned("ridge_dim"),
    ),
    replace(
        THEOREM_1,
        name="theorem_1_orthogonal",
        terms=(*WEIGHTED, _drift(terms.fading_average_drift, terms.AVERAGE_DRIFT)),
        exponents=exponents("1", "5/3", "1/3", "2/3"),
        source=f"{_PAPER}, Theorem 1, where estimates are averages, with no split at W",
        status="ours",
        assumes="one-hot features",
        **_tuned("orthogonal"),
    ),
    RESTART,
    replace(
        RESTART,
        name="lsvi_ucb_restart_known",
        terms=(*WINDOWED, _KNOWN),
        exponents=exponents("4/3", "2", "1/3", "2/3"),
        source=f"{ZHOU}, regret of LSVI-UCB-Restart, known local variation",
        memory=lambda s: restart_period_if_known(**_run(s)),
        options={"local_variation": "known", **_TIGHT},
        assumes="the variation of every epoch is known",
    ),
    replace(
        RESTART,
        name="sw_lsvi_ucb",
        algorithm="sw_lsvi_ucb",
        forgetting="sliding window",
        source="LSVI-UCB on a window, as with restarts",
        status="ours",
        options=_TIGHT,
    ),
    replace(
        RESTART,
        name="lsvi_ucb",
        algorithm="lsvi_ucb",
        forgetting="none",
        exponents=exponents("3/2", "2", "0", "1/2"),
        source="Jin, Yang, Wang & Jordan 2020, Theorem 3.1; the term in Δ is ours",
        memory=lambda s: math.inf,
        options=_TIGHT,
    ),
    _rate(
        exponents("5/4", "2", "1/4", "3/4"),
        name="corollary_1",
        algorithm="opt_wlsvi",
        forgetting="exponential weights",
        source=f"{_PAPER}, Corollary 1",
        **_tuned("paper"),
    ),
    _rate(
        exponents("4/3", "2", "1/3", "2/3"),
        exponents("3/2", "2", "0", "1/2"),
        name="master_mdp",
        algorithm="master_lsvi_ucb",
        forgetting="change detection",
        source=WEI,
        caveat="by our reading",
        options=_TIGHT,
    ),
    _rate(
        exponents("2/3", "1", "1/3", "2/3"),
        name="lower_mdp",
        algorithm="any",
        forgetting="any",
        source=f"{ZHOU}, minimax lower bound d^(2/3) H^(1/3) Δ^(1/3) T^(2/3), T = HK",
        side="lower",
    ),
    _rate(
        exponents("1", "3/2", "0", "1/2"),
        exponents("7", "8", "0", "0"),
        name="lsvi_ucb_plus_plus",
        algorithm="lsvi_ucb_plus_plus",
        forgetting="none",
        source="He, Zhao, Zhou & Gu 2023, Theorem 5.1; K ≥ d^12 H^13 before the first term leads",
    ),
    _mixture_rate(
        exponents("1", "2", "0", "1/2"),
        name="ucrl_vtr",
        algorithm="ucrl_vtr",
        forgetting="none",
        source="Ayoub, Jia, Szepesvári, Wang & Yang 2020, Theorem 13 of the supplement, one mixture for all "
        f"steps; {VTR_PLUS}, Remark 7, a mixture for each",
        caveat="d known kernels",
    ),
    _mixture_rate(
        exponents("1", "3/2", "0", "1/2"),
        exponents("1/2", "2", "0", "1/2"),
        exponents("2", "3", "0", "0"),
        exponents("3", "2", "0", "0"),
        name="ucrl_vtr_plus",
        algorithm="ucrl_vtr_plus",
        forgetting="none",
        source=f"{VTR_PLUS}, Theorem 6; d ≥ H and HK ≥ d^4 H^2 + d^3 H^3 before the first term leads",
        caveat="d known kernels",
    ),
    _mixture_rate(
        exponents("1", "3/2", "0", "1/2"),
        name="lower_mixture",
        algorithm="any",
        forgetting="any",
        source=f"{VTR_PLUS}, Theorem 8, for d ≥ 4, H ≥ 3 and K ≥ (d-1)^2 H/2",
        side="lower",
    ),
)
