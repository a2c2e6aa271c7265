"""Experiment files: what they can say, and that running one gives what the simulator gives."""

import dataclasses
import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import driftwise as dw
from driftwise import experiments
from driftwise.__main__ import main
from driftwise.algorithms import ALGORITHMS
from driftwise.analysis.formatting import format_number
from driftwise.base import from_config, to_config
from driftwise.base.part import CONFIGURABLE
from driftwise.environments import LinearMdp
from driftwise.experiments import EXPERIMENTS, Experiment, experiment_of, load_experiment, prepare
from driftwise.experiments.experiment import Experiments
from driftwise.parts import LeastSquares, Ucb
from driftwise.simulation import running
from tests.cli.test_cli import FILES
from tests.examples import NUM_EPISODES, NUM_RUNS, PARAMETERS, SIZES, only
from tests.experiments.test_experiment_mistakes import (
    AGENTS,
    ENVIRONMENT,
    TOP,
    in_agent,
    in_environment,
    in_top,
)
from tests.experiments.test_experiments import pretend


def experiment(**changes: Any) -> Experiment:
    return experiment_of({**tomllib.loads(TOP + ENVIRONMENT + AGENTS), **changes})


def agents(**tables: dict[str, Any]) -> Experiment:
    return experiment(agents=tables)


TENTH, AT = dict(type="Abrupt", at=["10%"]), dw.drift.Abrupt((30,))
RECORDED = dw.drift.Recorded((0, 1, 0.5), (150, 151, 300))


@pytest.mark.parametrize(
    ("drift", "num_episodes", "made"),
    [
        (dict(type="Abrupt", at=["25%", 500]), 1000, dw.drift.Abrupt((250, 500))),
        (dict(type="Abrupt", at=["0.57%"]), 10_000, dw.drift.Abrupt((57,))),  # 56.99999999999999 in floats
        (dict(type="Abrupt", at=["1." + 40 * "9" + "%"]), 100, dw.drift.Abrupt((1,))),  # 2 in 28 digits
        (dict(type="Abrupt", at=["0.1%"]), 10, dw.drift.Abrupt((1,))),
        (dict(type="Gradual", knots=["0%", "12.5%"]), 1000, dw.drift.Gradual((0, 125))),
        (dict(type="Periodic", period="10%"), 300, dw.drift.Periodic(30)),
        (dict(type="Periodic", period=12.5), 300, dw.drift.Periodic(12.5)),
        (dict(type="Abrupt", at=["50%+1", "100%-1"]), 300, dw.drift.Abrupt((151, 299))),
        (dict(type="Repeat", drift=TENTH, period="50%"), 300, dw.drift.Repeat(dw.drift.Abrupt((30,)), 150)),
        (dict(type="Then", at=["50%"], drifts=[TENTH, TENTH]), 300, dw.drift.Then((AT, AT), (150,))),
        (dict(type="Recorded", weights=[0, 1, 0.5], knots=["50%", "+1", "100%"]), 300, RECORDED),
        (dict(type="Gradual", knots=["50%", "+1", "+10%", 200]), 300, dw.drift.Gradual((150, 151, 181, 200))),
    ],
)
def test_percentages_are_shares_of_the_run_rounded_down(drift, num_episodes, made):
    table = dict(type="random_linear_mdp", drift=drift)
    environment = only(prepare(experiment(environment=table), num_episodes=num_episodes).environments)
    assert isinstance(environment, LinearMdp)
    assert environment.drift == made


def test_every_field_of_a_drift_of_ones_own_may_be_a_percentage(monkeypatch):
    @dataclasses.dataclass(frozen=True)
    class Burst(dw.drift.Drift):
        start: int
        lengths: list[int]
        name: str
        num_anchors = 1

        def mixture(self, episodes: np.ndarray) -> np.ndarray:
            return np.ones((len(episodes), 1))

    monkeypatch.setitem(CONFIGURABLE, "Burst", Burst)
    table = dict(type="Burst", start="50%", lengths=[1, "+2%"], name="%+")
    made = only(prepare(experiment(environment=dict(type="combination_lock", drift=table))).environments)
    assert isinstance(made, LinearMdp)
    assert made.drift == Burst(20, [1, 2], "%+")  # of a run of 40


def test_rows_of_a_drift_are_read_from_beside_the_file_and_become_a_part_of_it(tmp_path):
    (tmp_path / "rows.csv").write_text("share\n0\n1\n0.5\n")
    inner = "{type = 'Recorded', weights = 'rows.csv'}"
    drift = f"drift = {{type = 'Repeat', period = 3, drift = {inner}}}\n"
    (tmp_path / "mine.toml").write_text(TOP + ENVIRONMENT + drift + AGENTS)
    mine = load_experiment(tmp_path / "mine.toml")
    (tmp_path / "rows.csv").unlink()
    made = only(prepare(experiment_of(json.loads(json.dumps(mine.config)))).environments)
    assert isinstance(made, LinearMdp)
    assert made.drift == dw.drift.Repeat(dw.drift.Recorded([0, 1, 0.5]), 3)


def test_every_environment_and_algorithm_can_be_asked_for_by_name():
    tables = {name: dict(algorithm=name, **as_in_a_file(given)) for name, given in PARAMETERS.items()}
    for name, sizes in SIZES.items():
        table = dict(type=name, **sizes)
        made = prepare(experiment(environment=table, agents=tables, episodes=NUM_EPISODES)).groups
        spec = only(prepare(experiment(environment=dict(type=name, **sizes))).environments).spec
        for group in made:
            assert group.task.agent == dw.algorithms.build(spec, group.label, **PARAMETERS[group.label])


def as_in_a_file(given: dict[str, Any]) -> dict[str, Any]:
    """Parts are tables; the length of the run is the experiment's."""
    return {name: to_config(value) for name, value in given.items() if name != "num_episodes"}


@pytest.mark.parametrize("scale", [1.0, 0.1, 10.0])
def test_a_tuned_agent_takes_episodes_and_variation_from_the_experiment(scale):
    drift = dict(type="Abrupt", at=["50%"])
    tuned = dict(algorithm="opt_wlsvi", tuned=True, beta_scale=0.01, variation_scale=scale)
    mine = experiment(environment=dict(type="combination_lock", drift=drift), agents=dict(t=tuned))
    for num_episodes in (40, 400):
        (group,) = prepare(mine, num_episodes=num_episodes).groups
        environment = group.task.environment
        assert group.task.agent == dw.algorithms.opt_wlsvi.tuned(
            environment.spec,
            num_episodes=num_episodes,
            variation=scale * environment.variation(num_episodes).total,
            beta_scale=0.01,
        )


def test_tuned_radii_take_the_true_measures_from_the_environment():
    table = dict(type="hard_instance", num_signs=1, horizon=2)
    tuned = ("opt_wlsvi", "lsvi_ucb", "sw_lsvi_ucb", "lsvi_ucb_restart", "opt_rlsvi")
    tables = {name: dict(algorithm=name, tuned=True) for name in tuned}
    tables |= {name: dict(algorithm=name) for name in ("opt_wlsvi_borl", "master_lsvi_ucb")}
    with pytest.warns(UserWarning, match="need its mu_bound"):
        groups = prepare(experiment(environment=table, agents=tables, episodes=50)).groups
    for group in groups:
        algorithm, environment = ALGORITHMS[group.label], group.task.environment
        assert isinstance(environment, LinearMdp)
        make = algorithm.tuned if group.label in tuned else algorithm
        run = dict(num_episodes=50, **(dict(variation=0.0) if group.label in tuned else {}))
        assert group.task.agent == make(environment.spec, **run, mu_bound=environment.mu_bound)
        assert group.task.agent != make(environment.spec, **run)


def test_tuned_mixtures_take_the_number_of_kernels_from_the_environment():
    drift = dict(type="Gradual", knots=[10, 20, 30])
    table = dict(u=dict(algorithm="ucrl_vtr", tuned=True, forgetting="restart"))
    mine = experiment(environment=dict(type="random_linear_mdp", drift=drift), agents=table, episodes=40)
    (group,) = prepare(mine).groups
    run = dict(num_episodes=40, variation=group.task.environment.variation(40).total)
    assert group.task.agent == dw.algorithms.ucrl_vtr.tuned(
        group.task.environment.spec, num_kernels=3, forgetting="restart", **run
    )
    bandit = experiment(environment=dict(type="russac_abrupt"), agents=table)
    with pytest.raises(ValueError, match="must have kernels of anchors, which the agent needs, got "):
        prepare(bandit)


def test_lists_are_a_grid_whose_numbers_run_together_and_whose_words_do_not():
    table = dict(algorithm="opt_wlsvi", rate=[0.8, 0.9], norm=["sandwich", "single"], radius=[1, 0.5])
    groups = prepare(agents(W=table)).groups
    assert [group.label for group in groups] == ["W (norm=sandwich)", "W (norm=single)"]
    assert list(groups[1].points) == [
        f"W (rate={rate}, norm=single, radius={radius})" for rate in (0.8, 0.9) for radius in (1, 0.5)
    ]
    agent = groups[1].task.agent
    assert isinstance(agent, LeastSquares)
    assert agent.exploration == Ucb((1.0, 0.5, 1.0, 0.5), "single")
    assert agent.forgetting == dw.forgetting.ExponentialWeights((0.8, 0.8, 0.9, 0.9))


def test_a_grid_of_tuned_agents_and_a_list_of_one_value_have_their_labels_too():
    tuned = dict(algorithm="opt_wlsvi", tuned=True, beta_scale=[0.01, 0.1])
    groups = prepare(agents(T=tuned, U=dict(algorithm="lsvi_ucb", radius=[0.5]))).groups
    labels = ["T (beta_scale=0.01)", "T (beta_scale=0.1)"]
    assert [group.label for group in groups] == [*labels, "U"]
    assert [label for group in groups for label in group.points] == [*labels, "U (radius=0.5)"]


def test_a_grid_gives_the_numbers_of_its_points_and_saves_them_apart(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = in_environment("horizon = 3\ndrift = { type = 'Abrupt', at = ['50%'] }")
    Path("mine.toml").write_text(text.replace("0.4", "[0.4, 0.1]\nrecord_every = 4"), encoding="utf-8")
    assert main(["validate", "mine.toml"]) == 2  # the stride is not the agent's
    Path("mine.toml").write_text(
        text.replace("0.4", "[0.4, 0.1]").replace("runs", "record_every = 4\nruns"), encoding="utf-8"
    )
    capsys.readouterr()
    assert main(["run", "mine.toml", "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"results/mine/{name}" for name in FILES]

    mine = load_experiment("mine.toml")
    table = pq.read_table("results/mine/results.parquet").to_pydict()
    manifest = json.loads(Path("results/mine/manifest.json").read_text(encoding="utf-8"))
    assert experiment_of(manifest["config"]) == mine
    assert manifest["record_every"] == 4
    environment, size = only(prepare(mine).environments), NUM_RUNS * NUM_EPISODES // 4
    assert len(table["run"]) == 2 * size
    for index, radius in enumerate((0.4, 0.1)):
        agent = dw.algorithms.opt_wlsvi(environment.spec, rate=0.9, radius=radius)
        alone = dw.simulate(agent, environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, record_every=4)
        block = slice(size * index, size * (index + 1))
        described = manifest["agents"][index]
        assert set(table["agent"][block]) == {described["label"]} == {f"OPT-WLSVI (radius={radius})"}
        assert from_config(described["parameters"]) == agent
        expected = alone.cumulative_regret.reshape(-1)
        np.testing.assert_allclose(table["cumulative_regret"][block], expected, rtol=1e-12)


@pytest.mark.parametrize(("text", "found"), [("quickstart", True), ("./quickstart", False)])
def test_a_name_is_a_built_in_first_and_a_path_never_is(text, found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("quickstart").write_text(in_top(""), encoding="utf-8")
    assert experiments.find_experiment(text).name == ("quickstart" if found else "mine")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_built_in_experiments_are_valid_files(name, capsys):
    assert main(["validate", name]) == 0
    assert EXPERIMENTS[name].name == name
    number = len(EXPERIMENTS[name].environments or "1")
    assert capsys.readouterr().out.startswith(f"{name}: valid: {number} environment{'s' * (number > 1)}, ")
    assert experiment_of(EXPERIMENTS[name].config) == EXPERIMENTS[name]
    assert pickle.loads(pickle.dumps(EXPERIMENTS[name])) == EXPERIMENTS[name]


def test_an_experiment_of_a_folder_is_read_when_it_is_asked_for(tmp_path):
    (tmp_path / "mine.toml").write_text(in_top(""), encoding="utf-8")
    (tmp_path / "broken.toml").write_text("no TOML", encoding="utf-8")
    (tmp_path / "notes.md").write_text("no experiment", encoding="utf-8")
    found = Experiments(tmp_path)
    assert list(found) == ["broken", "mine"]
    assert found["mine"] is found["mine"]
    with pytest.raises(tomllib.TOMLDecodeError):
        found["broken"]


def test_validate_shows_the_sizes_and_the_numbers_that_agents_get(tmp_path, capsys):
    file = tmp_path / "mine.toml"
    tuned = '\n[agents.tuned]\nalgorithm = "opt_wlsvi"\ntuned = true\nbeta_scale = 0.01\n'
    file.write_text(in_agent("0.9", "[0.8, 0.9]").replace("runs = 3", "runs = 1") + tuned, encoding="utf-8")
    assert main(["validate", str(file)]) == 0
    said = capsys.readouterr().out
    counts = "1 environment, 2 agents, 3 parameter points, 40 episodes × 1 run"
    assert said.startswith(f"{file}: valid: {counts}\n")
    lines = [line.split() for line in said.splitlines()]
    study = prepare(load_experiment(file))
    (environment,) = study.environments.values()
    variation = format_number(environment.variation(study.num_episodes).total)
    spec = environment.spec
    sizes = [environment.name, str(spec.dim), str(spec.horizon), str(study.num_episodes), variation]
    assert sizes in [line[:5] for line in lines]
    grid = next(line for line in lines if line[1:5] == ["2", "0.8", "…", "0.9"])  # a row for all its points
    assert grid[5:8] == ["5", "…", "10"]  # 1 / (1 − η)
    agent: Any = study.groups[-1].task.agent
    (row,) = (line for line in lines if line[:1] == ["tuned"])
    assert row[2] == f"{agent.forgetting.rate:.6g}"
    assert f"{agent.exploration.radius:.4g}" in row
    assert row[-1] == f"{environment.variation(study.num_episodes).total:.4g}"  # what it was told


def test_the_example_of_the_documentation_is_what_it_says(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text(encoding="utf-8")
    Path("doors.toml").write_text(page.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    assert main(["validate", "doors.toml"]) == 0
    assert f"$ driftwise validate doors.toml\n{capsys.readouterr().out}" in page
    keys = [name.removesuffix("_") for name in Experiment.__dataclass_fields__]
    assert all(f"| `{key}` |" in page or f"`[{key}" in page for key in keys)


@pytest.mark.parametrize(
    ("arguments", "file", "name"),
    [([], "experiment.toml", "experiment"), (["my lock.toml"], "my lock.toml", "my-lock")],
)
def test_init_writes_a_file_that_is_valid_and_runs(arguments, file, name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "run_task", pretend)
    assert main(["init", *arguments]) == 0
    assert capsys.readouterr().out == f"{file}\n"
    written = Path(file).read_bytes()
    assert main(["init", *arguments]) == 2
    assert Path(file).read_bytes() == written
    starter = load_experiment(file)
    assert starter.name == name
    assert sum(len(group.points) for group in prepare(starter).groups) == 4
    assert len(experiments.run_experiment(starter)) == 4


def test_names_are_shown_as_they_are_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "run_task", pretend)
    label = "[bold]$\\nonsense$"  # markup of terminals, and a formula of figures that is none
    text = TOP.replace('"Mine"', f"'{label}'") + ENVIRONMENT + AGENTS.replace('"OPT-WLSVI"', f"'{label}'")
    Path("mine.toml").write_text(text, encoding="utf-8")
    assert main(["run", "mine.toml"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{label}: 40 episodes")
    assert any(line.strip().split("  ")[0] == label for line in said)
