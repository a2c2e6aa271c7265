"""The command that gives these numbers again."""

from __future__ import annotations

import shlex

import tomli_w

from driftwise.analysis.page import Block, Code, Section
from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.panels.common import manifest_text
from driftwise.experiments import EXPERIMENTS


def reproduce(report: Report) -> Section:
    """The command, and the experiment's file if it is not built in."""
    data = longest(report)
    name, config = str(data.manifest.get("experiment", "experiment")), dict(data.config)
    built_in = name in EXPERIMENTS and config in ({}, EXPERIMENTS[name].config)
    command = ["driftwise", "run", name if built_in else f"{name}.toml"]
    command += ["--episodes", str(data.num_episodes), "--runs", str(data.num_runs)]
    command += ["--seed", str(data.manifest.get("seed", 0))]
    command += ["--device", "gpu"] if data.manifest.get("platform") == "gpu" else []
    blocks: list[Block] = [Code(shlex.join(command))]
    if config and not built_in:
        blocks += [f"with this in {name}.toml:", Code(tomli_w.dumps(config))]
    elif not built_in:
        blocks.append("The manifest does not keep the experiment’s file.")
    if version := (data.manifest.get("versions") or {}).get("driftwise"):
        blocks.append(f"With driftwise {manifest_text(version)}; the other versions are in the manifest.")
    return Section("Run it again", blocks)
