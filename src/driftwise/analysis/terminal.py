"""A table in the lines of a terminal: no name and no number is ever cut."""

import io
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from driftwise.analysis.table import Table
from driftwise.base.extras import require_extra

with require_extra("a table on a terminal", "cli"):
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

_GAP = 2  # blanks between columns
_READABLE = 16  # letters in a line of words, below which they are hard to read
_MANY = 2  # tables that one with long names is cut into, at most


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
