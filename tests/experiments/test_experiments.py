"""Experiments are data: what they hold, and that running one gives what the simulator gives."""

import dataclasses
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import opt_wlsvi
from driftwise.base import expand_grid, to_config
from driftwise.base.part import grid_shape
from driftwise.base.provenance import provenance
from driftwise.experiments import EXPERIMENTS, Progress, experiment_of, prepare, run_experiment
from driftwise.experiments.building import grids_of_agent
from driftwise.parts import LeastSquares, Ucb
from driftwise.simulation import running
from driftwise.simulation.tasks import Chunk, Task
from tests.examples import only

QUICKSTART = EXPERIMENTS["quickstart"]


def made_up(agent: Any, environment: Any, num_episodes: int, num_runs: int, seed: int) -> dw.Result:
    """A result as the simulator's, with numbers out of thin air: nothing is compiled."""
    rng = np.random.default_rng([seed, len(str(agent))])
    shape = *grid_shape(agent), num_runs, num_episodes
    values = rng.random(shape)
    facts: dict[str, Any] = dict(num_episodes=num_episodes, num_runs=num_runs, seed=seed, record_every=1)
    facts |= dict(agent=to_config(agent), environment={"name": environment.name, **environment.config})
    facts |= dict(precision="float64", platform="cpu", device="none", seconds=0.5, **provenance())
    curves: Any = dict(returns=rng.random(shape), values=values, optimal_values=values + rng.random(shape))
    return dw.Result(**curves, lengths=np.ones(num_episodes, dtype=int), state=None, manifest=facts)


def standing(task: Task, done: int) -> Any:
    """A simulation that has come so far; the regret of an episode is the number of the grid's point."""
    shape = (task.num_episodes, len(expand_grid(task.agent)), task.num_runs)
    zeros, places = np.zeros(shape), np.broadcast_to(np.arange(shape[1])[:, None], shape)
    sums = {"returns": zeros, "values": zeros, "optimal_values": places}
    return SimpleNamespace(task=task, done=done, sums=sums)


def pretend(task: Task, folder: Path | None, progress: Callable[[Any], None], steps: Any = None) -> dw.Result:
    """In place of running a task, in two chunks unless steps are given."""
    for done in steps or (0, task.num_episodes // 2, task.num_episodes):
        progress(standing(task, done))
    return made_up(task.agent, task.environment, task.num_episodes, task.num_runs, task.seed)


@pytest.mark.parametrize(
    ("num_episodes", "changes"), [(2000, (1000,)), (20, (10,)), (3, (1,)), (2, (1,)), (1, ())]
)
def test_quickstart_changes_in_the_middle_whatever_its_length(num_episodes, changes):
    assert only(prepare(QUICKSTART, num_episodes=num_episodes).environments).changes(num_episodes) == changes


def test_quickstart_gives_all_optimistic_agents_the_same_radius():
    agents = [group.task.agent for group in prepare(QUICKSTART).groups]
    explorations = [agent.exploration for agent in agents if isinstance(agent, LeastSquares)]
    radii = [exploration.radius for exploration in explorations if isinstance(exploration, Ucb)]
    assert len(radii) == 4
    assert len(set(radii)) == 1


def test_sizes_are_the_experiments_own_unless_given(monkeypatch):
    monkeypatch.setattr(running, "run_task", pretend)
    own = run_experiment(QUICKSTART), (QUICKSTART.episodes, QUICKSTART.runs, QUICKSTART.seed)
    given = run_experiment(QUICKSTART, num_episodes=6, num_runs=1, seed=5), (6, 1, 5)
    for outcomes, sizes in (own, given):
        assert [outcome.label for outcome in outcomes] == list(QUICKSTART.agents)
        for outcome in outcomes:
            facts = outcome.result.manifest
            assert (facts["num_episodes"], facts["num_runs"], facts["seed"]) == sizes
            assert outcome.seconds == 0.5


def test_progress_tells_of_every_agent_from_none_to_all_episodes(monkeypatch):
    monkeypatch.setattr(running, "run_task", pretend)
    told: list[tuple] = []
    run_experiment(QUICKSTART, num_episodes=6, num_runs=1, progress=lambda standing: told.append(standing))
    at_first = [("combination_lock", label, 0, 6, 0) for label in QUICKSTART.agents]
    pairs = itertools.product(QUICKSTART.agents, (0, 3, 6))
    assert told == at_first + [("combination_lock", label, done, 6, 0) for label, done in pairs]


def test_what_was_read_from_checkpoints_is_told_apart(monkeypatch):
    monkeypatch.setattr(running, "run_task", partial(pretend, steps=(4, 6)))
    told: list[Progress] = []
    run_experiment(QUICKSTART, num_episodes=6, num_runs=2, progress=told.append)
    first = next(iter(QUICKSTART.agents))
    assert [(each.done, each.restored) for each in told if each.label == first] == [(0, 0), (4, 4), (6, 4)]


def test_chunks_are_told_by_agent_also_of_a_grid(monkeypatch):
    monkeypatch.setattr(running, "run_task", partial(pretend, steps=(6,)))
    grid = dict(algorithm="opt_wlsvi", rate=[0.9, 0.99], radius=0.1)
    mine = experiment_of(
        dict(
            name="mine",
            summary="a grid and another",
            episodes=6,
            runs=2,
            environment=dict(type="combination_lock"),
            agents=dict(grid=grid, floor=dict(algorithm="uniform")),
        )
    )
    chunks: list[Chunk] = []
    outcomes = run_experiment(mine, on_chunk=chunks.append)
    assert [(chunk.environment, chunk.agent) for chunk in chunks] == [
        (outcome.environment_label, outcome.label) for outcome in outcomes
    ]
    assert [chunk.regret.shape for chunk in chunks] == [(2, 6)] * 3
    assert [chunk.cumulative_regret[0, -1] for chunk in chunks] == [0.0, 6.0, 0.0]


@pytest.mark.slow
def test_quickstart_shows_what_it_claims_of_the_adaptive_memory():
    told = {label: QUICKSTART.agents[label] for label in ("OPT-WLSVI", "adaptive OPT-WLSVI")}
    outcomes = run_experiment(dataclasses.replace(QUICKSTART, agents=told))
    chosen, tuned = (outcome.result.cumulative_regret[:, -1] for outcome in outcomes)
    assert tuned.max() < chosen.mean()


@pytest.mark.slow
def test_quickstart_shows_what_it_claims():
    """But for the adaptive memory, which takes longer."""
    told = ("OPT-WLSVI", "SW-LSVI-UCB", "LSVI-UCB", "LSVI-UCB-Restart")
    agents = {label: QUICKSTART.agents[label] for label in told}
    outcomes = run_experiment(dataclasses.replace(QUICKSTART, agents=agents, runs=16))
    results = {outcome.label: outcome.result for outcome in outcomes}
    halfway = QUICKSTART.episodes // 2
    finals = {label: result.cumulative_regret[:, -1] for label, result in results.items()}
    totals = {label: dw.statistics.mean_interval(final) for label, final in finals.items()}
    late = {label: result.regret[:, -halfway // 10 :].mean() for label, result in results.items()}
    before = results["LSVI-UCB"].regret[:, halfway * 9 // 10 : halfway].mean()
    stuck, stuck_width = totals["LSVI-UCB"]
    assert before < 0.01 < 0.6 < late["LSVI-UCB"]
    assert results["LSVI-UCB"].regret[:, halfway:].mean(axis=0).min() > 0.6
    for label in ("OPT-WLSVI", "SW-LSVI-UCB", "LSVI-UCB-Restart"):
        mean, width = totals[label]
        assert late[label] < 0.1
        assert mean + width < (stuck - stuck_width) / 2
    assert late["OPT-WLSVI"] < 0.01
    assert totals["OPT-WLSVI"][0] < stuck / 4


def test_a_grid_that_was_made_in_python_runs_in_programs_of_some_points_each():
    spec = prepare(QUICKSTART).groups[0].task.environment.spec
    made = opt_wlsvi(spec, rate=[[0.8], [0.9]], radius=[0.1, 0.2, 0.3])
    grids = [*grids_of_agent("agents.A", "A", made, at_most=4)]
    assert [len(some) for _, some in grids] == [4, 2]
    found = {label: point for _, some in grids for label, point in some.items()}
    assert [*found][:2] == ["A (rate=0.8, radius=0.1)", "A (rate=0.8, radius=0.2)"]
    assert tuple(point.agent for point in found.values()) == expand_grid(made)
    assert found["A (rate=0.9, radius=0.3)"].values == {"rate": 0.9, "radius": 0.3}
    with pytest.raises(ValueError, match=r"^agents\.A must be a grid of different agents"):
        next(grids_of_agent("agents.A", "A", opt_wlsvi(spec, rate=[0.9, 0.9], radius=0.1), at_most=4))
