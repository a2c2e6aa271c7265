"""The end of the page: an audit, the manifest, and the command that gives these numbers again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from driftwise.analysis.audit.findings import findings_table, worst_of
from driftwise.analysis.page import Block, Code, Definitions, Section
from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.panels.common import manifest_text
from driftwise.analysis.statistics.wording import counted
from driftwise.experiments import EXPERIMENTS

READING = (
    "Identities of the algorithms and lemmas about them, checked on live runs with the true model at hand, "
    "each for the agent and environment that come closest to a violation. Worst ratio: the largest left side "
    "over its right side; above 1 the statement fails. The page audit.html beside this one has all agents in "
    "all environments."
)


def audit(report: Report) -> Section | None:
    """The findings, if `driftwise audit --out` wrote into the folder of the results."""
    findings = longest(report).findings
    if not findings:
        return None
    violated = sum(finding.violated for finding in findings)
    text = f"{counted(len(findings), 'statement')}, {violated or 'none'} violated."
    table = findings_table(worst_of(findings), "audit").without("median ratio", "median margin")
    return Section("Audit", [text, table, READING])


def manifest(report: Report) -> Section | None:
    """The most important entries, and the whole manifest to unfold; none for curves of another program."""
    data = longest(report)
    if data.foreign:
        return None
    entries = {
        **data.manifest,
        "environments": ", ".join(report),
        "agents": len({label for each in report.values() for label in each.labels}),
        "episodes": f"{data.num_episodes:,}",
        "runs": data.num_played,
        "history": _history(data.manifest.get("history", ())),
    }
    names = ("experiment", "environments", "agents", "episodes", "runs", "seed", "precision", "device")
    names += (
        "host",
        "xla_flags",
        "commit",
        "sources",
        "written",
        "history",
        "seconds",
        "versions",
        "plugins",
    )
    known = {name: entries.get(name) for name in names if entries.get(name) not in (None, "", {})}
    whole = json.dumps(data.manifest, indent=2, ensure_ascii=False)
    listed = Definitions({name: manifest_text(value) for name, value in known.items()})
    return Section("Manifest", [listed, Code(whole, summary="The whole manifest")])


def _history(stages: Sequence[Mapping[str, Any]]) -> str:
    """What the folder was asked for, one time after the other; empty where that was once."""
    told = []
    for stage in stages if len(stages) > 1 else ():
        came = ", ".join(map(str, [*stage.get("agents", ()), *stage.get("environments", ())]))
        sizes = f"{stage.get('runs')} runs of {stage.get('episodes')} episodes"
        told.append(f"{stage.get('begun')}: {sizes}{f', with {came}' * bool(came)}")
    return "; ".join(told)


def reproduce(report: Report) -> Section | None:
    """The command, and the experiment's file if it is not built in; none for curves of another program."""
    data = longest(report)
    if data.foreign:
        return None
    name, config = str(data.manifest.get("experiment", "experiment")), dict(data.config)
    built_in = name in EXPERIMENTS and config in ({}, EXPERIMENTS[name].config)
    command = ["driftwise", "run", name if built_in else f"{name}.toml"]
    command += ["--episodes", str(data.num_episodes), "--runs", str(data.num_played)]
    command += ["--seed", str(data.manifest.get("seed", 0))]
    command += ["--device", "gpu"] if data.manifest.get("platform") == "gpu" else []
    for module in data.manifest.get("plugins", {}):
        command += ["--import", module] if module not in config.get("import", ()) else []
    blocks: list[Block] = [Code(shlex.join(command))]
    if config and not built_in and "agents" not in config:
        blocks = ["It was run from Python; the manifest has every agent and every environment."]
    elif config and not built_in:
        blocks += [f"with this in {name}.toml:", Code(tomli_w.dumps(config))]
    elif not built_in:
        blocks.append("The manifest does not keep the experiment’s file.")
    if version := (data.manifest.get("versions") or {}).get("driftwise"):
        blocks.append(f"With driftwise {manifest_text(version)}; the other versions are in the manifest.")
    return Section("Run it again", blocks)
