"""What a command of a tutorial prints: in one piece.

A notebook hears of it in parts, and myst-nb puts a line break between two of them, wherever they were cut.
"""

from __future__ import annotations

from typing import Any

from myst_nb.core import render


def setup(app: Any) -> dict[str, Any]:
    """Join the parts as they are."""
    render.coalesce_streams = joined
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def joined(outputs: list[Any]) -> list[Any]:
    """Outputs of a cell with one output for each stream, in the place of its first part."""
    streams: dict[str, Any] = {}
    found = []
    for output in outputs:
        if output["output_type"] != "stream":
            found.append(output)
        elif output["name"] in streams:
            streams[output["name"]]["text"] += output["text"]
        else:
            streams[output["name"]] = output
            found.append(output)
    return found
