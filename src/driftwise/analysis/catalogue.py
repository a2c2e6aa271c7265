"""Tables of what there is: experiments, algorithms and environments."""

from __future__ import annotations

from driftwise.algorithms import ALGORITHMS, Algorithm
from driftwise.algorithms.registry import FAMILIES
from driftwise.analysis.table import Table, words
from driftwise.environments import ENVIRONMENTS
from driftwise.experiments import EXPERIMENTS


def experiments_table() -> Table:
    """The built-in experiments."""
    rows = [(each.name, each.summary) for each in EXPERIMENTS.values()]
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
    rows = [(name, (make.__doc__ or "").split("\n")[0]) for name, make in ENVIRONMENTS.items()]
    return Table.of("environments", words("environment", "what it is"), rows)


def _place(algorithm: Algorithm) -> tuple[int, bool, bool, str]:
    family = algorithm.__module__.rpartition(".")[0].rpartition(".")[2]
    rank = [*FAMILIES, family].index(family)
    return rank, algorithm.paper == "baseline", algorithm.forgetting.startswith("none"), algorithm.name
