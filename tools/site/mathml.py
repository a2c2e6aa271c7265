"""Formulas as MathML, which browsers draw by themselves: no script, nothing to load but a font."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ziamath
from docutils import nodes
from latex2mathml.converter import convert

FONTS = Path(ziamath.__file__).parent / "fonts"  # STIX Two Math, which has what MathML asks of a font


def setup(app: Any) -> dict[str, Any]:
    """Make this the way in which formulas become HTML."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(latex: str, display: str = "inline") -> str:
    """A formula as an element of HTML."""
    return convert(latex, display=display)


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode
