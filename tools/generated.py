"""Files generated from the code: the table of algorithms, the command line, and stubs for type checkers.

`make generated` writes them; a test fails while one of them is stale.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftwise import algorithms, base, environments
from driftwise.analysis.entries import algorithms_table
from driftwise.analysis.table import markdown_text
from driftwise.base.plugins import Registry
from tools.benchmark import benchmark_parts, figure
from tools.command_line import command_line_reference

ROOT = Path(__file__).parent.parent


def generated() -> dict[Path, str]:
    """Return all generated files with their contents."""
    packages: tuple[Any, ...] = (algorithms, base, environments)
    stubs = {Path(package.__file__).with_suffix(".pyi"): stub(package) for package in packages}
    docs = ROOT / "docs"
    pages = {
        docs / "algorithms.md": {"table": markdown_text(algorithms_table())},
        docs / "benchmark.md": benchmark_parts(),
        docs / "cli.md": {"commands": command_line_reference()},
    }
    figures = {docs / "images" / "benchmark.svg": figure()}
    return {page: with_parts(page, parts) for page, parts in pages.items()} | figures | stubs


def with_parts(page: Path, parts: Mapping[str, str]) -> str:
    """Return a page with texts between their markers."""
    content = page.read_text(encoding="utf-8")
    for name, text in parts.items():
        begin, end = f"<!-- the {name}, written by `make generated` -->\n", f"<!-- end of the {name} -->"
        filled = f"{begin}{text}{end}"
        content = re.sub(f"{begin}.*?{end}", lambda _, filled=filled: filled, content, flags=re.DOTALL)
    return content


def stub(package: Any) -> str:
    """Return a stub that imports every public name of a package from the module that defines it."""
    lines = sorted({line for name in package.__all__ for line in stub_lines(package, name)})
    return "\n".join([f"# Written by `make generated` from the names of {package.__name__}.", *lines, ""])


def stub_lines(package: Any, name: str) -> list[str]:
    """Return the lines of a stub for one public name; a registry stands beside the class of its entries."""
    entry = getattr(package, name)
    if isinstance(entry, str):
        return [f"{name}: str"]
    if isinstance(entry, Registry):
        return [f"from {package.__name__}.{entry.noun} import {name} as {name}"]
    defined = entry.__name__
    alias = [f"{name} = {defined}"] if defined != name else []
    return [f"from {entry.__module__} import {defined} as {defined}", *alias]


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")
        print(path.relative_to(ROOT))
