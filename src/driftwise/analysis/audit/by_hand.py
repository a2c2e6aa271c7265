"""Cases computed by hand, so small that ratios are known exactly: half or twice of a bound is found."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.analysis.audit.auditing import Audit
from driftwise.analysis.audit.findings import Evidence
from driftwise.analysis.audit.lemmas import LEMMAS
from driftwise.analysis.audit.mixture_views import MixtureSubject
from driftwise.analysis.audit.snapshot import observe_run
from driftwise.analysis.audit.subject import Subject
from driftwise.base.part import expand_grid, stack_parts
from driftwise.base.types import Spec
from driftwise.environments import LinearBandit, LinearMdp
from driftwise.environments.arms import FixedArms
from driftwise.environments.drift import Abrupt
from driftwise.environments.paths import Mixture
from driftwise.parts import ExponentialWeights, FixedShare, LearntNoise, LeastSquares, NoForgetting, Ucb

DELTA = 0.05


def turning_bandit(ridge: float) -> Subject:
    """Return two arms, x = ±1, whose parameter turns from −1 to 1 after one round."""
    return _turning(((1.0,), (-1.0,)), (1.0,), 1, ridge)


def turning_plane(ridge: float) -> Subject:
    """Return two orthogonal arms of mean −√½, so that both are played once; then both means are √½."""
    return _turning(((1.0, 0.0), (0.0, 1.0)), (math.sqrt(1 / 2), math.sqrt(1 / 2)), 2, ridge)


def _turning(arms: Any, theta: tuple[float, ...], change: int, ridge: float) -> Subject:
    """A noiseless bandit whose parameter turns from −θ to θ before its last round; β = √λ."""
    path = Mixture((tuple(-x for x in theta), theta), Abrupt((change,), num_anchors=2))
    environment = LinearBandit(FixedArms(arms), path, noise_scale=0.0)
    agent = LeastSquares(environment.spec, NoForgetting(), Ucb(math.sqrt(ridge)), ridge, clip="none")
    return Subject(agent, environment, change + 1, DELTA)


def turning_mdp(ridge: float) -> Subject:
    """Return one action and two steps that pay 1; all states lead to the first, later to the second."""
    everywhere, pay = np.ones((2, 1, 1)), np.ones((2, 2, 1))
    mu = np.zeros((2, 2, 1, 2))
    mu[0, :, 0, 0] = mu[1, :, 0, 1] = 1.0
    environment = LinearMdp(everywhere, pay, mu, np.array([1.0, 0.0]), Abrupt((1,), num_anchors=2))
    agent = LeastSquares(Spec(2, 1, 1, 2), NoForgetting(), Ucb(10.0), ridge)
    return Subject(agent, environment, 2, DELTA)


def turning_mixture(ridge: float) -> MixtureSubject:
    """Return the plane with two memories; one forecasts nothing for a new arm."""
    plain = turning_plane(ridge)
    base = dataclasses.replace(plain.agent, ridge=(ridge, 1e-24))
    parts = stack_parts(expand_grid(base)), FixedShare(), LearntNoise(), ExponentialWeights(0.5)
    return MixtureSubject(MixtureOfMemories(*parts, fresh="never"), plain.environment, 2, DELTA)


class Case(NamedTuple):
    """An instance, an episode of it, and the exact ratio of left to right side of a statement there."""

    statement: str
    instance: Callable[[float], Subject | MixtureSubject]
    ridge: float
    ratio: float
    t: int = -1  # the last episode, the only one after the jump


# With λ = 1, after one sample: Λ = 2, w = −1/2, r̄ = 0, ‖φ‖ = 1/√2, bias_r = 2. The first policy is worth 0.
_WIDTH = math.sqrt(1 / 2)
_SUM_OF_WIDTHS = math.sqrt(2 * 2 * math.log(3))
_BOUND = 4 * math.sqrt(2 * math.log(4 / DELTA)) + 2 * _SUM_OF_WIDTHS + 4 * 2
# In the plane, after two samples: Λ = (1+λ)I, w = −√½/(1+λ) (1, 1), and θ has moved by 2.
CASES = (
    Case("reward_bias", turning_bandit, 99.0, 0.99),
    Case("reward_bias", turning_bandit, 1.0, 1 / 2),
    Case("reward_bias", turning_plane, 1 / 4, 2 * math.sqrt(1 / 2) / (5 / 4) / (math.sqrt(2 * 2 * 4) * 2)),
    Case("sharp_reward_bias", turning_bandit, 1.0, 1.0),
    Case("transition_bias", turning_mdp, 99.0, 0.99),
    Case("transition_bias", turning_mdp, 1.0, 1 / 2),
    Case("sharp_transition_bias", turning_mdp, 1.0, 1.0),
    Case("reward_variance", turning_bandit, 1.0, 1.0, t=0),
    Case("weighted_features", turning_bandit, 1 / 99, 0.99),
    Case("weighted_features", turning_plane, 1 / 99, 0.99),
    Case("bounded_weights", turning_mdp, 1.0, (1 + 2) / 2 / 4),
    Case("bounded_weights", turning_plane, 1.0, 1 / 2 / (2 * math.sqrt(2 * 2))),
    Case("bounded_sandwich", turning_bandit, 1.0, 1.0, t=0),
    Case("determinant", turning_bandit, 1.0, 1.0),
    Case("determinant", turning_plane, 1.0, 1.0),
    Case("concentration", turning_bandit, 1.0, 1 / 2 / _WIDTH),
    Case("key_lemma", turning_bandit, 1.0, 3 / 2 / (_WIDTH + 2 * 2)),
    Case("optimism", turning_bandit, 1.0, 3 / 2 / (_WIDTH + 2 * 2)),
    Case("single_step_regret", turning_bandit, 1.0, (3 / 2 + _WIDTH) / (2 * _WIDTH + 2 * 2)),
    Case("episode_regret", turning_bandit, 1.0, 2 / (2 * _WIDTH + 4 * 2)),
    Case("sum_of_widths", turning_bandit, 1.0, (1 + _WIDTH) / _SUM_OF_WIDTHS),
    Case("sum_of_widths", turning_plane, 1.0, (2 + _WIDTH) / math.sqrt(3 * 2 * 2 * math.log(1 + 3 / 2))),
    Case("theorem", turning_bandit, 1.0, (1 + 2) / _BOUND),
    Case("fixed_share", turning_mixture, 1.0, 1.0),  # log 2 at once, and log 4/3 to stay
)


def audit_by_hand() -> Audit:
    """Return findings that hold where the ratio is exactly the one computed by hand."""
    findings, lengths = [], {}
    for case in CASES:
        subject, lemma, name = case.instance(case.ridge), LEMMAS[case.statement], case.instance.__name__
        views = [view for view in observe_run(subject) if isinstance(view, lemma.view)]
        evidence = Evidence(lemma, num_runs=1)
        evidence.check(0, views[case.t])
        findings.append(evidence.finding((name, f"λ = {case.ridge:g}"), DELTA, None, case.ratio))
        lengths[name] = subject.num_episodes
    return Audit("by hand", lengths, dict.fromkeys(lengths, 1), 1, 0, DELTA, tuple(findings), ())
