"""A battery on the German electricity prices of 2022: how many days should a planner remember?

The prices come with the package `building-energy-storage-simulation`: `pip install 'driftwise[data]'`.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import driftwise as dw
from driftwise.analysis.matplotlib_figures import COLOURS, STYLE, png_bytes
from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.types import Episode
from driftwise.environments import planning
from driftwise.environments.models.linear_mdp import LinearMdp

LEVELS = 3  # of the battery, 1 kWh apart
BLOCKS = 8  # of a day, three hours each
EFFICIENCY = 0.9  # of what is bought, so much is stored
IMAGINED = 4  # random days with a battery that a planner learns from in the evening
MEMORIES = {"all days": np.inf, "60 days": 60, "30 days": 30, "14 days": 14, "7 days": 7}
RADII = (0.02, 0.05, 0.1, 0.2)  # of exploration, from which the best is taken in hindsight
QUARTERS = ("January to March", "April to June", "July to September", "October to December")


def prices() -> np.ndarray:
    """Day-ahead prices in cents per kWh: `[days, blocks]`."""
    package = find_spec("building_energy_storage_simulation")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("the prices need a package: pip install 'driftwise[data]'")
    file = "data/preprocessed/electricity_price_profile.csv"
    hourly = np.loadtxt(
        Path(package.submodule_search_locations[0]) / file, delimiter=",", skiprows=1, usecols=1
    )
    return hourly.reshape(-1, BLOCKS, 24 // BLOCKS).mean(axis=-1)


def largest_flow(prices: np.ndarray) -> float:
    """Cents that a block can cost or bring at most: twice that is one unit of reward."""
    return float(np.abs(prices).max() / EFFICIENCY)


def battery(prices: np.ndarray) -> LinearMdp:
    """An episode is a day, a model of its own: `r = ½ − price·grid/(2·largest)`, energy from the grid.

    A step discharges, holds or charges by one level. Features are the level that follows, one-hot, and the
    energy taken from the grid, `d = LEVELS + 1`: the level moves as physics says, and the one weight that
    differs from day to day is the price. A day starts at any level; what is left at its end is worth nothing.
    """
    level, action = np.indices((LEVELS, 3))
    after = np.clip(level + action - 1, 0, LEVELS - 1)
    grid = np.where(after > level, 1 / EFFICIENCY, after - level)
    share = 1 / (np.sqrt(LEVELS) * grid.max())  # of the last feature: norms are at most one
    length = np.sqrt(1 + 1 / LEVELS)
    features = np.concatenate([np.eye(LEVELS)[after], share * grid[..., None]], axis=-1) / length
    theta = np.full((*prices.shape, LEVELS + 1), 0.5 * length)
    theta[..., -1] = -0.5 * prices / largest_flow(prices) / share * length
    mu = np.zeros((*prices.shape, LEVELS + 1, LEVELS))
    mu[..., :LEVELS, :] = np.eye(LEVELS) * length
    every_day = dw.drift.Abrupt(tuple(range(1, len(prices)))) if len(prices) > 1 else dw.drift.Constant()
    return LinearMdp(features, theta, mu, initial=np.full(LEVELS, 1 / LEVELS), drift=every_day)


def earned(env: LinearMdp, policies: list[np.ndarray], prices: np.ndarray) -> np.ndarray:
    """Cents that policies `[H, S, A]` earn on their days, more than a battery at rest: exact means."""
    values = [
        planning.policy_values(env.features, env.model(day), policy)[0].mean()
        for day, policy in enumerate(policies)
    ]
    return (np.array(values) - BLOCKS / 2) * 2 * largest_flow(prices)


def best_policy(env: LinearMdp, days: np.ndarray) -> np.ndarray:
    """The optimal policy for the mean prices of some days."""
    model = planning.Model(env.theta[days].mean(axis=0), env.mu[0])
    values = planning.optimal_values(env.features, model)
    return dw.exploration.greedy_policy(planning.action_values(env.features, model, values))


def planner(env: LinearMdp, memory: float) -> Agent:
    """Value iteration on days weighted by `(1 − 1/memory)^age`; no exploration."""
    rate = (1 - 1 / memory) ** (1 / IMAGINED)
    return dw.algorithms.epsilon_greedy_lsvi(env.spec, epsilon=0.0, rate=rate, ridge=1e-3, clip="tight")


def plan_and_learn(env: LinearMdp, agent: Agent, num_days: int, seed: int) -> list[np.ndarray]:
    """The policy of each morning; in the evening, when prices are public, random days are imagined."""
    table, rng = env.to_arrays().example, np.random.default_rng(seed)
    state, policies = agent.init(table), []
    for day in range(num_days):
        plan = agent.plan(state, table, random.key(day))
        policies.append(plan.policy)
        for _ in range(IMAGINED):
            state = agent.update(state, table, plan, _random_day(env, day, rng))
    return policies


def _random_day(env: LinearMdp, day: int, rng: np.random.Generator) -> Episode:
    model, levels, actions = env.model(day), [int(rng.integers(LEVELS))], rng.integers(3, size=BLOCKS)
    for step, action in enumerate(actions):
        levels.append(int((env.features[levels[-1], action] @ model.mu[step]).argmax()))
    features = env.features[levels[:-1], actions]
    rewards = (features * model.theta).sum(axis=-1)
    states = np.array(levels, dtype=np.int32)
    return Episode(states[:-1], actions.astype(np.int32), features, rewards, states[1:])


def learnt_from_bills(env: LinearMdp, num_days: int, num_runs: int, prices: np.ndarray) -> dict[str, float]:
    """Cents a day of OPT-WLSVI, which knows only what it paid itself; the best radius of each memory."""
    best = np.mean(
        [planning.optimal_values(env.features, env.model(day))[0].mean() for day in range(num_days)]
    )
    rates = 1 - 1 / np.array(list(MEMORIES.values()))
    agent = dw.algorithms.opt_wlsvi(
        env.spec, rate=rates[:, None], radius=np.array([RADII]), ridge=1e-4, clip="tight"
    )
    result = dw.simulate(agent, env, num_episodes=num_days, num_runs=num_runs)
    lost = result.cumulative_regret[..., -1].mean(axis=-1).min(axis=-1) / num_days
    cents = (best - lost - BLOCKS / 2) * 2 * largest_flow(prices)
    return dict(zip(MEMORIES, cents.tolist(), strict=True))


def lived_through(env: LinearMdp, memory: float, radius: float, seed: int) -> list[np.ndarray]:
    """The policy of each morning of OPT-WLSVI in the house itself, one step after the other.

    It is told nothing but what a level and an action do to the battery and the meter, its features.
    """
    agent = dw.online.EpisodicAgent(
        "opt_wlsvi",
        features=env.features,
        horizon=BLOCKS,
        seed=seed,
        rate=1 - 1 / memory,
        radius=radius,
        ridge=1e-4,
        clip="tight",
    )
    rng, policies = np.random.default_rng(seed), []
    for day in range(len(env.theta)):
        model, level = env.model(day), int(rng.integers(LEVELS))
        agent.begin(level)
        policies.append(agent.plan.policy[:, :LEVELS])
        for step in range(BLOCKS):
            features = env.features[level, agent.act()]
            level = int((features @ model.mu[step]).argmax())
            agent.observe(float(features @ model.theta[step]), level)
    return policies


def study(num_days: int = 365, num_runs: int = 8) -> dict[str, np.ndarray]:
    """Cents earned on each day, by what is known in the morning: `[days]`."""
    given = prices()[:num_days]
    env, days = battery(given), np.arange(len(given))
    found = {
        "clairvoyant": earned(env, [best_policy(env, days[day : day + 1]) for day in days], given),
        "season known": earned(
            env, [best_policy(env, days[max(0, day - 14) : day + 15]) for day in days], given
        ),
        "best fixed": earned(env, [best_policy(env, days)] * len(days), given),
    }
    for label, memory in MEMORIES.items():
        runs = [plan_and_learn(env, planner(env, memory), len(days), seed) for seed in range(num_runs)]
        found[label] = np.mean([earned(env, policies, given) for policies in runs], axis=0)
    return found


def main(target: Path) -> None:
    given, found = prices(), study()
    for label, cents in found.items():
        print(f"{label:>14}: {cents.mean():6.2f} cents a day")
    for label, cents in learnt_from_bills(battery(given), len(given), 16, given).items():
        print(f"{label:>14}: {cents:6.2f} cents a day, learnt from its own bills")
    env = battery(given)
    lives = [earned(env, lived_through(env, 60, radius=0.05, seed=seed), given) for seed in range(4)]
    print(f"{'60 days':>14}: {np.mean(lives):6.2f} cents a day, the same step by step, radius 0.05")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        _draw_prices(left, given)
        _draw_losses(right, found)
        target.write_bytes(png_bytes(figure))
    print(target)


def _draw_prices(axes: Axes, prices: np.ndarray) -> None:
    edges = np.linspace(0, 24, BLOCKS + 1)
    for quarter, (name, colour) in enumerate(zip(QUARTERS, COLOURS, strict=False)):
        days = slice(quarter * len(prices) // 4, (quarter + 1) * len(prices) // 4)
        axes.stairs(prices[days].mean(axis=0), edges, baseline=None, color=colour, linewidth=2, label=name)
    axes.set_title("Mean price, cents per kWh", loc="left", fontsize=10.5)
    axes.set_xlabel("hour of the day")
    axes.set_xticks(range(0, 25, 6))
    axes.legend(frameon=False, fontsize=9)


def _draw_losses(axes: Axes, found: dict[str, np.ndarray]) -> None:
    for label, colour in zip(
        ("best fixed", "all days", "30 days", "7 days", "season known"), COLOURS, strict=False
    ):
        lost = np.cumsum(found["clairvoyant"] - found[label]) / 100
        axes.plot(lost, color=colour, label=f"remembers {label}" if label in MEMORIES else label)
    axes.set_title("Lost against knowing the day's prices, euros", loc="left", fontsize=10.5)
    axes.set_xlabel("day of the year")
    axes.legend(frameon=False, fontsize=9)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "battery.png"))
