"""The command line: each command is a module."""

from __future__ import annotations

from driftwise.cli import files, listing, report, run  # noqa: F401  (importing a command adds it)
from driftwise.cli.app import run_command_line

__all__ = ["run_command_line"]
