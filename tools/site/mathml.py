"""Formulas as MathML, which browsers draw without a script; only a font is loaded."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

# STIX Two Math, a font for MathML; only the font of the package is used.
FONTS = Path(str(find_spec("ziamath").origin)).parent / "fonts"  # pyright: ignore[reportOptionalMemberAccess]
SIZED = {"{": "{", "}": "}", "|": "‖", "langle": "⟨", "rangle": "⟩"}  # left as they are after \big
LOGGER = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, Any]:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(latex: str, display: str = "inline") -> str:
    """Return a formula as an element of HTML; raise an error if it has an unknown command."""
    element = convert(re.sub(r"\\arg\s*\\(max|min)", r"\\operatorname{arg\1}", latex), display=display)
    element = re.sub(r">\\(\W|\w+)<", lambda match: f">{SIZED.get(match[1], match[0][1:-1])}<", element)
    if unknown := re.findall(r"\\\w*", element):
        raise ValueError(f"{unknown[0]} is not known")
    return element


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(_convert(node, "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{_convert(node, "block")}</div>')
    raise nodes.SkipNode


def _convert(node: nodes.Element, display: str) -> str:
    try:
        return mathml(node.astext(), display)
    except Exception as error:  # the build reports where it happened
        LOGGER.warning("%r cannot be drawn: %r", node.astext(), error, location=node)
        return ""
