"""Save the outcomes of a study: tidy results, a figure, and a manifest that seals them."""

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.algorithms import uniform
from driftwise.base import files
from driftwise.environments import Environment
from driftwise.experiments import results_folder
from driftwise.experiments.folder_growth import read_stages
from driftwise.experiments.outcomes import AgentOutcome, OwnedTasks
from driftwise.experiments.result_tables import parquet_bytes, results_table
from driftwise.experiments.results_folder import CLAIM, MANIFEST, RESULTS
from driftwise.experiments.study import FolderStage, Study
from driftwise.simulation.checkpoints import checkpoint_name
from driftwise.simulation.play import play
from driftwise.simulation.results import Result, join_origins

_CHECKPOINTS = "tasks"  # a folder with a checkpoint of each task
_NUM_SAMPLED = 100  # episodes of random actions, at most
RESULT_FILES = (RESULTS, "regret.png", MANIFEST)


@contextlib.contextmanager
def claim_folder(folder: Path, study: Study) -> Iterator[Path]:
    """Claim a folder for a study, until a failure without checkpoints, and give their folder."""
    before, checkpoints = read_stages(folder), folder / _CHECKPOINTS
    if before != [*study.stages]:
        claim = {"format": results_folder.CLAIM_FORMAT, "stages": [vars(stage) for stage in study.stages]}
        files.replace_file(folder / CLAIM, files.json_bytes(claim))
    try:
        yield checkpoints
    except BaseException:
        if not before and not has_checkpoints(folder):
            (folder / CLAIM).unlink()
            with contextlib.suppress(OSError):  # it was never made, or is something else
                checkpoints.rmdir()
        raise


def has_checkpoints(folder: Path) -> bool:
    """Return whether the folder has anything that a run could continue from."""
    return any((folder / _CHECKPOINTS).glob("*.npz"))


def drop_shorter_checkpoints(checkpoints: Path, tasks: OwnedTasks) -> None:
    """Remove the checkpoints from which longer runs continued."""
    for group, task in tasks:
        for length in group.shorter:
            if length < task.num_episodes:
                before = replace(task, num_episodes=length)
                (checkpoints / checkpoint_name(before)).unlink(missing_ok=True)


def is_saved(folder: Path, facts: Mapping[str, Any]) -> bool:
    """Return whether the folder has whole files of these facts, which `manifest_of` made."""
    try:
        manifest = results_folder.read_manifest(folder)
        results_folder.read_table(folder, manifest, columns=[])
    except ValueError:
        return False
    plain = json.loads(files.compact_json(facts))
    same = all(manifest.get(key) == value for key, value in plain.items() if key != "written")
    return same and all((folder / name).exists() for name in RESULT_FILES)


def write_results(
    folder: Path, facts: Mapping[str, Any], results: Mapping[tuple[str, str], Result], figure: bytes
) -> list[Path]:
    """Write results by environment and label, a figure of them, and last the manifest that seals them.

    Older files are replaced; the paths of the files are returned.
    """
    table = parquet_bytes(results_table(results))
    contents = table, figure, results_folder.sealed_manifest(facts, table)
    return files.write_files(folder, dict(zip(RESULT_FILES, contents, strict=True)))


def manifest_of(study: Study, outcomes: Sequence[AgentOutcome]) -> dict[str, Any]:
    """Return the facts of a run: what was run, with what, how long it took, and the regret of random play."""
    common = outcomes[0].result.manifest
    origin = join_origins(outcome.result.manifest for outcome in outcomes)
    for name in ("pyarrow", "matplotlib"):  # which write the files
        with contextlib.suppress(PackageNotFoundError):
            origin["versions"][name] = version(name)

    def entry(outcome: AgentOutcome) -> dict[str, Any]:
        names = {"environment": outcome.environment_label, "label": outcome.label, "name": outcome.name}
        tuned = {} if outcome.variation is None else {"variation": outcome.variation}
        own = {"point": dict(outcome.values), "parameters": outcome.result.manifest["agent"], **tuned}
        return {**names, **own, "seconds": round(outcome.seconds, 3)}

    return {
        "experiment": study.experiment.name,
        "config": study.experiment.config,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        **{key: getattr(study, key) for key in ("num_episodes", "num_runs", "seed")},
        "history": _history(study.stages),
        **{key: common[key] for key in ("record_every", "precision", "platform")},
        "environments": {own.environment_label: own.result.manifest["environment"] for own in outcomes},
        "random_regret": {
            label: random_regret(own, study.lengths[label]) for label, own in study.environments.items()
        },
        "agents": [entry(outcome) for outcome in outcomes],
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        **origin,
    }


def _history(stages: Sequence[FolderStage]) -> list[dict[str, Any]]:
    """Return the sizes of each stage, and the agents and environments that it added or changed."""
    entries, before = [], {"agents": {}, "environments": {}}
    for stage in stages:
        entry: dict[str, Any] = {"begun": stage.begun, "episodes": stage.episodes, "runs": stage.runs}
        for kind, old in before.items():
            tables = stage.experiment[kind].items()
            entry[kind] = [label for label, table in tables if old.get(label) != table]
        before = {kind: stage.experiment[kind] for kind in before}
        entries.append(entry)
    return entries


def random_regret(environment: Environment, num_episodes: int) -> float:
    """Return the mean exact regret of an episode with uniformly drawn actions, over a sample of episodes."""
    sampled = np.unique(np.linspace(0, num_episodes - 1, _NUM_SAMPLED).round().astype(int))
    run = play(uniform(environment.spec), environment, num_episodes=num_episodes, episodes=sampled.tolist())
    return float(np.mean([episode.record.optimal - episode.record.value for episode in run]))
