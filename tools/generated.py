"""Files that follow from the code: the table of algorithms, the command line, and what type checkers see.

`make generated` writes them; a test fails while one of them is stale.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from driftwise import algorithms, environments
from driftwise.analysis.catalogue import algorithms_table
from driftwise.analysis.table import markdown_text
from tools.command_line import command_line_reference

ROOT = Path(__file__).parent.parent


def generated() -> dict[Path, str]:
    """All generated files with their contents."""
    packages: tuple[Any, ...] = (algorithms, environments)
    stubs = {Path(each.__file__).with_suffix(".pyi"): stub(each) for each in packages}
    pages = {
        ROOT / "docs" / "algorithms.md": ("table", markdown_text(algorithms_table())),
        ROOT / "docs" / "cli.md": ("commands", command_line_reference()),
    }
    return {page: with_part(page, *part) for page, part in pages.items()} | stubs


def with_part(page: Path, name: str, text: str) -> str:
    """A page with the text between its markers."""
    begin, end = f"<!-- the {name}, written by `make generated` -->\n", f"<!-- end of the {name} -->"
    written = page.read_text(encoding="utf-8")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}{text}{end}", written, flags=re.DOTALL)


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
