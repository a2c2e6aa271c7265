"""Mutation testing: make small mistakes in a copy of the source, one at a time, and see whether tests fail.

`python -m tools.mutations parts/radii.py` mutates the files whose paths contain one of the given words,
and runs the tests of their package, or those of `--tests`. A mutation swaps an operator, negates a condition,
changes a number or swaps two arguments. `--number` mutations of each file are drawn at random, the same ones
for the same `--seed`. The exit code is 1 if a mutation survives. Some change nothing that matters, so that
survivors are places to look at.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "driftwise"
TIMEOUT = 20 * 60  # seconds for the tests of one mutation
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.FloorDiv: ast.Mod, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
PAIRS = [("min", "max"), ("minimum", "maximum"), ("any", "all")]
FUNCTIONS = dict([*PAIRS, *((second, first) for first, second in PAIRS)])


@dataclass(frozen=True)
class Mutation:
    """One expression of a file, as text, and what replaces it."""

    file: str  # below the package
    start: int  # bytes of the expression in the file
    end: int
    old: str
    new: str

    @property
    def source(self) -> bytes:
        """The file with the expression replaced."""
        text = (SOURCE / self.file).read_bytes()
        return text[: self.start] + f"({self.new})".encode() + text[self.end :]

    def outcome(self, tests: list[str]) -> str:
        """Run the tests on the mutated package: `caught` if one fails, else `survived`."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "driftwise"
            shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
            (copy / self.file).write_bytes(self.source)
            command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
            try:
                code = subprocess.run(
                    [*command, *tests],
                    cwd=ROOT,
                    env=os.environ | {"PYTHONPATH": folder},
                    capture_output=True,
                    timeout=TIMEOUT,
                ).returncode
            except subprocess.TimeoutExpired:
                return "caught"  # an endless loop does not pass
        return {0: "survived", 1: "caught", 2: "caught"}.get(code, f"no test ran (pytest ended with {code})")


def variants(node: ast.AST) -> Iterator[str]:
    """Yield mistakes that can be made in a node, as source text."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            yield ast.unparse(ast.BinOp(left, OPERATORS[type(op)](), right))
        case ast.Compare(left, [op, *ops], comparators) if type(op) in OPERATORS:
            yield ast.unparse(ast.Compare(left, [OPERATORS[type(op)](), *ops], comparators))
        case ast.BoolOp(op, values):
            yield ast.unparse(ast.BoolOp(OPERATORS[type(op)](), values))
        case ast.UnaryOp(ast.Not() | ast.USub() | ast.Invert(), operand):
            yield ast.unparse(operand)
        case ast.IfExp(test, body, orelse):
            yield ast.unparse(ast.IfExp(test, orelse, body))
        case ast.Call(ast.Attribute(attr="where") as function, [condition, first, second], []):
            yield ast.unparse(ast.Call(function, [condition, second, first], []))
        case ast.Call(ast.Name(name) as function, args, keywords) if name in FUNCTIONS:
            yield ast.unparse(ast.Call(ast.Name(FUNCTIONS[name]), args, keywords))
        case ast.Call(ast.Attribute(value, name), args, keywords) if name in FUNCTIONS:
            yield ast.unparse(ast.Call(ast.Attribute(value, FUNCTIONS[name]), args, keywords))
        case ast.Constant(bool() as value):
            yield repr(not value)
        case ast.Constant(int() | float() as value):
            yield repr(value + 1 if value in (0, 1) else 2 * value)


def mutations(file: str) -> list[Mutation]:
    """All mutations of the functions of a file."""
    text = (SOURCE / file).read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef):
            for node in (node for statement in function.body for node in ast.walk(statement)):
                for new in variants(node):
                    assert isinstance(node, ast.expr)
                    assert node.end_lineno is not None
                    assert node.end_col_offset is not None
                    start = starts[node.lineno - 1] + node.col_offset
                    end = starts[node.end_lineno - 1] + node.end_col_offset
                    found.append(Mutation(file, start, end, ast.unparse(node), new))
    return list(dict.fromkeys(found))  # nested functions are walked twice


def source_files() -> list[str]:
    """Paths of all Python files below the package."""
    return sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if path.stem != "__init__")


def covering_tests(file: str) -> list[str]:
    """The folder of tests of the file's package, or the test files that begin with its name."""
    package, tests = file.partition("/")[0].removesuffix(".py"), ROOT / "tests"
    paths = [tests / package] if (tests / package).is_dir() else sorted(tests.glob(f"test_{package}*.py"))
    return [str(path.relative_to(ROOT)) for path in paths]


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutate the source and see whether tests fail.")
    parser.add_argument("words", nargs="*", help="parts of the paths of files; all files by default")
    parser.add_argument("--number", type=int, default=5, metavar="N", help="mutations of each file")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw")
    parser.add_argument("--at-once", type=int, default=2, metavar="N", help="mutations tested in parallel")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="tests to run; the package's by default")
    options = parser.parse_args()
    rng, chosen = random.Random(options.seed), []
    for file in source_files():
        if not options.words or any(word in file for word in options.words):
            candidates = mutations(file)
            chosen += rng.sample(candidates, min(options.number, len(candidates)))
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(options.at_once) as pool:
        outcomes = pool.map(
            lambda mutation: mutation.outcome(options.tests or covering_tests(mutation.file)), chosen
        )
        for mutation, outcome in zip(chosen, outcomes, strict=True):
            counts[outcome] += 1
            print(f"{outcome:9} {mutation.file:45} {mutation.old}  →  {mutation.new}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    return int(set(counts) != {"caught"})


if __name__ == "__main__":
    sys.exit(main())
