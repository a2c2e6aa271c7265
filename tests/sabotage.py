"""Mistakes made on purpose, each in one place, and the statement of the audit that finds it.

Agents are broken, or told something wrong, or the audit's own formulas are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftwise.algorithms import ALGORITHMS, adaptive, build
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.analysis.audit import AuditFinding, audit_agent, audit_by_hand, subject
from driftwise.analysis.audit.lemmas import inequalities, memories_of_mixtures
from driftwise.base import Agent, Wrapper
from driftwise.environments import planning
from driftwise.parts import (
    ConfidenceRadius,
    EpsilonGreedy,
    ExponentialWeights,
    FixedShare,
    LearntNoise,
    LeastSquares,
    LocalVariationRadius,
    NoForgetting,
    RandomisedUcb,
    SlidingWindow,
    TruncatedThompson,
    Ucb,
    exploration,
    least_squares,
    radii,
)
from driftwise.parts.policies import greedy_policy, uniform_policy
from driftwise.theory import tuning
from tests import breaking
from tests.breaking import (
    Break,
    around,
    given,
    instead,
    learnt,
    mixed,
    planned,
    result,
    scaled,
    seen,
    weighed,
)
from tests.examples import BANDIT, SPEC, STATIONARY, agent, make, make_bandit

NUM_EPISODES, STRIDE = 14, 5


@dataclass(frozen=True)
class Sabotage:
    """A mistake, and the statement whose row says so."""

    name: str
    statement: str
    agent: str | Callable[[], Agent]  # of the examples, or made here; "" for cases done by hand
    by: Break
    says: str = "violated"

    def built(self) -> Agent:
        return agent(self.agent) if isinstance(self.agent, str) else self.agent()

    def findings(self) -> tuple[AuditFinding, ...]:
        """The findings about the agent, or about the cases done by hand."""
        if self.agent == "":
            return audit_by_hand().findings
        chosen = self.built()
        bandit = chosen.spec.horizon == 1
        environment = make_bandit(STATIONARY, noise_scale=0.3) if bandit else make(drift=STATIONARY)
        found, _ = audit_agent(chosen, environment, num_episodes=NUM_EPISODES, stride=STRIDE)
        return found


def bandit(**options: Any) -> Callable[[], Agent]:
    return lambda: build(BANDIT, "d_lin_ucb", rate=0.9, noise_scale=0.3, **options)


def bold() -> Agent:
    """Values are at the top."""
    return build(SPEC, "opt_wlsvi", rate=0.9, radius=10.0)


def informed() -> Agent:
    """The drift of every epoch is told."""
    radius = LocalVariationRadius(0.4, SPEC.horizon, (0.1, 0.2, 0.4), (0.0, 0.1, 0.3))
    return build(SPEC, "lsvi_ucb_restart", period=6, radius=radius)


def wary() -> Agent:
    """Two memories, of which one is far from sure of what it has seen."""
    return adaptive(LeastSquares(BANDIT, NoForgetting(), Ucb(1.0), (0.1, 1e-6), clip="none"))


def by_theory() -> Agent:
    """The radius is theory's."""
    return ALGORITHMS["opt_wlsvi"].tuned(SPEC, num_episodes=NUM_EPISODES, variation=1.0)


def boundless() -> Agent:
    """Only the clip keeps values in their range."""
    return build(SPEC, "opt_wlsvi", rate=0.9, radius=1e5)


MDP, EPSILON, DRAWN = "opt_wlsvi", "epsilon_greedy_lsvi", "d_lin_ts"
MIXED, MIXED_MDP = "adaptive_lin_ucb", "adaptive_opt_wlsvi"
NOT_CUT = instead(LeastSquares, "clip_values", lambda self, values, top: values)
HALF_CUT = given(LeastSquares, "clip_values", lambda self, values, top: (self, values, top / 2))
ALL_DELTA = given(radii, "log_failure", lambda delta, shares, *args: (delta, 1.0, *args))
TWICE_EPSILON = given(EpsilonGreedy, "policy", lambda self, q: (EpsilonGreedy(2 * self.epsilon), q))
SIGNED = given(RandomisedUcb, "perturb", lambda self, *args: (replace(self, sign="signed"), *args))
OTHER_PRIOR = given(FixedShare, "prior", lambda self, like: (replace(self, favour=0.0), like))
LIGHTEST = given(MixtureOfMemories, "choose_memory", lambda self, weights, key: (self, -weights, key))
CROSS_STAYS = breaking.decay(lambda before, after, rate: dict(cross=after.cross + (1 - rate) * before.cross))
ONE_MORE = breaking.forgetting(SlidingWindow, lambda own: SlidingWindow(own.length + 1))
ONE_LESS = breaking.forgetting(SlidingWindow, lambda own: SlidingWindow(own.length - 1))
OTHER_RATE = breaking.forgetting(ExponentialWeights, lambda own: ExponentialWeights(0.8))
RATE_SQUARED = breaking.forgetting(ExponentialWeights, lambda own: ExponentialWeights(own.rate**2))
DIM_OF_ONE = given(
    subject, "bias_bound", lambda weights, moves, dim, *args: (weights, moves, min(dim, 1), *args)
)
HALF_PRICE = result(memories_of_mixtures, "best_sequences", lambda best: (best[0], best[1] / 2))
COUNT_OF_ONE = given(inequalities, "information_of_count", lambda samples, dim, ridge: (samples, 1, ridge))
ALWAYS_FRESH = instead(MixtureOfMemories, "alarm", lambda self, *args: np.bool(True))
SURE = breaking.forecast(variance=lambda made: 0.0 * made.variance)
OLD_DRIFT = given(LocalVariationRadius, "at", breaking.late)
REBUILT = learnt(gram_sq=lambda own: own.gram)
STALE = around(LeastSquares, "plan", breaking.stale)
REWARDS_ALONE = given(LeastSquares, "plan", breaking.forgetful_of_successors)
TOO_LATE = around(LeastSquares, "forecast", breaking.too_late)
LESS_VALUE = mixed(values=lambda plan: 0.9 * plan.values)
UNIFORM = mixed(policy=lambda plan: uniform_policy(plan.q))
ANYTHING = instead(Wrapper, "act", breaking.anything)
NEWEST_TOO = breaking.decay(breaking.newest_too)
NO_SQUARES = learnt(weight_sq=lambda own: own.weight)
HALF_NOISE = breaking.forecast(error=lambda made: 2 * made.error)


def tuned_radius(factor: float) -> Break:
    return scaled(tuning, "lsvi_ucb_radius", factor)


AGENTS = (
    Sabotage("OPT-WLSVI's β halved", "theory_radius", by_theory, tuned_radius(0.5), "0.50 × theory's"),
    Sabotage("OPT-WLSVI's β doubled", "theory_radius", by_theory, tuned_radius(2.0), "2 × theory's"),
    Sabotage(
        "OPT-WLSVI's β without d", "theory_radius", by_theory, tuned_radius(1 / SPEC.dim), "0.083 × theory's"
    ),
    Sabotage("Λ⁻¹ off by a tenth", "estimator", MDP, scaled(least_squares, "spd_inverse", 0.9)),
    Sabotage("β halved", "radius", "d_lin_ucb", scaled(ConfidenceRadius, "at", 0.5)),
    Sabotage("β doubled", "radius", "d_lin_ucb", scaled(ConfidenceRadius, "at", 2.0)),
    Sabotage("β without √λS", "radius", "d_lin_ucb", around(ConfidenceRadius, "at", breaking.without_ridge)),
    Sabotage("β without d log(…)", "radius", "sw_lin_ucb", scaled(radii, "counted_information", 0.0)),
    Sabotage("β with half of log det", "radius", "lin_ucb", scaled(radii, "log_determinant", 0.5)),
    Sabotage("β with δ in the place of δ/K", "radius", "weight_ucb", ALL_DELTA),
    Sabotage("β with the drift of another epoch", "radius", informed, OLD_DRIFT),
    Sabotage("Σω in the place of Σω²", "count_recursion", "d_lin_ucb", NO_SQUARES),
    Sabotage("Λ̃ rebuilt from Λ, as in public code of D-LinUCB", "gram_sq_recursion", MDP, REBUILT),
    Sabotage("Λ̃ decays by η, not η²", "gram_sq_recursion", MDP, breaking.decay(breaking.too_slow)),
    Sabotage("the ridge decays with the samples", "gram_recursion", MDP, breaking.decay(breaking.bare_ridge)),
    Sabotage("the newest sample decays at once", "gram_recursion", "d_lin_ucb", NEWEST_TOO),
    Sabotage("another rate", "gram_recursion", MDP, OTHER_RATE),
    Sabotage("the rate squared", "gram_recursion", MDP, RATE_SQUARED),
    Sabotage("cross does not decay", "cross_recursion", MDP, CROSS_STAYS),
    Sabotage("a window with one sample too many", "gram_recursion", "sw_lsvi_ucb", ONE_MORE),
    Sabotage("a window with one sample too few", "gram_recursion", "sw_lin_ucb", ONE_LESS),
    Sabotage("a restart one episode late", "gram_recursion", "lsvi_ucb_restart", breaking.restart(-1)),
    Sabotage("a restart one episode early", "gram_recursion", "restart_lin_ucb", breaking.restart(1)),
    Sabotage("successors of another step", "cross_recursion", MDP, seen(successors=breaking.rolled)),
    Sabotage("rewards of another step", "cross_recursion", MDP, seen(rewards=breaking.rolled)),
    Sabotage("states of another step", "gram_recursion", MDP, seen(states=breaking.rolled)),
    Sabotage("a plan that is one episode old", "fresh_plan", MDP, STALE),
    Sabotage("a plan that is one round old", "fresh_plan", "d_lin_ucb", STALE),
    Sabotage("w off by a tenth", "estimator", MDP, planned(weights=lambda plan: 1.1 * plan.weights)),
    Sabotage("targets without V(s')", "estimator", MDP, REWARDS_ALONE),
    Sabotage("the index without its bonus", "index", MDP, planned(q=lambda plan: plan.q - plan.bonus)),
    Sabotage("the index times three", "index", "lin_ucb", planned(q=lambda plan: 3 * plan.q)),
    Sabotage("Λ⁻¹ in the place of Λ⁻¹Λ̃Λ⁻¹", "bonus", MDP, instead(Ucb, "perturb", breaking.with_inverse)),
    Sabotage("a bonus without its root", "bonus", MDP, around(Ucb, "perturb", breaking.without_root)),
    Sabotage("no bonus", "bonus", MDP, scaled(Ucb, "perturb", 0.0)),
    Sabotage("V cut at H/2", "value", bold, HALF_CUT),
    Sabotage("V not cut", "value", bold, NOT_CUT),
    Sabotage("V not cut, and β = 10⁵", "transition_concentration", boundless, NOT_CUT),
    Sabotage("V not cut, and β = 10⁵", "surprises", boundless, NOT_CUT),
    Sabotage("V as the mean over actions", "value", MDP, planned(values=lambda plan: plan.q.mean(-1))),
    Sabotage("a uniform policy", "policy", MDP, planned(policy=lambda plan: uniform_policy(plan.q))),
    Sabotage("the worst action", "policy", MDP, planned(policy=lambda plan: greedy_policy(-plan.q))),
    Sabotage("the first of tied actions", "policy", "lin_ucb", planned(policy=breaking.first_of_ties)),
    Sabotage("ε twice as large", "policy", EPSILON, TWICE_EPSILON),
    Sabotage("actions that are not the plan's", "action", MDP, instead(Agent, "act", breaking.anything)),
    Sabotage("the second best action", "action", MDP, instead(Agent, "act", breaking.second_best)),
    Sabotage("a draw twice as wide", "bonus", DRAWN, scaled(exploration, "draw_perturbation", 2.0)),
    Sabotage("a draw that may be negative", "bonus", "d_rand_lin_ucb", SIGNED),
    Sabotage("a draw that is never doubted", "index", "opt_rlsvi", scaled(TruncatedThompson, "doubt", 0.0)),
    Sabotage("weights that do not learn", "mixture_weights", MIXED, weighed(np.zeros_like)),
    Sabotage("weights of the worst forecasts", "mixture_weights", MIXED_MDP, weighed(np.negative)),
    Sabotage("weights of half of the scores", "mixture_weights", MIXED, weighed(lambda by: by / 2)),
    Sabotage("a share twice as large", "mixture_weights", MIXED, scaled(FixedShare, "share_at", 2.0)),
    Sabotage("no share", "mixture_weights", MIXED, scaled(FixedShare, "share_at", 0.0)),
    Sabotage("weights that go to another prior", "mixture_weights", MIXED, OTHER_PRIOR),
    Sabotage("weights that trust the worst forecasts", "fixed_share", wary, weighed(lambda by: -10 * by)),
    Sabotage("scores with half of the noise", "scores", MIXED, HALF_NOISE),
    Sabotage("scores of a forecast that is sure of itself", "scores", MIXED_MDP, SURE),
    Sabotage("scores after the episode was learnt from", "scores", MIXED, TOO_LATE),
    Sabotage("noise of twice the squares", "learnt_noise", MIXED, breaking.heard(2.0)),
    Sabotage("noise of half of the squares", "mixture_noise", MIXED_MDP, breaking.heard(0.5)),
    Sabotage("exploration in another unit", "radius", MIXED, scaled(LearntNoise, "deviation", 2.0)),
    Sabotage("a fresh start in every episode", "count_recursion", MIXED, ALWAYS_FRESH),
    Sabotage("the lightest memory decides", "mixture_index", MIXED, LIGHTEST),
    Sabotage("an index that is not mixed", "mixture_index", MIXED_MDP, mixed(q=lambda plan: 0.9 * plan.q)),
    Sabotage("V of the mixture off by a tenth", "mixture_value", MIXED_MDP, LESS_VALUE),
    Sabotage("a uniform policy of the mixture", "mixture_policy", MIXED, UNIFORM),
    Sabotage("actions that are not the mixture's", "mixture_action", MIXED, ANYTHING),
)
TOLD = (
    Sabotage(
        "the published δ, spent in every round", "failures", bandit(confidence="published"), breaking.nothing
    ),
    Sabotage(
        "δ spread over fewer rounds than are played", "failures", bandit(num_episodes=5), breaking.nothing
    ),
)
FORMULAS = (
    Sabotage("half of the price of a sequence", "fixed_share", "", HALF_PRICE),
    Sabotage("half of the bias bound", "reward_bias", "", scaled(subject, "bias_bound", 0.5)),
    Sabotage("twice the bias bound", "transition_bias", "", scaled(subject, "bias_bound", 2.0)),
    Sabotage("half of the sum of widths", "sum_of_widths", "", scaled(inequalities, "_width_bound", 0.5)),
    Sabotage("a theorem without the drift", "theorem", "", scaled(subject.Subject, "biases", 0.0)),
    Sabotage("V^π off by a hundredth", "linear_q", MDP, scaled(planning, "policy_values", 1.01)),
    Sabotage("a bias bound without d", "reward_bias", "", DIM_OF_ONE),
    Sabotage("information without d", "determinant", "", COUNT_OF_ONE),
)
SABOTAGES = AGENTS + TOLD + FORMULAS
