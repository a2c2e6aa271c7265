"""An audit that cannot fail is worthless: every algorithm that is broken on purpose is found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from driftwise.analysis.audit import subject
from driftwise.base.part import number, part
from driftwise.base.types import Forgetting, Moments, Numeric, Plan, Sample
from driftwise.environments import planning
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import ExponentialWeights, SlidingWindow
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.regression import contributions
from tests.analysis.test_audit import RATE, audited, violated
from tests.examples import BANDIT, NUM_EPISODES, SPEC, STATIONARY, agent, make, make_bandit


def _exponential(self: Any, tick: int) -> np.ndarray:
    return ExponentialWeights(self.rate).weights(tick)


def _as_it_is(self: Any, moments: Moments, sample: Sample) -> Moments:
    return moments


@part
class RebuiltGramSq:
    """Λ̃ is made from Λ in every round, as the authors' public D-LinUCB does."""

    rate: Numeric = number(above=0, at_most=1)
    weights, init = _exponential, _as_it_is

    def update(self, moments: Moments, sample: Sample) -> Moments:
        moments = ExponentialWeights(self.rate).update(moments, sample)
        return moments._replace(gram_sq=moments.gram)


@part
class OneTickLate:
    """The newest sample is already forgotten a little."""

    rate: Numeric = number(above=0, at_most=1)
    weights, init = _exponential, _as_it_is

    def update(self, moments: Moments, sample: Sample) -> Moments:
        gram, cross = contributions(sample, moments.cross.shape[-1] - 1)
        ready = moments._replace(gram=moments.gram + gram, cross=moments.cross + cross)
        return ExponentialWeights(self.rate).update(ready, sample._replace(count=0 * sample.count))


@part
class FadingRidge:
    """The ridge is forgotten with the samples."""

    rate: Numeric = number(above=0, at_most=1)
    weights, init = _exponential, _as_it_is

    def update(self, moments: Moments, sample: Sample) -> Moments:
        updated = ExponentialWeights(self.rate).update(moments, sample)
        ridge = (1 - self.rate) * moments.ridge * np.eye(moments.gram.shape[-1])
        return updated._replace(gram=updated.gram - ridge)


@part
class WindowOffByOne:
    """The window holds one sample more than it says."""

    length: Numeric = number(at_least=1, integer=True)

    def weights(self, tick: int) -> np.ndarray:
        return SlidingWindow(self.length).weights(tick)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return SlidingWindow(self.length + 1).init(moments, sample)

    def update(self, moments: Moments, sample: Sample) -> Moments:
        return SlidingWindow(self.length + 1).update(moments, sample)


BROKEN: dict[str, tuple[Forgetting, set[str]]] = {
    "gram_sq from gram": (RebuiltGramSq(RATE), {"gram_sq_recursion", "bonus"}),
    "one tick late": (OneTickLate(RATE), {"gram_recursion", "cross_recursion", "estimator"}),
    "fading ridge": (FadingRidge(RATE), {"gram_recursion", "bounded_sandwich", "bonus"}),
    "window off by one": (WindowOffByOne(5), {"gram_recursion", "gram_sq_recursion", "cross_recursion"}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_recursion_is_found(name: str) -> None:
    forgetting, expected = BROKEN[name]
    broken = LeastSquares(SPEC, forgetting, Ucb(0.4))
    found = audited(broken, make(drift=STATIONARY), beta_scale=1.0)
    assert expected <= violated(found)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_recursion_is_found_in_bandits(name: str) -> None:
    forgetting, _ = BROKEN[name]
    found = audited(LeastSquares(BANDIT, forgetting, Ucb(3.0), clip="none"), make_bandit(STATIONARY))
    assert {"gram_recursion", "gram_sq_recursion"} & violated(found)
    assert ("determinant" in violated(found)) == (name == "gram_sq from gram")


def test_a_bonus_of_nothing_is_found() -> None:
    found = audited(agent("opt_wlsvi"), make(drift=STATIONARY), beta_scale=0.0)
    assert {"concentration", "key_lemma", "optimism", "episode_regret"} <= violated(found)
    assert not violated(found) & {
        "gram_recursion",
        "gram_sq_recursion",
        "cross_recursion",
        "estimator",
        "bonus",
    }
    assert found["concentration"].worst_ratio == math.inf


def test_a_bonus_of_nothing_is_found_in_bandits() -> None:
    environment = make_bandit(STATIONARY, noise_scale=0.3)
    found = audited(agent("d_lin_ucb"), environment, beta_scale=0.0)
    assert {"concentration", "optimism", "single_step_regret"} <= violated(found)


def test_a_radius_that_is_too_small_is_found_in_most_runs() -> None:
    environment = make_bandit(STATIONARY, noise_scale=0.3)
    found = audited(agent("d_lin_ucb"), environment, beta_scale=0.2, num_runs=3)
    assert found["concentration"].violated
    assert found["concentration"].failing_runs == 3
    assert 0 < found["concentration"].violations < found["concentration"].checked


def test_a_wrong_plan_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = LeastSquares.plan

    def wrong(self: LeastSquares, *arguments: Any) -> Plan:
        plan = right(self, *arguments)
        return plan._replace(weights=1.1 * plan.weights, bonus=2 * plan.bonus)

    monkeypatch.setattr(LeastSquares, "plan", wrong)
    assert {"estimator", "bonus"} <= violated(audited(agent("opt_wlsvi"), make(drift=STATIONARY)))


def test_values_beyond_the_horizon_are_found() -> None:
    """Without the clip at H the estimates grow from step to step."""
    unclipped = LeastSquares(SPEC, ExponentialWeights(RATE), Ucb(1e5), clip="none")
    assert {"bounded_weights", "transition_concentration"} <= violated(audited(unclipped, make()))


def test_a_wrong_plan_of_the_true_model_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = planning.policy_values
    monkeypatch.setattr(planning, "policy_values", lambda *arguments: 1.01 * right(*arguments))
    assert "linear_q" in violated(audited(agent("lsvi_ucb"), make(drift=STATIONARY)))


def test_the_bias_lemma_as_printed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the masses μ(S) as they stand, the variation of probability measures is 0 whatever they do."""
    monkeypatch.setattr(subject, "_mass", lambda mu: np.linalg.norm(mu.sum(-1), axis=-1))
    assert violated(audited(agent("sw_lsvi_ucb"), make(), beta_scale=1.0)) == {"transition_bias"}


def test_drift_that_is_not_told_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    still = np.zeros((NUM_EPISODES - 1, 1))
    monkeypatch.setattr(subject.Subject, "moves", (still, still))
    found = audited(agent("lin_ucb"), make_bandit(noise_scale=0.3))
    assert violated(found) == {"reward_bias"}


def test_weights_that_do_not_fit_the_gram_are_found() -> None:
    late = LeastSquares(BANDIT, OneTickLate(RATE), Ucb(3.0), ridge=1e-3, clip="none")
    assert "weighted_features" in violated(audited(late, make_bandit(STATIONARY)))
