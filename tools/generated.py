"""Files that follow from the code: the table of algorithms, the command line, and what type checkers see.

`make generated` writes them; a test fails while one of them is stale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftwise import algorithms, environments
from driftwise.analysis.catalogue import algorithms_table
from driftwise.analysis.table import markdown_text
from tools.benchmark import benchmark_parts, figure
from tools.command_line import command_line_reference

ROOT = Path(__file__).parent.parent


def generated() -> dict[Path, str]:
    """All generated files with their contents."""
    packages: tuple[Any, ...] = (algorithms, environments)
    stubs = {Path(each.__file__).with_suffix(".pyi"): stub(each) for each in packages}
    docs = ROOT / "docs"
    pages = {
        docs / "algorithms.md": {"table": markdown_text(algorithms_table())},
        docs / "benchmark.md": benchmark_parts(),
        docs / "cli.md": {"commands": command_line_reference()},
    }
    figures = {docs / "images" / "benchmark.svg": figure()}
    return {page: with_parts(page, parts) for page, parts in pages.items()} | figures | stubs


def with_parts(page: Path, parts: Mapping[str, str]) -> str:
    """A page with texts between their markers."""
    written = page.read_text(encoding="utf-8")
    for name, text in parts.items():
        begin, end = f"<!-- the {name}, written by `make generated` -->\n", f"<!-- end of the {name} -->"
        filled = f"{begin}{text}{end}"
        written = re.sub(f"{begin}.*?{end}", lambda _, filled=filled: filled, written, flags=re.DOTALL)
    return written


def stub(package: Any) -> str:
    """A stub that imports every public name of a package from the module that defines it."""
    registry = f"{package.__name__}.registry"
    lines = sorted(
        f"from {getattr(getattr(package, name), '__module__', registry)} import {name} as {name}"
        for name in package.__all__
    )
    return "\n".join([f"# Written by `make generated` from what {package.__name__} registers.", *lines, ""])


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")
        print(path.relative_to(ROOT))
