"""Limits of memory that tunes itself: a late jump, and the cost of many memories.

    python -m benchmarks.adaptive_limits [late] [cost]

`late` has the regret of the 1,000 rounds after a jump that comes after 1,000 or after 900,000 rounds.
`cost` has the time of a simulation relative to one agent's, by the number of memories.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import driftwise as dw
from driftwise.algorithms import adaptive_lin_ucb, adaptive_opt_wlsvi, d_lin_ucb, opt_wlsvi
from driftwise.environments import LinearBandit, combination_lock, russac_abrupt
from driftwise.environments.arms import FreshArms
from driftwise.environments.paths import abrupt_path


def late() -> None:
    """The regret after a jump, early or late, and the least weight of all memories at the end."""
    for jump, num_episodes, num_runs in ((1000, 2000, 16), (900_000, 1_000_000, 6)):
        path = abrupt_path(((1, 0), (-1, 0)), (jump,))
        environment = LinearBandit(FreshArms(num_arms=20, dim=2, shape="cube"), path, "gaussian", 1.0)
        run: dict[str, Any] = dict(num_episodes=num_episodes, num_runs=num_runs, seed=3, record_every=10)
        result = dw.simulate(adaptive_lin_ucb(environment.spec), environment, **run)
        before = jump // 10 - 1
        paid = result.cumulative_regret[:, before + 100] - result.cumulative_regret[:, before]
        weights = [each[..., -1] for name, each in result.diagnostics.items() if name.startswith("weight")]
        error = paid.std(ddof=1) / np.sqrt(num_runs)
        print(f"jump after {jump:7}: {paid.mean():.1f} ± {error:.1f}, least weight {np.min(weights):.2g}")


def cost() -> None:
    """Time of a simulation relative to one agent's, over the number of memories."""
    lock, plane = combination_lock(), russac_abrupt(num_rounds=6000)
    pairs: list[tuple[Any, Any, Any, int]] = [
        (lock, opt_wlsvi(lock.spec, rate=0.98, radius=0.6), adaptive_opt_wlsvi(lock.spec), 600),
        (plane, d_lin_ucb(plane.spec, rate=0.98, noise_scale=1.0), adaptive_lin_ucb(plane.spec), 3000),
    ]
    for environment, one, mixture, num_episodes in pairs:
        run: dict[str, Any] = dict(num_episodes=num_episodes, num_runs=32, record_every=num_episodes)
        times = [least_time(partial(dw.simulate, each, environment, **run)) for each in (one, mixture)]
        num = len(mixture.base.forgetting.rate)
        print(
            f"{num} memories: {times[1] / times[0]:.1f} × one agent, {times[1] / times[0] / num:.2f} × {num}"
        )


def least_time(function: Callable[[], Any]) -> float:
    """Seconds of the fastest of three calls, after one that compiles."""
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        function()
        seconds.append(time.perf_counter() - start)
    return min(seconds[1:])


if __name__ == "__main__":
    for name in sys.argv[1:] or ("late", "cost"):
        {"late": late, "cost": cost}[name]()
