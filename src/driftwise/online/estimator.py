"""Regression with forgetting, and a policy that uses it, as estimators of scikit-learn."""

from typing import Any, Self

import numpy as np

from driftwise.base.arrays import spd_inverse
from driftwise.base.extras import require_extra
from driftwise.base.types import Forgetting, Sample
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.online.limits import LARGEST_FEATURE, LARGEST_REWARD, require_within
from driftwise.parts import ExponentialWeights
from driftwise.parts.regression import empty_moments

with require_extra("driftwise.online.estimator", "sklearn"):
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

_validate: Any = validate_data  # its declared return type depends on more than its arguments' types


class ForgettingRegressor(RegressorMixin, BaseEstimator):
    r"""Ridge regression on rows in the order of time; old rows have less weight.

    With the weights $\omega$ of `forgetting`, a part or the rate η of exponential weights,
    $\Lambda = \sum\omega\phi\phi^\top + \lambda I$ and $w = \Lambda^{-1}\sum\omega\phi y$: the least squares
    of the bandits. Rows are in order of their age, so there is no `sample_weight`. With an intercept, φ is a
    row with a 1 behind it. `noise_scale` is the standard deviation of the noise in y, for `return_std`.
    """

    def __init__(
        self,
        forgetting: Forgetting | float = 0.99,
        *,
        ridge: float = 1.0,
        fit_intercept: bool = True,
        noise_scale: float = 1.0,
    ) -> None:
        self.forgetting, self.ridge = forgetting, ridge
        self.fit_intercept, self.noise_scale = fit_intercept, noise_scale

    def fit(self, X: Any, y: Any) -> Self:
        """Start over, and learn from these rows, the oldest first."""
        return self._learn(X, y, restart=True)

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn from rows newer than all before."""
        return self._learn(X, y, restart=not hasattr(self, "moments_"))

    def predict(self, X: Any, return_std: bool = False) -> Any:
        r"""Return $\phi^\top w$; with `return_std` also its standard deviation, as in confidence bounds.

        That is $\sigma\sqrt{\phi^\top\Lambda^{-1}\tilde\Lambda\Lambda^{-1}\phi}$ with
        $\tilde\Lambda = \sum\omega^2\phi\phi^\top + \lambda I$; the noise of a new y is not included.
        """
        check_is_fitted(self)
        rows = _validate(self, X, dtype=np.float64, reset=False)
        mean = rows @ self.coef_ + self.intercept_
        if not return_std:
            return mean
        gram, gram_sq = self.moments_.gram, self.moments_.gram_sq
        mapped = _with_intercept(rows, self.fit_intercept) @ spd_inverse(gram)
        squares = np.vecdot(mapped @ (gram if gram_sq is None else gram_sq), mapped)
        return mean, require_number("noise_scale", self.noise_scale, at_least=0) * np.sqrt(squares)

    def _learn(self, X: Any, y: Any, *, restart: bool) -> Self:
        forgetting = self.forgetting
        if not isinstance(forgetting, Forgetting):
            forgetting = ExponentialWeights(require_number("forgetting", forgetting, above=0, at_most=1))
        ridge = require_number("ridge", self.ridge, above=0)
        rows, targets = _validate(self, X, y, dtype=np.float64, y_numeric=True, reset=restart)
        require_within("X", rows, LARGEST_FEATURE)
        require_within("y", targets, LARGEST_REWARD)
        pairs = zip(_with_intercept(rows, self.fit_intercept), targets, strict=True)
        samples = [Sample(row, np.float64(target), np.int64(0), np.float64(1)) for row, target in pairs]
        if restart:
            self.moments_ = forgetting.init(empty_moments(samples[0], 0, ridge, gram_sq=True), samples[0])
        for sample in samples:
            self.moments_ = forgetting.update(self.moments_, sample)
        weights = spd_inverse(self.moments_.gram) @ self.moments_.cross[:, 0]
        self.coef_ = weights[: rows.shape[1]]
        self.intercept_ = float(weights[-1]) if self.fit_intercept else 0.0
        return self


class UcbPolicy(BaseEstimator):
    r"""A choice of arms in a context $x$ by upper confidence bounds on their rewards.

    $\arg\max_a w_a^\top x + \beta\,\text{std}_a(x)$, with one `ForgettingRegressor` for all arms on
    $e_a \otimes x$ and one clock: an arm that is not chosen is forgotten, and becomes uncertain again.
    `radius` is β, for noise of scale 1; an intercept is one of each arm.
    """

    def __init__(
        self,
        num_arms: int = 2,
        *,
        forgetting: Forgetting | float = 0.99,
        ridge: float = 1.0,
        radius: float = 1.0,
        fit_intercept: bool = True,
    ) -> None:
        self.num_arms, self.forgetting, self.ridge = num_arms, forgetting, ridge
        self.radius, self.fit_intercept = radius, fit_intercept

    def fit(self, X: Any, arms: Any, rewards: Any) -> Self:
        """Start over, and learn rewards of arms chosen in contexts `[N, n]`, the oldest first."""
        return self._learn(X, arms, rewards, restart=True)

    def partial_fit(self, X: Any, arms: Any, rewards: Any) -> Self:
        """Learn from contexts newer than all before."""
        return self._learn(X, arms, rewards, restart=not hasattr(self, "regressor_"))

    def predict(self, X: Any) -> np.ndarray:
        """Return an arm for each context; of equal arms the first."""
        return self.upper_bounds(X).argmax(axis=1)

    def upper_bounds(self, X: Any) -> np.ndarray:
        """Return upper confidence bounds on the reward of each arm in each context: `[N, num_arms]`."""
        check_is_fitted(self)
        contexts = _validate(self, X, dtype=np.float64, reset=False)
        actions = self._features(contexts[:, None], np.arange(self.num_arms))
        mean, std = self.regressor_.predict(actions.reshape(-1, actions.shape[-1]), return_std=True)
        return (mean + std).reshape(actions.shape[:2])

    def _learn(self, X: Any, arms: Any, rewards: Any, *, restart: bool) -> Self:
        num_arms = require_count("num_arms", self.num_arms)
        taken = np.asarray(arms)
        if taken.ndim != 1 or taken.dtype.kind not in "iu" or ((taken < 0) | (taken >= num_arms)).any():
            raise ArgumentError("arms", f"be a list of integers from 0 to {num_arms - 1}", arms)
        contexts, earned = _validate(self, X, rewards, dtype=np.float64, y_numeric=True, reset=restart)
        check_consistent_length(contexts, taken)
        settings: dict[str, Any] = dict(ridge=self.ridge, fit_intercept=False, noise_scale=self.radius)
        regressor = ForgettingRegressor(self.forgetting, **settings) if restart else self.regressor_
        self.regressor_ = regressor.partial_fit(self._features(contexts, taken), earned)
        return self

    def _features(self, contexts: np.ndarray, arms: np.ndarray) -> np.ndarray:
        """Return `e_a ⊗ x` of contexts `[..., n]` and arms `[...]`, which are broadcast."""
        rows = _with_intercept(contexts, self.fit_intercept)[..., None, :]
        product = np.eye(self.num_arms)[arms][..., None] * rows
        return product.reshape(*product.shape[:-2], -1)


def _with_intercept(rows: np.ndarray, fit_intercept: bool) -> np.ndarray:
    """Return rows, with a 1 appended for an intercept."""
    return np.concatenate([rows, np.ones((*rows.shape[:-1], 1))], axis=-1) if fit_intercept else rows
