"""Rewards of `Bandit(dim=…, expand="auto")` on curved and on linear problems, and its cost.

    pip install river
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.expand

Each stream has 4000 rounds, two arms and a label that is one of them: the reward is 1 for the right one. The
rule of the labels changes in the middle, but in streams marked as fixed. Features are the inputs and a
constant, once for each arm, `np.kron(np.eye(2), inputs)`. The last two are linear bandits of ten arms with a
noise of 0.3. The number is the mean reward, with its standard error over seeds. River's Hoeffding adaptive
tree predicts labels and is told every one of them; it and Agrawal's streams (inputs scaled to ±1) are left
out where river is not installed. The constants of the maps were chosen on the streams with a star, by 2000
rounds of seeds 0 to 3; seeds here start at 100. The last table has the time of the processor for a round of
ten arms, decision and reward.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from driftwise.online import Bandit

try:
    from river.datasets import synth  # pyright: ignore[reportMissingImports]
    from river.tree import HoeffdingAdaptiveTreeClassifier  # pyright: ignore[reportMissingImports]
except ImportError:
    synth = HoeffdingAdaptiveTreeClassifier = None

NUM, FIRST_SEED = 4000, 100
LOW = np.array([20_000, 0, 20, 0, 1, 0, 0, 1, 0.0])  # of Agrawal's inputs
HIGH = np.array([150_000, 75_000, 80, 4, 20, 8, 1_350_000, 30, 500_000.0])
EXPANSIONS = ("no", "auto", "products", "fourier")


class Stream(NamedTuple):
    """Arms of every round, and the mean rewards of each."""

    arms: np.ndarray  # [T, N, d]
    means: np.ndarray  # [T, N]
    noise: float
    inputs: np.ndarray  # [T, k], for a tree
    labels: np.ndarray | None  # [T]


def labelled(inputs: np.ndarray, labels: np.ndarray) -> Stream:
    """Two arms; the label of a round is the arm that pays."""
    contexts = np.append(inputs, np.ones((len(inputs), 1)), axis=1)
    arms = np.stack([np.kron(np.eye(2), context) for context in contexts])
    return Stream(arms, np.eye(2)[labels], 0.0, inputs, labels)


def xor(rng: np.random.Generator, values: str, wrong: float = 0.0) -> Stream:
    """Whether the signs of two inputs differ, and after the flip whether they agree."""
    inputs = rng.uniform(-1, 1, (NUM, 2)) if values == "uniform" else rng.integers(0, 2, (NUM, 2)) * 1.0
    high = inputs > (0 if values == "uniform" else 0.5)
    labels = high[:, 0] ^ high[:, 1] ^ (np.arange(NUM) >= NUM // 2) ^ (rng.uniform(size=NUM) < wrong)
    return labelled(inputs, labels.astype(int))


def agrawal(rng: np.random.Generator, *functions: int) -> Stream:
    """Loan decisions by functions of Agrawal, Imielinski & Swami (1993), which change in the middle."""
    assert synth is not None
    rows: list[Any] = []
    for function in functions:
        stream = synth.Agrawal(classification_function=function, seed=int(rng.integers(2**31)))
        rows += stream.take(NUM // len(functions))
    inputs = np.array([[*row.values()] for row, _ in rows], dtype=float)
    return labelled(2 * (inputs - LOW) / (HIGH - LOW) - 1, np.array([label for _, label in rows]))


def halves(rng: np.random.Generator, dim: int, wrong: float = 0.1, changes: int = 1) -> Stream:
    """On which side of a plane the inputs are, with some labels wrong."""
    inputs = rng.uniform(-1, 1, (NUM, dim))
    normals = np.repeat(rng.normal(size=(changes + 1, dim)), NUM // (changes + 1), axis=0)
    labels = ((inputs * normals).sum(axis=1) > 0) ^ (rng.uniform(size=NUM) < wrong)
    return labelled(inputs, labels.astype(int))


def linear(rng: np.random.Generator, dim: int, changes: int) -> Stream:
    """Ten arms of length one, whose parameter of length one jumps at times."""
    arms, thetas = rng.normal(size=(NUM, 10, dim)), rng.normal(size=(changes + 1, dim))
    arms, thetas = (rows / np.linalg.norm(rows, axis=-1, keepdims=True) for rows in (arms, thetas))
    means = np.einsum("tnd,td->tn", arms, np.repeat(thetas, NUM // (changes + 1), axis=0))
    return Stream(arms, means, 0.3, arms[:, 0], None)


STREAMS: dict[str, Callable[[np.random.Generator], Stream]] = {
    "xor of two numbers *": partial(xor, values="uniform"),
    "xor of two bits": partial(xor, values="bits"),
    "xor of two numbers, 10 % wrong": partial(xor, values="uniform", wrong=0.1),
    "Agrawal 1, then 2 *": lambda rng: agrawal(rng, 0, 1),
    "Agrawal 1, then 3": lambda rng: agrawal(rng, 0, 2),
    "Agrawal 3, then 5": lambda rng: agrawal(rng, 2, 4),
    "Agrawal 1, fixed": lambda rng: agrawal(rng, 0),
    "Agrawal 7, then 10": lambda rng: agrawal(rng, 6, 9),
    "planes, 5 inputs *": partial(halves, dim=5),
    "planes, 3 inputs, fixed": partial(halves, dim=3, changes=0),
    "linear, 5 features, 3 jumps *": partial(linear, dim=5, changes=3),
    "linear, 8 features, fixed": partial(linear, dim=8, changes=0),
}


def earned(stream: Stream, expand: str, seed: int) -> float:
    """Mean of the mean rewards of the arms that a bandit takes."""
    blocks: Any = {} if stream.labels is None or expand == "no" else {"blocks": 2}
    bandit = Bandit(dim=stream.arms.shape[2], seed=seed, expand=expand, **blocks)
    noise, total = stream.noise * np.random.default_rng(seed).normal(size=NUM), 0.0
    for arms, means, error in zip(stream.arms, stream.means, noise.tolist(), strict=True):
        decision = bandit.decide(arms)
        mean = means.item(decision.arm)
        bandit.learn(decision.id, mean + error)
        total += mean
    return total / NUM


def tree_share(stream: Stream) -> float:
    """Share of the labels that river's tree predicts before it learns them."""
    assert HoeffdingAdaptiveTreeClassifier is not None
    assert stream.labels is not None
    tree, right = HoeffdingAdaptiveTreeClassifier(seed=0), 0
    for inputs, label in zip(stream.inputs.tolist(), stream.labels.tolist(), strict=True):
        row = dict(enumerate(inputs))
        right += tree.predict_one(row) == label
        tree.learn_one(row, label)
    return right / NUM


def write(values: list[float]) -> str:
    error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.3f} ± {error:.3f}"


def rows(num_seeds: int) -> Iterator[str]:
    for name, make in STREAMS.items():
        if name.startswith("Agrawal") and synth is None:
            continue
        streams = [make(np.random.default_rng(FIRST_SEED + seed)) for seed in range(num_seeds)]
        cells = [
            write([earned(stream, expand, seed) for seed, stream in enumerate(streams)])
            for expand in EXPANSIONS
        ]
        has_tree = HoeffdingAdaptiveTreeClassifier is not None and streams[0].labels is not None
        cells.append(write([tree_share(stream) for stream in streams]) if has_tree else "–")
        yield f"| {name} | {' | '.join(cells)} |"


def round_time(dim: int, expand: str, num: int = 200) -> float:
    """Least seconds of the processor for a round over turns of `num`, after as many to warm up."""
    blocks: Any = {} if expand == "no" else {"blocks": 2}
    bandit, rng, times = Bandit(dim=dim, expand=expand, **blocks), np.random.default_rng(0), []
    for _ in range(4):
        arms = rng.uniform(-1, 1, (num, 10, dim)) / np.sqrt(dim)
        started = time.process_time()
        for each in arms:
            decision = bandit.decide(each)
            bandit.learn(decision.id, each.item(decision.arm, 0))
        times.append((time.process_time() - started) / num)
    return min(times[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description="Bandits on several maps of their features.")
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    print("| stream | linear | auto | products | Fourier | river's tree |\n|---|---|---|---|---|---|")
    for row in rows(options.seeds):
        print(row, flush=True)
    print("\n| features | linear, µs a round | auto | products | Fourier |\n|---|---|---|---|---|")
    for dim in (2, 10, 20):
        least = [1e6 * round_time(dim, expand) for expand in EXPANSIONS]
        ratios = " | ".join(f"{each:.0f} ({each / least[0]:.0f}×)" for each in least[1:])
        print(f"| {dim} | {least[0]:.0f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
