"""Mutations keep up with the source; whether tests notice them is for `tests/mutations.py`, run by hand."""

from __future__ import annotations

from tests.mutations import ROOT, SOURCE, mutations


def test_every_mutation_changes_one_place_of_the_source_and_names_tests_that_are_there() -> None:
    for each in mutations():
        assert not each.stale, each
        assert each.old != each.new, each
        for test in each.tests:
            file, _, name = test.partition("::")
            assert f"def {name}" in (ROOT / "tests" / file).read_text(encoding="utf-8"), each


def test_there_are_sixty_mutations_at_least() -> None:
    assert len(list(mutations())) >= 60


def test_every_room_has_mutations() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}
    assert rooms <= {each.file.partition("/")[0] for each in mutations()}
