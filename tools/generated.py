"""Files that follow from the registries: the README's table, and what type checkers see of two packages.

`make generated` writes them; a test fails while one of them is stale.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from driftwise import algorithms, environments
from driftwise.analysis.catalogue import algorithms_table
from driftwise.analysis.table import markdown_text

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- the table of algorithms, written by `make generated` -->", "<!-- end of the table -->"


def generated() -> dict[Path, str]:
    """All generated files with their contents."""
    readme = ROOT / "README.md"
    packages: tuple[Any, ...] = (algorithms, environments)
    stubs = {Path(each.__file__).with_suffix(".pyi"): stub(each) for each in packages}
    return {readme: with_table(readme.read_text(encoding="utf-8")), **stubs}


def with_table(readme: str) -> str:
    """The README with the table of algorithms between its markers."""
    table = f"{BEGIN}\n{markdown_text(algorithms_table())}{END}"
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: table, readme, flags=re.DOTALL)


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
