"""Simulations on disk: one file each, replaced whole, from which a killed process goes on.

A checkpoint says what it belongs to and what computed it. That of a finished simulation is read, and nothing
is run again. It keeps the agents' states if they are small, so that a longer simulation can go on from them.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.base.files import replace_file, replaceable
from driftwise.base.kinds import (
    COUNT,
    LIST,
    NULL,
    TABLE,
    WORD,
    Kinds,
    require_kind_of,
    require_kind_of_each,
    require_kinds_of,
)
from driftwise.base.provenance import provenance
from driftwise.base.validation import ArgumentError
from driftwise.simulation.results import Result
from driftwise.simulation.simulator import SECONDS_AT_ONCE, STATE, Simulation
from driftwise.simulation.tasks import Task

FORMAT = 4  # of a checkpoint
SHARE = 0.05  # of the time that writing checkpoints may take
SECONDS_BETWEEN = 1.0
AGAIN = "--recompute, or recompute=True"
IDENTITY: Kinds = {"format": COUNT, "platform": WORD}
ORIGIN: Kinds = {  # a list where several computed it
    "device": WORD + LIST,
    "versions": TABLE,
    "sources": TABLE,
    "commit": WORD + NULL + LIST,
    "host": TABLE + LIST,
    "xla_flags": WORD + LIST,
}
DECISIVE = ("driftwise", "jax", "jaxlib")  # packages of which another version may round differently


class CheckpointError(ValueError):
    """A checkpoint that no simulation can go on from; the text says which and why."""


class OutdatedError(CheckpointError):
    """A checkpoint of other code or other versions, which can be dropped and computed again."""


def identity(task: Task) -> dict[str, Any]:
    """All that a task asks for, by which its checkpoint is named.

    An environment of one's own may have no configuration to be told by, so its models count themselves.
    """
    return {"models": task.environment.digest(), **task.arguments()}


def checkpoint_name(task: Task) -> str:
    """A file name that tasks share only if they are the same."""
    text = json.dumps(identity(task), sort_keys=True, allow_nan=False)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.npz"


def simulate_from(
    path: Path | None,
    simulation: Simulation,
    *,
    progress: Callable[[Simulation], None] = lambda simulation: None,
) -> Result:
    """Bring a simulation to its end, from the checkpoint at `path` if there is one, keeping it up to date.

    One process at a time may do so with the same path. Without a path nothing is kept. `progress` is called
    with the simulation, at first with what was done before; what it raises ends it, after a last checkpoint.
    """
    if path is not None and (content := read_content(path)) is not None:
        restore_from(content, path, simulation)
    progress(simulation)
    for due in parts(simulation):
        if due and path is not None:
            write_checkpoint(path, simulation)
        try:
            progress(simulation)
        except BaseException:  # whoever listens wants to stop; nothing that was played is lost
            if not due and path is not None:
                write_checkpoint(path, simulation)
            raise
    return simulation.result()


def parts(simulation: Simulation) -> Iterator[bool]:
    """Advance a simulation to its end; yields about every second, or more often, whether a checkpoint is due.

    One is due at the end. All that is done before the next part counts as the cost of a checkpoint.
    """
    next_due = time.monotonic() + SECONDS_BETWEEN
    while not simulation.finished:
        simulation.advance(SECONDS_AT_ONCE)
        started = time.monotonic()
        due = simulation.finished or started >= next_due
        yield due
        if due:
            now = time.monotonic()
            next_due = now + max(SECONDS_BETWEEN, (now - started) / SHARE)


def write_checkpoint(path: Path, simulation: Simulation) -> None:
    """Replace the file at `path`, or leave it as it was if that fails."""
    replace_file(path, checkpoint_bytes(simulation))


def checkpoint_bytes(simulation: Simulation) -> bytes:
    """Content of a simulation's checkpoint."""
    return _content(simulation, simulation.checkpoint())


def _content(simulation: Simulation, arrays: Mapping[str, np.ndarray]) -> bytes:
    file, label = io.BytesIO(), np.array(json.dumps(_label(simulation), sort_keys=True))
    np.savez(file, identity=label, **arrays)  # pyright: ignore[reportArgumentType]
    return file.getvalue()


def lengthen(folder: Path, task: Task, shorter: Iterable[int], *, recompute: bool = False) -> None:
    """Let a task go on from the checkpoint of the same one with fewer episodes, if the folder has any.

    Args:
      shorter: numbers of episodes that the task may have had; fewer than now.
      recompute: leave a checkpoint of other code or other versions alone, instead of refusing it.
    """
    path = folder / checkpoint_name(task)
    for length in sorted(set(shorter), reverse=True):
        if path.exists() or length >= task.num_episodes:
            continue
        before = replace(task, num_episodes=length)
        source = folder / checkpoint_name(before)
        if (content := read_content(source)) is None:
            continue
        try:
            arrays = load_checkpoint(content, source, Simulation(before))
        except OutdatedError:
            if not recompute:
                raise
            continue
        if any(name.startswith(STATE) for name in arrays):
            replace_file(path, _content(Simulation(task), arrays))


def read_content(path: Path) -> bytes | None:
    """The bytes of the checkpoint at `path`; None if there is none."""
    try:
        return replaceable(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(
            f"{path} cannot be read ({reason}); mend or remove it: what is missing is computed again"
        ) from None


def drop_outdated(path: Path, simulation: Simulation) -> None:
    """Remove the checkpoint at `path` if other code or other versions left it; any other fault is raised."""
    try:
        if (content := read_content(path)) is not None:
            load_checkpoint(content, path, simulation)
    except OutdatedError:
        path.unlink()


def restore_from(content: bytes, path: Path, simulation: Simulation) -> None:
    """Let a simulation go on from the content of the checkpoint at `path`."""
    arrays = load_checkpoint(content, path, simulation)
    with _calling_it_damaged(path, ArgumentError):
        simulation.restore(arrays)


def load_checkpoint(content: bytes, path: Path, simulation: Simulation) -> dict[str, np.ndarray]:
    """The arrays of the checkpoint at `path`, if its content is whole and of this simulation."""
    with _calling_it_damaged(path, Exception):  # whatever a reader stumbles over
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}  # checks their checksums
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(member), allow_pickle=False)
            for name, member in members.items()
        }
        identified = _table("identity", arrays.pop("identity"), IDENTITY)
    _require_same_task(identified, path, simulation)
    with _calling_it_damaged(path, Exception):
        origin = _table("origin", arrays["origin"], ORIGIN)
        for name in ("versions", "sources"):
            require_kind_of_each(f"origin.{name}", origin[name], WORD + LIST)
        simulation.progress_in(arrays)
    _require_same_code(origin, path, simulation)
    return arrays


def _require_same_task(found: dict[str, Any], path: Path, simulation: Simulation) -> None:
    if age := found["format"] - FORMAT:
        writer = "a newer" if age > 0 else "an older"
        why = f"was written by {writer} version of driftwise, which this one cannot read"
        raise OutdatedError(f"{path} {why}: take that one, or compute it again ({AGAIN})")
    expected = json.loads(json.dumps(_label(simulation)))
    other = [key for key in sorted({*found, *expected}) if found.get(key) != expected.get(key)]
    if other == ["platform"]:
        raise CheckpointError(
            f"{path} was computed on a {found['platform']}, which rounds differently from a "
            f"{simulation.platform}: choose device {found['platform']!r}, or delete the file"
        )
    if other:
        raise CheckpointError(f"{path} belongs to another simulation, with another {', '.join(other)}")


def _require_same_code(origin: dict[str, Any], path: Path, simulation: Simulation) -> None:
    versions, sources, here = origin["versions"], origin["sources"], simulation.sources
    if any(versions.get(name) != provenance()["versions"][name] for name in DECISIVE):
        those = ", ".join(f"{name} {versions.get(name)}" for name in DECISIVE)
        raise OutdatedError(f"{path} was computed with {those}: install those, or compute it again ({AGAIN})")
    changed = [name for name in sorted({*sources, *here}) if sources.get(name) != here.get(name)]
    if changed:
        raise OutdatedError(
            f"{path} was computed by other code ({', '.join(changed)}): bring that back, "
            f"or compute it again ({AGAIN})"
        )


def _table(name: str, array: np.ndarray, kinds: Kinds) -> dict[str, Any]:
    """The table that an array has as JSON, with all that is of these kinds."""
    table = json.loads(str(array))
    require_kind_of(name, table, TABLE)
    if missing := [key for key in kinds if key not in table]:
        raise ValueError(f"{name}.{missing[0]} is missing")
    require_kinds_of(f"{name}.", table, kinds)
    return table


def _label(simulation: Simulation) -> dict[str, Any]:
    """All in which a checkpoint has to agree with the simulation that reads it."""
    return {"format": FORMAT, **identity(simulation.task), "platform": simulation.platform}


@contextlib.contextmanager
def _calling_it_damaged(path: Path, fault: type[Exception]) -> Iterator[None]:
    try:
        yield
    except fault as error:
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is damaged ({reason}); delete it, and it is computed again") from None
