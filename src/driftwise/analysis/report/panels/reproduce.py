"""The command that gives these numbers again."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from html import escape
from typing import Any

from driftwise.analysis.report.data import Report, longest
from driftwise.analysis.report.elements import Section, paragraph, worded
from driftwise.experiments import EXPERIMENTS


def reproduce(report: Report) -> Section:
    data = longest(report)
    name, config = str(data.manifest.get("experiment", "experiment")), dict(data.config)
    built_in = name in EXPERIMENTS and config in ({}, EXPERIMENTS[name].config)
    command = ["driftwise", "run", name if built_in else f"{name}.toml"]
    command += ["--episodes", str(data.num_episodes), "--runs", str(data.num_runs)]
    command += ["--seed", str(data.manifest.get("seed", 0))]
    command += ["--device", "gpu"] if data.manifest.get("platform") == "gpu" else []
    version = (data.manifest.get("versions") or {}).get("driftwise")
    body = f"<pre><code>{escape(shlex.join(command))}</code></pre>"
    if config and not built_in:
        body += paragraph(f"with this in {name}.toml:") + f"<pre><code>{escape(toml(config))}</code></pre>"
    elif not built_in:
        body += paragraph("The manifest does not keep the experiment’s file.")
    if version:
        body += paragraph(f"With driftwise {worded(version)}; the other versions are in the manifest.")
    return Section("Run it again", body)


def toml(config: Mapping[str, Any]) -> str:
    """An experiment's content as a file; tables within tables are written in one line."""
    plain = {key: value for key, value in config.items() if not isinstance(value, Mapping)}
    lines = [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key, table in config.items():
        if key in plain:
            continue
        lines += ["", f"[{_key(key)}]", *(f"{_key(each)} = {_value(value)}" for each, value in table.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(item)}' for key, item in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    return (
        repr(value)
        if isinstance(value, float)
        else _text(value)
        if isinstance(value, str)
        else json.dumps(value)
    )


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _text(key)


def _text(text: str) -> str:
    """A JSON string is a TOML string but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
