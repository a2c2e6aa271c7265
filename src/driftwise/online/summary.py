"""Numbers to watch in production, among them a gauge of drift."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from driftwise.algorithms.unknown_variation.expanding import MixtureOfMaps
from driftwise.base.agent import Agent
from driftwise.base.validation import ArgumentError, require_array
from driftwise.online.limits import LARGEST_REWARD

_RECENT, _OLDER = 50, 1000  # samples that the two averages remember
_FARTHEST = 10  # standard deviations from the older mean at which an error is clipped
_FEW = 10  # errors, too few for a deviation


@dataclass(slots=True)
class Gauge:
    r"""Exponentially weighted means of the errors $|r - \phi^\top\hat\theta|$ at the time of decision.

    A mean that remembers $M$ samples moves by $\max(1/n, 1/M)$ of the way to the $n$-th of them and is worth
    $n_M = \min(n, 2M - 1)$. With the means $m_1$ of the recent past and $m_2$ of the longer one, and the
    latter's variance $v_2$, $\text{drift} = (m_1 - m_2)/\sqrt{v_2\,(1/n_1 + 1/n_2)}$ is roughly a standard
    normal number while nothing drifts. Values above 4 are rare by chance, and above 8 where large errors are
    rare. After ten of them, an error counts as at most 10 standard deviations above $m_2$, so that one in a
    wrong unit does not hide a drift for thousands of rewards; `outliers` counts those that were clipped.
    """

    count: float = 0
    recent: float = 0.0
    older: float = 0.0
    variance: float = 0.0
    recent_bonus: float = 0.0
    outliers: float = 0
    outside: float = 0  # rewards outside their range

    @classmethod
    def from_array(cls, numbers: np.ndarray) -> Self:
        """Return the gauge that `to_array` wrote; other numbers are a `ValueError`."""
        gauge = cls(*require_array("gauge", numbers, (7,)).tolist())
        if min(gauge.count, gauge.variance, gauge.outliers, gauge.outside) < 0:
            raise ArgumentError("gauge", "have counts and a variance of at least 0", gauge)
        return gauge

    def observe(self, error: float, bonus: float) -> None:
        """Add one prediction error, and the bonus that exploration had added to the prediction."""
        count = self.count = self.count + 1
        size = min(abs(error), LARGEST_REWARD)  # its square has to stay finite
        if size > (farthest := self.farthest):
            size, self.outliers = farthest, self.outliers + 1
        step = 1 / count if count < _RECENT else 1 / _RECENT
        self.recent += step * (size - self.recent)
        self.recent_bonus += step * (bonus - self.recent_bonus)
        step = 1 / count if count < _OLDER else 1 / _OLDER
        gap = size - self.older
        self.older += step * gap
        self.variance = (1 - step) * (self.variance + step * gap * gap)

    @property
    def farthest(self) -> float:
        """The largest error that is no outlier."""
        if self.count <= _FEW or self.variance <= 0:
            return math.inf
        return self.older + _FARTHEST * math.sqrt(self.variance)

    @property
    def drift(self) -> float:
        """Recent errors compared with older ones; 0 before there are any."""
        if not self.count or not self.variance:
            return 0.0
        inverse = 1 / min(self.count, 2 * _RECENT - 1) + 1 / min(self.count, 2 * _OLDER - 1)
        return (self.recent - self.older) / math.sqrt(self.variance * inverse)

    def to_array(self) -> np.ndarray:
        """Return all numbers of the gauge, in the order of its fields."""
        return np.array(dataclasses.astuple(self), dtype=np.float64)


@dataclass(frozen=True)
class Summary:
    """Numbers of a bandit; the first two are of the model that acts, where there are several."""

    effective_samples: float  # (Σω)² / Σω²: rewards of equal weight with the same information
    condition: float  # largest over smallest eigenvalue of the gram: beyond 1e12 digits are lost
    decisions: int
    rewards: int
    pending: int  # decisions that wait for their rewards
    expired: int  # decisions that had none in time
    samples: int  # rewards that were learnt from without a decision
    recent_error: float  # mean |reward − prediction| of the last 50 rewards or so
    recent_bonus: float  # mean exploration in the index, of the same decisions
    drift: float  # recent errors against older ones: above 4, something has changed; see `Gauge`
    outliers: int  # rewards farther from their predictions than any before them would explain
    outside: int  # rewards outside `reward_range`, which were refused or clipped
    hints: tuple[
        str, ...
    ]  # sentences of advice: arms never tried, long delays, features that explain nothing
    maps: dict[str, float]  # weights of the feature maps by name; empty without `expand=`


@dataclass(frozen=True)
class EpisodicSummary:
    """Numbers of an episodic agent; the second and third are None if the model that acts has no gram."""

    episodes: int
    effective_samples: float | None  # (Σω)² / Σω²: episodes of equal weight with the same information
    condition: float | None  # of the worst step: largest over smallest eigenvalue of the gram
    recent_error: float  # mean |r + V(s') − prediction| of a step, over the last 50 episodes or so
    recent_bonus: float  # mean exploration in the index, of the same steps
    drift: float  # recent errors against older ones: above 4, something has changed; see `Gauge`
    outliers: int  # errors larger than any before them would explain


def summary_fields(agent: Agent, state: Any, gauge: Gauge, missing: float | None) -> dict[str, Any]:
    """Return the fields that both summaries have, with `missing` where an agent has no gram."""
    effective, condition, moments = missing, missing, agent.moments(state)
    if moments is not None:
        weight, weight_sq = (float(np.ravel(total)[0]) for total in (moments.weight, moments.weight_sq))
        effective = weight * weight / weight_sq if weight_sq else 0.0
        eigenvalues = np.linalg.eigvalsh(moments.gram)
        eigenvalues = eigenvalues.reshape(len(eigenvalues), -1)  # of all blocks of a step
        smallest, largest = eigenvalues.min(axis=-1), eigenvalues.max(axis=-1)
        condition = float((largest / smallest).max()) if smallest.min() > 0 else math.inf
    numbers = dict(effective_samples=effective, condition=condition, recent_error=gauge.recent)
    return numbers | dict(recent_bonus=gauge.recent_bonus, drift=gauge.drift, outliers=int(gauge.outliers))


def map_weights(agent: Agent, state: Any) -> dict[str, float]:
    """Return the weights of the maps of a mixture of them, by name."""
    if not isinstance(agent, MixtureOfMaps):
        return {}
    return dict(zip(agent.maps, np.exp(state.log_weights).tolist(), strict=True))
