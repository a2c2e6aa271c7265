"""Checkpoints: one file for each task, replaced whole, from which a killed process continues.

A checkpoint names the task that it belongs to and the code that computed it. A finished task is read from it
and not run again; it keeps the agents' states if they are small, for a longer task to continue from.
"""

import contextlib
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.base.files import replace_file, resolve_file
from driftwise.base.provenance import provenance
from driftwise.base.schema import COUNT, LIST, NULL, TABLE, WORD, require_shape
from driftwise.simulation.simulator import SECONDS_AT_ONCE, STATE
from driftwise.simulation.tasks import Job, Task, Work, read_progress

_FORMAT = 5  # of a checkpoint; formats from the fifth on have a seal
_TIME_SHARE = 0.05  # of the time that writing checkpoints may take
_SECONDS_BETWEEN = 1.0
_RECOMPUTE = "compute it again (--recompute, or recompute=True)"
_SEAL = "sha256"  # the array that seals all others
_IDENTITY = {"format": COUNT, "platform": WORD}
_ORIGIN = {  # lists where several computed it
    "versions": {"*": WORD + LIST},
    "sources": {"*": WORD + LIST},
    "device": WORD + LIST,
    "xla_flags": WORD + LIST,
    "commit": WORD + NULL + LIST,
    "host": TABLE + LIST,
}
_DECISIVE = ("driftwise", "jax", "jaxlib")  # packages of which another version may round differently


class CheckpointError(ValueError):
    """A checkpoint that no task can continue from; the text says which one and why."""


class OutdatedError(CheckpointError):
    """A checkpoint of other code or other versions, which can be computed again."""


def content_hash(task: Job) -> str:
    """Return a hash of all that determines a task's numbers but how many episodes there are."""
    facts = {key: value for key, value in task.identity().items() if key != "num_episodes"}
    text = json.dumps(facts, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def checkpoint_name(task: Job) -> str:
    """Return the file name of a task's checkpoint: its content hash and its episodes."""
    return f"{content_hash(task)}-{task.num_episodes:010d}.npz"


def shorter_checkpoints(folder: Path, task: Job) -> list[Path]:
    """Return the checkpoints in a folder of the same task with fewer episodes, the longest first."""
    name = checkpoint_name(task)
    alike = folder.glob(f"{name.partition('-')[0]}-*.npz")
    return sorted((path for path in alike if path.name < name), reverse=True)


def resume(
    path: Path | None, simulation: Work, *, progress: Callable[[Any], None] = lambda simulation: None
) -> Any:
    """Bring a simulation to its end, from the checkpoint at `path` if there is one, keeping it up to date.

    One process at a time may do so with the same path. Without a path nothing is kept. `progress` is called
    with the simulation, first before anything is played; what it raises ends it, after a last checkpoint.
    """
    if path is not None and (content := read_checkpoint(path)) is not None:
        restore_checkpoint(content, path, simulation)
    progress(simulation)
    for due in advance_in_parts(simulation):
        if due and path is not None:
            replace_file(path, pack_checkpoint(simulation))
        try:
            progress(simulation)
        except BaseException:  # raised to stop: nothing that was played is lost
            if not due and path is not None:
                replace_file(path, pack_checkpoint(simulation))
            raise
    return simulation.result()


def advance_in_parts(simulation: Work) -> Iterator[bool]:
    """Advance a simulation in parts of about a second; yield whether a checkpoint is due, as at the end."""
    next_due = time.monotonic() + _SECONDS_BETWEEN
    while not simulation.finished:
        simulation.advance(SECONDS_AT_ONCE)
        started = time.monotonic()
        due = simulation.finished or started >= next_due
        yield due
        if due:
            now = time.monotonic()
            next_due = now + max(_SECONDS_BETWEEN, (now - started) / _TIME_SHARE)  # it took since `started`


def pack_checkpoint(simulation: Work, arrays: Mapping[str, np.ndarray] | None = None) -> bytes:
    """Return the content of a task's checkpoint, with its own arrays unless others are given."""
    label = np.array(json.dumps(_label(simulation), sort_keys=True))
    return pack_archive({"identity": label, **(simulation.checkpoint() if arrays is None else arrays)})


def pack_archive(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return the content of a file with these arrays and their seal."""
    file = io.BytesIO()
    np.savez(file, **{**arrays, _SEAL: np.array(_seal(arrays))})  # pyright: ignore[reportArgumentType]
    return file.getvalue()


def _seal(arrays: Mapping[str, np.ndarray]) -> str:
    """Return a digest of the names, types, shapes and values of all arrays but the seal."""
    digest = hashlib.sha256()
    for name in sorted(arrays.keys() - {_SEAL}):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {np.shape(arrays[name])}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def lengthen(folder: Path, task: Task, *, recompute: bool = False) -> None:
    """Give a task the states of the same one with fewer episodes; outdated ones are refused, or skipped."""
    path = folder / checkpoint_name(task)
    for source in [] if path.exists() else shorter_checkpoints(folder, task):
        before = replace(task, num_episodes=int(source.stem.partition("-")[2]))
        with contextlib.suppress(*[OutdatedError] * recompute):
            arrays = load_checkpoint(read_checkpoint(source) or b"", source, before.begin())
            if any(name.startswith(STATE) for name in arrays):
                replace_file(path, pack_checkpoint(task.begin(), arrays))
                return


def read_checkpoint(path: Path) -> bytes | None:
    """Return the bytes of the checkpoint at `path`; None if there is none."""
    try:
        return resolve_file(path).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        why = f"{path} cannot be read ({error.strerror or error})"
        raise CheckpointError(f"{why}; mend or remove it: what is missing is computed again") from None


def drop_outdated(path: Path, simulation: Work) -> None:
    """Remove the checkpoint at `path` if other code or other versions left it; any other fault is raised."""
    try:
        if (content := read_checkpoint(path)) is not None:
            load_checkpoint(content, path, simulation)
    except OutdatedError:
        path.unlink()


def restore_checkpoint(content: bytes, path: Path, simulation: Work) -> None:
    """Restore a task from the content of the checkpoint at `path`."""
    arrays = load_checkpoint(content, path, simulation)
    with _corrupt_file_errors(path, ValueError):
        simulation.restore(arrays)


def load_checkpoint(content: bytes, path: Path, simulation: Work) -> dict[str, np.ndarray]:
    """Return the arrays of the checkpoint at `path`, if its content is undamaged and of this task."""
    with _corrupt_file_errors(path, Exception):  # readers of damaged files raise errors of many types
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: io.BytesIO(archive.read(name)) for name in archive.namelist()}  # and checks them
        arrays = {name[:-4]: np.load(file, allow_pickle=False) for name, file in members.items()}  # NAME.npy
        stored = json.loads(str(arrays["identity"]))
        require_shape("identity", stored, _IDENTITY, whole=True)
    if age := stored["format"] - _FORMAT:
        writer = f"{'a newer' if age > 0 else 'an older'} version of driftwise, which this one cannot read"
        raise OutdatedError(f"{path} was written by {writer}: take that one, or {_RECOMPUTE}")
    expected = json.loads(json.dumps(_label(simulation)))
    other = [key for key in sorted({*stored, *expected}) if stored.get(key) != expected.get(key)]
    if other == ["platform"]:
        raise CheckpointError(
            f"{path} was computed on a {stored['platform']}, which rounds differently from a "
            f"{simulation.platform}: choose device {stored['platform']!r}, or delete the file"
        )
    if other:
        raise CheckpointError(f"{path} belongs to another simulation, with another {', '.join(other)}")
    with _corrupt_file_errors(path, Exception):
        if str(arrays[_SEAL]) != _seal(arrays):
            raise ValueError("its content is not what it was written with")
        del arrays[_SEAL], arrays["identity"]
        origin = json.loads(str(arrays["origin"]))
        require_shape("origin", origin, _ORIGIN, whole=True)
        read_progress(arrays, simulation.task.num_episodes)
    versions, sources, here = origin["versions"], origin["sources"], simulation.sources
    if any(versions.get(name) != provenance()["versions"][name] for name in _DECISIVE):
        used = ", ".join(f"{name} {versions.get(name)}" for name in _DECISIVE)
        raise OutdatedError(f"{path} was computed with {used}: install those, or {_RECOMPUTE}")
    if changed := [name for name in sorted({*sources, *here}) if sources.get(name) != here.get(name)]:
        code = f"other code ({', '.join(changed)})"
        raise OutdatedError(f"{path} was computed by {code}: bring that back, or {_RECOMPUTE}")
    return arrays


def _label(simulation: Work) -> dict[str, Any]:
    """Return everything in which a checkpoint must agree with the task that reads it."""
    return {"format": _FORMAT, **simulation.task.identity(), "platform": simulation.platform}


@contextlib.contextmanager
def _corrupt_file_errors(path: Path, fault: type[Exception]) -> Iterator[None]:
    try:
        yield
    except fault as error:
        reason = str(error) or type(error).__name__
        raise CheckpointError(f"{path} is damaged ({reason}); delete it, and it is computed again") from None
