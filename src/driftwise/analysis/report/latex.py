"""A table in LaTeX."""

import itertools
import re
import unicodedata
from collections.abc import Iterable

import pandas as pd

from driftwise.analysis.docstrings import GREEK
from driftwise.analysis.table import Cell, Table

_MATHS = {  # of LaTeX
    **{letter: f"\\{name}" for name, letter in GREEK.items()},
    "<": "<", ">": ">", "|": "|", "−": "-", "±": r"\pm", "×": r"\times", "·": r"\cdot", "≤": r"\le",
    "≥": r"\ge", "→": r"\to", "∞": r"\infty", "†": r"\dagger", "‡": r"\ddagger",
}  # fmt: skip
_LAST_LATIN = 0x17F  # of the letters that LaTeX reads without a package


def latex_text(table: Table, comments: Iterable[str] = ()) -> str:
    r"""Return the table for `\usepackage{booktabs}`, in groups of rows that share their first word."""
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
