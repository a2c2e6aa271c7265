"""A page as data, and how it is written: one HTML file in the look of the report that needs no network.

Figures are drawn by plotly.js, whose five megabytes are many times the rest; a static page has SVG instead.
"""

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from driftwise import __version__
from driftwise.analysis.figures import MANY_ROWS, AnyFigure, Axis, Bars, Curve, Figure, Shade, curve_style
from driftwise.analysis.formatting import format_percent
from driftwise.analysis.table import Table
from driftwise.base.extras import require_extra

with require_extra("a page", "cli"):
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup


@dataclass(frozen=True)
class Code:
    """Lines to copy; with a `summary` they are folded away under it."""

    text: str
    summary: str = ""


# A string is a note, a list has sentences one below the other, a dictionary names and their values;
# figures of a tuple stand side by side.
PageBlock = str | list[str] | dict[str, str] | Table | AnyFigure | tuple[AnyFigure, ...] | Code
_MACROS: dict[type, str] = {str: "note", list: "story", dict: "definitions", tuple: "pair"}


@dataclass(frozen=True)
class Section:
    """A part of a page; without a title, blocks alone."""

    title: str
    blocks: Sequence[PageBlock]


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
    # A button for each agent, which hides and shows it in all figures, stays in view. Agents are given with
    # the numbers of their colours and dashes; those without one are faint.
    legend: Mapping[str, int | None] = field(default_factory=dict)
    version: str = __version__  # of the driftwise that the page is about
    static: bool = False  # figures of curves are SVG, which needs no script


def figure_data(value: Any) -> Any:
    """Return a figure, or a part of it, as `figures.js` reads it: arrays in base64, curves with styles."""
    if isinstance(value, np.ndarray):
        return base64.b64encode(np.ascontiguousarray(value, dtype="<f4").tobytes()).decode()
    if isinstance(value, AnyFigure | Axis | Curve | Shade):
        data = {name: figure_data(item) for name, item in vars(value).items()}
        if isinstance(value, Curve | Shade):
            data["style"] = None if value.number is None else curve_style(value.number)
        if isinstance(value, Figure):
            data["extent"] = value.extent
        if isinstance(value, Bars):
            data["styles"] = [curve_style(place) for place in range(len(value.shares))]
            data["texts"] = [format_percent(share) for share in value.shares]
        return data
    if isinstance(value, Mapping):
        return [*value.items()]
    if isinstance(value, list | tuple):
        return [figure_data(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def write_html(page: Page) -> str:
    """Return the page as HTML."""
    options: dict[str, Any] = dict(loader=PackageLoader("driftwise.analysis"), autoescape=True)
    options |= dict(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    environment = Environment(undefined=StrictUndefined, **options)
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "allow_nan": False}

    def write_part(part: PageBlock | Section | Article) -> Markup:
        """Return a part of the page, written by the macro of its name."""
        macros: Any = environment.get_template("parts.html").module
        if isinstance(part, Figure) and page.static:
            from driftwise.analysis.matplotlib_figures import page_svg

            return macros.drawing(part, page_svg(part))
        if isinstance(part, AnyFigure):
            height = 90 + 20 * part.rows if part.rows > MANY_ROWS else None  # pixels; else that of page.css
            return macros.figure(part, figure_data(part), height)
        return getattr(macros, _MACROS.get(type(part), type(part).__name__.lower()))(part)

    def read(package: str, name: str) -> Markup:
        """Return a file of a package, which must not end a script."""
        text = files(package).joinpath(name).read_text(encoding="utf-8")
        return Markup(text.replace("</script", "<\\/script"))

    environment.filters["html"] = write_part
    environment.globals |= {"read": read, "curve_style": curve_style}
    return environment.get_template("page.html").render(page=page)
