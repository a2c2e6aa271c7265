"""The reference of the command line, from the definitions behind `--help`."""

from __future__ import annotations

import inspect
import re
from typing import Any

from driftwise.cli.app import make_parser

DEFAULT = re.compile(r"\s*\[default: (.*)\]$")


def command_line_reference() -> str:
    """Return a section for each command, in the order of `driftwise --help`."""
    group = make_parser()
    own = _section("driftwise", group, ["[OPTIONS]", "COMMAND", "[ARGS]"])
    return "\n".join(
        [own, *(_section(f"driftwise {name}", command) for name, command in group.commands.items())]
    )


def _section(path: str, command: Any, usage: list[str] | None = None) -> str:
    words = ["[OPTIONS]", *map(_usage, _arguments(command))] if usage is None else usage
    synopsis = ["```text", " ".join([path, *words]), "```"]
    parameters = [f"- `{_name(parameter)}`: {_help(parameter)}" for parameter in command.params]
    examples = inspect.cleandoc(command.epilog.replace("\b\nExamples:", ""))
    return "\n".join(
        [
            f"## {path}",
            "",
            _prose(command.help),
            "",
            *synopsis,
            "",
            *parameters,
            "",
            "```bash",
            examples,
            "```",
            "",
        ]
    )


def _arguments(command: Any) -> list[Any]:
    return [parameter for parameter in command.params if parameter.param_type_name == "argument"]


def _usage(argument: Any) -> str:
    return argument.metavar if argument.required else f"[{argument.metavar}]"


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return parameter.metavar
    return " ".join(filter(None, [parameter.opts[0], parameter.metavar]))


def _help(parameter: Any) -> str:
    """Return the help and the default, which stands in the help or is the parser's."""
    text = parameter.help
    if match := DEFAULT.search(text):
        return f"{DEFAULT.sub('', text)} Default: {match[1]}."
    default = parameter.default
    return text if default is None or default is False else f"{text} Default: `{default}`."


def _prose(text: str) -> str:
    """Return paragraphs of one line each."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in inspect.cleandoc(text).split("\n\n"))
