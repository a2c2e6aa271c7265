"""Kinds of what a manifest says, so that whoever reads one meets what was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftwise.base.kinds import (
    COUNT,
    LIST,
    NUMBER,
    PLAIN,
    TABLE,
    WORD,
    Kinds,
    require_kind_of,
    require_kind_of_each,
    require_kinds_of,
)

MANIFEST: Kinds = {
    "experiment": WORD,
    "config": TABLE,
    "num_episodes": COUNT,
    "num_runs": COUNT,
    "seed": COUNT,
    "environments": TABLE,
    "agents": LIST,
    "history": LIST,
    "versions": TABLE,
    "plugins": TABLE,
    "sha256": TABLE,
}
CONFIG: Kinds = {
    "name": WORD,
    "summary": WORD,
    "finding": WORD,
    "episodes": COUNT,
    "runs": COUNT,
    "import": LIST,
}
STAGE: Kinds = {"begun": WORD, "episodes": COUNT, "runs": COUNT, "agents": LIST, "environments": LIST}
AGENT: Kinds = {
    "environment": WORD,
    "label": WORD,
    "name": WORD,
    "point": TABLE,
    "parameters": TABLE,
    "variation": NUMBER,
    "seconds": NUMBER,
}


def require_kinds(manifest: Mapping[str, Any]) -> None:
    """Refuse a manifest in which something is of another kind than driftwise writes; it may be missing."""
    require_kinds_of("", manifest, MANIFEST)
    require_kinds_of("config.", manifest.get("config", {}), CONFIG)
    require_kind_of_each("sha256", manifest.get("sha256", {}), WORD)
    require_kind_of_each("environments", manifest.get("environments", {}), TABLE)
    for number, stage in enumerate(manifest.get("history", ())):
        require_kind_of(f"history.{number}", stage, TABLE)
        require_kinds_of(f"history.{number}.", stage, STAGE)
    for number, agent in enumerate(manifest.get("agents", ())):
        place = f"agents.{number}"
        require_kind_of(place, agent, TABLE)
        require_kinds_of(f"{place}.", agent, AGENT)
        require_kind_of_each(f"{place}.point", agent.get("point", {}), PLAIN)
    _require_values("config", manifest.get("config", {}))


def _require_values(path: str, value: Any) -> None:
    """Refuse null, which no experiment's file can say, at any depth."""
    if isinstance(value, dict):
        for name, each in value.items():
            _require_values(f"{path}.{name}", each)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            _require_values(f"{path}.{number}", each)
    else:
        require_kind_of(path, value, PLAIN)
