"""Generated files are up to date, and packages have all that is registered in them."""

from __future__ import annotations

import pytest
from tools.generated import ROOT, generated

import driftwise as dw


@pytest.mark.parametrize(
    ("path", "content"), [pytest.param(*each, id=each[0].name) for each in generated().items()]
)
def test_a_generated_file_is_what_the_registries_say(path, content):
    found = path.read_text(encoding="utf-8")
    assert found == content, f"{path.relative_to(ROOT)} is stale: run `make generated`"


def test_what_is_registered_is_an_attribute_and_is_listed():
    for package, registry in (
        (dw.algorithms, dw.algorithms.ALGORITHMS),
        (dw.environments, dw.environments.ENVIRONMENTS),
    ):
        assert {name: getattr(package, name) for name in registry} == registry
        assert set(registry) < set(dir(package))
