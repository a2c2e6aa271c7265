"""Every statement of the paper has its place in docs/theory.md, and what is named there exists."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from driftwise.analysis.audit.lemmas import LEMMAS

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in (ROOT / "docs" / "theory.md").read_text(encoding="utf-8").split("## The map")[1].splitlines()
    if line.startswith("|")
][2:]  # below the heading
STATEMENTS = " · ".join(row[0] for row in ROWS)


def named(column: int) -> list[str]:
    return sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[column])})


def find(name: str) -> Any:
    """What a dotted name stands for: a module as far as there are modules, then attributes."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@cache
def functions_in(file: str) -> frozenset[str]:
    (path,) = (ROOT / "tests").rglob(file)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("name", named(2))
def test_every_function_of_the_map_exists(name: str) -> None:
    find(name)


@pytest.mark.parametrize("name", named(3))
def test_every_test_of_the_map_exists(name: str) -> None:
    file, test = name.split("::")
    assert test in functions_in(file)


def test_every_row_has_a_function_and_a_test() -> None:
    for row in ROWS:
        assert len(row) == 4
        assert re.search(r"`driftwise\.[\w.]+`", row[2]), row[0]
        assert re.search(r"`test_\w+\.py::test_\w+`", row[3]), row[0]


def listed(singular: str, plural: str) -> set[int]:
    """The numbers of the statements of a kind: `Lemma 2`, `Lemmas 4 and 8`."""
    found = re.findall(rf"{singular} (\d+)", STATEMENTS)
    for pair in re.findall(rf"{plural} (\d+) and (\d+)", STATEMENTS):
        found += pair
    return set(map(int, found))


def test_every_statement_of_the_paper_has_a_row() -> None:
    assert listed("Lemma", "Lemmas") == set(range(1, 14))
    assert listed("Proposition", "Propositions") == {1, 2, 3}
    assert listed("Definition", "Definitions") == {1, 2, 3, 4}
    for single in ("Assumption", "Algorithm", "Theorem", "Corollary", "Table"):
        assert listed(single, single) == {1}


def test_every_numbered_equation_of_the_paper_has_a_row() -> None:
    found = set(map(int, re.findall(r"\((\d+)\)", STATEMENTS)))
    for first, last in re.findall(r"\((\d+)\) to \((\d+)\)", STATEMENTS):
        found |= set(range(int(first), int(last)))
    assert found == set(range(1, 41))


def test_every_statement_that_is_audited_is_in_the_map() -> None:
    audited = {f"{lemma.check.__module__}.{name}" for name, lemma in LEMMAS.items()}
    assert audited <= set(named(2))
