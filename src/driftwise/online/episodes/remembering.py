"""Agents for states that cannot be counted, and how many episodes they keep."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from driftwise.algorithms.unknown_variation.detecting import DetectAndRestart
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent, Wrapper
from driftwise.base.part import at, points, stack
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.online.episodes.memory import RememberedLeastSquares
from driftwise.online.episodes.mixture import RememberedMixture
from driftwise.online.episodes.truncation import slots
from driftwise.parts.least_squares import LeastSquares

SHARED = 1000  # episodes that a mixture keeps


def remembering(agent: Agent, *, memory: int | None, tolerance: float) -> Agent:
    """An agent with `RememberedLeastSquares` in the place of the `LeastSquares` in it.

    Without `memory` it is the number of episodes whose weights are at least `tolerance`, for all of them.
    A mixture has a `RememberedMixture` in its place.
    """
    tolerance = require_number("tolerance", tolerance, above=0, at_most=1)
    if agent.needs:
        expected = "learn from what it earns alone where states cannot be counted"
        raise ArgumentError("algorithm", expected, agent, f"one that needs {' and '.join(agent.needs)}")
    if isinstance(agent, DetectAndRestart):
        expected = "play nothing by force, which is done in tables of states, where states cannot be counted"
        raise ArgumentError("algorithm", expected, agent)
    inner = agent.base if isinstance(agent, Wrapper) else agent
    if isinstance(agent, Wrapper) and not isinstance(agent, MixtureOfMemories):
        base: Any = remembering(inner, memory=memory, tolerance=tolerance)
        return dataclasses.replace(agent, base=base)  # pyright: ignore[reportArgumentType]
    if not isinstance(inner, LeastSquares) or inner.noise is not None or inner.caution is not None:
        raise ArgumentError("algorithm", "be one of plain least squares for continuous states", agent)
    if isinstance(agent, MixtureOfMemories):
        return _sharing(agent, SHARED if memory is None else require_count("memory", memory), tolerance)
    needed = max(slots(each.forgetting, tolerance) for each in points(inner))
    if memory is None and not math.isfinite(needed):
        expected = "be given, in episodes, where weights do not fade"
        raise ArgumentError("memory", expected, None, f"None with {inner.forgetting}")
    return RememberedLeastSquares(inner, int(needed) if memory is None else memory)


def _sharing(agent: MixtureOfMemories, memory: int, tolerance: float) -> RememberedMixture:
    """The mixture of the memories that lose nothing of `tolerance` and above, and of the last that does."""
    memories = [at(agent.base, j) for j in range(agent.num_memories)]
    whole = [each for each in memories if slots(each.forgetting, tolerance) <= memory]
    cut = [each for each in memories if each not in whole]
    return RememberedMixture(dataclasses.replace(agent, base=stack([*whole, *cut[-1:]])), memory)
