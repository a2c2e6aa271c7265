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
SPELT = {  # what the converter does not know, as it knows it
    r"\\arg\s*\\(max|min)": r"\\operatorname{arg\1}",
    r"\\langle\b": "⟨",
    r"\\rangle\b": "⟩",
}
LOGGER = logging.getLogger(__name__)


def setup(app: Any) -> dict[str, Any]:
    """Make this the way in which formulas become HTML."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mathml(latex: str, display: str = "inline") -> str:
    """A formula as an element of HTML; refused where a part of it is not understood."""
    for pattern, known in SPELT.items():
        latex = re.sub(pattern, known, latex)
    made = convert(latex, display=display)
    if unknown := re.findall(r"\\[A-Za-z]+", made):
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
