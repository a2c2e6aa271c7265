"""Results on disk: a folder with tidy Parquet, a figure and a manifest, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from driftwise.base.files import require_regular
from driftwise.base.making import dotted
from driftwise.base.validation import ArgumentError
from driftwise.experiments.kinds import require_kinds
from driftwise.simulation.files import compact_json, json_bytes
from driftwise.simulation.results import Result

FORMAT = (
    3  # of a results folder: the second seals the results, the third its manifest; newer ones are refused
)
MANIFEST, RESULTS = "manifest.json", "results.parquet"
COLUMNS = ("environment", "agent", "parameters", "run", "episode", "reward", "regret", "cumulative_regret")


def differences(first: Any, second: Any, *keys: str) -> Iterator[tuple[str, Any, Any]]:
    """All places at which two values of plain tables differ, dotted, and what each has there."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            yield from differences(first.get(key), second.get(key), *keys, str(key))
    elif first != second:
        yield dotted(*keys), first, second


def results_table(results: Mapping[tuple[str, str], Result]) -> pa.Table:
    """One row for each environment, agent, run and point; episodes count from 1.

    `results` are keyed by what to call the environment and the agent. Each diagnostic is a column, null for
    agents without it.
    """
    tables = [_rows(*labels, result) for labels, result in results.items()]
    return pa.concat_tables(tables, promote_options="default").unify_dictionaries().combine_chunks()


def _rows(environment: str, agent: str, result: Result) -> pa.Table:
    shape = result.returns.shape
    runs = result.runs.astype(np.int32)[:, None]
    curves = runs, result.episodes, result.returns, result.regret, result.cumulative_regret
    for curve in (result.returns, *result.diagnostics.values()):
        if len(shape) != 2 or curve.shape != shape:
            got = f"{curve.shape} of {agent!r}"
            raise ArgumentError("results", "have shape [runs, points]", result, got)
    if clash := [name for name in result.diagnostics if name in COLUMNS]:
        raise ArgumentError("diagnostics", "have names that are no columns", clash[0])
    nowhere = pa.array(np.zeros(result.returns.size, dtype=np.int32))
    words = environment, agent, compact_json(result.manifest["agent"])
    columns = [pa.DictionaryArray.from_arrays(nowhere, [word]) for word in words]
    columns += [np.broadcast_to(curve, shape).reshape(-1) for curve in curves]
    own = {name: pa.array(curve.reshape(-1), pa.float64()) for name, curve in result.diagnostics.items()}
    return pa.table({**dict(zip(COLUMNS, columns, strict=True)), **own})


def sealed(manifest: Mapping[str, Any], results: bytes) -> bytes:
    """Content of a manifest that names the content of the results it belongs to, and its own."""
    facts = {key: value for key, value in manifest.items() if key not in ("format", "sha256")}

    def content(own: str) -> bytes:
        seal = {RESULTS: _digest(results), MANIFEST: own}
        return json_bytes({"format": FORMAT, **facts, "sha256": seal})

    return content(_digest(content("")))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a finished run; whatever is wrong with it is a `ValueError` that names the file."""
    path = folder / MANIFEST
    with blamed(path):
        require_regular(path)
        content = path.read_bytes()
        try:
            manifest = json.loads(content)
        except (ValueError, RecursionError):
            raise ValueError("it is not JSON") from None
        if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
            raise ValueError("it has no format number")
    if manifest["format"] > FORMAT:
        raise ValueError(
            f"{path} has format {manifest['format']}, written by a newer driftwise; "
            f"this one reads up to format {FORMAT}"
        )
    with blamed(path):
        require_kinds(manifest)
        own = manifest.get("sha256", {}).get(MANIFEST)
        if own is None and manifest["format"] > 2:  # the second had no seal of its own
            raise ValueError("its seal is missing")
        if own is not None and own != _digest(content.replace(own.encode(), b"", 1)):
            raise ValueError("its content is not what it was written with")
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
    with blamed(path):
        require_regular(path)
        content = path.read_bytes()
        seal = manifest.get("sha256", {}).get(RESULTS)
        if seal != _digest(content) and (seal is not None or manifest["format"] > 1):  # the first had none
            raise ValueError(f"its content is not what {MANIFEST} was written for")
        file = pq.ParquetFile(pa.BufferReader(content))
        for name in columns or ():
            if name not in file.schema_arrow.names:
                raise ValueError(f"its column {name!r} is missing")
        own = [name for name in file.schema_arrow.names if diagnostics and name not in COLUMNS]
        return file.read(columns=None if columns is None else [*columns, *own])


@contextlib.contextmanager
def blamed(path: Path) -> Iterator[None]:
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


def parquet_bytes(table: pa.Table) -> bytes:
    """A table as the content of a Parquet file."""
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()
