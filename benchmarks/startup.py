"""Processor time from the start of Python to the end of what says what there is.

    python -m benchmarks.startup

User and system time of a child process, the least of several: other programs on the machine can only add to
it. Modules are compiled before. More than a limit is a failure.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys

LIMITS = {  # commands, and the seconds that they may take
    "python -c pass": None,
    'python -c "import numpy"': None,
    'python -c "import typer"': None,
    'python -c "import driftwise"': 0.25,
    'python -c "import driftwise.online"': None,
    "driftwise --help": 0.5,
    "driftwise list": 0.5,
}


def arguments_of(command: str) -> list[str]:
    """The arguments of Python for a command."""
    program, *arguments = shlex.split(command)
    return arguments if program == "python" else ["-m", program, *arguments]


def seconds(arguments: list[str]) -> float:
    """Processor time of one process."""
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description="Processor time of start-up.")
    parser.add_argument("--repeats", type=int, default=20, help="processes of each kind")
    repeats = parser.parse_args().repeats
    calls = {command: arguments_of(command) for command in LIMITS}
    for arguments in calls.values():
        seconds(arguments)  # compiles the modules
    found = {name: min(seconds(arguments) for _ in range(repeats)) for name, arguments in calls.items()}
    print("| command | seconds | at most |\n|---|---|---|")
    for name, limit in LIMITS.items():
        print(f"| `{name}` | {found[name]:.2f} | {'' if limit is None else limit} |", flush=True)
    sys.exit(any(limit is not None and found[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    main()
