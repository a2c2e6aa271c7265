"""What `driftwise audit` wrote into a results folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

AUDIT = "audit.json"
OF_AN_AUDIT = {"name", "findings", "skipped"}
OF_A_FINDING = {
    "environment",
    "agent",
    "statement",
    "where",
    "kind",
    "checked",
    "violations",
    "worst_ratio",
    "verdict",
}


def read_audits(folder: Path) -> tuple[Mapping[str, Any], ...]:
    """The audits beside the results, none where there is no such file; a damaged one is a `ValueError`."""
    path = folder / AUDIT
    if not path.exists():
        return ()
    try:
        audits = json.loads(path.read_text(encoding="utf-8"))
        named = all(audit.keys() >= OF_AN_AUDIT for audit in audits)
        findings = [finding for audit in audits for finding in audit["findings"]] if named else []
        if named and all(finding.keys() >= OF_A_FINDING for finding in findings):
            return tuple(audits)
    except (
        OSError,
        ValueError,
        AttributeError,
        TypeError,
    ):  # no file to read, no JSON, or other things in it
        pass
    raise ValueError(f"{path} is damaged: it is not what 'driftwise audit' writes")
