"""Simulations on disk: one file each, replaced whole, from which a killed process goes on.

A checkpoint says what it belongs to. A finished one keeps its curves and drops the agents' states; then
the simulation is not run again but read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

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
    """What is asked of a simulation, and what its checkpoint is named by.

    An environment of one's own may have no configuration to be told by, so its models count themselves.
    """
    return {"format": FORMAT, "models": simulation.environment.digest(), **simulation.arguments()}


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
    for due in play(simulation):
        if due and path is not None:
            write_checkpoint(path, simulation)
        report(simulation.done, simulation.num_episodes)
    return simulation.result()


def play(simulation: Simulation) -> Iterator[bool]:
    """Play a simulation to its end; says after each chunk whether a checkpoint is due, as it is at the end.

    What is done about it before the next chunk counts as the cost of a checkpoint.
    """
    next_due = time.monotonic() + SECONDS_BETWEEN
    while simulation.done < simulation.num_episodes:
        simulation.advance()
        started = time.monotonic()
        due = simulation.done == simulation.num_episodes or started >= next_due
        yield due
        if due:
            now = time.monotonic()
            next_due = now + max(SECONDS_BETWEEN, (now - started) / SHARE)


def write_checkpoint(path: Path, simulation: Simulation) -> None:
    """Replace the file at `path`, or leave it as it was if that fails."""
    replace_file(path, lambda file: _save(file, simulation))


def checkpoint_bytes(simulation: Simulation) -> bytes:
    """What `write_checkpoint` would write."""
    file = io.BytesIO()
    _save(file, simulation)
    return file.getvalue()


def _save(file: BinaryIO, simulation: Simulation) -> None:
    arrays: dict[str, Any] = dict(simulation.checkpoint())
    np.savez(file, identity=np.array(json.dumps(_label(simulation), sort_keys=True)), **arrays)


def read_checkpoint(path: Path, simulation: Simulation) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint, after it was seen to be whole and of this simulation."""
    with path.open("rb") as file:
        return load_checkpoint(file, path, simulation)


def load_checkpoint(stream: BinaryIO, path: Path, simulation: Simulation) -> dict[str, np.ndarray]:
    """Like `read_checkpoint`, from a stream with the content of the file at `path`."""
    with _blamed(path), np.load(stream, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}  # reading checks each array's checksum
        found = {"platform": "cpu", **json.loads(str(arrays.pop("identity")))}  # older ones do not say
    if found.get("format", 0) > FORMAT:
        raise CheckpointError(
            f"{path} was written by a newer version of driftwise, which this one cannot read"
        )
    expected = json.loads(json.dumps(_label(simulation)))
    other = [key for key in sorted({*found, *expected}) if found.get(key) != expected.get(key)]
    if other == ["platform"]:
        raise CheckpointError(
            f"{path} was computed on a {found['platform']}, which rounds differently from a "
            f"{simulation.platform}: choose device {found['platform']!r}, or delete the file"
        )
    if other:
        raise CheckpointError(f"{path} belongs to another simulation, with another {', '.join(other)}")
    return arrays


def _label(simulation: Simulation) -> dict[str, Any]:
    """What a checkpoint has to agree in with the simulation that reads it."""
    return {**identity(simulation), "platform": simulation.platform}


@contextlib.contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """A file that cannot be understood is named, whatever its reader stumbled over."""
    try:
        yield
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is damaged ({reason}); delete it, and it is computed again") from None
