"""A table as data, and how it is written: on a terminal, on a page, as CSV, LaTeX or Markdown."""

from __future__ import annotations

import csv
import html
import io
import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.analysis.docstrings import GREEK
from driftwise.base.extras import require_extra

_FORMULAS = frozenset("=+-@\t＝＋－＠")  # what they begin with in spreadsheets
_EMPTY = ("", "–")  # texts of cells that say nothing
_MATHS = {  # of LaTeX
    **{letter: f"\\{name}" for name, letter in GREEK.items()},
    "<": "<", ">": ">", "|": "|", "−": "-", "±": r"\pm", "×": r"\times", "·": r"\cdot", "≤": r"\le",
    "≥": r"\ge", "→": r"\to", "∞": r"\infty", "†": r"\dagger", "‡": r"\ddagger",
}  # fmt: skip
_LAST_LATIN = 0x17F  # of the letters that LaTeX reads without a package


@dataclass(frozen=True)
class TableColumn:
    """A column of words, or of numbers, whose `fields` are the names of the numbers of a cell in CSV."""

    heading: str
    fields: tuple[str, ...] = ()
    explained: str = ""  # the heading on a terminal, where no note explains it; as on a page unless given


@dataclass(frozen=True)
class Cell:
    """A text, and the numbers that it stands for, with all digits; rows are sorted by the first of them."""

    text: str
    numbers: tuple[Any, ...] = ()
    best: bool = False  # stands out on a page and in print
    mark: str = ""  # raised behind the text: how surely it differs from the best

    @classmethod
    def of(cls, write: Callable[..., str], *numbers: Any, best: bool = False, mark: str = "") -> Cell:
        """Return the cell of numbers whose text `write` returns."""
        return cls(write(*numbers), numbers, best, mark)

    @property
    def key(self) -> str:
        """The first number as scripts read it; NaN has no order, so it stands with the largest numbers."""
        key = self.numbers[0]
        return f"{key:.10g}" if math.isfinite(key) else "-Infinity" if key < 0 else "Infinity"


def cells(write: Callable[..., str], *columns: Any, best: Any = False) -> list[Cell]:
    """Return a cell for each row of columns of numbers; `best` says which of them stand out."""
    rows = np.transpose([np.asarray(column, dtype=float) for column in columns])
    outstanding = np.broadcast_to(best, len(rows)).tolist()
    return [Cell(write(*row), (*row,), bold) for row, bold in zip(rows.tolist(), outstanding, strict=True)]


def words(*headings: str) -> tuple[TableColumn, ...]:
    """Return columns of words."""
    return tuple(map(TableColumn, headings))


def numbers(*headings: str) -> tuple[TableColumn, ...]:
    """Return columns of one number each."""
    return tuple(TableColumn(heading, (heading,)) for heading in headings)


@dataclass(frozen=True, repr=False)
class Table:
    """Columns and rows; the `name` tells tables of a page apart, the `title` stands above the table."""

    name: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""

    @classmethod
    def of(
        cls, name: str, columns: Iterable[TableColumn], rows: Iterable[Iterable[Cell | str]], title: str = ""
    ) -> Table:
        """Return the table of these rows, in which words may be plain strings."""
        filled = (tuple(Cell(cell) if isinstance(cell, str) else cell for cell in row) for row in rows)
        return cls(name, tuple(columns), tuple(filled), title)

    def without(self, *headings: str) -> Table:
        """Return the table without the columns of these headings."""
        shown = [column.heading not in headings for column in self.columns]
        rows = (itertools.compress(row, shown) for row in self.rows)
        return Table.of(self.name, itertools.compress(self.columns, shown), rows, self.title)

    def without_empty(self) -> Table:
        """Return the table without the columns that are empty in all rows."""
        columns = zip(self.columns, zip(*self.rows, strict=True), strict=False)
        empty = (column.heading for column, row in columns if all(cell.text in _EMPTY for cell in row))
        return self.without(*empty)

    def __repr__(self) -> str:
        """Return the table in columns of equal width, below its title."""
        signs = [">" if column.fields else "<" for column in self.columns]
        lines = [[column.heading for column in self.columns], *([cell.text for cell in r] for r in self.rows)]
        widths = [max(map(len, texts)) for texts in zip(*lines, strict=True)]
        written = ("  ".join(map("{:{}{}}".format, texts, signs, widths)).rstrip() for texts in lines)
        return "\n".join([*filter(None, [self.title]), *written])

    def _repr_html_(self) -> str:
        """Return the table as a fragment of HTML, as notebooks show it."""
        title = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        headings = tuple(Cell(column.heading) for column in self.columns)
        lines = []
        for tag, row in [("th", headings), *(("td", row) for row in self.rows)]:
            lines.append("<tr>")
            for column, cell in zip(self.columns, row, strict=True):
                side, weight = "right" if column.fields else "left", "; font-weight: bold" * cell.best
                lines.append(f'<{tag} style="text-align: {side}{weight}">{html.escape(cell.text)}</{tag}>')
            lines.append("</tr>")
        return f"<table>{title}{''.join(lines)}</table>"


def csv_text(table: Table) -> str:
    """Return the table as CSV: numbers in full or empty, words that look like formulas with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(name for column in table.columns for name in column.fields or (column.heading,))
    for row in table.rows:
        values = (value for cell in row for value in cell.numbers or (_harmless(cell.text),))
        writer.writerow("" if value != value else value for value in values)  # only NaN differs from itself
    return file.getvalue()


def _harmless(word: str) -> str:
    word = word.replace("\r", " ")  # which Python's writer does not quote, and readers take for a new row
    begins = {word[:1], word.lstrip()[:1]} & _FORMULAS
    return f"'{word}" if begins and not re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", word) else word


def markdown_text(table: Table) -> str:
    """Return the table in Markdown, the first word of each row as code."""
    lines = [[column.heading for column in table.columns]]
    for first, *others in table.rows:
        lines.append([f"`{first.text}`", *(cell.text.replace("|", r"\|") for cell in others)])
    heading, *rows = (f"| {' | '.join(line)} |\n" for line in lines)
    rules = ("---:" if column.fields else "---" for column in table.columns)
    return "".join([heading, f"|{'|'.join(rules)}|\n", *rows])


def latex_text(table: Table, comments: Iterable[str] = ()) -> str:
    r"""Return the table for `\usepackage{booktabs}`, in groups of rows that share their first word."""
    with require_extra("a LaTeX table", "cli"):
        import pandas as pd
    headings = {item.heading[:1].upper() + item.heading[1:]: bool(item.fields) for item in table.columns}
    first = [row[0].text for row in table.rows]
    begins = [word != before for word, before in zip(first, [None, *first], strict=False)]
    rows = [
        [first.text * begin, *(cell if cell.numbers else cell.text for cell in others)]  # the word once
        for begin, (first, *others) in zip(begins, table.rows, strict=True)
    ]
    styler = pd.DataFrame(rows, columns=list(headings), dtype=object).style.hide(axis="index")
    styler.format_index(lambda heading: _latex_word(heading).replace(r" \%", r"\,\%"), axis=1, escape="latex")
    numeric = [heading for heading, is_number in headings.items() if is_number]
    styler.format(_latex_word, subset=[name for name in headings if name not in numeric], escape="latex")
    styler.format(_latex_number, subset=numeric)
    layout = "".join("lr"[is_number] for is_number in headings.values())
    written = styler.to_latex(hrules=True, column_format=layout).splitlines()
    begin, top, heading, _, *lines, bottom, end = written
    grouped = ([r"\midrule"] * begins + [line] for begins, line in zip(begins, lines, strict=True))
    notes = [f"% {' '.join(comment.split())}" for comment in comments]  # a line break would end it
    return "\n".join([*notes, begin, top, heading, *itertools.chain(*grouped), bottom, end]) + "\n"


def latex_needs(text: str) -> str:
    """Return the characters that only LaTeX engines with Unicode fonts print."""
    return "".join(sorted({c for c in _latex_word(text) if ord(c) > _LAST_LATIN and c not in "–—‘’“”…"}))


def _latex_word(text: str) -> str:
    """Return an escaped text with signs and Greek letters as mathematics."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    guard = "{}" if text[:1] in ("[", "*") else ""  # else it is an argument of the end of the row before
    return guard + "".join(f"${_MATHS[letter]}$" if letter in _MATHS else letter for letter in text)


def _latex_number(cell: Cell | str) -> str:
    """Return a number, or several, in mathematics, with the mark raised behind it."""
    if isinstance(cell, str) or cell.text == "–":
        return cell if isinstance(cell, str) else "--"
    text = re.sub(r"(?<=\d),(?=\d)", "{,}", cell.text)
    text = re.sub(r"e([+−])0*(\d+)", lambda match: rf" \cdot 10^{{{match[1].strip('+')}{match[2]}}}", text)
    text = re.sub(r" (?=[\[(])", r"\\ ", text).replace(" %", r"\,\%")  # mathematics has no spaces of its own
    text, mark = ("".join(_MATHS.get(letter, letter) for letter in word) for word in (text, cell.mark))
    raised = f"^{{{mark}}}" if mark else ""
    return rf"$\mathbf{{{text}}}{raised}$" if cell.best else f"${text}{raised}$"
