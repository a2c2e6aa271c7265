"""Episodes on feature maps: what a memory that tunes itself earns and costs, against single memories.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.episodes

Worlds have states that are known by their features alone. Each memory plays the same seeds; "best" is the one
that earns most in hindsight. Then the time of an episode with 75 features and 8 steps, with as many episodes
remembered as there will be: of the mixture, relative to one memory, in turns and within one run.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftwise.online import EpisodicAgent
from driftwise.online.features import Custom, FeatureMap, OneHot, PerAction, RadialBasis

MEMORIES = (8, 16, 32, 64, 128, None)  # None forgets nothing
KEPT = 1000  # episodes, as in a mixture
PRICES = np.array([0.2, 0.1, 0.3, 0.6, 0.9, 0.4, 0.7, 1.0])
LEVELS = 5
LEAST_EARNED = 0.95  # of the best memory in hindsight, as a mean over worlds
COST_LIMIT = 2.0  # times the time of one memory
DIM, NUM_ACTIONS, HORIZON = 75, 3, 8


class World(NamedTuple):
    """A problem whose step in episode k maps (k, h, state, action, rng) to a reward and the next state."""

    features: FeatureMap
    horizon: int
    start: Callable[[np.random.Generator], Any]
    step: Callable[[int, int, Any, int, np.random.Generator], tuple[float, Any]]


def battery(price: Callable[[int], np.ndarray]) -> World:
    """Keep, buy or sell one unit in each of eight steps, at the prices `[8]` of the day."""

    def step(k: int, h: int, level: int, action: int, rng: np.random.Generator) -> tuple[float, int]:
        now = price(k)[h]
        if action == 1 and level < LEVELS - 1:
            return -now, level + 1
        if action == 2 and level > 0:
            return now, level - 1
        return 0.0, level

    return World(PerAction(OneHot(LEVELS), 3), len(PRICES), lambda rng: 0, step)


def walk(goal: Callable[[int], np.ndarray], swapped: Callable[[int], bool]) -> World:
    """Noisy steps in the unit square in four directions; a reward near the goal."""
    moves = 0.25 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])

    def step(
        k: int, h: int, place: np.ndarray, action: int, rng: np.random.Generator
    ) -> tuple[float, np.ndarray]:
        move = -moves[action] if swapped(k) else moves[action]
        reached = np.clip(place + move + rng.normal(scale=0.05, size=2), 0, 1)
        return float(np.exp(-((reached - goal(k)) ** 2).sum() / 0.05)), reached

    basis = RadialBasis(low=(0.0, 0.0), high=(1.0, 1.0), per_axis=4, width=0.25)
    return World(PerAction(basis, 4), 6, lambda rng: rng.uniform(0.3, 0.7, size=2), step)


def around(k: int, period: int) -> np.ndarray:
    """A goal that goes round once in a period."""
    angle = 2 * np.pi * k / period
    return 0.5 + 0.35 * np.array([np.cos(angle), np.sin(angle)])


CORNER = np.array([0.9, 0.9])
WORLDS: dict[str, World] = {
    "battery, nothing changes": battery(lambda k: PRICES),
    "battery, prices reversed every 200 days": battery(lambda k: PRICES[:: 1 - 2 * (k // 200 % 2)]),
    "battery, prices shift by an hour every 50 days": battery(lambda k: np.roll(PRICES, k // 50)),
    "walk, nothing changes": walk(lambda k: CORNER, lambda k: False),
    "walk, steering swapped every 200 episodes": walk(lambda k: CORNER, lambda k: bool(k // 200 % 2)),
    "walk, goal goes round in 800 episodes": walk(lambda k: around(k, 800), lambda k: False),
}


def earned(agent: EpisodicAgent, world: World, num_episodes: int, seed: int) -> float:
    """Mean return of an episode."""
    rng, total = np.random.default_rng(seed), 0.0
    for k in range(num_episodes):
        state = world.start(rng)
        agent.begin(state)
        for h in range(world.horizon):
            reward, state = world.step(k, h, state, agent.act(), rng)
            agent.observe(reward, state)
            total += reward
    return total / num_episodes


def learner(world: World, memory: int | str | None, seed: int = 0) -> EpisodicAgent:
    """One memory of that length, or a mixture."""
    given: Any = dict(features=world.features, horizon=world.horizon, seed=seed)
    if memory == "mixture":
        return EpisodicAgent("adaptive_opt_wlsvi", **given)
    rate = 1.0 if memory is None else 1 - 1 / int(memory)
    return EpisodicAgent("opt_wlsvi", rate=rate, clip="tight", memory=KEPT, **given)


def returns(num_episodes: int, num_seeds: int) -> list[float]:
    """Ratios of the mixture's mean return to that of the best memory in hindsight, by world."""
    ratios = []
    names = ["all" if each is None else str(each) for each in MEMORIES]
    print(f"| world | mixture | best memory | {' | '.join(names)} | ratio |")
    print("|---" * (4 + len(names)) + "|")
    for name, world in WORLDS.items():
        runs = {
            memory: [
                earned(learner(world, memory, seed), world, num_episodes, seed) for seed in range(num_seeds)
            ]
            for memory in ("mixture", *MEMORIES)
        }
        means = {memory: statistics.mean(each) for memory, each in runs.items()}
        best = max(MEMORIES, key=means.__getitem__)
        ratios.append(means["mixture"] / means[best])
        spread = np.std(runs["mixture"], ddof=1) / np.sqrt(num_seeds) if num_seeds > 1 else np.nan
        cells = [f"{means['mixture']:.3f} ± {spread:.3f}", "all" if best is None else str(best)]
        cells += [f"{means[memory]:.3f}" for memory in MEMORIES]
        print(f"| {name} | {' | '.join(cells)} | {ratios[-1]:.3f} |", flush=True)
    return ratios


def seconds(num_episodes: int) -> tuple[float, float]:
    """Median time of the last tenth of the episodes: of one memory of 128 episodes, and of the mixture."""
    rng = np.random.default_rng(0)
    directions = rng.normal(size=(NUM_ACTIONS, DIM, 4))

    def rows(state: np.ndarray) -> np.ndarray:
        return np.cos(directions @ state) / np.sqrt(DIM)

    features = Custom(rows, num_actions=NUM_ACTIONS, dim=DIM)
    world = World(
        features,
        HORIZON,
        lambda rng: rng.normal(size=4),
        lambda k, h, state, action, rng: (rng.uniform(), 0.8 * state + 0.3 * rng.normal(size=4)),
    )
    agents = [learner(world, 128), learner(world, "mixture")]
    times: list[list[float]] = [[], []]
    for k in range(num_episodes):
        for agent, taken in zip(agents, times, strict=True):
            started = time.perf_counter()
            earned(agent, world, 1, k)
            taken.append(time.perf_counter() - started)
    one, mixture = (statistics.median(each[-num_episodes // 10 :]) for each in times)
    return one, mixture


def main() -> int:
    parser = argparse.ArgumentParser(description="Memories that tune themselves on feature maps.")
    parser.add_argument("--episodes", type=int, default=600)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--cost", action="store_true", help="no worlds, which take a quarter of an hour")
    options = parser.parse_args()
    one, mixture = seconds(KEPT)
    print(f"an episode at d = {DIM}, H = {HORIZON}, {KEPT} remembered: {1e3 * one:.1f} ms with one memory")
    print(f"and {mixture / one:.2f} times that with a mixture of {len(MEMORIES)}\n")
    if options.cost:
        return int(mixture > COST_LIMIT * one)
    ratios = returns(options.episodes, options.seeds)
    overall = float(np.exp(np.mean(np.log(ratios))))
    print(f"\ngeometric mean of the ratios: {overall:.3f}")
    return int(mixture > COST_LIMIT * one or overall < LEAST_EARNED)


if __name__ == "__main__":
    sys.exit(main())
