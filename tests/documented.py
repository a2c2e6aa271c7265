"""What pages show: blocks of code, and lines for the command line."""

from __future__ import annotations

import contextlib
import re
import shlex
from pathlib import Path
from typing import Any

import typer

from driftwise.cli.app import make_parser, split_imports

ROOT = Path(__file__).parent.parent
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("examples/**/README.md")])
}


def blocks(page: str, language: str) -> list[str]:
    """Blocks of code in a language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def command_lines(text: str) -> list[list[str]]:
    """The words of every call of `driftwise` that begins a line, but for its name and a comment."""
    lines = text.replace("\\\n", " ").splitlines()
    called = [line.strip() for line in lines if line.strip().startswith("driftwise ")]
    return [shlex.split(line, comments=True)[1:] for line in called]


def parse(words: list[str]) -> None:
    """Let the command read its words, as it does before it runs; what it cannot take is an error."""
    _, (name, *others) = split_imports(words)
    with contextlib.suppress(typer.Exit), COMMANDS[name].make_context(name, others):  # --help ends it
        pass


COMMANDS: dict[str, Any] = make_parser().commands
