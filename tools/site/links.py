"""Links of pages to files beside the documentation: the site carries those files along."""

from __future__ import annotations

import re
from typing import Any

BESIDE = re.compile(r"\]\((?=\.\./(?:\.\./)*(?:examples|src|tests|benchmarks|tools)/)")


def setup(app: Any) -> dict[str, Any]:
    """Mark such links when a page is read."""
    app.connect("source-read", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _mark(app: Any, page: str, source: list[str]) -> None:
    source[0] = BESIDE.sub("](path:", source[0])
