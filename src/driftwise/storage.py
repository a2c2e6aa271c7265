"""Results on disk: a folder with tidy Parquet, a figure and a manifest, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from driftwise.results import Result

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2  # of a results folder; a reader can refuse what it does not know
MANIFEST, RESULTS = "manifest.json", "results.parquet"
# Of the results; any other column is a diagnostic.
COLUMNS = ("environment", "agent", "parameters", "run", "episode", "reward", "regret", "cumulative_regret")
SECONDS_OF_A_LEFTOVER = 24 * 3600  # after which whoever wrote it is gone

_HOST = platform.node().replace(".", "-")

Writer = Callable[[BinaryIO], object]


@contextlib.contextmanager
def output_folder(path: Path, names: Iterable[str]) -> Iterator[Path]:
    """The folder, made if need be and found ready to take the named files; made in vain, it is removed."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        for name in names:
            _temporary(path / name).touch()
            _temporary(path / name).unlink()
            if (path / name).is_dir():
                raise IsADirectoryError(errno.EISDIR, f"{name} in it is a folder")
        yield path
    except BaseException:
        for folder in made:
            with contextlib.suppress(OSError):  # not empty, or never made
                folder.rmdir()
        raise


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else writes to the folder meanwhile; an `OSError` if somebody does."""
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise OSError(errno.EBUSY, "another run is writing to it") from None
    try:
        yield
    finally:
        lock.release()


def claim(folder: Path, name: str, claimed: Mapping[str, Any]) -> None:
    """Say in a file what the folder is for; a `ValueError` if it says something else already."""
    path = folder / name
    claimed = json.loads(compact_json(claimed))
    if not path.exists():
        replace_file(path, json_writer(claimed))
        return
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        newer = found["format"] > claimed["format"]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{path} is damaged: remove the folder or choose another") from None
    if newer:
        raise ValueError(f"{folder} was written by a newer version of driftwise: choose another folder")
    other = list(differing(found, claimed))
    if other:
        raise ValueError(
            f"{folder} holds a run with another {', '.join(other)}: remove it or choose another folder"
        )


def differing(first: Any, second: Any, *keys: str) -> Iterator[str]:
    """The dotted paths at which two values of plain tables differ."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in sorted({*first, *second}):
            yield from differing(first.get(key), second.get(key), *keys, key)
    elif first != second:
        yield ".".join(keys)


def replace_file(path: Path, write: Writer) -> None:
    """Write a file under a temporary name, then put it in the place of the old one."""
    try:
        _stage(path, write)
        os.replace(_temporary(path), path)
    finally:
        _temporary(path).unlink(missing_ok=True)


def write_files(folder: Path, writers: Mapping[str, Writer]) -> list[Path]:
    """Write files that belong together; the last one seals the set.

    All are written under temporary names first: if any of that fails, what was in the folder stays as it
    was. The old seal goes before the first file is replaced, so a folder with a seal is never a mixture.
    """
    paths = [folder / name for name in writers]
    try:
        for path, write in zip(paths, writers.values(), strict=True):
            _stage(path, write)
        paths[-1].unlink(missing_ok=True)
        for path in paths:
            os.replace(_temporary(path), path)
    finally:
        for path in paths:
            _temporary(path).unlink(missing_ok=True)
    return paths


def _stage(path: Path, write: Writer) -> None:
    with _temporary(path).open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that were killed while they wrote a file of the folder left behind."""
    for leftover in folder.glob(".*.part"):
        *_, host, pid, _ = leftover.name.rsplit(".", 3)
        with contextlib.suppress(OSError, ValueError):  # it is gone already, or none of ours
            ended = not _lives(int(pid)) and host == _HOST
            if ended or time.time() - leftover.stat().st_mtime > SECONDS_OF_A_LEFTOVER:
                leftover.unlink()


def _lives(pid: int) -> bool:
    """Whether there is another process of this number."""
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        pass
    return True


def _temporary(path: Path) -> Path:
    """A name next to `path`, on the same file system, that only this process uses."""
    return path.with_name(f".{path.name}.{_HOST}.{os.getpid()}.part")


def results_table(results: Mapping[tuple[str, str], Result]) -> pa.Table:
    """One row for each environment, agent, run and point; runs count from 0, episodes from 1.

    `results` are keyed by what to call the environment and the agent. Each diagnostic is a column, null for
    agents without it.
    """
    for (_, agent), result in results.items():
        shape = result.returns.shape
        for curve in (result.returns, *result.diagnostics.values()):
            if len(shape) != 2 or curve.shape != shape:
                raise ValueError(f"results must have shape [runs, points], got {curve.shape} of {agent!r}")
    manifests = [result.manifest for result in results.values()]
    sizes = [result.returns.size for result in results.values()]

    def words(values: Iterable[str]) -> pa.DictionaryArray:
        encoded = pa.array(values, pa.string()).dictionary_encode()
        return encoded.take(np.repeat(np.arange(len(sizes)), sizes))

    def numbers(take: Callable[[Result], np.ndarray]) -> np.ndarray:
        arrays = (np.broadcast_to(take(result), result.returns.shape) for result in results.values())
        return np.concatenate([array.reshape(-1) for array in arrays])

    def or_null(name: str) -> pa.ChunkedArray:
        curves = (result.diagnostics.get(name) for result in results.values())
        return pa.chunked_array(
            [
                pa.nulls(size, pa.float64()) if curve is None else pa.array(curve.reshape(-1), pa.float64())
                for curve, size in zip(curves, sizes, strict=True)
            ]
        )

    columns = (
        words(environment for environment, _ in results),
        words(agent for _, agent in results),
        words(compact_json(manifest["agent"]) for manifest in manifests),
        numbers(lambda result: np.arange(len(result.returns), dtype=np.int32)[:, None]),
        numbers(lambda result: result.episodes),
        numbers(lambda result: result.returns),
        numbers(lambda result: result.regret),
        numbers(lambda result: result.cumulative_regret),
    )
    diagnostics = dict.fromkeys(name for result in results.values() for name in result.diagnostics)
    if clash := [name for name in diagnostics if name in COLUMNS]:
        raise ValueError(f"diagnostics must have names that are no columns, got {clash[0]!r}")
    named = dict(zip(COLUMNS, columns, strict=True))
    return pa.table({**named, **{name: or_null(name) for name in diagnostics}})


def sealed(manifest: Mapping[str, Any], results: bytes) -> dict[str, Any]:
    """A manifest that names the content of the results it belongs to."""
    return {"format": FORMAT, **manifest, "sha256": _seal(results)}


def _seal(results: bytes) -> dict[str, str]:
    return {RESULTS: hashlib.sha256(results).hexdigest()}


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a finished run; whatever is wrong with it is a `ValueError` that names the file."""
    path = folder / MANIFEST
    with _blamed(path):
        content = path.read_bytes()
        try:
            manifest = json.loads(content)
        except ValueError:
            raise ValueError("it is not JSON") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise ValueError(f"{path} is damaged: it has no format number")
    if manifest["format"] > FORMAT:
        raise ValueError(
            f"{path} has format {manifest['format']}, written by a newer driftwise; "
            f"this one reads up to format {FORMAT}"
        )
    return manifest


def read_table(
    folder: Path,
    manifest: Mapping[str, Any],
    columns: Sequence[str] | None = None,
    *,
    diagnostics: bool = False,
) -> pa.Table:
    """The results that a manifest seals, or some columns (and diagnostics); any damage is a `ValueError`."""
    path = folder / RESULTS
    with _blamed(path):
        content = path.read_bytes()
        if manifest["format"] > 1 and manifest.get("sha256") != _seal(content):  # the first had no seal
            raise ValueError(f"its content is not what {MANIFEST} was written for")
        file = pq.ParquetFile(pa.BufferReader(content))
        for name in columns or ():
            if name not in file.schema_arrow.names:
                raise ValueError(f"its column {name!r} is missing")
        told = [name for name in file.schema_arrow.names if diagnostics and name not in COLUMNS]
        return file.read(columns=None if columns is None else [*columns, *told])


@contextlib.contextmanager
def _blamed(path: Path) -> Iterator[None]:
    """Whatever a reader stumbles over is a `ValueError` that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"{path} is missing: the folder holds no finished run") from None
    except MemoryError:
        raise
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"{path} is damaged: {reason}") from None


def load_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The results in a folder that `driftwise run` wrote, a row for each agent, run and point."""
    import pandas  # noqa: F401  (says by its own name that it is missing)

    return read_table(Path(folder), read_manifest(Path(folder))).to_pandas()


def parquet_bytes(table: pa.Table) -> bytes:
    file = io.BytesIO()
    parquet_writer(table)(file)
    return file.getvalue()


def parquet_writer(table: pa.Table) -> Writer:
    return lambda file: pq.write_table(table, file, compression="zstd")


def json_writer(value: Any) -> Writer:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return lambda file: file.write(f"{text}\n".encode())


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
