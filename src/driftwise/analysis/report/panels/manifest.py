"""The manifest: what was run, with what."""

from __future__ import annotations

import json

from driftwise.analysis.page import Code, Facts, Section
from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.panels.common import manifest_text


def manifest(report: Report) -> Section:
    """The most important entries, and the whole manifest to unfold."""
    data = longest(report)
    entries = {
        **data.manifest,
        "environments": ", ".join(report),
        "agents": len({label for each in report.values() for label in each.labels}),
        "episodes": f"{data.num_episodes:,}",
        "runs": data.num_runs,
    }
    names = ("experiment", "environments", "agents", "episodes", "runs", "seed", "precision", "device")
    names += ("host", "commit", "written", "seconds", "versions")
    known = {name: entries.get(name) for name in names if entries.get(name) not in (None, "", {})}
    whole = json.dumps(data.manifest, indent=2, ensure_ascii=False)
    facts = Facts({name: manifest_text(value) for name, value in known.items()})
    return Section("Manifest", [facts, Code(whole, summary="The whole manifest")])
