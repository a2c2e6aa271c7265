"""`driftwise tune --log`."""

import json

import pytest

from driftwise.__main__ import main
from driftwise.online import Bandit, DecisionLog
from driftwise.online.backtesting import backtest
from tests.cli.test_tune import in_json, said
from tests.online.test_backtest import world
from tests.online.test_replay import write_csv

COLUMNS = ("--reward", "gain", "--features", "x,y")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    features, rewards = world(400, changes=7)
    columns = {"x": features[:, 0], "y": features[:, 1], "gain": [*rewards], "arm": ["a", "b"] * 200}
    columns["gain"][7] = ""
    return str(write_csv(tmp_path_factory.mktemp("logs") / "log.csv", columns))


def test_prints_the_scores_the_advice_and_how_to_read_them(file, capsys):
    assert main(["tune", "--log", file, *COLUMNS]) == 0
    out, err = capsys.readouterr()
    for word in ("\n4096 ", "\nall ", "\nmixture ", "best?: ", "Advised memory: ", "\nForgetting helps: "):
        assert word in out
    assert max(map(len, out.splitlines()[1:])) <= 80
    assert err == "driftwise: skipped 1 of 400 rows: a value is missing or not finite\n"


def test_json_page_and_options(file, tmp_path, with_options, capsys):
    text = "ridge = 2.0\nnoise_scale = 0.5\naction = 'arm'\nshared = true"
    options, out = with_options(f"memories = [8, 64]\nwindows = [20]\n{text}"), tmp_path / "new"
    printed = in_json(capsys, "tune", "--log", file, *COLUMNS, *options, "--out", str(out))
    assert [each["name"] for each in printed["memories"]] == ["8", "64", "window 20", "all"]
    assert (printed["ridge"], printed["noise_scale"], printed["noise_given"]) == (2.0, 0.5, True)
    assert (printed["rows"], printed["skipped"], printed["dim"]) == (399, 1, 5)
    assert (printed["features"], printed["actions"]) == (["x", "y"], ["a", "b"])
    assert len(printed["weights"]) == len(printed["at_rows"]) == 399
    assert printed["advised"] in printed["may_be_best"]
    assert printed["forgetting"] == "helps"
    assert json.loads((out / "tune.json").read_text(encoding="utf-8")) == printed
    page = (out / "tune.html").read_text(encoding="utf-8")
    for word in ("How long to remember", "Score of each memory", "Weights of the memories", "window 20"):
        assert word in page


def test_numbers_that_are_not_known_are_none_in_json_and_a_dash_in_text(tmp_path, capsys):
    file = str(write_csv(tmp_path / "log.csv", {"x": [1.0], "y": [2.0], "gain": [3.0]}))
    command = ("tune", "--log", file, *COLUMNS)
    assert in_json(capsys, *command)["gain"] == {"value": 0.0, "low": None, "high": None}
    assert "nan" not in said(capsys, *command)


def test_a_decision_log_is_read_as_it_is(tmp_path, with_options, capsys):
    features, rewards = world(300, changes=3)
    log, bandit = DecisionLog(tmp_path / "log.jsonl"), Bandit("lin_ucb", dim=2, radius=1.0)
    for row, reward in zip(features, rewards, strict=True):
        decision = bandit.decide(row[None])
        log.add_decision(decision, arms=row[None])
        if reward > -2:
            log.add_reward(decision.id, reward)
    command = ["tune", "--log", str(log.path)]
    found = in_json(capsys, *command, *with_options("memories = [8, 64]"))
    kept = rewards > -2
    assert (found["rows"], found["skipped"], found["dim"]) == (kept.sum(), (~kept).sum(), 2)
    expected = backtest(features[kept], rewards[kept], memories=[8, 64])
    assert [each["score"] for each in found["memories"]] == [each.score for each in expected.memories]
    own = "shared must be left out for a decision log, whose arms have features of their own"
    for arguments, message in (
        (["--reward", "gain"], "--reward must be left out for a decision log, which has its own names"),
        (with_options("shared = true"), own),
    ):
        assert main([*command, *arguments]) == 2
        assert capsys.readouterr().err == f"driftwise: error: {message}\n"
