"""Text and numbers that LaTeX prints as they stand, in any of its engines."""

from __future__ import annotations

import re
import unicodedata

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
LETTERS = {
    "ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ł": "l", "Ł": "L", "§": "S",
}  # fmt: skip
MARKS = {
    "–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\ldots{}", "\u00a0": "~",
}  # fmt: skip
SYMBOLS = {
    "−": "-", "±": r"\pm", "×": r"\times", "·": r"\cdot", "≤": r"\le", "≥": r"\ge", "→": r"\to",
    "∞": r"\infty", "†": r"\dagger", "‡": r"\ddagger",
}  # fmt: skip
MARKS_ABOVE_OR_BELOW = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0328"
ACCENTS = dict(zip(MARKS_ABOVE_OR_BELOW, "`'^~=u.\"rHvck", strict=True))
GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (FINAL )?([A-Z]+)")
SMALL_GREEK = {"EPSILON": "varepsilon", "PHI": "varphi", "LAMDA": "lambda"}  # by Unicode's names
LIKE_LATIN = {  # LaTeX has no letters of their own for these
    "ALPHA": "A", "BETA": "B", "EPSILON": "E", "ZETA": "Z", "ETA": "H", "IOTA": "I", "KAPPA": "K",
    "MU": "M", "NU": "N", "OMICRON": "O", "RHO": "P", "TAU": "T", "UPSILON": "Y", "CHI": "X",
}  # fmt: skip


def escaped(text: str) -> str:
    """Text in which LaTeX's own characters and others than ASCII are commands, as far as it has them.

    At its beginning a bracket or a star would be an argument of the end of the row before.
    """
    guard = "{}" if text.lstrip()[:1] in ("[", "*") else ""
    return guard + "".join(_command(character) for character in unicodedata.normalize("NFC", text))


def unknown(text: str) -> str:
    """The characters that only LaTeX engines with Unicode fonts print."""
    return "".join(sorted({character for character in escaped(text) if not character.isascii()}))


def number(text: str, *, bold: bool = False, mark: str = "") -> str:
    """A number, or several, as `wording` has it, in mathematics, with a `mark` raised behind it."""
    text = re.sub(r"(?<=\d),(?=\d)", "{,}", text)
    text = re.sub(r"e([+−])0*(\d+)", lambda found: rf" \cdot 10^{{{found[1].strip('+')}{found[2]}}}", text)
    for bracket in "[(":
        text = text.replace(f" {bracket}", rf"\ {bracket}")  # mathematics has no spaces of its own
    text = text.replace(" %", r"\,\%")
    if text == "–":
        return "--"
    text, mark = ("".join(SYMBOLS.get(each, each) for each in word) for word in (text, mark))
    raised = f"^{{{mark}}}" if mark else ""
    return rf"$\mathbf{{{text}}}{raised}$" if bold else f"${text}{raised}$"


def _command(character: str) -> str:
    if character.isascii():
        return SPECIAL.get(character, character)
    if character in MARKS:
        return MARKS[character]
    if character in LETTERS:
        return f"\\{LETTERS[character]}{{}}"
    if character in SYMBOLS:
        return f"${SYMBOLS[character]}$"
    if greek := GREEK.fullmatch(unicodedata.name(character, "")):
        return _greek(*greek.groups())
    base, *marks = unicodedata.normalize("NFD", character)
    if len(marks) == 1 and base.isascii() and marks[0] in ACCENTS:
        return f"\\{ACCENTS[marks[0]]}{{{base}}}"
    return character


def _greek(case: str, final: str | None, name: str) -> str:
    if case == "CAPITAL":
        return LIKE_LATIN.get(name) or f"$\\{name.replace('LAMDA', 'LAMBDA').capitalize()}$"
    if name == "OMICRON":
        return "o"
    return f"$\\{'var' if final else ''}{SMALL_GREEK.get(name, name.lower())}$"
