"""Corruption: rewards that are changed on their way to the agent. Regret is against the true means."""

from __future__ import annotations

from abc import ABC, abstractmethod

from driftwise.base.arrays import namespace
from driftwise.base.part import number, part
from driftwise.base.types import Array


class Corruption(ABC):
    """An adversary who sees the reward and the arm that earned it."""

    @abstractmethod
    def corrupt(self, reward: Array, best: Array, spent: Array, luck: Array) -> Array:
        """The reward that the agent sees.

        `best` says whether the arm was the best of the round, `spent` is `Σ|c|` so far, `luck` is uniform in
        [0, 1).
        """


@part
class SignFlips(Corruption):
    """The best arm's rewards with their signs flipped, as long as `Σ|c|` stays within the `budget`."""

    budget: float = number(at_least=0)

    def corrupt(self, reward: Array, best: Array, spent: Array, luck: Array) -> Array:
        xp = namespace(reward)
        return xp.where(best & (spent + 2 * xp.abs(reward) <= self.budget), -reward, reward)


@part
class WrongUnit(Corruption):
    """A share of the rewards, drawn at random, times a factor: cents for euros."""

    share: float = number(at_least=0, at_most=1)
    factor: float = number(default=100.0)

    def corrupt(self, reward: Array, best: Array, spent: Array, luck: Array) -> Array:
        return namespace(reward).where(luck < self.share, self.factor * reward, reward)


@part
class Mirrored(Corruption):
    """A share of the best arm's rewards r, drawn at random, as 1 − r: successes look like failures."""

    share: float = number(at_least=0, at_most=1)

    def corrupt(self, reward: Array, best: Array, spent: Array, luck: Array) -> Array:
        return namespace(reward).where(best & (luck < self.share), 1 - reward, reward)
