"""Files of agents: safetensors with a description, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.arrays import map_tree
from driftwise.base.validation import ArgumentError

FORMAT = 2  # of the description and the names of tensors; a reader refuses newer ones
PRODUCT = "driftwise.online"


class Stored(NamedTuple):
    """What a file holds: what the agent is, and what it knows."""

    description: dict[str, Any]  # of plain values, with the `kind` of agent
    tensors: dict[str, np.ndarray]


def write(path: str | os.PathLike[str], stored: Stored) -> None:
    """Replace the file at `path` at once: whatever happens, it is the old one or the new one, complete."""
    from safetensors.numpy import save

    from driftwise.base.provenance import versions

    described = json.dumps(stored.description, sort_keys=True, allow_nan=False)
    tensors = {
        name: np.array(each, order="C") for name, each in stored.tensors.items()
    }  # others are scrambled
    metadata = {
        "product": PRODUCT,
        "format": str(FORMAT),
        "driftwise": versions()["driftwise"],
        "description": described,
        "checksum": _checksum(described, tensors),
    }
    _replace(Path(path), save(tensors, metadata))


def read(path: str | os.PathLike[str]) -> Stored:
    """What `write` has written; anything else is refused."""
    from safetensors import SafetensorError, safe_open

    with Path(path).open("rb"):  # who may not read it, or finds none, hears so from the system
        pass
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, no mapping
    except (SafetensorError, OSError, KeyError, TypeError) as error:
        raise _refused(path, f"it is truncated, damaged or no safetensors file ({error})") from None
    if metadata.get("product") != PRODUCT:
        raise _refused(path, "it was not written by driftwise.online")
    if metadata.get("format") != str(FORMAT):
        raise _refused(
            path,
            f"it has format {metadata.get('format')} of driftwise {metadata.get('driftwise')}, "
            f"and this version reads format {FORMAT}",
        )
    described = metadata.get("description", "")
    if metadata.get("checksum") != _checksum(described, tensors):
        raise _refused(path, "its checksum does not fit what it holds")
    return Stored(json.loads(described), tensors)


def leaves(tree: Any) -> list[np.ndarray]:
    """Copies of the arrays of a state or a plan, in the order of `map_tree`."""
    found: list[np.ndarray] = []
    map_tree(lambda leaf: found.append(np.array(leaf, order="C")), tree)
    return found


def with_leaves(like: Any, arrays: Iterable[np.ndarray]) -> Any:
    """A tree as `like` with other arrays."""
    following = iter(arrays)
    return map_tree(lambda _: next(following), like)


def _refused(path: str | os.PathLike[str], why: str) -> ArgumentError:
    given = os.fspath(path)
    return ArgumentError("path", "be an agent's file that is whole", given, f"{given!r}: {why}")


def _checksum(described: str, tensors: dict[str, np.ndarray]) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _replace(path: Path, content: bytes) -> None:
    path = path.resolve()  # a link stays one, to the new file
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if os.name == "posix":  # the new name has to outlive a power cut as well
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class WrongFeatures(ValueError):
    """Features that do not fit the agent in a file: the caller's mistake, not the file's."""


LOADERS: dict[str, Callable[[Stored, Any], Any]] = {}  # by the kind of agent that a description names


def load(path: str | os.PathLike[str], *, features: Any = None) -> Any:
    """The agent that was saved at `path`; it goes on exactly as if it had never stopped.

    `features` are for an `EpisodicAgent` whose map no file can describe: those it was made with. A file that
    is damaged, not an agent's, or of another format is a `ValueError`.
    """
    stored = read(path)
    kind = stored.description.get("kind")
    if kind not in LOADERS:
        raise _refused(path, f"it is of a {kind!r}, and known are {', '.join(LOADERS)}")
    try:
        return LOADERS[kind](stored, features)
    except WrongFeatures:
        raise
    except (IndexError, KeyError, TypeError, ValueError, StopIteration) as error:
        raise _refused(path, f"what it describes cannot be made ({error!r})") from error
