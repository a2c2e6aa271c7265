"""Regret of memory that tunes itself, against each of its memories alone, in all built-in environments.

    python -m benchmarks.adaptive [--runs 32] [--most 4000] [--choices] [words of an environment's name ...]

An environment with a star is the stationary twin: its first model for ever. "Best" is the memory with the
least mean regret in hindsight, of those that the mixture has, with the same exploration and draws. Bandits
have `origin="zero"`, as their rewards do; what it costs to learn the origin all the same stands behind. The
interval of the ratio is of a jackknife over runs. `--choices` compares shares, favours, fresh starts
and memories.
"""

from __future__ import annotations

import argparse
import copy
import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import driftwise as dw
from driftwise.algorithms import adaptive_lin_ts, adaptive_lin_ucb, adaptive_opt_wlsvi
from driftwise.analysis.statistics import jackknife_interval
from driftwise.base.part import index_part
from driftwise.environments import Environment
from driftwise.experiments import EXPERIMENTS, prepare

LEFT_OUT = (
    *("adaptive_bandit", "adaptive_mdp", "quickstart"),  # environments of others again
    *("average_reward_drift", "oil_discovery_drift", "riverswim_drift_tabular"),
)
CHOICES: dict[str, dict[str, Any]] = {
    "default": {},
    "share 0.001": dict(share=0.001),
    "share 0.01": dict(share=0.01),
    "no favour": dict(favour=0.0),
    "favour 0.3": dict(favour=0.3),
    "favour 0.5": dict(favour=0.5),
    "no fresh start": dict(fresh="never"),
    "memories to 512": dict(longest=512),
}


def environments() -> Iterator[tuple[str, Environment, int]]:
    """Environments of the built-in experiments, and a stationary twin of each that drifts."""
    for name, experiment in EXPERIMENTS.items():
        if name in LEFT_OUT:
            continue
        study = prepare(experiment)
        for label, environment in study.environments.items():
            whole = name if len(study.environments) == 1 else f"{name}, {label}"
            yield whole, environment, study.lengths[label]
            if environment.variation(study.lengths[label]).total > 0 and not name.startswith("rates"):
                yield f"{whole} *", stationary(environment), study.lengths[label]


def stationary(environment: Environment) -> Environment:
    """The environment that stays at its first model."""
    twin, path = copy.copy(environment), environment.at
    object.__setattr__(twin, "at", lambda episodes: path(np.zeros_like(np.asarray(episodes))))
    return twin


def final_regret(agent: Any, environment: Environment, num_episodes: int, num_runs: int) -> np.ndarray:
    """Cumulative regret at the end, `[*grid, runs]`."""
    run: dict[str, Any] = dict(num_episodes=num_episodes, num_runs=num_runs, seed=7)
    result = dw.simulate(agent, environment, **run, record_every=num_episodes)
    return np.asarray(result.cumulative_regret)[..., -1]


def ratio(mixture: np.ndarray, alone: np.ndarray) -> tuple[float, float, float]:
    """Mean regret of the mixture over that of the best memory alone, and an interval."""
    best = alone[alone.mean(axis=-1).argmin()]
    pairs = np.stack([mixture, best], axis=-1)
    found = jackknife_interval(pairs, lambda means: np.log(means[..., 0] / means[..., 1]))
    return math.exp(found.estimate), math.exp(found.low), math.exp(found.high)


def recipe_for(environment: Environment, thompson: bool, origin: str = "zero") -> Any:
    """The recipe for an environment's problem."""
    if environment.spec.horizon > 1:
        return adaptive_opt_wlsvi
    return functools.partial(adaptive_lin_ts if thompson else adaptive_lin_ucb, origin=origin)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each environment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--runs", type=int, default=32)
    parser.add_argument("--most", type=int, default=10**9, help="episodes at most")
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--thompson", action="store_true")
    given = parser.parse_args(arguments)
    logs: dict[str, list[float]] = {}
    for label, environment, length in environments():
        if not all(word in label for word in given.words):
            continue
        recipe, num = recipe_for(environment, given.thompson), min(length, given.most)
        agents = {name: recipe(environment.spec, **options) for name, options in CHOICES.items()}
        for name, agent in agents.items() if given.choices else [("default", agents["default"])]:
            alone = final_regret(agent.base, environment, num, given.runs)
            regret = final_regret(agent, environment, num, given.runs)
            value, low, high = ratio(regret, alone)
            learnt = ""
            if environment.spec.horizon == 1 and name == "default":
                whole = recipe_for(environment, given.thompson, origin="learnt")(environment.spec)
                learnt = f"  origin learnt {final_regret(whole, environment, num, given.runs).mean():9.1f}"
            logs.setdefault(name, []).append(math.log(value))
            best = int(alone.mean(axis=-1).argmin())
            rate = index_part(agent.base, best).forgetting.rate
            memory = "all" if rate == 1 else f"{1 / (1 - rate):.0f}"
            least = f"{alone.mean(axis=-1).min():9.1f} ({memory:>4})"
            print(
                f"{label:38} {name:20} {regret.mean():9.1f}  best {least}"
                f"  never forget {alone[-1].mean():9.1f}  ratio {value:.2f} [{low:.2f}, {high:.2f}]{learnt}",
                flush=True,
            )
    for name, values in logs.items():
        print(f"{name:20} geometric mean of {len(values)} ratios {math.exp(np.mean(values)):.3f}")


if __name__ == "__main__":
    main()
