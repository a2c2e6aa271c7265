"""Folders grow: what is there is kept, what is missing is run, and what would change is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.__main__ import main
from driftwise.analysis import finished, matplotlib_figures
from driftwise.simulation import running, simulator
from driftwise.simulation.simulator import Simulation
from tests.experiments.test_experiments import pretend

HEAD = 'name = "mine"\nsummary = "Grows"\nepisodes = 40\nruns = 3\n'
LOCK = '[environments.lock]\ntype = "combination_lock"\nhorizon = 3\ndrift = { type = "Abrupt", at = [20] }\n'
FORGETS = '[agents.forgets]\nalgorithm = "opt_wlsvi"\nrate = [0.9]\nradius = 0.4\n'
SLOW = '[agents.slow]\nalgorithm = "opt_wlsvi"\nrate = 0.95\nradius = 0.4\n'
Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run an experiment of these tables, into the folder `out` unless another is named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finished, "report_figure", lambda data: None)  # which takes its time
    monkeypatch.setattr(matplotlib_figures, "figure_bytes", lambda figure, **_: b"a figure")

    def run(*tables: str, out: str = "out", **sizes: int) -> int:
        Path("mine.toml").write_text(HEAD + "".join(tables))
        given = [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
        return main(["run", "mine.toml", "--quiet", "--out", out, *given])

    return run


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Rate, first run, runs, first episode and last of all that is simulated, task by task."""
    found: list[tuple[Any, ...]] = []
    advance = Simulation.advance

    def listening(simulation: Simulation, seconds: float | None = None) -> None:
        task, before = simulation.task, simulation.done
        advance(simulation)  # the whole chunk at once
        agent: Any = task.agent
        found.append((agent.forgetting.rate, task.first_run, task.num_runs, before, simulation.done))

    monkeypatch.setattr(Simulation, "advance", listening)
    return found


def manifest(folder: str = "out") -> dict[str, Any]:
    return json.loads(Path(folder, "manifest.json").read_text())


@pytest.mark.slow
def test_a_folder_grows_in_agents_runs_values_and_episodes_to_the_numbers_of_a_fresh_one(run, played):
    more = FORGETS.replace("[0.9]", "[0.9, 0.95]")
    assert run(LOCK, FORGETS) == 0
    assert played == [(0.9, 0, 3, 0, 40)]
    assert run(LOCK, SLOW, FORGETS) == 0  # an agent, in the first place
    assert run(LOCK, SLOW, FORGETS, runs=6) == 0
    assert run(LOCK, SLOW, more, runs=6) == 0  # a point of a grid
    assert run(LOCK, SLOW, more, runs=6, episodes=60) == 0
    assert played[1:] == [
        (0.95, 0, 3, 0, 40),
        (0.95, 3, 3, 0, 40),
        (0.9, 3, 3, 0, 40),
        (0.95, 0, 6, 0, 40),
        *((*task[:3], 40, 60) for task in played[:5]),
    ]
    count, before = len(played), Path("out/manifest.json").read_bytes()
    assert run(LOCK, SLOW, more, runs=6, episodes=60) == 0
    assert (len(played), Path("out/manifest.json").read_bytes()) == (count, before)
    assert [(each["runs"], each["episodes"], each["agents"]) for each in manifest()["history"]] == [
        (3, 40, ["forgets"]),
        (3, 40, ["slow"]),
        (6, 40, []),
        (6, 40, ["forgets"]),
        (6, 60, []),
    ]
    assert [each["environments"] for each in manifest()["history"]] == [["lock"], [], [], [], []]
    assert main(["report", "out"]) == 0
    page = Path("out/report.html").read_text()
    assert ": 3 runs of 40 episodes, with forgets, lock; " in page
    assert ": 6 runs of 60 episodes</dd>" in page
    assert run(LOCK, SLOW, more, out="fresh", runs=6, episodes=60) == 0
    grown, fresh = dw.load_results("out"), dw.load_results("fresh")
    keys = ["environment", "agent", "run", "episode"]
    assert grown[keys].astype(str).equals(fresh[keys].astype(str))  # in the order of the file
    for name in ("reward", "regret", "cumulative_regret"):
        np.testing.assert_allclose(grown[name], fresh[name], rtol=1e-9)  # batches of another size may round


def test_more_episodes_of_a_run_are_those_of_a_longer_one_to_the_last_bit(run, played, monkeypatch):
    assert run(LOCK, FORGETS) == 0
    assert run(LOCK, FORGETS, episodes=60) == 0
    assert run(LOCK, FORGETS, out="fresh", episodes=60) == 0
    assert dw.load_results("out").equals(dw.load_results("fresh"))
    assert len([*Path("out/tasks").iterdir()]) == 1  # the shorter one went
    played.clear()
    monkeypatch.setattr(simulator, "_SMALL", 0)
    assert run(LOCK, SLOW, out="large") == 0
    assert run(LOCK, SLOW, out="large", episodes=60) == 0
    assert [each[-2:] for each in played] == [(0, 40), (0, 60)]  # large states are not kept: all is played


def test_an_unfinished_run_can_grow(run, played, monkeypatch):
    advance = Simulation.advance

    def full(simulation: Simulation, seconds: float | None = None) -> None:
        advance(simulation, seconds)
        if len(played) == 2:
            raise FloatingPointError("enough")

    with monkeypatch.context() as stopped:
        stopped.setattr(Simulation, "advance", full)
        assert run(LOCK, FORGETS, SLOW) == 2
    played.clear()
    assert run(LOCK, FORGETS, SLOW, runs=6) == 0
    assert [each[:4] for each in played] == [(0.95, 0, 3, 0), (0.9, 3, 3, 0), (0.95, 3, 3, 0)]


@pytest.mark.usefixtures("pretending")
@pytest.mark.parametrize(
    ("tables", "sizes", "said"),
    [
        ((LOCK, FORGETS.replace("0.4", "0.5"), SLOW), {}, "another experiment.agents.forgets.radius"),
        ((LOCK, SLOW), {}, "another experiment.agents.forgets"),
        ((LOCK, FORGETS.replace("[0.9]", "[0.8]"), SLOW), {}, "another experiment.agents.forgets.rate"),
        ((LOCK.replace("20", "10"), FORGETS, SLOW), {}, "another experiment.environments.lock.drift.at"),
        ((LOCK, FORGETS, SLOW), {"runs": 2, "episodes": 30}, "another episodes, runs"),
        ((LOCK, FORGETS, SLOW), {"runs": 8, "seed": 1}, "another seed"),
    ],
)
def test_changing_what_exists_is_refused_by_its_place(tables, sizes, said, run, capsys):
    assert run(LOCK, FORGETS, SLOW) == 0
    before = {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()}
    capsys.readouterr()
    assert run(*tables, **sizes) == 2
    expected = f"driftwise: error: out holds a run with {said}: remove it or choose another folder\n"
    assert capsys.readouterr().err == expected
    assert {path.name: path.read_bytes() for path in Path("out").iterdir() if path.is_file()} == before


@pytest.mark.usefixtures("pretending")
@pytest.mark.parametrize(
    ("tables", "place"),
    [
        ((LOCK.replace("20", '"50%"'), FORGETS), "agents.forgets"),
        ((LOCK, FORGETS, '[agents.tuned]\nalgorithm = "opt_wlsvi"\ntuned = true\n'), "agents.tuned"),
    ],
)
def test_more_episodes_are_refused_where_they_change_what_exists(tables, place, run, capsys):
    assert run(*tables) == 0
    capsys.readouterr()
    assert run(*tables, episodes=50) == 2
    why = f"since {place} in environments.lock is another in a run of 50"
    said = f"out must keep its 40 episodes, {why}: choose another folder"
    assert capsys.readouterr().err == f"driftwise: error: {said}\n"
    assert run(*tables, runs=4) == 0  # which depend on nothing


@pytest.mark.usefixtures("pretending")
def test_a_claim_of_odd_cells_is_refused_in_one_sentence(run, capsys):
    run(LOCK, SLOW)
    path, own = Path("out/run.json"), ["lock", "slow", "{}"]
    whole = json.loads(path.read_text())
    assert whole["requests"][0]["tasks"][0]["cells"] == [own]
    odd = [{"cells": cells} for cells in ([["q", "r", "{}"]], [own[:2]], [], [5])]
    for changed in [*odd, {"first_run": -1}]:
        whole["requests"][0]["tasks"][0] |= {"cells": [own]} | changed
        path.write_text(json.dumps(whole))
        capsys.readouterr()
        assert run(LOCK, SLOW) == 2
        said = "out/run.json is damaged: remove the folder or choose another"
        assert capsys.readouterr().err == f"driftwise: error: {said}\n"


@pytest.mark.usefixtures("pretending")
def test_environments_are_added_to_the_only_one(run):
    only = LOCK.replace("environments.lock", "environment")
    assert run(only, FORGETS) == 0
    named = LOCK.replace("environments.lock", "environments.combination_lock")
    assert run(LOCK, named, FORGETS) == 0
    assert [*manifest()["environments"]] == ["lock", "combination_lock"]
    assert [each["environments"] for each in manifest()["history"]] == [["combination_lock"], ["lock"]]


def test_what_never_was_finished_may_be_given_up(run, monkeypatch):
    def failing(task: Any, *others: Any) -> Any:
        if "bad" in task.name:
            raise FloatingPointError("not finite")
        return pretend(task, *others)

    monkeypatch.setattr(running, "run_task", failing)
    assert run(LOCK, FORGETS) == 0
    assert run(LOCK, FORGETS, SLOW.replace("slow", "bad")) == 2
    assert run(LOCK, FORGETS, SLOW) == 0
    assert [each["agents"] for each in manifest()["history"]] == [["forgets"], ["slow"]]
