"""What was run, with what."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from driftwise.report.data import ReportData
from driftwise.report.elements import Section


def manifest(data: ReportData) -> Section:
    facts = data.manifest
    rows: dict[str, Any] = {
        "experiment": facts.get("experiment"),
        "environment": facts["environment"].get("name"),
        "agents": len(data.labels),
        "episodes": f"{data.num_episodes:,}",
        "runs": data.num_runs,
        "seed": facts.get("seed"),
        "precision": facts.get("precision"),
        "device": facts.get("device"),
        "written": facts.get("written"),
        "seconds": facts.get("seconds"),
        "versions": ", ".join(f"{name} {number}" for name, number in (facts.get("versions") or {}).items()),
    }
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(str(value))}</dd>"
        for name, value in rows.items()
        if value not in (None, "")
    )
    whole = escape(json.dumps(facts, indent=2, ensure_ascii=False))
    details = f"<details><summary>The whole manifest</summary><pre>{whole}</pre></details>"
    return Section("Manifest", f"<dl>{listed}</dl>{details}")
