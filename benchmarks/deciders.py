"""Latency of a decision and its reward of several algorithms online, as ratios to D-LinUCB.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.deciders

All meet clicks of the same arms, in turns of a few rounds, and medians over rounds count. Mirror descent has
a row in which its estimate leaves the ball in nearly every round, so that it has to be projected.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np

from driftwise.online import Bandit

DIM, NUM_ARMS, ROUNDS, TURN = 10, 20, 1000, 50
BANDITS: dict[str, dict[str, Any]] = {
    "D-LinUCB": dict(algorithm="d_lin_ucb", rate=0.99, noise_scale=0.5),
    "D-GLB-OMD": dict(algorithm="d_glb_omd", rate=0.99),
    "D-GLB-OMD, projected": dict(algorithm="d_glb_omd", rate=0.99, ridge=0.1, norm_bound=0.1),
    "adaptive LinUCB": dict(algorithm="adaptive_lin_ucb"),
    "adaptive GLB-OMD": dict(algorithm="adaptive_glb_omd"),
}
LIMITS = {"D-GLB-OMD": 5, "D-GLB-OMD, projected": 14, "adaptive LinUCB": 6, "adaptive GLB-OMD": 20}


def medians() -> dict[str, float]:
    """Microseconds for a decision and its reward, over all turns but the first."""
    rng = np.random.default_rng(0)
    bandits = {name: Bandit(dim=DIM, **given) for name, given in BANDITS.items()}
    arms = rng.normal(size=(ROUNDS, NUM_ARMS, DIM))
    arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
    chances = 1 / (1 + np.exp(-arms @ rng.normal(size=DIM)))
    clicks = (rng.random((ROUNDS, NUM_ARMS)) < chances).astype(float).tolist()
    times: dict[str, list[float]] = {name: [] for name in bandits}
    for start in range(0, ROUNDS, TURN):
        for name, bandit in bandits.items():
            for t in range(start, start + TURN):
                started = time.perf_counter()
                decision = bandit.decide(arms[t])
                bandit.learn(decision.id, clicks[t][decision.arm])
                times[name].append(1e6 * (time.perf_counter() - started))
    return {name: statistics.median(each[TURN:]) for name, each in times.items()}


def main() -> int:
    found = medians()
    first, *_ = found.values()
    print("| algorithm | median, µs | of D-LinUCB |\n|---|---|---|")
    for name, value in found.items():
        print(f"| {name} | {value:.0f} | {value / first:.1f} |")
    return int(any(found[name] > limit * first for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
