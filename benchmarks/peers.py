"""Regret and latency of contextual bandits of other libraries and of ours, in a world that changes abruptly.

    pip install river vowpalwabbit bayesianbandits mabwiser coba contextualbandits
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.peers

Four numbered arms, and a visitor of whom two numbers are known. An arm pays `0.5 + w·x` and a noise of 0.2,
where x has the two numbers and a constant, and every 1000 rounds the four `w` are drawn anew. All meet the
same visitors and the same noise, in turns of a few rounds. Ours is told nothing: `Bandit(dim=12)`. A peer
that can forget is told how fast, by the numbers that did best in two of these worlds of the five to fifteen
that were tried; river's are told the noise as well. All else is their default. A round is all that it takes
from the visitor's numbers to an arm, and from the reward to an agent that has learnt from it. Libraries that
are not installed are left out.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np

from driftwise.online import Bandit

NUM_ARMS, SEGMENT, SEGMENTS, NOISE = 4, 1000, 4, 0.2
TURN = 50  # rounds of one before it is the next one's turn


class Learner(Protocol):
    """Chooses an arm for a visitor `[3]`, whose last number is a constant, then learns its reward."""

    def decide(self, visitor: np.ndarray) -> int: ...

    def learn(self, reward: float) -> None: ...


class Ours:
    """Weights of its own for every arm: `np.kron(np.eye(4), visitor)`, written in place."""

    def __init__(self, seed: int) -> None:
        self.bandit = Bandit(dim=3 * NUM_ARMS, seed=seed)
        self.arms = np.zeros((NUM_ARMS, 3 * NUM_ARMS))
        self.blocks = np.lib.stride_tricks.as_strided(
            self.arms, (NUM_ARMS, 3), (self.arms.strides[0] + 3 * self.arms.itemsize, self.arms.itemsize)
        )

    def decide(self, visitor: np.ndarray) -> int:
        self.blocks[:] = visitor
        decision = self.bandit.decide(self.arms)
        self.id = decision.id
        return decision.arm

    def learn(self, reward: float) -> None:
        self.bandit.learn(self.id, reward)


class Drawing:
    """Draws arms from probabilities."""

    def __init__(self, seed: int) -> None:
        self.draws = random.Random(seed)

    def arm(self, chances: Any) -> int:
        sums = [*accumulate(chances)]
        drawn = self.draws.random() * sums[-1]
        return next((arm for arm, each in enumerate(sums) if drawn < each), len(sums) - 1)


class VowpalWabbit:
    """Arms with features of their own, crossed with the visitor's; what Vowpal Wabbit reads is text."""

    def __init__(self, seed: int, settings: str) -> None:
        from vowpalwabbit import Workspace  # pyright: ignore[reportMissingImports]

        self.learner = Workspace(f"--cb_explore_adf --quiet -q UA --random_seed {seed} {settings}")
        self.drawing, self.actions = Drawing(seed), [f"|A arm={arm}" for arm in range(NUM_ARMS)]

    def decide(self, visitor: np.ndarray) -> int:
        first, second, _ = visitor.tolist()
        self.text = [f"shared |U a:{first} b:{second}", *self.actions]
        chances: Any = self.learner.predict(self.text)
        self.chosen = self.drawing.arm(chances)
        self.chance = chances[self.chosen]
        return self.chosen

    def learn(self, reward: float) -> None:
        self.text[self.chosen + 1] = f"{self.chosen}:{-reward}:{self.chance} {self.actions[self.chosen]}"
        self.learner.learn(self.text)


class VowpalWabbitNumbered:
    """The older form for a fixed number of arms, which have no features."""

    def __init__(self, seed: int, settings: str) -> None:
        from vowpalwabbit import Workspace  # pyright: ignore[reportMissingImports]

        self.learner = Workspace(f"--cb_explore {NUM_ARMS} --quiet --random_seed {seed} {settings}")
        self.drawing = Drawing(seed)

    def decide(self, visitor: np.ndarray) -> int:
        first, second, _ = visitor.tolist()
        self.text = f"| a:{first} b:{second}"
        chances: Any = self.learner.predict(self.text)
        self.chosen = self.drawing.arm(chances)
        self.chance = chances[self.chosen]
        return self.chosen

    def learn(self, reward: float) -> None:
        self.learner.learn(f"{self.chosen + 1}:{-reward}:{self.chance} {self.text}")


class River:
    """LinUCB with a regression for each arm; what river reads are dictionaries."""

    def __init__(self, seed: int, **settings: Any) -> None:
        from river.bandit import LinUCBDisjoint  # pyright: ignore[reportMissingImports]

        self.learner, self.arms = LinUCBDisjoint(seed=seed, **settings), list(range(NUM_ARMS))

    def decide(self, visitor: np.ndarray) -> int:
        self.context = dict(zip("abc", visitor.tolist(), strict=True))
        self.chosen = int(self.learner.pull(self.arms, context=self.context))
        return self.chosen

    def learn(self, reward: float) -> None:
        self.learner.update(self.chosen, self.context, reward)


class BayesianBandits:
    """A regression for each arm, which learns its noise."""

    def __init__(self, seed: int, rate: float) -> None:
        import bayesianbandits as library  # pyright: ignore[reportMissingImports]

        def regressor() -> Any:
            return library.NormalInverseGammaRegressor(forgetting=library.StabilizedForgetting(rate))

        arms = [library.Arm(arm, learner=regressor()) for arm in range(NUM_ARMS)]
        self.learner = library.ContextualAgent(arms, library.ThompsonSampling(), random_seed=seed)

    def decide(self, visitor: np.ndarray) -> int:
        self.context = visitor[None]
        (arm,) = self.learner.pull(self.context)
        return arm

    def learn(self, reward: float) -> None:
        self.learner.update(self.context, np.array([reward]))


class MabWiser:
    """A regression for each arm."""

    def __init__(self, seed: int) -> None:
        from mabwiser.mab import MAB, LearningPolicy  # pyright: ignore[reportMissingImports]

        arms = list(range(NUM_ARMS))
        self.learner = MAB(arms, LearningPolicy.LinUCB(), seed=seed)
        self.learner.fit(arms, [0.5] * NUM_ARMS, np.zeros((NUM_ARMS, 3)))

    def decide(self, visitor: np.ndarray) -> int:
        self.context = visitor[None]
        self.chosen: Any = self.learner.predict(self.context)
        return self.chosen

    def learn(self, reward: float) -> None:
        self.learner.partial_fit([self.chosen], [reward], self.context)


class Coba:
    """One regression on the features of visitor and action together."""

    def __init__(self, seed: int) -> None:
        from coba.learners import LinUCBLearner  # pyright: ignore[reportMissingImports]

        self.learner = LinUCBLearner(features=["ax"], seed=seed)
        self.actions = [tuple(row) for row in np.eye(NUM_ARMS).tolist()]

    def decide(self, visitor: np.ndarray) -> int:
        self.context = visitor.tolist()
        self.action, self.chance = self.learner.predict(self.context, self.actions)[:2]
        return self.actions.index(self.action)

    def learn(self, reward: float) -> None:
        self.learner.learn(self.context, self.action, reward, self.chance)


class ContextualBandits:
    """A regression for each arm."""

    def __init__(self, seed: int) -> None:
        from contextualbandits.online import LinUCB  # pyright: ignore[reportMissingImports]

        self.learner = LinUCB(NUM_ARMS, fit_intercept=False, random_state=seed + 1)

    def decide(self, visitor: np.ndarray) -> int:
        self.context = visitor[None]
        self.chosen = self.learner.predict(self.context)
        return int(self.chosen[0])

    def learn(self, reward: float) -> None:
        self.learner.partial_fit(self.context, self.chosen, np.array([reward]))


class Row(NamedTuple):
    """A line of the table."""

    library: str
    used: str
    forgets: str
    make: Callable[[int], Learner]


STEPS = "--power_t 0 -l 1"  # steps of gradients that never become smaller
ROWS = (
    Row("driftwise", "`Bandit(dim=12)`", "by itself", Ours),
    Row(
        "Vowpal Wabbit",
        "`--cb_explore_adf`, ε = 0.05",
        "constant steps, 1",
        partial(VowpalWabbit, settings=f"--epsilon 0.05 {STEPS}"),
    ),
    Row(
        "Vowpal Wabbit",
        "`--cb_explore 4`, SquareCB",
        "constant steps, 1",
        partial(VowpalWabbitNumbered, settings=f"--squarecb {STEPS}"),
    ),
    Row("river", "`LinUCBDisjoint`, β = 100", "`smoothing=0.95`", partial(River, smoothing=0.95, beta=100.0)),
    Row(
        "bayesianbandits",
        "`ContextualAgent`, Thompson sampling",
        "`StabilizedForgetting(0.97)`",
        partial(BayesianBandits, rate=0.97),
    ),
    Row("MABWiser", "`LinUCB`", "has no way to", MabWiser),
    Row("coba", "`LinUCBLearner`", "has no way to", Coba),
    Row("contextualbandits", "`LinUCB`", "has no way to", ContextualBandits),
)


class World(NamedTuple):
    """Visitors, and what each arm would pay each of them."""

    visitors: np.ndarray  # [T, 3]
    means: np.ndarray  # [T, arms]
    paid: np.ndarray  # [T, arms]


def world(seed: int) -> World:
    rng, num = np.random.default_rng(seed), SEGMENT * SEGMENTS
    visitors = np.column_stack([rng.uniform(-1, 1, size=(num, 2)), np.ones(num)]) / np.sqrt(3)
    weights = np.repeat(rng.uniform(-1, 1, size=(SEGMENTS, NUM_ARMS, 3)), SEGMENT, axis=0)
    means = 0.5 + (weights @ visitors[..., None])[..., 0]
    return World(visitors, means, means + NOISE * rng.normal(size=means.shape))


class Played(NamedTuple):
    """Rounds of one learner."""

    regrets: list[float]  # a round, by seed
    times: list[float]  # µs, all turns but the first


def play(rows: list[Row], num_seeds: int) -> list[Played]:
    """All rows in the same worlds, in turns."""
    played = [Played([], []) for _ in rows]
    for seed in range(num_seeds):
        met, learners = world(seed), [row.make(seed) for row in rows]
        lost = [0.0 for _ in rows]
        for start in range(0, len(met.visitors), TURN):
            for place, learner in enumerate(learners):
                for t in range(start, start + TURN):
                    visitor, paid = met.visitors[t], met.paid[t].tolist()
                    started = time.perf_counter()
                    arm = learner.decide(visitor)
                    learner.learn(paid[arm])
                    taken = time.perf_counter() - started
                    lost[place] += met.means[t].max() - met.means[t, arm]
                    if start:
                        played[place].times.append(1e6 * taken)
        for each, total in zip(played, lost, strict=True):
            each.regrets.append(total / len(met.visitors))
    return played


def installed(rows: tuple[Row, ...]) -> list[Row]:
    found = []
    for row in rows:
        try:
            row.make(1)
        except ImportError as error:
            print(f"{row.library} is left out: {error}")
        else:
            found.append(row)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Regret and latency against other libraries.")
    parser.add_argument("--seeds", type=int, default=10, help="worlds")
    parser.add_argument("--only", default="", help="libraries whose names have this in them")
    options = parser.parse_args()
    rows = [row for row in installed(ROWS) if options.only in row.library or row is ROWS[0]]
    played = play(rows, options.seeds)
    print("| library | used | forgets | regret a round | µs a round, median |\n|---|---|---|---|---|")
    means = [statistics.mean(each.regrets) for each in played]
    medians = [statistics.median(each.times) for each in played]
    for row, each, mean, median in zip(rows, played, means, medians, strict=True):
        error = statistics.stdev(each.regrets) / len(each.regrets) ** 0.5 if len(each.regrets) > 1 else 0.0
        print(f"| {row.library} | {row.used} | {row.forgets} | {mean:.4f} ± {error:.4f} | {median:.0f} |")
    return int(means[0] > min(means))


if __name__ == "__main__":
    sys.exit(main())
