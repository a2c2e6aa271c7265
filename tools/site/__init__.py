"""Additions to Sphinx for the documentation: MathML, docstrings in Markdown, links, pages of registries."""

from __future__ import annotations

import hashlib
from pathlib import Path

from driftwise.analysis.drawings import Drawing

ROOT = Path(__file__).parent.parent.parent
SOURCE, DOCS, BUILD = ROOT / "src", ROOT / "docs", ROOT / "build"


def source_digest(*more: Path) -> str:
    """A short name for the library as it is now, and more files: what they computed is kept under it."""
    own = (path for path in SOURCE.rglob("*") if path.suffix in {".py", ".toml", ".bib"})
    digest = hashlib.sha256()
    for path in sorted([*own, *more]):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def embedded(drawing: Drawing) -> str:
    """A drawing as a part of a page in Markdown."""
    label = f'role="img" aria-label="{drawing.text}"'
    return f'```{{raw}} html\n<figure class="drawing" {label}>{drawing.svg}</figure>\n```'
