"""Automatic links: from names to their pages, and to files outside the documentation."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref


def setup(app: Any) -> dict[str, Any]:
    """Mark links to files before a page is parsed, and link names afterwards."""
    app.connect("source-read", _mark_files)
    app.connect("doctree-read", _link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _mark_files(app: Any, page: str, source: list[str]) -> None:
    """Mark links to files outside the documentation, which the site then includes."""
    out = r"\.\./" * (page.count("/") + 1)
    source[0] = re.sub(rf"\]\(({out}[^)#]+)(#[^)]*)?\)", r"](path:\1)", source[0])


def _link_names(app: Any, document: nodes.document) -> None:
    """Link a name in code style to its page, except on that page, in headings and in links."""
    env = app.env
    pages = {PurePosixPath(page).name: page for page in env.found_docs if page.startswith("algorithms/")}
    for literal in list(document.findall(nodes.literal)):
        page = pages.get(literal.astext())
        if page in (None, env.docname) or _within(literal, nodes.title, nodes.reference, pending_xref):
            continue
        to = {"refdomain": "doc", "reftype": "myst", "reftarget": page, "reftargetid": None}  # as in Markdown
        link = pending_xref("", refdoc=env.docname, refexplicit=True, **to)
        literal.replace_self(link)
        link += nodes.inline("", "", literal)


def _within(node: nodes.Node, *kinds: type[nodes.Node]) -> bool:
    while (node := node.parent) is not None:
        if isinstance(node, kinds):
            return True
    return False
