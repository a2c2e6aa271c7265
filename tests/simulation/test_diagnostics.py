"""Diagnostics of agents: recorded with the regret, kept, counted and shown."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.__main__ import main
from driftwise.algorithms import opt_wlsvi
from driftwise.algorithms.unknown_variation.bandit_over_agents import BanditOverAgents
from driftwise.analysis.report import write_report
from driftwise.base import stack_parts
from driftwise.parts import Ucb, exp3_p
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, agent, make
from tests.simulation.diagnosing import ALARMS, RESTARTS, diagnosing
from tests.simulation.test_simulation import played, through_a_file

OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, seed=5)
OF_BANDIT = BanditOverAgents(
    stack_parts([opt_wlsvi(SPEC, rate=rate, radius=0.4) for rate in (0.5, 0.9)]), exp3_p(2, num_rounds=6), 7
)


def test_diagnostics_are_of_the_state_after_the_episode():
    told = dw.simulate(diagnosing(), make(), **OPTIONS).diagnostics
    after = np.arange(1, NUM_EPISODES + 1)
    for name, period in (("restarts", RESTARTS), ("alarms", ALARMS)):
        np.testing.assert_array_equal(told[name], np.tile(after % period == 0, (NUM_RUNS, 1)))
    assert len(np.unique(told["evidence"])) > NUM_EPISODES  # every run has its own


def test_diagnostics_change_nothing_and_most_agents_have_none():
    silent = dw.simulate(agent("opt_wlsvi"), make(), **OPTIONS)
    assert silent.diagnostics == silent.counts == {}
    np.testing.assert_array_equal(dw.simulate(diagnosing(), make(), **OPTIONS).values, silent.values)


@pytest.mark.parametrize("record_every", [3, 7])
def test_points_are_means_over_their_episodes_and_events_are_counted_exactly(record_every):
    every = dw.simulate(diagnosing(), make(), **OPTIONS)
    some = dw.simulate(diagnosing(), make(), **OPTIONS, record_every=record_every)
    starts = np.arange(0, NUM_EPISODES, record_every)
    for name, curve in every.diagnostics.items():
        means = np.add.reduceat(curve, starts, axis=-1) / some.lengths
        np.testing.assert_allclose(some.diagnostics[name], means, rtol=1e-12)
    for result in (every, some):
        assert {name: count.tolist() for name, count in result.counts.items()} == {
            "restarts": [NUM_EPISODES // RESTARTS] * NUM_RUNS,
            "alarms": [NUM_EPISODES // ALARMS] * NUM_RUNS,
        }


def test_a_simulation_that_goes_back_to_an_earlier_checkpoint_forgets_the_diagnostics_since():
    simulation = Simulation(Task(diagnosing(), make(), **OPTIONS, chunk_size=16))
    start = through_a_file(simulation.checkpoint())
    expected = played(simulation).result()
    simulation.restore(start)
    assert simulation.result().diagnostics == {}
    again = played(simulation).result()
    np.testing.assert_array_equal(again.counts["restarts"], expected.counts["restarts"])


def test_diagnostics_of_a_grid_have_its_shape():
    radii = Ucb(radius=[[0.1], [0.4]])
    result = dw.simulate(diagnosing(exploration=radii, ridge=[0.5, 1.0, 2.0]), make(), **OPTIONS)
    assert result.diagnostics["evidence"].shape == (2, 3, NUM_RUNS, NUM_EPISODES)
    assert result.counts["alarms"].shape == (2, 3, NUM_RUNS)


def test_an_arm_plays_in_every_episode_and_was_drawn_with_some_probability():
    result = dw.simulate(OF_BANDIT, make(), **OPTIONS)
    assert {*result.diagnostics} == {"played.0", "played.1", "probability.0", "probability.1"}
    played, probability = (
        np.stack([result.diagnostics[f"{name}.{arm}"] for arm in range(2)])
        for name in ("played", "probability")
    )
    assert {*np.unique(played)} == {0.0, 1.0}
    np.testing.assert_array_equal(played.sum(axis=0), 1)
    np.testing.assert_allclose(probability.sum(axis=0), 1, atol=1e-12)
    assert probability[played == 1].min() > 0


FILE = """
name = "told"
summary = "Who begins anew"
episodes = 40
runs = 3
record_every = 7

[environment]
type = "combination_lock"
horizon = 3
drift = { type = "Abrupt", at = ["50%"] }

[agents."LSVI-UCB"]
algorithm = "lsvi_ucb"
radius = 0.4

[agents.random]
algorithm = "random_restart"
base = { algorithm = "lsvi_ucb", radius = 0.4 }
probability = 0.1

[agents.always]
algorithm = "random_restart"
base = { algorithm = "lsvi_ucb", radius = 0.4 }
probability = 1.0

[agents.detected]
algorithm = "change_detection"
base = { algorithm = "lsvi_ucb", radius = 0.4 }
detector = { type = "Glr", noise_scale = 0.2, delta = 0.9, window = 16 }
"""


def test_the_command_counts_events_and_results_keep_them(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("told.toml").write_text(FILE)
    assert main(["run", "told.toml"]) == 0
    heading, *rows = (line for line in capsys.readouterr().out.splitlines() if "mean" in line or "±" in line)
    assert "restarts, mean  alarms, mean  memory    β  seconds" in heading
    counts = {row.strip().split("  ")[0]: row.split()[-5:-3] for row in rows}
    frame: Any = dw.load_results("results/told").groupby("agent", observed=True)
    restarts, alarms = (frame[name].agg(["count", "mean"]) for name in ("restarts", "alarms"))
    assert {*restarts.index[restarts["count"] > 0]} == {"random", "always", "detected"}
    assert {*alarms.index[alarms["count"] > 0]} == {"detected"}
    assert counts["LSVI-UCB"] == ["–", "–"]
    assert counts["always"] == ["40", "–"]
    np.testing.assert_allclose(restarts["mean"]["always"], 1, rtol=1e-12)
    assert counts["detected"][0] == counts["detected"][1]
    rows = csv.DictReader(io.StringIO(write_report(Path("results/told"), format="csv").read_text()))
    written = {row["agent"]: [row["restarts_in_a_run"], row["alarms_in_a_run"]] for row in rows}
    assert written["LSVI-UCB"] == ["", ""]
    assert written["always"] == ["40.0", ""]


def test_without_such_agents_there_is_no_such_column(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("silent.toml").write_text(FILE.partition("[agents.random]")[0])
    assert main(["run", "silent.toml"]) == 0
    assert "restarts" not in capsys.readouterr().out
    for format in ("csv", "html", "latex"):
        written = write_report(Path("results/told"), format=format).read_text()
        assert "restarts" not in written.lower().partition("<script>")[0]
        assert "meta-algorithms" not in written
