"""The page on the benchmark: its tables and its figure, from the numbers that are shipped with it.

`python -m tools.benchmark DIR …` takes them from folders of `driftwise bench`; `make generated` writes them
into the page.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from driftwise.analysis.bench.judging import distinct
from driftwise.analysis.table import Cell as TableCell
from driftwise.analysis.table import Table, markdown_text, numbers, words
from driftwise.scenarios.contestants import FIELDS

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
ROW, WIDTH, NAMES, BLUE, GREY = 15, 380, 150, "#3d85c6", "#828282"  # colours for light pages and dark ones


def summary(folders: Sequence[Path]) -> str:
    """The numbers of a page as JSON, of folders of `driftwise bench`, with digests of where they are from."""
    lines = []
    for written in ((folder / "bench.json").read_bytes() for folder in folders):
        digest = hashlib.sha256(written).hexdigest()
        for kind, bench in json.loads(written).items():
            rows = {"sha256": digest} | {each["agent"]: _row(bench, each) for each in bench["scores"]}
            text = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
            lines.append(f'"{kind}": {{\n{text}\n}}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _data() -> dict[str, dict[str, Any]]:
    """Scores by the agents of each kind."""
    kinds = json.loads(DATA.read_text(encoding="utf-8"))
    return {
        kind: {name: row for name, row in rows.items() if name != "sha256"} for kind, rows in kinds.items()
    }


def _row(bench: dict[str, Any], scores: dict[str, Any]) -> dict[str, float | None]:
    """Scores of an agent, and its mean ratio to the best fixed memory in each group of scenarios."""
    own = distinct(bench["scenarios"])
    logs = np.log(np.array(bench["ratio"][scores["agent"]])[own])
    traits = [{each.partition("-")[0] for each in bench["scenarios"][place].split("/")} for place in own]
    means = {
        group: np.exp(logs[[not trait.isdisjoint(those) for trait in traits]].mean())
        for group, those in (MOVES | CONDITIONS).items()
    }
    row = {**{name: scores[name] for name in KEPT}, **means}
    return {name: None if value is None else float(f"{value:.3g}") for name, value in row.items()}


def benchmark_parts() -> dict[str, str]:
    """The tables of the page, by their names."""
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
    field = FIELDS[kind]
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
    """Mean ranks with their intervals, as SVG."""
    data = _data()
    width, height = WIDTH * len(data), ROW * (max(map(len, data.values())) + 3)
    panels = "".join(_panel(*item, place * WIDTH) for place, item in enumerate(data.items()))
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    font = 'font-family="sans-serif" font-size="11"'
    text = "Mean ranks of all agents, with 95 % intervals"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} role="img">\n'
        f"<title>{text}</title>\n{panels}</svg>\n"
    )


def _panel(kind: str, rows: dict[str, Any], left: int) -> str:
    ranked = _ranked(rows)
    scale = (WIDTH - NAMES - 20) / len(rows)
    title = {"bandits": "bandits: mean rank", "mdps": "MDPs: mean rank"}[kind]
    parts = [f'<text x="{left + NAMES}" y="{ROW}" fill="{GREY}" font-weight="bold">{title}</text>\n']
    bottom = ROW * (len(rows) + 2)
    for rank in (1, *range(10, len(rows) + 1, 10)):
        x = left + NAMES + scale * rank
        line = f'x1="{x:.1f}" x2="{x:.1f}" y1="{1.5 * ROW}" y2="{bottom}" stroke="{GREY}"'
        parts.append(f'<line {line} stroke-opacity="0.3"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 11}" fill="{GREY}" text-anchor="middle">{rank}</text>\n'
        )
    for number, (agent, row) in enumerate(ranked):
        y, colour = ROW * (number + 2.3), BLUE if FIELDS[kind].judges(agent) else GREY
        low, rank, high = (left + NAMES + scale * row[name] for name in ("rank_low", "rank", "rank_high"))
        ends = f'x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
        place = f'x="{left + NAMES - 8}" y="{y + 4:.1f}" text-anchor="end"'
        parts += [
            f'<text {place} fill="{GREY}">{escape(agent)}</text>',
            f'<line {ends} stroke="{colour}" stroke-width="2"/>',
            f'<circle cx="{rank:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>\n',
        ]
    return "".join(parts)


if __name__ == "__main__":
    DATA.write_text(summary([*map(Path, sys.argv[1:])]), encoding="utf-8")
    print(DATA)
