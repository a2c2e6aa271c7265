"""Docstrings, written in Markdown with LaTeX between dollars, as the reStructuredText that autodoc reads."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from sphinx.ext.napoleon.docstring import GoogleDocstring

from driftwise.algorithms import Algorithm

PIECES = re.compile(
    r"```(?P<language>\w*)\n(?P<code>.*?)```|\$\$(?P<block>.+?)\$\$|\$(?P<inline>[^$]+)\$|`(?P<literal>[^`]+)`",
    re.DOTALL,
)
SPECIAL = re.compile(r"[*|\\]|_(?!\w)")  # characters with a meaning in reStructuredText
SEPARATOR = "\\ "  # between markup and a letter
SECTIONS = ("module", "class", "exception", "function", "method")  # of which docstrings may have `Args:`


def setup(app: Any) -> dict[str, Any]:
    """Rewrite every docstring, and leave out the generated ones of the fields of named tuples."""
    app.connect("autodoc-process-docstring", _rewrite)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def to_restructured_text(text: str) -> str:
    """Return a docstring in reStructuredText; its sections stay as they are."""
    parts, end = [], 0
    for match in PIECES.finditer(text):
        parts += [_escape(text[end : match.start()]), _piece(text, match)]
        end = match.end()
    return "".join([*parts, _escape(text[end:])])


def _rewrite(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if isinstance(thing, Algorithm):  # its page has everything
        lines.clear()
    text = re.sub(r"\n+(?=Reference: )", "\n\n", "\n".join(lines))  # a paragraph of its own
    lines[:] = to_restructured_text(text).split("\n")
    if what in SECTIONS:
        lines[:] = GoogleDocstring(lines, what=what, name=name, obj=thing).lines()


def _skip(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    return True if (getattr(thing, "__doc__", "") or "").startswith("Alias for field number") else None


def _escape(text: str) -> str:
    return re.sub(r"^( *)\\\*(?= )", r"\1*", SPECIAL.sub(r"\\\g<0>", text), flags=re.MULTILINE)


def _piece(text: str, match: re.Match[str]) -> str:
    line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    margin = line[: len(line) - len(line.lstrip())]
    if (latex := match["block"]) is not None:
        return _directive("math", "", latex, margin)
    if (code := match["code"]) is not None:
        return _directive("code-block", match["language"] or "text", code, margin)
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    joined = " ".join((match["inline"] or match["literal"]).split())
    marked = f":math:`{joined}`" if match["inline"] else f"``{joined}``"
    return SEPARATOR * before.isalnum() + marked + SEPARATOR * after.isalnum()


def _directive(name: str, argument: str, content: str, margin: str) -> str:
    body = textwrap.indent(textwrap.dedent(content).strip("\n"), margin + "   ")
    return f"\n\n{margin}.. {name}:: {argument}\n\n{body}\n\n{margin}"
