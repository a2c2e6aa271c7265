"""Results: the curves of a simulation, and those of several joined."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.base.parameters import parameters
from driftwise.base.validation import ArgumentError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from driftwise.analysis.table import Table

CURVES = ("returns", "values", "optimal_values")
DIAGNOSTIC = "diagnostics."  # begins the names of curves that only some agents have
EVERY = 4  # of so many runs the first is held back; it still is when there are more runs
FEWEST = 3  # runs of which one can be held back, so that two are left
EVENTS = ("restarts", "alarms")  # diagnostics that are 1 in an episode in which it happened, else 0


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Curves of a simulation, `[*grid, runs, points]`; a point is the mean over `lengths` episodes.

    With `record_every=1` (the default) points are episodes. In a notebook it shows itself, with a figure.
    """

    returns: np.ndarray  # rewards collected in an episode
    values: np.ndarray  # exact V^π of the episode's policy at its first state
    optimal_values: np.ndarray  # exact V* there
    lengths: np.ndarray  # [points] number of episodes behind each point
    state: Any  # the agents' states after the last episode, leaves [*grid, runs, ...]; None if not kept
    manifest: dict[str, Any]
    diagnostics: Mapping[str, np.ndarray] = field(default_factory=dict)  # curves that some agents have
    signed: bool = False  # whether regret may be negative, as in single steps of problems without episodes
    configs: Sequence[Mapping[str, Any]] = ()  # of the agents on the grid, the last axis fastest

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

    @property
    def grid(self) -> tuple[int, ...]:
        """The shape of the grid of agents; empty for a single agent."""
        return self.returns.shape[:-2]

    @property
    def num_runs(self) -> int:
        """The number of runs of each agent."""
        return self.returns.shape[-2]

    @property
    def runs(self) -> np.ndarray:
        """The numbers of the runs, which address their randomness."""
        first = self.manifest.get("first_run", 0)
        return np.asarray(self.manifest.get("runs", range(first, first + self.num_runs)))

    @cached_property
    def parameters(self) -> dict[str, np.ndarray]:
        """Numbers of the agents by their names, `[*grid]`."""
        tables = [parameters(config) for config in self.configs]
        names = tables[0] if tables else {}
        return {name: np.array([table[name] for table in tables]).reshape(self.grid) for name in names}

    @cached_property
    def varied(self) -> dict[str, np.ndarray]:
        """The parameters that are not the same at all points of the grid."""
        return {name: values for name, values in self.parameters.items() if np.ptp(values)}

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes of all curves: of the grid, by the parameters that vary; `run`, `episode`."""
        return *(self._axis(number) for number in range(len(self.grid))), "run", "episode"

    def _axis(self, number: int) -> str:
        varying = (name for name, values in self.varied.items() if np.ptp(values, axis=number).any())
        return ", ".join(varying) or f"axis {number}"

    def point(self, *index: int) -> Result:
        """The result of the agent at this index of the grid, as if it had run alone; without its state."""
        if len(index) != len(self.grid):
            raise ArgumentError("index", f"have a number for each of {len(self.grid)} axes", index)
        place = int(np.ravel_multi_index(index, self.grid)) if index else 0
        configs = self.configs[place : place + 1]
        manifest = {**self.manifest, "agent": configs[0]} if configs else self.manifest
        curves = over_curves(lambda curve: curve[index], self)
        return replace(self, **curves, state=None, configs=configs, manifest=manifest)

    def at(self, **values: float) -> Result:
        """The result of the one agent of the grid whose parameters have these values."""
        fitting = np.ones(self.grid, dtype=bool)
        for name, value in values.items():
            if name not in self.varied:
                expected = f"name parameters that vary: {', '.join(self.varied) or 'none'}"
                raise ArgumentError("at", expected, name)
            fitting &= np.isclose(self.varied[name], value, rtol=1e-9, atol=0.0)
        if np.count_nonzero(fitting) != 1:
            found = f"{np.count_nonzero(fitting)} of {fitting.size} at {values}"
            raise ArgumentError("at", "name one agent of the grid", values, found)
        return self.point(*(int(place[0]) for place in np.nonzero(fitting)))

    def best(self) -> Result:
        """The agent of the grid of lowest mean final regret in runs held back, with its result in the others.

        Whoever reports the runs that were chosen by reports luck: the lowest of many means is too low. See
        `held_back` for which runs those are. A single agent is given back as it is.
        """
        if not self.grid:
            return self
        choosing = held_back(self.num_runs)
        if not choosing.any():
            raise ArgumentError("num_runs", f"be at least {FEWEST} to hold some back", self.num_runs)
        finals = self.cumulative_regret[..., choosing, -1].mean(axis=-1)
        index = np.unravel_index(int(np.argmin(finals)), self.grid)
        chosen = in_runs(self.point(*map(int, index)), ~choosing)
        facts = {
            "agents": finals.size,
            "runs": int(choosing.sum()),
            "values": {name: values[index].item() for name, values in self.varied.items()},
        }
        return replace(chosen, manifest={**chosen.manifest, "chosen": facts})

    def summary(self) -> Table:
        """A row for each agent of the grid: its parameters, final regret, reward, restarts and alarms."""
        from driftwise.analysis.notebook import summary_table

        return summary_table(self)

    def plot(self, **look: Any) -> Figure:
        """Regret of an episode and cumulative regret of every agent: mean over runs, 95 % interval.

        `look` is `width` in inches, `font` and `font_size`.
        """
        from driftwise.analysis.notebook import result_figure

        return result_figure(self, **look)

    def to_frame(self) -> pd.DataFrame:
        """A row for each agent of the grid, run and point, and a column for each parameter."""
        from driftwise.analysis.notebook import result_frame

        return result_frame(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the agents' states to one file, from which `Result.load` makes it again."""
        from driftwise.simulation.result_files import write_result

        write_result(path, self)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Result:
        """The result in a file that `save` wrote."""
        from driftwise.simulation.result_files import read_result

        return read_result(path)

    def __repr__(self) -> str:
        from driftwise.analysis.notebook import result_text

        return f"<{result_text(self)}>"

    def _repr_html_(self) -> str:
        from driftwise.analysis.notebook import result_html

        return result_html(self)


def result_curves(
    sums: Mapping[str, np.ndarray], lengths: np.ndarray, grid: tuple[int, ...]
) -> dict[str, Any]:
    """Fields of a `Result` that hold curves, from sums over the episodes of points `[points, grid, runs]`."""
    means = {
        name: np.moveaxis(each / lengths[:, None, None], 0, -1).reshape(*grid, each.shape[-1], len(lengths))
        for name, each in sums.items()
    }
    named = {name: means.pop(name) for name in CURVES}
    diagnostics = {name.removeprefix(DIAGNOSTIC): curve for name, curve in means.items()}
    return {**named, "diagnostics": diagnostics, "lengths": lengths}


def held_back(num_runs: int) -> np.ndarray:
    """Whether each run chooses among agents of a grid, and is not shown, `[runs]`; none of too few."""
    return (np.arange(num_runs) % EVERY == 0) & (num_runs >= FEWEST)


def in_runs(result: Result, runs: np.ndarray) -> Result:
    """The curves `[runs, points]` of an agent in some of its runs."""
    if runs.all():
        return result
    numbers = result.runs[runs].tolist()
    manifest = {**result.manifest, "num_runs": len(numbers), "runs": numbers}
    return replace(result, **over_curves(lambda curve: curve[runs], result), state=None, manifest=manifest)


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
    shared = replace(result, manifest={**result.manifest, "seconds": result.manifest["seconds"] / count})
    return [shared.point(index) for index in range(count)]


def joint_origin(manifests: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Origin of results that belong together: single facts, and lists of those that differ."""
    manifests = list(manifests)
    single, tables = ("device", "commit", "host", "xla_flags"), ("versions", "plugins", "sources")
    return {
        **{key: _one_or_all(each[key] for each in manifests) for key in single},
        **{key: _joint([each.get(key, {}) for each in manifests]) for key in tables},
    }


def _joint(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: _one_or_all(table[name] for table in tables if name in table) for name in names}


def _one_or_all(facts: Iterable[Any]) -> Any:
    found: list[Any] = []
    for fact in facts:
        found += [each for each in (fact if isinstance(fact, list) else [fact]) if each not in found]
    return found[0] if len(found) == 1 else found
