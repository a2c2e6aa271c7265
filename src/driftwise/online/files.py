"""Files of agents: safetensors with a description, written whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import os
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import numpy as np

from driftwise.base.files import Mark, behind_links, mark, replace_seen, require_regular
from driftwise.base.validation import ArgumentError, article
from driftwise.online.tensors import Tensors

FORMAT = 4  # of the description and the names of tensors; a reader refuses all others
PRODUCT = "driftwise.online"
LARGEST_HEADER = 100_000_000  # bytes that a safetensors file may have
TYPES = ("BOOL", "U8", "I32", "I64", "U32", "U64", "F32", "F64")  # of the tensors of agents

Source = str | os.PathLike[str] | bytes  # a path, or the content itself
T = TypeVar("T")


class AgentFile(NamedTuple):
    """Content of a file: the agent's description and its numbers."""

    description: dict[str, Any]  # plain values, with the `kind` of agent
    tensors: Tensors
    seen: Seen | None = None  # where it was read


class Seen(NamedTuple):
    """A file as it was when an agent loaded or saved it."""

    path: Path  # behind all links
    mark: Mark | None


LOADERS: dict[str, Callable[[AgentFile, Any], Any]] = {}  # by the kind of agent that a description names


def load(path: str | os.PathLike[str], *, features: Any = None) -> Any:
    """The agent that was saved at `path`; it goes on as if it had never stopped.

    It does so bit for bit where driftwise was installed in the same way on the same kind of processor, but
    for the last digits of bandits with 150 dimensions and more.
    `features` are for an `EpisodicAgent` whose map no file can describe: those it was made with. A file that
    is damaged, not an agent's, or of another format is a `ValueError`.
    """
    return _restored(path, features)


def from_bytes(content: bytes, *, features: Any = None) -> Any:
    """The agent of `to_bytes`; all else is as for `load`."""
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise ArgumentError("content", "be bytes", content, f"a {type(content).__name__}")
    return _restored(bytes(content), features)


def require_own(kind: type[T], agent: Any, name: str) -> T:
    """An agent of a class; one of another class is refused by the name of the argument that it came in."""
    if not isinstance(agent, kind):
        found = f"one of {article(type(agent).__name__)}"
        raise ArgumentError(name, f"be of {article(kind.__name__)}", agent, found)
    return agent


def _restored(source: Source, features: Any) -> Any:
    content = read(source)
    kind = content.description.get("kind")
    if not isinstance(kind, str) or kind not in LOADERS:
        raise _refused(source, f"it is of a {kind!r}, and known are {', '.join(LOADERS)}")
    try:
        with np.errstate(all="ignore"):
            return LOADERS[kind](content, features)
    except Exception as error:  # whatever a description and numbers that do not belong together lead to
        if isinstance(error, ArgumentError) and error.argument == "features" and error.value is features:
            raise ArgumentError("features", error.expected, features, _short(error.got)) from None
        raise _refused(source, f"the agent in it cannot be made ({_short(error)})") from error


def write(path: str | os.PathLike[str], content: AgentFile) -> Seen:
    """Replace the file at `path` at once: whatever happens, it is the old one or the new one, complete.

    A `FileExistsError` if it is not any more as the agent saw it last: somebody else saves there too.
    """
    place, seen = behind_links(Path(path)), content.seen
    before = seen.mark if seen is not None and seen.path == place else None
    return Seen(place, replace_seen(Path(path), *_whole(content), seen=before))


def to_bytes(content: AgentFile) -> bytes:
    """The content of a file."""
    return b"".join(_whole(content))


def _whole(content: AgentFile) -> list[bytes | memoryview]:
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
    return _pieces(tensors, metadata)


def read(path: Source) -> AgentFile:
    """The content that `write` has written; any other file is refused, and by its header if that tells."""
    place = None if isinstance(path, bytes) else behind_links(Path(path))
    seen = None if place is None else Seen(place, mark(place))  # before it is read: it may be replaced
    header = _header(path)
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or metadata.get("product") != PRODUCT:
        raise _refused(path, "it was not written by driftwise.online")
    if metadata.get("format") != str(FORMAT):
        found = f"format {metadata.get('format')} of driftwise {metadata.get('driftwise')}"
        raise _refused(path, f"it has {found}, and this version reads format {FORMAT}")
    types = [each.get("dtype") for each in header.values() if isinstance(each, dict)]
    for unknown in (each for each in types if each not in TYPES):
        raise _refused(path, f"it has a tensor of type {unknown!r}, and known are {', '.join(TYPES)}")
    try:
        tensors = _tensors(path)
        described = metadata["description"]
        fits = metadata["checksum"] == _checksum(described, tensors)
        description = json.loads(described)
    except Exception as error:  # whatever a reader stumbled over
        raise _damaged(path, error) from None
    if not fits:
        raise _refused(path, "its checksum does not fit its content")
    if not isinstance(description, dict):
        raise _refused(path, f"its description is no table: {_short(description)}")
    return AgentFile(description, tensors, seen)


def _tensors(source: Source) -> Tensors:
    """All tensors; safetensors checks their sizes against the file."""
    from safetensors import safe_open
    from safetensors.numpy import load

    if isinstance(source, bytes):
        return {name: each.copy() for name, each in load(source).items()}
    with safe_open(source, framework="np") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, no mapping


def _pieces(tensors: Tensors, metadata: dict[str, str]) -> list[bytes | memoryview]:
    """A safetensors file: the length of its header, the header, and the numbers, which are not copied.

    The library's own writer copies them while no other thread can run, and decisions would wait for that.
    """
    ordered = sorted(tensors.items(), key=lambda named: (-named[1].dtype.itemsize, named[0]))  # aligned
    ends = np.cumsum([each.nbytes for _, each in ordered]).tolist()
    header: dict[str, Any] = {"__metadata__": metadata}
    for (name, each), end in zip(ordered, ends, strict=True):
        offsets = [end - each.nbytes, end]
        header[name] = {"dtype": _type(each), "shape": list(each.shape), "data_offsets": offsets}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *(_raw(each) for _, each in ordered)]


def _type(array: np.ndarray) -> str:
    """The name that safetensors has for a type of numbers."""
    return "BOOL" if array.dtype.kind == "b" else f"{array.dtype.kind.upper()}{8 * array.dtype.itemsize}"


def _raw(array: np.ndarray) -> memoryview:
    """The bytes of an array, as files have them."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data


def _header(path: Source) -> dict[str, Any]:
    """The header of a safetensors file: a table of its tensors, and the metadata."""
    try:
        with _opened(path) as file:
            room = file.seek(0, io.SEEK_END) - 8
            file.seek(0)
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= min(room, LARGEST_HEADER):
                raise _damaged(path, f"a header of {length} bytes, where there are {max(room, 0)}")
            content = file.read(length)
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:  # there is something, and it is no file
        raise _refused(path, error.strerror or str(error)) from None
    try:
        header = json.loads(content, object_pairs_hook=_table)
    except (RecursionError, ValueError) as error:
        raise _damaged(path, error) from None
    if not isinstance(header, dict):
        raise _damaged(path, "a header that is no table")
    return header


def _opened(source: Source) -> BinaryIO:
    if isinstance(source, bytes):
        return io.BytesIO(source)
    require_regular(source)
    return Path(source).open("rb")


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a name twice in the header")
    return table


def require_plain(name: str, values: Any) -> dict[str, Any]:
    """A copy of a dictionary of plain values, which JSON gives back as they were."""
    try:
        if (
            isinstance(values, Mapping)
            and (read := json.loads(json.dumps(dict(values), allow_nan=False))) == values
        ):
            return read
    except (RecursionError, TypeError, ValueError):  # it has no such values
        pass
    raise ArgumentError(
        name, "be a dictionary of words, numbers, lists and dictionaries", values, _short(repr(values))
    )


def _refused(source: Source, why: str) -> ArgumentError:
    if isinstance(source, bytes):
        expected, found = "be an agent's, and whole", f"{len(source)} bytes: {why}"
        return ArgumentError("content", expected, source, found)
    given = os.fspath(source)
    return ArgumentError("path", "be an agent's file that is whole", given, f"{given!r}: {why}")


def _damaged(path: Source, reason: Any) -> ArgumentError:
    return _refused(path, f"it is truncated, damaged or no safetensors file ({_short(reason)})")


def _short(reason: Any) -> str:
    """The words of an error, or of a value, in one line."""
    words = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason)
    return textwrap.shorten(words, 300, placeholder=" …")


def _checksum(described: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(_raw(array))
    return digest.hexdigest()
