"""Bounds for linear bandits: as first published, as corrected, and with a longer ridge.

The rates of SW-UCB, D-LinUCB and RestartUCB as first published rest on a step that fails for general arms.
They are here as withdrawn, with the radii of their papers, and as proven for orthogonal arms.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from driftwise.theory.bandit_tuning import Tuning, bandit_memory, bandit_rate
from driftwise.theory.bounds import terms
from driftwise.theory.bounds.bound import Bound, Setting, Term, Value, derive, exponents, make_rate

_PAPER = "Touati & Vincent 2020"
_CHEUNG = "Cheung, Simchi-Levi & Zhu 2019"


def _tuned(tuning: Tuning, forgetting: str, ridge: str = "one") -> dict[str, Any]:
    """The forgetting of a tuning, its memory, and the keywords of the recipe that has it."""

    def memory(setting: Setting) -> float:
        run: Any = {name: getattr(setting, name) for name in ("dim", "num_episodes", "variation", "ridge")}
        if forgetting == "exponential weights":
            return terms.memory_of(bandit_rate(**run, tuning=tuning))
        return bandit_memory(**run, tuning=tuning)

    options = {"tuning": tuning, "ridge": ridge}
    return dict(forgetting=forgetting, memory=memory, ridge=ridge, options=options)


def _explore(width: Term, *counts: Value) -> Term:
    """The sum of bonuses, with the radius after some samples, and with δ spread over some shares."""
    return terms.explore(r"2\beta", terms.make_radius(*counts), width)


def _drift(drift: Term) -> Term:
    return drift.times("2", lambda setting: 2)


_older = terms.weighted_tail.times(
    r"4\frac S\lambda K", lambda s: 4 * s.norm_bound / terms.ridge_of(s) * s.num_episodes
)
SW_UCB = Bound(
    name="sw_lin_ucb",
    algorithm="sw_lin_ucb",
    problem="linear bandit",
    terms=(_explore(terms.window_width, terms.whole_episodes), _drift(terms.window_drift)),
    exponents=exponents("7/8 0 1/4 3/4"),
    source=f"{_PAPER}, Proposition 1 (for {_CHEUNG}, Theorem 3)",
    status="corrected",
    **_tuned("corrected", "sliding window"),
)
RESTART_UCB = derive(
    SW_UCB,
    "restart_lin_ucb",
    terms=(_explore(terms.window_width, terms.whole_episodes, terms.num_epochs), SW_UCB.terms[1]),
    source=f"{_PAPER}, Section 4, epoch by epoch (for Zhao, Zhang, Jiang & Zhou 2020)",
    **_tuned("corrected", "periodic restart"),
)
D_LIN_UCB = derive(
    SW_UCB,
    "d_lin_ucb",
    terms=(_explore(terms.weighted_width, terms.weighted_samples), _drift(terms.weighted_drift), _older),
    source=f"{_PAPER}, Propositions 2 and 3 (for Russac, Vernade & Cappé 2019, Theorem 2)",
    **_tuned("corrected", "exponential weights"),
)
_LONG_RIDGE, _PLAIN = exponents("3/4 0 1/4 3/4"), exponents("2/3 0 1/3 2/3")
_UNSPLIT = D_LIN_UCB.terms[0], _drift(terms.unsplit_drift)


def _variants(bound: Bound) -> Iterator[Bound]:
    """A corrected bound, with λ = d, and, with the drift not magnified, as withdrawn and as proven."""
    yield bound
    weighted = bound.forgetting == "exponential weights"
    ours = replace(bound, status="ours")
    if weighted:
        unsplit = dict(name=f"{bound.name}_unsplit", source=f"{bound.source}, with no split at W")
        ours = replace(ours, **unsplit, terms=_UNSPLIT)
        yield ours
    yield replace(
        ours,
        name=f"{bound.name}_ridge_dim",
        exponents=_LONG_RIDGE,
        source=f"{ours.source}, with λ = d",
        **_tuned("corrected", bound.forgetting, "dim"),
    )
    explore, _, *older = bound.terms
    window, samples, width = terms.whole_episodes, terms.whole_episodes, terms.window_width
    if weighted:
        window, samples, width = terms.analysis_window, terms.weighted_samples, terms.weighted_width
    # Estimates of orthogonal directions are averages, which stray no further than the truth.
    drift = Term("drift", r"W\Delta", lambda setting, memory: window(setting, memory) * setting.variation)
    averaged, plain = (_drift(drift), *older), replace(bound, exponents=_PLAIN)
    yield replace(
        plain,
        name=f"{bound.name}_published",
        terms=(_explore(width, samples, lambda setting, memory: 1), *averaged),
        source=f"as first published; its gap: {_PAPER}, Section 4 and Appendix A",
        status="withdrawn",
        **_tuned("published", bound.forgetting),
    )
    yield replace(
        plain,
        name=f"{bound.name}_orthogonal",
        terms=(explore, *averaged),
        source="as first published; the step holds for orthogonal arms",
        status="proven",
        assumes="orthogonal arms",
        **_tuned("orthogonal", bound.forgetting),
    )


_rate = partial(make_rate, problem="linear bandit", status="proven")
BANDIT_BOUNDS: tuple[Bound, ...] = (
    *(variant for bound in (SW_UCB, RESTART_UCB, D_LIN_UCB) for variant in _variants(bound)),
    derive(
        D_LIN_UCB,
        "weight_ucb",
        terms=_UNSPLIT,
        exponents=_LONG_RIDGE,
        source="Wang, Zhao & Zhou 2023, regret of WeightUCB for linear bandits, with λ = d and no split at W",
        status="proven",
        **_tuned("corrected", "exponential weights", "dim"),
    ),
    replace(
        RESTART_UCB,
        name="oful",
        algorithm="lin_ucb",
        forgetting="none",
        exponents=exponents("1 0 0 1/2"),
        source="Abbasi-Yadkori, Pál & Szepesvári 2011, Theorem 3; the term in Δ is ours",
        status="proven",
        memory=lambda s: math.inf,
        options={},
    ),
    _rate(
        "master_bandit",
        "1 0 1/3 2/3 + 1 0 0 1/2",
        algorithm="master_lin_ucb",
        forgetting="change detection",
        source="Wei & Luo 2021, Theorem 2; the power of d by our reading of its assumption",
        caveat="by our reading",
    ),
    _rate(
        "lower_bandit",
        "2/3 0 1/3 2/3",
        source=f"{_CHEUNG}, Theorem 1",
        side="lower",
    ),
)
