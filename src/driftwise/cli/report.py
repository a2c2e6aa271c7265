"""`driftwise report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from driftwise.cli.app import InputError, app, check
from driftwise.cli.options import FOLDER_OR_CURVES, argument, word

EXAMPLES = """\b
Examples:
  driftwise report results/quickstart
  driftwise report results/quickstart --format latex --out table.tex
  driftwise report curves.csv"""


@app.command("report", epilog=EXAMPLES)
def _report(
    folder: Annotated[str, argument("DIR", FOLDER_OR_CURVES)],
    format: Annotated[str, word("FORMAT", "html, pdf, png, csv or latex.")] = "html",
    out: Annotated[str | None, word("FILE", "The file to write.  [default: in DIR]")] = None,
) -> None:
    """Write a report on a finished run: a page that works offline, or a figure or table for a paper."""
    from driftwise.analysis.report import write_report

    try:
        print(check(write_report, Path(folder), format=format, out=None if out is None else Path(out)))
    except OSError as error:
        where = "" if out is None else f" {out!r}"
        raise InputError(f"--out{where} cannot be written: {error.strerror or error}") from None
