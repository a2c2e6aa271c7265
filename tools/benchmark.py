"""The tables and the figure of the page on the benchmark, from the numbers in docs/benchmark.json.

`python -m tools.benchmark DIR …` takes them from folders of `driftwise bench`; `make generated` writes them
into the page.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from driftwise.analysis.bench.verdicts import distinct
from driftwise.analysis.matplotlib_figures import STYLE
from driftwise.analysis.table import Cell as TableCell
from driftwise.analysis.table import Table, markdown_text, numbers, words
from driftwise.scenarios.contestants import POLICY_SETS

DATA = Path(__file__).parent.parent / "docs" / "benchmark.json"
MOVES = {
    "no drift": ("none",),
    "jumps": ("abrupt_rare", "abrupt_frequent", "one_arm"),
    "glides": ("gradual", "periodic", "random_walk", "rotating"),
}
CONDITIONS = {"at once": ("at_once",)} | {
    name: (name,) for name in ("delayed", "lost", "poisoned", "cold", "warm")
}
KEPT = ("rank", "rank_low", "rank_high", "share", "lag", "found", "delay", "false_alarms")
COLUMNS = ("rank", "from", "to", "share", *MOVES, "lag")
TITLES = {"bandits": "bandits: mean rank", "mdps": "MDPs: mean rank"}
BLUE, GREY = "#3d85c6", "#828282"  # for light pages and dark ones


def summary(folders: Sequence[Path]) -> str:
    """Return the numbers of the page as JSON, with digests of the files that they are from."""
    lines = []
    for content in ((folder / "bench.json").read_bytes() for folder in folders):
        digest = hashlib.sha256(content).hexdigest()
        for kind, bench in json.loads(content).items():
            rows = {"sha256": digest} | {scores["agent"]: _row(bench, scores) for scores in bench["scores"]}
            text = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
            lines.append(f'"{kind}": {{\n{text}\n}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _data() -> dict[str, dict[str, Any]]:
    """Return the scores of the agents of each kind."""
    kinds = json.loads(DATA.read_text(encoding="utf-8"))
    return {
        kind: {name: row for name, row in rows.items() if name != "sha256"} for kind, rows in kinds.items()
    }


def _row(bench: dict[str, Any], scores: dict[str, Any]) -> dict[str, float | None]:
    """Return scores of an agent, and its mean ratio to the best fixed memory in each group of scenarios."""
    own = distinct(bench["scenarios"])
    logs = np.log(np.array(bench["ratio"][scores["agent"]])[own])
    traits = [{word.partition("-")[0] for word in bench["scenarios"][place].split("/")} for place in own]
    means = {
        group: np.exp(logs[[not trait.isdisjoint(members) for trait in traits]].mean())
        for group, members in (MOVES | CONDITIONS).items()
    }
    row = {**{name: scores[name] for name in KEPT}, **means}
    return {name: None if value is None else float(f"{value:.3g}") for name, value in row.items()}


def benchmark_parts() -> dict[str, str]:
    """Return the tables of the page by their names."""
    data = _data()
    tables = {"table": _table, "conditions": _conditions, "alarms": _alarms}
    return {
        f"{name} of {kind}": markdown_text(make(kind, rows))
        for name, make in tables.items()
        for kind, rows in data.items()
    }


def _ranked(rows: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted(rows.items(), key=lambda item: item[1]["rank"])


def _table(kind: str, rows: dict[str, Any]) -> Table:
    names = {"from": "rank_low", "to": "rank_high"}
    cells = [
        (agent, _role(kind, agent), *(_cell(row[names.get(name, name)], "–") for name in COLUMNS))
        for agent, row in _ranked(rows)
    ]
    return Table.of(kind, words("agent", "not judged") + numbers(*COLUMNS), cells)


def _role(kind: str, agent: str) -> str:
    field = POLICY_SETS[kind]
    return "yardstick" if agent in field.yardsticks else "" if field.judges(agent) else "baseline"


def _conditions(kind: str, rows: dict[str, Any]) -> Table:
    cells = [(agent, *(_cell(row[name]) for name in CONDITIONS)) for agent, row in _ranked(rows)]
    return Table.of("conditions", words("agent") + numbers(*CONDITIONS), cells)


def _alarms(kind: str, rows: dict[str, Any]) -> Table:
    cells = [
        (agent, _cell(row["found"]), _cell(row["delay"]), _cell(row["false_alarms"]))
        for agent, row in rows.items()
        if row["false_alarms"] is not None
    ]
    return Table.of("alarms", words("agent") + numbers("found", "delay", "false alarms in 1,000"), cells)


def _cell(number: float | None, none: str = "∞") -> TableCell:
    return TableCell(none if number is None else f"{number:.3g}", (np.inf if number is None else number,))


def figure() -> str:
    """Return mean ranks with their intervals, as SVG in colours for light and dark pages."""
    data, file = _data(), io.StringIO()
    num_rows = max(map(len, data.values()))
    inks = dict.fromkeys(("text.color", "xtick.color", "ytick.color"), GREY)
    with mpl.rc_context({**STYLE, **inks, "svg.fonttype": "none", "font.size": 8}):
        drawing = Figure(figsize=(5.2 * len(data), 0.17 * (num_rows + 3)), layout="constrained")
        panels = drawing.subplots(1, len(data), squeeze=False)[0]
        for axes, (kind, rows) in zip(panels, data.items(), strict=True):
            for agent, row in _ranked(rows):
                colour = BLUE if POLICY_SETS[kind].judges(agent) else GREY
                axes.plot([row["rank_low"], row["rank_high"]], [agent, agent], color=colour)
                axes.plot(row["rank"], agent, "o", color=colour, markersize=5)
            axes.set_title(TITLES[kind], loc="left", fontweight="bold")
            axes.set(ylim=(num_rows - 0.5, -0.5), xticks=[1, *range(10, len(rows) + 1, 10)])
            axes.grid(axis="x", color=GREY, alpha=0.3)
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0)
        drawing.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


if __name__ == "__main__":
    DATA.write_text(summary([*map(Path, sys.argv[1:])]), encoding="utf-8")
    print(DATA)
