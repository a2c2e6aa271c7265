"""Mutations are valid programs, and every file has tests. `tools/mutations.py` itself is run by hand."""

import ast

import pytest
from tools.mutations import SOURCE, covering_tests, mutations, source_files, variants


def test_every_file_has_tests() -> None:
    for file in source_files():
        assert covering_tests(file) or file.startswith("__"), file


def test_every_mutation_is_a_program_that_differs_from_the_source() -> None:
    for file in source_files()[::7]:
        original = ast.dump(ast.parse((SOURCE / file).read_bytes()))
        for mutation in mutations(file)[::9]:
            assert ast.dump(ast.parse(mutation.source)) != original, mutation


MISTAKES = {"a + b": "a - b", "a < b": "a <= b", "a and b": "a or b", "not a": "a", "0.5": "1.0"}
MISTAKES |= {"xp.where(c, a, b)": "xp.where(c, b, a)", "xp.maximum(a, b)": "xp.minimum(a, b)"}


@pytest.mark.parametrize(("old", "new"), MISTAKES.items())
def test_the_mistakes_are_those_that_people_make(old: str, new: str) -> None:
    assert list(variants(ast.parse(old, mode="eval").body)) == [new]
