"""`driftwise report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from driftwise.cli.app import InputError, app, check_options, said_warnings
from driftwise.cli.options import FOLDER_OR_CURVES, argument, number, word

EXAMPLES = """\b
Examples:
  driftwise report results/quickstart
  driftwise report results/quickstart --format latex --out table.tex
  driftwise report results/quickstart --format pdf --width 3.3 --font serif
  driftwise report curves.csv"""


@app.command("report", epilog=EXAMPLES)
def _report(
    folder: Annotated[str, argument("DIR", FOLDER_OR_CURVES)],
    format: Annotated[str, word("FORMAT", "What to write: html, svg, pdf, png, csv or latex.")] = "html",
    out: Annotated[str | None, word("FILE", "File to write.  [default: a file in DIR]")] = None,
    width: Annotated[
        float | None, number("--width", "Width of a figure in inches.  [default: 11]", metavar="INCHES")
    ] = None,
    font: Annotated[
        str | None, word("NAME", "Font of a figure, such as serif.  [default: DejaVu Sans]")
    ] = None,
    font_size: Annotated[
        float | None,
        number("--font-size", "Font size of a figure.  [default: by the width]", metavar="POINTS"),
    ] = None,
    title: Annotated[
        str | None, word("TEXT", "Title of a figure; '' for none.  [default: the experiment's summary]")
    ] = None,
) -> None:
    """Write a report on a finished run.

    The default is a page that works offline. The other formats are a figure, a table or data for a paper.
    """
    from driftwise.analysis.report import write_report

    try:
        look = dict(width=width, font=font, font_size=font_size, title=title)
        target = None if out is None else Path(out)
        with said_warnings():  # of environments that cannot be made
            written = check_options(write_report, Path(folder), format=format, out=target, **look)
        print(written)
    except OSError as error:
        where = "" if out is None else f" {out!r}"
        raise InputError(f"--out{where} cannot be written: {error.strerror or error}") from None
