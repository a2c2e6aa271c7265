"""The benchmark: cells that are kept, numbers that follow from them, verdicts and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.analysis.bench import cells as playing
from driftwise.analysis.bench.cells import FILE, Cell, play_cells
from driftwise.analysis.bench.page import html_page, tables
from driftwise.analysis.bench.places import in_processes
from driftwise.analysis.bench.verdicts import bench_of
from driftwise.cli import main
from driftwise.scenarios import register_policy
from driftwise.scenarios.contestants import FIELDS
from driftwise.scenarios.scenario import SUITES, Sizes

COLD = "linear_bandit/one_arm-strong/at_once/cold"
NAMES = (
    "linear_bandit/none/lost/cold",
    "logistic_bandit/none/lost/warm",
    COLD,
    "linear_bandit/gradual-weak/at_once/cold",
    COLD.replace("cold", "restarted"),
)
CHANGE = dict(drop=0.1, resilience=0.5, recovery=(5, True), area=1.0, adaptability=0.9)
ALARMS = dict(delays=(4,), misses=2, false_per_1000=6.0), dict(delays=(8,), misses=0, false_per_1000=2.0)


def made(regrets: dict[str, tuple[float | None, ...]]) -> dict[tuple[str, str], Cell]:
    """Cells with these regrets; without one, the agent could not play."""
    return {
        (agent, name): Cell(agent, name, "Error: no")
        if regret is None
        else Cell(agent, name, "", (regret,), (0.9,), (CHANGE,), (7,), ALARMS if agent == "mine" else ())
        for agent, own in regrets.items()
        for name, regret in zip(NAMES, own, strict=True)
    }


FIXED_REGRETS: dict[str, tuple[float | None, ...]] = {
    "uniform": (100.0, 100.0, 100.0, 100.0, 100.0),
    "memory_30": (40.0, 40.0, 20.0, 20.0, 20.0),
    "memory_100": (30.0, 30.0, 30.0, 30.0, 30.0),
    "memory_300": (20.0, 20.0, 40.0, 40.0, 40.0),
    "memory_all": (10.0, 10.0, 60.0, 60.0, 60.0),
}


def test_regret_is_held_against_the_best_fixed_memory_of_each_scenario_and_copies_count_once():
    regrets = {**FIXED_REGRETS, "mine": (15.0, 15.0, 10.0, 10.0, 10.0)}
    bench = bench_of("bandits", "small", [*regrets], NAMES, made(regrets))
    assert bench.best_fixed == ("memory_all", "memory_all", "memory_30", "memory_30", "memory_30")
    assert bench.ratio["mine"] == pytest.approx((1.5, 1.5, 0.5, 0.5, 0.5))
    assert bench.ratio["memory_100"] == pytest.approx((3.0, 3.0, 1.5, 1.5, 1.5))
    assert bench.profiles["mine"] == {"1.1": 1 / 2, "1.5": 1, "2": 1, "3": 1, "5": 1, "10": 1}
    (mine,) = (each for each in bench.scores if each.agent == "mine")
    assert (mine.ratio, mine.rank, mine.recovery, mine.lag) == pytest.approx((1, 3 / 2, 5, 7))
    assert (mine.found, mine.delay, mine.false_alarms) == (1 / 2, np.inf, 4)  # of four changes two
    assert mine.rank_low <= mine.rank <= mine.rank_high
    assert bench.failed == ()
    assert {each.agent for each in bench.verdicts} == {"mine"}
    assert [each.name for each in tables(bench)] == ["scores", "adaptation", "alarms", "verdicts"]
    assert [row[0].text for row in tables(bench)[2].rows] == ["mine"]


def test_alarms_are_given_for_each_problem_and_move_of_whoever_raises_any():
    regrets = {**FIXED_REGRETS, "mine": (15.0, 15.0, 10.0, 10.0, 10.0)}
    cells = made(regrets)
    still = dict(delays=(), misses=0, false_per_1000=3.0)
    for name, alarms in zip(NAMES, ((still,), (still,), (ALARMS[1],), (), (ALARMS[0],)), strict=True):
        cells["mine", name] = cells["mine", name]._replace(alarms=alarms)
    bench = bench_of("bandits", "small", [*regrets], NAMES, cells)
    assert bench.alarms == (
        ("mine", "linear_bandit", "none", 0, None, None, 3.0),
        ("mine", "logistic_bandit", "none", 0, None, None, 3.0),
        ("mine", "linear_bandit", "one_arm", 1, 1.0, 8.0, 2.0),  # its restarted copy does not count
    )
    assert "alarms by problem and move" in html_page([bench])


@pytest.mark.parametrize(
    ("regrets", "failing"),
    [
        ((15.0, 15.0, 10.0, 10.0, 10.0), []),
        ((15.0, 15.0, 10.0, 10.0, 10.1), ["restarts"]),
        ((41.0, 41.0, 10.0, 10.0, 10.0), ["remembers"]),
        ((10.0, 38.0, 10.0, 10.0, 10.0), ["beats chance, no drift", "remembers"]),  # two say little
        ((15.0, 15.0, 61.0, 61.0, 61.0), ["forgets"]),
        ((15.0, 15.0, 59.0, 59.0, 59.0), []),
        ((15.0, 15.0, 100.0, 100.0, 100.0), ["beats chance, drift", "forgets"]),
        ((None, 15.0, 10.0, 10.0, 10.0), ["plays", "beats chance, no drift", "remembers"]),
        (
            (15.0, 15.0, None, 10.0, None),
            ["plays", "restarts", "beats chance, drift", "forgets"],  # who cannot play cannot restart
        ),
        ((15.0, 15.0, 0.1, 0.1, 0.2), ["restarts"]),  # all three are below the floor
    ],
)
def test_each_verdict_fails_by_its_own_threshold(regrets, failing):
    everyone = {**FIXED_REGRETS, "mine": regrets}
    bench = bench_of("bandits", "small", [*everyone], NAMES, made(everyone))
    assert [each.test for each in bench.failed] == failing
    assert bench.errors == ({"mine": "Error: no"} if None in regrets else {})
    assert ("Error: no" in html_page([bench])) == (None in regrets)


def test_baselines_and_yardsticks_are_not_judged_and_what_too_few_scenarios_are_for_is_not_either():
    regrets = {**FIXED_REGRETS, "epsilon_greedy": (200.0,) * 5, "mine": (15.0, 15.0, 10.0, 10.0, 10.0)}
    bench = bench_of("bandits", "small", [*regrets], NAMES, made(regrets))
    assert {each.agent for each in bench.verdicts} == {"mine"}
    few = bench_of("bandits", "small", [*regrets], NAMES[1:3], made(regrets))
    assert [each.test for each in few.verdicts] == ["plays"]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of runs of 40 rounds."""
    monkeypatch.setitem(SUITES, "small", Sizes(rounds=40, runs=1))


class First:
    """The first arm, always."""

    def decide(self, context):
        return 0

    def learn(self, reward):
        pass


@pytest.mark.usefixtures("tiny")
def test_a_stopped_benchmark_goes_on_and_a_half_written_line_is_played_again(tmp_path, monkeypatch):
    pairs = [(agent, name) for name in NAMES[:2] for agent in ("uniform", "memory_all")]
    options: dict[str, Any] = dict(place=in_processes(1), progress=lambda done, total: None)
    whole = play_cells(pairs, "small", None, **options)
    play_cells(pairs[:2], "small", tmp_path, **options)
    with (tmp_path / FILE).open("a") as file:
        file.write('{"agent": "memory_all", "scen')
    with (tmp_path / FILE).open("ab") as file:
        file.write("…".encode()[:1])  # cut within a letter
    played = []
    play = playing.play_cell
    monkeypatch.setattr(playing, "play_cell", lambda *pair: played.append(pair[:2]) or play(*pair))
    again = play_cells(pairs, "small", tmp_path, **options)
    assert played == pairs[2:]
    assert [each.regret for each in again.values()] == [each.regret for each in whole.values()]
    played.clear()
    assert play_cells(pairs, "small", tmp_path, **options).keys() == whole.keys()
    assert played == []


@pytest.mark.usefixtures("tiny")
def test_cells_of_other_code_are_played_again_and_stay_for_that_code(tmp_path, monkeypatch):
    options: dict[str, Any] = dict(place=in_processes(1), progress=lambda done, total: None)
    pairs, asked = [("uniform", NAMES[0]), ("memory_all", NAMES[0])], []

    def play(*pair: str) -> Cell:
        asked.append(pair[0])
        return Cell(pair[0], pair[1], regret=(float(len(asked)),))

    def regrets(code: str) -> list[float]:
        monkeypatch.setattr(playing, "code_of", lambda make: code)
        return [cell.regret[0] for cell in play_cells(pairs, "small", tmp_path, **options).values()]

    monkeypatch.setattr(playing, "play_cell", play)
    assert regrets("one") == [1, 2]
    assert regrets("other") == [3, 4]
    assert regrets("one") == [1, 2]
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    unmarked = [{key: value for key, value in line.items() if key != "code"} for line in lines]
    (tmp_path / FILE).write_text("".join(f"{json.dumps(line)}\n" for line in unmarked))
    assert regrets("one") == [5, 6]  # nobody knows what code played those


@pytest.mark.usefixtures("tiny")
def test_chance_has_no_lag_in_a_world_that_glides_and_an_agent_has_one_if_most_of_its_runs_do():
    gliding = "linear_bandit/rotating-strong/at_once/cold"
    assert playing.play_cell("uniform", gliding, "small").lag == (None,)
    cells = made({**FIXED_REGRETS, "mine": (15.0, 15.0, 10.0, 10.0, 10.0)})
    for lags, expected in [((3, 5, 8, None), 5), ((3, 5, None, None), None)]:  # of what is no copy
        for name, own in zip(NAMES, lags, strict=False):
            cells["mine", name] = cells["mine", name]._replace(lag=(own,))
        bench = bench_of("bandits", "small", [*FIXED_REGRETS, "mine"], NAMES, cells)
        (mine,) = (each for each in bench.scores if each.agent == "mine")
        assert mine.lag == expected
    assert "–" in [cell.text for cell in tables(bench)[1].rows[0]]


class Still:
    """The first action, always."""

    def __init__(self, horizon):
        self.horizon = horizon

    def decide(self, context):
        num_states, num_actions, _ = context.features.shape
        return np.eye(num_actions)[np.zeros((self.horizon, num_states), int)]

    def learn(self, trajectory):
        pass


@pytest.mark.usefixtures("tiny")
def test_a_strangers_policies_of_both_kinds_are_judged_and_two_runs_give_the_same_bytes(tmp_path, capsys):
    register_policy("mine", lambda spec, seed: First())
    register_policy("mine", lambda spec, seed: Still(spec.horizon), kind="mdps")
    try:
        call = ["bench", "--with", "none,lost/cold", "--agents", "mine", "--workers", "1", "--json"]
        codes = [main([*call, "--out", str(tmp_path / folder)]) for folder in "ab"]
    finally:
        for field in FIELDS.values():
            del field.policies["mine"]
    first, second = ((tmp_path / folder / "bench.json").read_bytes() for folder in "ab")
    assert first == second
    pages = [(tmp_path / folder / "bench.html").read_bytes() for folder in "ab"]
    assert pages[0] == pages[1]
    told = json.loads(first)
    assert {kind: len(each["scenarios"]) for kind, each in told.items()} == {"bandits": 2, "mdps": 1}
    for kind, each in told.items():
        assert each["agents"] == [*FIELDS[kind].yardsticks, "mine"]
        assert each["errors"] == {}
        assert f'id="{kind}"' in pages[0].decode()
    verdicts = [verdict for each in told.values() for verdict in each["verdicts"]]
    assert codes == [int(not all(verdict["passed"] for verdict in verdicts))] * 2
    assert json.loads(capsys.readouterr().out.split("\n}\n")[0] + "\n}") == told


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--suite", "tiny"], "--suite must be one of small, full, got 'tiny'"),
        (["--agents", "epsilon_gredy"], "(did you mean 'epsilon_greedy'?)"),
        (["--agents", ","], "--agents must name at least one of"),
        (
            ["--with", "hurricane"],
            "--with must be part of a name in suite small that --agents play, got 'hurricane'",
        ),
        (["--engine", "dask"], "--engine must be one of processes, ray, got 'dask'"),
        (["--engine", "ray", "--workers", "2"], "--workers is for --engine processes, got 2 with"),
    ],
)
def test_what_cannot_be_played_is_one_line_and_nothing_is_written(options, line, tmp_path, capsys):
    assert main(["bench", "--out", str(tmp_path / "new"), *options]) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("tiny")
def test_a_folder_of_other_sizes_is_refused_and_stays_as_it_was(tmp_path: Path, capsys):
    (tmp_path / FILE).write_text('{"suite": "full"}\n')
    call = ["bench", "--with", COLD, "--agents", "epsilon_greedy", "--workers", "1"]
    assert main([*call, "--out", str(tmp_path)]) == 2
    assert "--out must be new, or have been begun with" in capsys.readouterr().err
    assert (tmp_path / FILE).read_text() == '{"suite": "full"}\n'


PLUGIN = """
from driftwise.scenarios import register_policy
class Last:
    def decide(self, context):
        return len(context.arms) - 1
    def learn(self, reward):
        pass
register_policy("last", lambda spec, seed: Last())
"""


@pytest.mark.slow
def test_workers_and_a_ray_cluster_play_policies_of_a_plugin_to_the_same_bytes(tmp_path):
    (tmp_path / "mylab.py").write_text(PLUGIN)
    call = [sys.executable, "-m", "driftwise", "bench", "--import", "mylab", "--agents", "last"]
    call += ["--with", "linear_bandit/one_arm-strong/at_once"]  # cold, warm and restarted
    places = {"one": ("--workers", "1"), "two": ("--workers", "2"), "ray": ("--engine", "ray")}
    for folder, place in places.items():
        done = subprocess.run([*call, *place, "--out", folder], cwd=tmp_path, check=False)
        assert done.returncode == 1  # the last arm is never the best
        cells = (tmp_path / folder / FILE).read_text().splitlines(keepends=True)
        assert len(cells) == 1 + 3 * (len(FIELDS["bandits"].yardsticks) + 1)
        (tmp_path / "ray").mkdir(exist_ok=True)
        (tmp_path / "ray" / FILE).write_text("".join(cells[:4]))  # where the cluster will go on
    for file in ("bench.json", "bench.html"):
        assert len({(tmp_path / folder / file).read_bytes() for folder in places}) == 1


@pytest.mark.parametrize(("name", "make"), [("greedy", First), ("two words", First), ("mine", 3)])
def test_a_policy_needs_a_new_name_and_a_function(name, make):
    with pytest.raises(ValueError, match="must be"):
        register_policy(name, make)
