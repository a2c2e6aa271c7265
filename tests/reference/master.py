"""MASTER as Wei & Luo (2021) print it: lists of instances, sums taken anew in every round."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Instance:
    """A copy of the base that is scheduled on the rounds `start` to `end` of its block, both included."""

    order: int
    start: int
    end: int
    learnt: list[float] = field(default_factory=list)  # the rewards of the rounds in which it acted


class Master:
    """Algorithm 3, with a block of Algorithm 1 in it; `restarts` has the number of the test that failed.

    Rewards and optimistic values lie in [0, 1]; ρ̂(t) = `width`/√t; orders end below `num_orders`.
    """

    def __init__(self, *, num_orders: int, width: float, first_order: int = 0) -> None:
        self.num_orders, self.width = num_orders, width
        self.first_order = min(first_order, num_orders - 1)
        self.restarts: list[int | None] = []
        self.begin_block(self.first_order)

    def rho(self, rounds: int) -> float:
        return self.width / math.sqrt(rounds)

    def begin_block(self, order: int) -> None:
        self.order, self.age = order, 0
        self.instances: list[Instance] = []
        self.rewards: list[float] = []
        self.optimistic: list[float] = []

    def covering(self) -> list[Instance]:
        return [each for each in self.instances if each.start <= self.age <= each.end]

    def acting(self, chances: Sequence[float]) -> Instance:
        """Schedule what begins in this round; the shortest instance that covers it acts."""
        for m in range(self.order, -1, -1):
            if self.age % 2**m == 0 and chances[m] < 2 ** (-(self.order - m) / 2):
                self.instances.append(Instance(m, self.age, self.age + 2**m - 1))
        return min(self.covering(), key=lambda each: each.order)

    def learn(self, acting: Instance, reward: float, optimistic: float) -> None:
        """Both tests after the round, and what follows."""
        acting.learnt.append(reward)
        self.rewards.append(reward)
        self.optimistic.append(optimistic)
        failed = self.failed_test()
        self.age += 1
        if failed:
            self.begin_block(self.first_order)
        elif self.age == 2**self.order:
            self.begin_block(min(self.order + 1, self.num_orders - 1))
        self.restarts.append(failed)

    def failed_test(self) -> int | None:
        lowest = min(self.optimistic)
        for each in self.instances:
            if each.end == self.age:
                rewards = self.rewards[each.start : each.end + 1]
                if sum(rewards) / len(rewards) >= lowest + 9 * self.rho(2**each.order):
                    return 1
        gaps = [value - reward for value, reward in zip(self.optimistic, self.rewards, strict=True)]
        return 2 if sum(gaps) / len(gaps) >= 3 * self.rho(len(gaps)) else None
