"""The command line: each command is a module; importing one adds it, and this is the order of `--help`."""
# ruff: isort: skip_file

from __future__ import annotations

from driftwise.cli import run, report, compare, tune, audit, replay, files, listing  # noqa: F401
from driftwise.cli.app import run_command_line

__all__ = ["run_command_line"]
