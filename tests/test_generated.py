"""Generated files are up to date, and packages have all that is registered in them."""

from __future__ import annotations

import pytest
from tools.generated import ROOT, generated

import driftwise as dw

FILES = {path: content for path, content in generated().items() if path.suffix != ".svg"}  # matplotlib's vary


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_generated_file_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == FILES[path], f"{path.relative_to(ROOT)}: run `make generated`"


def test_registered_names_are_listed_attributes():
    for package, registry in (
        (dw.algorithms, dw.algorithms.ALGORITHMS),
        (dw.environments, dw.environments.ENVIRONMENTS),
    ):
        assert {name: getattr(package, name) for name in registry} == registry
        assert set(registry) < set(dir(package))
