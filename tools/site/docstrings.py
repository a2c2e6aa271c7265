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
SPECIAL = re.compile(r"[*|\\]|_(?!\w)")  # what means something else there
APART = "\\ "  # between markup and a letter
SECTIONS = ("module", "class", "exception", "function", "method")  # of which docstrings may have `Args:`


def setup(app: Any) -> dict[str, Any]:
    """Rewrite every docstring, and leave out those that Python writes for the fields of named tuples."""
    app.connect("autodoc-process-docstring", _rewrite)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def restructured(text: str) -> str:
    """A docstring in reStructuredText, but for its sections."""
    done, end = [], 0
    for found in PIECES.finditer(text):
        done += [_escaped(text[end : found.start()]), _piece(text, found)]
        end = found.end()
    return "".join([*done, _escaped(text[end:])])


def _rewrite(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if isinstance(thing, Algorithm):  # whose page has all of it
        lines.clear()
    lines[:] = restructured("\n".join(lines)).split("\n")
    if what in SECTIONS:
        lines[:] = GoogleDocstring(lines, what=what, name=name, obj=thing).lines()


def _skip(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    return True if (getattr(thing, "__doc__", "") or "").startswith("Alias for field number") else None


def _escaped(text: str) -> str:
    return re.sub(r"^( *)\\\*(?= )", r"\1*", SPECIAL.sub(r"\\\g<0>", text), flags=re.MULTILINE)


def _piece(text: str, found: re.Match[str]) -> str:
    line = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    margin = line[: len(line) - len(line.lstrip())]
    if (latex := found["block"]) is not None:
        return _directive("math", "", latex, margin)
    if (code := found["code"]) is not None:
        return _directive("code-block", found["language"] or "text", code, margin)
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    joined = " ".join((found["inline"] or found["literal"]).split())
    marked = f":math:`{joined}`" if found["inline"] else f"``{joined}``"
    return APART * before.isalnum() + marked + APART * after.isalnum()


def _directive(name: str, argument: str, content: str, margin: str) -> str:
    body = textwrap.indent(textwrap.dedent(content).strip("\n"), margin + "   ")
    return f"\n\n{margin}.. {name}:: {argument}\n\n{body}\n\n{margin}"
