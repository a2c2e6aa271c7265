"""`python -m tools.architecture_diagram` draws the layers of pyproject.toml for docs/architecture.md.

It needs `dot` of Graphviz.
"""

from __future__ import annotations

import itertools
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
IMAGE = ROOT / "docs" / "images" / "architecture.svg"
CONTENTS = {
    "cli": "one file a command",
    "analysis": "statistics, tables, figures,\nreport, comparison, audit",
    "experiments": "a file becomes tasks,\ntasks become a folder",
    "scenarios": "drifting problems with\nlate, lost or wrong feedback",
    "gym": "Gymnasium environments",
    "checks": "contracts of agents,\nenvironments and parts",
    "simulation": "many runs as one compiled\nprogram (JAX)",
    "online": "one decision at a time\n(NumPy), logs and replay",
    "environments": "drift, models, exact planning",
    "algorithms": "agents and their recipes",
    "parts": "regression, forgetting, exploration, radii, detectors",
    "theory": "functions of numbers: tunings, bounds, estimates",
    "base": "array backends, random numbers, agent protocol, validation",
}


def layers() -> list[list[str]]:
    """Return the packages of each layer, the top one first, as import-linter checks them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rows = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[name.strip() for name in row.split("|")] for row in rows]


def describe(name: str) -> str:
    """Return the node of a package: its name above its contents."""
    contents = CONTENTS[name].replace("\n", "<br/>")
    return f'{name} [label=<<b>{name}</b><br/><font point-size="10">{contents}</font>>]'


def dot_source() -> str:
    """Return the diagram in the DOT language."""
    rows = layers()
    nodes = [describe(name) for row in rows for name in row]
    ranks = [f"{{ rank=same; {'; '.join(row)} }}" for row in rows]
    arrows = [
        f"{upper} -> {lower}"
        for above, below in itertools.pairwise(rows)
        for upper in above
        for lower in below
    ]
    look = [
        "graph [bgcolor=white, margin=0.1, ranksep=0.32, nodesep=0.25]",
        'node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=13]',
        'node [fillcolor="#f6f8fa", color="#8c959f", fontcolor="#24292f"]',
        'edge [color="#8c959f", arrowsize=0.6]',
    ]
    body = "\n  ".join([*look, *nodes, *ranks, *arrows])
    return f"digraph packages {{\n  {body}\n}}\n"


if __name__ == "__main__":
    subprocess.run(["dot", "-Tsvg", "-o", IMAGE], input=dot_source(), text=True, check=True)
