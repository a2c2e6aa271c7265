"""The entry point of the command line; it says what is missing before anything else is loaded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

EXTRAS = ("typer", "rich", "pydantic", "pyarrow", "matplotlib", "filelock", "plotly")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    if any(find_spec(name) is None for name in EXTRAS):
        line = "driftwise: error: the command line needs more packages: pip install 'driftwise[cli]'"
        print(line, file=sys.stderr)
        return 2
    try:
        from driftwise.cli import run_command_line

        return run_command_line(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt as interrupt:
        print(f"driftwise: interrupted{''.join(map(str, interrupt.args))}", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
