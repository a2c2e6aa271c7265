"""Cost of a decision and its reward with many dimensions, and of a decision while an agent is saved.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.large

The table is over rounds in which several anchors are set (see `Anchored`), by agents that have learnt from a
sample for each dimension before. It is against hand-written NumPy that makes the inverse anew in every round,
in turns and within one run. The last column is the time of all processors, the thread that makes anchors
included; where decisions come without a pause it needs a second one. `benchmarks.online` has few dimensions.
Then come features in blocks, whose rewards come at once or 20 rounds late. Then 200,000 decisions wait, and
the longest decision while the agent is saved stands beside the longest one else. The collector of garbage is
told to leave alone what waits, as docs/online-bandits.md advises: it would be measured instead.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import numpy as np

from benchmarks.online import HandWritten, Learner, Ours, offers
from driftwise.online import Bandit

NUM_ARMS, TURN = 20, 10
LIMITS = {200: (0.8, 1.2), 500: (0.4, 0.4), 1000: (0.3, 0.25)}  # of the ratio to hand-written code
ROUNDS = 260
BLOCK_ROUNDS, BLOCK_DELAY, BLOCK_LIMIT = 1000, 20, 0.5  # milliseconds, where rewards come at once
WAITING, LONGEST = 200_000, 5.0  # decisions; milliseconds


class Adaptive(Ours):
    """The default: memory that tunes itself."""

    def __init__(self, dim: int, num_arms: int) -> None:
        self.bandit = Bandit(dim=dim)


class Times(NamedTuple):
    """Milliseconds for a decision and its reward."""

    passed: list[float]  # in every round
    used: list[float]  # of all processors, in the mean of every turn


def timed(dim: int) -> list[Times]:
    """Times of all turns but the first, which sets anchors."""
    agents = [Ours(dim, NUM_ARMS), Adaptive(dim, NUM_ARMS)]
    for arms, rewards in offers(dim, NUM_ARMS, dim):
        for agent in agents:
            agent.bandit.learn_from(arms[:1], rewards[:1])
    learners: list[Learner] = [HandWritten(dim, NUM_ARMS), *agents]
    times = [Times([], []) for _ in learners]
    rounds = offers(dim, NUM_ARMS, ROUNDS)
    for start in range(0, ROUNDS, TURN):
        for learner, taken in zip(learners, times, strict=True):
            used = time.process_time()
            for arms, rewards in rounds[start : start + TURN]:
                started = time.perf_counter()
                arm = learner.decide(arms)
                learner.learn(arm, rewards[arm])
                taken.passed.append(1e3 * (time.perf_counter() - started))
            for thread in set(threading.enumerate()) - {threading.current_thread()}:
                thread.join()  # its work belongs to this turn
            taken.used.append(1e3 * (time.process_time() - used) / TURN)
    return [Times(passed[TURN:], used[1:]) for passed, used in times]


def categories(rng: np.random.Generator) -> np.ndarray:
    """Return two arms, each with a block of a constant and one of 300 categories."""
    chances = 1 / np.arange(1.0, 301)
    category = np.eye(300)[rng.choice(300, p=chances / chances.sum())]
    return np.kron(np.eye(2), np.append(1.0, category))


def contexts(rng: np.random.Generator) -> np.ndarray:
    """Return 40 arms, each with a block of 22 numbers."""
    return np.kron(np.eye(40), rng.normal(size=22) / 5)


def timed_in_blocks(
    make_arms: Callable[[np.random.Generator], np.ndarray], algorithm: str, delay: int
) -> list[float]:
    """Milliseconds for a decision and a reward, after half of the rounds."""
    rng, waiting, passed = np.random.default_rng(0), deque[tuple[str, float]](), list[float]()
    dim = make_arms(rng).shape[1]
    bandit, weights = Bandit(algorithm, dim=dim), rng.normal(size=dim)
    for _ in range(BLOCK_ROUNDS):
        arms = make_arms(rng)
        started = time.perf_counter()
        decision = bandit.decide(arms)
        waiting.append((decision.id, float(arms[decision.arm] @ weights + 0.2 * rng.normal())))
        if len(waiting) > delay:
            bandit.learn(*waiting.popleft())
        passed.append(1e3 * (time.perf_counter() - started))
    return passed[BLOCK_ROUNDS // 2 :]


def longest_decisions(bandit: Bandit) -> tuple[float, float]:
    """Milliseconds of the longest decision while an agent is saved, and while it is not."""
    arms = np.random.default_rng(0).normal(size=(NUM_ARMS, 10)) / 10
    for _ in range(WAITING):
        bandit.decide(arms)
    gc.collect()
    gc.freeze()

    def longest(other: threading.Thread) -> float:
        taken = [0.0]
        other.start()
        while other.is_alive():
            started = time.perf_counter()
            bandit.decide(arms)
            taken.append(1e3 * (time.perf_counter() - started))
            time.sleep(5e-4)
        return max(taken)

    with tempfile.TemporaryDirectory() as folder:
        saving = threading.Thread(target=bandit.save, args=(Path(folder) / "agent.safetensors",))
        return longest(saving), longest(threading.Thread(target=time.sleep, args=(1.0,)))


def main() -> int:
    failures = 0
    print("| dimension | | median, ms | mean, ms | longest, ms | processors, ms |\n|---|---|---|---|---|---|")
    for dim, limits in LIMITS.items():
        found = timed(dim)
        means = [mean(each.passed) for each in found]
        names = "hand-written", "`d_lin_ucb`", "`Bandit(dim=…)`"
        for name, average, (passed, used) in zip(names, means, found, strict=True):
            row = f"{median(passed):.2f} | {average:.2f} | {max(passed):.1f} | {mean(used):.2f}"
            print(f"| {dim} | {name} | {row} |")
        failures += sum(each > limit * means[0] for each, limit in zip(means[1:], limits, strict=True))
    print("\n| features in blocks | | at once, ms | mean | late, ms | mean |\n|---|---|---|---|---|---|")
    for name, make_arms in (("602: 2 of [1, 300 categories]", categories), ("880: 40 of 22", contexts)):
        for algorithm in ("adaptive_lin_ucb", "adaptive_lin_ts"):
            soon, late = (timed_in_blocks(make_arms, algorithm, delay) for delay in (0, BLOCK_DELAY))
            failures += algorithm == "adaptive_lin_ucb" and median(soon) > BLOCK_LIMIT
            row = " | ".join(f"{function(each):.2f}" for each in (soon, late) for function in (median, mean))
            print(f"| {name} | `{algorithm}` | {row} |", flush=True)
    print(f"\nlongest decision with {WAITING:,} waiting")
    bandits = (
        Bandit("d_lin_ucb", dim=10, max_pending=WAITING, rate=0.99, noise_scale=0.1),
        Bandit(dim=10, max_pending=WAITING),
    )
    for bandit in bandits:
        saving, idle = longest_decisions(bandit)
        failures += saving > max(LONGEST, 2 * idle)
        print(f"{bandit.algorithm}: {saving:.1f} ms while saving, {idle:.1f} ms else")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
