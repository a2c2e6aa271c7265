"""Additions to Sphinx for the documentation: formulas as MathML, docstrings in Markdown, links to files."""

from __future__ import annotations

import hashlib
from pathlib import Path

SOURCE = Path(__file__).parent.parent.parent / "src"


def source_digest() -> str:
    """A short name for the library as it is now, under which what it computed for the site is kept."""
    digest = hashlib.sha256()
    for path in sorted(path for path in SOURCE.rglob("*") if path.suffix in {".py", ".toml", ".bib"}):
        digest.update(path.relative_to(SOURCE).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]
