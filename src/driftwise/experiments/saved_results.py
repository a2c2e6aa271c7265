"""Save the outcomes of a study: tidy results, and a manifest that seals them."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.algorithms import uniform
from driftwise.base import files
from driftwise.environments import Environment
from driftwise.experiments.folder_growth import HISTORY
from driftwise.experiments.outcomes import AgentOutcome
from driftwise.experiments.result_tables import parquet_bytes, results_table
from driftwise.experiments.results_folder import MANIFEST, RESULTS, read_manifest, read_table, sealed_manifest
from driftwise.experiments.study import Study
from driftwise.simulation.play import play
from driftwise.simulation.results import Result, join_origins

_NUM_SAMPLED = 100  # episodes of random actions, at most


def is_saved(folder: Path, facts: Mapping[str, Any]) -> bool:
    """Return whether the folder has whole files of these facts, which `manifest_of` made."""
    try:
        manifest = read_manifest(folder)
        read_table(folder, manifest, columns=[])
    except ValueError:
        return False
    plain = json.loads(files.compact_json(facts))
    return all(manifest.get(key) == value for key, value in plain.items() if key != "written")


def write_results(
    folder: Path, facts: Mapping[str, Any], results: Mapping[tuple[str, str], Result]
) -> list[Path]:
    """Write results by environment and label, and last the manifest that seals them; return both paths."""
    table = parquet_bytes(results_table(results))
    return files.write_files(folder, {RESULTS: table, MANIFEST: sealed_manifest(facts, table)})


def manifest_of(study: Study, outcomes: Sequence[AgentOutcome]) -> dict[str, Any]:
    """Return the facts of a run: what was run, with what, how long it took, and the regret of random play."""
    common = outcomes[0].result.manifest
    origin = join_origins(outcome.result.manifest for outcome in outcomes)
    with contextlib.suppress(PackageNotFoundError):
        origin["versions"]["pyarrow"] = version("pyarrow")  # which writes them

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
        "history": [{key: request[key] for key in HISTORY} for request in study.requests],
        **{key: common[key] for key in ("record_every", "precision", "platform")},
        "environments": {own.environment_label: own.result.manifest["environment"] for own in outcomes},
        "random_regret": {
            label: random_regret(own, study.lengths[label]) for label, own in study.environments.items()
        },
        "agents": [entry(outcome) for outcome in outcomes],
        "seconds": round(sum(outcome.seconds for outcome in outcomes), 3),
        **origin,
    }


def random_regret(environment: Environment, num_episodes: int) -> float:
    """Return the mean exact regret of an episode with uniformly drawn actions, over a sample of episodes."""
    sampled = np.unique(np.linspace(0, num_episodes - 1, _NUM_SAMPLED).round().astype(int))
    run = play(uniform(environment.spec), environment, num_episodes=num_episodes, episodes=sampled.tolist())
    return float(np.mean([episode.record.optimal - episode.record.value for episode in run]))
