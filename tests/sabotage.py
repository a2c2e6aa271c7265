"""Mistakes made on purpose, each in one place, by their names in the tables of docs/audit.md.

Agents are broken, or told something wrong, or the audit's own formulas are.
"""

import copy
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import ALGORITHMS, adaptive, build
from driftwise.algorithms.unknown_variation import mixture
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.analysis.audit import AuditFinding, audit_agent, audit_by_hand, subject
from driftwise.analysis.audit.lemmas import inequalities, memories_of_mixtures
from driftwise.base import Agent, Moments, Plan, Wrapper
from driftwise.environments import planning
from driftwise.parts import FixedShare, LearntNoise, LeastSquares, exploration, least_squares, radii
from driftwise.parts.exploration import EpsilonGreedy, RandomisedUcb, TruncatedThompson, Ucb, width
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.parts.radii import ConfidenceRadius, GrowingRadius, LocalVariationRadius
from driftwise.theory import tuning
from tests.examples import BANDIT, SPEC, STATIONARY, agent, make, make_bandit

Break = Callable[[pytest.MonkeyPatch], object]


def around(owner: Any, name: str, change: Callable[[Callable], Callable]) -> Break:
    """Replace a function by one that is made from it."""
    return lambda patch: patch.setattr(owner, name, change(getattr(owner, name)))


def instead(owner: Any, name: str, other: Callable) -> Break:
    """Replace a function by another."""
    return around(owner, name, lambda right: other)


def given(owner: Any, name: str, change: Callable[..., tuple]) -> Break:
    """Replace what a function is given: `change` returns its arguments, `self` among them."""
    return around(owner, name, lambda right: lambda *args: right(*change(*args)))


def result(owner: Any, name: str, change: Callable[[Any], Any]) -> Break:
    """Replace what a function returns."""
    return around(owner, name, lambda right: lambda *args, **named: change(right(*args, **named)))


def scaled(owner: Any, name: str, factor: float) -> Break:
    return result(owner, name, lambda right: factor * right)


def fields(owner: Any, name: str, **change: Callable[[Any], Any]) -> Break:
    """Replace fields of a named tuple that a function returns, each by a function of it."""

    def altered(right: Any) -> Any:
        return right._replace(**{field: by(right) for field, by in change.items()})

    return result(owner, name, altered)


planned = partial(fields, LeastSquares, "plan")
learnt = partial(fields, LeastSquares, "update")
mixed = partial(fields, MixtureOfMemories, "plan")


def seen(name: str) -> Break:
    """Learn from an episode with the values of another step."""

    def other(self: Any, state: Any, features: Any, plan: Any, episode: Any) -> tuple:
        return self, state, features, plan, episode._replace(**{name: np.roll(getattr(episode, name), 1)})

    return given(LeastSquares, "update", other)


def as_if(kind: type, *methods: str, **change: Callable[[Any], Any]) -> Break:
    """Let methods be those of a part with other fields, each a function of the part."""

    def other(self: Any, *args: Any) -> tuple:
        return replace(self, **{name: by(self) for name, by in change.items()}), *args

    return lambda patch: [given(kind, name, other)(patch) for name in methods]


def decay(change: Callable[[Any, Any, float], dict[str, Any]]) -> Break:
    """Replace some sums after a step of exponential weights: from those before, those after, and the rate."""

    def other(right: Callable) -> Callable:
        def update(self: ExponentialWeights, before: Moments, sample: Any) -> Moments:
            after = right(self, before, sample)
            return after._replace(**change(before, after, float(self.rate)))

        return update

    return around(ExponentialWeights, "update", other)


def kept(before: Moments, rate: float) -> np.ndarray:
    """`ηΛ + (1−η)λI`, what is left of Λ before the newest sample is added."""
    return rate * before.gram + (1 - rate) * before.ridge * np.eye(before.gram.shape[-1])


def restart(shift: int) -> Break:
    def other(right: Callable) -> Callable:
        def update(self: Any, moments: Moments, sample: Any) -> Moments:
            shifted = right(self, moments._replace(tick=moments.tick + shift), sample)
            return shifted._replace(tick=moments.tick + 1)

        return update

    return around(PeriodicRestart, "update", other)


def stale(right: Callable) -> Callable:
    """Plan from the sums before the last episode."""
    states: list[Moments] = []

    def plan(self: LeastSquares, state: Moments, *args: Any) -> Plan:
        states.append(state)
        return right(self, states[max(0, len(states) - 2)], *args)

    return plan


def forgetful_of_successors(self: LeastSquares, state: Moments, *args: Any) -> tuple:
    alone = np.concatenate([state.cross[..., :1], 0 * state.cross[..., 1:]], axis=-1)
    return self, state._replace(cross=alone), *args


def late(self: Any, moments: Moments) -> tuple:
    return self, moments._replace(epoch=np.maximum(moments.epoch - 1, 0))


def with_inverse(self: Any, inverse: Any, moments: Moments, features: Any, key: Any) -> Any:
    return self.radius * width(inverse, moments, features, "single")


def too_late(right: Callable) -> Callable:
    def forecast(self: LeastSquares, state: Any, features: Any, plan: Any, episode: Any) -> Any:
        after = replace(self, noise=None, prior="given").update(copy.deepcopy(state), features, plan, episode)
        return right(self, after, features, plan, episode)

    return forecast


def weighed(change: Callable[[np.ndarray], np.ndarray]) -> Break:
    """Weigh by other scores than those that memories have."""
    return given(FixedShare, "update", lambda *args: (*args[:2], change(args[2]), args[3]))


def forecast(**change: Callable[[Any], Any]) -> Break:
    """Score another forecast than the one that was made."""

    def other(self: Any, sums: Any, made: Any) -> tuple:
        return self, sums, made._replace(**{name: by(made) for name, by in change.items()})

    return given(LearntNoise, "relative_score", other)


def second_best(self: Any, plan: Plan, h: Any, state: Any, uniform: Any) -> Any:
    return np.argsort(plan.q[h, state])[-2]


def anything(self: Any, plan: Plan, h: Any, state: Any, uniform: Any) -> Any:
    return np.asarray(uniform * plan.q.shape[-1]).astype(int)


def first_of_ties(plan: Plan) -> np.ndarray:
    return np.eye(plan.q.shape[-1])[np.argmax(plan.q, axis=-1)]


def nothing(patch: pytest.MonkeyPatch) -> None:
    """The mistake is in what the agent was told."""


NUM_EPISODES, STRIDE = 14, 5
DOCS = Path(__file__).parents[1] / "docs" / "audit.md"
TABLE = DOCS.read_text(encoding="utf-8").split("## What it finds when something is broken")[1]
# a mistake, the statement that finds it, and what its row says
ROWS: list[tuple[str, str, str]] = re.findall(r"^\| (.+) \| `(\w+)` \| (.+) \|$", TABLE, re.MULTILINE)


def informed() -> Agent:
    """The drift of every epoch is told."""
    radius = LocalVariationRadius(0.4, SPEC.horizon, (0.1, 0.2, 0.4), (0.0, 0.1, 0.3))
    return build(SPEC, "lsvi_ucb_restart", period=6, radius=radius)


def wary() -> Agent:
    """Two memories, of which one is far from sure of what it has seen."""
    return adaptive(LeastSquares(BANDIT, NoForgetting(), Ucb(1.0), (0.1, 1e-6), clip="none"))


def doubtful() -> Agent:
    """Rewards count as outliers beyond a twentieth of a deviation, and somewhat more at first."""
    return replace(agent("adaptive_lin_ucb"), outlier=0.05)  # pyright: ignore


bandit = partial(build, BANDIT, "d_lin_ucb", rate=0.9, noise_scale=0.3)
bold = partial(build, SPEC, "opt_wlsvi", rate=0.9, radius=10.0)  # values are at the top
boundless = partial(bold, radius=1e5)  # only the clip keeps values in their range
by_theory = partial(ALGORITHMS["opt_wlsvi"].tuned, SPEC, num_episodes=NUM_EPISODES, variation=1.0)
AGENTS: dict[str, Callable[[], Agent]] = {  # besides the examples
    "bold": bold,
    "boundless": boundless,
    "by theory": by_theory,
    "doubtful": doubtful,
    "informed": informed,
    "told few rounds": partial(bandit, num_episodes=5),
    "told the published δ": partial(bandit, confidence="published"),
    "wary": wary,
}
BOTH = "init", "update"  # of a forgetting
NOT_CUT = instead(LeastSquares, "clip_values", lambda self, values, top: values)
BREAKS: dict[str, dict[str, Break]] = {  # by the agent that is broken; "" for cases done by hand
    "by theory": {
        "OPT-WLSVI's β halved": scaled(tuning, "lsvi_ucb_radius", 0.5),
        "OPT-WLSVI's β doubled": scaled(tuning, "lsvi_ucb_radius", 2.0),
        "OPT-WLSVI's β without d": scaled(tuning, "lsvi_ucb_radius", 1 / SPEC.dim),
    },
    "opt_wlsvi": {
        "Λ⁻¹ off by a tenth": scaled(least_squares, "spd_inverse", 0.9),
        "Λ̃ rebuilt from Λ, as in public code of D-LinUCB": learnt(gram_sq=lambda own: own.gram),
        "Λ̃ decays by η, not η²": decay(
            lambda old, new, rate: dict(gram_sq=new.gram_sq + rate * (1 - rate) * old.gram_sq)
        ),
        "the ridge decays with the samples": decay(
            lambda old, new, rate: dict(gram=new.gram - kept(old, rate) + rate * old.gram)
        ),
        "another rate": as_if(ExponentialWeights, *BOTH, rate=lambda own: 0.8),
        "the rate squared": as_if(ExponentialWeights, *BOTH, rate=lambda own: own.rate**2),
        "cross does not decay": decay(lambda old, new, rate: dict(cross=new.cross + (1 - rate) * old.cross)),
        "successors of another step": seen("successors"),
        "rewards of another step": seen("rewards"),
        "states of another step": seen("states"),
        "a plan that is one episode old": around(LeastSquares, "plan", stale),
        "w off by a tenth": planned(weights=lambda plan: 1.1 * plan.weights),
        "targets without V(s')": given(LeastSquares, "plan", forgetful_of_successors),
        "the index without its bonus": planned(q=lambda plan: plan.q - plan.bonus),
        "Λ⁻¹ in the place of Λ⁻¹Λ̃Λ⁻¹": instead(Ucb, "perturb", with_inverse),
        "a bonus without its root": around(
            Ucb, "perturb", lambda right: lambda self, *args: right(self, *args) ** 2 / self.radius
        ),
        "no bonus": scaled(Ucb, "perturb", 0.0),
        "V as the mean over actions": planned(values=lambda plan: plan.q.mean(-1)),
        "a uniform policy": planned(policy=lambda plan: exploration.uniform_policy(plan.q)),
        "the worst action": planned(policy=lambda plan: exploration.greedy_policy(-plan.q)),
        "actions that are not the plan's": instead(Agent, "act", anything),
        "the second best action": instead(Agent, "act", second_best),
        "V^π off by a hundredth": scaled(planning, "policy_values", 1.01),
    },
    "bold": {
        "V cut at H/2": given(LeastSquares, "clip_values", lambda self, values, top: (self, values, top / 2)),
        "V not cut": NOT_CUT,
    },
    "boundless": {"V not cut, and β = 10⁵": NOT_CUT},
    "d_lin_ucb": {
        "β halved": scaled(ConfidenceRadius, "at", 0.5),
        "β doubled": scaled(ConfidenceRadius, "at", 2.0),
        "β without √λS": around(
            ConfidenceRadius,
            "at",
            lambda right: lambda self, own: right(self, own) - np.sqrt(own.ridge) * self.norm_bound,
        ),
        "Σω in the place of Σω²": learnt(weight_sq=lambda own: own.weight),
        "the newest sample decays at once": decay(
            lambda old, new, rate: dict(gram=new.gram - (1 - rate) * (new.gram - kept(old, rate)))
        ),
        "a plan that is one round old": around(LeastSquares, "plan", stale),
    },
    "sw_lin_ucb": {
        "β without d log(…)": scaled(radii, "counted_information", 0.0),
        "a window with one sample too few": as_if(SlidingWindow, *BOTH, length=lambda own: own.length - 1),
    },
    "sw_lsvi_ucb": {
        "a window with one sample too many": as_if(SlidingWindow, *BOTH, length=lambda own: own.length + 1)
    },
    "lin_ucb": {
        "β with half of log det": scaled(radii, "log_determinant", 0.5),
        "the index times three": planned(q=lambda plan: 3 * plan.q),
        "the first of tied actions": planned(policy=first_of_ties),
    },
    "weight_ucb": {
        "β with δ in the place of δ/K": given(radii, "log_failure", lambda *args: (args[0], 1.0, *args[2:]))
    },
    "informed": {"β with the drift of another epoch": given(LocalVariationRadius, "at", late)},
    "lsvi_ucb_restart": {"a restart one episode late": restart(-1)},
    "restart_lin_ucb": {"a restart one episode early": restart(1)},
    "epsilon_greedy_lsvi": {
        "ε twice as large": as_if(EpsilonGreedy, "policy", epsilon=lambda own: 2 * own.epsilon)
    },
    "d_lin_ts": {"a draw twice as wide": scaled(exploration.GaussianExploration, "perturb", 2.0)},
    "d_rand_lin_ucb": {
        "a draw that may be negative": as_if(RandomisedUcb, "perturb", sign=lambda own: "signed")
    },
    "opt_rlsvi": {"a draw that is never doubted": scaled(TruncatedThompson, "doubt", 0.0)},
    "adaptive_lin_ucb": {
        "weights that do not learn": weighed(np.zeros_like),
        "weights of half of the scores": weighed(lambda by: by / 2),
        "a share twice as large": scaled(FixedShare, "share_at", 2.0),
        "no share": scaled(FixedShare, "share_at", 0.0),
        "weights that go to another prior": as_if(FixedShare, "prior", favour=lambda own: 0.0),
        "scores with half of the noise": forecast(error=lambda made: 2 * made.error),
        "scores after the episode was learnt from": around(LeastSquares, "forecast", too_late),
        "noise of twice the squares": given(LearntNoise, "update", lambda *args: (*args[:-1], 2 * args[-1])),
        "exploration in another unit": scaled(LearntNoise, "deviation", 2.0),
        "a fresh start in every episode": instead(MixtureOfMemories, "alarm", lambda *args: np.bool(True)),
        "the lightest memory decides": given(
            MixtureOfMemories, "choose_memory", lambda self, weights, key: (self, -weights, key)
        ),
        "a uniform policy of the mixture": mixed(policy=lambda plan: exploration.uniform_policy(plan.q)),
        "actions that are not the mixture's": instead(Wrapper, "act", anything),
        "an origin off by a tenth": fields(
            MixtureOfMemories, "set_origin", origin=lambda state: 1.1 * state.origin
        ),
        "features in another unit": fields(MixtureOfMemories, "set_origin", unit=lambda own: 2 * own.unit),
        "a first plan in another unit": scaled(MixtureOfMemories, "planning_unit", 2.0),
        "a constant of one": lambda patch: patch.setattr(mixture, "CONSTANT", 1.0),
        "a radius that does not grow": as_if(GrowingRadius, "at", growth=lambda own: 0.0),
        "noise with the first error, which is lost": as_if(LearntNoise, "variance", lost=lambda own: 0.0),
        "an index off by one": mixed(q=lambda plan: plan.q - 1.0),
    },
    "doubtful": {
        "a prior of the given size": scaled(least_squares, "prior_excess", 0.0),
        "a prior twice as wide": scaled(least_squares, "prior_excess", 2.0),
        "outliers that are learnt from": scaled(MixtureOfMemories, "excess", 0.0),
        "outliers that are not learnt from": around(
            MixtureOfMemories,
            "excess",
            lambda right: lambda self, *args: -args[1] * (right(self, *args) != 0),
        ),
        "outliers by the lightest memory": given(
            MixtureOfMemories,
            "_clip",
            lambda self, state, *args: (self, state._replace(log_weights=-state.log_weights), *args),
        ),
    },
    "adaptive_opt_wlsvi": {
        "weights of the worst forecasts": weighed(np.negative),
        "scores of a forecast that is sure of itself": forecast(variance=lambda made: 0.0 * made.variance),
        "noise of half of the squares": given(LearntNoise, "update", lambda *own: (*own[:-1], own[-1] / 2)),
        "an index that is not mixed": mixed(q=lambda plan: 0.9 * plan.q),
        "V of the mixture off by a tenth": mixed(values=lambda plan: 0.9 * plan.values),
    },
    "wary": {"weights that trust the worst forecasts": weighed(lambda by: -10 * by)},
    "told the published δ": {"the published δ, spent in every round": nothing},
    "told few rounds": {"δ spread over fewer rounds than are played": nothing},
    "": {
        "half of the price of a sequence": result(
            memories_of_mixtures, "best_sequences", lambda best: (best[0], best[1] / 2)
        ),
        "half of the bias bound": scaled(subject, "bias_bound", 0.5),
        "twice the bias bound": scaled(subject, "bias_bound", 2.0),
        "half of the sum of widths": scaled(inequalities, "_width_bound", 0.5),
        "a theorem without the drift": scaled(subject.Subject, "biases", 0.0),
        "a bias bound without d": given(
            subject, "bias_bound", lambda weights, moves, dim, *args: (weights, moves, min(dim, 1), *args)
        ),
        "information without d": given(
            inequalities, "information_of_count", lambda samples, dim, ridge: (samples, 1, ridge)
        ),
    },
}


def findings_about(name: str) -> tuple[AuditFinding, ...]:
    """The findings about an agent, or about the cases done by hand."""
    if not name:
        return audit_by_hand().findings
    chosen = AGENTS[name]() if name in AGENTS else agent(name)
    bandit = chosen.spec.horizon == 1
    # the first rewards are never outliers, and the prior is learnt where there is little noise
    num_episodes, noise = (30, 0.03) if name == "doubtful" else (NUM_EPISODES, 0.3)
    environment = make_bandit(STATIONARY, noise_scale=noise) if bandit else make(drift=STATIONARY)
    return audit_agent(chosen, environment, num_episodes=num_episodes, stride=STRIDE)[0]
