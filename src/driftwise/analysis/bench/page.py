"""Tables and the page of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from driftwise.analysis.bench.verdicts import FACTORS, Bench
from driftwise.analysis.page import Article, Figure, Page, Section, axis, plotly_text, write_html
from driftwise.analysis.statistics.wording import counted, rounded
from driftwise.analysis.table import Cell, Table, numbers, words

LABELS = {"bandits": "bandits", "mdps": "MDPs"}
READING = (
    "Share: mean of value over best value. Ratio: median of its regret over that of the best fixed memory in "
    "hindsight. Rank: mean over scenarios, 1 the best, with a 95 % interval for scenarios drawn anew. Drop, "
    "resilience, recovery (median rounds, with censoring), area and adaptability are of worlds that jump."
)
PROFILE = "Shares of the scenarios in which an agent's regret is within a factor of the best agent's there."


def scores_table(bench: Bench) -> Table:
    """The scores of all agents, the best rank first."""
    headings = (
        "share",
        "ratio",
        "rank",
        "from",
        "to",
        "drop",
        "resilience",
        "recovery",
        "area",
        "adaptability",
    )
    rows = [
        (agent, *(_cell(number) for number in scores))
        for agent, *scores in sorted(bench.scores, key=lambda each: each.rank)
    ]
    return Table.of("scores", words("agent") + numbers(*headings), rows, LABELS[bench.kind])


def profiles_table(bench: Bench) -> Table:
    """Shares of scenarios within factors of the best agent."""
    rows = [(agent, *map(_cell, shares.values())) for agent, shares in bench.profiles.items()]
    return Table.of("profiles", words("agent") + numbers(*(f"{factor:g}" for factor in FACTORS)), rows)


def verdicts_table(bench: Bench) -> Table:
    """What passes, and what does not."""
    rows = [
        (each.agent, each.test, _cell(each.share), _cell(each.needed), "pass" if each.passed else "fail")
        for each in bench.verdicts
    ]
    columns = words("agent", "test") + numbers("share of scenarios", "needed") + words("verdict")
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


def _article(bench: Bench) -> Article:
    rows = [
        (scenario, memory, *(_cell(bench.regret[agent][place]) for agent in bench.agents))
        for place, (scenario, memory) in enumerate(zip(bench.scenarios, bench.best_fixed, strict=True))
    ]
    columns = words("scenario", "best fixed memory") + numbers(*bench.agents)
    failed = [Table.of("errors", words("agent", "what it raised first"), bench.errors.items())]
    sections = [
        Section("Verdicts", [verdicts_table(bench), *(failed if bench.errors else [])]),
        Section("Scores", [scores_table(bench)]),
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
