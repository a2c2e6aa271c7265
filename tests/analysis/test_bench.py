"""The benchmark: cells that are kept, numbers that follow from them, verdicts and exit codes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.__main__ import main
from driftwise.analysis.bench.bench_page import bench_page, bench_tables
from driftwise.analysis.bench.verdicts import Bench, Scores, bench_of, run_scores
from driftwise.scenarios import find_scenario, playing, register_policy
from driftwise.scenarios.contestants import POLICY_SETS
from driftwise.scenarios.playing import ScenarioOutcome, ScenarioTask
from driftwise.scenarios.scenario import SUITES, Sizes
from driftwise.simulation import checkpoints

COLD = "linear_bandit/one_arm-strong/at_once/cold"
NAMES = ("linear_bandit/none/lost/cold", "logistic_bandit/none/lost/warm", COLD)
NAMES += ("linear_bandit/gradual-weak/at_once/cold", COLD.replace("cold", "restarted"))
CHANGE = dict(drop=0.1, resilience=0.5, recovery=(5, True), area=1.0, adaptability=0.9)
ALARMS = dict(delays=(4,), misses=2, false_per_1000=6.0), dict(delays=(8,), misses=0, false_per_1000=2.0)


def outcome(regret: float | None, *alarms: Any, lag: int | None = 7) -> ScenarioOutcome:
    """The outcome of a run for each of the alarms; without a regret, the agent could not play."""
    if regret is None:
        return ScenarioOutcome(np.zeros(0), (), "Error: no")
    scores = dict(share=0.9, changes=[CHANGE], glides=True, lag=lag)
    return ScenarioOutcome(np.array([regret]), tuple({**scores, "alarms": own} for own in alarms or (None,)))


FIXED_REGRETS: dict[str, tuple[float | None, ...]] = {
    "uniform": (100.0, 100.0, 100.0, 100.0, 100.0),
    "memory_30": (40.0, 40.0, 20.0, 20.0, 20.0),
    "memory_100": (30.0, 30.0, 30.0, 30.0, 30.0),
    "memory_300": (20.0, 20.0, 40.0, 40.0, 40.0),
    "memory_all": (10.0, 10.0, 60.0, 60.0, 60.0),
    "epsilon_greedy": (200.0,) * 5,  # a baseline
}


def judged(
    *mine: float | None, changed: dict[str, ScenarioOutcome] | None = None, names: tuple[str, ...] = NAMES
) -> tuple[Bench, Scores]:
    """A benchmark of the fixed memories, a baseline, and `mine` with these regrets or some other outcomes."""
    regrets, outcomes = FIXED_REGRETS | {"mine": mine or (15.0, 15.0, 10.0, 10.0, 10.0)}, {}
    for agent, own in regrets.items():
        alarms = ALARMS if agent == "mine" else ()
        pairs = zip(NAMES, own, strict=True)
        outcomes |= {(agent, name): outcome(regret, *alarms) for name, regret in pairs}
    outcomes |= {("mine", name): own for name, own in (changed or {}).items()}
    bench = bench_of("bandits", "small", [*regrets], names, outcomes)
    return bench, bench.scores[-1]


def test_regret_is_held_against_the_best_fixed_memory_of_each_scenario_and_copies_count_once():
    bench, mine = judged()
    assert bench.best_fixed == ("memory_all", "memory_all", "memory_30", "memory_30", "memory_30")
    assert bench.ratio["mine"] == pytest.approx((1.5, 1.5, 0.5, 0.5, 0.5))
    assert bench.ratio["memory_100"] == pytest.approx((3.0, 3.0, 1.5, 1.5, 1.5))
    assert bench.profiles["mine"] == {"1.1": 1 / 2, "1.5": 1, "2": 1, "3": 1, "5": 1, "10": 1}
    assert (mine.ratio, mine.rank, mine.recovery, mine.lag) == pytest.approx((1, 3 / 2, 5, 7))
    assert (mine.found, mine.delay, mine.false_alarms) == (1 / 2, np.inf, 4)  # of four changes two
    assert mine.rank_low <= mine.rank <= mine.rank_high
    assert bench.failed == ()
    assert {each.agent for each in bench.verdicts} == {"mine"}
    assert [each.name for each in bench_tables(bench)] == ["scores", "adaptation", "alarms", "verdicts"]
    assert [row[0].text for row in bench_tables(bench)[2].rows] == ["mine"]


def test_alarms_are_given_for_each_problem_and_move_of_whoever_raises_any():
    still = dict(delays=(), misses=0, false_per_1000=3.0)
    alarms = still, still, ALARMS[1], None, ALARMS[0]
    bench, _ = judged(changed={name: outcome(10.0, own) for name, own in zip(NAMES, alarms, strict=True)})
    assert bench.alarms == (
        ("mine", "linear_bandit", "none", 0, np.nan, np.nan, 3.0),
        ("mine", "logistic_bandit", "none", 0, np.nan, np.nan, 3.0),
        ("mine", "linear_bandit", "one_arm", 1, 1.0, 8.0, 2.0),  # its restarted copy does not count
    )
    assert "alarms by problem and move" in bench_page([bench])


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
        ((15.0, 15.0, None, 10.0, None), ["plays", "restarts", "beats chance, drift", "forgets"]),
        ((15.0, 15.0, 0.1, 0.1, 0.2), ["restarts"]),  # all three are below the floor
    ],
)
def test_each_verdict_fails_by_its_own_threshold(regrets, failing):
    bench, _ = judged(*regrets)
    assert [each.test for each in bench.failed] == failing
    assert bench.errors == ({"mine": "Error: no"} if None in regrets else {})
    assert ("Error: no" in bench_page([bench])) == (None in regrets)


def test_a_verdict_for_which_there_are_too_few_scenarios_is_left_out():
    assert [each.test for each in judged(names=NAMES[1:3])[0].verdicts] == ["plays"]


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


class Still:
    """The first action, always."""

    def __init__(self, spec):
        self.policy = np.eye(spec.num_actions)[np.zeros((spec.horizon, spec.num_states), int)]

    def decide(self, context):
        return self.policy

    def learn(self, trajectory):
        pass


def bench(folder: Path, *options: str) -> int:
    """Run a small benchmark in this process."""
    call = ["bench", "--with", COLD, "--agents", "epsilon_greedy", "--workers", "1", "--out", str(folder)]
    return main([*call, *options])


def saved_tasks(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "tasks").glob("*.npz")}


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scenarios that were played, in order."""
    names: list[str] = []
    play = playing.play_policy

    def counted(make: Any, scenario: Any, *, run: int = 0) -> Any:
        names.append(scenario.name)
        return play(make, scenario, run=run)

    monkeypatch.setattr(playing, "play_policy", counted)
    return names


@pytest.mark.usefixtures("tiny")
def test_a_stopped_benchmark_goes_on_to_the_same_bytes(tmp_path, played):
    bench(tmp_path)
    whole, number = (tmp_path / "bench.json").read_bytes(), len(played)
    for path in [*(tmp_path / "tasks").glob("*.npz")][:3]:
        path.unlink()
    bench(tmp_path)
    assert len(played) == number + 3
    assert (tmp_path / "bench.json").read_bytes() == whole
    bench(tmp_path)
    assert len(played) == number + 3


def test_a_folder_of_an_older_version_is_refused_and_stays_as_it_was(tmp_path, capsys):
    (tmp_path / "cells.jsonl").write_text("{}")
    assert bench(tmp_path) == 2
    assert "--out must be a new folder" in capsys.readouterr().err
    assert not (tmp_path / "tasks").exists()


@pytest.mark.usefixtures("tiny")
def test_cells_of_other_code_are_played_again_and_stay_for_that_code(tmp_path, monkeypatch, played):
    for code, number in [("one", 7), ("other", 14), ("one", 14)]:
        monkeypatch.setattr(playing, "digest_code", lambda make, code=code: code)
        bench(tmp_path)
        assert len(played) == number
    assert len(saved_tasks(tmp_path)) == 14


def edited(path: Path, **changed: Any) -> None:
    """Save other arrays with a seal of their own."""
    arrays = {**np.load(path), **{name: np.asarray(value) for name, value in changed.items()}}
    path.write_bytes(checkpoints.pack_archive(arrays))


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-30]), "is damaged"),
        (lambda path: path.write_bytes(b""), "is damaged"),
        (lambda path: np.savez(path, **{**np.load(path), "runs": "[]"}), "not what it was written with"),
        (lambda path: edited(path, runs="[]"), "runs must be of the 40 rounds that were played, got []"),
        (lambda path: edited(path, runs='[{"regret": NaN}]'), "regret must be finite and not negative"),
        (lambda path: edited(path, runs='[{"regret": Infinity}]'), "regret must be finite and not negative"),
        (lambda path: edited(path, runs='[{"regret": -0.5}]'), "regret must be finite and not negative"),
        (lambda path: edited(path, runs='[{"regret": "x"}]'), "runs.0.regret must be a number, got a word"),
        (lambda path: edited(path, runs="[{}]"), "runs.0.regret is missing"),
        (lambda path: edited(path, runs="[1]"), "runs.0 must be a table, got an integer"),
        (lambda path: edited(path, runs="5"), "runs must be a list, got an integer"),
        (lambda path: edited(path, error="no"), "runs must be of the 40 rounds that were played"),
        (lambda path: edited(path, done=0), "runs must be of the 0 rounds that were played"),
        (lambda path: edited(path, done=41), "checkpoint must come from the same task"),
    ],
)
def test_an_edited_or_damaged_cell_is_refused_in_one_sentence(tmp_path, capsys, damage, sentence):
    bench(tmp_path)
    path = next((tmp_path / "tasks").glob("*.npz"))
    damage(path)
    capsys.readouterr()
    assert bench(tmp_path) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert str(path) in told
    assert told.count("\n") == 1


@pytest.mark.usefixtures("tiny")
def test_chance_has_no_lag_in_a_world_that_glides_and_an_agent_has_one_if_most_of_its_runs_do():
    gliding = "linear_bandit/rotating-strong/at_once/cold"
    work = ScenarioTask.of("uniform", find_scenario(gliding), run_scores).begin()
    work.advance()
    assert work.result().scores[0]["lag"] is None
    for lags, expected in [((3, 5, 8, None), 5), ((3, 5, None, None), np.nan)]:  # of what is no copy
        changed = {name: outcome(10.0, lag=own) for name, own in zip(NAMES, lags, strict=False)}
        bench, mine = judged(changed=changed)
        assert mine.lag == pytest.approx(expected, nan_ok=True)
    assert "–" in [cell.text for cell in bench_tables(bench)[1].rows[0]]


@pytest.mark.usefixtures("tiny")
def test_a_strangers_policies_of_both_kinds_are_judged_and_two_runs_give_the_same_bytes(tmp_path, capsys):
    register_policy("mine", lambda spec, seed: First())
    register_policy("mine", lambda spec, seed: Still(spec), kind="mdps")
    try:
        call = ["bench", "--with", "none,lost/cold", "--agents", "mine", "--workers", "1", "--json"]
        codes = [main([*call, "--out", str(tmp_path / folder)]) for folder in "ab"]
    finally:
        for own in POLICY_SETS.values():
            del own.policies["mine"]
    first, second = ((tmp_path / folder / "bench.json").read_bytes() for folder in "ab")
    assert first == second
    pages = [(tmp_path / folder / "bench.html").read_bytes() for folder in "ab"]
    assert pages[0] == pages[1]
    told = json.loads(first)
    assert {kind: len(each["scenarios"]) for kind, each in told.items()} == {"bandits": 2, "mdps": 1}
    for kind, each in told.items():
        assert each["agents"] == [*POLICY_SETS[kind].yardsticks, "mine"]
        assert each["errors"] == {}
        assert f'id="{kind}"' in pages[0].decode()
    verdicts = [verdict for each in told.values() for verdict in each["verdicts"]]
    assert codes == [int(not all(verdict["passed"] for verdict in verdicts))] * 2
    assert json.loads(capsys.readouterr().out.split("\n}\n")[0] + "\n}") == told


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
        tasks = saved_tasks(tmp_path / folder)
        assert len(tasks) == 3 * (len(POLICY_SETS["bandits"].yardsticks) + 1)
        (tmp_path / "ray" / "tasks").mkdir(parents=True, exist_ok=True)
        for name in [*tasks][:4]:  # the cluster will go on from these
            (tmp_path / "ray" / "tasks" / name).write_bytes(tasks[name])
    for file in ("bench.json", "bench.html"):
        assert len({(tmp_path / folder / file).read_bytes() for folder in places}) == 1


@pytest.mark.parametrize(("name", "make"), [("greedy", First), ("two words", First), ("mine", 3)])
def test_a_policy_needs_a_new_name_and_a_function(name, make):
    with pytest.raises(ValueError, match="must be"):
        register_policy(name, make)
