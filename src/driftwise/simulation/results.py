"""Results: the curves of a simulation, or of several joined."""

from __future__ import annotations

import io
import itertools
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.base.extras import LOADERS
from driftwise.base.files import corrupt_file_errors, replace_file, require_regular_file
from driftwise.base.part import extract_parameters
from driftwise.base.validation import ArgumentError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


_FORMAT = 1  # of a file
CURVES = ("returns", "values", "optimal_values")
DIAGNOSTIC = "diagnostics."  # begins the names of curves that only some agents have
_HOLDOUT_EVERY = 4  # of so many runs the first is held back; it still is when there are more runs
_MIN_RUNS = 3  # runs of which one can be held back, so that two are left
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
        events = {name: self.diagnostics[name] for name in EVENTS if name in self.diagnostics}
        return {name: np.rint(np.sum(curve * self.lengths, axis=-1)) for name, curve in events.items()}

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
        return np.asarray(self.manifest.get("runs", range(first, first + self.returns.shape[-2])))

    @cached_property
    def parameters(self) -> dict[str, np.ndarray]:
        """Numbers of the agents by their names, `[*grid]`."""
        tables = [extract_parameters(config) for config in self.configs]
        names = tables[0] if tables else {}
        return {name: np.array([table[name] for table in tables]).reshape(self.grid) for name in names}

    @cached_property
    def varied(self) -> dict[str, np.ndarray]:
        """The parameters that are not the same at all points of the grid."""
        return {name: values for name, values in self.parameters.items() if np.ptp(values)}

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Names of the axes of all curves: of the grid, by the parameters that vary; `run`, `episode`."""
        names = []
        for number in range(len(self.grid)):
            varying = (name for name, values in self.varied.items() if np.ptp(values, axis=number).any())
            names.append(", ".join(varying) or f"axis {number}")
        return *names, "run", "episode"

    def point(self, *index: int) -> Result:
        """Return the result of the agent at this index of the grid, as if it had run alone, without state."""
        if len(index) != len(self.grid):
            raise ArgumentError("index", f"have a number for each of {len(self.grid)} axes", index)
        place = int(np.ravel_multi_index(index, self.grid)) if index else 0
        configs = self.configs[place : place + 1]
        manifest = {**self.manifest, "agent": configs[0]} if configs else self.manifest
        curves = map_curves(lambda curve: curve[index], self)
        return replace(self, **curves, state=None, configs=configs, manifest=manifest)

    def at(self, **values: float) -> Result:
        """Return the result of the one agent of the grid whose parameters have these values."""
        fitting = np.ones(self.grid, dtype=bool)
        for name, value in values.items():
            if name not in self.varied:
                expected = f"name parameters that vary: {', '.join(self.varied) or 'none'}"
                raise ArgumentError("at", expected, name)
            fitting &= np.isclose(self.varied[name], value, rtol=1e-9, atol=0.0)
        if np.count_nonzero(fitting) != 1:
            got = f"{np.count_nonzero(fitting)} of {fitting.size} at {values}"
            raise ArgumentError("at", "name one agent of the grid", values, got)
        return self.point(*(int(place[0]) for place in np.nonzero(fitting)))

    def best(self) -> Result:
        """Return the result of the agent with the lowest mean final regret in runs held back, in the others.

        In the runs that it was chosen by its regret would be too low. `select_holdout` names these runs. The
        result of a single agent is returned as it is.
        """
        if not self.grid:
            return self
        choosing = select_holdout(self.num_runs)
        if not choosing.any():
            raise ArgumentError("num_runs", f"be at least {_MIN_RUNS} to hold some back", self.num_runs)
        finals = self.cumulative_regret[..., choosing, -1].mean(axis=-1)
        index = np.unravel_index(int(np.argmin(finals)), self.grid)
        chosen = select_runs(self.point(*map(int, index)), ~choosing)
        values = {name: values[index].item() for name, values in self.varied.items()}
        facts = {"agents": finals.size, "runs": int(choosing.sum()), "values": values}
        return replace(chosen, manifest={**chosen.manifest, "chosen": facts})

    def summary(self) -> Any:
        """Return a table with the parameters, final regret, reward, restarts and alarms of each agent."""
        return LOADERS["result views"]().summary_table(self)

    def plot(self, **style: Any) -> Figure:
        """Return a figure of regret and cumulative regret of every agent: mean over runs, 95 % interval.

        `style` is `width` in inches, `font` and `font_size`.
        """
        return LOADERS["result views"]().result_figure(self, **style)

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each agent of the grid, run and point, with a column for each parameter."""
        return LOADERS["result views"]().result_frame(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the agents' states to one file, which `Result.load` reads."""
        facts = {"format": _FORMAT, "signed": self.signed}
        facts |= {"configs": list(self.configs), "manifest": dict(self.manifest)}
        arrays = {name: getattr(self, name) for name in (*CURVES, "lengths")}
        arrays |= {f"{DIAGNOSTIC}{name}": curve for name, curve in self.diagnostics.items()}
        file = io.BytesIO()
        np.savez_compressed(file, facts=np.array(json.dumps(facts, allow_nan=False)), **arrays)  # pyright: ignore
        replace_file(Path(path), file.getvalue())

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Result:
        """Return the result in a file that `save` wrote; what is wrong with it is a `ValueError`."""
        with corrupt_file_errors(Path(path)):
            require_regular_file(path)
            with Path(path).open("rb") as file:
                arrays = dict(np.load(file, allow_pickle=False))
            facts = json.loads(str(arrays.pop("facts")))
            if facts.pop("format") > _FORMAT:
                raise OSError("it was written by a newer driftwise")
            curves = {name: arrays.pop(name) for name in (*CURVES, "lengths")}
            diagnostics = {name.removeprefix(DIAGNOSTIC): curve for name, curve in arrays.items()}
            return Result(**curves, **facts, diagnostics=diagnostics, state=None)

    def __repr__(self) -> str:
        return f"<{LOADERS['result views']().result_text(self)}>"

    def _repr_html_(self) -> str:
        return LOADERS["result views"]().result_html(self)


def average_curves(
    sums: Mapping[str, np.ndarray], lengths: np.ndarray, grid: tuple[int, ...]
) -> dict[str, Any]:
    """Return the curves of a `Result`, from sums over the episodes of points `[points, grid, runs]`."""
    curves: dict[str, Any] = {"diagnostics": {}, "lengths": lengths}
    for name, rows in sums.items():
        means = np.moveaxis(rows / lengths[:, None, None], 0, -1).reshape(*grid, rows.shape[-1], len(lengths))
        table = curves if name in CURVES else curves["diagnostics"]
        table[name.removeprefix(DIAGNOSTIC)] = means
    return curves


def select_holdout(num_runs: int) -> np.ndarray:
    """Return whether each run is held back to choose among agents of a grid, `[runs]`; none of too few."""
    return (np.arange(num_runs) % _HOLDOUT_EVERY == 0) & (num_runs >= _MIN_RUNS)


def select_runs(result: Result, runs: np.ndarray) -> Result:
    """Return the result of an agent, with curves `[runs, points]`, in some of its runs."""
    if runs.all():
        return result
    numbers = result.runs[runs].tolist()
    manifest = {**result.manifest, "num_runs": len(numbers), "runs": numbers}
    return replace(result, **map_curves(lambda curve: curve[runs], result), state=None, manifest=manifest)


def map_curves(change: Callable[..., np.ndarray], *results: Result) -> dict[str, Any]:
    """Return all fields that hold curves, as `change` computes them from those of the results."""
    curves: dict[str, Any] = {name: change(*(getattr(own, name) for own in results)) for name in CURVES}
    names = results[0].diagnostics
    diagnostics = {name: change(*(own.diagnostics[name] for own in results)) for name in names}
    return {**curves, "diagnostics": diagnostics}


def join_runs(results: Sequence[Result]) -> Result:
    """Return the results of consecutive runs as one."""
    if len(results) == 1:
        return replace(results[0], state=None)
    manifests = [result.manifest for result in results]
    sums = {key: sum(manifest[key] for manifest in manifests) for key in ("num_runs", "seconds")}
    curves = map_curves(lambda *parts: np.concatenate(parts, axis=-2), *results)
    manifest = {**manifests[0], **sums, **join_origins(manifests)}
    return replace(results[0], **curves, state=None, manifest=manifest)


def split_grid(result: Result, count: int) -> list[Result]:
    """Return the results of the points of a grid with one axis, as if each had run alone in equal time."""
    if count == 1:
        return [result]
    shared = replace(result, manifest={**result.manifest, "seconds": result.manifest["seconds"] / count})
    return [shared.point(index) for index in range(count)]


def join_origins(manifests: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the origin of results that belong together: single facts, and lists of those that differ."""
    manifests = list(manifests)

    def one_or_all(tables: Sequence[Mapping[str, Any]], key: str) -> Any:
        distinct: list[Any] = []
        for table in tables:
            facts = table.get(key, [])
            facts = facts if isinstance(facts, list) else [facts]
            distinct += [item for item in facts if item not in distinct]
        return distinct[0] if len(distinct) == 1 else distinct

    origin = {key: one_or_all(manifests, key) for key in ("device", "commit", "host", "xla_flags")}
    for key in ("versions", "plugins", "sources"):
        tables = [manifest.get(key, {}) for manifest in manifests]
        origin[key] = {name: one_or_all(tables, name) for name in dict.fromkeys(itertools.chain(*tables))}
    return origin
