"""`driftwise list` and `driftwise show`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from driftwise.base.validation import require_choice
from driftwise.cli import completion
from driftwise.cli.app import InputError, app, check, print_table, width_of_output
from driftwise.cli.options import argument, flag, word

if TYPE_CHECKING:
    from driftwise.analysis.table import Table

IN_SHORT = ("exploration", "paper")  # columns that an overview leaves out
WIDE = 160  # columns, in which it has them
KIND = (
    "Only these: experiments, algorithms, environments, scenarios, drifts, paths, arms, corruptions, "
    "forgettings, explorations or detectors."
)
A_NAME = "Any name that 'driftwise list' shows."
LINE = 100  # letters in a line of an entry, at most

LIST_EXAMPLES = """\b
Examples:
  driftwise list
  driftwise list algorithms --problem "linear MDP"
  driftwise list environments --with bandit"""

SHOW_EXAMPLES = """\b
Examples:
  driftwise show opt_wlsvi
  driftwise show Abrupt"""


@app.command("list", epilog=LIST_EXAMPLES)
def _list(
    kind: Annotated[str | None, argument("KIND", KIND, completion.kinds)] = None,
    problem: Annotated[
        str | None, word("PROBLEM", "Only algorithms for this problem, such as 'linear MDP', or for any.")
    ] = None,
    having: Annotated[str | None, word("TEXT", "Only rows that contain this text.", "--with")] = None,
    markdown: Annotated[bool, flag("--markdown", "Print Markdown tables.")] = False,
) -> None:
    """List experiments, algorithms, environments, drifts and more."""
    from driftwise.algorithms import ALGORITHMS
    from driftwise.analysis.catalogue import KINDS
    from driftwise.analysis.table import markdown_text

    if kind is not None:
        check(require_choice, "KIND", kind, list(KINDS))
    if problem is not None:
        check(require_choice, "--problem", problem, sorted({each.problem for each in ALGORITHMS.values()}))
        if kind not in (None, "algorithms"):
            raise InputError(f"--problem is for algorithms, got it with {kind}")
        kind = "algorithms"
    tables = {each: KINDS[each]() for each in ([kind] if kind else KINDS)}
    if problem is not None:
        tables = {"algorithms": _kept(tables["algorithms"], lambda row: row[1] in (problem, "any"))}
    if having is not None:
        text = having.lower()
        tables = {
            name: _kept(each, lambda row: text in " ".join(row).lower()) for name, each in tables.items()
        }
    if not any(table.rows for table in tables.values()):
        raise InputError(f"--with must be a text that something says, got {having!r}")
    if kind is None and not markdown and width_of_output() < WIDE:
        tables["algorithms"] = tables["algorithms"].without(*IN_SHORT)
    for table in tables.values():
        if table.rows:
            print(markdown_text(table)) if markdown else print_table(table)


@app.command("show", epilog=SHOW_EXAMPLES)
def _show(name: Annotated[str, argument("NAME", A_NAME, completion.entries)]) -> None:
    """Show all about one algorithm, environment, drift or other part.

    Signature, formulas, parameters, bound, BibTeX, and an example.
    """
    from driftwise.analysis.entries import entry_text

    print(check(entry_text, name, min(width_of_output(), LINE)))


def _kept(table: Table, wanted: Callable[[list[str]], bool]) -> Table:
    rows = tuple(row for row in table.rows if wanted([cell.text for cell in row]))
    return dataclasses.replace(table, rows=rows)
