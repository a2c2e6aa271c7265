"""`driftwise list` and `driftwise show`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

from driftwise.base.validation import require_choice
from driftwise.cli.app import InputError, app, argument, check, flag, option
from driftwise.cli.output import output_width, print_table

if TYPE_CHECKING:
    from driftwise.analysis.table import Table

_LEFT_OUT = ("exploration", "paper")  # columns that an overview leaves out
_WIDE = 160  # columns, in which it has them
_KIND = (
    "Only these: experiments, algorithms, environments, scenarios, drifts, paths, arms, corruptions, "
    "forgettings, explorations or detectors."
)
_NAME = "Any name that 'driftwise list' shows."
_LINE = 100  # letters in a line of an entry, at most

_LIST_EXAMPLES = """\b
Examples:
  driftwise list
  driftwise list algorithms --problem "linear MDP"
  driftwise list environments --with bandit"""

_SHOW_EXAMPLES = """\b
Examples:
  driftwise show opt_wlsvi
  driftwise show Abrupt"""


def _complete_kinds() -> list[str]:
    from driftwise.analysis.entries import KINDS

    return list(KINDS)


def _complete_names() -> list[str]:
    from driftwise.analysis.entries import entry_names

    return entry_names()


@app.command("list", epilog=_LIST_EXAMPLES)
def _list(
    kind: str | None = argument("KIND", _KIND, _complete_kinds, default=None),
    problem: str | None = option(
        "PROBLEM", "Only algorithms for this problem, such as 'linear MDP', or for any."
    ),
    having: str | None = option("TEXT", "Only rows that contain this text.", "--with"),
    markdown: bool = flag("--markdown", "Print Markdown tables."),
) -> None:
    """List experiments, algorithms, environments, drifts and more."""
    from driftwise.algorithms import ALGORITHMS
    from driftwise.analysis.entries import KINDS
    from driftwise.analysis.table import markdown_text

    if kind is not None:
        check(require_choice, "KIND", kind, list(KINDS))
    if problem is not None:
        check(
            require_choice,
            "--problem",
            problem,
            sorted({algorithm.problem for algorithm in ALGORITHMS.values()}),
        )
        if kind not in (None, "algorithms"):
            raise InputError(f"--problem is for algorithms, got it with {kind}")
        kind = "algorithms"
    tables = {name: KINDS[name]() for name in ([kind] if kind else KINDS)}
    if problem is not None:
        tables = {"algorithms": _filter(tables["algorithms"], lambda row: row[1] in (problem, "any"))}
    if having is not None:
        text = having.lower()
        tables = {
            name: _filter(table, lambda row: text in " ".join(row).lower()) for name, table in tables.items()
        }
    if not any(table.rows for table in tables.values()):
        raise InputError(f"--with must be a text that some row contains, got {having!r}")
    if kind is None and not markdown and output_width() < _WIDE:
        tables["algorithms"] = tables["algorithms"].without(*_LEFT_OUT)
    for table in tables.values():
        if table.rows:
            print(markdown_text(table)) if markdown else print_table(table)


@app.command("show", epilog=_SHOW_EXAMPLES)
def _show(name: str = argument("NAME", _NAME, _complete_names)) -> None:
    """Show all about one algorithm, environment, drift or other part.

    Signature, formulas, parameters, bound, BibTeX, and an example.
    """
    from driftwise.analysis.entries import entry_text

    print(check(entry_text, name, min(output_width(), _LINE)))


def _filter(table: Table, wanted: Callable[[list[str]], bool]) -> Table:
    rows = tuple(row for row in table.rows if wanted([cell.text for cell in row]))
    return dataclasses.replace(table, rows=rows)
