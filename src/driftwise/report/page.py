"""The page: what was found, then one panel after the other, in a single file that needs no network."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from plotly.offline import get_plotlyjs

from driftwise.report.data import ReportData
from driftwise.report.elements import paragraph, with_half_width, with_interval
from driftwise.report.panels import PANELS
from driftwise.report.summary import differences_to_best
from driftwise.statistics import mean_interval

# The browser itself holds the page to its word: nothing is loaded from anywhere.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "img-src data: blob:",  # a figure saved as PNG passes through one
    )
)
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
<header>
<button type="button" id="theme" aria-label="Switch between light and dark">◐</button>
<p class="kicker">{kicker}</p>
<h1>{heading}</h1>
{lead}
</header>
{sections}
<footer>{footer}</footer>
</main>
<script>{plotly}</script>
<script>{script}</script>
</body>
</html>
"""


def html_page(data: ReportData) -> str:
    experiment = str(data.manifest.get("experiment", "experiment"))
    sections = [section for panel in PANELS if (section := panel(data)) is not None]
    version = (data.manifest.get("versions") or {}).get("driftwise", "")
    parts = files("driftwise.report")
    return PAGE.format(
        policy=POLICY,
        icon=ICON,
        title=escape(f"{experiment} · driftwise"),
        css=parts.joinpath("page.css").read_text(encoding="utf-8"),
        kicker=escape(_kicker(data, experiment)),
        heading=escape(_heading(data, experiment)),
        lead=paragraph(_finding(data), "lead"),
        sections="\n".join(
            f"<section><h2>{escape(each.title)}</h2>{each.body}</section>" for each in sections
        ),
        footer=escape(f"Written by driftwise {version}".strip()),
        plotly=get_plotlyjs().replace("</script", "<\\/script"),
        script=parts.joinpath("page.js").read_text(encoding="utf-8"),
    )


def _kicker(data: ReportData, experiment: str) -> str:
    runs = "1 run" if data.num_runs == 1 else f"{data.num_runs:,} runs"
    environment = data.manifest["environment"].get("name", "")
    return f"{experiment} · {environment} · {data.num_episodes:,} episodes · {runs}"


def _heading(data: ReportData, experiment: str) -> str:
    """The experiment's own finding holds at its own sizes only."""
    config = data.config
    full = data.num_episodes >= config.get("episodes", 0) and data.num_runs >= config.get("runs", 0)
    return str((full and config.get("finding")) or config.get("summary") or experiment)


def _finding(data: ReportData) -> str:
    """What these runs say, and how sure that is."""
    best, *others = (int(index) for index in data.order)
    mean, half_width = (float(each[best]) for each in mean_interval(data.scores))
    text = f"{data.labels[best]} ends with the lowest cumulative regret, {with_half_width(mean, half_width)}."
    if not others or data.num_runs < 2:
        return text
    found, adjusted = differences_to_best(data)
    difference = with_interval(*(float(each[0]) for each in found[:3]))
    told = "" if adjusted[0] <= 0.05 else " – not enough to tell the two apart with this many runs and agents"
    return f"{text} Next is {data.labels[others[0]]}, {difference} more, paired by run{told}."
