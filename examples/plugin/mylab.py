"""What our lab adds to driftwise: importing this module registers it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import driftwise as dw
from driftwise.base.arrays import identity_like, namespace
from driftwise.base.part import count, number, part, record, scalar
from driftwise.base.schema import Count, Share
from driftwise.base.types import Array, FeatureTable, Key, Moments, Numeric, Sample, WeightFunction
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.parts.exploration import width
from driftwise.parts.regression import contributions


@record
class Blinking(dw.drift.Drift):
    """Two anchors that take turns: the second one has the last `share` of every `every` episodes."""

    num_anchors = 2
    episode_fields = ("every",)

    every: int = count(at_least=2)
    share: float = scalar(above=0, at_most=1, default=0.5)

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        second = episodes % self.every >= (1 - self.share) * self.every
        return np.eye(2)[second.astype(int)]


@dw.environments.register
def two_doors(
    *, horizon: Count = 3, luck: Share = 0.1, drift: dw.drift.Drift | None = None
) -> dw.environments.LinearMdp:
    """Rooms with two doors each: the right one pays 1 and leads on, the wrong one leads out, but for luck.

    Two anchors: in the second one the other door is right.
    """

    def rooms(right: int) -> tuple[np.ndarray, np.ndarray]:
        reward, kernel = np.zeros((2, 2)), np.zeros((2, 2, 2))
        reward[0, right] = 1
        kernel[0, right, 0] = kernel[1, :, 1] = 1  # whoever is out stays out
        kernel[0, 1 - right] = luck, 1 - luck
        return reward, kernel

    drift = dw.drift.require_drift(drift, 2, "one for each door")
    anchors = [rooms(0), rooms(1)][: drift.num_anchors]
    return tabular_mdp(anchors, horizon=horizon, drift=drift, rewards="mean")


@part
class SoftRestart(WeightFunction):
    """All weights shrink by `share` whenever an epoch ends: `ω = share^(⌊t/period⌋ − ⌊τ/period⌋)`."""

    period: Numeric = number(at_least=1, integer=True)
    share: Numeric = number(above=0, at_most=1, default=0.5)

    def weights(self, tick: int) -> np.ndarray:
        return self.share ** (tick // self.period - np.arange(tick) // self.period).astype(float)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments

    def update(self, moments: Moments, sample: Sample) -> Moments:
        gram, cross = contributions(sample, moments.cross.shape[-1] - 1)
        over = (moments.tick + 1) % self.period == 0
        kept = namespace(moments.gram).where(over, self.share, 1.0)
        ridge = moments.ridge * identity_like(moments.gram)
        gram_sq = moments.gram_sq
        if gram_sq is not None:  # Λ̃ ← k²(Λ̃ + φφᵀ) + (1−k²)λI
            gram_sq = kept**2 * (gram_sq + gram) + (1 - kept**2) * ridge
        return moments._replace(
            gram=kept * (moments.gram + gram) + (1 - kept) * ridge,  # Λ ← k(Λ + φφᵀ) + (1−k)λI
            gram_sq=gram_sq,
            cross=kept * (moments.cross + cross),
            tick=moments.tick + 1,
            weight=kept * (moments.weight + sample.number),
            weight_sq=kept**2 * (moments.weight_sq + sample.number),
        )


@part
class CappedUcb(dw.exploration.Exploration):
    """A bonus `min(β √(φᵀΛ⁻¹φ), cap)`."""

    radius: Numeric = number(at_least=0)
    cap: Numeric = number(above=0, default=2.0)

    def perturb(self, inverse: Array, moments: Moments, features: FeatureTable, key: Key) -> Array:
        bonus = self.radius * width(inverse, moments, features, "single")
        return namespace(bonus).minimum(bonus, self.cap)


class DropState(NamedTuple):
    """A moving average, and the best that it has been."""

    recent: Array
    best: Array


@part
class Drop:
    """An alarm when the moving average of what is seen falls below a `share` of the best it has been."""

    events = ("alarms", "restarts")

    speed: Numeric = number(above=0, at_most=1, default=0.05)
    share: Numeric = number(at_least=0, at_most=1, default=0.5)

    def init(self, like: Array) -> DropState:
        none = namespace(like).asarray(0, dtype=like.dtype)
        return DropState(none, none)

    def detect(self, state: DropState, observed: Array, chance: Array) -> tuple[DropState, Array]:
        recent = state.recent + self.speed * (observed - state.recent)
        best = namespace(recent).maximum(recent, state.best)
        return DropState(recent, best), recent < self.share * best


@dw.algorithms.register(
    problem="linear MDP",
    forgetting="soft restart",
    exploration="UCB, capped",
    bound="none",
    paper="our lab",
)
def soft_restart_ucb(
    spec: dw.Spec, *, period: Numeric, share: Numeric = 0.5, radius: Numeric, cap: Numeric = 2.0
) -> dw.LeastSquares:
    """LSVI-UCB with soft restarts and a bonus that is capped.

    Args:
      period: episodes in an epoch.
      share: what is left of every weight when an epoch ends.
      radius: of the bonus, before it is capped.
      cap: the largest bonus.
    """
    return dw.LeastSquares(spec, SoftRestart(period, share), CappedUcb(radius, cap))
