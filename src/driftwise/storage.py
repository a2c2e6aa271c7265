"""Results on disk: a folder with tidy Parquet, a figure and a manifest, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from driftwise.results import Result

if TYPE_CHECKING:
    import pandas as pd

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
    other = [key for key in sorted({*found, *claimed}) if found.get(key) != claimed.get(key)]
    if other:
        raise ValueError(
            f"{folder} holds a run with another {', '.join(other)}: remove it or choose another folder"
        )


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


def remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed while they wrote `path` left behind."""
    for leftover in path.parent.glob(f".{path.name}.*.part"):
        leftover.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """A name next to `path`, on the same file system, that only this process uses."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def results_table(results: Mapping[tuple[str, str], Result]) -> pa.Table:
    """One row for each environment, agent, run and point; runs count from 0, episodes from 1.

    `results` are keyed by what to call the environment and the agent.
    """
    for (_, agent), result in results.items():
        if result.returns.ndim != 2:
            raise ValueError(
                f"results must have shape [runs, points], got {result.returns.shape} of {agent!r}"
            )
    manifests = [result.manifest for result in results.values()]
    sizes = [result.returns.size for result in results.values()]

    def words(values: Iterable[str]) -> pa.DictionaryArray:
        encoded = pa.array(values, pa.string()).dictionary_encode()
        return encoded.take(np.repeat(np.arange(len(sizes)), sizes))

    def numbers(take: Callable[[Result], np.ndarray]) -> np.ndarray:
        arrays = (np.broadcast_to(take(result), result.returns.shape) for result in results.values())
        return np.concatenate([array.reshape(-1) for array in arrays])

    return pa.table(
        {
            "environment": words(environment for environment, _ in results),
            "agent": words(agent for _, agent in results),
            "parameters": words(compact_json(manifest["agent"]) for manifest in manifests),
            "run": numbers(lambda result: np.arange(len(result.returns), dtype=np.int32)[:, None]),
            "episode": numbers(lambda result: result.episodes),
            "reward": numbers(lambda result: result.returns),
            "regret": numbers(lambda result: result.regret),
            "cumulative_regret": numbers(lambda result: result.cumulative_regret),
        }
    )


def load_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The results in a folder that `driftwise run` wrote, a row for each agent, run and point."""
    import pandas  # noqa: F401  (says by its own name that it is missing)

    path = Path(folder) / "results.parquet"
    try:
        return pq.read_table(path).to_pandas()
    except FileNotFoundError:
        raise ValueError(f"folder must hold the results of a finished run, got {str(folder)!r}") from None
    except pa.ArrowException as error:
        raise ValueError(f"{path} is damaged: {str(error).splitlines()[0]}") from None


def parquet_writer(table: pa.Table) -> Writer:
    return lambda file: pq.write_table(table, file, compression="zstd")


def json_writer(value: Any) -> Writer:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    return lambda file: file.write(f"{text}\n".encode())


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
