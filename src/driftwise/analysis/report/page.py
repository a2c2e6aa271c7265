"""The page: what was found, then one panel after the other, in a single file that needs no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

import numpy as np
from plotly.offline import get_plotlyjs

from driftwise.analysis.report.data import Report, ReportData, longest
from driftwise.analysis.report.elements import (
    Section,
    counted,
    paragraph,
    shown,
    with_half_width,
    with_interval,
    worded,
)
from driftwise.analysis.report.panels import CLOSING, OPENING, PANELS
from driftwise.analysis.report.standings import standings
from driftwise.analysis.report.summary import differences_to_best
from driftwise.analysis.statistics import difference, lowest, mean_interval

# The browser itself holds the page to its word: nothing is loaded from anywhere.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",  # a figure saved as PNG passes through one
    )
)
MAX_NAMED = 4  # agents that share the lead, by name
ICON = '<link rel="icon" href="data:,">'  # or a browser would ask for one

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{icon}
<title>{title}</title>
<style>{css}</style>
</head>
<body>
<main>
<header id="top">
<button type="button" id="theme" aria-label="Switch between light and dark">◐</button>
<p class="kicker">{kicker}</p>
<h1>{heading}</h1>
{lead}
</header>
{navigation}
{body}
<footer>{footer}</footer>
</main>
<script>{plotly}</script>
<script>{script}</script>
</body>
</html>
"""


def html_page(report: Report) -> str:
    data = longest(report)
    experiment = str(data.manifest.get("experiment", "experiment"))
    version = (data.manifest.get("versions") or {}).get("driftwise", "")
    parts = files("driftwise.analysis.report")
    return PAGE.format(
        policy=POLICY,
        icon=ICON,
        title=escape(f"{experiment} · driftwise"),
        css=parts.joinpath("page.css").read_text(encoding="utf-8"),
        kicker=escape(_kicker(report, experiment)),
        heading=escape(_heading(data, experiment)),
        lead=paragraph(_finding(data) if len(report) == 1 else _finding_over_all(report), "lead"),
        navigation=_navigation(report),
        body=_body(report),
        footer=escape(f"Written by driftwise {worded(version)}".strip()),
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
        script=parts.joinpath("page.js").read_text(encoding="utf-8"),
    )


def _navigation(report: Report) -> str:
    """Links to the environments, where there are several."""
    if len(report) == 1:
        return ""
    places = {"top": "Overview", **{_place(number): label for number, label in enumerate(report)}}
    links = "".join(f'<a href="#{place}">{escape(label)}</a>' for place, label in places.items())
    return f'<nav aria-label="Environments">{links}</nav>'


def _body(report: Report) -> str:
    parts = [_sections(panel(report) for panel in OPENING)]
    for number, data in enumerate(report.values()):
        if len(report) == 1:
            parts.append(_sections(panel(data) for panel in PANELS))
        else:
            parts.append(_article(number, data))
    parts.append(_sections(panel(report) for panel in CLOSING))
    return "\n".join(parts)


def _article(number: int, data: ReportData) -> str:
    """An environment among others."""
    name = str(data.environment_config.get("name", ""))
    kicker = paragraph(name, "kicker") if name != data.environment_label else ""
    heading = f'<h2 class="environment">{escape(data.environment_label)}</h2>'
    sections = _sections((panel(data) for panel in PANELS), level=3)
    lead = paragraph(_finding(data), "lead")
    return f'<article id="{_place(number)}">{kicker}{heading}{lead}{sections}</article>'


def _place(number: int) -> str:
    return f"environment-{number + 1}"


def _sections(sections: Iterable[Section | None], level: int = 2) -> str:
    return "\n".join(
        f"<section><h{level}>{escape(each.title)}</h{level}>{each.body}</section>"
        for each in sections
        if each is not None
    )


def _kicker(report: Report, experiment: str) -> str:
    data = longest(report)
    environments = data.environment_label if len(report) == 1 else counted(len(report), "environment")
    sizes = counted(data.num_episodes, "episode"), counted(data.num_runs, "run")
    return " · ".join((experiment, environments, *sizes))


def _heading(data: ReportData, experiment: str) -> str:
    """The experiment's own finding holds at its own sizes only."""
    config = data.config
    full = data.num_episodes >= config.get("episodes", 0) and data.num_runs >= config.get("runs", 0)
    return str((full and config.get("finding")) or config.get("summary") or experiment)


def _finding(data: ReportData) -> str:
    """What these runs say, and how sure that is."""
    means, half_widths = mean_interval(data.scores)
    leaders, others = np.split(data.order, [lowest(means).sum()])
    best = leaders[0]
    names = _listed([data.labels[index] for index in leaders])
    text = (
        f"{names} {'ends with' if len(leaders) == 1 else 'share'} "
        f"the lowest cumulative regret, {with_half_width(float(means[best]), float(half_widths[best]))}"
    )
    if len(leaders) > 1 and not difference(data.scores[:, leaders], data.scores[:, [best]]).any():
        text += ", and are identical in every run"
    if len(others) == 0 or data.num_runs < 2:
        return f"{text}."
    found, _, _, adjusted = differences_to_best(data)
    place = len(leaders) - 1  # of the next one among those that are not the best
    more = with_interval(*(float(each[place]) for each in found[:3]))
    told = adjusted[place] <= 0.05
    doubt = "" if told else " – not enough to tell them apart with this many runs and agents"
    return f"{text}. Next is {data.labels[others[0]]}, {more} more, paired by run{doubt}."


def _finding_over_all(report: Report) -> str:
    """Who leads over the environments, and where it wins."""
    found = standings(report)
    leaders = [standing for standing in found if standing.leads]
    rank = f"the lowest average rank over {len(report)} environments, {shown(leaders[0].rank, 3)}"
    if len(leaders) > 1:
        return f"{_listed([leader.agent for leader in leaders])} share {rank}."
    wins = sum(score.best for score in leaders[0].scores.values()) or "none"
    return f"{leaders[0].agent} has {rank}, and the lowest final regret in {wins} of them."


def _listed(names: Sequence[str]) -> str:
    """The names in a sentence, the first few of many."""
    few = list(names) if len(names) <= MAX_NAMED else [*names[:MAX_NAMED], f"{len(names) - MAX_NAMED:,} more"]
    return " and ".join([", ".join(few[:-1]), few[-1]] if len(few) > 1 else few)
