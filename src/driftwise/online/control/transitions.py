"""Transitions of a control problem, and memories that forecast them and are weighed by that."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftwise.online.control.shared_steps import Range

SAMPLES = 20  # the most that the dependent steps of an episode count as
_SCORES_KEPT, _ERRORS_KEPT = 0.9, 0.97  # of the scores of memories, and of sums of errors, per episode
_WORST_SCORE = -50.0
_EXPLAINED = 1e-3  # of the variance of what is forecast, which no forecast has to explain


class Transitions(NamedTuple):
    """Steps in the order of time."""

    states: np.ndarray  # [n, k] vectors of observations
    actions: np.ndarray  # [n] numbers
    rewards: np.ndarray  # [n]
    next_states: np.ndarray  # [n, k]
    ended: np.ndarray  # [n] whether the episode was over

    @classmethod
    def none(cls, num: int) -> "Transitions":
        """Return no transitions, of vectors of so many numbers."""
        actions, ended = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        return cls(np.zeros((0, num)), actions, np.zeros(0), np.zeros((0, num)), ended)

    def __len__(self) -> int:
        return len(self.actions)

    def take(self, rows: Any) -> "Transitions":
        """Return some of them."""
        return Transitions(*(array[rows] for array in self))

    def outputs(self) -> np.ndarray:
        """Return what is forecast, `[n, k + 1]`: the change of the state, and the reward."""
        return np.column_stack([self.next_states - self.states, self.rewards])


@dataclass(frozen=True)
class ControlOptions:
    """Numbers of an agent for control; `EpisodicAgent.for_env` explains them."""

    num_actions: int
    num_states: int | None  # if states can be counted
    discount: float
    horizon: int | None
    memories: tuple[int | None, ...]
    bonus: float
    ridge: float
    num_features: int
    capacity: int
    reward_range: Range | None
    seed: int

    @property
    def rates(self) -> np.ndarray:
        """Forgetting rates of the memories, by episodes."""
        return np.array([1.0 if length is None else math.exp(-1 / length) for length in self.memories])


class Memories(NamedTuple):
    """Sums of regressions of the outputs on features, of J memories for A actions, and their scores."""

    grams: np.ndarray  # [J, A, d, d] without the ridge
    crosses: np.ndarray  # [J, A, d, m]
    errors: np.ndarray  # [J, m] sums of squared errors of forecasts
    counts: np.ndarray  # [J] samples in these
    scores: np.ndarray  # [J] logarithms of weights

    @classmethod
    def empty(cls, num: int, num_actions: int, size: int, num_outputs: int) -> "Memories":
        """Return the sums over nothing."""
        grams = np.zeros((num, num_actions, size, size))
        crosses = np.zeros((num, num_actions, size, num_outputs))
        return cls(grams, crosses, np.zeros((num, num_outputs)), np.zeros(num), np.zeros(num))

    @classmethod
    def of(cls, rows: np.ndarray, kept: Transitions, ages: np.ndarray, options: ControlOptions) -> "Memories":
        """Return the sums over transitions with features `[n, d]`, which are so many episodes old."""
        actions, outputs = kept.actions, kept.outputs()
        num, size = options.num_actions, rows.shape[1]
        sums = cls.empty(len(options.memories), num, size, outputs.shape[1])
        for action in range(num):
            at = actions == action
            for j, rate in enumerate(options.rates):
                weighted = rows[at].T * rate ** ages[at]
                sums.grams[j, action] = weighted @ rows[at]
                sums.crosses[j, action] = weighted @ outputs[at]
        return sums

    def absorb(self, rows: np.ndarray, episode: Transitions, options: ControlOptions) -> None:
        """Add the transitions of an episode, with features `[n, d]`, to the sums, in place."""
        outputs = episode.outputs()
        for sums in (self.grams, self.crosses):
            sums *= options.rates[:, None, None, None]
        for action in range(options.num_actions):
            chosen = rows[episode.actions == action]
            self.grams[:, action] += chosen.T @ chosen
            self.crosses[:, action] += chosen.T @ outputs[episode.actions == action]

    def noise(self, spread: np.ndarray) -> np.ndarray:
        """Return the variances `[J, m]` of errors of forecasts of outputs with variances `[m]`."""
        return self.errors / np.maximum(self.counts, 1)[:, None] + _EXPLAINED * spread

    def weigh(self, errors: np.ndarray, variances: np.ndarray, spread: np.ndarray) -> "Memories":
        """Return the memories scored by errors `[J, n, m]` and variances `[J, n]` of their forecasts.

        The noise is the world's, so it is the same for all: the least that a memory has.
        """
        doubt, count = 1 + variances[..., None], min(errors.shape[1], SAMPLES)
        fits = student_density(errors**2, self.noise(spread).min(axis=0) * doubt).mean(axis=1)
        scores = _SCORES_KEPT * self.scores + count * fits
        scores = np.maximum(scores - scores.max(), _WORST_SCORE)
        squares = _ERRORS_KEPT * self.errors + count * (errors**2 / doubt).mean(axis=1)
        return self._replace(scores=scores, errors=squares, counts=_ERRORS_KEPT * self.counts + count)


def student_density(squares: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the log-density of errors `[..., m]` by Student's t of 4 degrees, summed, less its constant."""
    return -(0.5 * np.log(variance) + 2.5 * np.log1p(squares / (4 * variance))).sum(axis=-1)
