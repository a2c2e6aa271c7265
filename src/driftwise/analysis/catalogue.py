"""Tables of what there is: experiments, algorithms, environments, scenarios, and the parts of files."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from driftwise.algorithms import ALGORITHMS, Algorithm
from driftwise.algorithms.registry import FAMILIES
from driftwise.analysis.formulas import readable
from driftwise.analysis.table import Table, words
from driftwise.environments import ENVIRONMENTS
from driftwise.experiments import EXPERIMENTS
from driftwise.experiments.building import parts_of
from driftwise.scenarios.scenario import LEVELS


def experiments_table() -> Table:
    """The built-in experiments."""
    rows = [*EXPERIMENTS.summaries().items()]
    return Table.of("experiments", words("experiment", "what happens"), rows)


def algorithms_table() -> Table:
    """The registered algorithms, by families: those that forget, those that need not, baselines."""
    headings = ("algorithm", "problem", "forgetting", "exploration", "bound on dynamic regret", "paper")
    rows = [
        (each.name, each.problem, each.forgetting, each.exploration, each.bound, each.paper)
        for each in sorted(ALGORITHMS.values(), key=_place)
    ]
    return Table.of("algorithms", words(*headings), rows)


def environments_table() -> Table:
    """The registered environments."""
    return _described("environments", ENVIRONMENTS)


def scenarios_table() -> Table:
    """The words that names of scenarios are made of."""
    rows = [(level, part, told) for part, levels in LEVELS.items() for level, told in levels.items()]
    return Table.of(
        "scenarios", words("scenario", "in PROBLEM/MOVE-STRENGTH/FEEDBACK/START", "what it is"), rows
    )


def _described(kind: str, made: Mapping[str, Any]) -> Table:
    """Names, and the first lines of their docstrings."""
    rows = [(name, readable((each.__doc__ or "").split("\n")[0])) for name, each in made.items()]
    return Table.of(kind, words(singular(kind), "what it is"), rows)


def singular(kind: str) -> str:
    """`drift` of `drifts`; `arms` stay many."""
    return kind if kind == "arms" else kind.removesuffix("s")


KINDS: dict[str, Callable[[], Table]] = {
    "experiments": experiments_table,
    "algorithms": algorithms_table,
    "environments": environments_table,
    "scenarios": scenarios_table,
    **{
        kind: functools.partial(lambda kind: _described(kind, parts_of(singular(kind))), kind)
        for kind in ("drifts", "paths", "arms", "corruptions", "forgettings", "explorations", "detectors")
    },
}


def _place(algorithm: Algorithm) -> tuple[int, bool, bool, str]:
    family = algorithm.__module__.rpartition(".")[0].rpartition(".")[2]
    rank = [*FAMILIES, family].index(family)
    return rank, algorithm.paper == "baseline", algorithm.forgetting.startswith("none"), algorithm.name
