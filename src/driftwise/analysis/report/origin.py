"""Where the numbers of a page come from: other programs, an audit, the manifest, and the command."""

import json
import shlex

import tomli_w

from driftwise.analysis.audit.findings import findings_table, worst_of
from driftwise.analysis.formatting import format_count
from driftwise.analysis.page import Code, PageBlock, Section
from driftwise.analysis.report.data import Report, longest, manifest_text
from driftwise.experiments import EXPERIMENTS

_ENTRIES = ("experiment", "environments", "agents", "episodes", "runs", "seed", "precision", "device", "host")
_ENTRIES += ("xla_flags", "commit", "sources", "written", "history", "seconds", "versions", "plugins")


def source(report: Report) -> Section | None:
    """Return what is known about curves of another program, and what stands for regret there."""
    data = longest(report)
    if not data.is_external:
        return None
    text = (
        "Another program wrote these curves: the agents, the environment and its changes are unknown. Runs "
        "of different agents are paired in the order of their names; where that order means nothing, the "
        "paired tests are still valid, but less sharp."
    )
    if "regret" not in data.metrics:
        text += (
            f" The file has rewards and no regret. The {data.quantity} is the highest reward in the "
            "environment less the reward: differences between agents are right, its size means little."
        )
    return Section("Where the curves come from", [text])


def audit(report: Report) -> Section | None:
    """Return the findings, if `driftwise audit --out` wrote into the folder of the results."""
    findings = longest(report).findings
    if not findings:
        return None
    violated = sum(finding.violated for finding in findings)
    text = f"{format_count(len(findings), 'statement')}, {violated or 'none'} violated."
    table = findings_table(worst_of(findings), "audit").without("median ratio", "median margin")
    reading = (
        "Identities of the algorithms and lemmas about them, checked on recorded runs with the true model, "
        "each for the agent and environment closest to a violation. Worst ratio: the largest left side over "
        "its right side; above 1 the statement fails. The page audit.html beside this one has all agents in "
        "all environments."
    )
    return Section("Audit", [text, table, reading])


def manifest_section(report: Report) -> Section | None:
    """Return the main entries, and the whole manifest to unfold; none for external curves."""
    data = longest(report)
    if data.is_external:
        return None
    stages, requests = data.manifest.get("history", ()), []
    for stage in stages if len(stages) > 1 else ():  # the requests that extended the folder, in order
        added = ", ".join(map(str, [*stage.get("agents", ()), *stage.get("environments", ())]))
        sizes = f"{stage.get('runs')} runs of {stage.get('episodes')} episodes"
        requests.append(f"{stage.get('begun')}: {sizes}{f', with {added}' * bool(added)}")
    entries = {
        **data.manifest,
        "environments": ", ".join(report),
        "agents": len({label for data in report.values() for label in data.labels}),
        "episodes": f"{data.num_episodes:,}",
        "runs": data.total_runs,
        "history": "; ".join(requests),
    }
    facts = {name: entries.get(name) for name in _ENTRIES if entries.get(name) not in (None, "", {})}
    whole = json.dumps(data.manifest, indent=2, ensure_ascii=False)
    listed = {name: manifest_text(value) for name, value in facts.items()}
    return Section("Manifest", [listed, Code(whole, summary="The whole manifest")])


def reproduce(report: Report) -> Section | None:
    """Return the command, with the experiment's file if it is not built in; none for external curves."""
    data = longest(report)
    if data.is_external:
        return None
    name, config = str(data.manifest.get("experiment", "experiment")), data.manifest.get("config") or {}
    built_in = name in EXPERIMENTS and config in ({}, EXPERIMENTS[name].config)
    command = ["driftwise", "run", name if built_in else f"{name}.toml"]
    command += ["--episodes", str(data.num_episodes), "--runs", str(data.total_runs)]
    command += ["--seed", str(data.manifest.get("seed", 0))]
    command += ["--device", "gpu"] if data.manifest.get("platform") == "gpu" else []
    for module in data.manifest.get("plugins", {}):
        command += ["--import", module] if module not in config.get("import", ()) else []
    blocks: list[PageBlock] = [Code(shlex.join(command))]
    if config and not built_in and "agents" not in config:
        blocks = ["It was run from Python; the manifest has every agent and every environment."]
    elif config and not built_in:
        blocks += [f"with this in {name}.toml:", Code(tomli_w.dumps(config))]
    elif not built_in:
        blocks.append("The manifest does not keep the experiment’s file.")
    if version := (data.manifest.get("versions") or {}).get("driftwise"):
        blocks.append(f"With driftwise {manifest_text(version)}; the other versions are in the manifest.")
    return Section("Run it again", blocks)
