"""A frozen lake on which steering is swapped now and then: who forgets finds the way again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gymnasium
import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, png_bytes
from driftwise.environments.drift import Abrupt
from driftwise.gym import DriftingParameter
from driftwise.online import EpisodicAgent, train
from driftwise.online.features import OneHot, PerAction

LAKE = ["HFSFG"]  # hole, frozen, start, frozen, goal
OPPOSITE = {0: 2, 1: 3, 2: 0, 3: 1}
SWAPPED = (0.05, 0.95)  # how often a step goes the opposite way, in turn
HORIZON = 5
CHANGE_EVERY = 150
NUM_EPISODES = 600
NUM_RUNS = 10
FIRST_SEED = 10  # each radius is the best of 0.05, 0.1, 0.2 and 0.4 for seeds 0 to 3
AGENTS: dict[str, dict[str, Any]] = {
    "OPT-WLSVI, rate 0.95": dict(algorithm="opt_wlsvi", rate=0.95, radius=0.2),
    "SW-LSVI-UCB, 40 episodes": dict(algorithm="sw_lsvi_ucb", length=40, radius=0.2),
    "LSVI-UCB, which never forgets": dict(algorithm="lsvi_ucb", radius=0.4),
}


def swap_steering(env: Any, probability: float) -> None:
    """With some probability the ice takes a step for its opposite."""
    if not hasattr(env, "as_made"):
        env.as_made = {state: dict(actions) for state, actions in env.P.items()}
    for state, actions in env.as_made.items():
        for action, ways in actions.items():
            env.P[state][action] = [(share * (1 - probability), *way) for share, *way in ways] + [
                (share * probability, *way) for share, *way in actions[OPPOSITE[action]]
            ]


def lake(num_episodes: int) -> gymnasium.Env:
    """Steering is swapped, and set right again, every `CHANGE_EVERY` episodes."""
    env = gymnasium.make("FrozenLake-v1", desc=LAKE, is_slippery=False, max_episode_steps=HORIZON)
    changes = tuple(range(CHANGE_EVERY, num_episodes, CHANGE_EVERY)) or (num_episodes,)
    return DriftingParameter(env, swap_steering, SWAPPED, Abrupt(changes, num_anchors=2))


def play(name: str, num_episodes: int, seed: int) -> np.ndarray:
    """Whether an agent reached the goal, episode by episode."""
    num_states = len(LAKE[0])
    features = PerAction(OneHot(num_states), 4).table(range(num_states))
    parameters: dict[str, Any] = dict(ridge=0.1, clip="tight") | AGENTS[name]
    agent = EpisodicAgent(features=features, horizon=HORIZON, seed=seed, **parameters)
    return train(agent, lake(num_episodes), num_episodes, seed=seed).returns


def main(target: Path, num_episodes: int = NUM_EPISODES, num_runs: int = NUM_RUNS) -> dict[str, np.ndarray]:
    """Returns `[num_runs, num_episodes]` of every agent."""
    seeds = range(FIRST_SEED, FIRST_SEED + num_runs)
    found = {name: np.stack([play(name, num_episodes, seed) for seed in seeds]) for name in AGENTS}
    for name, returns in found.items():
        means = returns.mean(axis=1)
        error = means.std(ddof=1) / np.sqrt(num_runs) if num_runs > 1 else np.nan
        print(f"{name}: reaches the goal in {100 * means.mean():.1f} % of episodes (± {100 * error:.1f})")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 3.4), layout="constrained")
        axes = figure.subplots()
        width = min(20, num_episodes)
        for (name, returns), colour in zip(found.items(), COLOURS, strict=False):
            smooth = np.convolve(returns.mean(axis=0), np.ones(width) / width, mode="valid")
            axes.plot(np.arange(width - 1, num_episodes), smooth, color=colour, label=name)
        for change in range(CHANGE_EVERY, num_episodes, CHANGE_EVERY):
            axes.axvline(change, color="#999999", linewidth=1, linestyle=":")
        axes.set_title("Share of runs that reach the goal; steering is swapped at dotted lines", loc="left")
        axes.set_xlabel("episode (means over the last 20)")
        axes.set_ylim(0, 1.05)
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
        target.write_bytes(png_bytes(figure))
    print(target)
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "drifting_gym.png"))
