"""The numbers of an agent as it runs, whether they were given or come from a tuning."""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from driftwise.analysis.table import Cell, TableColumn
from driftwise.base.part import describe_structure, extract_parameters

_MEMORIES = ("length", "period")  # windows and restarts, in episodes
_NOISE = ("noise", "noise_forgetting")  # parts whose forgetting is not the agent's
NUMBERS_NOTE = (
    "η: rate of forgetting; memory: how many episodes count, 1/(1 − η), a window or a period; β: radius; "
    "c: scale of exploration where the radius is not fixed; Δ: the variation given to the agent."
)


class AgentNumbers(NamedTuple):
    """Numbers of an agent by their symbols; NaN for what it does not have."""

    rate: float  # η
    memory: float
    radius: float  # β
    scale: float  # c, of a radius that grows
    variation: float  # Δ that it was given


def extract_numbers(config: Mapping[str, Any], variation: float | None) -> list[AgentNumbers]:
    """Return an entry for each candidate, or one, from the configuration of an agent or of what it wraps."""
    candidates = []
    for candidate in _single_candidates(config):
        parameters = extract_parameters(candidate)
        rate, radius, scale = (float(parameters.get(name, math.nan)) for name in ("rate", "radius", "scale"))
        memories = [float(parameters[name]) for name in _MEMORIES if parameters.get(name)]
        if math.isfinite(rate):
            memories.append(1 / (1 - rate) if rate < 1 else math.inf)
        if "NoForgetting" in describe_structure(candidate):
            memories.append(math.inf)
        memory = min(memories, default=math.nan)
        scale = scale if math.isnan(radius) else math.nan
        drift = math.nan if variation is None else float(variation)
        candidates.append(AgentNumbers(rate, memory, radius, scale, drift))
    return candidates


def _single_candidates(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return configurations with one number of each list, the last of a short one, and without noise."""
    rest = {name: value for name, value in config.items() if name not in _NOISE}
    rest |= {name: _single_candidates(value) for name, value in rest.items() if isinstance(value, Mapping)}
    lists = {name: value for name, value in rest.items() if isinstance(value, list) and value}
    places = range(max(map(len, lists.values()), default=1))
    return [rest | {name: value[min(j, len(value) - 1)] for name, value in lists.items()} for j in places]


def number_columns(agents: Iterable[AgentNumbers]) -> dict[str, TableColumn]:
    """Return a column for each kind of number that some agent has, by the name of its field."""
    shown = [not all(map(math.isnan, values)) for values in zip(*agents, strict=True)]
    symbols = zip(AgentNumbers._fields, ("η", "memory", "β", "c", "Δ"), strict=True)
    columns = itertools.compress(symbols, shown)
    return {field: TableColumn(symbol, (field,)) for field, symbol in columns}


def number_cell(field: str, numbers: Iterable[AgentNumbers]) -> Cell:
    """Return a number of several agents or candidates, from the lowest to the highest."""
    values = {agent._asdict()[field] for agent in numbers}
    finite = sorted(value for value in values if not math.isnan(value)) or [math.nan]
    texts, digits = [], 6 if field == "rate" else 4  # rates are near 1
    for value in dict.fromkeys((finite[0], finite[-1])):
        number = f"{value:,.0f}" if 1000 <= abs(value) < math.inf else f"{value:.{digits}g}"
        texts.append("–" if math.isnan(value) else "all" if math.isinf(value) else number)
    return Cell(" … ".join(texts), (finite[0],))


def format_agent_numbers(numbers: Sequence[AgentNumbers]) -> str:
    """Return the numbers of an agent in a line: `η = 0.98, memory = 50`."""
    columns = number_columns(numbers).items()
    return ", ".join(f"{column.heading} = {number_cell(field, numbers).text}" for field, column in columns)
