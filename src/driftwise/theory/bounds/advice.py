"""Recommendations from the bounds, in words."""

from __future__ import annotations

import math
from typing import NamedTuple

from driftwise.base.validation import ArgumentError
from driftwise.theory.bandit_tuning import bandit_ridge
from driftwise.theory.bounds.bound import Bound, Evaluation, Problem, Setting, first_useful
from driftwise.theory.bounds.catalogue import BOUNDS
from driftwise.theory.tuning import Regime, drift_regime

STATIONARY: dict[Problem, Bound] = {"linear MDP": BOUNDS["lsvi_ucb"], "linear bandit": BOUNDS["oful"]}


class Advice(NamedTuple):
    """The kind of drift, the bound to go by, and two to four sentences on what to do."""

    regime: Regime
    recommended: Evaluation
    sentences: tuple[str, ...]


def advise(setting: Setting, problem: Problem) -> Advice:
    """Recommend the tuning with the smallest bound that needs no further assumption.

    Where that bound would forget nothing before the run ends, the stationary algorithm is recommended.
    """
    require_possible_variation("variation", setting, problem)
    if problem == "linear MDP" and setting.ridge is not None:
        raise ArgumentError("ridge", "be None for a linear MDP, whose tunings have their own", setting.ridge)
    evaluations = [bound.evaluate(setting) for bound in BOUNDS.values() if _holds(bound, problem)]
    smallest = min(evaluations, key=lambda each: (each.total, each.bound.status != "proven"))
    regime = drift_regime(memory=smallest.memory, dim=setting.dim, num_episodes=setting.num_episodes)
    recommended = STATIONARY[problem].evaluate(setting) if regime == "still" else smallest
    rest = () if regime == "too fast" else (_guarantee(recommended), _practice(recommended))
    return Advice(regime, recommended, (*_choice(regime, recommended), *rest))


def require_possible_variation(name: str, setting: Setting, problem: Problem) -> None:
    """Refuse more variation than the run has room for."""
    most, num = largest_variation(setting, problem), setting.num_episodes
    if setting.variation > most:
        possible = f"a number in [0, {most:g}], the most that is possible in {num} episodes"
        expected = possible if num > 1 else "0 in a single episode"
        raise ArgumentError(name, f"be {expected}", setting.variation)


def largest_variation(setting: Setting, problem: Problem) -> float:
    r"""$2S(K-1)$ in a bandit; $2(\sqrt d + C_\mu)H(K-1)$ in an MDP, by $\theta$ and by $\mu$."""
    in_mdps = 2 * (math.sqrt(setting.dim) + setting.measures) * setting.horizon
    a_move = 2 * setting.norm_bound if problem == "linear bandit" else in_mdps
    return a_move * (setting.num_episodes - 1)


def described(evaluation: Evaluation) -> str:
    """Forgetting of the tuned recipe: `η = 0.995`, `W = 200`, `E = 200`, or not at all."""
    symbols = {"rate": "η", "length": "W", "period": "E"}
    listed = [f"{symbols[name]} = {value:.6g}" for name, value in evaluation.parameters.items()]
    return listed[0] if listed else "no forgetting"


def _holds(bound: Bound, problem: Problem) -> bool:
    general = bound.side == "upper" and not bound.assumes and bound.status != "withdrawn"
    return general and not bound.rate_only and bound.problem == problem


def _choice(regime: Regime, chosen: Evaluation) -> tuple[str, ...]:
    setting, algorithm = chosen.setting, chosen.bound.algorithm
    stationary = f"use {algorithm} (λ = {setting.ridge:g}), which never forgets."
    if setting.variation == 0:
        return (f"Nothing varies: {stationary}",)
    drift = f"A variation of {setting.variation:g} in {setting.num_episodes:,} episodes is so"
    if regime == "still":
        return (f"{drift} small that nothing should be forgotten before the end: {stationary}",)
    if regime == "too fast":
        return (
            f"{drift} large that only about {chosen.remembered:.2g} of them may be remembered, no more than "
            f"a step has unknowns ({setting.dim}): no forgetting can follow it.",
            "Look for features that explain the drift, or for its changes, so that restarts can be timed.",
        )
    options = "".join(f", {name}={value!r}" for name, value in _options(chosen).items())
    return (
        f"Remember about {chosen.remembered:,.0f} episodes, with λ = {setting.ridge:g}: of the tunings that "
        f"need no further assumption, that one has the smallest bound ({described(chosen)} in "
        f"{algorithm}.tuned(...{options}); bounds compare tunings, not algorithms).",
    )


def _options(chosen: Evaluation) -> dict[str, str | float]:
    """Keywords, besides the sizes, with which the tuned form is what was evaluated."""
    bound, setting = chosen.bound, chosen.setting
    own = bandit_ridge(dim=setting.dim, ridge=bound.ridge)
    another = {"ridge": setting.ridge} if setting.ridge not in (None, own) else {}
    return {**bound.options, **another}


def _guarantee(chosen: Evaluation) -> str:
    setting, most = chosen.setting, chosen.trivial
    share, bandit = chosen.total / most, chosen.bound.problem == "linear bandit"
    given = "" if bandit else f" (with c = {setting.constant:g} in the radius, which theory leaves open)"
    if chosen.says_something:
        return (
            f"With probability {1 - setting.delta:g}{given} it loses at most {chosen.total:,.3g}, "
            f"{share:.0%} of the {most:,.0f} that can be lost at all."
        )
    first = first_useful(chosen.bound, setting)
    later = "at no length of run" if first is None else f"first at about {first:.2g} episodes"
    return (
        f"Its bound{given} is {share:,.3g} times the {most:,.0f} that can be lost at all, so "
        f"nothing is guaranteed; with the same variation it says something {later}."
    )


def _practice(chosen: Evaluation) -> str:
    scale = "radius_scale" if chosen.bound.problem == "linear bandit" else "beta_scale"
    memories = ", and memories around this one," if chosen.parameters else ""
    return (
        f"Radii of the theory explore far longer than is usually needed: try a smaller {scale}{memories} "
        "on your own problem."
    )
