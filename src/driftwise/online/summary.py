"""Numbers to watch in production, with a gauge of drift among them."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.validation import ArgumentError, require_array
from driftwise.online.limits import LARGEST_REWARD

RECENT, OLDER = 50, 1000  # samples that the two averages remember
FARTHEST = 10  # standard deviations from the older mean that an error counts for
FEW = 10  # errors that say nothing about a deviation yet


@dataclass(slots=True)
class Gauge:
    r"""Exponentially weighted means of the errors $|r - \phi^\top\hat\theta|$ at the time of decision.

    A mean that remembers $M$ samples moves by $\max(1/n, 1/M)$ of the way to the $n$-th of them and is worth
    $n_M = \min(n, 2M - 1)$. With the means $m_1$ of the recent past and $m_2$ of the longer one, and the
    latter's variance $v_2$,

    $$\text{drift} = \frac{m_1 - m_2}{\sqrt{v_2\,(1/n_1 + 1/n_2)}},$$

    a standard normal number, roughly, while the world stays as it is. Above 4 it rarely gets by chance,
    unless large errors are rare: with a reward of 1 in a hundred decisions and 0 else, about once in 10,000
    rewards, and above 8 hardly ever. It falls back when the agent has learnt the new world, or when the old
    errors are forgotten here too.

    An error counts as at most `FARTHEST` standard deviations above $m_2$, once there were a `FEW`:
    else a single one in the wrong unit would make $v_2$ so large that no drift is seen for thousands of
    rewards. What was cut counts in `outliers`.
    """

    count: float = 0
    recent: float = 0.0
    older: float = 0.0
    variance: float = 0.0
    recent_bonus: float = 0.0
    outliers: float = 0
    outside: float = 0  # rewards outside their range

    @classmethod
    def from_array(cls, numbers: np.ndarray) -> Gauge:
        """The gauge that `to_array` wrote; other numbers are a `ValueError`."""
        gauge = cls(*require_array("gauge", numbers, (7,)).tolist())
        if min(gauge.count, gauge.variance, gauge.outliers, gauge.outside) < 0:
            raise ArgumentError("gauge", "have counts and a variance of at least 0", gauge)
        return gauge

    def observe(self, error: float, bonus: float) -> None:
        """Take in one error of prediction, and the bonus that exploration had added to the prediction."""
        count = self.count = self.count + 1
        size = min(abs(error), LARGEST_REWARD)  # its square has to stay finite
        if size > (farthest := self.farthest):
            size, self.outliers = farthest, self.outliers + 1
        step = 1 / count if count < RECENT else 1 / RECENT
        self.recent += step * (size - self.recent)
        self.recent_bonus += step * (bonus - self.recent_bonus)
        step = 1 / count if count < OLDER else 1 / OLDER
        gap = size - self.older
        self.older += step * gap
        self.variance = (1 - step) * (self.variance + step * gap * gap)

    @property
    def farthest(self) -> float:
        """The largest error that is no outlier."""
        if self.count <= FEW or self.variance <= 0:
            return math.inf
        return self.older + FARTHEST * math.sqrt(self.variance)

    @property
    def drift(self) -> float:
        """Recent errors against older ones; 0 until there is a past to compare with."""
        worth = 1 / min(self.count, 2 * RECENT - 1) + 1 / min(self.count, 2 * OLDER - 1) if self.count else 0
        deviation = math.sqrt(self.variance * worth)
        return (self.recent - self.older) / deviation if deviation > 0 else 0.0

    def to_array(self) -> np.ndarray:
        """All numbers of the gauge, in the order of its fields."""
        return np.array(dataclasses.astuple(self), dtype=np.float64)


@dataclass(frozen=True)
class Summary:
    """Numbers of a bandit; the first two are of the model that acts, where there are several."""

    effective_samples: float  # (Σω)² / Σω²: rewards of equal weight that would say as much
    condition: float  # largest over smallest eigenvalue of the gram: beyond 1e12 digits are lost
    decisions: int
    rewards: int
    pending: int  # decisions that wait for their rewards
    expired: int  # decisions that had none in time
    samples: int  # rewards that were learnt from without a decision
    recent_error: float  # mean |reward − prediction| of the last 50 rewards or so
    recent_bonus: float  # mean exploration in the index, of the same decisions
    drift: float  # recent errors against older ones: above 4, see `Gauge`, the world has changed
    outliers: int  # rewards farther from their predictions than any before them would explain
    outside: int  # rewards outside `reward_range`, which were refused or clipped


@dataclass(frozen=True)
class EpisodicSummary:
    """Numbers of an episodic agent; the second and third are None if the model that acts has no gram."""

    episodes: int
    effective_samples: float | None  # (Σω)² / Σω²: episodes of equal weight that would say as much
    condition: float | None  # of the worst step: largest over smallest eigenvalue of the gram
    recent_error: float  # mean |r + V(s') − prediction| of a step, over the last 50 episodes or so
    recent_bonus: float  # mean exploration in the index, of the same steps
    drift: float  # recent errors against older ones: above 4, see `Gauge`, the world has changed
    outliers: int  # errors larger than any before them would explain


def watched(agent: Agent, state: Any, gauge: Gauge, missing: float | None) -> dict[str, Any]:
    """Numbers that both summaries have, with `missing` in the place of those of an agent without a gram."""
    effective, condition, moments = missing, missing, agent.moments(state)
    if moments is not None:
        weight, weight_sq = (float(np.ravel(each)[0]) for each in (moments.weight, moments.weight_sq))
        effective = weight * weight / weight_sq if weight_sq else 0.0
        eigenvalues = np.linalg.eigvalsh(moments.gram)
        eigenvalues = eigenvalues.reshape(len(eigenvalues), -1)  # of all blocks of a step
        smallest, largest = eigenvalues.min(axis=-1), eigenvalues.max(axis=-1)
        condition = float((largest / smallest).max()) if smallest.min() > 0 else math.inf
    return {
        "effective_samples": effective,
        "condition": condition,
        "recent_error": gauge.recent,
        "recent_bonus": gauge.recent_bonus,
        "drift": gauge.drift,
        "outliers": int(gauge.outliers),
    }
