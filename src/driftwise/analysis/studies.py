"""A study in tables before it runs: the sizes of its environments, and the numbers of its agents."""

import itertools
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from driftwise.analysis.agent_numbers import AgentNumbers, extract_numbers, number_cell, number_columns
from driftwise.analysis.formatting import format_number
from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.base.part import to_config
from driftwise.environments import ContinuingMdp, Environment, LinearBandit, LinearMdp
from driftwise.experiments.study import Study
from driftwise.theory.bounds.bound import ProblemClass, Setting

_COIN_DEVIATION = 0.5  # the deviation of a reward in [0, 1], at most
_MAX_EPISODES = 10_000  # of a path, at which a parameter's length is looked at


def study_environments_table(study: Study) -> Table:
    """Return the dimension, horizon, episodes and variation of every environment."""
    rows = []
    for label, environment in study.environments.items():
        spec, length = environment.spec, study.lengths[label]
        counts = (Cell.of("{:,}".format, count) for count in (spec.dim, spec.horizon, length))
        try:
            variation = environment.variation(length)
            budgets = variation.total, variation.reward_budget, variation.transition_budget
        except ValueError:  # it cannot be summed
            budgets = math.nan, math.nan, math.nan
        rows.append((label, *counts, *(Cell.of(format_number, float(budget)) for budget in budgets)))
    return Table.of("environments", words("environment") + numbers("d", "H", "K", "Δ", "Δ_r", "Δ_P"), rows)


def agents_table(study: Study, environments: Collection[str]) -> Table:
    """Return the parameters of every agent in these environments; grids as ranges."""
    points: dict[tuple[str, str], list[list[AgentNumbers]]] = {}
    for group in study.groups:
        if group.environment_label in environments:
            candidates = [extract_numbers(to_config(p.agent), p.variation) for p in group.points.values()]
            points.setdefault((group.environment_label, group.name), []).extend(candidates)
    columns = number_columns(number for agent in points.values() for point in agent for number in point)
    rows = []
    for names, agent in points.items():
        cells = (number_cell(field, itertools.chain(*agent)) for field in columns)
        rows.append((*names, Cell.of(str, len(agent)), *cells))
    headings = (*words("environment", "agent"), *numbers("points"), *columns.values())
    table = Table.of("agents", headings, rows)
    return table if any(len(agent) > 1 for agent in points.values()) else table.without("points")


def setting_of(environment: Environment, num_episodes: int, **given: Any) -> tuple[ProblemClass, Setting]:
    """Return the problem class of an environment and the setting of its bounds, with `given` fields."""
    if isinstance(environment, ContinuingMdp):
        raise ValueError("it has no episodes, and the bounds here are about those that have")
    spec, bounds = environment.spec, {}
    if isinstance(environment, LinearMdp):
        bounds = {"mu_bound": environment.mu_bound}
    if isinstance(environment, LinearBandit):
        episodes = np.unique(np.linspace(0, num_episodes - 1, _MAX_EPISODES).round().astype(int))
        longest = np.linalg.norm(environment.at(episodes), axis=-1).max()
        if environment.link != "identity":
            raise ValueError("its rewards have a link, and the bounds here are for linear means")
        noise = _COIN_DEVIATION if environment.rewards == "bernoulli" else environment.noise_scale
        bounds = {"noise_scale": noise, "norm_bound": float(longest)}
    variation = environment.variation(num_episodes).total
    problem: ProblemClass = "linear bandit" if isinstance(environment, LinearBandit) else "linear MDP"
    return problem, Setting(spec.dim, num_episodes, variation, spec.horizon, **{**bounds, **given})
