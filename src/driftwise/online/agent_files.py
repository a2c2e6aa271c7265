"""Files of agents: safetensors with a description, written whole or not at all."""

import hashlib
import io
import json
import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from driftwise.base import __version__
from driftwise.base.files import FileStamp, read_stamp, replace_unchanged, require_regular_file
from driftwise.base.validation import ArgumentError, add_article
from driftwise.online.tensors import Tensors

_FORMAT = 4  # of the description and the names of tensors; a reader refuses all others
_PRODUCT = "driftwise.online"
_LARGEST_HEADER = 100_000_000  # bytes that a safetensors file may have
_TYPES = ("BOOL", "U8", "I32", "I64", "U32", "U64", "F32", "F64")  # of the tensors of agents

_Source = str | os.PathLike[str] | bytes  # a path, or the content itself
_T = TypeVar("_T")
Stamps = dict[Path, FileStamp | None]  # of the file, behind all links, that an agent loaded or saved last


class AgentFile(NamedTuple):
    """Content of a file: the agent's description and its numbers."""

    description: dict[str, Any]  # plain values, with the `kind` of agent
    tensors: Tensors
    seen: Stamps
    version: str = __version__  # of the driftwise that wrote it


LOADERS: dict[str, Callable[[AgentFile, Any], Any]] = {}  # by the kind of agent that a description names


def load(path: str | os.PathLike[str], *, features: Any = None) -> Any:
    """Return the agent that was saved at `path`; it continues as if it had never stopped.

    It does so bit for bit with the same installation on the same kind of processor, except for the last
    digits of bandits with 64 dimensions and more. `features` are for an `EpisodicAgent` whose map no file
    can describe: those it was made with. A file that is damaged, not an agent's, or of another format is a
    `ValueError`.
    """
    return _restored(path, features)


def from_bytes(content: bytes, *, features: Any = None) -> Any:
    """Return the agent of `to_bytes`; otherwise as `load`."""
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise ArgumentError("content", "be bytes", content, f"a {type(content).__name__}")
    return _restored(bytes(content), features)


def require_own(kind: type[_T], agent: Any, name: str) -> _T:
    """Return the agent, which must be of this class; the error names the argument that it came in."""
    if not isinstance(agent, kind):
        got = f"one of {add_article(type(agent).__name__)}"
        raise ArgumentError(name, f"be of {add_article(kind.__name__)}", agent, got)
    return agent


def _restored(source: _Source, features: Any) -> Any:
    content = read_agent_file(source)
    kind = content.description.get("kind")
    if not isinstance(kind, str) or kind not in LOADERS:
        raise _refused(source, f"it is of a {kind!r}, and known are {', '.join(LOADERS)}")
    try:
        with np.errstate(all="ignore"):
            return LOADERS[kind](content, features)
    except Exception as error:  # a description and numbers that do not belong together may raise anything
        if isinstance(error, ArgumentError) and error.argument == "features" and error.value is features:
            raise ArgumentError("features", error.expected, features, _short(error.got)) from None
        why = f"driftwise {content.version} wrote it, and the agent in it cannot be made ({_short(error)})"
        advice = "load it with that version, or make a new agent and let it learn from your log"
        raise _refused(source, f"{why}; {advice}", "of this version") from error


def write_agent_file(path: str | os.PathLike[str], content: AgentFile) -> Stamps:
    """Replace the file at `path` at once; a `FileExistsError` if it has changed since the agent saw it."""
    place = Path(os.path.realpath(path))
    return {place: replace_unchanged(Path(path), *_whole(content), seen=content.seen.get(place))}


def to_bytes(content: AgentFile) -> bytes:
    """Return the content of a file."""
    return b"".join(_whole(content))


def _whole(content: AgentFile) -> list[bytes | memoryview]:
    """Return the parts of a safetensors file; its library would copy all numbers while it holds the GIL."""
    described = json.dumps(content.description, sort_keys=True, allow_nan=False)
    tensors = {name: np.asarray(tensor, order="C") for name, tensor in content.tensors.items()}
    metadata = {"product": _PRODUCT, "format": str(_FORMAT), "driftwise": __version__}
    metadata |= {"description": described, "checksum": _checksum(described, tensors)}
    ordered = sorted(tensors.items(), key=lambda named: (-named[1].dtype.itemsize, named[0]))  # aligned
    header, end = dict[str, Any](__metadata__=metadata), 0
    for name, tensor in ordered:
        start, end = end, end + tensor.nbytes
        bits = f"{tensor.dtype.kind.upper()}{8 * tensor.dtype.itemsize}"
        kind = "BOOL" if tensor.dtype.kind == "b" else bits
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *(_raw(tensor) for _, tensor in ordered)]


def read_agent_file(path: _Source) -> AgentFile:
    """Return what `write_agent_file` wrote; other files are refused, by their header if possible."""
    from safetensors import numpy as safetensors

    place = None if isinstance(path, bytes) else Path(os.path.realpath(path))
    seen = {} if place is None else {place: read_stamp(place)}  # before the content, which may be replaced
    header = _header(path)
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or metadata.get("product") != _PRODUCT:
        raise _refused(path, "it was not written by driftwise.online")
    if metadata.get("format") != str(_FORMAT):
        other = f"format {metadata.get('format')} of driftwise {metadata.get('driftwise')}"
        raise _refused(path, f"it has {other}, and this version reads format {_FORMAT}")
    types = [entry.get("dtype") for entry in header.values() if isinstance(entry, dict)]
    for unknown in (name for name in types if name not in _TYPES):
        raise _refused(path, f"it has a tensor of type {unknown!r}, and known are {', '.join(_TYPES)}")
    try:  # safetensors checks the sizes of tensors against the file
        arrays = safetensors.load(path) if isinstance(path, bytes) else safetensors.load_file(path)
        tensors = {name: np.require(array, requirements="W") for name, array in arrays.items()}
        described = metadata["description"]
        intact = metadata["checksum"] == _checksum(described, tensors)
        description = json.loads(described)
    except Exception as error:  # of any reader
        raise _damaged(path, error) from None
    if not intact:
        raise _refused(path, "its checksum does not fit its content")
    if not isinstance(description, dict):
        raise _refused(path, f"its description is no table: {_short(description)}")
    return AgentFile(description, tensors, seen, _short(metadata.get("driftwise")))


def _raw(array: np.ndarray) -> memoryview:
    """Return the bytes of an array in the order of files."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data


def _header(path: _Source) -> dict[str, Any]:
    """Return the header of a safetensors file: a table of its tensors, and the metadata."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name twice in the header")
        return dict(pairs)

    try:
        if not isinstance(path, bytes):
            require_regular_file(path)
        with io.BytesIO(path) if isinstance(path, bytes) else Path(path).open("rb") as file:
            rest = file.seek(0, io.SEEK_END) - 8
            file.seek(0)
            length = int.from_bytes(file.read(8), "little")
            if not 0 < length <= min(rest, _LARGEST_HEADER):
                raise ValueError(f"a header of {length} bytes, where there are {max(rest, 0)}")
            header = json.loads(file.read(length), object_pairs_hook=unique)
        if not isinstance(header, dict):
            raise ValueError("a header that is no table")
        return header
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:  # it exists, and is no file
        raise _refused(path, error.strerror or str(error)) from None
    except (RecursionError, ValueError) as error:
        raise _damaged(path, error) from None


def _refused(source: _Source, why: str, quality: str = "whole") -> ArgumentError:
    if isinstance(source, bytes):
        expected, got = f"be an agent's, and {quality}", f"{len(source)} bytes: {why}"
        return ArgumentError("content", expected, source, got)
    name = os.fspath(source)
    return ArgumentError("path", f"be an agent's file that is {quality}", name, f"{name!r}: {why}")


def _damaged(path: _Source, reason: Any) -> ArgumentError:
    return _refused(path, f"it is truncated, damaged or no safetensors file ({_short(reason)})")


def _short(reason: Any) -> str:
    """Return an error, or a value, in one line."""
    named = isinstance(reason, Exception) and type(reason) is not ValueError
    words = f"{type(reason).__name__}: {reason}" if named else str(reason)
    return textwrap.shorten(words, 300, placeholder=" …")


def _checksum(described: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(described.encode())
    for name in sorted(tensors):
        digest.update(f"\n{name} {tensors[name].dtype.str} {tensors[name].shape}\n".encode())
        digest.update(_raw(tensors[name]))
    return digest.hexdigest()
