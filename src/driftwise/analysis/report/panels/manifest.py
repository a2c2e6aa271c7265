"""What was run, with what."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.elements import Section, worded


def manifest(report: Report) -> Section:
    data = longest(report)
    facts = data.manifest
    rows: dict[str, Any] = {
        "experiment": facts.get("experiment"),
        "environments": ", ".join(report),
        "agents": len({label for each in report.values() for label in each.labels}),
        "episodes": f"{data.num_episodes:,}",
        "runs": data.num_runs,
        "seed": facts.get("seed"),
        "precision": facts.get("precision"),
        "device": facts.get("device"),
        "host": facts.get("host"),
        "commit": facts.get("commit"),
        "written": facts.get("written"),
        "seconds": facts.get("seconds"),
        "versions": facts.get("versions"),
    }
    listed = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(worded(value))}</dd>"
        for name, value in rows.items()
        if value not in (None, "", {})
    )
    whole = escape(json.dumps(facts, indent=2, ensure_ascii=False), quote=False)
    details = f"<details><summary>The whole manifest</summary><pre>{whole}</pre></details>"
    return Section("Manifest", f"<dl>{listed}</dl>{details}")
