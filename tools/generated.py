"""Files that follow from the registries: the README's table, and what type checkers see of two packages.

`make generated` writes them; a test fails while one of them is stale.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from driftwise import algorithms, environments
from driftwise.algorithms import ALGORITHMS, Algorithm

ROOT = Path(__file__).parent.parent
FAMILIES = ("linear_mdps", "bandits", "unknown_variation", "tabular", "metric", "average_reward")
COLUMNS = ("algorithm", "problem", "forgetting", "exploration", "bound on dynamic regret", "paper")
BEGIN, END = "<!-- the table of algorithms, written by `make generated` -->", "<!-- end of the table -->"


def generated() -> dict[Path, str]:
    """All generated files with their contents."""
    readme = ROOT / "README.md"
    packages: tuple[Any, ...] = (algorithms, environments)
    stubs = {Path(each.__file__).with_suffix(".pyi"): stub(each) for each in packages}
    return {readme: with_table(readme.read_text(encoding="utf-8")), **stubs}


def with_table(readme: str) -> str:
    """The README with the table of algorithms between its markers."""
    rows = [
        (f"`{each.name}`", each.problem, each.forgetting, each.exploration, each.bound, each.paper)
        for each in sorted(ALGORITHMS.values(), key=_place)
    ]
    lines = [f"| {' | '.join(row)} |" for row in (COLUMNS, *rows)]
    table = "\n".join([BEGIN, lines[0], "|" + "---|" * len(COLUMNS), *lines[1:], END])
    return re.sub(f"{re.escape(BEGIN)}.*?{re.escape(END)}", lambda _: table, readme, flags=re.DOTALL)


def stub(package: Any) -> str:
    """A stub that imports every public name of a package from the module that defines it."""
    registry = f"{package.__name__}.registry"
    lines = sorted(
        f"from {getattr(getattr(package, name), '__module__', registry)} import {name} as {name}"
        for name in package.__all__
    )
    return "\n".join([f"# Written by `make generated` from what {package.__name__} registers.", *lines, ""])


def _place(algorithm: Algorithm) -> tuple[int, bool, bool, str]:
    """By families: those that forget, those that need not, baselines."""
    family = inspect.unwrap(algorithm.recipe).__module__.split(".")[2]
    rank = FAMILIES.index(family) if family in FAMILIES else len(FAMILIES)
    never = algorithm.forgetting.startswith("none")
    return rank, algorithm.paper == "baseline", never, algorithm.name


if __name__ == "__main__":
    for path, content in generated().items():
        path.write_text(content, encoding="utf-8")
        print(path.relative_to(ROOT))
