"""`driftwise report`."""

from __future__ import annotations

from pathlib import Path

from driftwise.cli.app import (
    FOLDER_OR_CURVES,
    InputError,
    app,
    argument,
    check_options,
    float_option,
    option,
    print_warnings,
)

_EXAMPLES = """\b
Examples:
  driftwise report results/quickstart
  driftwise report results/quickstart --format latex --out table.tex
  driftwise report results/quickstart --format pdf --width 3.3 --font serif
  driftwise report curves.csv"""


@app.command("report", epilog=_EXAMPLES)
def _report(
    folder: str = argument("DIR", FOLDER_OR_CURVES),
    format: str = option("FORMAT", "What to write: html, svg, pdf, png, csv or latex.", default="html"),
    out: str | None = option("FILE", "File to write.  [default: a file in DIR]"),
    width: float | None = float_option(
        "--width", "Width of a figure in inches.  [default: 11]", metavar="INCHES"
    ),
    font: str | None = option("NAME", "Font of a figure, such as serif.  [default: DejaVu Sans]"),
    title: str | None = option(
        "TEXT", "Title of a figure; '' for none.  [default: the experiment's summary]"
    ),
) -> None:
    """Write a report on a finished run.

    The default is a page that works offline. The other formats are a figure, a table or data for a paper.
    """
    from driftwise.analysis.report import write_report

    try:
        style = dict(width=width, font=font, title=title)
        target = None if out is None else Path(out)
        with print_warnings():  # of environments that cannot be made
            written = check_options(write_report, Path(folder), format=format, out=target, **style)
        print(written)
    except OSError as error:
        where = "" if out is None else f" {out!r}"
        raise InputError(f"--out{where} cannot be written: {error.strerror or error}") from None
