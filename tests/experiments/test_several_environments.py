"""Experiments with several environments, and grids that are cut into tasks."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import driftwise as dw
from driftwise.__main__ import main
from driftwise.experiments import Progress, experiment_of, prepare, run_experiment
from driftwise.simulation import tasks
from driftwise.simulation.results import split_grid
from tests.examples import NUM_EPISODES, NUM_RUNS, SIZES, only

MDP = dict(type="random_linear_mdp", **SIZES["random_linear_mdp"])
TWO = {
    "a jump": dict(**MDP, drift=dict(type="Abrupt", at=["50%"])),
    "a slow turn": dict(**MDP, drift=dict(type="Gradual", knots=["25%", "50%", "75%"])),
}
AGENTS: dict[str, Any] = {
    "tuned": dict(algorithm="opt_wlsvi", tuned=True, beta_scale=0.01),
    "LSVI-UCB": dict(algorithm="lsvi_ucb", radius=[0.4, 0.1]),
}


def experiment(**changed: Any) -> Any:
    given = dict(name="two", summary="Two", episodes=NUM_EPISODES, runs=NUM_RUNS, agents=AGENTS)
    return experiment_of({**given, **({} if "environment" in changed else {"environments": TWO}), **changed})


def test_every_agent_meets_every_environment_and_is_tuned_for_each():
    study = prepare(experiment())
    worlds, groups = study.environments, study.groups
    assert list(worlds) == list(TWO)
    assert [(own.environment_label, own.label) for own in groups] == [(x, y) for x in TWO for y in AGENTS]
    for group in groups:
        assert group.task.environment.spec == group.task.agent.spec
    tuned = [only(group.points).agent for group in groups if group.label == "tuned"]
    for agent, environment in zip(tuned, worlds.values(), strict=True):
        variation = environment.variation(NUM_EPISODES).total
        options: dict[str, Any] = dict(num_episodes=NUM_EPISODES, variation=variation, beta_scale=0.01)
        assert agent == dw.algorithms.opt_wlsvi.tuned(environment.spec, **options)
    assert tuned[0] != tuned[1]


def test_a_grid_is_cut_into_tasks_without_a_trace_in_its_numbers(monkeypatch):
    monkeypatch.setattr(tasks, "RUNS_OF_A_TASK", 2 * NUM_RUNS)  # two points
    grid: dict[str, Any] = dict(algorithm="opt_wlsvi", rate=[0.8, 0.9, 1.0], radius=0.4)
    mine = experiment(environment=TWO["a jump"], agents={"W": grid})
    groups = prepare(mine).groups
    assert [list(group.points) for group in groups] == [["W (rate=0.8)", "W (rate=0.9)"], ["W (rate=1.0)"]]
    told: list[Progress] = []
    outcomes = run_experiment(mine, progress=told.append)
    setting = only(prepare(mine).environments).name
    assert told[0] == (setting, "W", 0, NUM_EPISODES, 0)
    assert told[-1] == (setting, "W", NUM_EPISODES, NUM_EPISODES, 0)
    assert [each.done for each in told] == sorted(each.done for each in told)
    environment = only(prepare(mine).environments)
    for outcome, rate in zip(outcomes, grid["rate"], strict=True):
        agent = dw.algorithms.opt_wlsvi(environment.spec, rate=rate, radius=0.4)
        alone = dw.simulate(agent, environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
        np.testing.assert_array_equal(outcome.result.returns, alone.returns)
        np.testing.assert_allclose(outcome.result.values, alone.values, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_command_keeps_environments_apart(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(tomli_w.dumps(experiment().config))
    assert main(["validate", "two.toml"]) == 0
    counts = "2 environments, 2 agents, 3 parameter points, 40 episodes × 3 runs"
    assert capsys.readouterr().out.startswith(f"two.toml: valid: {counts}\n")
    assert main(["run", "two.toml"]) == 0
    said = capsys.readouterr()
    assert "a slow turn: LSVI-UCB: 40 of 40 episodes" in said.err.splitlines()
    assert sum(line.lstrip().startswith("a slow turn ") for line in said.out.splitlines()) == 2
    assert "LSVI-UCB* is LSVI-UCB (radius=0." in " ".join(said.out.split())
    frame = dw.load_results("results/two")
    assert sorted(set(frame["environment"])) == list(TWO)
    assert len(frame) == 2 * 3 * 3 * 40
    manifest = json.loads(Path("results/two/manifest.json").read_text())
    assert list(manifest["environments"]) == list(TWO)
    described = [(agent["environment"], agent["label"]) for agent in manifest["agents"]]
    labels = "tuned", "LSVI-UCB (radius=0.4)", "LSVI-UCB (radius=0.1)"
    assert described == [(x, y) for x in TWO for y in labels]
    assert manifest["host"]["cpus"] >= 1
    assert "commit" in manifest
    assert main(["report", "results/two"]) == 0
    page = Path("results/two/report.html").read_text()
    assert all(label in page for label in TWO)


BAD = dict(MDP, drift=dict(type="Abrupt", at=[0]))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (dict(environment=MDP, environments=TWO), "environments must be all there are, got a table environ"),
        (dict(environments={}), "environments must have at least one table, got none"),
        (dict(environments={"x": 3}), "environments.x must be a table, got 3"),
        (dict(environments={"x": {}}), "environments.x.type is missing"),
        (dict(environments={"a b": BAD}), 'environments."a b".drift.at must be an integer of at least 1'),
    ],
)
def test_mistakes_name_the_environment(changed, said):
    with pytest.raises(ValueError, match=f"^{said}"):
        prepare(experiment(**changed))


def test_an_experiment_needs_an_environment():
    given = dict(name="none", summary="None", episodes=3, runs=1, agents=AGENTS)
    with pytest.raises(ValueError, match=r"^environment is missing: an experiment needs it"):
        experiment_of(given)


def test_diagnostics_of_a_grid_are_split_with_its_other_curves():
    curves = np.arange(2.0 * 3 * 5).reshape(2, 3, 5)
    result = dw.Result(curves, curves, curves, np.ones(5), None, {"seconds": 4.0}, {"epochs": -curves})
    for own, expected in zip(split_grid(result, 2), curves, strict=True):
        np.testing.assert_array_equal(own.values, expected)
        np.testing.assert_array_equal(own.diagnostics["epochs"], -expected)
        assert own.manifest["seconds"] == 2.0
