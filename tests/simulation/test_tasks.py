"""Tasks give the same bytes in one process and in several, whole or interrupted."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import opt_wlsvi
from driftwise.base import Array
from driftwise.base.part import part
from driftwise.cli.run import STOPPING, hold_signals
from driftwise.parts import Exploration
from driftwise.simulation import tasks
from driftwise.simulation.checkpoints import checkpoint_name
from driftwise.simulation.engines import Processes
from driftwise.simulation.results import join_runs
from driftwise.simulation.running import run_tasks
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import CHUNK, EngineError, Task
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, agent, make
from tests.simulation.diagnosing import diagnosing
from tests.simulation.gates import (
    contents,
    gated_task,
    needs_proc,
    processes_with,
    stands_at_the_gate,
    wait_until,
)

TASKS = [
    Task(each, make(), num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    for each in (agent("opt_wlsvi"), diagnosing())
]


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("serial")
    run_tasks(TASKS, folder)
    return folder


def test_workers_give_the_same_bytes_and_report(tmp_path, serial):
    seen: list[tuple[int, int, int]] = []
    heard: dict[int, Any] = {}
    results = run_tasks(
        TASKS,
        tmp_path,
        engine=Processes(2),
        progress=lambda *news: seen.append(news),
        on_chunk=heard.__setitem__,
    )
    for number, result in enumerate(results):  # of one chunk
        np.testing.assert_array_equal(heard[number].cumulative_regret, result.cumulative_regret)
    assert contents(tmp_path) == contents(serial)
    for number in range(len(TASKS)):  # from none to all, never back, and each end once
        told = [done for each, done, _ in seen if each == number]
        assert told == sorted(set(told))
        assert (told[0], told[-1]) == (0, NUM_EPISODES)
    for task, result in zip(TASKS, results, strict=True):
        alone = dw.simulate(task.agent, task.environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
        assert result.values.tobytes() == alone.values.tobytes()
        assert result.manifest["agent"] == alone.manifest["agent"]
        assert {*result.diagnostics} == {*alone.diagnostics}
    assert results[1].diagnostics


def test_batches_join_to_all_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "RUNS_OF_A_TASK", NUM_RUNS)
    whole = Task(diagnosing(), make(), num_episodes=NUM_EPISODES, num_runs=2 * NUM_RUNS)
    uneven = replace(whole, num_runs=2 * NUM_RUNS + 1).split()
    assert [(task.first_run, task.num_runs) for task in uneven] == [(0, 2), (2, 2), (4, 3)]
    later = replace(whole, first_run=5).split()
    assert [(task.first_run, task.num_runs) for task in later] == [(5, NUM_RUNS), (5 + NUM_RUNS, NUM_RUNS)]
    batches = whole.split()
    assert [(task.first_run, task.num_runs) for task in batches] == [(0, NUM_RUNS), (NUM_RUNS, NUM_RUNS)]
    joined = join_runs(run_tasks(batches, tmp_path))
    together = dw.simulate(whole.agent, whole.environment, num_episodes=NUM_EPISODES, num_runs=2 * NUM_RUNS)
    np.testing.assert_array_equal(joined.returns, together.returns)
    np.testing.assert_allclose(joined.values, together.values, rtol=0, atol=1e-12)  # rounding by batch size
    for name, curve in together.diagnostics.items():
        np.testing.assert_allclose(joined.diagnostics[name], curve, rtol=0, atol=1e-12)
    assert joined.manifest["num_runs"] == 2 * NUM_RUNS


def test_diagnostics_and_origins_are_joined_too():
    first = run_tasks(TASKS[:1], None)[0]
    own = {"weights": np.arange(first.values.size, dtype=float).reshape(first.values.shape)}
    elsewhere = {**first.manifest, "host": {"name": "elsewhere"}, "versions": {**first.manifest["versions"]}}
    elsewhere["versions"]["numpy"] = "2.1"
    batches = [replace(first, diagnostics=own), replace(first, diagnostics=own, manifest=elsewhere)]
    joined = join_runs(batches)
    np.testing.assert_array_equal(joined.diagnostics["weights"], np.concatenate([own["weights"]] * 2))
    assert joined.manifest["host"] == [first.manifest["host"], {"name": "elsewhere"}]
    assert joined.manifest["versions"]["numpy"] == [first.manifest["versions"]["numpy"], "2.1"]
    assert joined.manifest["versions"]["jax"] == first.manifest["versions"]["jax"]
    assert joined.manifest["device"] == first.manifest["device"]


def test_finished_tasks_are_not_run_again(serial, monkeypatch):
    before = [result.manifest["seconds"] for result in run_tasks(TASKS, serial)]
    monkeypatch.setattr(Simulation, "advance", lambda *_: pytest.fail("it was run again"))
    assert [result.manifest["seconds"] for result in run_tasks(TASKS, serial)] == before


@part
class KillsItsProcessOnce(Exploration):
    """Greedy, but the process that plans with it first dies as if the system had killed it."""

    marker: str = ""

    def perturb(self, inverse: Array, moments: Any, features: Any, key: Array) -> Array:
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return 0 * inverse[:, :1, 0] + 0 * features.values[:, 0]
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("this process is dead")


def test_a_worker_that_dies_is_replaced(tmp_path):
    dying = replace(
        opt_wlsvi(SPEC, rate=0.9, radius=0.0), exploration=KillsItsProcessOnce(str(tmp_path / "died"))
    )
    task = Task(dying, make(), num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    (result,) = run_tasks([task], tmp_path / "tasks", engine=Processes(2))
    assert (tmp_path / "died").exists()
    assert result.values.shape == (NUM_RUNS, NUM_EPISODES)


def test_a_failure_in_a_worker_is_raised_here_before_the_other_tasks_have_run(tmp_path):
    diverging = opt_wlsvi(SPEC, rate=0.9, radius=0.4, ridge=1e-17)
    unfit = Task(diverging, make(), num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, name="it")
    others = [replace(TASKS[0], seed=seed) for seed in range(100)]
    with pytest.raises(FloatingPointError, match=r"^it: agent: .* ridge"):
        run_tasks([unfit, *others], tmp_path, engine=Processes(1))
    assert len(list(tmp_path.iterdir())) < len(others)


def test_deaths_are_counted_anew_when_a_task_was_finished(tmp_path, monkeypatch):
    pools = iter([[], [], [0], [], [], [1], [], [], []])
    monkeypatch.setattr(Processes, "_run_pool", lambda *_: next(pools))
    Processes(2).finish(TASKS, tmp_path, lambda *_: None, lambda: None)
    with pytest.raises(EngineError, match="worker processes died 3 times in a row"):
        Processes(2).finish(TASKS, tmp_path, lambda *_: None, lambda: None)


def test_whoever_looks_can_stop_workers_that_have_nothing_to_tell(tmp_path):
    gate = tmp_path / "gate"
    task = gated_task(gate)

    def poll() -> None:
        if stands_at_the_gate(task, tmp_path / "tasks"):  # and reports nothing
            gate.touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_tasks([task], tmp_path / "tasks", engine=Processes(2), poll=poll)
    told: list[int] = []
    run_tasks([task], tmp_path / "tasks", progress=lambda number, done, total: told.append(done))
    assert 2 * CHUNK <= told[0] <= 3 * CHUNK  # it had opened the gate, and stopped soon behind it
    assert told[-1] == 4 * CHUNK


def test_a_second_interrupt_does_not_wait_for_the_current_chunk(tmp_path):
    gate, folder, over = tmp_path / "gate", tmp_path / "tasks", threading.Event()
    task = gated_task(gate)

    def insist() -> None:
        wait_until(lambda: stands_at_the_gate(task, folder))
        os.kill(os.getpid(), signal.SIGINT)
        if not over.wait(2.0):
            os.kill(os.getpid(), signal.SIGINT)
        if not over.wait(120.0):
            gate.touch()  # or this test would never end

    insisting = threading.Thread(target=insist)
    insisting.start()
    with hold_signals() as poll, pytest.raises(KeyboardInterrupt):
        run_tasks([task], folder, engine=Processes(1), poll=poll)
    over.set()
    insisting.join()
    assert not gate.exists()
    assert stands_at_the_gate(task, folder)


PATH = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
PROGRAM = """
import sys
from pathlib import Path
from driftwise.simulation.checkpoints import checkpoint_name
from driftwise.simulation.engines import Processes
from driftwise.simulation.running import run_tasks
from tests.simulation.gates import gated_task

if __name__ == "__main__":
    tasks = [gated_task(Path(sys.argv[2]), seed=seed) for seed in range(2)]
    run_tasks(tasks, Path(sys.argv[1]), engine=Processes(2))
"""


@needs_proc
def test_workers_end_with_a_parent_that_was_killed_and_another_goes_on(tmp_path):
    program, folder, gate = (tmp_path / name for name in ("program.py", "tasks", "gate"))
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": PATH, "DRIFTWISE_TEST": str(tmp_path)}
    command = [sys.executable, str(program), str(folder), str(gate)]
    tasks = [gated_task(gate, seed=seed) for seed in range(2)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: all(stands_at_the_gate(task, folder) for task in tasks))
            assert len(processes_with(f"DRIFTWISE_TEST={tmp_path}")) > 2
        finally:
            process.kill()  # or a failure would wait for it for ever
    wait_until(lambda: not processes_with(f"DRIFTWISE_TEST={tmp_path}"))
    gate.touch()
    told: list[tuple[int, int, int]] = []
    run_tasks(tasks, folder, progress=lambda *news: told.append(news))
    played = [done for number, done, _ in told if number == 0]
    assert (played[0], played[-1]) == (2 * CHUNK, 4 * CHUNK)
    run_tasks(tasks, tmp_path / "whole")
    assert contents(folder) == contents(tmp_path / "whole")


STOPPED = """
import sys
from pathlib import Path
from driftwise.cli.app import Stopped
from driftwise.cli.run import hold_signals
from driftwise.simulation.checkpoints import checkpoint_name
from driftwise.simulation.engines import Processes
from driftwise.simulation.running import run_tasks
from tests.simulation.gates import gated_task

if __name__ == "__main__":
    try:
        with hold_signals() as poll:
            tasks = [gated_task(Path(sys.argv[2]), seed=seed) for seed in range(4)]  # of which some wait
            run_tasks(tasks, Path(sys.argv[1]), engine=Processes(1), poll=poll)
    except Stopped as stopped:
        sys.exit(stopped.code)
"""


@pytest.mark.slow
def test_workers_that_hear_sigterm_themselves_keep_what_they_play(tmp_path):
    program, folder, gate = (tmp_path / name for name in ("program.py", "tasks", "gate"))
    program.write_text(STOPPED)
    task = gated_task(gate)
    with subprocess.Popen(
        [sys.executable, str(program), str(folder), str(gate)],
        env={**os.environ, "PYTHONPATH": PATH},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            wait_until(lambda: stands_at_the_gate(task, folder))
            os.killpg(process.pid, signal.SIGTERM)
        finally:
            gate.touch()  # or this test would never end
        said = process.communicate()[1]
    assert (process.returncode, said) == (128 + signal.SIGTERM, f"{STOPPING}\n")
    (kept,) = folder.iterdir()
    assert kept.name == checkpoint_name(task)
    assert 2 * CHUNK < int(np.load(kept)["done"]) <= 3 * CHUNK


def test_an_engine_needs_a_folder_and_a_pool_a_worker():
    with pytest.raises(ValueError, match="checkpoints must be a folder where there is an engine, got None"):
        run_tasks(TASKS, None, engine=Processes(2))
    with pytest.raises(ValueError, match="workers must be a positive integer, got 0"):
        Processes(0)


def run_command(out: Path, *options: str) -> list[str]:
    sizes = ["--episodes", str(EPISODES), "--runs", "4", "--quiet"]
    return [sys.executable, "-m", "driftwise", "run", "quickstart", *sizes, "--out", str(out), *options]


@pytest.mark.slow
@needs_proc
def test_an_interrupt_while_workers_start_is_two_lines(tmp_path):
    environment = {**os.environ, "DRIFTWISE_TEST": str(tmp_path)}
    command = run_command(tmp_path / "out", "--workers", "2")
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        wait_until(lambda: len(processes_with(f"DRIFTWISE_TEST={tmp_path}")) > 2)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 130
    assert said.splitlines()[0] == STOPPING
    assert said.splitlines()[1:] in (
        ["driftwise: interrupted"],  # nothing was played yet
        ["driftwise: interrupted: the same command goes on from here"],
    )


EPISODES = 12_000


def standing(folder: Path) -> dict[str, int]:
    """Episodes that each checkpoint of a run has."""
    return {path.name: int(np.load(path)["done"]) for path in folder.glob("tasks/*.npz")}


SLOW_DISK = """
import os, sys, time
from driftwise.__main__ import main

fsync = os.fsync
os.fsync = lambda number: (fsync(number), time.sleep(0.5))
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_killed_command_goes_on_and_workers_agree_to_the_byte(tmp_path):
    """SIGKILL at random moments, with one process and with two; then the same command until it is done."""
    subprocess.run(run_command(tmp_path / "whole"), check=True)
    expected = (tmp_path / "whole" / "results.parquet").read_bytes()
    rng = np.random.default_rng(1)
    for workers in ("1", "2"):
        out = tmp_path / workers
        command = run_command(out, "--workers", workers)
        unfinished = 0
        for _ in range(5):
            before = seen = standing(out)
            with subprocess.Popen(command) as process:
                for _ in range(rng.integers(1, 3)):
                    wait_until(lambda out=out, seen=seen: standing(out) != seen)
                    seen = standing(out)
                time.sleep(rng.uniform(0.0, 0.5))
                assert process.poll() is None
                process.kill()  # and its workers have to notice
            after = standing(out)
            assert sum(after.values()) > sum(before.values())
            assert all(after[name] >= done for name, done in before.items())
            unfinished += any(done < EPISODES for done in after.values())
        assert unfinished
        slow = [sys.executable, "-c", SLOW_DISK, *command[3:]]
        with subprocess.Popen(slow) as process:  # and one while the results are written
            wait_until(lambda out=out: list(out.glob(".results.parquet.*.part")))
            process.kill()
        assert list(out.glob(".results.parquet.*.part"))
        assert not (out / "manifest.json").exists()
        subprocess.run(command, check=True)
        assert (out / "results.parquet").read_bytes() == expected
        assert not list(out.rglob("*.part"))
