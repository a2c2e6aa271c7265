"""Add runs, episodes, agents and environments to a results folder; what is there stays as it is.

A folder keeps its stages, one for each request. A stage adds tasks of its own. The tasks of earlier stages
have the same content hashes as before, so that their checkpoints are read and nothing is computed twice.
"""

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from driftwise.base.files import require_regular_file
from driftwise.base.part import to_config
from driftwise.base.schema import COUNT, TABLE, WORD, Schema, join_keys, require_types
from driftwise.experiments.building import Point
from driftwise.experiments.results_folder import CLAIM, CLAIM_FORMAT, read_manifest, table_differences
from driftwise.experiments.study import CellKey, FolderStage, Study, TaskGroup, stacked

_STAGE: Schema = {"begun": WORD, "episodes": COUNT, "runs": COUNT, "seed": COUNT, "experiment": TABLE}
_TABLES: Schema = {"agents": TABLE, "environments": TABLE}
_SEPARATE = ("summary", "finding", "import", "episodes", "runs", "seed", "environment")  # not compared


def merge_with_folder(folder: Path, study: Study) -> Study:
    """Return the study with the stages of a folder, and one more if it asks for more; less is refused."""
    stages, wanted = read_stages(folder), _stage_of(study)
    if stages and any(_changes(stages[-1], wanted)):
        with contextlib.suppress(ValueError):  # a stage without results can be given up
            stages = stages[: len(read_manifest(folder).get("history", ()))] or stages
    if stages and (changes := ", ".join(_changes(stages[-1], wanted))):
        raise _refusal(folder, changes)
    if stages and wanted.episodes > stages[-1].episodes:
        _require_same_beginning(folder, study, stages[-1])
    if not stages or replace(wanted, begun=stages[-1].begun) != stages[-1]:
        stages = [*stages, wanted]
    return replace(study, stages=tuple(stages), parts=tuple(_parts(study, stages)))


def read_stages(folder: Path) -> list[FolderStage]:
    """Return the stages of a folder, the oldest first; none if it is new."""
    path, stages = folder / CLAIM, []
    if not path.exists():
        return stages
    require_regular_file(path)  # a pipe would keep its reader waiting
    try:
        claim = json.loads(path.read_text(encoding="utf-8"))
        age = claim["format"] - CLAIM_FORMAT
        for table in [] if age else claim["stages"]:
            require_types("", table, _STAGE)
            require_types("experiment.", table["experiment"], _TABLES)
            stages.append(FolderStage(**table))
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is damaged: remove the folder or choose another") from None
    if age:
        raise _refusal(folder, f"version of driftwise, {'a newer' if age > 0 else 'an older'} one")
    return stages


def _refusal(folder: Path, changes: str) -> ValueError:
    return ValueError(f"{folder} holds a run with another {changes}: remove it or choose another folder")


def _stage_of(study: Study) -> FolderStage:
    """Return the stage that a study asks for now."""
    experiment = study.experiment
    environments = experiment.environments or dict.fromkeys(study.environments, experiment.environment)
    tables = {key: value for key, value in experiment.config.items() if key not in _SEPARATE}
    plain = json.loads(json.dumps(tables | {"environments": environments}))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return FolderStage(now, study.num_episodes, study.num_runs, study.seed, plain)


def _changes(before: FolderStage, wanted: FolderStage) -> Iterator[str]:
    """Yield the keys at which a stage asks for something other than the one before and more."""
    yield from (key for key in ("episodes", "runs") if getattr(wanted, key) < getattr(before, key))
    if wanted.seed != before.seed:
        yield "seed"

    def former(values: Any, old: Any) -> Any:
        """Return the old list in the place of one that only has further values."""
        lists = isinstance(values, list) and isinstance(old, list)
        return old if lists and all(value in values for value in old) else values

    old, new = before.experiment, dict(wanted.experiment)
    for kind in ("agents", "environments"):
        new[kind] = {label: table for label, table in new[kind].items() if label in old[kind]}
    for name, table in new["agents"].items():
        own = old["agents"][name]
        new["agents"][name] = {key: former(values, own.get(key)) for key, values in table.items()}
    yield from (key for key, *_ in table_differences(old, new, "experiment"))


def _require_same_beginning(folder: Path, study: Study, before: FolderStage) -> None:
    """Refuse more episodes where an environment, or an agent, differs in a longer run."""
    lengths = before.episodes, study.num_episodes
    for groups in zip(*(before.study(study.experiment, length).groups for length in lengths), strict=True):
        models = [group.task.environment for group in groups]
        kept = {
            ("environments", groups[0].environment_label): [(own.digest(), own.config) for own in models],
            ("agents", groups[0].name): [to_config(group.task.agent) for group in groups],
        }
        for keys, (first, second) in kept.items():
            if first != second:
                why = f"since {join_keys(*keys)} is another in a run of {lengths[1]}: choose another folder"
                raise ValueError(f"{folder} must keep its {lengths[0]} episodes, {why}")


def _parts(study: Study, stages: Sequence[FolderStage]) -> Iterator[TaskGroup]:
    """Yield the groups that each stage adds, all with the episodes of the last stage."""
    last, shorter = stages[-1].episodes, defaultdict(set)
    for stage in stages:
        if stage.episodes < last:
            for environment, length in stage.study(study.experiment, stage.episodes).lengths.items():
                shorter[environment].add(length)
    num_runs: dict[CellKey, int] = defaultdict(int)  # of each cell in earlier stages
    for stage in stages:
        for group in stage.study(study.experiment, last).groups:
            points_by_first_run: dict[int, dict[str, Point]] = defaultdict(dict)
            for label, point in group.points.items():
                cell = group.cell(point)
                if num_runs[cell] < stage.runs:
                    points_by_first_run[num_runs[cell]][label] = point
                    num_runs[cell] = stage.runs
            for first, points in points_by_first_run.items():
                agent = stacked([point.agent for point in points.values()])
                task = replace(group.task, agent=agent, first_run=first, num_runs=stage.runs - first)
                yield replace(
                    group, points=points, task=task, shorter=tuple(shorter[group.environment_label])
                )
