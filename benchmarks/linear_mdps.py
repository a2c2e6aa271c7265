"""Regret of the default agent in every finite linear MDP, against the best fixed numbers in hindsight.

    python -m benchmarks.linear_mdps [--runs 8] [--half choose] [--cache FILE] [words of a name ...]

Every environment once jumps to its next anchor in the middle, and once keeps its first model (a star).
"Best" is the least mean regret of OPT-WLSVI over 60 points: memories, radii and ridges, fixed in
hindsight, with the same draws. Halves alternate in the alphabet; both were seen while the default was chosen,
see docs/adaptive.md.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import driftwise as dw

ENVIRONMENTS = (
    *("admission_control", "combination_lock", "deep_sea", "four_rooms", "hard_instance", "inventory"),
    *("latent_chains", "machine_replacement", "oil_discovery", "random_linear_mdp", "river_swim"),
)
HALVES = {"choose": ENVIRONMENTS[::2], "show": ENVIRONMENTS[1::2]}
POINTS = tuple(itertools.product((0.97, 0.99, 0.997, 1.0), (0.1, 0.3, 1.0), (1.0, 0.1, 0.01, 0.001, 0.0001)))


def make_environments(num_episodes: int, half: str) -> Iterator[tuple[str, Any]]:
    """Return each environment of a half with a jump in the middle, and with a star at rest."""
    for name in HALVES[half]:
        for star, at in ("", num_episodes // 2), (" *", num_episodes):
            yield name + star, getattr(dw.environments, name)(drift=dw.drift.Abrupt(at=(at,)))


def final_regret(agent: Any, environment: Any, num_episodes: int, num_runs: int) -> np.ndarray:
    """Return the mean cumulative regret at the end, `[*grid]`."""
    run: dict[str, Any] = dict(num_episodes=num_episodes, num_runs=num_runs, seed=7)
    result = dw.simulate(agent, environment, **run, record_every=num_episodes)
    return np.asarray(result.cumulative_regret)[..., -1].mean(axis=-1)


def yardsticks(environment: Any, num_episodes: int, num_runs: int) -> dict[str, Any]:
    """Return the regret of uniform play, of the best of 60 fixed agents, and which one that is."""
    rates, radii, ridges = zip(*POINTS, strict=True)
    fixed = dw.algorithms.opt_wlsvi(environment.spec, rate=rates, radius=radii, ridge=ridges, clip="tight")
    regrets = final_regret(fixed, environment, num_episodes, num_runs)
    uniform = final_regret(dw.algorithms.uniform(environment.spec), environment, num_episodes, num_runs)
    best = {"best": float(regrets.min()), "at": POINTS[regrets.argmin()]}
    return {"uniform": float(uniform), **best}


def load(path: Path | None) -> dict[str, Any]:
    """Return the yardsticks in a file, none if there is no file."""
    return json.loads(path.read_text()) if path and path.exists() else {}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each environment, and the geometric means."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--half", choices=list(HALVES))
    parser.add_argument("--cache", type=Path, help="a file that keeps the regret of the fixed agents")
    given = parser.parse_args(arguments)
    size, known = (given.episodes, given.runs), load(given.cache)
    for half in [given.half] if given.half else HALVES:
        ratios = []
        for label, environment in make_environments(given.episodes, half):
            if not all(word in label for word in given.words):
                continue
            name = f"{label}, {size}"
            if name not in known:
                known[name] = yardsticks(environment, *size)
                if given.cache:
                    given.cache.write_text(json.dumps(known))
            found = known[name]
            agent = dw.algorithms.adaptive_opt_wlsvi(environment.spec)
            regret = float(final_regret(agent, environment, *size))
            ratios.append(regret / found["best"])
            print(
                f"{label:22} uniform {found['uniform']:7.0f}  best {found['best']:7.1f} at {found['at']}"
                f"  default {regret:7.1f}, {ratios[-1]:.2f} of the best,"
                f" {regret / found['uniform']:.3f} of uniform",
                flush=True,
            )
        if ratios:
            mean = np.exp(np.mean(np.log(ratios)))
            print(f"{half}: geometric mean of {len(ratios)} ratios {mean:.2f}, largest {max(ratios):.2f}\n")


if __name__ == "__main__":
    main()
