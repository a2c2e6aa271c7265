"""scikit-learn: its own checks, the definition of forgetting, the bandits' bounds, and its transformers."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from driftwise.online import Bandit, EpisodicAgent
from driftwise.online.estimator import ForgettingRegressor, UcbPolicy
from driftwise.online.features import PerAction, Transformed
from driftwise.parts import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow

FORGETTINGS = [NoForgetting(), ExponentialWeights(0.9), SlidingWindow(7), PeriodicRestart(20), 0.8]


def rows(num: int = 50, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    given = rng.normal(size=(num, 3))
    return given, given @ [1.0, -2.0, 0.5] + 3.0 + 0.1 * rng.normal(size=num)


@parametrize_with_checks(
    [ForgettingRegressor(), ForgettingRegressor(SlidingWindow(150), fit_intercept=False)]
)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("forgetting", FORGETTINGS, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_it_is_ridge_regression_with_the_weights_of_its_forgetting(forgetting, fit_intercept):
    given, targets = rows()
    regressor = ForgettingRegressor(forgetting, ridge=0.3, fit_intercept=fit_intercept).fit(given, targets)
    part = ExponentialWeights(forgetting) if isinstance(forgetting, float) else forgetting
    known = np.hstack([given, np.ones((len(given), 1))]) if fit_intercept else given
    ridge = Ridge(0.3, fit_intercept=False).fit(known, targets, sample_weight=part.weights(len(given)))
    np.testing.assert_allclose(
        [*regressor.coef_, regressor.intercept_][: known.shape[1]], ridge.coef_, rtol=1e-9
    )
    np.testing.assert_allclose(regressor.predict(given), ridge.predict(known), rtol=1e-9)


@pytest.mark.parametrize("forgetting", FORGETTINGS, ids=str)
def test_part_after_part_is_as_all_at_once_and_fit_begins_anew(forgetting):
    given, targets = rows()
    whole, parts = ForgettingRegressor(forgetting).fit(given, targets), ForgettingRegressor(forgetting)
    parts.fit(given[:5], -targets[:5])
    parts.fit(given[:1], targets[:1])
    for start, end in ((1, 20), (20, 21), (21, 50)):
        parts.partial_fit(given[start:end], targets[start:end])
    for mine, its in zip(
        parts.predict(given, return_std=True), whole.predict(given, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(mine, its)


def test_its_standard_deviation_is_that_of_repeated_noise():
    given, _ = rows(40)
    rng, predicted = np.random.default_rng(1), []
    mean = given @ [0.3, 0.2, -0.1]
    regressor = ForgettingRegressor(0.95, ridge=1e-6, fit_intercept=False, noise_scale=0.5)
    for _ in range(400):
        predicted.append(regressor.fit(given, mean + 0.5 * rng.normal(size=40)).predict(given[:3]))
    _, std = regressor.predict(given[:3], return_std=True)
    np.testing.assert_allclose(np.std(predicted, axis=0), std, rtol=0.1)


def test_an_unseen_rate_can_be_searched_for_in_order_of_time():
    given, targets = rows(120)
    targets = np.where(np.arange(120) < 60, targets, -targets)
    search = GridSearchCV(ForgettingRegressor(), dict(forgetting=[0.8, 1.0]), cv=TimeSeriesSplit(5))
    assert search.fit(given, targets).best_params_ == dict(forgetting=0.8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(forgetting=1.5), r"^forgetting must be a number in \(0, 1\], got 1.5$"),
        (dict(forgetting="slowly"), r"^forgetting must be a number in \(0, 1\], got 'slowly'$"),
        (dict(ridge=0.0), "^ridge must be a number above 0, got 0.0$"),
    ],
)
def test_bad_parameters_are_named_when_it_learns(options: dict[str, Any], message):
    with pytest.raises(ValueError, match=message):
        ForgettingRegressor(**options).fit(*rows())


def test_what_cannot_be_learnt_changes_nothing():
    given, targets = rows()
    regressor = ForgettingRegressor(SlidingWindow(7)).fit(given, targets)
    before = regressor.predict(given)
    for bad in (
        (given[:, :2], targets),
        (given * np.nan, targets),
        (given, targets[:3]),
        (given[:0], targets[:0]),
        (given * 1e9, targets),
        (given, targets * 1e200),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            regressor.partial_fit(*bad)
    np.testing.assert_array_equal(regressor.predict(given), before)


def test_the_policy_is_the_bandit_with_a_block_for_each_arm():
    rng = np.random.default_rng(0)
    policy = UcbPolicy(3, forgetting=0.95, radius=0.7, fit_intercept=False)
    bandit = Bandit("d_lin_ucb", dim=6, rate=0.95, radius=0.7)
    policy.partial_fit(contexts := rng.normal(size=(1, 2)), [0], [0.5])
    bandit.learn(bandit.decide(np.kron(np.eye(3), contexts[0])[:1]).id, 0.5)
    taken = set()
    for _ in range(60):
        context = rng.normal(size=(1, 2))
        decision = bandit.decide(np.kron(np.eye(3), context[0]))
        bounds = policy.upper_bounds(context)[0]
        assert bounds[decision.arm] == pytest.approx(decision.index, abs=1e-9)
        assert policy.predict(context).shape == (1,)
        assert bounds[policy.predict(context)[0]] == bounds.max() == pytest.approx(decision.index, abs=1e-9)
        reward = float(context[0, 0] * (decision.arm - 1))
        policy.partial_fit(context, [decision.arm], [reward])
        bandit.learn(decision.id, reward)
        taken.add(decision.arm)
    assert taken == {0, 1, 2}


def test_a_policy_learns_which_arm_is_for_whom():
    rng = np.random.default_rng(0)
    contexts, arms = rng.normal(size=(300, 2)), rng.integers(2, size=300)
    best = (contexts[:, 0] > 0.3).astype(int)
    rewards = np.where(arms == 1, contexts[:, 0], 0.3)  # needs an intercept
    policy = UcbPolicy(2, forgetting=1.0, radius=0.1).partial_fit(contexts, arms, rewards)
    assert (policy.predict(contexts) == best).mean() > 0.95


@pytest.mark.parametrize("arms", [[2], [-1], [0.5], [0, 1]])
def test_arms_that_are_not_there_are_refused(arms):
    with pytest.raises(ValueError, match=r"^arms must be a list of integers from 0 to 1, got|inconsistent"):
        UcbPolicy(2).partial_fit(np.ones((1, 2)), arms, [0.5])


TRANSFORMERS = {
    "polynomial": make_pipeline(StandardScaler(), PolynomialFeatures(2)),
    "nystroem": make_pipeline(StandardScaler(), Nystroem(n_components=8, random_state=0)),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_its_transformers_are_features(name):
    states, _ = rows(60)
    basis = Transformed.fitted(clone(TRANSFORMERS[name]), states)
    made = np.array([basis(state) for state in states])
    np.testing.assert_allclose(made, basis.transformer.transform(states) / basis.scale, atol=1e-12)
    assert np.linalg.norm(made, axis=1).max() == pytest.approx(1)
    assert np.linalg.norm(basis(100 * states[0])) <= 1 + 1e-12
    agent = EpisodicAgent(
        "opt_wlsvi", features=PerAction(basis, 2), horizon=1, rate=0.9, radius=0.1, ridge=0.01
    )
    for state in states:
        agent.begin(state)
        agent.observe(float(agent.act()), state)
    agent.begin(states[0])
    assert agent.act() == 1  # which earns 1, wherever it is
