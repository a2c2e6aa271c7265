"""A table in the lines of a terminal: as wide as it is, and no name and no number is ever cut."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from driftwise.analysis.table import Column, Table

GAP = 2  # blanks between columns
COMFORT = 16  # letters in a line of words, below which they are hard to read
INDENT = 2  # of rows below their names
MANY = 2  # tables that one is cut into, before names go above their rows instead


@dataclass(frozen=True)
class Texts:
    """The texts of a column, and how narrow it can be."""

    column: Column
    cells: tuple[str, ...]

    @property
    def heading(self) -> str:
        return self.column.explained or self.column.heading

    @property
    def is_words(self) -> bool:
        return self.column.kind == "word"

    @cached_property
    def widest(self) -> int:
        """Width of the longest line."""
        return max(map(_width, (self.heading, *self.cells)))

    @cached_property
    def narrowest(self) -> int:
        """Width in which no number and no word has to be broken, and words can be read."""
        longest = max(map(_width, self.cells), default=0)
        whole = [word for cell in self.cells for word in cell.split()] if self.is_words else self.cells
        comfort = min(COMFORT, longest) if self.is_words else 0
        return max([1, comfort, *map(_width, (*self.heading.split(), *whole))])

    def lines(self, text: str, width: int) -> list[str]:
        """A text of the column in lines of this width."""
        return _wrapped(text, width) if self.is_words or text == self.heading else [text]

    def aligned(self, text: str, width: int) -> str:
        blanks = " " * (width - _width(text))
        return text + blanks if self.is_words else blanks + text


def terminal_text(table: Table, width: int) -> str:
    """The table in lines of at most `width`, less its title.

    Words are wrapped between words. Columns that do not fit beside the others follow in a further table,
    which has the names of the rows again; names that leave little room beside them stand above their rows.
    """
    cells = list(zip(*([cell.text for cell in row] for row in table.rows), strict=True))
    columns = [Texts(*each) for each in zip(table.columns, cells or [()] * len(table.columns), strict=True)]
    num_names = next((k for k, each in enumerate(columns) if not each.is_words), 0) or 1
    names, others = columns[:num_names], columns[num_names:]
    beside, below = _bands(names, others, width), _bands([], others, width - INDENT)
    fits = all(_fits([*names, each], width) for each in others)
    if fits and (len(beside) <= MANY or len(beside) <= len(below)):
        return "\n\n".join(_drawn(band, width, ()) for band in beside)
    rows = zip(*(each.cells for each in names), strict=True)
    above = [_wrapped(" · ".join(filter(None, row)), width) for row in rows]
    return "\n\n".join(_drawn(band, width - INDENT, above) for band in below)


def paragraph(text: str) -> str:
    """Prose in lines of 80 columns; no name is cut."""
    return "\n".join(_wrapped(text, 80))


def _bands(names: Sequence[Texts], others: Sequence[Texts], width: int) -> list[list[Texts]]:
    """Columns in as few tables as they fit into, the names in each of them."""
    bands: list[list[Texts]] = [list(names)]
    for each in others:
        if len(bands[-1]) > len(names) and not _fits([*bands[-1], each], width):
            bands.append(list(names))
        bands[-1].append(each)
    return bands


def _drawn(columns: Sequence[Texts], width: int, above: Sequence[list[str]]) -> str:
    """One band of columns, each row below the name that is to stand `above` it, if there is one."""
    widths = _widths(columns, width)
    indent = " " * INDENT if above else ""

    def lines(texts: Iterable[str], *, bottom: bool = False) -> list[str]:
        wrapped = [each.lines(text, size) for each, text, size in zip(columns, texts, widths, strict=True)]
        height = max(map(len, wrapped), default=0)
        filled = [
            [""] * (height - len(each)) + each if bottom else each + [""] * (height - len(each))
            for each in wrapped
        ]
        drawn = (
            (each.aligned(text, size) for each, text, size in zip(columns, row, widths, strict=True))
            for row in zip(*filled, strict=True)
        )
        return [indent + (" " * GAP).join(row).rstrip() for row in drawn]

    rule = indent + "─" * (sum(widths) + GAP * (len(widths) - 1))
    written = [*lines((each.heading for each in columns), bottom=True), rule]
    for place, row in enumerate(zip(*(each.cells for each in columns), strict=True)):
        written += above[place] if above else []
        written += lines(row)
    return "\n".join(written)


def _fits(columns: Sequence[Texts], width: int) -> bool:
    return sum(each.narrowest for each in columns) + GAP * (len(columns) - 1) <= width


def _widths(columns: Sequence[Texts], width: int) -> list[int]:
    """Widths that sum to at most `width` where that is possible; what is left goes to those that want it."""
    widths = [each.narrowest for each in columns]
    for _ in range(width - GAP * (len(columns) - 1) - sum(widths)):
        wanting = [k for k, each in enumerate(columns) if widths[k] < each.widest]
        if wanting:
            widths[min(wanting, key=lambda k: widths[k] / columns[k].widest)] += 1
    return widths


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    from rich.cells import cell_len

    return cell_len(text)
