"""Episodes as a file may say them: numbers, percentages of the run, and distances from the one before."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from driftwise.base.validation import ArgumentError

PLACE = re.compile(r"(?P<after>\+)?(?P<share>[0-9]+(\.[0-9]+)?)%(?P<more>[+-][0-9]+)?|\+(?P<distance>[0-9]+)")
EXPECTED = "be episodes, or percentages from '0%' to '100%' as '50%' or '50%+1', and after another one '+1'"


def in_episodes(path: str, value: Any, num_episodes: int, before: Any = None) -> Any:
    """A field with its percentages as episodes, rounded down; above zero they are at least one.

    `"50%+1"` is one episode more. In a list, `"+1"` is one episode after the one `before`, `"+10%"` a share.
    """
    if isinstance(value, list):
        made: list[Any] = []
        for item in value:
            made.append(in_episodes(path, item, num_episodes, made[-1] if made else None))
        return made
    if not isinstance(value, str):
        return value
    found = PLACE.fullmatch(value)
    if found is None or Decimal(found["share"] or 0) > 100:
        raise ArgumentError(path, EXPECTED, value)
    start = 0
    if found["after"] or found["distance"]:
        if not isinstance(before, (int, float)):
            raise ArgumentError(path, EXPECTED, value, f"{value!r} after nothing")
        start = before
    if found["distance"]:
        return start + int(found["distance"])
    share = Decimal(found["share"])
    rounded_down = max(Fraction(share) * num_episodes // 100, int(share > 0))
    return start + rounded_down + int(found["more"] or 0)


def is_place(value: Any) -> bool:
    """Whether a value is said in percentages or distances, or a list in which one is."""
    if isinstance(value, list):
        return any(is_place(item) for item in value)
    return isinstance(value, str) and PLACE.fullmatch(value) is not None
