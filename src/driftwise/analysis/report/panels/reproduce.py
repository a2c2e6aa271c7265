"""The command that gives these numbers again."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

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
        blocks += [f"with this in {name}.toml:", Code(toml(config))]
    elif not built_in:
        blocks.append("The manifest does not keep the experiment’s file.")
    if version := (data.manifest.get("versions") or {}).get("driftwise"):
        blocks.append(f"With driftwise {manifest_text(version)}; the other versions are in the manifest.")
    return Section("Run it again", blocks)


def toml(config: Mapping[str, Any]) -> str:
    """An experiment's content as a file; tables within tables are written in one line."""
    plain = {key: value for key, value in config.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key, table in config.items():
        if key not in plain:
            lines += ["", f"[{_key(key)}]"]
            lines += [f"{_key(each)} = {_value(value)}" for each, value in table.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    if isinstance(value, float):
        return repr(value)
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(text: str) -> str:
    """A JSON string is a TOML string but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
