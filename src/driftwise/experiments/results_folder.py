"""Results folders: claim, results and manifest, each written whole or not at all, and read with checks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driftwise.base.extras import require_extra
from driftwise.base.files import corrupt_file_errors, json_bytes, require_regular_file
from driftwise.base.schema import COUNT, LIST, NESTED, NUMBER, PLAIN, TABLE, WORD, join_keys, require_shape

with require_extra("results folders", "cli"):
    import pyarrow as pa
    import pyarrow.parquet as pq

MANIFEST_FORMAT = 3  # the second seals the results, the third the manifest; newer ones are refused
CLAIM, MANIFEST, RESULTS = "run.json", "manifest.json", "results.parquet"
_CURVES = ("reward", "regret", "cumulative_regret")
RESULT_COLUMNS = ("environment", "agent", "parameters", "run", "episode", *_CURVES)
_SIZES = dict.fromkeys(("num_episodes", "num_runs", "seed", "episodes", "runs"), COUNT)
_WORDS = dict.fromkeys(("experiment", "name", "summary", "finding", "begun", "label"), WORD)
_NUMBERS = dict.fromkeys(("variation", "seconds"), NUMBER)
_MANIFEST_SHAPE = {
    **_WORDS,
    **_SIZES,
    "config": {**_WORDS, **_SIZES, "import": LIST, "*": NESTED},
    "history": [{**_WORDS, **_SIZES, "agents": LIST, "environments": LIST}],
    "agents": [{**_WORDS, **_NUMBERS, "environment": WORD, "point": {"*": PLAIN}, "parameters": TABLE}],
    "environments": {"*": TABLE},
    "random_regret": {"*": NUMBER},
    "versions": TABLE,
    "plugins": TABLE,
    "sha256": {"*": WORD},
}


def table_differences(first: Any, second: Any, *keys: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the keys at which two plain tables differ, with both values."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            yield from table_differences(first.get(key), second.get(key), *keys, str(key))
    elif first != second:
        yield join_keys(*keys), first, second


def sealed_manifest(manifest: Mapping[str, Any], results: bytes) -> bytes:
    """Return the content of a manifest, with digests of the results and of the manifest itself."""
    facts = {key: value for key, value in manifest.items() if key not in ("format", "sha256")}

    def content(own: str) -> bytes:
        seal = {RESULTS: _digest(results), MANIFEST: own}
        return json_bytes({"format": MANIFEST_FORMAT, **facts, "sha256": seal})

    return content(_digest(content("")))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a finished run; any damage is a `ValueError` that names the file."""
    path = folder / MANIFEST
    with corrupt_file_errors(path):
        require_regular_file(path)
        content = path.read_bytes()
        try:
            manifest = json.loads(content)
        except (ValueError, RecursionError):
            raise ValueError("it is not JSON") from None
        if not isinstance(manifest, dict) or type(manifest.get("format")) is not int:
            raise ValueError("it has no format number")
    if manifest["format"] > MANIFEST_FORMAT:
        readable = f"this one reads up to format {MANIFEST_FORMAT}"
        raise ValueError(f"{path} has format {manifest['format']}, written by a newer driftwise; {readable}")
    with corrupt_file_errors(path):
        require_shape("", manifest, _MANIFEST_SHAPE)
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
    """Return the results that a manifest seals, or some columns; any damage is a `ValueError`."""
    path = folder / RESULTS
    with corrupt_file_errors(path):
        require_regular_file(path)
        content = path.read_bytes()
        seal = manifest.get("sha256", {}).get(RESULTS)
        if seal != _digest(content) and (seal is not None or manifest["format"] > 1):  # the first had none
            raise ValueError(f"its content is not what {MANIFEST} was written for")
        file = pq.ParquetFile(pa.BufferReader(content))
        for name in columns or ():
            if name not in file.schema_arrow.names:
                raise ValueError(f"its column {name!r} is missing")
        own = [name for name in file.schema_arrow.names if diagnostics and name not in RESULT_COLUMNS]
        return file.read(columns=None if columns is None else [*columns, *own])
