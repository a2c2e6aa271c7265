"""Agents that tell of themselves, as those that watch over others do."""

from __future__ import annotations

import dataclasses
from typing import Any

from driftwise.base.arrays import namespace
from driftwise.base.part import part
from driftwise.parts.least_squares import LeastSquares
from tests.examples import agent

RESTARTS, ALARMS = 5, 8  # every so many episodes


@part
class Telling(LeastSquares):
    """It says that it restarts every fifth episode, is alarmed every eighth, and what it has seen."""

    def diagnostics(self, state: Any) -> dict[str, Any]:
        xp = namespace(state.cross)

        def number(value: Any) -> Any:
            return xp.astype(xp.asarray(value), state.cross.dtype)

        return {
            "restarts": number(state.tick % RESTARTS == 0),
            "alarms": number(state.tick % ALARMS == 0),
            "evidence": number(xp.sum(state.cross[..., 0])),
        }


def telling(cls: type = Telling, **changed: Any) -> Any:
    """The example agent of an algorithm, as one of those that tell."""
    made: Any = agent("opt_wlsvi")
    fields = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}
    return cls(**{**fields, **changed})
