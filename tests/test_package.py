"""Names of the package itself."""

from __future__ import annotations

import numpy as np
import pytest

import driftwise as dw


@pytest.mark.parametrize("name", dw.__all__)
def test_every_public_name_is_reachable_after_one_import(name: str) -> None:
    assert getattr(dw, name) is not None
    assert name in dir(dw)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'driftwise' has no attribute 'statistic'$"):
        _ = dw.statistic  # pyright: ignore[reportAttributeAccessIssue]


def test_modules_behind_names_are_those_of_their_rooms() -> None:
    assert dw.statistics.mean_interval(np.array([1.0, 3.0]))[0] == 2.0
    assert callable(dw.checks.check_agent)
