"""Add runs, episodes, agents and environments to a results folder; what is there stays as it is.

The claim of a folder has every request to it, with the tasks that it added. Tasks keep their content hashes,
under which their checkpoints are: nothing is computed twice.
"""

import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from driftwise.base import files
from driftwise.base.schema import COUNT, LIST, TABLE, WORD, join_keys, require_shape
from driftwise.experiments.building import Point
from driftwise.experiments.experiment import ConfigTable
from driftwise.experiments.results_folder import CLAIM, read_manifest, table_differences
from driftwise.experiments.study import Study, TaskGroup
from driftwise.simulation.checkpoints import content_hash

_FORMAT = 6  # of a claim
_CHECKPOINTS = "tasks"  # a folder with a checkpoint of each task
_SEPARATE = ("summary", "finding", "import", "episodes", "runs", "seed", "environment")  # not compared
HISTORY = {"begun": WORD, "episodes": COUNT, "runs": COUNT, "agents": LIST, "environments": LIST}
_TABLES = {"agents": TABLE, "environments": TABLE}
_TASK = {"cells": LIST, "first_run": COUNT, "hash": WORD}
_CLAIM_SHAPE = {"requests": [{**HISTORY, "seed": COUNT, "experiment": _TABLES, "tasks": [_TASK]}]}


def merge_with_folder(folder: Path, study: Study) -> Study:
    """Return the study with the tasks of a folder, and new ones where it asks for more; less is refused."""
    requests, wanted = _read_requests(folder), _request_of(study)
    if requests and any(_changes(requests[-1], wanted)):
        with contextlib.suppress(ValueError):  # a request without results can be given up
            requests = requests[: len(read_manifest(folder).get("history", ()))] or requests
    last = requests[-1] if requests else None
    if last and (changes := ", ".join(_changes(last, wanted))):
        raise _refusal(folder, changes)
    work, num_runs, added = [], Counter(), []
    for group, known_hash in _claimed_groups(study, requests):
        if last and study.num_episodes > last["episodes"] and content_hash(group.task) != known_hash:
            place = (
                f"{join_keys('agents', group.name)} in {join_keys('environments', group.environment_label)}"
            )
            why = f"since {place} is another in a run of {study.num_episodes}: choose another folder"
            raise ValueError(f"{folder} must keep its {last['episodes']} episodes, {why}")
        work.append(group)
        num_runs.update(dict.fromkeys(map(group.cell, group.points.values()), group.task.num_runs))
    for group in study.groups:
        points_by_first_run: dict[int, dict[str, Point]] = defaultdict(dict)
        for label, point in group.points.items():
            points_by_first_run[num_runs[group.cell(point)]][label] = point
        for first, points in points_by_first_run.items():
            if first < study.num_runs:
                work.append(own := group.restrict(points, first, study.num_runs - first))
                cells = [group.cell(point) for point in points.values()]
                added.append({"cells": cells, "first_run": first, "hash": content_hash(own.task)})
    if added or not last or any(last[key] != wanted[key] for key in ("episodes", "experiment")):
        for kind in ("agents", "environments"):
            tables, known = wanted["experiment"][kind], last["experiment"][kind] if last else {}
            wanted[kind] = [label for label, table in tables.items() if known.get(label) != table]
        requests.append({**wanted, "tasks": added})
    return replace(study, requests=tuple(requests), work=tuple(work))


def _claimed_groups(study: Study, requests: list[ConfigTable]) -> Iterator[tuple[TaskGroup, str]]:
    """Yield the groups that requests have added, as the study has them now, and their hashes as they were."""
    owners = {
        group.cell(own): (group, label) for group in study.groups for label, own in group.points.items()
    }
    for request in requests:
        for task in request["tasks"]:
            found = [owners[environment, agent, values] for environment, agent, values in task["cells"]]
            points = {label: group.points[label] for group, label in found}
            runs = task["first_run"], request["runs"] - task["first_run"]
            yield found[0][0].restrict(points, *runs), task["hash"]


def _read_requests(folder: Path) -> list[ConfigTable]:
    """Return the requests to a folder, the oldest first; none if it is new."""
    path = folder / CLAIM
    if not path.exists():
        return []
    files.require_regular_file(path)  # a pipe would keep its reader waiting
    try:
        claim = json.loads(path.read_text(encoding="utf-8"))
        age = claim["format"] - _FORMAT
        if not age:
            require_shape("", claim, _CLAIM_SHAPE, whole=True)
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is damaged: remove the folder or choose another") from None
    if age:
        raise _refusal(folder, f"version of driftwise, {'a newer' if age > 0 else 'an older'} one")
    return claim["requests"]


def _refusal(folder: Path, changes: str) -> ValueError:
    return ValueError(f"{folder} holds a run with another {changes}: remove it or choose another folder")


def _request_of(study: Study) -> ConfigTable:
    """Return the sizes and the tables that a study asks for now; environments by their labels."""
    experiment = study.experiment
    environments = experiment.environments or dict.fromkeys(study.environments, experiment.environment)
    tables = {key: value for key, value in experiment.config.items() if key not in _SEPARATE}
    return {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        **dict(episodes=study.num_episodes, runs=study.num_runs, seed=study.seed),
        "experiment": json.loads(json.dumps(tables | {"environments": environments})),
    }


def _changes(before: ConfigTable, wanted: ConfigTable) -> Iterator[str]:
    """Yield the keys at which a request asks for something other than the one before and more."""
    yield from (key for key in ("episodes", "runs") if wanted[key] < before[key])
    if wanted["seed"] != before["seed"]:
        yield "seed"

    def former(values: Any, old: Any) -> Any:
        """Return the old list in the place of one that only has further values."""
        lists = isinstance(values, list) and isinstance(old, list)
        return old if lists and all(value in values for value in old) else values

    old, new = before["experiment"], dict(wanted["experiment"])
    for kind in ("agents", "environments"):
        new[kind] = {label: table for label, table in new[kind].items() if label in old[kind]}
    for name, table in new["agents"].items():
        own = old["agents"][name]
        new["agents"][name] = {key: former(values, own.get(key)) for key, values in table.items()}
    yield from (key for key, *_ in table_differences(old, new, "experiment"))


@contextlib.contextmanager
def claim_folder(folder: Path, study: Study) -> Iterator[Path]:
    """Claim a folder for a study, until a failure without checkpoints, and give the folder of checkpoints."""
    path, checkpoints = folder / CLAIM, folder / _CHECKPOINTS
    claim, is_new = files.json_bytes({"format": _FORMAT, "requests": study.requests}), not path.exists()
    if is_new or path.read_bytes() != claim:
        files.replace_file(path, claim)
    try:
        yield checkpoints
    except BaseException:
        if is_new and not has_checkpoints(folder):
            path.unlink()
            with contextlib.suppress(OSError):  # it was never made, or is something else
                checkpoints.rmdir()
        raise


def has_checkpoints(folder: Path) -> bool:
    """Return whether the folder has anything that a run could continue from."""
    return any((folder / _CHECKPOINTS).glob("*.npz"))
