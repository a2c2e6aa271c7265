"""Cells of a benchmark: a policy in a scenario, played once and kept, so that a stopped one goes on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise import __version__
from driftwise.analysis.adaptation import adaptation, alarm_scores, decision_lag, performance
from driftwise.analysis.bench.places import Place
from driftwise.base.validation import ArgumentError
from driftwise.scenarios.contestants import policy_named
from driftwise.scenarios.playing import Played, play_policy, rounds_of
from driftwise.scenarios.scenario import SUITES, Scenario, find_scenario
from driftwise.simulation.files import compact_json

FILE = "cells.jsonl"
KEPT = ("drop", "resilience", "recovery", "area", "adaptability")  # scores at changes that have a mean
Pair = tuple[str, str]  # an agent and a scenario


class Cell(NamedTuple):
    """The scores of a policy in a scenario, one for each run, or why it could not play."""

    agent: str
    scenario: str
    error: str = ""
    regret: tuple[float, ...] = ()
    share: tuple[float, ...] = ()  # of the best value
    changes: tuple[Mapping[str, Any], ...] = ()  # scores at each change of each run
    lag: tuple[int, ...] = ()  # in worlds that never rest
    alarms: tuple[Mapping[str, Any], ...] = ()  # scores of them, in worlds that do, of who raises any


def play_cell(agent: str, scenario_name: str, size: str) -> Cell:
    """All runs of a policy in a scenario; whatever a policy raises is its own failure."""
    scenario = find_scenario(scenario_name, size)
    make = policy_named(agent, scenario.kind)
    try:
        runs = [play_policy(make, scenario, run=run) for run in range(scenario.runs)]
    except Exception as error:  # of a stranger's code
        return Cell(agent, scenario_name, error=f"{type(error).__name__}: {error}")
    at = [
        each
        for run in runs
        for each in adaptation(run.values, run.optimal, scenario.changes, frozen=run.frozen)
    ]
    return Cell(
        agent,
        scenario_name,
        regret=tuple(run.regret for run in runs),
        share=tuple(performance(run.values, run.optimal).share for run in runs),
        changes=tuple({name: each._asdict()[name] for name in KEPT} for each in at),
        lag=tuple(_lag(scenario, number, run) for number, run in enumerate(runs) if not scenario.rests),
        alarms=tuple(
            alarm_scores(np.flatnonzero(run.alarms).tolist(), scenario.changes, scenario.rounds)._asdict()
            for run in runs
            if scenario.rests and run.alarms is not None
        ),
    )


def _lag(scenario: Scenario, number: int, run: Played) -> int:
    """How many rounds decisions are behind, in steps of a 500th of the run, up to an eighth of it."""
    lags = range(0, scenario.rounds // 8 + 1, max(1, scenario.rounds // 500))
    return decision_lag(*rounds_of(scenario, number).behind(run.taken, lags), lags)


def play_cells(
    pairs: Sequence[Pair],
    size: str,
    folder: Path | None,
    *,
    place: Place,
    progress: Callable[[int, int], None],
) -> dict[Pair, Cell]:
    """The cells of all pairs, in whatever order they come; what the folder has is not played again."""
    kept = {} if folder is None else _read(folder / FILE, size)
    found = {pair: kept[pair] for pair in pairs if pair in kept}
    missing = [pair for pair in pairs if pair not in found]
    progress(len(found), len(pairs))
    with contextlib.ExitStack() as stack:
        file = None if folder is None else stack.enter_context((folder / FILE).open("a", encoding="utf-8"))
        if file is not None and file.tell() == 0:
            file.write(f"{compact_json(_header(size))}\n")
        played = place(play_cell, [(*pair, size) for pair in missing])
        for cell in stack.enter_context(contextlib.closing(played)):
            found[cell.agent, cell.scenario] = cell
            if file is not None:
                file.write(f"{compact_json(cell._asdict())}\n")
                file.flush()
            progress(len(found), len(pairs))
    return {pair: found[pair] for pair in pairs}


def _header(size: str) -> dict[str, Any]:
    sizes = SUITES[size]
    return {"suite": size, **sizes._asdict(), "driftwise": __version__, "numpy": np.__version__}


def _read(path: Path, size: str) -> dict[Pair, Cell]:
    """The cells of a file; a line that a kill cut off is left out, and cut off."""
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
        if lines and lines[0] != _header(size):
            expected = f"be new, or have been begun with {compact_json(_header(size))}"
            raise ArgumentError("--out", expected, str(path.parent), compact_json(lines[0]))
        cells = [Cell(**{key: _as_tuple(value) for key, value in line.items()}) for line in lines[1:]]
    except (json.JSONDecodeError, TypeError, AttributeError):
        raise ArgumentError("--out", f"have a {FILE} that this command wrote", str(path.parent)) from None
    return {(cell.agent, cell.scenario): cell for cell in cells}


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
