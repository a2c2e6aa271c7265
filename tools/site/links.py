"""Links that pages need not write: to the page of a name, and to files beside the documentation."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref


def setup(app: Any) -> dict[str, Any]:
    """Mark links to files when a page is read, and names once it was."""
    app.connect("source-read", _mark_files)
    app.connect("doctree-read", _link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _mark_files(app: Any, page: str, source: list[str]) -> None:
    """The site carries along the files beside it that its pages link to."""
    out = r"\.\./" * (page.count("/") + 1)
    source[0] = re.sub(rf"\]\(({out}[^)#]+)(#[^)]*)?\)", r"](path:\1)", source[0])


def _link_names(app: Any, document: nodes.document) -> None:
    """A name in the type of code leads to its page, unless it stands there, in a heading or in a link."""
    env = app.env
    found = {PurePosixPath(page).name: page for page in env.found_docs if page.startswith("algorithms/")}
    for literal in list(document.findall(nodes.literal)):
        page = found.get(literal.astext())
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
