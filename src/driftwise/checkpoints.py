"""Simulations on disk: one file each, replaced whole, from which a killed process goes on.

A checkpoint says what it belongs to. A finished one keeps its curves and drops the agents' states; then
the simulation is not run again but read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.results import Result
from driftwise.simulator import Simulation
from driftwise.storage import remove_leftovers, replace_file

FORMAT = 1
SHARE = 0.05  # of the time that writing checkpoints may take
SECONDS_BETWEEN = 1.0


class CheckpointError(ValueError):
    """A file is there that no simulation can go on from; its text says which and why."""


def identity(simulation: Simulation) -> dict[str, Any]:
    """What a checkpoint has to agree in with the simulation that reads it.

    An environment of one's own may have no configuration to be told by, so its models count themselves.
    """
    environment = simulation.environment
    digest = hashlib.sha256(f"{environment.rewards} {environment.drift!r}".encode())
    for array in (environment.features, environment.theta, environment.mu, environment.initial):
        digest.update(f"{array.shape}".encode() + array.tobytes())
    return {"format": FORMAT, "models": digest.hexdigest(), **simulation.arguments()}


def checkpoint_name(simulation: Simulation) -> str:
    """A file name that simulations share only if they are the same."""
    text = json.dumps(identity(simulation), sort_keys=True, allow_nan=False)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.npz"


def simulate_from(
    path: Path | None, simulation: Simulation, *, progress: Callable[[int, int], None] | None = None
) -> Result:
    """Play a simulation to its end, from the checkpoint at `path` if there is one, keeping it up to date.

    One process at a time may do so with the same path. Without a path nothing is kept.
    """
    report = progress or (lambda done, total: None)
    if path is not None:
        remove_leftovers(path)
        with contextlib.suppress(FileNotFoundError):
            simulation.restore(read_checkpoint(path, simulation))
            report(simulation.done, simulation.num_episodes)
    due = time.monotonic() + SECONDS_BETWEEN
    while simulation.done < simulation.num_episodes:
        simulation.advance()
        if path is not None and (simulation.done == simulation.num_episodes or time.monotonic() >= due):
            started = time.monotonic()
            write_checkpoint(path, simulation)
            spent = time.monotonic() - started
            due = time.monotonic() + max(SECONDS_BETWEEN, spent / SHARE)
        report(simulation.done, simulation.num_episodes)
    return simulation.result()


def write_checkpoint(path: Path, simulation: Simulation) -> None:
    """Replace the file at `path`, or leave it as it was if that fails."""
    arrays: dict[str, Any] = dict(simulation.checkpoint())
    label = json.dumps(identity(simulation), sort_keys=True)
    replace_file(path, lambda file: np.savez(file, identity=np.array(label), **arrays))


def read_checkpoint(path: Path, simulation: Simulation) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint, after it was seen to be whole and of this simulation."""
    with path.open("rb") as stream, _blamed(path), np.load(stream, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}  # reading checks each array's checksum
        found = json.loads(str(arrays.pop("identity")))
    if found.get("format", 0) > FORMAT:
        raise CheckpointError(
            f"{path} was written by a newer version of driftwise, which this one cannot read"
        )
    expected = json.loads(json.dumps(identity(simulation)))
    other = [key for key in sorted({*found, *expected}) if found.get(key) != expected.get(key)]
    if other:
        raise CheckpointError(f"{path} belongs to another simulation, with another {', '.join(other)}")
    return arrays


@contextlib.contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """A file that cannot be understood is named, whatever its reader stumbled over."""
    try:
        yield
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is damaged ({reason}); delete it, and it is computed again") from None
