"""The folder of a study: a claim, so that it can go on and grow, results, and a manifest that seals them.

The claim has every request to the folder, with the tasks that it added. Tasks keep their content hashes, by
which their checkpoints are named: what is there stays as it is, and nothing is computed twice.
"""

import contextlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.algorithms import uniform
from driftwise.base import files
from driftwise.base.schema import COUNT, LIST, TABLE, WORD, join_keys, require_shape
from driftwise.environments import Environment
from driftwise.experiments.building import Point
from driftwise.experiments.experiment import ConfigTable
from driftwise.experiments.outcomes import AgentOutcome
from driftwise.experiments.results_folder import read_manifest, read_table, table_differences
from driftwise.experiments.study import Study, TaskGroup
from driftwise.simulation.checkpoints import content_hash
from driftwise.simulation.results import join_origins
from driftwise.simulation.tasks import play

CLAIM = "run.json"
_FORMAT = 6  # of a claim
_NUM_SAMPLED = 100  # episodes of random actions, at most
_CHECKPOINTS = "tasks"  # a folder with a checkpoint of each task
_SEPARATE = ("summary", "finding", "import", "episodes", "runs", "seed", "environment")  # not compared
_HISTORY = {"begun": WORD, "episodes": COUNT, "runs": COUNT, "agents": LIST, "environments": LIST}
_TABLES = {"agents": TABLE, "environments": TABLE}
_TASK = {"cells": [[WORD]], "first_run": COUNT, "hash": WORD}
_CLAIM_SHAPE = {"requests": [{**_HISTORY, "seed": COUNT, "experiment": _TABLES, "tasks": [_TASK]}]}


def merge_with_folder(folder: Path, study: Study) -> Study:
    """Return the study with the tasks of a folder, and new ones where it asks for more; less is refused."""
    requests, asked = _read_requests(folder), study.experiment
    environments = asked.environments or dict.fromkeys(study.environments, asked.environment)
    tables = {key: value for key, value in asked.config.items() if key not in _SEPARATE}
    wanted = {
        "begun": datetime.now(UTC).isoformat(timespec="seconds"),
        **dict(episodes=study.num_episodes, runs=study.num_runs, seed=study.seed),
        "experiment": json.loads(json.dumps(tables | {"environments": environments})),
    }
    if requests and any(_changes(requests[-1], wanted)):
        with contextlib.suppress(ValueError):  # a request without results can be given up
            requests = requests[: len(read_manifest(folder).get("history", ()))] or requests
    last = requests[-1] if requests else None
    if last and (changes := ", ".join(_changes(last, wanted))):
        raise _refusal(folder, changes)
    work, num_runs, added = [], Counter(), []
    for group, known_hash in _claimed_groups(folder, study, requests):
        if last and study.num_episodes > last["episodes"] and content_hash(group.task) != known_hash:
            own = join_keys("agents", group.name), join_keys("environments", group.environment_label)
            why = f"since {' in '.join(own)} is another in a run of {study.num_episodes}"
            text = f"{folder} must keep its {last['episodes']} episodes, {why}: choose another folder"
            raise ValueError(text)
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


def _claimed_groups(
    folder: Path, study: Study, requests: list[ConfigTable]
) -> Iterator[tuple[TaskGroup, str]]:
    """Yield the groups that requests have added, as the study has them now, and their hashes as they were."""
    points = ((group, label) for group in study.groups for label in group.points)
    owners = {group.cell(group.points[label]): (group, label) for group, label in points}
    for request in requests:
        for task in request["tasks"]:
            runs = task["first_run"], request["runs"] - task["first_run"]
            try:
                members = [owners[environment, agent, values] for environment, agent, values in task["cells"]]
                points = {label: group.points[label] for group, label in members}
                claimed = members[0][0].restrict(points, *runs)
            except (KeyError, IndexError, ValueError):
                raise _damage(folder / CLAIM) from None
            yield claimed, task["hash"]


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
        raise _damage(path) from None
    if age:
        raise _refusal(folder, f"version of driftwise, {'a newer' if age > 0 else 'an older'} one")
    return claim["requests"]


def _damage(path: Path) -> ValueError:
    return ValueError(f"{path} is damaged: remove the folder or choose another")


def _refusal(folder: Path, changes: str) -> ValueError:
    return ValueError(f"{folder} holds a run with another {changes}: remove it or choose another folder")


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


def is_saved(folder: Path, facts: Mapping[str, Any]) -> bool:
    """Return whether the folder has whole files of these facts, which `manifest_of` made."""
    try:
        manifest = read_manifest(folder)
        read_table(folder, manifest, columns=[])
    except ValueError:
        return False
    plain = json.loads(files.compact_json(facts))
    return all(manifest.get(key) == value for key, value in plain.items() if key != "written")


def manifest_of(study: Study, outcomes: Sequence[AgentOutcome]) -> dict[str, Any]:
    """Return the facts of a run: what was run, with what, how long it took, and the regret of random play."""
    common = outcomes[0].result.manifest
    origin = join_origins(outcome.result.manifest for outcome in outcomes)
    for name in ("pyarrow", "matplotlib"):  # which write the files
        with contextlib.suppress(PackageNotFoundError):
            origin["versions"][name] = version(name)

    agents = []
    for outcome in outcomes:
        names = {"environment": outcome.environment_label, "label": outcome.label, "name": outcome.name}
        tuned = {} if outcome.variation is None else {"variation": outcome.variation}
        own = {"point": dict(outcome.values), "parameters": outcome.result.manifest["agent"], **tuned}
        agents.append({**names, **own, "seconds": round(outcome.seconds, 3)})
    environments = study.environments.items()
    return {
        "experiment": study.experiment.name,
        "config": study.experiment.config,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        **{key: getattr(study, key) for key in ("num_episodes", "num_runs", "seed")},
        "history": [{key: request[key] for key in _HISTORY} for request in study.requests],
        **{key: common[key] for key in ("record_every", "precision", "platform")},
        "environments": {own.environment_label: own.result.manifest["environment"] for own in outcomes},
        "random_regret": {label: random_regret(own, study.lengths[label]) for label, own in environments},
        "agents": agents,
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        **origin,
    }


def random_regret(environment: Environment, num_episodes: int) -> float:
    """Return the mean exact regret of an episode with uniformly drawn actions, over a sample of episodes."""
    sampled = np.unique(np.linspace(0, num_episodes - 1, _NUM_SAMPLED).round().astype(int))
    run = play(uniform(environment.spec), environment, num_episodes=num_episodes, episodes=sampled.tolist())
    return float(np.mean([episode.record.optimal - episode.record.value for episode in run]))
