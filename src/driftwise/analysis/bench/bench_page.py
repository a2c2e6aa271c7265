"""Tables and the page of a benchmark."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from driftwise.analysis.bench.verdicts import FACTORS, Bench
from driftwise.analysis.figures import HeatMap
from driftwise.analysis.formatting import format_count, format_number
from driftwise.analysis.page import Article, Page, Section, write_html
from driftwise.analysis.table import Cell, Table, numbers, words

_KINDS = {"bandits": "bandits", "mdps": "MDPs"}
_READING = (
    "Share: mean of value over best value. Ratio: median of its regret over that of the best fixed memory in "
    "hindsight. Rank: mean over scenarios, 1 the best, with a 95 % interval for other scenarios of this kind."
)
_VERDICTS = (
    "For plays and restarts, the share of scenarios is measured, and has to be 1. For the others it is the "
    "geometric mean of the ratios of regrets to a yardstick's, with its 95 % interval, which has to lie "
    "below 1: to chance; without drift to the shortest memory (remembers); with drift to the memory of all "
    "(forgets)."
)
_ADAPTATION = (
    "Drop, resilience, recovery (median rounds, with censoring), area and adaptability are for models that "
    "jump. Lag is for models that glide: by how many rounds decisions are behind, in the median of the runs "
    "in which they are clearly better than chance; none is given unless these are more than half."
)
_ALARMS = (
    "Found: share of the changes with an alarm before the next. Delay: median rounds to it, infinite where "
    "there is none. False alarms: all others where models are constant between jumps, in 1,000 rounds."
)
_HEADINGS = {"rank_low": "from", "rank_high": "to", "false_alarms": "false alarms"}
_PROFILE = "Shares of the scenarios in which an agent's regret is within a factor of the best agent's there."
_FIELDS: dict[str, tuple[str, ...]] = {  # of tables of scores
    "scores": ("share", "ratio", "rank", "rank_low", "rank_high"),
    "adaptation": ("drop", "resilience", "recovery", "area", "adaptability", "lag"),
    "alarms": ("found", "delay", "false_alarms"),
}


def bench_tables(bench: Bench) -> list[Table]:
    """Return the tables for a terminal that have rows: scores, adaptation, alarms, verdicts."""
    tables = *(_scores_table(bench, name) for name in _FIELDS), _verdicts_table(bench)
    return [table for table in tables if table.rows]


def bench_lead(bench: Bench) -> str:
    """Return a sentence: how many verdicts failed, and which agent ranks first."""
    first = min(bench.scores, key=lambda scores: scores.rank).agent
    verdicts = format_count(len(bench.verdicts), "verdict")
    return f"{len(bench.failed)} of {verdicts} failed. {first} has the best mean rank."


def bench_page(benches: Sequence[Bench]) -> str:
    """Return the page: for each kind of problem the verdicts, scores, heat map, profiles and scenarios."""
    counts = [f"{format_count(len(item.scenarios), 'scenario')} of {_KINDS[item.kind]}" for item in benches]
    kicker = " · ".join([f"suite {benches[0].suite}", *counts])
    return write_html(Page("bench", kicker, "Policies under drift", _READING, list(map(_article, benches))))


def _article(bench: Bench) -> Article:
    columns = words("agent", "problem", "move") + numbers("changes", "found", "delay", "false alarms")
    families = _table("alarms by problem and move", columns, bench.alarms)
    columns = words("agent") + numbers(*(f"{factor:g}" for factor in FACTORS))
    profiles = _table("profiles", columns, [(agent, *row.values()) for agent, row in bench.profiles.items()])
    columns = words("scenario", "best fixed memory") + numbers(*bench.agents)
    rows = zip(bench.scenarios, bench.best_fixed, *bench.regret.values(), strict=True)
    ratios = np.array([*bench.ratio.values()]).T
    heat_map = HeatMap(
        "ratios",
        bench.scenarios,
        bench.agents,
        np.log10(ratios),
        [[format_number(ratio) for ratio in row] for row in ratios.tolist()],
        "Regret of each agent over that of the best fixed memory, in each scenario",
        scale="log₁₀",
        downwards=True,
        rows=max(13, len(bench.scenarios) // 2),
    )
    errors = [_table("errors", words("agent", "first error"), bench.errors.items())] * bool(bench.errors)
    sections = [
        Section("Verdicts", [_verdicts_table(bench), _VERDICTS, *errors]),
        Section("Scores", [_scores_table(bench, "scores")]),
        Section("Adaptation", [_scores_table(bench, "adaptation"), _ADAPTATION]),
        *([Section("Alarms", [_scores_table(bench, "alarms"), _ALARMS, families])] * bool(bench.alarms)),
        Section("Regret over that of the best fixed memory", [heat_map]),
        Section("Profiles", [profiles, _PROFILE]),
        Section("Regret", [_table("regret", columns, rows)]),
    ]
    return Article(f"In {_KINDS[bench.kind]}", sections, lead=bench_lead(bench), place=bench.kind)


def _scores_table(bench: Bench, name: str) -> Table:
    """Return a table with a row for each agent, or for each that raises alarms, the best rank first."""
    ranked = sorted(bench.scores, key=lambda scores: scores.rank)
    if name == "alarms":
        ranked = [scores for scores in ranked if not math.isnan(scores.false_alarms)]
    rows = [(scores.agent, *(getattr(scores, field) for field in _FIELDS[name])) for scores in ranked]
    headings = [_HEADINGS.get(field, field) for field in _FIELDS[name]]
    return _table(name, words("agent") + numbers(*headings), rows, _KINDS[bench.kind])


def _verdicts_table(bench: Bench) -> Table:
    columns = words("agent", "test") + numbers("measured", "from", "to") + words("verdict")
    rows = [(*verdict[:5], "pass" if verdict.passed else "fail") for verdict in bench.verdicts]
    return _table("verdicts", columns, rows, _KINDS[bench.kind])


def _table(name: str, columns: Any, rows: Iterable[Iterable[Any]], title: str = "") -> Table:
    """Return a table of texts and numbers."""
    cells = ([own if isinstance(own, str) else Cell.of(format_number, own) for own in row] for row in rows)
    return Table.of(name, columns, cells, title)
