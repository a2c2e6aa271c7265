"""Files are whole or not there, and the table holds the result's numbers."""

import dataclasses
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import driftwise as dw
from driftwise.base import files
from driftwise.base.files import remove_leftovers
from driftwise.experiments.results_folder import folder_files, read_manifest, read_table, results_table
from tests import examples
from tests.cli.test_cli import names
from tests.experiments.test_experiments import made_up

AGENTS = {"first": "opt_wlsvi", "second": "lsvi_ucb", "third": "uniform"}
SIZES = dict(num_episodes=5, num_runs=2, seed=0)
RESULTS = {name: made_up(examples.agent(own), examples.make(), **SIZES) for name, own in AGENTS.items()}
COLUMNS = ["environment", "agent", "radius", "rate", "ridge", "run", "episode", "reward", "regret"]
COLUMNS += ["cumulative_regret"]
TABLE = results_table({"here": RESULTS})


def test_table_has_a_row_for_each_agent_run_and_episode_with_the_results_numbers(tmp_path):
    table = pq.read_table(finished(tmp_path) / "results.parquet")
    numbers = ["reward", "regret", "cumulative_regret"]
    assert table.column_names == ["environment", "agent", "parameters", "run", "episode", *numbers]
    assert table.num_rows == 3 * 2 * 5
    for name in ("environment", "agent", "parameters"):
        assert pa.types.is_dictionary(table.schema.field(name).type)
    assert table["environment"].chunk(0).dictionary.to_pylist() == ["here"]  # words are stored once each
    for label, result in RESULTS.items():
        rows = table.filter(pa.array([name == label for name in table["agent"].to_pylist()]))
        assert {json.loads(text)["type"] for text in rows["parameters"].to_pylist()} == {"LeastSquares"}
        assert json.loads(rows["parameters"][0].as_py()) == result.manifest["agent"]
        assert rows["run"].to_pylist() == [0] * 5 + [1] * 5
        assert rows["episode"].to_pylist() == [1, 2, 3, 4, 5] * 2
        curves = result.returns, result.regret, result.cumulative_regret
        for name, values in zip(numbers, curves, strict=True):
            np.testing.assert_array_equal(rows[name].to_numpy().reshape(2, 5), values)


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_while_writing_leaves_the_folder_as_it_was(tmp_path, failure, monkeypatch):
    files.write_files(tmp_path, dict.fromkeys("ab", b"old"))
    monkeypatch.setattr(os, "fsync", Mock(side_effect=[None, failure]))
    with pytest.raises(type(failure)):
        files.write_files(tmp_path, dict.fromkeys("ab", b"new"))
    assert names(tmp_path) == ["a", "b"]
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"old", b"old"]


def test_a_failure_between_the_files_leaves_no_seal(tmp_path, monkeypatch):
    files.write_files(tmp_path, dict.fromkeys("abc", b"old"))
    replace = os.replace

    def fail_at_b(source: Path, target: Path) -> None:
        if target.name == "b":
            raise OSError("gone")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_at_b)
    with pytest.raises(OSError, match="gone"):
        files.write_files(tmp_path, dict.fromkeys("abc", b"new"))
    assert names(tmp_path) == ["a", "b"]  # without c, which would say that the others belong together
    assert [(tmp_path / name).read_bytes() for name in "ab"] == [b"new", b"old"]


def test_data_reach_the_disk_before_they_get_their_name(tmp_path, monkeypatch):
    done: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (done.append("fsync"), fsync(number)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("replace"), replace(*paths)))
    files.write_files(tmp_path, dict.fromkeys("ab", b"new"))
    assert done == ["fsync", "fsync", "replace", "replace", "fsync"]  # the last is of their folder


def test_numbers_that_json_does_not_know_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        files.json_bytes({"regret": float("nan")})


def test_folder_is_made_with_its_parents_and_stays_when_used(tmp_path):
    with files.output_folder(tmp_path / "a" / "b", ["x"]) as folder:
        assert names(folder) == []
        (folder / "x").touch()
    assert names(folder) == ["x"]


def test_folder_made_in_vain_is_removed_and_others_are_not(tmp_path):
    (tmp_path / "old").mkdir()
    with pytest.raises(KeyboardInterrupt), files.output_folder(tmp_path / "old" / "a" / "b", ["x"]):
        raise KeyboardInterrupt
    assert names(tmp_path / "old") == []
    with pytest.raises(KeyboardInterrupt), files.output_folder(tmp_path / "old", ["x"]):
        raise KeyboardInterrupt
    assert names(tmp_path) == ["old"]


def finished(folder: Path, results: dict = RESULTS) -> Path:
    """A folder with results and a manifest that seals them."""
    files.write_files(folder, folder_files(results_table({"here": results}), {}))
    return folder


def test_results_are_read_back_as_a_data_frame(tmp_path):
    frame = dw.load_results(finished(tmp_path))
    assert list(frame.columns) == COLUMNS
    rates = frame.groupby("agent", observed=True).rate.agg(["min", "max"])
    assert rates.loc["first"].tolist() == [0.9, 0.9]
    assert rates.drop("first").isna().all(axis=None)
    assert len(frame) == len(TABLE)
    some = read_table(tmp_path, read_manifest(tmp_path), columns=["run", "regret"])
    assert some.equals(pq.read_table(tmp_path / "results.parquet", columns=["run", "regret"]))


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1" * 9])
def test_damage_is_found_without_a_seal_too(tmp_path, content):
    files.write_files(tmp_path, {"manifest.json": files.json_bytes({"format": 1})})
    (tmp_path / "results.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"results\.parquet (is damaged|cannot be read): "):
        dw.load_results(tmp_path)


def test_one_flipped_bit_of_the_results_is_noticed(tmp_path):
    path = finished(tmp_path) / "results.parquet"
    whole = path.read_bytes()
    for place in np.random.default_rng(0).integers(8 * len(whole), size=50):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        path.write_bytes(flipped)
        with pytest.raises(ValueError, match=re.escape(str(path))):
            dw.load_results(tmp_path)


def test_diagnostics_are_columns_with_holes_for_agents_without_them(tmp_path):
    (first, *others) = RESULTS
    own = np.arange(10.0).reshape(2, 5)
    results = {**RESULTS, first: dataclasses.replace(RESULTS[first], diagnostics={"epochs": own})}
    frame = dw.load_results(finished(tmp_path, results))
    assert list(frame.columns) == [*COLUMNS, "epochs"]
    np.testing.assert_array_equal(frame["epochs"][frame["agent"] == first], own.reshape(-1))
    for other in others:
        assert np.isnan(np.asarray(frame["epochs"][frame["agent"] == other])).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (dict(returns=np.zeros((1, 2, 5))), r"results must have shape \[runs, points\], got \(1, 2, 5\) of "),
        (dict(diagnostics={"epochs": np.zeros(5)}), r"results must have shape .* got \(5,\) of 'first'"),
        (dict(diagnostics={"regret": np.zeros((2, 5))}), "diagnostics must not have the names of columns, "),
    ],
)
def test_curves_that_fit_no_column_are_refused(changed, said):
    own = dataclasses.replace(RESULTS["first"], **changed)
    with pytest.raises(ValueError, match=said):
        results_table({"here": {"first": own}})


def test_leftovers_are_removed_unless_their_writer_lives_or_is_elsewhere(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    here = platform.node().replace(".", "-")
    names_of = {
        "dead": f".x.npz.1f.{here}.{ended.pid}.part",
        "own": f".x.npz.1f.{here}.{os.getpid()}.part",
        "alive": f".x.npz.1f.{here}.{os.getppid()}.part",
        "elsewhere": f".x.npz.1f.another-host.{ended.pid}.part",
        "long ago": f".y.npz.1f.another-host.{ended.pid}.part",
        "not ours": ".notes.part",
    }
    for name in (*names_of.values(), "x.npz"):
        (tmp_path / name).touch()
    for kind in ("long ago", "not ours"):
        os.utime(tmp_path / names_of[kind], (0, 0))
    remove_leftovers(tmp_path)
    kept = [names_of[kind] for kind in ("alive", "elsewhere", "not ours")]
    assert names(tmp_path) == sorted([*kept, "x.npz"])
