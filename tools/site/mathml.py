"""Formulas as MathML, which browsers draw by themselves: no script, nothing to load but a font."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

# STIX Two Math, which has what MathML asks of a font; nothing of the package itself is needed.
FONTS = Path(str(find_spec("ziamath").origin)).parent / "fonts"  # pyright: ignore[reportOptionalMemberAccess]
SIZED = {
    "{": "{",
    "}": "}",
    "|": "‖",
    "langle": "⟨",
    "rangle": "⟩",
}  # raw after \big and its kin
LOGGER = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, Any]:
    """Make this the way in which formulas become HTML."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(latex: str, display: str = "inline") -> str:
    """A formula as an element of HTML; refused where a part of it is not understood."""
    made = convert(re.sub(r"\\arg\s*\\(max|min)", r"\\operatorname{arg\1}", latex), display=display)
    made = re.sub(r">\\(\W|\w+)<", lambda found: f">{SIZED.get(found[1], found[0][1:-1])}<", made)
    if unknown := re.findall(r"\\\w*", made):
        raise ValueError(f"{unknown[0]} is not known")
    return made


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_converted(node, "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{_converted(node, "block")}</div>')
    raise nodes.SkipNode


def _converted(node: nodes.Element, display: str) -> str:
    try:
        return mathml(node.astext(), display)
    except Exception as error:  # whatever it is, the build says where
        LOGGER.warning("%r cannot be drawn: %r", node.astext(), error, location=node)
        return ""
