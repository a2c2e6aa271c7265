"""The numbers that agents really have, whether they were given or come from a tuning."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from driftwise.analysis.table import Cell, Column
from driftwise.base.parameters import kinds, parameters

MEMORIES = ("length", "period")  # windows and restarts, in episodes
NOTE = (
    "η: rate of forgetting; memory: how many episodes count, 1/(1 − η), a window or a period; β: radius; "
    "c: scale of exploration where the radius is not fixed; Δ: the variation given to the agent."
)


class Numbers(NamedTuple):
    """Numbers of an agent by their symbols; NaN for what it does not have."""

    rate: float  # η
    memory: float
    radius: float  # β
    scale: float  # c, of a radius that grows
    variation: float  # Δ that it was told


SYMBOLS = ("η", "memory", "β", "c", "Δ")


def numbers_of(config: Mapping[str, Any], variation: float | None) -> list[Numbers]:
    """The numbers in the configuration of an agent, or of the one that it wraps, and what it was told.

    An agent with candidates has those of each of them.
    """
    own = _without_noise(config)
    return [_numbers(_candidate(own, j), variation) for j in range(_num_candidates(own))]


def _numbers(config: Mapping[str, Any], variation: float | None) -> Numbers:
    found = parameters(config)
    rate = float(found.get("rate", math.nan))
    memories = [float(found[name]) for name in MEMORIES if found.get(name)]
    if math.isfinite(rate):
        memories.append(1 / (1 - rate) if rate < 1 else math.inf)
    if "NoForgetting" in kinds(config):
        memories.append(math.inf)
    radius = float(found.get("radius", math.nan))
    return Numbers(
        rate=rate,
        memory=min(memories, default=math.nan),
        radius=radius,
        scale=float(found.get("scale", math.nan)) if math.isnan(radius) else math.nan,
        variation=math.nan if variation is None else float(variation),
    )


def _without_noise(config: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration without how noise is learnt: what that forgets is not what the agent does."""
    return {
        name: _without_noise(value) if isinstance(value, Mapping) else value
        for name, value in config.items()
        if name not in ("noise", "noise_forgetting")
    }


def _num_candidates(config: Mapping[str, Any]) -> int:
    inner = [_num_candidates(each) for each in config.values() if isinstance(each, Mapping)]
    return max([1, *inner, *(len(each) for each in config.values() if isinstance(each, list))])


def _candidate(config: Mapping[str, Any], j: int) -> dict[str, Any]:
    """The configuration with one number of each list, the last of a short one."""

    def chosen(value: Any) -> Any:
        if isinstance(value, Mapping):
            return _candidate(value, j)
        return value[min(j, len(value) - 1)] if isinstance(value, list) and value else value

    return {name: chosen(value) for name, value in config.items()}


def number_columns(agents: Iterable[Numbers]) -> dict[str, Column]:
    """A column for each kind of number that some agent has, by the name of its field."""
    known = [not all(map(math.isnan, values)) for values in zip(*agents, strict=True)]
    symbols = zip(Numbers._fields, SYMBOLS, strict=True)
    return {
        field: Column(symbol, (field,))
        for (field, symbol), there in zip(symbols, known, strict=True)
        if there
    }


def number_cell(field: str, numbers: Iterable[Numbers]) -> Cell:
    """One number of several, or of the candidates of one agent: from the lowest to the highest."""
    found = {getattr(each, field) for each in numbers}
    known = sorted(value for value in found if not math.isnan(value)) or [math.nan]
    ends = dict.fromkeys((known[0], known[-1]))
    return Cell(" … ".join(number_text(field, value) for value in ends), (known[0],))


def numbers_text(numbers: Sequence[Numbers]) -> str:
    """The numbers that an agent has in a line: `η = 0.98, memory = 50`."""
    columns = number_columns(numbers).items()
    return ", ".join(f"{column.heading} = {number_cell(field, numbers).text}" for field, column in columns)


def number_text(field: str, value: float) -> str:
    """A number of that field as text; rates are near 1, and need more digits."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "all"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{6 if field == 'rate' else 4}g}"
