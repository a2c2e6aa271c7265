"""The backtest: every memory on one log, and what that says about forgetting."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.adaptive import adaptive_lin_ucb, memories
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_array, require_count, require_number
from driftwise.online.backtesting.comparison import Interval, gain_of_the_best, mean_interval, possibly_best
from driftwise.online.backtesting.forecasts import (
    Memories,
    forecasts,
    hindsight_noise,
    weighed,
)
from driftwise.online.limits import LARGEST_FEATURE, LARGEST_REWARD, require_within

POINTS = 400  # rows at which weights are kept, at most
RIDGE = 0.1  # as of `adaptive_lin_ucb`
MEMORIES = memories()  # the same


class MemoryScore(NamedTuple):
    """How well a memory forecast the log; scores are means over rows."""

    name: str
    rate: float | None  # η; None for a window
    score: float  # logarithm of the density of what came, the noise fixed
    behind: Interval  # the best memory's score less this one's
    may_be_best: bool
    learnt_score: float  # the same with the noise that the mixture had learnt
    error: float  # root of the mean squared error


@dataclass(frozen=True, eq=False)
class Backtest:
    """Scores of all memories on a log, of their mixture, and the memory that is advised."""

    rows: int
    dim: int
    ridge: float
    noise_scale: float  # the fixed one
    noise_given: bool  # else it is the best in hindsight
    learnt_noise: float  # the noise scale that the mixture has learnt by the last row
    memories: tuple[MemoryScore, ...]  # that of everything is last
    mixture: float  # mean score of the mixture
    mixture_behind: Interval  # the best memory's score less the mixture's
    learnt_mixture: float
    gain: Interval  # the best forgetting memory's score less that of never forgetting
    at_rows: np.ndarray  # [P] rows, counted from 1
    weights: np.ndarray  # [P, J] of the mixture after these
    learnt_weights: np.ndarray

    @property
    def advised(self) -> MemoryScore:
        """The memory of the highest score, with the noise fixed."""
        return max(self.memories, key=lambda each: each.score)

    @property
    def best_with_learnt_noise(self) -> MemoryScore:
        """The memory of the highest score if the noise is learnt."""
        return max(self.memories, key=lambda each: each.learnt_score)

    @property
    def may_be_best(self) -> tuple[str, ...]:
        """Memories that are not distinguishable from the best one, at 95 %."""
        return tuple(each.name for each in self.memories if each.may_be_best)

    @property
    def forgetting(self) -> Literal["helps", "does not help", "open"]:
        """Whether forgetting helped on this log by more than chance, or the contrary, or neither."""
        return "helps" if self.gain.low > 0 else "does not help" if self.gain.high < 0 else "open"

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        found = {"advised": self.advised.name, "may_be_best": self.may_be_best, "forgetting": self.forgetting}
        arrays = ("at_rows", "weights", "learnt_weights")
        return own | found | {name: getattr(self, name).tolist() for name in arrays}


def backtest(
    features: Any,
    rewards: Any,
    *,
    memories: Sequence[int] = MEMORIES,
    windows: Sequence[int] = (),
    ridge: float = RIDGE,
    noise_scale: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Backtest:
    r"""Score the forecasts of every memory on a log, one row ahead.

    Before row $t$ is learnt from, the memory $j$ expects $m_j = \phi_t^\top w_j$ with a variance of
    $\sigma^2(1 + v_j)$, $v_j = \phi_t^\top\Lambda_j^{-1}\phi_t$. Its score is the logarithm of the density
    of the reward: $\log N(r_t;\, m_j,\, \sigma^2(1 + v_j))$ with a fixed noise $\sigma$, and Student's t
    with the noise that the mixture has learnt so far. All memories learn from every row, whoever chose
    the action. They are those of `adaptive_lin_ucb`, which weighs them by the scores with learnt noise;
    here none of them has a fresh start.

    If some combination of the features is 1 in all rows, rewards are counted from the first one: the ridge
    then shrinks no level.

    Args:
      features: $\phi_t$ of the actions that were taken, `[n, d]`, oldest first.
      rewards: `[n]`.
      memories: lengths $1/(1-\eta)$ of exponential weights; the memory of everything comes besides.
      windows: lengths of sliding windows.
      ridge: $\lambda > 0$, in units of the noise.
      noise_scale: the fixed noise $\sigma$; by default that of the largest likelihood in hindsight.
      progress: called as `progress(rows_done, rows)`.

    Example:
      >>> import numpy as np
      >>> rng = np.random.default_rng(0)
      >>> features = rng.normal(size=(600, 2))
      >>> theta = np.where(np.arange(600)[:, None] < 300, [1.0, 0.0], [0.0, 1.0])
      >>> found = backtest(features, (features * theta).sum(axis=1) + 0.1 * rng.normal(size=600))
      >>> found.forgetting
      'helps'
    """
    features = require_array("features", features, (None, None))
    if not features.size:
        raise ArgumentError("features", "have at least one row and one column", features.shape)
    require_within("features", features, LARGEST_FEATURE)
    rewards = require_array("rewards", rewards, (len(features),))
    require_within("rewards", rewards, LARGEST_REWARD)
    given = noise_scale is not None
    if given:
        noise_scale = require_number("noise_scale", noise_scale, above=0)
    candidates = Memories(_lengths("memories", memories, 2), _lengths("windows", windows, 1))
    if len(candidates.names) < 2:
        raise ArgumentError("memories", "have at least one length, unless there are windows", memories)
    agent = adaptive_lin_ucb(Spec.bandit(dim=features.shape[1], num_arms=1), ridge=ridge)
    with np.errstate(all="ignore"):
        forecast = forecasts(candidates, features, _centred(features, rewards), ridge, progress)
        noise_scale = noise_scale if noise_scale is not None else hindsight_noise(forecast)
        by_learnt, by_fixed = weighed(agent, forecast), weighed(agent, forecast, noise_scale)
    learnt, fixed = by_learnt.scores, by_fixed.scores
    if not (np.isfinite(learnt).all() and np.isfinite(fixed).all()):
        raise ArgumentError("ridge", "be large enough for such features and rewards", ridge)
    best = fixed[:, fixed.mean(axis=0).argmax()]
    points = np.unique(np.linspace(0, len(rewards) - 1, min(len(rewards), POINTS)).round().astype(int))
    return Backtest(
        rows=len(rewards),
        dim=features.shape[1],
        ridge=ridge,
        noise_scale=noise_scale,
        noise_given=given,
        learnt_noise=by_learnt.noise,
        memories=tuple(
            MemoryScore(
                name=name,
                rate=None if name.startswith("window") else float(rate),
                score=float(fixed[:, j].mean()),
                behind=mean_interval(best - fixed[:, j]),
                may_be_best=bool(possible),
                learnt_score=float(learnt[:, j].mean()),
                error=float(np.sqrt((forecast.error[:, j] ** 2).mean())),
            )
            for j, (name, rate, possible) in enumerate(
                zip(candidates.names, candidates.rates, possibly_best(fixed), strict=True)
            )
        ),
        mixture=float(by_fixed.mixture.mean()),
        mixture_behind=mean_interval(best - by_fixed.mixture),
        learnt_mixture=float(by_learnt.mixture.mean()),
        gain=gain_of_the_best(fixed[:, :-1], fixed[:, -1]),
        at_rows=points + 1,
        weights=by_fixed.weights[points],
        learnt_weights=by_learnt.weights[points],
    )


def _lengths(name: str, values: Sequence[int], at_least: int) -> tuple[int, ...]:
    return tuple(sorted({require_count(name, value, at_least=at_least, bits=53) for value in values}))


def _centred(features: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """Rewards counted from the first one, if some combination of the features is 1 in all rows."""
    gram, ones = features.T @ features, features.sum(axis=0)
    combined = features @ (np.linalg.pinv(gram, hermitian=True) @ ones)
    return rewards - rewards[0] if np.abs(combined - 1).max() < 1e-6 else rewards
