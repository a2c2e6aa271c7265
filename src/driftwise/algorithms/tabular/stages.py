"""Upper bounds on Q from a stage of visits, with Hoeffding's or Freedman's bonus."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from driftwise.algorithms.tabular.spread import Spread, no_spread
from driftwise.base.arrays import map_tree, namespace
from driftwise.base.part import member, number, part
from driftwise.base.types import Array, Episode, Numeric, values_ahead


class Visit(NamedTuple):
    """The visits of one episode, from which a bound learns."""

    here: Array  # [H, S, A] 1 where it was, else 0
    count: Array  # [H, S, A] visits in the stage, this one too
    ahead: Array  # [H] V_{h+1}(s')
    episode: Episode

    def spread_out(self, numbers: Array) -> Array:
        """One number for each step, where the visit was: `[H, S, A]`."""
        return self.here * numbers[:, None, None]


class StageBound(ABC):
    """An upper bound on Q, from what it remembers of the running stage of each pair."""

    @abstractmethod
    def init(self, q: Array) -> Any:
        """The memory at the beginning of an epoch; `q` shows the shape."""

    @abstractmethod
    def update(self, memory: Any, visit: Visit) -> Any:
        """The memory after one more visit."""

    @abstractmethod
    def bound(self, memory: Any, size: Array) -> tuple[Array, Array]:
        """Estimate and bonus of a stage of that many visits: `[H, S, A]` each."""

    @abstractmethod
    def renewed(self, memory: Any, over: Array, values: Array) -> Any:
        """The memory without the stages that are over, given the values `[H, S]` learnt from them."""


@part
class HoeffdingBound(StageBound):
    r"""The mean of $r + V_{h+1}(s')$ with $c(\sqrt{H^2\iota/n} + \sqrt{\iota/n}) + 2b_\Delta$ for $n$ visits.

    `scale` is $c$, `log_term` $\iota$, `drift_bonus` $b_\Delta$. It remembers the sum, `[H, S, A]`.
    """

    scale: Numeric = number(at_least=0)
    log_term: Numeric = number(above=0, default=1.0)
    drift_bonus: Numeric = number(at_least=0, default=0.0)

    def init(self, q: Array) -> Array:
        return namespace(q).zeros_like(q)

    def update(self, memory: Array, visit: Visit) -> Array:
        return memory + visit.spread_out(visit.episode.rewards + visit.ahead)

    def bound(self, memory: Array, size: Array) -> tuple[Array, Array]:
        width = (len(size) + 1) * namespace(size).sqrt(self.log_term / size)
        return memory / size, self.scale * width + 2 * self.drift_bonus

    def renewed(self, memory: Array, over: Array, values: Array) -> Array:
        return namespace(over).where(over, 0.0, memory)


class Stage(NamedTuple):
    """Sums over the running stage besides Hoeffding's, forgotten at its end."""

    rewards: Array  # [H, S, A] ř, their sum
    advantage: Spread  # of V(s') − V_ref(s')


class ReferenceMemory(NamedTuple):
    """The memory of Freedman's bound: Hoeffding's, the running stage, and reference values."""

    plain: Array  # [H, S, A] Hoeffding's
    stage: Stage
    values: Array  # [H, S] V_ref
    count: Array  # [H, S, A] visits in the epoch
    met: Spread  # of V_ref(s'), over the epoch


@part
class FreedmanBound(StageBound):
    r"""The lower of Hoeffding's bound and one by reference values.

    Next values are split into reference values, whose mean is taken over all $n$ visits in the epoch, and the
    rest, over the $\check n$ of the stage: with variances $\nu_\mathrm{ref}$ and $\check\nu$ the bonus is
    $2c\bar b + 4b_\Delta$,
    $$\bar b = 2\sqrt{\frac{\nu_\mathrm{ref}\iota}n} + 2\sqrt{\frac{\check\nu\iota}{\check n}}
      + 5H\Bigl(\frac\iota n + \frac\iota{\check n} + \bigl(\tfrac\iota n\bigr)^{3/4}
      + \bigl(\tfrac\iota{\check n}\bigr)^{3/4}\Bigr) + \sqrt{\frac\iota{\check n}}.$$
    The reference value of a state is $H$ until its visit `reference_after`, and then its value of that time.
    """

    plain: HoeffdingBound = member(HoeffdingBound)
    reference_after: Numeric = number(at_least=1, integer=True)

    def init(self, q: Array) -> ReferenceMemory:
        xp, none = namespace(q), no_spread(q)
        highest, nothing = xp.full_like(q[..., 0], len(q)), xp.zeros_like(q)
        return ReferenceMemory(self.plain.init(q), Stage(nothing, none), highest, nothing, none)

    def update(self, memory: ReferenceMemory, visit: Visit) -> ReferenceMemory:
        here, count = visit.here, memory.count + visit.here
        reference = values_ahead(memory.values, visit.episode.successors)
        rewards = memory.stage.rewards + visit.spread_out(visit.episode.rewards)
        more = (visit.ahead - reference)[:, None, None]
        return memory._replace(
            plain=self.plain.update(memory.plain, visit),
            stage=Stage(rewards, memory.stage.advantage.met(more, here, visit.count)),
            count=count,
            met=memory.met.met(reference[:, None, None], here, count),
        )

    def bound(self, memory: ReferenceMemory, size: Array) -> tuple[Array, Array]:
        xp, horizon, stage = namespace(size), len(size), memory.stage
        total = xp.maximum(memory.count, 1.0)
        late, all_time = self.plain.log_term / size, self.plain.log_term / total  # ι/ň and ι/n
        width = 2 * xp.sqrt(memory.met.squares / total * all_time)
        width = width + 2 * xp.sqrt(stage.advantage.squares / size * late) + xp.sqrt(late)
        width = width + 5 * horizon * (_and_three_quarters(all_time) + _and_three_quarters(late))
        bonus = 2 * self.plain.scale * width + 4 * self.plain.drift_bonus
        estimate = stage.rewards / size + memory.met.mean + stage.advantage.mean
        plain_estimate, plain_bonus = self.plain.bound(memory.plain, size)
        lower = estimate + bonus < plain_estimate + plain_bonus
        return xp.where(lower, estimate, plain_estimate), xp.where(lower, bonus, plain_bonus)

    def renewed(self, memory: ReferenceMemory, over: Array, values: Array) -> ReferenceMemory:
        xp = namespace(over)
        settled = xp.sum(memory.count, axis=-1) == self.reference_after
        return memory._replace(
            plain=self.plain.renewed(memory.plain, over, values),
            stage=map_tree(lambda each: xp.where(over, 0.0, each), memory.stage),
            values=xp.where(settled, values, memory.values),
        )


def _and_three_quarters(x: Array) -> Array:
    """`x + x^(3/4)`; roots cost far less than a power."""
    xp = namespace(x)
    root = xp.sqrt(x)
    return x + root * xp.sqrt(root)
