"""Latency of one decision and its reward online, against hand-written NumPy and against other libraries.

    python -m benchmarks.online

All meet the same rounds, in turns of a few, and the median over rounds counts: what else the machine does
slows all of them. The hand-written D-LinUCB does what the formulas ask for and nothing more: no check of its
input, no ties, no ids, times or probabilities, no rewards that come late. Ours is checked to choose the same
arms; one row has it with 10,000 decisions that wait in vain, and one is the default, which is told nothing
and keeps eleven memories. The others are stationary, and used in the fastest way that they offer; those not
installed are left out. Last, the time that `import driftwise.online` takes of the processor in a new process,
without the wait for the disk.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np

from driftwise.online import Bandit

RATE, NOISE, RIDGE, DELTA = 0.99, 0.1, 1.0, 0.05
LIMITS = {(10, 20): 1.2, (100, 100): 1.3}  # of the ratio to hand-written code, by dimension and arms
FASTER = 5  # times as fast as the fastest other library at the first size
IMPORT_LIMIT = 0.3  # seconds
WAITING = 10_000  # the most that may wait by default
CROWDED_LIMIT = 1.2  # of the ratio to the same without any that wait
DEFAULT_LIMIT = 3.0  # of the ratio of the default to hand-written code
HAND, OURS = "hand-written NumPy", '`Bandit("d_lin_ucb", …)`'
TURN = 50  # rounds of one before it is the next one's turn


class Learner(Protocol):
    """Chooses an arm `[A, d]`, then learns its reward."""

    def decide(self, arms: np.ndarray) -> int: ...

    def learn(self, arm: int, reward: float) -> None: ...


class Ours:
    def __init__(self, dim: int, num_arms: int) -> None:
        self.bandit = Bandit("d_lin_ucb", dim=dim, rate=RATE, noise_scale=NOISE, ridge=RIDGE, delta=DELTA)

    def decide(self, arms: np.ndarray) -> int:
        self.decision = self.bandit.decide(arms)
        return self.decision.arm

    def learn(self, arm: int, reward: float) -> None:
        self.bandit.learn(self.decision.id, reward)


class Crowded(Ours):
    """The same with as many decisions waiting as may: each new one makes the oldest expire."""

    def __init__(self, dim: int, num_arms: int) -> None:
        super().__init__(dim, num_arms)
        for _ in range(WAITING):
            self.bandit.decide(np.eye(1, dim))


class Default(Ours):
    """Memory that tunes itself."""

    def __init__(self, dim: int, num_arms: int) -> None:
        self.bandit = Bandit(dim=dim)


class HandWritten:
    """D-LinUCB in plain NumPy. With a ridge that is refilled in every round no inverse can be updated."""

    def __init__(self, dim: int, num_arms: int) -> None:
        self.dim, self.t = dim, 0
        self.v, self.v_tilde, self.b = RIDGE * np.eye(dim), RIDGE * np.eye(dim), np.zeros(dim)
        self.refill, self.refill_sq = (1 - RATE) * self.v, (1 - RATE**2) * self.v

    def decide(self, arms: np.ndarray) -> int:
        t = self.t + 1
        information = self.dim * math.log1p((1 - RATE ** (2 * self.t)) / (RIDGE * self.dim * (1 - RATE**2)))
        spread = math.log(2 * t) + 2 * math.log(1 + math.log(t)) - math.log(DELTA)
        radius = math.sqrt(RIDGE) + NOISE * math.sqrt(2 * spread + information)
        inverse = np.linalg.inv(self.v)
        mapped = arms @ inverse
        squared = ((mapped @ self.v_tilde) * mapped).sum(axis=1)
        arm = int((arms @ (inverse @ self.b) + radius * np.sqrt(squared)).argmax())
        self.x = arms[arm]
        return arm

    def learn(self, arm: int, reward: float) -> None:
        outer = np.outer(self.x, self.x)
        self.v *= RATE
        self.v += self.refill
        self.v += outer
        self.v_tilde *= RATE**2
        self.v_tilde += self.refill_sq
        self.v_tilde += outer
        self.b *= RATE
        self.b += reward * self.x
        self.t += 1


class Coba:
    """LinUCB on the features of actions."""

    def __init__(self, dim: int, num_arms: int) -> None:
        from coba.learners import LinUCBLearner  # pyright: ignore[reportMissingImports]

        self.learner = LinUCBLearner(features=["a"])

    def decide(self, arms: np.ndarray) -> int:
        self.actions = arms.tolist()
        self.action, self.probability = self.learner.predict(None, self.actions)[:2]
        return self.actions.index(self.action)

    def learn(self, arm: int, reward: float) -> None:
        self.learner.learn(None, self.action, reward, self.probability)


class BayesianBandits:
    """Thompson sampling from one regression on the features of arms."""

    def __init__(self, dim: int, num_arms: int) -> None:
        from bayesianbandits import NormalRegressor  # pyright: ignore[reportMissingImports]

        self.learner = NormalRegressor(alpha=RIDGE, beta=1 / NOISE**2, random_state=0)

    def decide(self, arms: np.ndarray) -> int:
        arm = int(self.learner.sample(arms)[0].argmax())
        self.x = arms[arm : arm + 1]
        return arm

    def learn(self, arm: int, reward: float) -> None:
        self.learner.partial_fit(self.x, np.array([reward]))


class MabWiser:
    """LinUCB with a regression for each arm; a context is the first arm's features."""

    def __init__(self, dim: int, num_arms: int) -> None:
        from mabwiser.mab import MAB, LearningPolicy  # pyright: ignore[reportMissingImports]

        arms = list(range(num_arms))
        self.learner = MAB(arms, LearningPolicy.LinUCB(alpha=1.0, l2_lambda=RIDGE))
        self.learner.fit(arms, [0.0] * num_arms, np.zeros((num_arms, dim)))

    def decide(self, arms: np.ndarray) -> int:
        self.context = arms[:1]
        return int(self.learner.predict(self.context))  # pyright: ignore[reportArgumentType]

    def learn(self, arm: int, reward: float) -> None:
        self.learner.partial_fit([arm], [reward], self.context)


PEERS: dict[str, Callable[[int, int], Learner]] = {
    "coba `LinUCBLearner`": Coba,
    "bayesianbandits `NormalRegressor`": BayesianBandits,
    "MABWiser LinUCB": MabWiser,
}


def installed(dim: int, num_arms: int) -> dict[str, Learner]:
    """The other libraries that there are."""
    found: dict[str, Learner] = {}
    for name, make in PEERS.items():
        try:
            found[name] = make(dim, num_arms)
        except ImportError:
            print(f"{name} is not installed and left out.")
    return found


def offers(dim: int, num_arms: int, num_rounds: int) -> list[tuple[np.ndarray, list[float]]]:
    """Arms of different lengths, so that there are no ties, and what each of them would pay."""
    rng = np.random.default_rng(0)
    theta = rng.normal(size=dim) / math.sqrt(dim)
    arms = rng.normal(size=(num_rounds, num_arms, dim))
    arms *= rng.uniform(0.5, 1, size=(num_rounds, num_arms, 1)) / np.linalg.norm(arms, axis=-1, keepdims=True)
    paid = arms @ theta + NOISE * rng.normal(size=(num_rounds, num_arms))
    return [(each, rewards.tolist()) for each, rewards in zip(arms, paid, strict=True)]


def medians(learners: dict[str, Learner], dim: int, num_arms: int, num_rounds: int) -> dict[str, float]:
    """Microseconds for a decision and its reward, over all turns but the first."""
    rounds = offers(dim, num_arms, num_rounds)
    times: dict[str, list[float]] = {name: [] for name in learners}
    for start in range(0, num_rounds, TURN):
        chosen: dict[str, list[int]] = {name: [] for name in learners}
        for name, learner in learners.items():
            for arms, rewards in rounds[start : start + TURN]:
                started = time.perf_counter()
                arm = learner.decide(arms)
                learner.learn(arm, rewards[arm])
                times[name].append(1e6 * (time.perf_counter() - started))
                chosen[name].append(arm)
        assert chosen[OURS] == chosen[HAND], f"other arms from round {start} on"
    return {name: statistics.median(each[TURN:]) for name, each in times.items()}


def import_seconds(repeats: int = 7) -> float:
    """The best of a few imports, in seconds of the processor: other work does not count."""
    script = "import time; t = time.process_time(); import driftwise.online; print(time.process_time() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(repeats)
    ]
    return min(float(run.stdout) for run in runs)


def main() -> int:
    parser = argparse.ArgumentParser(description="Latency of online bandits.")
    parser.add_argument("--rounds", type=int, default=2000, help="that are timed, at each size")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    failures, numbers = 0, {}
    print("| d | arms | learner | µs | of hand-written |\n|---|---|---|---|---|")
    for (dim, num_arms), limit in LIMITS.items():
        learners: dict[str, Learner] = {HAND: HandWritten(dim, num_arms), OURS: Ours(dim, num_arms)}
        first = not numbers
        peers = installed(dim, num_arms) if first else {}
        crowded: dict[str, Learner] = (
            {f"the same, {WAITING:,} decisions waiting": Crowded(dim, num_arms)} if first else {}
        )
        default: dict[str, Learner] = (
            {"the default, `Bandit(dim=10)`": Default(dim, num_arms)} if first else {}
        )
        found = medians({**learners, **crowded, **default, **peers}, dim, num_arms, options.rounds)
        numbers[f"{dim}x{num_arms}"] = found
        for name, value in found.items():
            print(f"| {dim} | {num_arms} | {name} | {value:.1f} | {value / found[HAND]:.2f} |")
        failures += found[OURS] > limit * found[HAND]
        failures += any(found[name] > CROWDED_LIMIT * found[OURS] for name in crowded)
        failures += any(found[name] > DEFAULT_LIMIT * found[HAND] for name in default)
        failures += any(found[name] < FASTER * found[OURS] for name in peers)
    seconds = import_seconds()
    failures += seconds > IMPORT_LIMIT
    print(f"\nimport driftwise.online: {seconds:.2f} s of the processor")
    if options.json:
        options.json.write_text(json.dumps({"latency": numbers, "import": seconds}))
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
