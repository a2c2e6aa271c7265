"""A table as data, and how it is written: on a terminal, on a page, as CSV and as Markdown."""

from __future__ import annotations

import csv
import html
import io
import itertools
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

_FORMULAS = frozenset("=+-@\t＝＋－＠")  # what they begin with in spreadsheets
_GAP = 2  # blanks between columns
_READABLE = 16  # letters in a line of words, below which they are hard to read
_MANY = 2  # tables that one with long names is cut into, at most
_EMPTY = ("", "–")  # texts of cells that say nothing


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


class _Column(NamedTuple):
    """The texts of a column, and the widths it may have."""

    heading: str
    cells: Sequence[str]
    is_words: bool
    narrowest: int  # in which no number and no word has to be broken, and words can be read
    widest: int


def terminal_text(table: Table, width: int) -> str:
    """Return the table in lines of at most `width`, without its title.

    Words are wrapped between words. Columns that do not fit beside the others follow in a further table,
    which has the names of the rows again. Where names leave little room beside them, every row is a
    paragraph: its name, and a line for each of its other columns.
    """
    from rich.cells import cell_len

    columns: list[_Column] = []
    texts: list[Sequence[str]] = [*zip(*([cell.text for cell in row] for row in table.rows), strict=True)]
    for column, cells in zip(table.columns, texts or [()] * len(table.columns), strict=True):
        heading, is_words = column.explained or column.heading, not column.fields
        longest = max(map(cell_len, cells), default=0)
        whole = [word for cell in cells for word in cell.split()] if is_words else cells
        readable = min(_READABLE, longest) if is_words else 0
        narrowest = max([1, readable, *map(cell_len, (*heading.split(), *whole))])
        columns.append(_Column(heading, cells, is_words, narrowest, max(longest, cell_len(heading))))
    num_names = next((k for k, column in enumerate(columns) if not column.is_words), 0) or 1
    names, others = columns[:num_names], columns[num_names:]
    if not all(_fit([*names, column], width) for column in others):
        return _paragraphs(names, others, width)
    bands = [names]
    for column in others:
        if len(bands[-1]) > len(names) and not _fit([*bands[-1], column], width):
            bands.append(names)
        bands[-1] = [*bands[-1], column]
    if len(bands) > _MANY and 2 * sum(column.narrowest for column in names) > width:
        return _paragraphs(names, others, width)
    return "\n\n".join(_draw(band, width) for band in bands)


def _fit(columns: Sequence[_Column], width: int) -> bool:
    return sum(column.narrowest for column in columns) + _GAP * (len(columns) - 1) <= width


def _draw(columns: Sequence[_Column], width: int) -> str:
    """Return lines of at most `width` where that is possible; columns share the rest of it by need."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    widths = [column.narrowest for column in columns]
    for _ in range(width - _GAP * (len(columns) - 1) - sum(widths)):
        wanting = [k for k, column in enumerate(columns) if widths[k] < column.widest]
        if wanting:
            widths[min(wanting, key=lambda k: widths[k] / columns[k].widest)] += 1
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for column, size in zip(columns, widths, strict=True):
        justify = "left" if column.is_words else "right"
        grid.add_column(Text(column.heading), justify=justify, width=size, no_wrap=False)
    for row in zip(*(column.cells for column in columns), strict=True):
        grid.add_row(*map(Text, row))
    file = io.StringIO()
    Console(file=file, width=max(width, sum(widths) + _GAP * len(widths)), color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _paragraphs(names: Sequence[_Column], others: Sequence[_Column], width: int) -> str:
    paragraphs = []
    for place in range(len(names[0].cells)):
        lines = _wrap(" · ".join(column.cells[place] for column in names if column.cells[place]), width)
        for column in others:
            text = column.cells[place]
            whole = text if column.is_words else text.replace(" ", "\u00a0")
            lines += [f"  {line}" for line in _wrap(f"{column.heading}: {whole}", width - 2)]
        paragraphs.append("\n".join(lines).replace("\u00a0", " "))
    return "\n".join(paragraphs)


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
