"""The outcomes of an experiment as a folder: tidy results, a figure, and a manifest that seals them."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driftwise.base.files import replace_file
from driftwise.experiments import storage
from driftwise.experiments.growing import CLAIM, claim_bytes, history, read_stages
from driftwise.experiments.running import Outcome, Tasks
from driftwise.experiments.storage import MANIFEST, RESULTS
from driftwise.experiments.study import Study
from driftwise.simulation import files
from driftwise.simulation.checkpoints import checkpoint_name
from driftwise.simulation.results import Result, joint_origin

CHECKPOINTS = "tasks"  # a folder with the checkpoint of each
FILES = (RESULTS, "regret.png", MANIFEST)


@contextlib.contextmanager
def claimed(folder: Path, study: Study) -> Iterator[Path]:
    """Claim a folder for a study, and give that of its checkpoints; without any, a failure ends the claim."""
    found, kept = read_stages(folder), folder / CHECKPOINTS
    if found != [*study.stages]:
        replace_file(folder / CLAIM, claim_bytes(study.stages))
    try:
        yield kept
    except BaseException:
        if not found and not has_checkpoints(folder):
            (folder / CLAIM).unlink()
            with contextlib.suppress(OSError):  # it was never made, or is something else
                kept.rmdir()
        raise


def has_checkpoints(folder: Path) -> bool:
    """Whether there is anything in the folder that a run could go on from."""
    return any((folder / CHECKPOINTS).glob("*.npz"))


def is_saved(folder: Path, study: Study, outcomes: Sequence[Outcome]) -> bool:
    """Whether the folder has the files of these outcomes already, whole."""
    try:
        found = storage.read_manifest(folder)
        storage.read_table(folder, found, columns=[])
    except ValueError:
        return False
    facts = json.loads(files.compact_json(manifest(study, outcomes)))
    same = all(found.get(key) == value for key, value in facts.items() if key != "written")
    return same and all((folder / name).exists() for name in FILES)


def write_results(
    folder: Path, facts: Mapping[str, Any], results: Mapping[tuple[str, str], Result], figure: bytes
) -> list[Path]:
    """Write results by environment and label, a figure of them, and the manifest that seals them.

    Older files are replaced; the paths are those of what was written.
    """
    table = storage.parquet_bytes(storage.results_table(results))
    contents = table, figure, storage.sealed(facts, table)
    return files.write_files(folder, dict(zip(FILES, contents, strict=True)))


def drop_shorter(checkpoints: Path, study: Study, tasks: Tasks) -> None:
    """Remove the checkpoints that those of longer runs went on from."""
    for group, own in zip(study.work, tasks, strict=True):
        for task, length in itertools.product(own, group.shorter):
            shorter = replace(task, num_episodes=length)
            if length < task.num_episodes:
                (checkpoints / checkpoint_name(shorter)).unlink(missing_ok=True)


def manifest(study: Study, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything needed to know what was run, with what, and how long it took."""
    common = outcomes[0].result.manifest
    origin = joint_origin(outcome.result.manifest for outcome in outcomes)
    writers = {name: version(name) for name in ("pyarrow", "matplotlib")}
    return {
        "experiment": study.experiment.name,
        "config": study.experiment.config,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "num_episodes": study.num_episodes,
        "num_runs": study.num_runs,
        "seed": study.seed,
        "history": history(study.stages),
        **{key: common[key] for key in ("record_every", "precision", "platform")},
        "environments": {each.environment_label: each.result.manifest["environment"] for each in outcomes},
        "agents": [
            {
                "environment": outcome.environment_label,
                "label": outcome.label,
                "name": outcome.name,
                "point": dict(outcome.values),
                "parameters": outcome.result.manifest["agent"],
                **({} if outcome.variation is None else {"variation": outcome.variation}),
                "seconds": round(outcome.seconds, 3),
            }
            for outcome in outcomes
        ],
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        **origin,
        "versions": {**origin["versions"], **writers},
    }
