"""The exponents of a run whose environments differ in length or in variation."""

from __future__ import annotations

from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table

from driftwise.cli.app import stdout


def print_rates(folder: Path) -> None:
    """A table for each sweep in a results folder; nothing where there is none."""
    from driftwise.analysis.report.data import load_report_data
    from driftwise.analysis.report.rates import HEADINGS, sweeps

    for sweep in sweeps(load_report_data(folder)):
        table = Table(box=SIMPLE_HEAD)
        table.add_column("agent")
        for heading in HEADINGS:
            table.add_column(heading, justify="right")
        for fit in sweep.fits:
            table.add_row(fit.agent, *fit.words)
        sizes = ", ".join(
            f"{size:.3g}" if sweep.along == "variation" else f"{size:,.0f}" for size in sweep.sizes
        )
        print(f"How regret grows with {sweep.symbol}, {sizes}, at {sweep.fixed}")
        stdout().print(table)
