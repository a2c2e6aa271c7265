"""Chunks: whoever listens hears the curves of the result, once and in order, whatever plays them."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.simulation import checkpoints
from driftwise.simulation.running import run_task, run_tasks
from driftwise.simulation.tasks import Chunk, OnProgress, Poll, Task
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, make
from tests.simulation.diagnosing import diagnosing

SIZES: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, chunk_size=16)
TASK = Task(diagnosing(), make(), **SIZES)


def assert_are_the_curves_of(result: dw.Result, chunks: Sequence[Chunk]) -> None:
    """Bit for bit, one after the other."""

    def joined(curves: Any) -> np.ndarray:
        return np.concatenate(list(curves), axis=-1)

    np.testing.assert_array_equal(joined(chunk.episodes for chunk in chunks), result.episodes)
    for name in ("returns", "regret", "cumulative_regret"):
        curve = joined(getattr(chunk, name) for chunk in chunks)
        np.testing.assert_array_equal(curve, getattr(result, name))
    for name, expected in result.diagnostics.items():
        np.testing.assert_array_equal(joined(chunk.diagnostics[name] for chunk in chunks), expected)


def as_bytes(chunk: Chunk) -> tuple[Any, ...]:
    curves = chunk.episodes, chunk.returns, chunk.regret, chunk.cumulative_regret
    return *(curve.tobytes() for curve in curves), *map(bytes, chunk.diagnostics.values())


@pytest.mark.parametrize(
    ("record_every", "ends"), [(1, [16, 32, 40]), (6, [12, 30, 40]), (25, [25, 40]), (64, [40])]
)
def test_chunks_of_a_simulation_are_its_curves(record_every, ends):
    chunks: list[Chunk] = []
    options = dict(SIZES, record_every=record_every)
    result = dw.simulate(diagnosing(), make(), **options, first_run=3, on_chunk=chunks.append)
    assert [chunk.episodes[-1] for chunk in chunks] == ends  # of whole points, by episodes and not by time
    assert {(chunk.first_run, chunk.num_episodes) for chunk in chunks} == {(3, NUM_EPISODES)}
    assert chunks[0].diagnostics
    assert_are_the_curves_of(result, chunks)


def test_chunks_of_a_grid_have_its_axes():
    chunks: list[Chunk] = []
    grid = dw.algorithms.opt_wlsvi(SPEC, rate=[[0.9], [1.0]], radius=[0.1, 0.2, 0.3])
    result = dw.simulate(grid, make(), **SIZES, on_chunk=chunks.append)
    assert chunks[0].regret.shape == (2, 3, NUM_RUNS, 16)
    assert_are_the_curves_of(result, chunks)


def test_what_a_listener_raises_ends_the_simulation():
    chunks: list[Chunk] = []

    def prune(chunk: Chunk) -> None:
        chunks.append(chunk)
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        dw.simulate(diagnosing(), make(), **SIZES, on_chunk=prune)
    assert len(chunks) == 1
    with pytest.raises(ValueError, match=r"^on_chunk must be a function, got 3$"):
        dw.simulate(diagnosing(), make(), **SIZES, on_chunk=3)


class Elsewhere:
    """An engine that plays here but is only heard of by its reports, as workers are."""

    at_once = 1

    def finish(self, tasks: Sequence[Task], folder: Path, report: OnProgress, poll: Poll) -> None:
        for number, task in enumerate(tasks):
            run_task(task, folder, lambda now, number=number: report(number, now.done, now.task.num_episodes))


def test_the_same_chunks_are_heard_from_an_engine_and_from_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "_SECONDS_BETWEEN", 0.0)
    monkeypatch.setattr(checkpoints, "_TIME_SHARE", 1e9)  # a checkpoint after every part
    here: list[Chunk] = []
    result = dw.simulate(TASK.agent, TASK.environment, **SIZES, on_chunk=here.append)
    events: list[Any] = []
    told: list[Chunk] = []

    def hear(number: int, chunk: Chunk) -> None:
        told.append(chunk)
        events.append(chunk.episodes[-1])

    run_tasks(
        [TASK],
        tmp_path,
        engine=Elsewhere(),
        on_chunk=hear,
        progress=lambda number, done, total: events.append(f"{done} done"),
    )
    assert [as_bytes(each) for each in told] == [as_bytes(each) for each in here]
    assert events.index(16) < events.index("40 done")  # while it was played, and not when all was over
    again: list[Chunk] = []
    run_tasks([TASK], tmp_path, on_chunk=lambda number, chunk: again.append(chunk))  # all is read
    assert [as_bytes(each) for each in again] == [as_bytes(each) for each in here]
    assert_are_the_curves_of(result, again)


def test_a_listener_that_stops_a_run_hears_all_of_it_when_it_goes_on(tmp_path):
    def stop(number: int, chunk: Chunk) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        run_tasks([TASK], tmp_path, on_chunk=stop)
    chunks: list[Chunk] = []
    (result,) = run_tasks([TASK], tmp_path, on_chunk=lambda number, chunk: chunks.append(chunk))
    assert [chunk.episodes[0] for chunk in chunks] == [1, 17, 33]
    assert_are_the_curves_of(result, chunks)
