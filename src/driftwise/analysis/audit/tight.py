"""Tight cases: instances that are small enough to do by hand, where both sides of a statement are known.

A live run shows that a bound is not too small there. In a tight case the share of the bound that is attained
is known exactly, so that half of a bound is found to be wrong, and twice of it too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftwise.analysis.audit.findings import Evidence, Finding
from driftwise.analysis.audit.lemmas import LEMMAS
from driftwise.analysis.audit.snapshot import views
from driftwise.analysis.audit.subject import Subject
from driftwise.base.types import Spec
from driftwise.environments import LinearBandit, LinearMdp
from driftwise.environments.arms import FixedArms
from driftwise.environments.drift import Abrupt
from driftwise.environments.paths import Mixture
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import LeastSquares

DELTA = 0.05
NUM_EPISODES = 2  # the model jumps before the second


def turning_bandit(ridge: float) -> Subject:
    """Two arms, x = ±1, whose parameter turns from −1 to 1; β = √λ."""
    path = Mixture(((-1.0,), (1.0,)), Abrupt((1,), num_anchors=2))
    environment = LinearBandit(FixedArms(((1.0,), (-1.0,))), path, noise_scale=0.0, name="turning_bandit")
    agent = LeastSquares(environment.spec, NoForgetting(), Ucb(math.sqrt(ridge)), ridge, clip="none")
    return Subject(agent, environment, NUM_EPISODES, DELTA)


def turning_mdp(ridge: float) -> Subject:
    """One action and two steps that pay 1 each; from any state it leads to the first, later to the second."""
    everywhere, pay = np.ones((2, 1, 1)), np.ones((2, 2, 1))
    mu = np.zeros((2, 2, 1, 2))
    mu[0, :, 0, 0] = mu[1, :, 0, 1] = 1.0
    environment = LinearMdp(everywhere, pay, mu, np.array([1.0, 0.0]), Abrupt((1,), num_anchors=2))
    agent = LeastSquares(Spec(2, 1, 1, 2), NoForgetting(), Ucb(10.0), ridge)
    return Subject(agent, environment, NUM_EPISODES, DELTA)


@dataclass(frozen=True)
class TightCase:
    """An instance, an episode of it, and the share of a statement's bound that is attained there."""

    statement: str
    instance: Callable[[float], Subject]
    ridge: float
    share: float
    t: int = 1  # the episode after the jump, of one sample before

    def finding(self) -> Finding:
        """Holds if exactly the share is attained, and is violated otherwise."""
        lemma, subject = LEMMAS[self.statement], self.instance(self.ridge)
        evidence = Evidence(lemma, num_runs=1)
        evidence.look(0, list(views(subject))[NUM_EPISODES if lemma.whole_run else self.t])
        name = f"{self.instance.__name__}, λ = {self.ridge:g}"
        return evidence.tight_finding("by hand", name, self.share)


# With λ = 1, after one sample: Λ = 2, w = −1/2, r̄ = 0, ‖φ‖ = 1/√2, bias_r = 2. The first policy is worth 0.
_WIDTH = math.sqrt(1 / 2)
_SUM_OF_WIDTHS = math.sqrt(2 * 2 * math.log(3))
_BOUND = 4 * math.sqrt(2 * math.log(4 / DELTA)) + 2 * _SUM_OF_WIDTHS + 4 * 2
TIGHT_CASES = (
    TightCase("reward_bias", turning_bandit, 99.0, 0.99),
    TightCase("reward_bias", turning_bandit, 1.0, 1 / 2),
    TightCase("sharp_reward_bias", turning_bandit, 1.0, 1.0),
    TightCase("transition_bias", turning_mdp, 99.0, 0.99),
    TightCase("transition_bias", turning_mdp, 1.0, 1 / 2),
    TightCase("sharp_transition_bias", turning_mdp, 1.0, 1.0),
    TightCase("reward_variance", turning_bandit, 1.0, 1.0, t=0),
    TightCase("weighted_features", turning_bandit, 1.0, 1 / 2),
    TightCase("bounded_weights", turning_mdp, 1.0, (1 + 2) / 2 / 4),
    TightCase("bounded_sandwich", turning_bandit, 1.0, 1.0, t=0),
    TightCase("determinant", turning_bandit, 1.0, 1.0),
    TightCase("concentration", turning_bandit, 1.0, 1 / 2 / _WIDTH),
    TightCase("key_lemma", turning_bandit, 1.0, 3 / 2 / (_WIDTH + 2 * 2)),
    TightCase("optimism", turning_bandit, 1.0, 3 / 2 / (_WIDTH + 2 * 2)),
    TightCase("single_step_regret", turning_bandit, 1.0, (3 / 2 + _WIDTH) / (2 * _WIDTH + 2 * 2)),
    TightCase("episode_regret", turning_bandit, 1.0, 2 / (2 * _WIDTH + 4 * 2)),
    TightCase("sum_of_widths", turning_bandit, 1.0, (1 + _WIDTH) / _SUM_OF_WIDTHS),
    TightCase("theorem", turning_bandit, 1.0, (1 + 2) / _BOUND),
)
