"""Comparisons from Python: one object from the run to the folder and back."""

import json
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import driftwise as dw
from driftwise.__main__ import main
from driftwise.analysis import finished
from driftwise.analysis.finished import FinishedStudy
from driftwise.environments import Environment
from driftwise.experiments import Experiment
from tests.examples import NUM_EPISODES, NUM_RUNS, agent, make

SIZES: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
OWN = replace(make(), name="a world of my own", config={})  # which no registry can make again
AGENTS: dict[str, Any] = {
    "OPT-WLSVI": agent("opt_wlsvi"),
    "LSVI-UCB": lambda environment: dw.algorithms.lsvi_ucb(environment.spec, radius=[0.4, 0.1]),
    "random": {"algorithm": "uniform"},
}


@pytest.fixture(scope="module")
def study() -> FinishedStudy:
    return dw.compare(AGENTS, OWN, **SIZES, seed=5)


def test_agents_of_all_kinds_meet_the_draws_that_simulate_gives_them(study):
    own = study.results[OWN.name]
    alone = dw.simulate(AGENTS["OPT-WLSVI"], OWN, **SIZES, seed=5)
    np.testing.assert_array_equal(own["OPT-WLSVI"].returns, alone.returns)
    assert [*own] == ["OPT-WLSVI", "LSVI-UCB (radius=0.4)", "LSVI-UCB (radius=0.1)", "random"]
    assert own["LSVI-UCB (radius=0.1)"].parameters["radius"] == 0.1


def test_a_grid_is_one_row_and_one_curve(study):
    agents = [row[0].text for row in study.table().rows]
    assert sorted(agents) == ["LSVI-UCB*", "OPT-WLSVI", "random"]
    assert repr(study.table()).startswith("*: the point of a grid with the lowest final regret, chosen by ")
    figure = study.plot(width=9.0)
    assert figure.get_size_inches()[0] == pytest.approx(9.0)
    named = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"LSVI-UCB*", "OPT-WLSVI", "random"} <= named
    finals = [row[1].numbers[0] for row in study.table().rows]
    assert finals == sorted(finals)


def test_its_text_is_short_and_its_cell_has_table_and_figure(study):
    assert repr(study).startswith("<study comparison: 3 agents in a world of my own: 40 episodes, 3 runs")
    assert len(repr(study)) < 160
    shown = study._repr_html_()
    assert "<table>" in shown
    assert "data:image/png;base64," in shown


def test_a_saved_study_is_a_folder_that_the_commands_read(study, tmp_path, capsys):
    folder = tmp_path / "kept"
    assert [path.name for path in study.save(folder)] == ["results.parquet", "regret.png", "manifest.json"]
    assert main(["report", str(folder)]) == 0
    found = dw.load_study(folder)
    assert found.to_frame().equals(study.to_frame())
    assert dw.load_results(folder).equals(study.to_frame())
    assert repr(found.table()) == repr(study.table())
    found.save(tmp_path / "copy")
    for name in ("results.parquet", "manifest.json"):
        assert (tmp_path / "copy" / name).read_bytes() == (folder / name).read_bytes()
    assert main(["compare", str(folder), str(tmp_path / "copy")]) == 0
    assert "identical" in capsys.readouterr().out
    manifest = json.loads((folder / "manifest.json").read_text())
    assert "agents" not in manifest["config"]  # no file could say them
    assert {entry["name"] for entry in manifest["agents"]} == {*AGENTS}


def test_a_saved_study_stays_whole_if_another_cannot_be_written_there(study, tmp_path, monkeypatch):
    study.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    monkeypatch.setattr(finished, "write_files", Mock(side_effect=OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        study.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_report_is_written_in_the_format_of_its_suffix(study, tmp_path):
    page = study.report(tmp_path / "page.html").read_text()
    assert "It was run from Python" in page
    assert "environment cannot be made" not in page  # it is at hand, though no registry has it
    assert study.report(tmp_path / "table.csv").read_text().startswith("environment,")
    assert study.report(tmp_path / "table.tex").read_text().startswith("%")
    with pytest.raises(ValueError, match=r"^the suffix of path must be one of .*html.*, got 'docx'$"):
        study.report(tmp_path / "page.docx")
    with pytest.raises(ValueError, match="there is no folder"):
        study.report(tmp_path / "nowhere" / "page.html")


def test_a_folder_that_a_run_could_go_on_from_is_left_alone(study, tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ValueError, match=r"^folder must not be one that driftwise run writes to, got "):
        study.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_an_experiment_keeps_the_tables_of_which_there_are_any():
    words: dict[str, Any] = dict(name="mine", summary="One lock", episodes=5, runs=1)
    agents = {"a": {"algorithm": "uniform"}}
    tables: dict[str, Any] = dict(environment={"type": "combination_lock"}, agents=agents)
    assert Experiment(**words, **tables).config == {**words, **tables}
    made = Experiment(**words, **{**tables, "agents": AGENTS})
    assert made.config == {**words, "environment": tables["environment"]}
    made = Experiment(**words, **{**tables, "environment": OWN})
    assert made.config == {**words, "agents": agents}


def test_progress_and_chunks_are_told_as_by_run_study():
    told, chunks = [], []
    dw.compare({"random": agent("uniform")}, OWN, **SIZES, progress=told.append, on_chunk=chunks.append)
    assert [(chunk.agent, chunk.episodes[-1]) for chunk in chunks] == [("random", NUM_EPISODES)]
    assert {(news.label, news.total) for news in told} == {("random", NUM_EPISODES)}
    assert told[-1].done == NUM_EPISODES


def wrong(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = dict(agents={"random": agent("uniform")}, environments=OWN, **SIZES)
    return {**given, **changes}


def other(environment: Environment) -> Any:
    return environment.spec


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (wrong(agents={}), r"^agents must have at least one table, got none$"),
        (wrong(agents={"mine": 3}), r"^agents\.mine must be a table, got 3$"),
        (wrong(agents={"mine": other}), r"^agents\.mine must be an agent, a table, or a function from an"),
        (wrong(agents={"mine": {"algorithm": "x"}}), r"^agents\.mine\.algorithm must be one of .*, got 'x'"),
        (
            wrong(environments=dw.environments.combination_lock(horizon=4)),
            r"^agents\.random: agent must be built for Spec\(.*horizon=4\), got an agent for Spec",
        ),
        (wrong(environments=[OWN, OWN]), r"^environments must differ in name, or be given by other names"),
        (wrong(num_runs=0), r"^runs must be a positive integer, got 0$"),
    ],
)
def test_mistakes_are_one_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        dw.compare(**given)
