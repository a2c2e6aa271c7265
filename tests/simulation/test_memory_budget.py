"""Simulations that do not fit into memory: one sentence, before anything is allocated."""

import re
from dataclasses import replace
from pathlib import Path
from unittest import mock

import jax
import pytest

import driftwise as dw
from driftwise.__main__ import main
from driftwise.base import ArgumentError
from driftwise.parts import (
    DirectionalForgetting,
    ExponentialWeights,
    NoForgetting,
    PeriodicRestart,
    SlidingWindow,
    Ucb,
)
from driftwise.simulation import memory_budget, program
from driftwise.simulation.devices import _BLOCK_RUNS, Split, find_devices
from driftwise.simulation.memory_budget import (
    _PROGRAM_FACTOR,
    compiled_bytes,
    estimate_bytes,
    measure_footprint,
    require_task_memory,
)
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests.cli.test_cli import names
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, agent, make, make_bandit

ENVIRONMENT = make("random_linear_mdp")
TASK = Task(agent("sw_lsvi_ucb"), ENVIRONMENT, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
LONG = dw.algorithms.sw_lsvi_ucb(SPEC, length=10**6, radius=0.4)
CPU = find_devices("cpu")[0]
FORGETTINGS = NoForgetting(), ExponentialWeights(0.9), PeriodicRestart(9), DirectionalForgetting(0.9)
FILE = """
name = "mine"
summary = "Mine"
episodes = 40
runs = 64
environment = { type = "combination_lock" }
[agents.window]
algorithm = "sw_lsvi_ucb"
radius = 0.4
length = 1000000000
"""


def test_a_task_takes_at_least_its_states_and_its_world():
    simulation = Simulation(TASK)
    simulation._begin()
    there = jax.tree.leaves((simulation._state, simulation._world))
    assert estimate_bytes(TASK, measure_footprint(TASK)) > sum(leaf.nbytes for leaf in there)


def test_the_compiler_is_asked_where_much_of_the_memory_is_needed(monkeypatch):
    task = replace(TASK, agent=agent("uniform"))
    shapes = estimate_bytes(task, measure_footprint(task))
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 2 * shapes)
    assert shapes < estimate_bytes(task, measure_footprint(task)) <= _PROGRAM_FACTOR * shapes


@pytest.mark.slow
@pytest.mark.parametrize("forgetting", [*FORGETTINGS, SlidingWindow(99)], ids=str)
def test_the_compiler_adds_no_more_than_a_block_of_runs_takes(forgetting, monkeypatch):
    learner = dw.algorithms.least_squares(SPEC, forgetting=forgetting, exploration=Ucb(1.0))
    task = replace(TASK, agent=learner, num_runs=8 * _BLOCK_RUNS)
    split = Split((CPU,), 8 * _BLOCK_RUNS, 8, _BLOCK_RUNS)
    shapes, found = measure_footprint(task), compiled_bytes(task, split)
    assert found is not None
    kept = shapes.shared + task.num_runs * (shapes.state + shapes.records)
    joined = task.num_runs * shapes.records
    most = kept + _PROGRAM_FACTOR * _BLOCK_RUNS * (shapes.state + shapes.plan) + joined
    assert kept + _BLOCK_RUNS * shapes.plan <= found <= most


def test_a_refusal_names_the_runs_the_bytes_of_one_and_how_many_fit(monkeypatch):
    task, free = replace(TASK, num_runs=1000), 1 << 20
    monkeypatch.setattr(memory_budget, "free_memory", lambda: free)
    with pytest.raises(ArgumentError) as refused:
        require_task_memory([task])
    said = re.fullmatch(
        r"simulation must fit into the 1 MiB of memory that are free, got (.*) MiB for num_episodes = 40, "
        r"num_runs = 1000, chunk_size = 256, (.*) KiB a run, LeastSquares.*: play about (\d+) runs at once, "
        r"the others after them with first_run, or take a shorter window or float32",
        str(refused.value),
    )
    assert said is not None
    together, one, fitting = map(float, said.groups())
    assert together * 1024 == pytest.approx(1000 * one, rel=1e-3)
    assert fitting * one <= 1024 < (fitting + 1) * one * 1.001
    with pytest.raises(ArgumentError, match=r": take a shorter window$"):
        require_task_memory([replace(TASK, precision="float32", record_every=40, agent=LONG)])


def test_a_task_may_take_what_its_accelerator_has_left(monkeypatch):
    class Accelerator:
        def memory_stats(self) -> dict[str, int]:
            return {"bytes_limit": 1000, "bytes_in_use": 300}

    monkeypatch.setattr(memory_budget, "find_devices", lambda name: (Accelerator(),))
    assert memory_budget._free(TASK) == 700


def test_diagnostics_are_curves_too():
    environment, learner = make_bandit(), agent("adaptive_lin_ucb")
    task = Task(learner, environment, num_episodes=20, record_every=10)
    diagnostics = learner.diagnostics(learner.init(environment.to_arrays().example))
    assert len(diagnostics) > 0
    assert measure_footprint(task).curves == 2 * 8 * (3 + len(diagnostics))


def test_workers_need_the_room_of_all_that_run_at_once(monkeypatch):
    monkeypatch.setattr(memory_budget, "free_memory", lambda: 100)
    monkeypatch.setattr(memory_budget, "estimate_bytes", lambda task, shapes: 60)
    require_task_memory([TASK] * 3)
    with pytest.raises(
        ArgumentError, match=r"100 bytes of memory .* got 120 bytes for 2 at once, of num_episo"
    ):
        require_task_memory([TASK] * 3, at_once=2)
    require_task_memory([TASK] * 3, at_once=0)


@pytest.mark.parametrize("sizes", [dict(num_runs=2**32 - 1), dict(num_episodes=2**32 - 1)])
def test_curves_that_never_fit_are_refused_before_anything_runs(sizes):
    with pytest.raises(ArgumentError, match="curves must fit into"):
        dw.simulate(TASK.agent, ENVIRONMENT, **{"num_episodes": 1000, "num_runs": 100, **sizes})


def test_validate_and_run_refuse_a_window_that_never_fits(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(FILE)
    for command in ("validate", "run"):
        assert main([command, "mine.toml"]) == 2
        said = capsys.readouterr()
        assert (said.out, said.err.count("\n")) == ("", 1)
        begin, _, end = said.err.partition(" that are free, got ")
        file = "mine.toml: " * (command == "validate")
        line = f"driftwise: error: {file}window in combination_lock: simulation must fit into the "
        assert begin.startswith(line)
        assert "TiB for num_episodes = 40, num_runs = 64" in end
        assert "length=1000000000" in end
    assert names(tmp_path) == ["mine.toml"]


SIZES = f"num_episodes = 40, num_runs = 3, chunk_size = 256, {TASK.agent!r}"
OUT = f"Out of memory allocating 8 bytes for {SIZES}: lower one of these"


@pytest.mark.parametrize(
    ("failure", "kind", "said"),
    [
        ("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.\nat line 3", MemoryError, OUT),
        ("INTERNAL: something else", jax.errors.JaxRuntimeError, "INTERNAL: something else"),
    ],
)
def test_a_program_that_runs_out_of_memory_and_no_other_says_so(failure, kind, said, monkeypatch):
    monkeypatch.setattr(program, "play_chunk", mock.Mock(side_effect=jax.errors.JaxRuntimeError(failure)))
    with pytest.raises(kind) as told:
        Simulation(TASK).advance()
    assert str(told.value) == said
