"""A simulation can be stopped after any chunk and taken up again as if nothing had happened."""

import io
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import opt_wlsvi
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, agent, make
from tests.simulation.diagnosing import diagnosing

OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, seed=5, chunk_size=16)


def played(simulation: Simulation) -> Simulation:
    while not simulation.finished:
        simulation.advance()
    return simulation


def through_a_file(checkpoint: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    file = io.BytesIO()
    np.savez(file, **checkpoint)  # pyright: ignore[reportArgumentType]
    file.seek(0)
    return dict(np.load(file, allow_pickle=False))


@pytest.mark.parametrize("own", [diagnosing(), agent("sw_lsvi_ucb")])
@pytest.mark.parametrize("record_every", [1, 7])
def test_a_restored_simulation_ends_in_the_same_bits(own, record_every):
    environment = make(rewards="bernoulli")
    whole = dw.simulate(own, environment, **OPTIONS, record_every=record_every, keep_state=True)
    first = Simulation(Task(own, environment, **OPTIONS, record_every=record_every))
    for chunks in range(4):  # from the beginning, on the way, and read when finished
        second = Simulation(Task(own, environment, **OPTIONS, record_every=record_every))
        second.restore(through_a_file(first.checkpoint()))
        assert second.done == first.done == min(16 * chunks, NUM_EPISODES)
        result = played(second).result(keep_state=chunks < 3)
        for curve in ("returns", "values", "optimal_values"):
            assert getattr(result, curve).tobytes() == getattr(whole, curve).tobytes()
        assert {*result.diagnostics} == {*whole.diagnostics}
        for name, curve in whole.diagnostics.items():
            assert result.diagnostics[name].tobytes() == curve.tobytes()
        if chunks < 3:
            assert result.state.gram.tobytes() == whole.state.gram.tobytes()
            first.advance()


def test_whatever_is_played_at_once_and_wherever_it_is_taken_up_the_bits_are_the_same():
    task = Task(agent("opt_wlsvi"), make(rewards="bernoulli"), **OPTIONS)
    whole = played(Simulation(task)).result()
    standing, simulation = [], Simulation(task)
    for count in (1, 5, 100, 3, 3, 100, 2, 100):  # never beyond the end of a chunk, of which there are three
        simulation._pace = 1 / (count + 0.5)  # a machine that plays so many in a second
        simulation.advance(1.0)
        standing.append(simulation.done)
        simulation, before = Simulation(task), simulation
        simulation.restore(through_a_file(before.checkpoint()))
    assert standing == [1, 6, 16, 19, 22, 32, 34, 40]
    for curve in ("returns", "values", "optimal_values"):
        assert getattr(simulation.result(), curve).tobytes() == getattr(whole, curve).tobytes()


def test_an_episode_is_the_least_that_is_played_at_once():
    simulation = Simulation(Task(agent("opt_wlsvi"), make(), **OPTIONS))
    simulation.advance(0.0)
    assert simulation.done == 1


def test_the_result_so_far_is_the_beginning_of_the_whole():
    environment = make()
    simulation = Simulation(Task(agent("opt_wlsvi"), environment, **OPTIONS, record_every=5))
    whole = dw.simulate(agent("opt_wlsvi"), environment, **OPTIONS, record_every=5)
    simulation.advance()
    part = simulation.result()
    assert part.lengths.tolist() == [5, 5, 5, 1]
    np.testing.assert_array_equal(part.values[..., :3], whole.values[..., :3])


def test_a_run_does_not_depend_on_how_many_there_are_nor_on_the_first_of_them():
    environment = make()
    options: dict[str, Any] = dict(num_episodes=NUM_EPISODES, seed=5)
    together = dw.simulate(diagnosing(), environment, **options, num_runs=2 * NUM_RUNS)
    for first_run in (0, NUM_RUNS):
        batch = dw.simulate(diagnosing(), environment, **options, num_runs=NUM_RUNS, first_run=first_run)
        expected = slice(first_run, first_run + NUM_RUNS)
        np.testing.assert_array_equal(batch.returns, together.returns[expected])
        for name, curve in {"values": together.values, **together.diagnostics}.items():
            found = batch.values if name == "values" else batch.diagnostics[name]
            np.testing.assert_allclose(found, curve[expected], rtol=0, atol=1e-12)  # rounding


SINGLE = opt_wlsvi(SPEC, rate=0.9, radius=0.4, norm="single")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(num_runs=NUM_RUNS + 1), "got returns of"),
        (dict(record_every=2), "got returns of"),
        (dict(precision="float32"), "got state.0 of float64"),
        (dict(agent=SINGLE), "got other arrays"),
    ],
)
def test_a_checkpoint_of_another_simulation_is_refused_and_changes_nothing(change, message):
    given: dict[str, Any] = dict(agent=agent("opt_wlsvi"), environment=make(), **OPTIONS)
    checkpoint = Simulation(Task(**given))
    checkpoint.advance()
    other = Simulation(Task(**{**given, **change}))
    with pytest.raises(ValueError, match=f"checkpoint must come from .*{message}"):
        other.restore(checkpoint.checkpoint())
    assert other.done == 0
