"""The output of a command in a tutorial as one text.

A notebook receives it in parts, and myst-nb would put a line break between them, even within a line.
"""

from __future__ import annotations

from typing import Any

from myst_nb.core import render


def setup(app: Any) -> dict[str, Any]:
    """Join the parts without line breaks."""
    render.coalesce_streams = join_streams
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def join_streams(outputs: list[Any]) -> list[Any]:
    """Return the outputs of a cell with one output for each stream, in the place of its first part."""
    streams: dict[str, Any] = {}
    joined = []
    for output in outputs:
        if output["output_type"] != "stream":
            joined.append(output)
        elif output["name"] in streams:
            streams[output["name"]]["text"] += output["text"]
        else:
            streams[output["name"]] = output
            joined.append(output)
    return joined
