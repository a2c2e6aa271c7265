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
from tests.breaking import (
    Break,
    anything,
    around,
    decay,
    doubted,
    first_of_ties,
    forgetful_of_successors,
    forgetting,
    half_price,
    heard,
    kept,
    late,
    learnt,
    lightest,
    mixed,
    nothing,
    of_one,
    planned,
    restart,
    scaled,
    second_best,
    seen,
    shared,
    stale,
    too_late,
    too_slow,
    weighed,
    with_inverse,
    without_dim,
    without_ridge,
    without_root,
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
NOT_CUT = around(LeastSquares, "clip_values", lambda right: lambda self, values, top: values)
AGENTS = (
    Sabotage(
        "OPT-WLSVI's β halved", "theory_radius", by_theory, scaled(tuning, "_radius", 0.5), "0.50 × theory's"
    ),
    Sabotage(
        "OPT-WLSVI's β doubled", "theory_radius", by_theory, scaled(tuning, "_radius", 2.0), "2 × theory's"
    ),
    Sabotage(
        "OPT-WLSVI's β without d",
        "theory_radius",
        by_theory,
        scaled(tuning, "_radius", 1 / SPEC.dim),
        "0.083 × theory's",
    ),
    Sabotage("Λ⁻¹ off by a tenth", "estimator", MDP, scaled(least_squares, "spd_inverse", 0.9)),
    Sabotage("β halved", "radius", "d_lin_ucb", scaled(ConfidenceRadius, "at", 0.5)),
    Sabotage("β doubled", "radius", "d_lin_ucb", scaled(ConfidenceRadius, "at", 2.0)),
    Sabotage("β without √λS", "radius", "d_lin_ucb", around(ConfidenceRadius, "at", without_ridge)),
    Sabotage("β without d log(…)", "radius", "sw_lin_ucb", scaled(radii, "counted_information", 0.0)),
    Sabotage("β with half of log det", "radius", "lin_ucb", scaled(radii, "_log_determinant", 0.5)),
    Sabotage(
        "β with δ in the place of δ/K",
        "radius",
        "weight_ucb",
        around(radii, "log_failure", lambda right: lambda delta, shares, *args: right(delta, 1.0, *args)),
    ),
    Sabotage(
        "β with the drift of another epoch", "radius", informed, around(LocalVariationRadius, "at", late)
    ),
    Sabotage(
        "Σω in the place of Σω²",
        "count_recursion",
        "d_lin_ucb",
        learnt(lambda after: after._replace(weight_sq=after.weight)),
    ),
    Sabotage(
        "Λ̃ rebuilt from Λ, as in public code of D-LinUCB",
        "gram_sq_recursion",
        MDP,
        learnt(lambda after: after._replace(gram_sq=after.gram)),
    ),
    Sabotage("Λ̃ decays by η, not η²", "gram_sq_recursion", MDP, decay(too_slow)),
    Sabotage(
        "the ridge decays with the samples",
        "gram_recursion",
        MDP,
        decay(lambda before, after, rate: dict(gram=after.gram - kept(before, rate) + rate * before.gram)),
    ),
    Sabotage(
        "the newest sample decays at once",
        "gram_recursion",
        "d_lin_ucb",
        decay(
            lambda before, after, rate: dict(gram=after.gram - (1 - rate) * (after.gram - kept(before, rate)))
        ),
    ),
    Sabotage(
        "another rate",
        "gram_recursion",
        MDP,
        forgetting(ExponentialWeights, lambda own: ExponentialWeights(0.8)),
    ),
    Sabotage(
        "the rate squared",
        "gram_recursion",
        MDP,
        forgetting(ExponentialWeights, lambda own: ExponentialWeights(own.rate**2)),
    ),
    Sabotage(
        "cross does not decay",
        "cross_recursion",
        MDP,
        decay(lambda before, after, rate: dict(cross=after.cross + (1 - rate) * before.cross)),
    ),
    Sabotage(
        "a window with one sample too many",
        "gram_recursion",
        "sw_lsvi_ucb",
        forgetting(SlidingWindow, lambda own: SlidingWindow(own.length + 1)),
    ),
    Sabotage(
        "a window with one sample too few",
        "gram_recursion",
        "sw_lin_ucb",
        forgetting(SlidingWindow, lambda own: SlidingWindow(own.length - 1)),
    ),
    Sabotage("a restart one episode late", "gram_recursion", "lsvi_ucb_restart", restart(-1)),
    Sabotage("a restart one episode early", "gram_recursion", "restart_lin_ucb", restart(1)),
    Sabotage(
        "successors of another step", "cross_recursion", MDP, seen(successors=lambda by: np.roll(by, 1))
    ),
    Sabotage("rewards of another step", "cross_recursion", MDP, seen(rewards=lambda by: np.roll(by, 1))),
    Sabotage("states of another step", "gram_recursion", MDP, seen(states=lambda by: np.roll(by, 1))),
    Sabotage("a plan that is one episode old", "fresh_plan", MDP, around(LeastSquares, "plan", stale)),
    Sabotage("a plan that is one round old", "fresh_plan", "d_lin_ucb", around(LeastSquares, "plan", stale)),
    Sabotage(
        "w off by a tenth", "estimator", MDP, planned(lambda plan: plan._replace(weights=1.1 * plan.weights))
    ),
    Sabotage(
        "targets without V(s')", "estimator", MDP, around(LeastSquares, "plan", forgetful_of_successors)
    ),
    Sabotage(
        "the index without its bonus",
        "index",
        MDP,
        planned(lambda plan: plan._replace(q=plan.q - plan.bonus)),
    ),
    Sabotage("the index times three", "index", "lin_ucb", planned(lambda plan: plan._replace(q=3 * plan.q))),
    Sabotage("Λ⁻¹ in the place of Λ⁻¹Λ̃Λ⁻¹", "bonus", MDP, around(Ucb, "perturb", with_inverse)),
    Sabotage("a bonus without its root", "bonus", MDP, around(Ucb, "perturb", without_root)),
    Sabotage("no bonus", "bonus", MDP, scaled(Ucb, "perturb", 0.0)),
    Sabotage(
        "V cut at H/2",
        "value",
        bold,
        around(
            LeastSquares, "clip_values", lambda right: lambda self, values, top: right(self, values, top / 2)
        ),
    ),
    Sabotage("V not cut", "value", bold, NOT_CUT),
    Sabotage("V not cut, and β = 10⁵", "transition_concentration", boundless, NOT_CUT),
    Sabotage("V not cut, and β = 10⁵", "surprises", boundless, NOT_CUT),
    Sabotage(
        "V as the mean over actions",
        "value",
        MDP,
        planned(lambda plan: plan._replace(values=plan.q.mean(-1))),
    ),
    Sabotage(
        "a uniform policy", "policy", MDP, planned(lambda plan: plan._replace(policy=uniform_policy(plan.q)))
    ),
    Sabotage(
        "the worst action", "policy", MDP, planned(lambda plan: plan._replace(policy=greedy_policy(-plan.q)))
    ),
    Sabotage("the first of tied actions", "policy", "lin_ucb", planned(first_of_ties)),
    Sabotage(
        "ε twice as large",
        "policy",
        EPSILON,
        around(
            EpsilonGreedy, "policy", lambda right: lambda self, q: right(EpsilonGreedy(2 * self.epsilon), q)
        ),
    ),
    Sabotage("actions that are not the plan's", "action", MDP, around(Agent, "act", anything)),
    Sabotage("the second best action", "action", MDP, around(Agent, "act", second_best)),
    Sabotage("a draw twice as wide", "bonus", DRAWN, scaled(exploration, "draw_perturbation", 2.0)),
    Sabotage(
        "a draw that may be negative",
        "bonus",
        "d_rand_lin_ucb",
        around(
            RandomisedUcb,
            "perturb",
            lambda right: lambda self, *args: right(replace(self, sign="signed"), *args),
        ),
    ),
    Sabotage("a draw that is never doubted", "index", "opt_rlsvi", scaled(TruncatedThompson, "doubt", 0.0)),
    Sabotage("weights that do not learn", "mixture_weights", MIXED, weighed(np.zeros_like)),
    Sabotage("weights of the worst forecasts", "mixture_weights", MIXED_MDP, weighed(np.negative)),
    Sabotage("weights of half of the scores", "mixture_weights", MIXED, weighed(lambda by: by / 2)),
    Sabotage("a share twice as large", "mixture_weights", MIXED, scaled(FixedShare, "share_at", 2.0)),
    Sabotage("no share", "mixture_weights", MIXED, scaled(FixedShare, "share_at", 0.0)),
    Sabotage("weights that go to another prior", "mixture_weights", MIXED, shared(favour=0.0)),
    Sabotage("weights that trust the worst forecasts", "fixed_share", wary, weighed(lambda by: -10 * by)),
    Sabotage(
        "scores with half of the noise",
        "scores",
        MIXED,
        around(
            LearntNoise,
            "relative_score",
            lambda right: (
                lambda self, sums, forecast: right(self, sums, forecast._replace(error=2 * forecast.error))
            ),
        ),
    ),
    Sabotage(
        "scores of a forecast that is sure of itself",
        "scores",
        MIXED_MDP,
        around(LearntNoise, "relative_score", doubted(0.0)),
    ),
    Sabotage(
        "scores after the episode was learnt from",
        "scores",
        MIXED,
        around(LeastSquares, "forecast", too_late),
    ),
    Sabotage("noise of twice the squares", "learnt_noise", MIXED, heard(2.0)),
    Sabotage("noise of half of the squares", "mixture_noise", MIXED_MDP, heard(0.5)),
    Sabotage("exploration in another unit", "radius", MIXED, scaled(LearntNoise, "deviation", 2.0)),
    Sabotage(
        "a fresh start in every episode",
        "count_recursion",
        MIXED,
        around(MixtureOfMemories, "alarm", lambda right: lambda self, *args: np.bool(True)),
    ),
    Sabotage(
        "the lightest memory decides",
        "mixture_index",
        MIXED,
        around(MixtureOfMemories, "choose_memory", lightest),
    ),
    Sabotage(
        "an index that is not mixed",
        "mixture_index",
        MIXED_MDP,
        mixed(lambda plan: plan._replace(q=0.9 * plan.q)),
    ),
    Sabotage(
        "V of the mixture off by a tenth",
        "mixture_value",
        MIXED_MDP,
        mixed(lambda plan: plan._replace(values=0.9 * plan.values)),
    ),
    Sabotage(
        "a uniform policy of the mixture",
        "mixture_policy",
        MIXED,
        mixed(lambda plan: plan._replace(policy=uniform_policy(plan.q))),
    ),
    Sabotage("actions that are not the mixture's", "mixture_action", MIXED, around(Wrapper, "act", anything)),
)
TOLD = (
    Sabotage("the published δ, spent in every round", "failures", bandit(confidence="published"), nothing),
    Sabotage("δ spread over fewer rounds than are played", "failures", bandit(num_episodes=5), nothing),
)
FORMULAS = (
    Sabotage(
        "half of the price of a sequence",
        "fixed_share",
        "",
        around(memories_of_mixtures, "best_sequences", half_price),
    ),
    Sabotage("half of the bias bound", "reward_bias", "", scaled(subject, "bias_bound", 0.5)),
    Sabotage("twice the bias bound", "transition_bias", "", scaled(subject, "bias_bound", 2.0)),
    Sabotage("half of the sum of widths", "sum_of_widths", "", scaled(inequalities, "_width_bound", 0.5)),
    Sabotage("a theorem without the drift", "theorem", "", scaled(subject.Subject, "biases", 0.0)),
    Sabotage("V^π off by a hundredth", "linear_q", MDP, scaled(planning, "policy_values", 1.01)),
    Sabotage("a bias bound without d", "reward_bias", "", around(subject, "bias_bound", without_dim)),
    Sabotage(
        "information without d", "determinant", "", around(inequalities, "information_of_count", of_one)
    ),
)
SABOTAGES = AGENTS + TOLD + FORMULAS
