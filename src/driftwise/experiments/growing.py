"""Folders grow: runs, episodes, agents and environments are added to what is there, which stays as it is.

A folder keeps the stages in which it was asked for. Each stage adds tasks of its own, and those of earlier
stages are the same tasks again, so that their checkpoints are read and nothing is computed twice.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from driftwise.base.files import require_regular
from driftwise.base.kinds import COUNT, TABLE, WORD, Kinds, require_kinds_of
from driftwise.base.making import dotted
from driftwise.base.part import stack, to_config
from driftwise.experiments.experiment import Table
from driftwise.experiments.grids import Point
from driftwise.experiments.storage import differences, read_manifest
from driftwise.experiments.study import Cell, Group, Stage, Study
from driftwise.simulation.files import json_bytes

CLAIM = "run.json"
FORMAT = 4  # of what lets a run go on: the claim and the checkpoints
KINDS: Kinds = {"begun": WORD, "episodes": COUNT, "runs": COUNT, "seed": COUNT, "experiment": TABLE}
OWN = ("summary", "finding", "import", "episodes", "runs", "seed", "environment")  # no number, or said apart


def grown(folder: Path, study: Study) -> Study:
    """A study with the stages that a folder has, and one more if it asks for more; less is refused."""
    stages, wanted = read_stages(folder), _stage(study)
    if stages and any(_changes(stages[-1], wanted)):
        stages = stages[: _num_sealed(folder)] or stages  # what never was finished may be given up
    if stages:
        if other := ", ".join(_changes(stages[-1], wanted)):
            _refuse(folder, other)
        if replace(wanted, begun=stages[-1].begun) == stages[-1]:
            wanted = None
        elif wanted.episodes > stages[-1].episodes:
            _require_same_beginning(folder, study, stages[-1])
    stages = [*stages, wanted] if wanted else stages
    return replace(study, stages=tuple(stages), parts=tuple(_parts(study, stages)))


def read_stages(folder: Path) -> list[Stage]:
    """The stages of a folder, the oldest first; none if it is new."""
    path = folder / CLAIM
    if not path.exists():
        return []
    require_regular(path)  # a pipe would keep its reader waiting
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        age = found["format"] - FORMAT
        stages = [] if age else [_read_stage(table) for table in found["stages"]]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is damaged: remove the folder or choose another") from None
    if age:
        _refuse(folder, f"version of driftwise, {'a newer' if age > 0 else 'an older'} one")
    return stages


def claim_bytes(stages: Sequence[Stage]) -> bytes:
    """Content of the file that says what a folder is for."""
    return json_bytes({"format": FORMAT, "stages": [vars(stage) for stage in stages]})


def history(stages: Sequence[Stage]) -> list[dict[str, Any]]:
    """When the folder was asked for what: sizes, and the agents and environments that came with a stage."""
    entries, known = [], {"agents": {}, "environments": {}}
    for stage in stages:
        came = {
            kind: [label for label, table in stage.experiment[kind].items() if tables.get(label) != table]
            for kind, tables in known.items()
        }
        known = {kind: stage.experiment[kind] for kind in known}
        entries.append({"begun": stage.begun, "episodes": stage.episodes, "runs": stage.runs, **came})
    return entries


def _read_stage(table: Any) -> Stage:
    require_kinds_of("", table, KINDS)
    require_kinds_of("experiment.", table["experiment"], {"agents": TABLE, "environments": TABLE})
    return Stage(**table)


def _num_sealed(folder: Path) -> int:
    """The number of stages whose results are there."""
    try:
        return len(read_manifest(folder).get("history", ()))
    except ValueError:
        return 0


def _refuse(folder: Path, other: str) -> NoReturn:
    raise ValueError(f"{folder} holds a run with another {other}: remove it or choose another folder")


def _stage(study: Study) -> Stage:
    """What a study asks for, now."""
    config, experiment = study.experiment.config, study.experiment
    environments = experiment.environments or dict.fromkeys(study.environments, experiment.environment)
    asked = {key: value for key, value in config.items() if key not in OWN} | {"environments": environments}
    now, plain = datetime.now(UTC).isoformat(timespec="seconds"), json.loads(json.dumps(asked))
    return Stage(now, study.num_episodes, study.num_runs, study.seed, plain)


def _changes(before: Stage, wanted: Stage) -> Iterator[str]:
    """Places at which a stage asks for something else than before, and not just for more."""
    yield from (key for key in ("episodes", "runs") if getattr(wanted, key) < getattr(before, key))
    if wanted.seed != before.seed:
        yield "seed"
    old, new = before.experiment, dict(wanted.experiment)
    for kind in ("agents", "environments"):
        added = new[kind].keys() - old[kind].keys()
        new[kind] = {label: table for label, table in new[kind].items() if label not in added}
    new["agents"] = {name: _less_values(table, old["agents"][name]) for name, table in new["agents"].items()}
    yield from (place for place, *_ in differences(old, new, "experiment"))


def _less_values(table: Table, before: Table) -> Table:
    """The table, in which a list with new values beside all former ones is as it was before."""
    return {key: before[key] if _has_more(value, before.get(key)) else value for key, value in table.items()}


def _has_more(values: Any, before: Any) -> bool:
    lists = isinstance(values, list) and isinstance(before, list)
    return lists and all(value in values for value in before)


def _require_same_beginning(folder: Path, study: Study, before: Stage) -> None:
    """Refuse more episodes where an environment, or an agent, is another one in a longer run."""
    lengths = before.episodes, study.num_episodes
    for old, new in zip(*(before.of(study.experiment, each).groups for each in lengths), strict=True):
        places = dotted("environments", old.environment_label), dotted("agents", old.name)
        for place, first, second in zip(places, _described(old), _described(new), strict=True):
            if first != second:
                why = f"{place} is another in a run of {lengths[1]}"
                said = f"{folder} must keep its {lengths[0]} episodes, since {why}"
                raise ValueError(f"{said}: choose another folder")


def _described(group: Group) -> tuple[Any, Any]:
    """The environment and the agent of a group, in plain values."""
    environment = group.task.environment
    return (environment.digest(), environment.config), to_config(group.task.agent)


def _parts(study: Study, stages: Sequence[Stage]) -> Iterator[Group]:
    """The groups that each stage adds to those before it, all with as many episodes as the last one has."""
    last, shorter = stages[-1].episodes, defaultdict(set)
    for stage in stages:
        if stage.episodes < last:
            for environment, length in stage.of(study.experiment, stage.episodes).lengths.items():
                shorter[environment].add(length)
    covered: dict[Cell, int] = {}  # runs of each cell
    for stage in stages:
        for group in stage.of(study.experiment, last).groups:
            group = replace(group, shorter=tuple(shorter[group.environment_label]))
            begun: dict[int, dict[str, Point]] = {}
            for label, point in group.points.items():
                begun.setdefault(covered.get(group.cell(point), 0), {})[label] = point
            for first, points in begun.items():
                if first < stage.runs:
                    yield _part(group, first, points)
            covered |= {group.cell(point): stage.runs for point in group.points.values()}


def _part(group: Group, first: int, points: Mapping[str, Point]) -> Group:
    """The runs of some points of a group from the first one on."""
    agents = [point.agent for point in points.values()]
    agent = stack(agents) if len(agents) > 1 else agents[0]
    task = replace(group.task, agent=agent, first_run=first, num_runs=group.task.num_runs - first)
    return replace(group, points=points, task=task)
