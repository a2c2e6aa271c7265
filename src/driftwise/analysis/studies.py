"""A study in tables before it runs: the sizes of its environments, and the numbers of its agents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from driftwise.analysis.numbers import Numbers, number_cell, number_columns, numbers_of
from driftwise.analysis.statistics.wording import rounded
from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.base.part import to_config
from driftwise.environments import ContinuingMdp, Environment, LinearBandit, LinearMdp
from driftwise.experiments.study import Study
from driftwise.theory.bounds.bound import Problem, Setting

COIN = 0.5  # the deviation of a reward in [0, 1], at most
PLACES = 10_000  # of a path, at which a parameter's length is looked at


def environments_table(study: Study) -> Table:
    """Dimension, horizon, episodes and variation of every environment."""
    rows = []
    for label, environment in study.environments.items():
        spec, length = environment.spec, study.lengths[label]
        counts = (Cell.of("{:,}".format, count) for count in (spec.dim, spec.horizon, length))
        rows.append((label, *counts, *(Cell.of(rounded, each) for each in _budgets(environment, length))))
    return Table.of("environments", words("environment") + numbers("d", "H", "K", "Δ", "Δ_r", "Δ_P"), rows)


def _budgets(environment: Environment, num_episodes: int) -> tuple[float, float, float]:
    """The variation, that of rewards and that of transitions; NaN where there is too much to sum."""
    try:
        found = environment.variation(num_episodes)
    except ValueError:
        return math.nan, math.nan, math.nan
    return float(found.total), float(found.reward_budget), float(found.transition_budget)


def agents_table(study: Study, environments: Collection[str]) -> Table:
    """The numbers of every agent in these environments; of a grid from the lowest to the highest."""
    found: dict[tuple[str, str], list[list[Numbers]]] = {}
    for group in study.groups:
        if group.environment_label in environments:
            own = [numbers_of(to_config(each.agent), each.variation) for each in group.points.values()]
            found.setdefault((group.environment_label, group.name), []).extend(own)
    columns = number_columns(each for agent in found.values() for point in agent for each in point)
    rows = []
    for names, agent in found.items():
        cells = (number_cell(field, itertools.chain(*agent)) for field in columns)
        rows.append((*names, Cell.of(str, len(agent)), *cells))
    headings = (*words("environment", "agent"), *numbers("points"), *columns.values())
    table = Table.of("agents", headings, rows)
    return table if any(len(agent) > 1 for agent in found.values()) else table.without("points")


def setting_of(environment: Environment, num_episodes: int, **given: Any) -> tuple[Problem, Setting]:
    """The problem that an environment is, and its sizes as bounds take them, but for what is `given`."""
    if isinstance(environment, ContinuingMdp):
        raise ValueError("it has no episodes, and the bounds here are about those that have")
    spec, own = environment.spec, {}
    if isinstance(environment, LinearMdp):
        own = {"mu_bound": environment.mu_bound}
    if isinstance(environment, LinearBandit):
        places = np.unique(np.linspace(0, num_episodes - 1, PLACES).round().astype(int))
        longest = np.linalg.norm(environment.at(places), axis=-1).max()
        if environment.link != "identity":
            raise ValueError("its rewards have a link, and the bounds here are for linear means")
        noise = COIN if environment.rewards == "bernoulli" else environment.noise_scale
        own = {"noise_scale": noise, "norm_bound": float(longest)}
    variation = environment.variation(num_episodes).total
    problem: Problem = "linear bandit" if isinstance(environment, LinearBandit) else "linear MDP"
    return problem, Setting(spec.dim, num_episodes, variation, spec.horizon, **{**own, **given})
