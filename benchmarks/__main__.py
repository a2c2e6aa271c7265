"""All benchmarks of docs/speed.md in one run, one after the other; some, if they are named.

    python -m benchmarks [lsvi speed growth ...] [--page docs/speed.md]

Each is a process of its own. One that finds a limit exceeded fails; the others run nevertheless.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

TABLE = re.compile(r"^(?:\|.*\n)+", re.MULTILINE)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # for small matrices its threads only wait for each other
BENCHMARKS: dict[str, tuple[list[str], dict[str, str]]] = {  # arguments and settings of each
    "lsvi": ([], {}),
    "bandits": ([], {}),
    "speed": ([], {}),
    "growth": ([], ONE_THREAD),
    "inverses": ([], {}),
    "bytes": ([], {}),
    "meta": ([], {}),
    "first_calls": ([], {}),
    "startup": ([], {}),
    "online": ([], ONE_THREAD),
    "large": ([], ONE_THREAD),
    "peers": ([], ONE_THREAD),
    "deciders": ([], ONE_THREAD),
    "episodes": (["--cost"], ONE_THREAD),
    "service": (["--rounds", "600"], {}),
    "harness": (["--seconds", "30", "--tasks", "125", "1000"], {}),
    "report": ([], {}),
}


def run(name: str) -> tuple[bool, str]:
    """Whether a benchmark stays within its limits, and what it prints, which is shown as it comes."""
    arguments, settings = BENCHMARKS[name]
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    lines = []
    with subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode == 0, "".join(lines)


def refreshed(page: str, printed: str) -> str:
    """The page with the tables that were printed in place of those with the same headings."""
    for table in TABLE.findall(printed):
        heading = table.splitlines()[0]
        page = re.sub(
            rf"^{re.escape(heading)}\n(\|.*\n)+", lambda _, new=table: new, page, flags=re.MULTILINE
        )
    return page


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="all unless given")
    parser.add_argument("--page", type=Path, help="put the tables into this page, by their headings")
    options = parser.parse_args()
    names = options.names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"names must be of {', '.join(BENCHMARKS)}, got {', '.join(unknown)}")
    if options.page and not options.page.is_file():
        parser.error(f"page must be a file, got {options.page}")
    failed, began = [], time.perf_counter()
    for name in names:
        print(f"\n# {name}\n", flush=True)
        started = time.perf_counter()
        within, printed = run(name)
        failed += [] if within else [name]
        print(f"\n({time.perf_counter() - started:.0f} s)", flush=True)
        if options.page:
            page = options.page.read_text(encoding="utf-8")
            options.page.write_text(refreshed(page, printed), encoding="utf-8")
    minutes = (time.perf_counter() - began) / 60
    print(f"\nAll took {minutes:.0f} min. Beyond their limits: {', '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
