"""A table as data, and how it is written: on a page, as CSV, LaTeX or Markdown."""

from __future__ import annotations

import csv
import html
import io
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from driftwise.analysis import latex

FORMULAS = frozenset("=+-@\t＝＋－＠")  # what they begin with in spreadsheets
EMPTY = ("", "–")  # texts of cells that say nothing


@dataclass(frozen=True)
class Column:
    """A column of words, or of numbers, which have `fields`: the names of the numbers of a cell in CSV."""

    heading: str
    fields: tuple[str, ...] = ()
    explained: str = ""  # the heading on a terminal, where no note explains it; as on a page unless given

    @property
    def kind(self) -> str:
        return "number" if self.fields else "word"


@dataclass(frozen=True)
class Cell:
    """A text, and the numbers that it stands for, with all digits; rows are sorted by the first of them."""

    text: str
    numbers: tuple[Any, ...] = ()
    best: bool = False  # stands out on a page and in print
    mark: str = ""  # raised behind the text: how surely it differs from the best

    @classmethod
    def of(cls, write: Callable[..., str], *numbers: Any, best: bool = False, mark: str = "") -> Cell:
        """The cell of numbers that `write` makes a text of."""
        return cls(write(*numbers), numbers, best, mark)

    @property
    def key(self) -> str:
        """The first number as scripts read it; NaN has no order, so it goes where the largest numbers are."""
        key = self.numbers[0]
        return f"{key:.10g}" if math.isfinite(key) else "-Infinity" if key < 0 else "Infinity"


def words(*headings: str) -> tuple[Column, ...]:
    """Columns of words."""
    return tuple(Column(heading) for heading in headings)


def numbers(*headings: str) -> tuple[Column, ...]:
    """Columns of one number each."""
    return tuple(Column(heading, (heading,)) for heading in headings)


@dataclass(frozen=True, repr=False)
class Table:
    """Columns and rows; the `name` tells tables of a page apart, the `title` stands above the table."""

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""

    @classmethod
    def of(
        cls, name: str, columns: Iterable[Column], rows: Iterable[Iterable[Cell | str]], title: str = ""
    ) -> Table:
        """The table of these rows, in which words may be plain strings."""
        cells = (tuple(Cell(each) if isinstance(each, str) else each for each in row) for row in rows)
        return cls(name, tuple(columns), tuple(cells), title)

    def without(self, *headings: str) -> Table:
        """The table less the columns of these headings."""
        kept = [place for place, column in enumerate(self.columns) if column.heading not in headings]
        rows = ([row[place] for place in kept] for row in self.rows)
        return Table.of(self.name, [self.columns[place] for place in kept], rows, self.title)

    def without_empty(self) -> Table:
        """The table less the columns that have nothing to say in any row."""
        cells = zip(*self.rows, strict=True)
        empty = (all(cell.text in EMPTY for cell in column) for column in cells)
        return self.without(*(column.heading for column, no in zip(self.columns, empty, strict=True) if no))

    def __repr__(self) -> str:
        return plain_text(self)

    def _repr_html_(self) -> str:
        return html_text(self)


def plain_text(table: Table) -> str:
    """The table in columns of equal width, below its title."""
    headings = [column.heading for column in table.columns]
    lines = [headings, *([cell.text for cell in row] for row in table.rows)]
    widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
    signs = [">" if column.kind == "number" else "<" for column in table.columns]

    def line(texts: list[str]) -> str:
        return "  ".join(map("{:{}{}}".format, texts, signs, widths)).rstrip()

    return "\n".join([*filter(None, [table.title]), *map(line, lines)])


def html_text(table: Table) -> str:
    """The table as a fragment of HTML, as notebooks show it."""

    def cell(tag: str, column: Column, text: str, best: bool = False) -> str:
        side = "right" if column.kind == "number" else "left"
        weight = "; font-weight: bold" * best
        return f'<{tag} style="text-align: {side}{weight}">{html.escape(text)}</{tag}>'

    headings = (cell("th", column, column.heading) for column in table.columns)
    rows = (
        (cell("td", column, each.text, each.best) for column, each in zip(table.columns, row, strict=True))
        for row in table.rows
    )
    lines = "".join(f"<tr>{''.join(cells)}</tr>" for cells in (headings, *rows))
    title = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    return f"<table>{title}{lines}</table>"


def csv_text(table: Table) -> str:
    """The table as CSV: all numbers in full, and an empty field for what is not known.

    A word that a spreadsheet would take for a formula begins with an apostrophe.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(name for column in table.columns for name in column.fields or (column.heading,))
    for row in table.rows:
        values = (value for cell in row for value in cell.numbers or (_harmless(cell.text),))
        writer.writerow("" if value != value else value for value in values)  # only NaN differs from itself
    return file.getvalue()


def _harmless(word: str) -> str:
    word = word.replace("\r", " ")  # which Python's writer does not quote, and readers take for a new row
    if not FORMULAS & {word[:1], word.lstrip()[:1]}:
        return word
    try:
        float(word)
    except ValueError:
        return f"'{word}"
    return word


def markdown_text(table: Table) -> str:
    """The table as Markdown has it, the first word of each row as code."""
    rules = ("---:" if column.kind == "number" else "---" for column in table.columns)
    lines = [[column.heading for column in table.columns]]
    for first, *others in table.rows:
        lines.append([f"`{first.text}`", *(cell.text.replace("|", r"\|") for cell in others)])
    heading, *rows = (f"| {' | '.join(line)} |\n" for line in lines)
    return "".join([heading, f"|{'|'.join(rules)}|\n", *rows])


def latex_text(table: Table, comments: Iterable[str] = ()) -> str:
    r"""The table for `\usepackage{booktabs}`, in groups of rows that have the first word in common."""
    headings = (column.heading[:1].upper() + column.heading[1:] for column in table.columns)
    kinds = "".join("r" if column.kind == "number" else "l" for column in table.columns)
    lines = [
        *(f"% {' '.join(comment.split())}" for comment in comments),  # a line break would end it
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        _latex_row(latex.escaped(heading).replace(r" \%", r"\,\%") for heading in headings),
    ]
    for word, rows in itertools.groupby(table.rows, key=lambda row: row[0].text):
        lines.append(r"\midrule")
        for number, row in enumerate(rows):  # the word stands once for all its rows
            lines.append(_latex_row([latex.escaped(word) * (number == 0), *map(_latex_cell, row[1:])]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex_row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _latex_cell(cell: Cell) -> str:
    if not cell.numbers:
        return latex.escaped(cell.text)
    return latex.number(cell.text, bold=cell.best, mark=cell.mark)
