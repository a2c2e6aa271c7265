"""`driftwise replay`."""

import codecs
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from driftwise.__main__ import main
from driftwise.online import Bandit
from tests.online.test_replay import drawn, write_csv

COLUMNS = ("--action", "arm", "--reward", "gain", "--features", "x", "--propensity", "chance")


def replayed(capsys, file: str, *arguments: str, columns: Sequence[str] = COLUMNS) -> dict:
    """Return what the command prints as JSON."""
    assert main(["replay", file, *columns, *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    columns = {name: list(values) for name, values in drawn(300).items()}
    columns["gain"][5] = ""
    return str(write_csv(tmp_path_factory.mktemp("logs") / "log.csv", columns))


def test_prints_a_table_and_says_what_was_left_out(file, capsys):
    assert main(["replay", file, *COLUMNS]) == 0
    out, err = capsys.readouterr()
    for word in ("logged", "replay", "IPS", "SNIPS", "DR", "299 rows with 3 actions, 1 more row skipped"):
        assert word in out
    assert err == "driftwise: skipped 1 of 300 rows: a value is missing or not finite\n"


def test_json_page_and_settings(file, tmp_path, with_options, capsys):
    policy = ("--policy", "d_lin_ucb:rate=0.99,radius=.3,norm=single")
    options = with_options("frozen_after = 100\nevery = 50")
    printed = replayed(capsys, file, *policy, *options, "--out", str(tmp_path / "new"))
    policy = printed["policies"]["d_lin_ucb"]
    assert policy["parameters"] == {"rate": 0.99, "radius": 0.3, "norm": "single"}
    assert [window["row"] for window in policy["windows"]] == [150, 200, 250, 299]
    assert policy["final"]["events"] == 199
    assert json.loads((tmp_path / "new" / "replay.json").read_text(encoding="utf-8")) == printed
    page = (tmp_path / "new" / "replay.html").read_text(encoding="utf-8")
    assert "What the policies would have earned" in page


def test_the_seed_decides_which_rows_are_accepted(file, with_options, capsys):
    def windows(seed: str) -> list[dict]:
        policies = replayed(capsys, file, *with_options(f"seed = {seed}"))["policies"]
        return policies["adaptive_lin_ucb"]["windows"]

    assert windows("1") == windows("1") != windows("2")


def test_a_base_of_a_meta_algorithm_is_set_with_dots(file, capsys):
    policy = "random_restart:base.algorithm=lin_ucb,base.radius=0.3,probability=0.01"
    policy = replayed(capsys, file, "--policy", policy)["policies"]["random_restart"]
    assert policy["parameters"]["base"] == {"algorithm": "lin_ucb", "radius": 0.3}


def test_policies_by_name_are_compared(file, tmp_path, with_options, capsys):
    Bandit("greedy", dim=6).save(tmp_path / "agent.safetensors")
    schema = "[columns.x]\ntype = 'Number'\nlow = -1\nhigh = 1\n"
    (tmp_path / "columns.toml").write_text(schema, encoding="utf-8")
    policies = ("--policy", "uniform", "--policy", f"live:file={tmp_path / 'agent.safetensors'}")
    columns = COLUMNS[:4] + COLUMNS[6:]  # without features
    options = with_options(
        f"against = 'uniform'\nclip = 4\nlearn = 'accepted'\nencoder = {str(tmp_path / 'columns.toml')!r}\n"
        "[policies.fast]\nalgorithm = 'd_lin_ucb'\nrate = 0.9\nradius = 0.3\n"
    )
    more = ("--range", "-1,1", "--learn", "all")  # the command line comes before the file
    printed = replayed(capsys, file, *policies, *options, *more, columns=columns)
    assert [*printed["policies"]] == ["uniform", "live", "fast"]
    assert printed["policies"]["fast"]["parameters"] == {"rate": 0.9, "radius": 0.3}
    assert printed["policies"]["live"]["differences"].keys() == {"logged", "uniform"}
    assert printed["policies"]["live"]["differences"]["logged"]["running"].keys() == {"value", "low", "high"}
    assert (printed["reward_range"], printed["clip"], printed["learn"]) == ([-1, 1], 4, "all")
    assert printed["biased"] is False


def test_a_folder_that_cannot_take_the_page_is_refused_before_the_replay(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("driftwise.online.replay.replay", lambda *_, **__: pytest.fail("replayed"))
    (tmp_path / "out" / "replay.html").mkdir(parents=True)
    assert main(["replay", file, *COLUMNS, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.endswith(": replay.html is a folder, not a file\n")


def test_a_byte_order_mark_is_no_part_of_the_first_column(file, tmp_path, capsys):
    (tmp_path / "log.csv").write_bytes(codecs.BOM_UTF8 + Path(file).read_bytes())
    files = file, str(tmp_path / "log.csv")
    plain, marked = (replayed(capsys, path, "--policy", "uniform") for path in files)
    assert plain["policies"] == marked["policies"]


def test_an_agent_that_cannot_learn_is_told_on_the_error_stream(tmp_path, capsys):
    columns = {name: list(values) for name, values in drawn(100).items()}
    columns["chance"][3] = 1e-9
    assert main(["replay", str(write_csv(tmp_path / "log.csv", columns)), *COLUMNS, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "where weights may be 1e+09" in err
    assert json.loads(out)["policies"]["adaptive_lin_ucb"]["learnt"] <= 1
