"""Figures as plotly.js reads them; the page gives their curves colours in light and in dark."""

from __future__ import annotations

import base64
import functools
from html import escape
from typing import Any

import numpy as np

from driftwise.analysis.figures import AnyFigure, Axis, Bars, Curve, CurveKind, Figure, HeatMap, curve_style
from driftwise.analysis.statistics.formatting import format_percent

_DASHES = ("solid", "dash", "dot", "dashdot")
_STRIP = 0.1  # share of a figure's height that the strip has
_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)  # of shares, between ticks
_FAR = 1.5  # times the highest curve: as far as ticks of shares go
_MARGIN_OF_NAMES = {"l": 44, "r": 40, "t": 8, "b": 40}  # pixels around a figure
_MODES: dict[CurveKind, str] = {"marked": "lines+markers", "dots": "markers"}

_text = functools.partial(escape, quote=False)  # plotly.js reads some HTML


def plotly_content(figure: AnyFigure) -> dict[str, Any]:
    """Return the traces and the layout that `page.js` draws a figure from."""
    match figure:
        case Figure():
            return _curves_content(figure)
        case Bars():
            return _bars_content(figure)
        case HeatMap():
            return _heat_map_content(figure)


def _curves_content(figure: Figure) -> dict[str, Any]:
    lowest, highest = figure.extent
    edges = {"xref": "x", "y0": 0, "y1": 1, "layer": "below"}
    marks = [{"type": "line", "yref": "paper", "x0": x, "x1": x, **edges} for x in figure.marks]
    shades = [
        {"type": "rect", "yref": "y domain", "x0": start, "x1": stop, "colour": _colour(number), **edges}
        for start, stop, number in figure.shades
    ]
    layout: dict[str, Any] = {
        "xaxis": _axis(figure.x_axis, lowest),
        "yaxis": _axis(figure.y_axis, lowest),
        "shapes": [*marks, *shades],
    }
    if any(curve.end for curve in figure.curves):
        layout["margin"] = _MARGIN_OF_NAMES
    if any(curve.hover for curve in figure.curves):
        layout["hovermode"] = "closest"
    if figure.legend:
        layout["showlegend"] = True
    if np.isfinite(figure.unit):  # an axis to the right, in shares of the unit
        top = _FAR * highest / figure.unit
        step = next((step for step in _STEPS if top <= 6 * step), _STEPS[-1])
        shares = np.arange(0, top + step, step).tolist()
        ticks = {share * figure.unit: f"{100 * share:.{int(step < 0.01)}f} %" for share in shares}
        axis = _axis(Axis(figure.unit_label, from_zero=True, ticks=ticks), lowest)
        place = {"overlaying": "y", "matches": "y", "side": "right", "showgrid": False}
        layout["yaxis2"] = {**axis, **place}
    traces = [_trace(curve, figure) for curve in figure.curves]
    if figure.strip is not None:
        x, drift = figure.strip
        trace = _trace(Curve("drift", drift, x=x), figure)
        look = {"line": {"width": 1, "shape": "vh"}, "fill": "tozeroy", "hovertemplate": "%{y:.0%}"}
        traces.append({**trace, **look, "meta": {"colour": "soft"}, "yaxis": "y3"})
        layout["xaxis"]["anchor"] = "y3"
        layout["yaxis"]["domain"] = [_STRIP + 0.06, 1]
        hidden = {"showticklabels": False, "showgrid": False, "fixedrange": True}
        layout["yaxis3"] = {**_axis(Axis("drift", limits=(0, 1.05))), "domain": [0, _STRIP], **hidden}
    return {"data": traces, "layout": layout, "x": None if figure.x is None else _packed(figure.x)}


def _bars_content(figure: Bars) -> dict[str, Any]:
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "x": [share],
            "y": [_text(label)],
            "text": [format_percent(share)],
            "textposition": "auto",
            "hovertemplate": "%{y}: %{x:.1%}<extra></extra>",
            "meta": {"colour": _colour(place), "agent": figure.agent},
        }
        for place, (label, share) in enumerate(zip(figure.labels, figure.shares, strict=True))
    ]
    layout = {
        "barmode": "stack",  # every bar has its own row
        "xaxis": {**_axis(Axis(figure.x_label)), "tickformat": ".0%", "rangemode": "tozero"},
        "yaxis": {**_axis(Axis()), "autorange": "reversed", "showgrid": False},
        "hovermode": "closest",
    }
    return {"data": traces, "layout": layout}


def _heat_map_content(figure: HeatMap) -> dict[str, Any]:
    x_label, y_label, value_label = map(_text, (figure.x_label, figure.y_label, figure.value_label))
    trace: dict[str, Any] = {
        "type": "heatmap",
        "x": [*map(_text, figure.column_labels)],
        "y": [*map(_text, figure.row_labels)],
        "z": [[value if np.isfinite(value) else None for value in row] for row in figure.values.tolist()],
        "text": [[*map(_text, row)] for row in figure.texts],
        "texttemplate": "%{text}" if figure.texts_shown else "",
        "hovertemplate": f"{y_label} %{{y}}<br>{x_label} %{{x}}: {value_label} %{{text}}<extra></extra>",
    }
    if figure.scale:
        trace["colorbar"] = {"title": {"text": _text(figure.scale), "side": "right"}}
    layout = {"xaxis": _axis(Axis(figure.x_label)), "yaxis": _axis(Axis(figure.y_label))}
    if figure.downwards:
        layout["yaxis"]["autorange"] = "reversed"
    return {"data": [trace], "layout": layout}


def _trace(curve: Curve, figure: Figure) -> dict[str, Any]:
    dash = 0 if curve.number is None else curve_style(curve.number)[1]
    line: dict[str, Any] = {"width": 0.8 if curve.number is None else 2, "dash": _DASHES[dash]}
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": _MODES.get(curve.kind, "lines"),
        "name": _text(curve.name),
        "y": _packed(curve.y),
        "line": line,
        "hovertemplate": "%{y:.4~r}",
        "meta": {"colour": _colour(curve.number), "agent": curve.agent},
    }
    if curve.x is not None:
        trace["x"] = _packed(curve.x)
    if curve.low is not None and curve.high is not None:
        trace |= {"low": _packed(curve.low), "high": _packed(curve.high)}
    if curve.hover:
        trace |= {"text": [*map(_text, curve.hover)], "hovertemplate": "%{text}<extra></extra>"}
    match curve.kind:
        case "dots":
            trace["marker"] = {"size": 9}
        case "steps":
            line["shape"] = "hv"
        case "stacked":
            trace["stackgroup"] = figure.name
        case "background":
            trace |= {"line": {"width": 0.8}, "hoverinfo": "skip", "opacity": 0.3}
        case "reference":
            trace |= {"line": {"width": 1.2, "dash": "dot"}, "meta": {"colour": "soft"}}
            if np.isfinite(figure.unit):
                trace["yaxis"] = "y2"  # an axis without a curve is not drawn
    if curve.end:
        names = [""] * (len(curve.y) - 1) + [_text(curve.end)]
        trace |= {"mode": "lines+text", "text": names, "textposition": "middle right"}
        trace |= {"cliponaxis": False, "hoverinfo": "skip"}
    return trace


def _axis(axis: Axis, lowest: float = 0.0) -> dict[str, Any]:
    layout: dict[str, Any] = {"title": {"text": _text(axis.label)}}
    if axis.log:
        layout["type"] = "log"
    if axis.from_zero:
        layout |= {"rangemode": "tozero", "minallowed": lowest}
    if axis.limits is not None:
        layout["range"] = [*axis.limits]
    if axis.ticks is not None:
        layout |= {"tickvals": [*axis.ticks], "ticktext": [*map(_text, axis.ticks.values())]}
    return layout


def _colour(number: int | None) -> int | str:
    """Return the colour of the page."""
    return "faint" if number is None else curve_style(number)[0]


def _packed(values: np.ndarray) -> dict[str, str]:
    """Return numbers as plotly.js reads them fastest and smallest."""
    content = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return {"dtype": "f4", "bdata": base64.b64encode(content).decode()}
