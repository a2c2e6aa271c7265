"""The reference of the command line, from what `--help` is made of."""

from __future__ import annotations

import inspect
import re
from typing import Any

import typer

from driftwise.cli import commands

DEFAULT = re.compile(r"\s*\[default: (.*)\]$")


def command_line_reference() -> str:
    """A section for each command, in the order of `driftwise --help`."""
    group: Any = typer.main.get_command(commands.app)
    own = _section("driftwise", group, ["[OPTIONS]", "COMMAND", "[ARGS]"])
    return "\n".join([own, *(_section(f"driftwise {name}", each) for name, each in group.commands.items())])


def _section(path: str, command: Any, usage: list[str] | None = None) -> str:
    words = ["[OPTIONS]", *map(_usage, _arguments(command))] if usage is None else usage
    shown = ["```text", " ".join([path, *words]), "```"]
    told = [f"- `{_name(each)}`: {_help(each)}" for each in command.params]
    examples = inspect.cleandoc(command.epilog.replace("\b\nExamples:", ""))
    return "\n".join(
        [f"## {path}", "", _prose(command.help), "", *shown, "", *told, "", "```bash", examples, "```", ""]
    )


def _arguments(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "argument"]


def _usage(argument: Any) -> str:
    return argument.metavar if argument.required else f"[{argument.metavar}]"


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return parameter.metavar
    return " ".join(filter(None, [parameter.opts[0], parameter.metavar]))


def _help(parameter: Any) -> str:
    """Help and default, whether the default stands in the help or is the parser's."""
    text = parameter.help
    if found := DEFAULT.search(text):
        return f"{DEFAULT.sub('', text)} Default: {found[1]}."
    default = parameter.default
    return text if default is None or default is False else f"{text} Default: `{default}`."


def _prose(text: str) -> str:
    """Paragraphs of one line each."""
    return "\n\n".join(" ".join(each.split()) for each in inspect.cleandoc(text).split("\n\n"))
