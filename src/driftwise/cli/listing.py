"""`driftwise list`."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from driftwise.algorithms import ALGORITHMS
from driftwise.cli.app import app, stdout
from driftwise.environments import ENVIRONMENTS
from driftwise.experiments import EXPERIMENTS


@app.command("list")
def _list() -> None:
    """Show the experiments, algorithms and environments there are."""
    headings = ("algorithm", "problem", "forgetting", "exploration", "bound on regret", "paper")
    algorithms = [
        (each.name, each.problem, each.forgetting, each.exploration, each.bound, each.paper)
        for each in ALGORITHMS.values()
    ]
    environments = [(name, (make.__doc__ or "").split("\n")[0]) for name, make in ENVIRONMENTS.items()]
    experiments = [(each.name, each.summary) for each in EXPERIMENTS.values()]
    for titles, rows in (
        (("experiment", "what happens"), experiments),
        (headings, algorithms),
        (("environment", "what it is"), environments),
    ):
        table = Table(*titles, box=SIMPLE_HEAD)
        for row in rows:
            table.add_row(*row)
        stdout().print(table)
