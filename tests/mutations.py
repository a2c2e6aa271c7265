"""Mutations: small mistakes made on purpose in a copy of the source, each of which some test has to notice.

`python -m tests.mutations` makes those of `mutations.toml` one at a time, runs the tests named beside each,
and prints which were caught; words after it choose those whose file or texts contain one of them. It fails
where a mutation survives, or is stale: its old text has to stand in its file exactly once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "driftwise"
MINUTES = 20  # after which a program that a mutation sent round in circles is stopped


@dataclass(frozen=True)
class Mutation:
    """One mistake, and the tests that should notice it."""

    file: str  # below the package
    old: str
    new: str
    tests: tuple[str, ...]  # below `tests/`, as pytest takes them

    @property
    def stale(self) -> bool:
        """Whether the old text does not stand in the file exactly once."""
        path = SOURCE / self.file
        return not path.is_file() or path.read_text(encoding="utf-8").count(self.old) != 1

    def outcome(self) -> str:
        """The verdict of the tests: caught, survived, or stale where it changes nothing."""
        if self.stale:
            return "stale"
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "driftwise"
            shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
            text = (copy / self.file).read_text(encoding="utf-8")
            (copy / self.file).write_text(text.replace(self.old, self.new), encoding="utf-8")
            command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
            try:
                ended = subprocess.run(
                    [*command, *(f"tests/{test}" for test in self.tests)],
                    cwd=ROOT,
                    env=os.environ | {"PYTHONPATH": folder},
                    capture_output=True,
                    timeout=60 * MINUTES,
                ).returncode
            except subprocess.TimeoutExpired:
                return "caught"  # tests that never end do not pass
        return {0: "survived", 1: "caught"}.get(ended, f"no test ran (pytest ended with {ended})")


def mutations() -> Iterator[Mutation]:
    """All that are written down."""
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    for file, each in tables.items():
        for table in each:
            yield Mutation(file, table["old"], table["new"], tuple(table["tests"]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutate the source, and see whether tests notice.")
    parser.add_argument(
        "words", nargs="*", help="of a file's name or of the texts; all mutations without any"
    )
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="how many run at a time")
    given = parser.parse_args()
    chosen = [
        each
        for each in mutations()
        if not given.words or any(word in f"{each.file}\n{each.old}\n{each.new}" for word in given.words)
    ]
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(given.at_once) as pool:
        for mutation, outcome in zip(chosen, pool.map(Mutation.outcome, chosen), strict=True):
            counts[outcome] += 1
            made = " → ".join(" ".join(text.split()) for text in (mutation.old, mutation.new))
            print(f"{outcome:9} {mutation.file:45} {made}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return int(set(counts) != {"caught"})


if __name__ == "__main__":
    sys.exit(main())
