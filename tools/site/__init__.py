"""Additions to Sphinx for the documentation: MathML, docstrings in Markdown, links, pages of registries."""

from __future__ import annotations

import hashlib
from pathlib import Path

from driftwise.analysis.figures import Figure
from driftwise.analysis.matplotlib_figures import page_svg

ROOT = Path(__file__).parent.parent.parent
SOURCE, DOCS, BUILD = ROOT / "src", ROOT / "docs", ROOT / "build"


def source_digest(*more: Path) -> str:
    """Return a short digest of the library and more files, under which their results are cached."""
    own = (path for path in SOURCE.rglob("*") if path.suffix in {".py", ".toml", ".bib"})
    digest = hashlib.sha256()
    for path in sorted([*own, *more]):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def embed_figure(figure: Figure) -> str:
    """Return a figure as a part of a page in Markdown."""
    label = f'role="img" aria-label="{figure.text}"'
    return f'```{{raw}} html\n<figure class="drawing" {label}>{page_svg(figure)}</figure>\n```'
