"""Results: the curves of a simulation, and those of several joined."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

CURVES = ("returns", "values", "optimal_values")
EVENTS = ("restarts", "alarms")  # diagnostics that are 1 in an episode in which it happened, else 0


@dataclass(frozen=True, eq=False)
class Result:
    """Curves of a simulation, `[*grid, runs, points]`; a point is the mean over `lengths` episodes.

    With `record_every=1` (the default) points are episodes.
    """

    returns: np.ndarray  # rewards collected in an episode
    values: np.ndarray  # exact V^π of the episode's policy at its first state
    optimal_values: np.ndarray  # exact V* there
    lengths: np.ndarray  # [points] number of episodes behind each point
    state: Any  # the agents' states after the last episode, leaves [*grid, runs, ...]; None if not kept
    manifest: dict[str, Any]
    diagnostics: Mapping[str, np.ndarray] = field(default_factory=dict)  # curves that some agents have
    signed: bool = False  # whether regret may be negative, as in single steps of problems without episodes

    @cached_property
    def episodes(self) -> np.ndarray:
        """Number of episodes played up to and including each point."""
        return np.cumsum(self.lengths)

    @cached_property
    def regret(self) -> np.ndarray:
        """Exact dynamic regret of an episode, `V* − V^π`; unless it is signed, less than 0 is rounding."""
        regret = self.optimal_values - self.values
        return regret if self.signed else np.maximum(regret, 0.0)

    @cached_property
    def cumulative_regret(self) -> np.ndarray:
        """Exact dynamic regret from the first episode on."""
        return np.cumsum(self.regret * self.lengths, axis=-1)

    @cached_property
    def counts(self) -> dict[str, np.ndarray]:
        """Counts of the `EVENTS` that the agent tells of, in each run, `[*grid, runs]`."""
        return {
            name: np.rint(np.sum(self.diagnostics[name] * self.lengths, axis=-1))
            for name in EVENTS
            if name in self.diagnostics
        }


def over_curves(change: Callable[..., np.ndarray], *results: Result) -> dict[str, Any]:
    """All fields that hold curves, each made by `change` from those of the results."""
    named = {name: change(*(getattr(result, name) for result in results)) for name in CURVES}
    diagnostics = {
        name: change(*(result.diagnostics[name] for result in results)) for name in results[0].diagnostics
    }
    return {**named, "diagnostics": diagnostics}


def join_runs(results: Sequence[Result]) -> Result:
    """Results of consecutive runs as one."""
    first, manifests = results[0], [result.manifest for result in results]
    facts: dict[str, Any] = {
        **{key: sum(manifest[key] for manifest in manifests) for key in ("num_runs", "seconds")},
        **joint_origin(manifests),
    }
    curves = over_curves(lambda *parts: np.concatenate(parts, axis=-2), *results)
    return replace(first, **curves, state=None, manifest={**first.manifest, **facts})


def split_points(result: Result, count: int) -> list[Result]:
    """Results of the points of a grid with one axis, as if each had run alone; they share the time."""
    if count == 1:
        return [result]
    manifest = {**result.manifest, "seconds": result.manifest["seconds"] / count}
    return [
        replace(result, **over_curves(operator.itemgetter(index), result), manifest=manifest)
        for index in range(count)
    ]


def joint_origin(manifests: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Origin of results that belong together: single facts, and lists of those that differ."""
    manifests = list(manifests)
    single = ("device", "commit", "host", "xla_flags")
    return {
        **{key: _one_or_all(each[key] for each in manifests) for key in single},
        **{key: _joint([each[key] for each in manifests]) for key in ("versions", "sources")},
    }


def _joint(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: _one_or_all(table[name] for table in tables if name in table) for name in names}


def _one_or_all(facts: Iterable[Any]) -> Any:
    found: list[Any] = []
    for fact in facts:
        found += [each for each in (fact if isinstance(fact, list) else [fact]) if each not in found]
    return found[0] if len(found) == 1 else found
