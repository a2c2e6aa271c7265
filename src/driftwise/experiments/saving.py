"""The outcomes of an experiment as a folder: tidy results, a figure, and a manifest that seals them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from driftwise.experiments import storage
from driftwise.experiments.building import make_environments, run_length
from driftwise.experiments.experiment import Experiment
from driftwise.experiments.running import Outcome
from driftwise.experiments.storage import MANIFEST, RESULTS
from driftwise.simulation import files
from driftwise.simulation.results import joint_origin

CHECKPOINTS = "tasks"  # a folder with the checkpoint of each
CLAIM = "run.json"
CLAIM_FORMAT = 3  # of what lets a run go on: the claim and the checkpoints
FILES = (RESULTS, "regret.png", MANIFEST)
WORDS = ("summary", "finding")  # what an experiment says of itself, whatever it computes


def claimed_by(
    experiment: Experiment,
    num_episodes: int | None = None,
    num_runs: int | None = None,
    seed: int | None = None,
) -> dict[str, Any]:
    """What a folder has to agree in with a run that writes to it."""
    return {
        "format": CLAIM_FORMAT,
        "experiment": {key: value for key, value in experiment.config.items() if key not in WORDS},
        "episodes": experiment.episodes if num_episodes is None else num_episodes,
        "runs": experiment.runs if num_runs is None else num_runs,
        "seed": experiment.seed if seed is None else seed,
    }


@contextlib.contextmanager
def claimed(folder: Path, claim: Mapping[str, Any]) -> Iterator[Path]:
    """Where to keep checkpoints, in a folder of no other run; a failure before the first leaves no claim."""
    new = not (folder / CLAIM).exists()
    storage.claim(folder, CLAIM, claim)
    kept = folder / CHECKPOINTS
    try:
        yield kept
    except BaseException:
        if new and not (kept.exists() and any(kept.iterdir())):
            (folder / CLAIM).unlink()
            with contextlib.suppress(FileNotFoundError):
                kept.rmdir()
        raise


def is_saved(folder: Path, experiment: Experiment, outcomes: Sequence[Outcome]) -> bool:
    """Whether the folder has the files of these outcomes already, whole."""
    try:
        found = storage.read_manifest(folder)
        storage.read_table(folder, found, columns=[])
    except ValueError:
        return False
    facts = json.loads(files.compact_json(manifest(experiment, outcomes)))
    same = all(found.get(key) == value for key, value in facts.items() if key != "written")
    return same and all((folder / name).exists() for name in FILES)


def save_outcomes(
    folder: Path, experiment: Experiment, outcomes: Sequence[Outcome], draw: Callable[..., files.Writer]
) -> list[Path]:
    """Write the three files, replacing older ones; the paths of what was written.

    `draw(rows, title=, note=)` gives the figure; a row is an environment's label, results and changes.
    """
    facts = manifest(experiment, outcomes)
    num_episodes, num_runs = facts["num_episodes"], facts["num_runs"]
    results = {(outcome.setting, outcome.label): outcome.result for outcome in outcomes}
    full_size = num_episodes >= experiment.episodes and num_runs >= experiment.runs
    runs = f"{num_runs} runs, mean and 95 % interval (Student's t)" if num_runs > 1 else "one run"
    drawn = draw(
        [
            (
                setting,
                {label: result for (where, label), result in results.items() if where == setting},
                environment.changes(run_length(experiment, setting, num_episodes)),
            )
            for setting, environment in make_environments(experiment, num_episodes).items()
        ],
        title=experiment.finding if full_size and experiment.finding else experiment.summary,
        note=f"{experiment.name} · {runs}",
    )
    table = storage.parquet_bytes(storage.results_table(results))
    writers = (
        lambda file: file.write(table),
        drawn,
        files.json_writer(storage.sealed(facts, table)),
    )
    return files.write_files(folder, dict(zip(FILES, writers, strict=True)))


def manifest(experiment: Experiment, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything needed to know what was run, with what, and how long it took."""
    common = outcomes[0].result.manifest
    keys = ("num_runs", "seed", "record_every", "precision", "platform")
    origin = joint_origin(outcome.result.manifest for outcome in outcomes)
    writers = {name: version(name) for name in ("pyarrow", "matplotlib")}
    return {
        "experiment": experiment.name,
        "config": experiment.config,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "num_episodes": max(outcome.result.manifest["num_episodes"] for outcome in outcomes),
        **{key: common[key] for key in keys},
        "environments": {outcome.setting: outcome.result.manifest["environment"] for outcome in outcomes},
        "agents": [
            {
                "environment": outcome.setting,
                "label": outcome.label,
                "name": outcome.name,
                "point": dict(outcome.point),
                "parameters": outcome.result.manifest["agent"],
                "seconds": round(outcome.seconds, 3),
            }
            for outcome in outcomes
        ],
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        **origin,
        "versions": {**origin["versions"], **writers},
    }
