"""Cells give the same bytes in one process and in several, whole or interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise import sweep
from driftwise.algorithms import opt_wlsvi
from driftwise.engines import Processes
from driftwise.exploration import greedy_policy
from driftwise.parts import part
from driftwise.simulator import Simulation, simulate
from driftwise.sweep import Cell, join_runs, run_cells
from driftwise.types import Array
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, agent, make

CELLS = [Cell(agent(name), make(), NUM_EPISODES, NUM_RUNS) for name in ("opt_wlsvi", "lsvi_ucb")]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Curves of every checkpoint, without the time that was spent on it."""
    return {path.name: np.load(path)["sums"].tobytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("serial")
    run_cells(CELLS, folder)
    return folder


def test_a_cell_is_a_simulation(tmp_path, serial):
    for cell, result in zip(CELLS, run_cells(CELLS, serial), strict=True):
        alone = simulate(cell.agent, cell.environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
        assert result.values.tobytes() == alone.values.tobytes()


def test_workers_give_the_same_bytes_and_report(tmp_path, serial):
    seen: list[tuple[int, int, int]] = []
    results = run_cells(CELLS, tmp_path, engine=Processes(2), progress=lambda *news: seen.append(news))
    assert bytes_of(tmp_path) == bytes_of(serial)
    assert {(number, NUM_EPISODES, NUM_EPISODES) for number in range(len(CELLS))} <= set(seen)
    assert [result.manifest["agent"] for result in results] == [
        result.manifest["agent"] for result in run_cells(CELLS, serial)
    ]


def test_batches_join_to_all_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "RUNS_OF_A_CELL", NUM_RUNS)
    whole = Cell(agent("opt_wlsvi"), make(), NUM_EPISODES, num_runs=2 * NUM_RUNS + 1)
    batches = whole.in_batches()
    assert [(cell.first_run, cell.num_runs) for cell in batches] == [(0, 2), (2, 2), (4, 3)]
    joined = join_runs(run_cells(batches, tmp_path))
    together = simulate(whole.agent, whole.environment, num_episodes=NUM_EPISODES, num_runs=2 * NUM_RUNS + 1)
    np.testing.assert_array_equal(joined.returns, together.returns)
    np.testing.assert_allclose(joined.values, together.values, rtol=0, atol=1e-12)  # rounding by batch size
    assert joined.manifest["num_runs"] == 2 * NUM_RUNS + 1


def test_finished_cells_are_not_run_again(serial, monkeypatch):
    monkeypatch.setattr(Simulation, "advance", lambda self: pytest.fail("it was run again"))
    assert len(run_cells(CELLS, serial)) == len(CELLS)


@part
class KillsItsProcessOnce:
    """Greedy, but the process that plans with it first dies as if the system had killed it."""

    marker: str = ""
    uses_gram_sq = False

    def perturb(self, inverse: Array, moments: Any, features: Any, key: Array) -> Array:
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 0 * inverse[:, :1, 0] + 0 * features.values[:, 0]
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("this process is dead")

    def policy(self, q: Array) -> Array:
        return greedy_policy(q)


def test_a_worker_that_dies_is_replaced(tmp_path):
    dying = replace(
        opt_wlsvi(SPEC, rate=0.9, radius=0.0), exploration=KillsItsProcessOnce(str(tmp_path / "died"))
    )
    cell = Cell(dying, make(), NUM_EPISODES, NUM_RUNS)
    (result,) = run_cells([cell], tmp_path / "cells", engine=Processes(2))
    assert (tmp_path / "died").exists()
    assert result.values.shape == (NUM_RUNS, NUM_EPISODES)


def test_a_failure_in_a_worker_is_raised_here(tmp_path):
    unfit = Cell(opt_wlsvi(SPEC, rate=0.9, radius=0.4, ridge=1e-17), make(), NUM_EPISODES, NUM_RUNS)
    with pytest.raises(FloatingPointError, match="ridge"):
        run_cells([unfit, CELLS[0]], tmp_path, engine=Processes(2))


def test_an_engine_needs_a_folder():
    with pytest.raises(ValueError, match="folder must be a path where there is an engine, got None"):
        run_cells(CELLS, None, engine=Processes(2))


def test_a_pool_needs_a_worker():
    with pytest.raises(ValueError, match="workers must be a positive integer, got 0"):
        Processes(0)


def run_command(out: Path, *options: str) -> list[str]:
    sizes = ["--episodes", "3000", "--runs", "4", "--quiet"]
    return [sys.executable, "-m", "driftwise", "run", "quickstart", *sizes, "--out", str(out), *options]


@pytest.mark.slow
def test_a_killed_command_goes_on_and_workers_agree_to_the_byte(tmp_path):
    """SIGKILL at random moments, with one process and with two; then the same command until it is done."""
    subprocess.run(run_command(tmp_path / "whole"), check=True)
    expected = (tmp_path / "whole" / "results.parquet").read_bytes()
    rng = np.random.default_rng(1)
    for workers in ("1", "2"):
        command = run_command(tmp_path / workers, "--workers", workers)
        for _ in range(4):
            with subprocess.Popen(command, start_new_session=True) as process:
                time.sleep(rng.uniform(1.0, 9.0))
                with contextlib.suppress(ProcessLookupError):  # it may be done already
                    os.killpg(process.pid, signal.SIGKILL)
        subprocess.run(command, check=True)
        assert (tmp_path / workers / "results.parquet").read_bytes() == expected
