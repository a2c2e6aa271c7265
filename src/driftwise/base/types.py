"""Named tuples that all modules share, of NumPy's arrays in a plain loop and of JAX's in the simulator.

Leading axes are free: a step axis `[H, ...]` is the usual one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from driftwise.base.validation import require_count

Array = Any  # a NumPy or a JAX array; the parts use only what both offer
Numeric = Any  # a number, or nested tuples of numbers: a grid of hyper-parameters
_Extra = TypeVar("_Extra")
Key = Any  # uint32 array of two words, see driftwise.base.random


@dataclass(frozen=True)
class Spec:
    """The sizes of a finite episodic problem; a bandit has one state and one step."""

    num_states: int
    num_actions: int
    dim: int
    horizon: int

    def __post_init__(self) -> None:
        for name in ("num_states", "num_actions", "dim", "horizon"):
            object.__setattr__(self, name, require_count(name, getattr(self, name)))

    @classmethod
    def bandit(cls, *, dim: int, num_arms: int) -> Spec:
        """A linear bandit with at most `num_arms` arms in a round."""
        return cls(num_states=1, num_actions=num_arms, dim=dim, horizon=1)


class Model(NamedTuple):
    """One linear MDP over known features: `r = φᵀθ_h`, `P(·|s,a) = φᵀμ_h(·)`."""

    theta: Array  # [H, d]
    mu: Array  # [H, d, S]


@dataclass(frozen=True, eq=False, repr=False)
class Variation:
    """The moves of a model from each episode to the next; the budgets are their sums."""

    reward: np.ndarray  # [K-1]
    transition: np.ndarray  # [K-1]

    def __repr__(self) -> str:
        parts = f"reward_budget={self.reward_budget:g}, transition_budget={self.transition_budget:g}"
        return f"Variation({parts}, total={self.total:g})"

    @property
    def reward_budget(self) -> float:
        """`Δ_r`."""
        return float(self.reward.sum())

    @property
    def transition_budget(self) -> float:
        """`Δ_P`."""
        return float(self.transition.sum())

    @property
    def total(self) -> float:
        """`Δ = Δ_r + Δ_P`."""
        return self.reward_budget + self.transition_budget


class Blocks(NamedTuple):
    """Coordinates of features in B blocks of m, such that every row is 0 outside of one of them."""

    order: Array  # [B, m] the coordinates of each block
    rows: Array  # [B, R, m] the rows of each block, then zeros
    place: Array  # [N] where each row is among all `B·R`

    def at_rows(self, numbers: Array) -> Array:
        """Numbers `[..., B, R]` of rows in blocks in the order of the table: `[..., N]`."""
        return numbers.reshape((*numbers.shape[:-2], -1))[..., self.place]


class Catalogue(NamedTuple):
    """All rows that the table of any episode has, and which of them are in one."""

    rows: Array  # [M, d]
    numbers: Array  # [N]


class WaitingDecisions(NamedTuple):
    """Sums of features that were chosen, and whose rewards may still come."""

    gram: Array  # Σ(φ, 1)(φ, 1)ᵀ, or Σφφᵀ of the features that a regression has


class FeatureTable(NamedTuple):
    """All state-action pairs of an episode, flattened state by state to `N = S·A` rows."""

    values: Array  # [N, d]
    present: Array | None = None  # [N] whether the action can be taken; None if all can
    extras: tuple[Any, ...] = ()  # at most one of each type: of `base.knowledge`, and of those above

    def find(self, kind: type[_Extra]) -> _Extra | None:
        """Return the extra of a type, None if there is none."""
        return next((extra for extra in self.extras if isinstance(extra, kind)), None)

    def get(self, kind: type[_Extra]) -> _Extra:
        """Return the extra of a type; its absence is an error."""
        extra = self.find(kind)
        if extra is None:
            raise LookupError(f"the table of features must have {kind.__name__}, which the agent needs")
        return extra

    def with_extras(self, *extras: Any) -> FeatureTable:
        """Return the table with these extras, in the place of others of their types."""
        kinds = tuple(type(extra) for extra in extras)
        others = (extra for extra in self.extras if not isinstance(extra, kinds))
        return self._replace(extras=(*others, *extras))


class Sample(NamedTuple):
    """A sample that a regression absorbs at one tick, for each leading index."""

    features: Array  # [..., d]
    reward: Array  # [...]
    successor: Array  # [...] integer state that followed
    count: Array  # [...] multiplicity: 0 is a sample that never was, 2 the same sample twice
    share: Array | None = None  # [...] that each of these has in Λ and b; None: all
    source: tuple[Any, Callable[[Any], Sample]] | None = None  # (origin, function that rebuilds the sample)

    @classmethod
    def from_origin(cls, origin: Any, make: Callable[[Any], Sample]) -> Sample:
        """The sample that is made of these arrays."""
        return make(origin)._replace(source=(origin, make))

    @property
    def origin(self) -> Any:
        """The arrays that it is made of."""
        return self if self.source is None else self.source[0]

    def rebuild(self, origin: Any) -> Sample:
        """The sample of another origin."""
        return origin if self.source is None else self.source[1](origin)

    @property
    def number(self) -> Array:
        """Number of samples that it stands for: its largest count."""
        return self.count.max()

    @property
    def weight(self) -> Array:
        """Weight with which it is added to Λ and b: `[...]`."""
        return self.count if self.share is None else self.count * self.share


class Moments(NamedTuple):
    """Weighted sums over the past that determine the ridge regression exactly."""

    gram: Array  # [..., d, d]     Λ = Σ ω φφᵀ + λI
    gram_sq: Array | None  # [..., d, d]  Λ̃ = Σ ω² φφᵀ + λI; None where nobody asks, or where it equals Λ
    cross: Array  # [..., d, 1+S]  Σ ω φ yᵀ with y = (r, e_{s'})
    ridge: Array  # λ
    tick: Array  # number of samples absorbed since the start
    weight: Array  # Σ ω over all samples so far, each as often as its number says
    weight_sq: Array  # Σ ω²
    epoch: Array  # number of times that everything was dropped
    memory: Any  # what the forgetting needs besides
    noise: Any = None  # sums of squared errors, where the noise is learnt


def next_step(rows: Array) -> Array:
    """Rows `[H, ...]` of the step after each, 0 after the last."""
    xp = rows.__array_namespace__()
    return xp.concat([rows[1:], xp.zeros_like(rows[:1])])


def successor_values(values: Array, successors: Array) -> Array:
    """Values `[H, S]` of step h+1 at the state that followed step h, 0 after the last: `[H]`."""
    xp = values.__array_namespace__()
    reached = values[xp.arange(1, len(successors)), successors[:-1]]
    return xp.concat([reached, xp.zeros_like(values[:1, 0])])


class Forecast(NamedTuple):
    """Errors of the forecasts for an episode, and how uncertain they were."""

    error: Array  # [H] e = y − φᵀw
    variance: Array  # [H] v = φᵀΛ⁻¹φ

    @property
    def squares(self) -> Array:
        """`e²/(1+v)`, whose mean is the noise's variance."""
        return self.error**2 / (1 + self.variance)

    def scale_by_counts(self, counts: Array) -> Forecast:
        """The forecasts of √n times the mean of n rewards each, whose noise is that of one reward."""
        return Forecast(counts.__array_namespace__().sqrt(counts) * self.error, counts * self.variance)


class Plan(NamedTuple):
    """The plan of an episode. Q is not clipped; the values of an optimistic agent are."""

    weights: Array  # [H, d]
    bonus: Array  # [H, S, A]
    q: Array  # [H, S, A]
    policy: Array  # [H, S, A] probabilities
    values: Array  # [H, S] what the agent believes can be had from each step on
    drawn: Any = None  # what was drawn for it, if `update` needs that again

    @property
    def value(self) -> Array:
        """`[S]`, of the first step."""
        return self.values[0]

    @property
    def next_values(self) -> Array:
        """`V_{h+1}` of each step h, 0 after the last: `[H, S]`."""
        return next_step(self.values)

    def successor_values(self, successors: Array) -> Array:
        """`V_{h+1}` at the state that followed step h, 0 after the last: `[H]`."""
        return successor_values(self.values, successors)

    def residuals(self, episode: Episode) -> tuple[Array, Array]:
        """Errors `r + V_{h+1}(s') − (Q − bonus)` of prediction in an episode, and its bonuses: `[H]` each."""
        xp = self.values.__array_namespace__()
        at = xp.arange(len(episode.actions)), episode.states, episode.actions
        bonus = self.bonus[at]
        return episode.rewards + self.successor_values(episode.successors) - (self.q[at] - bonus), bonus


class Episode(NamedTuple):
    """One trajectory of H steps."""

    states: Array  # [H]
    actions: Array  # [H]
    features: Array  # [H, d]
    rewards: Array  # [H]
    successors: Array  # [H]
    counts: Array | None = None  # [H] rewards that each is the mean of; None: one


class Forgetting(ABC):
    """A recursion on the moments in which old samples come to count for less."""

    def init(self, moments: Moments, sample: Sample) -> Moments:
        """Prepare empty moments; `sample` shows the shapes and types that will come."""
        return moments

    @abstractmethod
    def update(self, moments: Moments, sample: Sample) -> Moments:
        """Absorb one sample, into Σω and Σω² too; may consume the moments it is given."""


class WeightFunction(Forgetting):
    """A forgetting that a weight function ω(t, τ) defines: moments are weighted sums, the ridge is whole."""

    @abstractmethod
    def weights(self, tick: int) -> np.ndarray:
        """The definition: ω(tick, τ) for τ = 0 … tick−1, oldest first."""


class Radius(ABC):
    """The radius of a confidence set, as a function of what was seen."""

    @abstractmethod
    def at(self, moments: Moments) -> Array:
        """One radius, or one for each step: `[]` or `[H]`."""
