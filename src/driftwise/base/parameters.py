"""The numbers of a part, by short names, from its configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

SIZES = "Spec"  # type of a table that describes the problem, and not the part


def parameters(config: Mapping[str, Any]) -> dict[str, int | float]:
    """Single numbers of a configuration, by the shortest names that tell them apart.

    `rate`, or `base.rate` where there is another one. Sizes of the problem are left out.
    """
    found = dict(_numbers(config))
    return {".".join(_short(path, [*found])): value for path, value in found.items()}


def _numbers(config: Mapping[str, Any], *path: str) -> Iterator[tuple[tuple[str, ...], int | float]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            if value.get("type") != SIZES:
                yield from _numbers(value, *path, key)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield (*path, key), value


def _short(path: tuple[str, ...], paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    """The last words of a path, as few as end no other one."""
    endings = (path[-count:] for count in range(1, len(path) + 1))
    alone = (each for each in endings if sum(other[-len(each) :] == each for other in paths) == 1)
    return next(alone, path)


def kinds(config: Mapping[str, Any]) -> str:
    """The kind of a part and of the parts within, as text: `LeastSquares(ExponentialWeights, Ucb)`."""
    within = [
        kinds(each) for each in config.values() if isinstance(each, Mapping) and each.get("type") != SIZES
    ]
    return str(config.get("type", "")) + (f"({', '.join(within)})" if within else "")
