"""`python -m driftwise`, and what the script `driftwise` calls."""

import gc
import sys
from collections.abc import Sequence
from importlib.util import find_spec

PACKAGES = ("jax", "scipy", "typer", "rich", "pyarrow")
PACKAGES += ("matplotlib", "filelock", "plotly", "jinja2", "tomli_w")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    if any(find_spec(name) is None for name in PACKAGES):
        line = "driftwise: error: the command line needs more packages: pip install 'driftwise[cli]'"
        print(line, file=sys.stderr)
        return 2
    gc.set_threshold(100_000)  # modules make many objects, and hardly any garbage
    try:
        from driftwise.cli.app import run_command_line

        return run_command_line(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        print("driftwise: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
