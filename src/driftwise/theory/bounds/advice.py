"""Recommendations from the bounds, in sentences."""

import math
from typing import NamedTuple

from driftwise.base.validation import ArgumentError
from driftwise.theory.bandit_tuning import bandit_ridge
from driftwise.theory.bounds import BOUNDS
from driftwise.theory.bounds.bound import Bound, BoundValue, ProblemClass, Setting, first_useful_length
from driftwise.theory.tuning import Regime, drift_regime

STATIONARY: dict[ProblemClass, Bound] = {"linear MDP": BOUNDS["lsvi_ucb"], "linear bandit": BOUNDS["oful"]}


class Advice(NamedTuple):
    """The drift regime, the recommended bound, and two to four sentences of advice."""

    regime: Regime
    recommended: BoundValue
    sentences: tuple[str, ...]


def advise(setting: Setting, problem: ProblemClass) -> Advice:
    """Recommend the tuning with the smallest bound without further assumptions, or the stationary one."""
    require_possible_variation("variation", setting, problem)
    if problem == "linear MDP" and setting.ridge is not None:
        raise ArgumentError("ridge", "be None for a linear MDP, whose tunings have their own", setting.ridge)
    evaluations = [
        bound.evaluate(setting)
        for bound in BOUNDS.values()
        if bound.problem == problem and bound.is_unconditional and not bound.rate_only
    ]
    smallest = min(evaluations, key=lambda value: (value.total, value.bound.status != "proven"))
    regime = drift_regime(memory=smallest.memory, dim=setting.dim, num_episodes=setting.num_episodes)
    recommended = STATIONARY[problem].evaluate(setting) if regime == "still" else smallest
    sentences = _choice(regime, recommended)
    if regime != "too fast":
        scale = "radius_scale" if problem == "linear bandit" else "beta_scale"
        memories = ", and memories around this one," if recommended.parameters else ""
        practice = f"Radii from theory usually explore far too long: try a smaller {scale}{memories}"
        sentences = *sentences, _guarantee(recommended), f"{practice} on your own problem."
    return Advice(regime, recommended, sentences)


def require_possible_variation(name: str, setting: Setting, problem: ProblemClass) -> None:
    r"""Reject more than $2S(K-1)$ in a bandit, and $2(\sqrt d + C_\mu)H(K-1)$ in an MDP."""
    in_mdps, num = 2 * (math.sqrt(setting.dim) + setting.measures) * setting.horizon, setting.num_episodes
    most = (2 * setting.norm_bound if problem == "linear bandit" else in_mdps) * (num - 1)
    if setting.variation > most:
        possible = f"be a number in [0, {most:g}], the most that is possible in {num} episodes"
        raise ArgumentError(name, possible if num > 1 else "be 0 in a single episode", setting.variation)


def describe_forgetting(evaluation: BoundValue) -> str:
    """Return the forgetting of the tuned recipe as text, for example `η = 0.995` or `W = 200`."""
    symbols = {"rate": "η", "length": "W", "period": "E"}
    listed = (f"{symbols[name]} = {value:.6g}" for name, value in evaluation.parameters.items())
    return next(listed, "no forgetting")


def _choice(regime: Regime, chosen: BoundValue) -> tuple[str, ...]:
    setting, algorithm = chosen.setting, chosen.bound.algorithm
    stationary = f"use {algorithm} (λ = {setting.ridge:g}), which never forgets."
    if setting.variation == 0:
        return (f"Nothing varies: {stationary}",)
    drift = f"A variation of {setting.variation:g} in {setting.num_episodes:,} episodes is so"
    if regime == "still":
        return (f"{drift} small that nothing needs to be forgotten before the end: {stationary}",)
    if regime == "too fast":
        return (
            f"{drift} large that only about {chosen.remembered:.2g} of them can be used, no more than a step "
            f"has parameters ({setting.dim}): no forgetting can follow it.",
            "Look for features that explain the drift, or for the times of its changes.",
        )
    default = bandit_ridge(dim=setting.dim, ridge=chosen.bound.ridge)
    ridge = {"ridge": setting.ridge} if setting.ridge not in (None, default) else {}
    options = "".join(f", {name}={value!r}" for name, value in {**chosen.bound.options, **ridge}.items())
    return (
        f"Remember about {chosen.remembered:,.0f} episodes, with λ = {setting.ridge:g}: of the tunings that "
        f"need no further assumption, this one has the smallest bound ({describe_forgetting(chosen)} in "
        f"{algorithm}.tuned(...{options}); bounds compare tunings, not algorithms).",
    )


def _guarantee(chosen: BoundValue) -> str:
    setting, most = chosen.setting, chosen.trivial
    share, bandit = chosen.total / most, chosen.bound.problem == "linear bandit"
    constant = "" if bandit else f" (with c = {setting.constant:g} in the radius, which theory leaves open)"
    if chosen.is_informative:
        return (
            f"With probability {1 - setting.delta:g}{constant} its regret is at most {chosen.total:,.3g}, "
            f"{share:.0%} of the largest possible regret, {most:,.0f}."
        )
    first = first_useful_length(chosen.bound, setting)
    later = "for no number of episodes" if first is None else f"from about {first:.2g} episodes on"
    return (
        f"Its bound{constant} is {share:,.3g} times the largest possible regret, {most:,.0f}, so that "
        f"nothing is guaranteed; with the same variation it is informative {later}."
    )
