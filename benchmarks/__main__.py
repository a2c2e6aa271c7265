"""All benchmarks of docs/speed.md in one run, one after the other; some, if they are named.

    python -m benchmarks [lsvi speed growth ...]

Each is a process of its own. One that finds a limit exceeded fails; the others run nevertheless.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}  # for what is used one decision at a time
BENCHMARKS: dict[str, tuple[list[str], dict[str, str]]] = {  # arguments and settings of each
    "lsvi": ([], {}),
    "bandits": ([], {}),
    "speed": ([], {}),
    "growth": ([], {}),
    "meta": ([], {}),
    "first_calls": ([], {}),
    "startup": ([], {}),
    "online": ([], {}),
    "large": ([], ONE_THREAD),
    "peers": ([], ONE_THREAD),
    "deciders": ([], ONE_THREAD),
    "episodes": (["--cost"], ONE_THREAD),
    "service": (["--rounds", "600"], {}),
    "harness": (["--seconds", "20", "--tasks", "125", "500", "1000"], {}),
    "report": ([], {}),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="all unless given")
    names = parser.parse_args().names or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        parser.error(f"names must be of {', '.join(BENCHMARKS)}, got {', '.join(unknown)}")
    failed, began = [], time.perf_counter()
    for name in names:
        arguments, settings = BENCHMARKS[name]
        print(f"\n# python -m benchmarks.{' '.join([name, *arguments])}\n", flush=True)
        started = time.perf_counter()
        command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
        if subprocess.run(command, env=os.environ | settings).returncode:
            failed.append(name)
        print(f"\n({time.perf_counter() - started:.0f} s)", flush=True)
    minutes = (time.perf_counter() - began) / 60
    print(f"\nAll took {minutes:.0f} min. Beyond their limits: {', '.join(failed) or 'none'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
