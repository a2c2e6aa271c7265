"""Tables and the page of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from driftwise.analysis.bench.verdicts import FACTORS, Bench
from driftwise.analysis.page import Article, Figure, Page, Section, axis, plotly_text, write_html
from driftwise.analysis.statistics.wording import counted, rounded
from driftwise.analysis.table import Cell, Table, numbers, words

LABELS = {"bandits": "bandits", "mdps": "MDPs"}
READING = (
    "Share: mean of value over best value. Ratio: median of its regret over that of the best fixed memory in "
    "hindsight. Rank: mean over scenarios, 1 the best, with a 95 % interval for scenarios drawn anew."
)
VERDICTS = (
    "Of plays and restarts the share of scenarios is measured, and has to be 1. Of the others it is the "
    "geometric mean of the ratios of regrets to a yardstick's, with its 95 % interval, which has to lie "
    "below 1: to chance; without drift to the shortest memory (remembers); with drift to the memory of all "
    "(forgets)."
)
ADAPTATION = (
    "Drop, resilience, recovery (median rounds, with censoring), area and adaptability are of worlds that "
    "jump. Lag is of worlds that glide: by how many rounds decisions are behind, in the median of the runs "
    "in which they are clearly better than chance; none is given unless these are more than half."
)
ALARMS = (
    "Found: share of the changes with an alarm before the next. Delay: median rounds to it, infinite where "
    "there is none. False alarms: all others in worlds that rest between their jumps, in 1,000 rounds."
)
HEADINGS = {"rank_low": "from", "rank_high": "to", "false_alarms": "false alarms"}
PROFILE = "Shares of the scenarios in which an agent's regret is within a factor of the best agent's there."


def scores_table(bench: Bench) -> Table:
    """How good all agents are, the best rank first."""
    return _scores(bench, "scores", "share", "ratio", "rank", "rank_low", "rank_high")


def adaptation_table(bench: Bench) -> Table:
    """How agents follow a world that moves, in the same order."""
    names = ("drop", "resilience", "recovery", "area", "adaptability", "lag")
    return _scores(bench, "adaptation", *names)


def alarms_table(bench: Bench) -> Table:
    """The alarms of agents that raise any."""
    table = _scores(bench, "alarms", "found", "delay", "false_alarms")
    raising = {each.agent for each in bench.scores if each.false_alarms is not None}
    return replace(table, rows=tuple(row for row in table.rows if row[0].text in raising))


def families_table(bench: Bench) -> Table:
    """The alarms of agents that raise any, for each problem and move."""
    rows = [(*each[:3], *map(_cell, each[3:])) for each in bench.alarms]
    columns = words("agent", "problem", "move") + numbers("changes", "found", "delay", "false alarms")
    return Table.of("alarms by problem and move", columns, rows)


def _scores(bench: Bench, name: str, *fields: str) -> Table:
    ranked = sorted(bench.scores, key=lambda each: each.rank)
    rows = [(each.agent, *(_cell(each._asdict()[field]) for field in fields)) for each in ranked]
    return Table.of(
        name,
        words("agent") + numbers(*(HEADINGS.get(each, each) for each in fields)),
        rows,
        LABELS[bench.kind],
    )


def profiles_table(bench: Bench) -> Table:
    """Shares of scenarios within factors of the best agent."""
    rows = [(agent, *map(_cell, shares.values())) for agent, shares in bench.profiles.items()]
    return Table.of("profiles", words("agent") + numbers(*(f"{factor:g}" for factor in FACTORS)), rows)


def verdicts_table(bench: Bench) -> Table:
    """What passes, and what does not."""
    rows = [
        (each.agent, each.test, *map(_cell, each[2:5]), "pass" if each.passed else "fail")
        for each in bench.verdicts
    ]
    columns = words("agent", "test") + numbers("measured", "from", "to") + words("verdict")
    return Table.of("verdicts", columns, rows, LABELS[bench.kind])


def html_page(benches: Sequence[Bench]) -> str:
    """The page: verdicts, scores, the heat map, profiles, and all scenarios, of each kind of problem."""
    counts = [f"{counted(len(each.scenarios), 'scenario')} of {LABELS[each.kind]}" for each in benches]
    return write_html(
        Page(
            title="bench",
            kicker=" · ".join([f"suite {benches[0].suite}", *counts]),
            heading="Policies in worlds that drift",
            lead=READING,
            parts=[_article(each) for each in benches],
        )
    )


def tables(bench: Bench) -> list[Table]:
    """All tables for a terminal, as far as they have rows."""
    made = (scores_table(bench), adaptation_table(bench), alarms_table(bench), verdicts_table(bench))
    return [table for table in made if table.rows]


def _article(bench: Bench) -> Article:
    rows = [
        (scenario, memory, *(_cell(bench.regret[agent][place]) for agent in bench.agents))
        for place, (scenario, memory) in enumerate(zip(bench.scenarios, bench.best_fixed, strict=True))
    ]
    columns = words("scenario", "best fixed memory") + numbers(*bench.agents)
    failed = [Table.of("errors", words("agent", "what it raised first"), bench.errors.items())]
    sections = [
        Section("Verdicts", [verdicts_table(bench), VERDICTS, *(failed if bench.errors else [])]),
        Section("Scores", [scores_table(bench)]),
        Section("Adaptation", [adaptation_table(bench), ADAPTATION]),
        *([Section("Alarms", [alarms_table(bench), ALARMS, families_table(bench)])] if bench.alarms else []),
        Section("Regret over that of the best fixed memory", [_heat_map(bench)]),
        Section("Profiles", [profiles_table(bench), PROFILE]),
        Section("Regret", [Table.of("regret", columns, rows)]),
    ]
    return Article(f"In {LABELS[bench.kind]}", sections, lead=lead(bench), place=bench.kind)


def lead(bench: Bench) -> str:
    """How many verdicts failed, and who ranks first."""
    first = min(bench.scores, key=lambda each: each.rank).agent
    judged = counted(len(bench.verdicts), "verdict")
    return f"{len(bench.failed)} of {judged} failed. {first} has the best mean rank."


def _heat_map(bench: Bench) -> Figure:
    ratios = [bench.ratio[agent] for agent in bench.agents]
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": [plotly_text(agent) for agent in bench.agents],
        "y": [plotly_text(scenario) for scenario in bench.scenarios],
        "z": [[None if own is None else math.log10(own) for own in row] for row in zip(*ratios, strict=True)],
        "text": [[_text(own) for own in row] for row in zip(*ratios, strict=True)],
        "colorbar": {"title": {"text": "log₁₀", "side": "right"}},
        "hovertemplate": "%{y}<br>%{x}: %{text}<extra></extra>",
    }
    layout = {"xaxis": axis(""), "yaxis": axis("", autorange="reversed")}
    text = "Regret of each agent over that of the best fixed memory, in each scenario"
    return Figure("ratios", [trace], layout, text, rows=max(13, len(bench.scenarios) // 2))


def _cell(number: float | None) -> Cell:
    return Cell(_text(number), (math.nan if number is None else number,))


def _text(number: float | None) -> str:
    return "–" if number is None or math.isnan(number) else "∞" if math.isinf(number) else rounded(number)
