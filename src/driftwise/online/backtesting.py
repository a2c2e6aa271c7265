"""Backtests: the forecasts that fixed memories would have made of the rewards of a log, one row ahead."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.adaptive import adaptive_lin_ucb
from driftwise.algorithms.unknown_variation.adaptive import memory_lengths as default_memories
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.types import Forecast, Spec
from driftwise.base.validation import ArgumentError, require_array, require_count, require_number
from driftwise.online.intervals import Interval, gain_of_the_best, normal_interval, possibly_best
from driftwise.online.limits import LARGEST_FEATURE, LARGEST_REWARD, require_within

_MAX_POINTS = 400  # rows at which weights are kept
_PROGRESS_EVERY = 64  # rows
_Scores = tuple[np.ndarray, np.ndarray, np.ndarray, float]  # memories, mixture, its weights; learnt noise


class MemoryScore(NamedTuple):
    """The forecasts of one memory, judged by means over all rows."""

    name: str
    rate: float | None  # η; None for a window
    score: float  # log density of the rewards, with the fixed noise
    behind: Interval  # the best memory's score less this one's
    may_be_best: bool
    learnt_score: float  # log density with the noise that the mixture had learnt
    error: float  # root of the mean squared error


@dataclass(frozen=True, eq=False)
class Backtest:
    """Scores of all memories on a log, of their mixture, and the memory that is advised."""

    rows: int
    dim: int
    ridge: float
    noise_scale: float  # the fixed one
    noise_given: bool  # False: the likeliest one in hindsight
    learnt_noise: float  # the noise scale that the mixture has learnt by the last row
    memories: tuple[MemoryScore, ...]  # the last one never forgets
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
        return max(self.memories, key=lambda memory: memory.score)

    @property
    def best_with_learnt_noise(self) -> MemoryScore:
        """The memory of the highest score, with the noise learnt."""
        return max(self.memories, key=lambda memory: memory.learnt_score)

    @property
    def may_be_best(self) -> tuple[str, ...]:
        """Memories that are not distinguishable from the best one, at 95 %."""
        return tuple(memory.name for memory in self.memories if memory.may_be_best)

    @property
    def forgetting(self) -> Literal["helps", "does not help", "open"]:
        """Whether forgetting helped on this log by more than chance, or the contrary, or neither."""
        return "helps" if self.gain.low > 0 else "does not help" if self.gain.high < 0 else "open"

    def to_json(self) -> dict[str, Any]:
        """Return all fields and conclusions as plain values."""
        arrays = {name: value.tolist() for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        names = {"advised": self.advised.name, "may_be_best": self.may_be_best, "forgetting": self.forgetting}
        return vars(self) | names | arrays


def backtest(
    features: Any,
    rewards: Any,
    *,
    memories: Sequence[int] = default_memories(),
    windows: Sequence[int] = (),
    ridge: float = 0.1,
    noise_scale: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Backtest:
    r"""Score the forecasts of every memory on a log, one row ahead.

    Before row $t$ is learnt from, the memory $j$ expects $m_j = \phi_t^\top w_j$ with a variance of
    $\sigma^2(1 + v_j)$, $v_j = \phi_t^\top\Lambda_j^{-1}\phi_t$. Its score is the logarithm of the density
    of the reward: $\log N(r_t;\, m_j,\, \sigma^2(1 + v_j))$ with a fixed noise $\sigma$, and Student's t
    with the noise that the mixture has learnt so far. The memories are those of `adaptive_lin_ucb`, which
    weighs them by the scores with learnt noise; here none of them has a fresh start.

    If some combination of the features is 1 in all rows, rewards are counted from the first one.

    Args:
      features: $\phi_t$ of the actions that were taken, `[n, d]`, oldest first.
      memories: lengths $1/(1-\eta)$ of exponential weights; the memory of all rows is added.
      windows: lengths of sliding windows.
      ridge: $\lambda > 0$, in units of the noise.
      noise_scale: the fixed noise $\sigma$; by default that of the largest likelihood in hindsight.
      progress: called as `progress(rows_done, rows)`.

    Example:
      >>> import numpy as np
      >>> rng = np.random.default_rng(0)
      >>> features = rng.normal(size=(600, 2))
      >>> theta = np.where(np.arange(600)[:, None] < 300, [1.0, 0.0], [0.0, 1.0])
      >>> result = backtest(features, (features * theta).sum(axis=1) + 0.1 * rng.normal(size=600))
      >>> result.forgetting
      'helps'
    """
    features = require_array("features", features, (None, None))
    if not features.size:
        raise ArgumentError("features", "have at least one row and one column", features.shape)
    require_within("features", features, LARGEST_FEATURE)
    rewards = require_array("rewards", rewards, (len(features),))
    require_within("rewards", rewards, LARGEST_REWARD)
    if noise_given := noise_scale is not None:
        noise_scale = require_number("noise_scale", noise_scale, above=0)
    lengths, windows = (
        sorted({require_count(name, value, at_least=at_least, bits=53) for value in values})
        for name, values, at_least in (("memories", memories, 2), ("windows", windows, 1))
    )
    if not (lengths or windows):
        raise ArgumentError("memories", "have at least one length, unless there are windows", memories)
    agent = adaptive_lin_ucb(Spec.bandit(dim=features.shape[1], num_arms=1), ridge=ridge)
    names = [*map(str, lengths), *(f"window {length}" for length in windows), "all"]
    rates = np.array([*(1 - 1 / length for length in lengths), *(1.0 for _ in windows), 1.0])
    by_window = dict(enumerate(windows, start=len(lengths)))
    with np.errstate(all="ignore"):
        weights = np.linalg.pinv(features.T @ features, hermitian=True) @ features.sum(axis=0)
        if np.abs(features @ weights - 1).max() < 1e-6:
            rewards = rewards - rewards[0]
        forecast = forecast_rows(features, rewards, ridge, rates=rates, windows=by_window, progress=progress)
        if noise_scale is None:  # the root of the mean of e²/(1 + v) of the likeliest memory
            variances = forecast.squares.mean(axis=0)
            likelihood = -np.log(variances) - np.log1p(forecast.variance).mean(axis=0)
            noise_scale = math.sqrt(variances[likelihood.argmax()])
        scores, mixture, mixture_weights, _ = _mix(agent, forecast, noise_scale)
        learnt_scores, learnt_mixture, learnt_weights, learnt_noise = _mix(agent, forecast)
    if not (np.isfinite(learnt_scores).all() and np.isfinite(scores).all()):
        raise ArgumentError("ridge", "be large enough for such features and rewards", ridge)
    best, may_be_best = scores[:, scores.mean(axis=0).argmax()], possibly_best(scores)
    points = np.unique(np.linspace(0, len(rewards) - 1, min(len(rewards), _MAX_POINTS)).round().astype(int))
    scored = list[MemoryScore]()
    for j, name in enumerate(names):
        rate, behind = None if j in by_window else float(rates[j]), normal_interval(best - scores[:, j])
        score, learnt_score = float(scores[:, j].mean()), float(learnt_scores[:, j].mean())
        error = float(np.sqrt((forecast.error[:, j] ** 2).mean()))
        scored.append(MemoryScore(name, rate, score, behind, bool(may_be_best[j]), learnt_score, error))
    return Backtest(
        rows=len(rewards),
        dim=features.shape[1],
        ridge=ridge,
        noise_scale=noise_scale,
        noise_given=noise_given,
        learnt_noise=learnt_noise,
        memories=tuple(scored),
        mixture=float(mixture.mean()),
        mixture_behind=normal_interval(best - mixture),
        learnt_mixture=float(learnt_mixture.mean()),
        gain=gain_of_the_best(scores[:, :-1], scores[:, -1]),
        at_rows=points + 1,
        weights=mixture_weights[points],
        learnt_weights=learnt_weights[points],
    )


def forecast_rows(
    features: np.ndarray,
    rewards: np.ndarray,
    ridge: float,
    *,
    rates: np.ndarray,
    windows: Mapping[int, int],
    progress: Callable[[int, int], None],
) -> Forecast:
    """Return errors and variances `[n, J]` of forecasts by all memories.

    `windows` maps memories of rate 1 to their window lengths; a window is summed again after its length,
    against rounding.
    """
    num_rows, dim = features.shape
    forecast = Forecast(*np.empty((2, num_rows, len(rates))))
    sums, penalty = np.zeros((len(rates), dim + 1, dim)), ridge * np.eye(dim)  # Σωφφᵀ over Σωyφᵀ
    columns = np.column_stack([features, rewards])[:, :, None]
    for t, phi in enumerate(features):
        try:
            direction = np.linalg.solve(sums[:, :-1] + penalty, phi[:, None])[..., 0]  # Λ⁻¹φ
        except np.linalg.LinAlgError:
            raise ArgumentError("ridge", "be large enough for such features", ridge) from None
        forecast.error[t] = rewards[t] - np.vecdot(direction, sums[:, -1])
        forecast.variance[t] = np.vecdot(direction, phi)
        sums *= rates[:, None, None]
        sums += columns[t] * phi
        done = t + 1
        for j, length in windows.items():
            if done % length == 0:
                sums[j] = sum(columns[i] * features[i] for i in range(done - length, done))
            elif done > length:
                sums[j] -= columns[t - length] * features[t - length]
        if done % _PROGRESS_EVERY == 0 or done == num_rows:
            progress(done, num_rows)
    return forecast


def _mix(agent: MixtureOfMemories, forecast: Forecast, noise_scale: float | None = None) -> _Scores:
    """Score and weigh forecasts `[n, J]` as the agent does, or with a fixed noise instead."""
    learnt, prior = agent.noise, agent.sharing.prior(forecast.error)
    sums = learnt.init(agent.noise_forgetting, np.zeros(1))
    scores = np.zeros_like(forecast.error)
    if noise_scale:
        spread = noise_scale**2 * (1 + forecast.variance)
        scores = -0.5 * (np.log(2 * math.pi * spread) + forecast.error**2 / spread)
    log_weights = np.empty((len(scores) + 1, len(prior)))
    log_weights[0] = np.log(prior)
    for t in range(len(scores)):
        if noise_scale is None:
            row = Forecast(forecast.error[t], forecast.variance[t])
            scores[t] = learnt.score(sums.errors, row)
            squares = np.exp(log_weights[t]) @ row.squares
            sums = learnt.update(agent.noise_forgetting, sums, np.array([squares]))
        log_weights[t + 1] = agent.sharing.update(log_weights[t], scores[t], t + 1)
    joint = log_weights[:-1] + scores
    largest = joint.max(axis=-1)
    mixture = largest + np.log(np.exp(joint - largest[:, None]).sum(axis=-1))
    return scores, mixture, np.exp(log_weights[1:]), float(learnt.deviation(sums.errors)[0])
