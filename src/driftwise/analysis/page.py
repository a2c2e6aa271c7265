"""A page as data, and how it is written: one HTML file in the look of the report that needs no network.

Figures are drawn by plotly.js, which a page without them leaves out; the page gives their curves colours in
light and in dark.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from driftwise import __version__
from driftwise.analysis.drawings import Drawing
from driftwise.analysis.figures import COLOURS
from driftwise.analysis.table import Table
from driftwise.base.extras import needed_by

with needed_by("a page", "cli"):
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

DASHES = ("solid", "dash", "dot", "dashdot")
MANY = 12  # rows or columns of a heat map, beyond which they are narrow
STROKES = ("", "7 4", "2 3", "8 3 2 3")  # in the legend, by the number of a curve's dashes


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure for plotly.js; `text` says what it shows to those who do not see it.

    Traces without an `x` of their own share the given one; many `rows` make a figure higher.
    """

    name: str
    traces: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any]
    text: str
    caption: str = ""
    x: np.ndarray | None = None
    rows: int = 0

    @property
    def content(self) -> dict[str, Any]:
        """All that `page.js` draws it from."""
        return {"data": self.traces, "layout": self.layout, "x": None if self.x is None else packed(self.x)}

    @property
    def height(self) -> int | None:
        """Pixels, where they are more than those of `page.css`."""
        return 90 + 20 * self.rows if self.rows > MANY else None


@dataclass(frozen=True)
class Legend:
    """A button for each agent, which hides and shows it in all figures of the page."""

    styles: Mapping[str, int | None]  # numbers of the agents' colours and dashes; without one they are faint

    @property
    def chips(self) -> list[tuple[str, int | str, str]]:
        """Name, colour, and dashes of every agent."""
        looks = ((agent, *curve_style(number)) for agent, number in self.styles.items())
        return [(agent, colour, STROKES[dash]) for agent, colour, dash in looks]


@dataclass(frozen=True)
class Story:
    """Sentences on what happened, one below the other."""

    sentences: Sequence[str]


@dataclass(frozen=True)
class Definitions:
    """Names and their values, one below the other."""

    entries: Mapping[str, str]


@dataclass(frozen=True)
class Code:
    """Lines to copy; with a `summary` they are folded away under it."""

    text: str
    summary: str = ""


# Strings are notes; figures of a tuple stand side by side.
Block = str | Table | Figure | tuple[Figure | Drawing, ...] | Story | Definitions | Code


@dataclass(frozen=True)
class Section:
    """A part of a page; without a title, blocks alone."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Article:
    """Sections that belong together; those with a `place` are linked to from the top of the page."""

    heading: str
    sections: Sequence[Section]
    kicker: str = ""
    lead: str = ""
    place: str = ""


@dataclass(frozen=True)
class Page:
    """A page; the kicker is a line above its heading, the lead a paragraph below."""

    title: str
    kicker: str
    heading: str
    lead: str
    parts: Sequence[Section | Article]
    legend: Legend | None = None  # stays in view
    version: str = __version__  # of the driftwise that the page is about

    @property
    def has_figures(self) -> bool:
        """Whether plotly.js has anything to draw."""
        articles = (part.sections if isinstance(part, Article) else [part] for part in self.parts)
        blocks = (block for sections in articles for section in sections for block in section.blocks)
        alone = (each for block in blocks for each in (block if isinstance(block, tuple) else [block]))
        return any(isinstance(each, Figure) for each in alone)

    @property
    def links(self) -> dict[str, str]:
        """Headings by their places, if there are several."""
        articles = [part for part in self.parts if isinstance(part, Article) and part.place]
        return {"top": "Overview", **{each.place: each.heading for each in articles}} if articles else {}


def write_html(page: Page) -> str:
    """The page as HTML."""
    folder = files("driftwise.analysis").joinpath("templates")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    plotly = get_plotlyjs().replace("</script", "<\\/script") if page.has_figures else ""
    trusted = {"style": style, "script": script, "plotly": plotly}
    return (
        _environment()
        .get_template("page.html")
        .render(page=page, **{name: Markup(text) for name, text in trusted.items()})
    )


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("driftwise.analysis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False}
    environment.filters["html"] = _html
    return environment


def _html(part: Block | Section | Article) -> Markup:
    """A part of a page, written by the macro of its name."""
    name = {str: "note", tuple: "pair"}.get(type(part), type(part).__name__.lower())
    return getattr(_environment().get_template("parts.html").module, name)(part)


def curve_style(number: int | None) -> tuple[int | str, int]:
    """The colour and the number of the dashes; neighbours differ in both, as in `figures`."""
    if number is None:
        return "faint", 0
    block = 2 * len(COLOURS)
    return number % len(COLOURS), number % 2 + 2 * (number // block % 2)


def line(
    number: int | None, name: str, y: np.ndarray, half_width: np.ndarray | None = None, **more: Any
) -> dict[str, Any]:
    """The curve of the agent of this number, and the half-width of the band around it; faint without one."""
    colour, dash = curve_style(number)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": plotly_text(name),
        "y": packed(y),
        **({} if half_width is None else {"half_width": packed(half_width)}),
        "line": {"width": 0.8 if number is None else 2, "dash": DASHES[dash]},
        "hovertemplate": "%{y:.4~r}",
        "meta": {"agent": name, "colour": colour},
        **more,
    }


def axis(title: str, **more: Any) -> dict[str, Any]:
    """An axis of a layout."""
    return {"title": {"text": title}, **more}


def packed(values: np.ndarray) -> dict[str, str]:
    """Numbers as plotly.js reads them fastest and smallest; NaN is a gap."""
    content = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(content).decode()}


def plotly_text(text: str) -> str:
    """Text that plotly.js, which reads some HTML, shows as it stands."""
    return escape(text, quote=False)


def distinct_texts(values: Sequence[Any]) -> list[str]:
    """Values as texts, short where that tells them apart."""
    short = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in values]
    return short if len({*short}) == len({*map(str, values)}) else [str(value) for value in values]
