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
from driftwise.base.provenance import code_of
from driftwise.base.validation import ArgumentError
from driftwise.scenarios.contestants import policy_named
from driftwise.scenarios.playing import Played, play_policy
from driftwise.scenarios.scenario import SUITES, find_scenario
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
    lag: tuple[int | None, ...] = ()  # in worlds that glide; None where it is no better than chance
    alarms: tuple[Mapping[str, Any], ...] = ()  # scores of them, in worlds that do, of who raises any


def play_cell(agent: str, scenario_name: str, size: str) -> Cell:
    """All runs of a policy in a scenario; whatever a policy raises is its own failure."""
    scenario = find_scenario(scenario_name, size)
    make, changes, rests = policy_named(agent, scenario.kind), scenario.changes, scenario.rests
    cell = Cell(agent, scenario_name)
    for number in range(scenario.runs):
        try:
            run = play_policy(make, scenario, run=number)
        except Exception as error:  # of a stranger's code
            return Cell(agent, scenario_name, error=f"{type(error).__name__}: {error}")
        at = adaptation(run.values, run.optimal, changes, frozen=run.frozen)
        rung = () if run.alarms is None or not rests else (np.flatnonzero(run.alarms).tolist(),)
        cell = cell._replace(
            regret=(*cell.regret, run.regret),
            share=(*cell.share, performance(run.values, run.optimal).share),
            changes=(*cell.changes, *({name: each._asdict()[name] for name in KEPT} for each in at)),
            lag=cell.lag if rests else (*cell.lag, _lag(run)),
            alarms=(*cell.alarms, *(alarm_scores(each, changes, len(run.values))._asdict() for each in rung)),
        )
    return cell


def _lag(run: Played) -> int | None:
    """How many rounds decisions are behind, of Fibonacci's numbers up to an eighth of the run."""
    lags = [0, 1, 2]
    while (ahead := lags[-2] + lags[-1]) <= len(run.values) // 8:
        lags.append(ahead)
    return decision_lag(*run.rounds.behind(run.taken, lags), lags)


def play_cells(
    pairs: Sequence[Pair],
    size: str,
    folder: Path | None,
    *,
    place: Place,
    progress: Callable[[int, int], None],
) -> dict[Pair, Cell]:
    """The cells of all pairs, in whatever order they come.

    What the folder has from the same code, driftwise's and the policy's, is not played again.
    """
    codes = {pair: code_of(policy_named(pair[0], find_scenario(pair[1], size).kind)) for pair in pairs}
    kept = {} if folder is None else _read(folder / FILE, size)
    found = {pair: kept[pair, code] for pair, code in codes.items() if (pair, code) in kept}
    missing = [pair for pair in pairs if pair not in found]
    progress(len(found), len(pairs))
    with contextlib.ExitStack() as stack:
        file = None if folder is None else stack.enter_context((folder / FILE).open("a", encoding="utf-8"))
        if file is not None and file.tell() == 0:
            file.write(f"{compact_json(_header(size))}\n")
        played = place(play_cell, [(*pair, size) for pair in missing])
        for cell in stack.enter_context(contextlib.closing(played)):
            pair = cell.agent, cell.scenario
            found[pair] = cell
            if file is not None:
                file.write(f"{compact_json({'code': codes[pair], **cell._asdict()})}\n")
                file.flush()
            progress(len(found), len(pairs))
    return {pair: found[pair] for pair in pairs}


def _header(size: str) -> dict[str, Any]:
    sizes = SUITES[size]
    return {"suite": size, **sizes._asdict(), "driftwise": __version__, "numpy": np.__version__}


def _read(path: Path, size: str) -> dict[tuple[Pair, str], Cell]:
    """The cells of a file by their codes; a line that a kill cut off is left out, and cut off."""
    if not path.exists():
        return {}
    written = path.read_bytes()  # a kill may cut a line within a letter
    whole = written[: written.rfind(b"\n") + 1]
    if whole != written:
        path.write_bytes(whole)
    try:
        lines = [json.loads(line) for line in whole.splitlines()]
        if lines and lines[0] != _header(size):
            expected = f"be new, or have been begun with {compact_json(_header(size))}"
            raise ArgumentError("--out", expected, str(path.parent), compact_json(lines[0]))
        codes = [line.pop("code", "") for line in lines[1:]]
        cells = [Cell(**{key: _as_tuple(value) for key, value in line.items()}) for line in lines[1:]]
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError, AttributeError):
        raise ArgumentError("--out", f"have a {FILE} that this command wrote", str(path.parent)) from None
    return {((cell.agent, cell.scenario), code): cell for cell, code in zip(cells, codes, strict=True)}


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
