"""Files of agents: safetensors with a description, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.arrays import map_tree
from driftwise.base.files import replace_file
from driftwise.base.validation import ArgumentError

FORMAT = 2  # of the description and the names of tensors; a reader refuses all others
PRODUCT = "driftwise.online"

Tensors = dict[str, np.ndarray]


class AgentFile(NamedTuple):
    """Content of a file: the agent's description and its numbers."""

    description: dict[str, Any]  # plain values, with the `kind` of agent
    tensors: Tensors


LOADERS: dict[str, Callable[[AgentFile, Any], Any]] = {}  # by the kind of agent that a description names


def load(path: str | os.PathLike[str], *, features: Any = None) -> Any:
    """The agent that was saved at `path`; it goes on exactly as if it had never stopped.

    `features` are for an `EpisodicAgent` whose map no file can describe: those it was made with. A file that
    is damaged, not an agent's, or of another format is a `ValueError`.
    """
    content = read(path)
    kind = content.description.get("kind")
    if kind not in LOADERS:
        raise _refused(path, f"it is of a {kind!r}, and known are {', '.join(LOADERS)}")
    try:
        return LOADERS[kind](content, features)
    except (IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ArgumentError) and error.argument == "features":  # the caller's mistake
            raise
        raise _refused(path, f"the agent in it cannot be made ({error!r})") from error


def write(path: str | os.PathLike[str], content: AgentFile) -> None:
    """Replace the file at `path` at once: whatever happens, it is the old one or the new one, complete."""
    from safetensors.numpy import save

    from driftwise.base.provenance import versions

    described = json.dumps(content.description, sort_keys=True, allow_nan=False)
    tensors = {name: np.asarray(each, order="C") for name, each in content.tensors.items()}  # as files do
    metadata = {
        "product": PRODUCT,
        "format": str(FORMAT),
        "driftwise": versions()["driftwise"],
        "description": described,
        "checksum": _checksum(described, tensors),
    }
    replace_file(Path(path), save(tensors, metadata))


def read(path: str | os.PathLike[str]) -> AgentFile:
    """The content that `write` has written; any other file is refused."""
    from safetensors import SafetensorError, safe_open

    with Path(path).open("rb"):  # a file that is missing or not readable is the system's error
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
        found = f"format {metadata.get('format')} of driftwise {metadata.get('driftwise')}"
        raise _refused(path, f"it has {found}, and this version reads format {FORMAT}")
    described = metadata.get("description", "")
    if metadata.get("checksum") != _checksum(described, tensors):
        raise _refused(path, "its checksum does not fit its content")
    return AgentFile(json.loads(described), tensors)


def to_tensors(name: str, tree: Any) -> Tensors:
    """Copies of the arrays of a state or a plan, as `name.0`, `name.1`, …"""
    return {f"{name}.{i}": leaf for i, leaf in enumerate(leaves(tree))}


def from_tensors(name: str, like: Any, tensors: Tensors) -> Any:
    """The tree that `to_tensors` wrote, which is as `like` but for its numbers."""
    return with_leaves(like, [tensors[f"{name}.{i}"] for i in range(len(leaves(like)))])


def pack(name: str, arrays: Sequence[np.ndarray]) -> Tensors:
    """Arrays of one type and number of axes, which may differ in size, as two tensors."""
    return {
        f"{name}.shapes": np.array([each.shape for each in arrays], dtype=np.int64),
        f"{name}.values": np.concatenate([each.ravel() for each in arrays]),
    }


def unpack(name: str, tensors: Tensors) -> list[np.ndarray]:
    """The arrays that were packed."""
    shapes = tensors[f"{name}.shapes"].tolist()
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(tensors[f"{name}.values"], ends[:-1])
    return [part.reshape(shape).copy() for part, shape in zip(parts, shapes, strict=True)]


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


def _checksum(described: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
