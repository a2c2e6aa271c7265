"""A page as data, and how it is written: one HTML file in the look of the report that needs no network."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from driftwise import __version__
from driftwise.analysis.table import Table
from driftwise.analysis.traces import curve_style, packed

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

    agents: Sequence[str]

    @property
    def chips(self) -> list[tuple[str, int, str]]:
        """Name, number of the colour, and dashes of every agent."""
        styles = (curve_style(index) for index in range(len(self.agents)))
        return [
            (agent, colour, STROKES[dash]) for agent, (colour, dash) in zip(self.agents, styles, strict=True)
        ]


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
Block = str | Table | Figure | tuple[Figure, ...] | Legend | Definitions | Code


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
    version: str = __version__  # of the driftwise that the page is about

    @property
    def links(self) -> dict[str, str]:
        """Headings by their places, if there are several."""
        articles = [part for part in self.parts if isinstance(part, Article) and part.place]
        return {"top": "Overview", **{each.place: each.heading for each in articles}} if articles else {}


def write_html(page: Page) -> str:
    """The page as HTML."""
    folder = files("driftwise.analysis").joinpath("templates")
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    trusted = {"style": style, "script": script, "plotly": get_plotlyjs().replace("</script", "<\\/script")}
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
