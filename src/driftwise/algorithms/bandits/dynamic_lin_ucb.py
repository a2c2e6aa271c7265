"""dLinUCB: a pool of LinUCB models, which are replaced when they have become wrong."""

from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits import bandit_agent as bandit
from driftwise.base import Key, Plan, Radius, Sample, Spec, Wrapper
from driftwise.base.arrays import expand_like, map_tree, namespace, spd_inverse, write_at
from driftwise.base.part import MAX_BITS, count, member, number, part
from driftwise.base.types import Array, Episode, FeatureTable, Moments, Numeric
from driftwise.base.validation import require_instance, require_numeric
from driftwise.parts import LeastSquares, NoForgetting, Ucb
from driftwise.parts.exploration import greedy_policy
from driftwise.parts.regression import linear, matvec

_NO_KEY = np.zeros(2, dtype=np.uint32)  # bonuses of upper confidence bounds draw nothing
_FREE = 2.0  # the badness of a slot without a model: above that of any model, which is a share


class PoolState(NamedTuple):
    models: Moments  # of M slots, gram [M, d, d]; tick [M] and weight [M] count the samples that models took
    alive: Array  # [M] whether there is a model in the slot
    created: Array  # [M] the round from which on its model is judged
    num_wrong: Array  # [M] its wrong predictions within the window
    wrong: Array  # [L, M] the newest judgements, a ring over rounds
    tick: Array  # rounds so far
    num_created: Array  # models so far, the first one included


@part
class ModelPool(Wrapper):
    """A pool of models, of which the one of least badness acts: the agent of `dynamic_lin_ucb`.

    `margin` is ε, `discard_level` δ₁. The ring of judgements holds the power of two above any `window`.
    """

    base: LeastSquares = member(LeastSquares)
    margin: Numeric = number(at_least=0)
    window: Numeric = number(at_least=1, integer=True, default=200)
    discard_level: Numeric = number(above=0, at_most=1, default=0.01)
    admit_share: Numeric = number(at_least=0, at_most=1, default=0.2)
    badness_delta: Numeric = number(above=0, at_most=1, default=0.01)
    capacity: int = count(default=8)
    longest_window: int = count(at_least=0, bits=MAX_BITS, default=0, largest=True)

    def __post_init__(self) -> None:
        require_instance("base.forgetting", self.base.forgetting, NoForgetting)
        require_instance("base.exploration", self.base.exploration, Ucb)
        bandit.require_bandit(self.spec)
        longest = max(int(np.max(self.window)), self.longest_window)
        object.__setattr__(self, "longest_window", 1 << (longest - 1).bit_length())

    def init(self, features: FeatureTable) -> PoolState:
        xp, empty = namespace(features.values), self.base.init(features)
        counts = xp.zeros(self.capacity, dtype=empty.tick.dtype)
        slots = xp.zeros(self.capacity, dtype=empty.gram.dtype)
        models = map_tree(lambda leaf: xp.astype(expand_like(slots, leaf), leaf.dtype) + leaf, empty)
        # One more than a window holds: the newest judgement is in before the oldest is out.
        wrong = xp.zeros((self.longest_window + 1, self.capacity), dtype=xp.bool)
        alive = xp.arange(self.capacity) == 0
        return PoolState(models, alive, counts, counts, wrong, empty.tick, empty.tick + 1)

    def plan(self, state: PoolState, features: FeatureTable, key: Key) -> Plan:
        return self.base.plan(self.moments(state), features, key)

    def moments(self, state: PoolState) -> Moments:
        """The moments of the model of least badness."""
        xp = namespace(state.models.gram)
        badness, doubt = self._badness(state)
        optimism = xp.sqrt(xp.log(xp.asarray(self.window, dtype=badness.dtype)))
        merit = xp.where(state.alive, optimism * doubt - badness, -xp.inf)
        slot = _oldest_best(merit, state.created)
        return map_tree(lambda leaf: leaf[slot][None], state.models)

    def update(self, state: PoolState, features: FeatureTable, plan: Plan, episode: Episode) -> PoolState:
        xp, integer, models = namespace(state.tick), state.tick.dtype, state.models
        # A prediction is wrong if it was further off than the bonus and the noise explain.
        pulled = FeatureTable(episode.features)
        inverse = spd_inverse(models.gram)
        predicted = linear(pulled, matvec(inverse, models.cross[..., 0]))[:, 0]
        bonus = self.base.exploration.perturb(inverse, models, pulled, _NO_KEY)[:, 0]
        wrong = xp.abs(predicted - episode.rewards) > bonus + self.margin
        # Write, then read: a buffer that is read before it is written would be copied when compiled.
        ring = write_at(state.wrong, state.tick % len(state.wrong), wrong)
        out = state.tick - self.window
        leaving = ring[out % len(ring)] & (out >= state.created)
        num_wrong = state.num_wrong + xp.astype(wrong, integer) - xp.astype(leaving, integer)

        learns = xp.astype(state.alive & ~wrong, integer)
        count = xp.astype(learns, models.gram.dtype)
        sample = Sample(episode.features, episode.rewards, episode.successors, count)
        models = self.base.forgetting.update(models, sample)._replace(
            tick=models.tick + learns, weight=models.weight + count, weight_sq=models.weight_sq + count
        )
        state = state._replace(wrong=ring, num_wrong=num_wrong, tick=state.tick + 1)
        # Discard bad models; without any good one, create one in a free slot or in the worst one's.
        badness, doubt = self._badness(state)
        surely = badness - doubt
        alive = state.alive & (surely < self.discard_level)
        create = ~xp.any(alive & (surely < self.admit_share * self.discard_level))
        slot = _oldest_best(xp.where(alive, badness, _FREE), state.created)
        new = create & (xp.arange(self.capacity) == slot)
        empty = self.base.init(FeatureTable(models.gram[0]))  # rows of d numbers: all it looks at
        models = map_tree(lambda fresh, old: xp.where(expand_like(new, old), fresh, old), empty, models)
        created, num_wrong = xp.where(new, state.tick, state.created), xp.where(new, 0, state.num_wrong)
        state = state._replace(models=models, alive=alive | new, created=created, num_wrong=num_wrong)
        return state._replace(num_created=state.num_created + xp.astype(create, state.tick.dtype))

    def _badness(self, state: PoolState) -> tuple[Array, Array]:
        """The share of wrong predictions and how far it may be off; a new model counts as judged once."""
        xp, dtype = namespace(state.tick), state.models.gram.dtype
        num_judged = xp.astype(xp.clip(state.tick - state.created, 1, self.window), dtype)
        doubt = xp.sqrt(-xp.log(xp.asarray(self.badness_delta, dtype=dtype)) / (2 * num_judged))
        return xp.astype(state.num_wrong, dtype) / num_judged, doubt


def _oldest_best(score: Array, created: Array) -> Array:
    """The slot with the highest score, the oldest of those that tie."""
    xp = namespace(score)
    return xp.argmin(xp.where(greedy_policy(score) > 0, created, xp.iinfo(created.dtype).max))


@tuned_by(bandit.tune_ridge, "ridge")
@register(
    "change detection, a pool of models", "UCB", bound="Γ S^(1/2) log S, Γ stretches of at most S rounds"
)
def dynamic_lin_ucb(
    spec: Spec,
    *,
    noise_scale: Numeric,
    radius: Numeric | Radius | None = None,
    norm_bound: Numeric = 1.0,
    delta: Numeric = 0.01,
    window: Numeric = 200,
    admit_share: Numeric = 0.2,
    badness_delta: Numeric = 0.01,
    radius_scale: Numeric = 1.0,
    ridge: Numeric = 1.0,
    capacity: int = 8,
) -> ModelPool:
    r"""LinUCB models that are created, selected and discarded by how often they predict wrongly (dLinUCB).

    Model $m$ learns from a round with the arm $x$ and reward $r$ unless it was wrong,
    $$e_t(m) = \mathbb 1\bigl[|x^\top\hat\theta_m - r| > B_m(x) + \varepsilon\bigr], \qquad
      B_m(x) = \beta_m\sqrt{x^\top\Lambda_m^{-1}x}, \qquad
      \varepsilon = \sqrt2\,\sigma\,\mathrm{erf}^{-1}(1-\delta_1).$$
    With $n_m$ the smaller of $\tau$ and its age,
    $$\hat e_m = \frac1{n_m}\sum_{i > t-n_m} e_i(m), \qquad d_m = \sqrt{\frac{\ln(1/\delta_2)}{2n_m}}.$$
    The model with the least $\hat e_m - \sqrt{\ln\tau}\,d_m$ pulls the arm of largest $x^\top\hat\theta_m +
    B_m(x)$. After the round, models with $\hat e_m \ge \delta_1 + d_m$ are discarded, and if none has $\hat
    e_m < \tilde\delta_1 + d_m$, an empty one is added.
    Args:
      radius: $\beta \ge 0$ instead of $\beta_m$, the radius of `lin_ucb` for the samples the model took.
      delta: $\delta_1 \in (0, 1]$, the share of wrong predictions that a correct model may have.
      window: $\tau$, rounds in which a model is judged.
      admit_share: $\tilde\delta_1/\delta_1 \in [0, 1]$; the larger, the rarer are new models; 1 restarts one.
      badness_delta: $\delta_2 \in (0, 1]$.
      capacity: models that the pool can hold.
    When to use: the problem jumps rarely and stays the same in between.
    When not: it drifts slowly. A model is found wrong only when it is far off.
    Reference: Wu, Iyer & Wang 2018, Algorithm 1. Defaults are those of Russac, Vernade & Cappé's code of it.
    Deviations from the paper: in a full pool a new model replaces that of the highest $\hat e_m$. The radius
    is `lin_ucb`'s. A new model ranks as if judged once, without error. The oldest of tied models acts.
    """
    known: Any = dict(noise_scale=noise_scale, norm_bound=norm_bound, delta=delta, radius_scale=radius_scale)
    known |= dict(spread="epochs", shares=1, radius=radius, ridge=ridge)
    base = bandit.ucb_agent(spec, NoForgetting(), "single", **known)
    sigma = np.asarray(require_numeric("noise_scale", noise_scale, at_least=0))
    tail = np.asarray(require_numeric("delta", delta, above=0, at_most=1)) / 2
    margin = sigma * np.abs(np.vectorize(NormalDist().inv_cdf)(tail))  # √2 σ erf⁻¹(1−δ) = σ |Φ⁻¹(δ/2)|
    return ModelPool(base, margin, window, delta, admit_share, badness_delta, capacity)
