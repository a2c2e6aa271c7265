"""Results folders, written whole or not at all and read with checks, and curves of other programs."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from driftwise.base.extras import require_extra
from driftwise.base.files import (
    compact_json,
    corrupt_file_errors,
    json_bytes,
    require_regular_file,
)
from driftwise.base.part import extract_parameters
from driftwise.base.schema import COUNT, LIST, NESTED, NUMBER, PLAIN, TABLE, WORD, join_keys, require_shape
from driftwise.base.validation import ArgumentError
from driftwise.simulation.results import Result

with require_extra("results folders", "cli"):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pandas as pd

MANIFEST_FORMAT = 3  # the second seals the results, the third the manifest; newer ones are refused
MANIFEST, RESULTS = "manifest.json", "results.parquet"
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
CURVE_COLUMNS = ("environment", "agent", "run", "episode", "reward", "regret")
CURVE_MEASURES = ("regret", "reward")
CURVE_FORMATS: dict[str, Callable[[Path], pa.Table]] = {
    ".csv": pyarrow.csv.read_csv,
    ".parquet": lambda path: pq.ParquetFile(path).read(),
}
_PARAMETERS = "parameters"  # a column of configurations, as JSON
_CLASH = "agent."  # begins the name of a parameter where a column is called like it


def table_differences(first: Any, second: Any, *keys: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the keys at which two plain tables differ, with both values."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            yield from table_differences(first.get(key), second.get(key), *keys, str(key))
    elif first != second:
        yield join_keys(*keys), first, second


def folder_files(results: pa.Table, manifest: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the contents of a folder's files; the manifest has digests of the results and of itself."""
    file = io.BytesIO()
    pq.write_table(results, file, compression="zstd")
    facts = {key: value for key, value in manifest.items() if key not in ("format", "sha256")}
    facts, seal = {"format": MANIFEST_FORMAT, **facts}, {RESULTS: sha256(file.getvalue()).hexdigest()}
    own = sha256(json_bytes({**facts, "sha256": {**seal, MANIFEST: ""}})).hexdigest()
    return {RESULTS: file.getvalue(), MANIFEST: json_bytes({**facts, "sha256": {**seal, MANIFEST: own}})}


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
        if own is not None and own != sha256(content.replace(own.encode(), b"", 1)).hexdigest():
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
        is_sealed = seal is not None or manifest["format"] > 1  # the first format had no seal
        if is_sealed and seal != sha256(content).hexdigest():
            raise ValueError(f"its content is not what {MANIFEST} was written for")
        file = pq.ParquetFile(pa.BufferReader(content))
        for name in columns or ():
            if name not in file.schema_arrow.names:
                raise ValueError(f"its column {name!r} is missing")
        own = [name for name in file.schema_arrow.names if diagnostics and name not in RESULT_COLUMNS]
        return file.read(columns=None if columns is None else [*columns, *own])


def results_table(results: Mapping[str, Mapping[str, Result]]) -> pa.Table:
    """Return a row for each run and point, by environment and agent; missing diagnostics are null."""
    tables = []
    listed = ((place, *item) for place, agents in results.items() for item in agents.items())
    for environment, agent, result in listed:
        shape = result.returns.shape
        for curve in (result.returns, *result.diagnostics.values()):
            if len(shape) != 2 or curve.shape != shape:
                got = f"{curve.shape} of {agent!r}"
                raise ArgumentError("results", "have shape [runs, points]", result, got)
        if clash := [name for name in result.diagnostics if name in RESULT_COLUMNS]:
            raise ArgumentError("diagnostics", "not have the names of columns", clash[0])
        index = pa.array(np.zeros(result.returns.size, dtype=np.int32))
        words = environment, agent, compact_json(result.manifest["agent"])
        curves = result.episodes, result.returns, result.regret, result.cumulative_regret
        columns = [pa.DictionaryArray.from_arrays(index, [word]) for word in words]
        for curve in (result.runs.astype(np.int32)[:, None], *curves):
            columns.append(np.broadcast_to(curve, shape).reshape(-1))
        own = {name: pa.array(curve.reshape(-1), pa.float64()) for name, curve in result.diagnostics.items()}
        tables.append(pa.table({**dict(zip(RESULT_COLUMNS, columns, strict=True)), **own}))
    return pa.concat_tables(tables, promote_options="default").unify_dictionaries().combine_chunks()


def load_results(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the results in a folder that `driftwise run` wrote, a row for each agent, run and point."""
    return results_frame(read_table(Path(folder), read_manifest(Path(folder))))


def results_frame(rows: pa.Table) -> pd.DataFrame:
    """Return a frame of results, with a column for each number of an agent, NaN for agents without it."""
    with require_extra("a data frame", "cli"):
        import pandas as pd
    frame = rows.to_pandas()
    codes, texts = pd.factorize(frame.pop(_PARAMETERS))
    numbers = pd.DataFrame([extract_parameters(json.loads(text)) for text in texts])
    for place, name in enumerate(numbers, frame.columns.get_loc("agent") + 1):
        frame.insert(place, f"{_CLASH}{name}" if name in frame else name, numbers[name].to_numpy()[codes])
    return frame


def load_curves(path: str | os.PathLike[str]) -> dict[str, dict[str, Result]]:
    """Return results by environment and agent, from a CSV or Parquet file of any program.

    It has a row for each run and episode, with the columns `run`, `episode`, and `regret` or `reward` or
    both; `agent` and `environment`, if it has them, are names. In an environment every agent has the same
    episodes, and as many runs, which belong together in the order of their names. Episodes count from 1, or
    from 0; where some are left out, a row stands for the mean over the episodes since the one before.

    Without a regret, the shortfall takes its place: the highest reward in the environment less the reward.
    Differences between agents are right, whatever the unknown optimum is. Without a reward, `returns` are
    NaN. Other columns are ignored. `manifest["measured"]` says which of the two the file has.
    """
    path = Path(path)
    table = _read_table(path)
    measured = [name for name in CURVE_MEASURES if name in table.column_names]
    with corrupt_file_errors(path):  # columns that cannot be sorted, or are not text
        environments, environment = _categories(table, "environment")
        labels, agent = _categories(table, "agent")
        runs, owners = table["run"].to_numpy(), environment * len(labels) + agent
        run = np.empty(len(runs), dtype=int)  # the rank of each among those of its agent
        for owner in np.unique(owners):
            run[owners == owner] = np.unique(runs[owners == owner], return_inverse=True)[1]
    episode = _numbers(path, table, "episode")
    wrong = episode[(episode < 0) | (episode % 1 != 0) | (episode >= 1 << 32)]
    if len(wrong):
        raise ValueError(f"{path} must have counts below 2^32 in the column 'episode', got {wrong[0]:g}")
    rows = {"agent": agent, "run": run, "episode": episode.astype(np.int64) + int(episode.min() == 0)}
    rows |= {name: _numbers(path, table, name) for name in measured}
    results = {}
    for place, name in enumerate(environments):
        own = {key: column[environment == place] for key, column in rows.items()}
        own.setdefault("reward", np.full(len(own["run"]), math.nan))
        if "regret" not in own:
            own["regret"] = own["reward"].max() - own["reward"]
        facts = {"environment": {"name": name}, "measured": measured}
        results[name] = {
            label: replace(result, manifest={"agent": {"type": label}, **facts})
            for label, result in curves_of_rows(path, own, labels).items()
        }
    return results


def curves_of_rows(path: Path, rows: Mapping[str, np.ndarray], labels: Sequence[str]) -> dict[str, Result]:
    """Return the curves `[runs, points]` of one environment by agent; errors name the path."""
    order = np.lexsort((rows["episode"], rows["run"], rows["agent"]))
    num_runs, num_points = (len(np.unique(rows[name])) for name in ("run", "episode"))
    shape = (len(labels), num_runs, num_points)
    differ = f"{path} is incomplete: agents differ in their runs or episodes, or rows come twice"
    if len(order) != (whole := math.prod(shape)):
        sizes = "{} agents × {} runs × {} episodes".format(*shape)
        raise ValueError(f"{differ}; {sizes} are {whole} rows, got {len(order)}")
    cubes = {name: column[order].reshape(shape) for name, column in rows.items()}
    runs, episodes = cubes["run"][:1, :, :1], cubes["episode"][:1, :1]
    expected = {"agent": np.arange(len(labels))[:, None, None], "run": runs, "episode": episodes}
    if any((cubes[name] != values).any() for name, values in expected.items()):
        raise ValueError(differ)
    if not np.isfinite(cubes["regret"]).all():
        raise ValueError(f"{path} is damaged: some regret is not a finite number")
    lengths = np.diff(episodes[0, 0], prepend=0)
    diagnostics = {name: cube for name, cube in cubes.items() if name not in CURVE_COLUMNS}
    results = {}
    for place, label in enumerate(labels):
        own = {name: cube[place] for name, cube in diagnostics.items() if not np.isnan(cube[place]).all()}
        values, optimal = -cubes["regret"][place], np.zeros(shape[1:])  # V* − V^π is the regret
        signed: dict[str, Any] = dict(state=None, manifest={}, signed=True)  # as it was written
        results[label] = Result(cubes["reward"][place], values, optimal, lengths, diagnostics=own, **signed)
    return results


def _read_table(path: Path) -> pa.Table:
    """Return the table of a file, after a check that it has all columns and no missing values."""
    if path.suffix.lower() not in CURVE_FORMATS:
        patterns = " or ".join(f"*{suffix}" for suffix in CURVE_FORMATS)
        raise ValueError(f"{path} must be a file of curves: {patterns}")
    if not path.exists():
        raise ValueError(f"{path} must be a file of curves, but there is no such file")
    with corrupt_file_errors(path):
        require_regular_file(path)
        table = CURVE_FORMATS[path.suffix.lower()](path)
    there = table.column_names
    if not {"run", "episode"} <= {*there} or not {*CURVE_MEASURES} & {*there}:
        got = f"run, episode, and regret or reward, got {', '.join(there) or 'none'}"
        raise ValueError(f"{path} must have the columns {got}")
    if twice := [name for name in CURVE_COLUMNS if there.count(name) > 1]:
        raise ValueError(f"{path} must have the column {twice[0]!r} once")
    if table.num_rows == 0:
        raise ValueError(f"{path} must have rows, got none")
    if holes := [name for name in CURVE_COLUMNS if name in there and table[name].null_count]:
        raise ValueError(f"{path} must have a value in each row of the column {holes[0]!r}")
    return table


def _categories(table: pa.Table, name: str) -> tuple[list[str], np.ndarray]:
    """Return the distinct words of a column in order of appearance, and the index of each row's word."""
    if name not in table.column_names:
        return [name], np.zeros(table.num_rows, dtype=int)
    encoded = table[name].combine_chunks().cast(pa.string()).dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy()


def _numbers(path: Path, table: pa.Table, name: str) -> np.ndarray:
    values = table[name].to_numpy()
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{path} must have numbers in the column {name!r}, got {str(values[0])!r}")
    if not np.isfinite(values).all():
        raise ValueError(f"{path} must have finite numbers in the column {name!r}")
    return values.astype(float)
