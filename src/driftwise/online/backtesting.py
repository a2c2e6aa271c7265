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
    ridge: float = 0.2,
    noise_scale: float | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Backtest:
    r"""Score the forecasts of every memory on a log, one row ahead.

    Before row $t$ is learnt from, the memory $j$ expects $m_j = \phi_t^\top w_j$ with a variance of
    $\sigma^2(1 + v_j)$, $v_j = \phi_t^\top\Lambda_j^{-1}\phi_t$. Its score is the logarithm of the density
    of the reward: $\log N(r_t;\, m_j,\, \sigma^2(1 + v_j))$ with a fixed noise $\sigma$, and Student's t
    with the noise that the mixture has learnt so far. The memories are those of `adaptive_lin_ucb`, which
    weighs them by the scores with learnt noise; here none of them has a fresh start. As there, features have
    a constant beside them, rewards are counted from the first one, and outliers are clipped: they count as
    far as ten standard deviations from the forecast of the heaviest memory.

    Args:
      features: $\phi_t$ of the actions that were taken, `[n, d]`, oldest first.
      memories: lengths $1/(1-\eta)$ of exponential weights; the memory of all rows is added.
      windows: lengths of sliding windows.
      ridge: $\lambda > 0$, as in `adaptive_lin_ucb`.
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
    assert isinstance(agent, MixtureOfMemories)
    names = [*map(str, lengths), *(f"window {length}" for length in windows), "all"]
    rates = np.array([*(1 - 1 / length for length in lengths), *(1.0 for _ in windows), 1.0])
    by_window = dict(enumerate(windows, start=len(lengths)))
    with np.errstate(all="ignore"):
        state = agent.set_origin(agent.initial_state(None, features), features[0], rewards[0])
        learnt = _Weighing(agent, len(rewards), len(names))
        forecast = forecast_rows(
            agent.extend(features, state.unit),
            rewards - state.origin,
            ridge,
            rates=rates,
            windows=by_window,
            progress=progress,
            excess=learnt.learn,
        )
        if noise_scale is None:  # the root of the mean of e²/(1 + v) of the likeliest memory
            variances = forecast.squares.mean(axis=0)
            likelihood = -np.log(variances) - np.log1p(forecast.variance).mean(axis=0)
            noise_scale = math.sqrt(variances[likelihood.argmax()])
        spread = noise_scale**2 * (1 + forecast.variance)
        fixed = _Weighing(agent, len(rewards), len(names))
        for row_spread, row_error in zip(spread, forecast.error, strict=True):
            row_scores = -0.5 * (np.log(2 * math.pi * row_spread) + row_error**2 / row_spread)
            fixed.weigh(row_scores if noise_scale > 0 else np.zeros(len(names)))
    scores, learnt_scores, mixture = fixed.scores, learnt.scores, fixed.mixture()
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
        learnt_noise=learnt.noise_scale,
        memories=tuple(scored),
        mixture=float(mixture.mean()),
        mixture_behind=normal_interval(best - mixture),
        learnt_mixture=float(learnt.mixture().mean()),
        gain=gain_of_the_best(scores[:, :-1], scores[:, -1]),
        at_rows=points + 1,
        weights=fixed.weights[points],
        learnt_weights=learnt.weights[points],
    )


def forecast_rows(
    features: np.ndarray,
    rewards: np.ndarray,
    ridge: float,
    *,
    rates: np.ndarray,
    windows: Mapping[int, int],
    progress: Callable[[int, int], None],
    excess: Callable[[Forecast], float] = lambda row: 0.0,
) -> Forecast:
    """Return errors and variances `[n, J]` of forecasts by all memories.

    `excess` returns what to add to a row's reward, from its forecasts `[J]`, before it is learnt from.
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
        added = excess(Forecast(forecast.error[t], forecast.variance[t]))
        forecast.error[t] += added
        columns[t, -1] += added
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


class _Weighing:
    """The weights of memories by the scores of their forecasts, as the mixture has them."""

    def __init__(self, agent: MixtureOfMemories, num_rows: int, num_memories: int) -> None:
        self.scores = np.zeros((num_rows, num_memories))
        self._log_weights = np.empty((num_rows + 1, num_memories))
        self._log_weights[0] = np.log(agent.sharing.prior(self._log_weights[0]))
        self._agent, self._rows = agent, 0
        self._noise = agent.noise.init(agent.noise_forgetting, np.zeros(1))

    def weigh(self, scores: np.ndarray) -> None:
        """Weigh the memories by the scores `[J]` of the next row."""
        t, self._rows = self._rows, self._rows + 1
        self.scores[t] = scores
        self._log_weights[t + 1] = self._agent.sharing.update(self._log_weights[t], scores, t + 1)

    def learn(self, row: Forecast) -> float:
        """Weigh the memories with the learnt noise; return what to add to the reward, an outlier or not."""
        agent, log_weights, errors = self._agent, self._log_weights[self._rows], self._noise.errors
        heaviest = log_weights.argmax()
        excess = agent.excess(errors, row.error[heaviest], row.variance[heaviest]).item()
        row = row._replace(error=row.error + excess)
        self.weigh(agent.noise.score(errors, row))
        squares = np.exp(log_weights) @ row.squares
        self._noise = agent.noise.update(agent.noise_forgetting, self._noise, np.array([squares]))
        return excess

    @property
    def weights(self) -> np.ndarray:
        """The weights `[n, J]` after each row."""
        return np.exp(self._log_weights[1:])

    @property
    def noise_scale(self) -> float:
        """The noise that is learnt by the last row."""
        return float(self._agent.noise.deviation(self._noise.errors)[0])

    def mixture(self) -> np.ndarray:
        """Return the scores `[n]` of the mixture."""
        joint = self._log_weights[:-1] + self.scores
        largest = joint.max(axis=-1)
        return largest + np.log(np.exp(joint - largest[:, None]).sum(axis=-1))
