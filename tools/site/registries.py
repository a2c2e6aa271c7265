"""Pages generated from the registries, written below docs before Sphinx looks for pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tools.site import DOCS, algorithms, gallery

FOLDERS = {"algorithms": algorithms.pages, "gallery": gallery.pages}


def setup(app: Any) -> dict[str, Any]:
    """Write the pages when a build begins."""
    app.connect("config-inited", lambda app, config: write_pages(DOCS))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(docs: Path) -> None:
    """Write the pages that changed, so that Sphinx does not read the others again."""
    for folder, make_pages in FOLDERS.items():
        (docs / folder).mkdir(exist_ok=True)
        pages = make_pages()
        for old in {*(docs / folder).glob("*.md")} - {docs / folder / f"{name}.md" for name in pages}:
            old.unlink()
        for name, text in pages.items():
            path = docs / folder / f"{name}.md"
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
