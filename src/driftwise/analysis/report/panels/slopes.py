"""Lines of known slope on logarithmic axes, to hold curves against."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from driftwise.analysis.report.panels.common import plain

ROOM = {"l": 44, "r": 40, "t": 8, "b": 40}  # pixels around a figure, with some for the names of the lines


READING = "Dotted lines have the slopes that stand at their ends."


def reference_slopes(
    slopes: Sequence[Fraction], sizes: np.ndarray, curves: Sequence[np.ndarray]
) -> list[dict[str, Any]]:
    """Lines `C·nᵅ` that fan out from amid the curves where these begin, each named at its end."""
    positive = [np.where(curve > 0, curve, np.nan) for curve in curves if (curve > 0).any()]
    amid = np.exp(np.mean(np.log(positive), axis=0)) if positive else np.empty(0)
    known = np.flatnonzero(np.isfinite(amid))
    if len(known) < 2:
        return []
    x = sizes[known[[0, -1]]].astype(float)
    named: dict[str, Any] = {"mode": "lines+text", "textposition": "middle right", "cliponaxis": False}
    lines = []
    for slope in slopes:
        y = amid[known[0]] * (x / x[0]) ** float(slope)
        text = ["", str(slope)]
        line = plain("soft", f"slope {slope}", x, y, text=text, hoverinfo="skip", **named)
        lines.append({**line, "line": {"width": 1, "dash": "dot"}})
    return lines
