"""An agent with diagnostics, for tests of how they are recorded."""

import dataclasses
from typing import Any

from driftwise.base.arrays import namespace
from driftwise.base.part import part
from driftwise.parts import LeastSquares
from tests.examples import agent

RESTARTS, ALARMS = 5, 8  # every so many episodes


@part
class Diagnosing(LeastSquares):
    """Reports a restart in every fifth episode, an alarm in every eighth, and a sum of its own moments."""

    def diagnostics(self, state: Any) -> dict[str, Any]:
        xp = namespace(state.cross)

        def number(value: Any) -> Any:
            return xp.astype(xp.asarray(value), state.cross.dtype)

        return {
            "restarts": number(state.tick % RESTARTS == 0),
            "alarms": number(state.tick % ALARMS == 0),
            "evidence": number(xp.sum(state.cross[..., 0])),
        }


def diagnosing(**changed: Any) -> Diagnosing:
    """The example agent of OPT-WLSVI with diagnostics, and with some of its parts changed."""
    made: Any = agent("opt_wlsvi")
    fields = {field.name: getattr(made, field.name) for field in dataclasses.fields(made)}
    return Diagnosing(**{**fields, **changed})
