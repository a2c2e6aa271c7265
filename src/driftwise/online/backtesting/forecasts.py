"""Forecasts of many memories at once, one row ahead, and their scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.types import Forecast
from driftwise.base.validation import ArgumentError

AT_ONCE = 1 << 21  # numbers of the matrices that are held together


@dataclass(frozen=True)
class Memories:
    """Exponential weights of several lengths, then sliding windows, then the memory of everything."""

    lengths: tuple[int, ...]
    windows: tuple[int, ...] = ()

    @property
    def rates(self) -> np.ndarray:
        """`η` of each memory `[J]`; 1 for windows, from which rows are subtracted."""
        return np.array([*(1 - 1 / length for length in self.lengths), *(1.0 for _ in self.windows), 1.0])

    @property
    def names(self) -> list[str]:
        return [*map(str, self.lengths), *(f"window {length}" for length in self.windows), "all"]

    def sums(self, value: Callable[[int], np.ndarray], num_rows: int) -> Iterator[np.ndarray]:
        """`Σ_τ ω(t, τ) value(τ)` over earlier rows: `[J, ...]` before each row, valid until the next.

        Values are `[J, ...]`, or `[1, ...]` if they are the same for all. A window is summed anew whenever
        its length has passed, so that rounding does not accumulate.
        """
        rates = self.rates
        total = np.zeros((len(rates), *value(0).shape[1:]))
        rates = rates.reshape(-1, *[1] * (total.ndim - 1))
        windows = list(enumerate(self.windows, start=len(self.lengths)))
        for t in range(num_rows):
            yield total
            total *= rates
            total += value(t)
            for j, length in windows:
                if (t + 1) % length == 0:
                    total[j] = sum(_of(value(tau), j) for tau in range(t + 1 - length, t + 1))
                elif t >= length:
                    total[j] -= _of(value(t - length), j)


def _of(values: np.ndarray, j: int) -> np.ndarray:
    return values[j if len(values) > 1 else 0]


def forecasts(
    memories: Memories,
    features: np.ndarray,
    rewards: np.ndarray,
    ridge: float,
    progress: Callable[[int, int], None],
) -> Forecast:
    """Errors and variances `[n, J]` of the forecasts of every memory for features `[n, d]`.

    The matrices of many rows are kept, so that one call solves all of their equations.
    """
    num_rows, dim = features.shape
    shape = num_rows, len(memories.rates)
    error, variance = np.empty(shape), np.empty(shape)
    samples = np.column_stack([features, rewards])  # (φ, y)
    sums = memories.sums(lambda t: samples[t][None, :, None] * features[t], num_rows)  # Σωφφᵀ over Σωyφᵀ
    block = max(1, AT_ONCE // (shape[1] * dim * dim))
    for first in range(0, num_rows, block):
        rows = slice(first, first + block)
        moments = np.stack([each.copy() for each in islice(sums, len(features[rows]))])
        phi = features[rows, None, :]
        gram, cross = moments[..., :dim, :] + ridge * np.eye(dim), moments[..., dim, :]
        try:
            direction = np.linalg.solve(gram, phi[..., None])[..., 0]  # Λ⁻¹φ
        except np.linalg.LinAlgError:
            raise ArgumentError("ridge", "be large enough for such features", ridge) from None
        error[rows] = rewards[rows, None] - np.vecdot(direction, cross)
        variance[rows] = np.vecdot(direction, phi)
        progress(min(first + block, num_rows), num_rows)
    return Forecast(error, variance)


def fixed_scores(noise_scale: float, forecast: Forecast) -> np.ndarray:
    """Logarithms of the normal densities of the rewards at a given noise; 0 if that is 0."""
    if not noise_scale:
        return np.zeros_like(forecast.error)
    spread = noise_scale**2 * (1 + forecast.variance)
    return -0.5 * (np.log(2 * math.pi * spread) + forecast.error**2 / spread)


def hindsight_noise(forecast: Forecast) -> float:
    """The noise scale of the largest likelihood over all scales and memories.

    Given a memory it is the root of the mean of `e²/(1+v)`.
    """
    variances = forecast.squares.mean(axis=0)
    with np.errstate(divide="ignore"):
        likelihood = -np.log(variances) - np.log1p(forecast.variance).mean(axis=0)
    return math.sqrt(variances[likelihood.argmax()])


class Weighed(NamedTuple):
    """Scores of memories, of their mixture, and its weights."""

    scores: np.ndarray  # [n, J]
    mixture: np.ndarray  # [n]
    weights: np.ndarray  # [n, J] after each row
    noise: float  # learnt by the last row, if it is learnt


def weighed(agent: MixtureOfMemories, forecast: Forecast, noise_scale: float | None = None) -> Weighed:
    """Forecasts `[n, J]` as the agent scores and weighs them, or with a fixed noise instead."""
    learnt, prior = agent.noise, agent.sharing.prior(forecast.error)
    sums = learnt.init(agent.noise_forgetting, np.zeros(1))
    scores = np.empty_like(forecast.error) if noise_scale is None else fixed_scores(noise_scale, forecast)
    log_weights = np.empty((len(scores) + 1, len(prior)))
    log_weights[0] = np.log(prior)
    for t in range(len(scores)):
        if noise_scale is None:
            row = Forecast(forecast.error[t], forecast.variance[t])
            scores[t] = learnt.score(sums, row)
            squares = np.exp(log_weights[t]) @ row.squares
            sums = learnt.update(agent.noise_forgetting, sums, np.array([squares]))
        log_weights[t + 1] = agent.sharing.update(log_weights[t], scores[t], t + 1)
    raised = log_weights[:-1] + scores
    most = raised.max(axis=-1)
    mixture = most + np.log(np.exp(raised - most[:, None]).sum(axis=-1))
    return Weighed(scores, mixture, np.exp(log_weights[1:]), float(learnt.deviation(sums)[0]))
