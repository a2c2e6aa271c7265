"""Curves of other programs: the columns they need, what they may leave out, and what is wrong with them."""

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import driftwise as dw
from driftwise.__main__ import main
from driftwise.analysis.folder_comparison import compare_folders
from driftwise.analysis.report import write_report
from driftwise.analysis.report.data import load_report_data
from driftwise.analysis.report.writing import FORMATS
from driftwise.experiments.results_folder import results_table

RNG = np.random.default_rng(7)
AGENTS, RUNS, EPISODES = ("PPO", "<b>DQN</b>"), 4, 30
REWARDS = {agent: RNG.random((RUNS, EPISODES)) + place for place, agent in enumerate(AGENTS)}


def rows(*columns: str, first: int = 1, **changed: Any) -> dict[str, list[Any]]:
    """A table of all agents, or of the first where they have no column; regret is 3 less the reward."""
    agents = AGENTS if "agent" in columns else AGENTS[:1]
    listed = [*itertools.product(agents, range(RUNS), range(EPISODES))]
    whole = {
        "environment": ["lake"] * len(listed),
        "agent": [agent for agent, *_ in listed],
        "run": [run for _, run, _ in listed],
        "episode": [episode + first for *_, episode in listed],
        "reward": [float(REWARDS[agent][run, episode]) for agent, run, episode in listed],
        "regret": [3 - float(REWARDS[agent][run, episode]) for agent, run, episode in listed],
    }
    return {name: whole[name] for name in columns} | changed


def write(path: Path, table: dict[str, list[Any]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(table), path)
    else:
        lines = [",".join(table), *(",".join(map(str, row)) for row in zip(*table.values(), strict=True))]
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".CSV"])
@pytest.mark.parametrize("first", [0, 1])
def test_files_of_both_kinds_are_curves_whatever_episodes_count_from(tmp_path, suffix, first):
    table = rows("environment", "agent", "run", "episode", "reward", "regret", first=first)
    curves = dw.load_curves(write(tmp_path / f"mine{suffix}", table))
    assert [*curves] == ["lake"]
    assert tuple(curves["lake"]) == AGENTS
    for agent, result in curves["lake"].items():
        np.testing.assert_allclose(result.returns, REWARDS[agent])
        np.testing.assert_allclose(result.regret, 3 - REWARDS[agent])
        assert result.episodes.tolist() == [*range(1, EPISODES + 1)]
        assert repr(result).startswith(f"<{agent} in lake: 30 episodes, 4 runs; final regret ")


def test_what_is_left_out_has_one_name_or_is_made_of_the_rest(tmp_path):
    plain = dw.load_curves(write(tmp_path / "a.csv", rows("run", "episode", "regret")))
    assert [(where, *agents) for where, agents in plain.items()] == [("environment", "agent")]
    assert np.isnan(plain["environment"]["agent"].returns).all()
    paid = dw.load_curves(write(tmp_path / "b.csv", rows("agent", "run", "episode", "reward")))["environment"]
    highest = max(rewards.max() for rewards in REWARDS.values())
    for agent in AGENTS:
        np.testing.assert_allclose(paid[agent].regret, highest - REWARDS[agent])


def test_rows_may_come_in_any_order_and_runs_have_any_names(tmp_path):
    table = rows("agent", "run", "episode", "regret")
    table["run"] = [f"{agent[:2]}-{run}" for agent, run in zip(table["agent"], table["run"], strict=True)]
    order = np.random.default_rng(0).permutation(len(table["run"]))
    shuffled = {name: [column[place] for place in order] for name, column in table.items()}
    curves = dw.load_curves(write(tmp_path / "mine.csv", shuffled))["environment"]
    for agent in AGENTS:
        np.testing.assert_allclose(curves[agent].regret, 3 - REWARDS[agent])


def test_where_episodes_are_left_out_a_row_stands_for_all_since_the_one_before(tmp_path):
    table = rows("run", "episode", "regret")
    table["episode"] = [10 * episode for episode in table["episode"]]
    result = dw.load_curves(write(tmp_path / "mine.csv", table))["environment"]["agent"]
    assert set(result.lengths) == {10}
    np.testing.assert_allclose(result.cumulative_regret[:, -1], 10 * (3 - REWARDS["PPO"]).sum(axis=1))


def test_statistics_take_them(tmp_path):
    curves = dw.load_curves(write(tmp_path / "mine.csv", rows("agent", "run", "episode", "reward")))
    finals = [result.cumulative_regret[:, -1] for result in curves["environment"].values()]
    found = dw.statistics.paired_difference(finals[0], finals[1])
    expected = (REWARDS[AGENTS[1]] - REWARDS[AGENTS[0]]).sum(axis=1).mean()
    assert float(found.mean) == pytest.approx(expected)


def test_results_of_our_own_are_read_as_well(tmp_path):
    result = dw.load_curves(write(tmp_path / "mine.csv", rows("run", "episode", "reward", "regret")))
    own = result["environment"]["agent"]
    pq.write_table(results_table({"lake": {"PPO": own}}), tmp_path / "results.parquet")
    again = dw.load_curves(tmp_path / "results.parquet")["lake"]["PPO"]
    np.testing.assert_array_equal(again.regret, own.regret)


COLUMNS = "must have the columns run, episode, and regret or reward, got"
DIFFER = "is incomplete: agents differ in their runs or episodes, or rows come twice"


def one(run: Any = 0, episode: Any = 1, reward: Any = 1) -> dict[str, list[Any]]:
    """A table of a row."""
    return {"run": [run], "episode": [episode], "reward": [reward]}


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"seed": [1], "step": [1], "return": [0.5]}, f"{COLUMNS} seed, step, return"),
        (rows("run", "episode"), f"{COLUMNS} run, episode"),
        ({"run": [], "episode": [], "reward": []}, "must have rows, got none"),
        (
            dict(run=[0, ""], episode=[1, 2], reward=[1, 1]),
            "must have a value in each row of the column 'run'",
        ),
        (one(reward="much"), "must have numbers in the column 'reward', got 'much'"),
        (one(reward="inf"), "must have finite numbers in the column 'reward'"),
        (one(episode=1.5), "must have counts below 2^32 in the column 'episode', got 1.5"),
        (one(episode=-1), "must have counts below 2^32 in the column 'episode', got -1"),
        (
            dict(run=[0, 0, 1], episode=[1, 2, 1], reward=[1, 1, 1]),
            f"{DIFFER}; 1 agents × 2 runs × 2 episodes are 4 rows, got 3",
        ),
        (dict(run=[0, 0, 1, 1], episode=[1, 2, 1, 1], reward=[1, 1, 1, 1]), DIFFER),
    ],
)
def test_mistakes_are_told_in_one_sentence(tmp_path, table, message):
    path = write(tmp_path / "mine.csv", table)
    with pytest.raises(ValueError, match=f"^{re.escape(f'{path} {message}')}$"):
        dw.load_curves(path)


def test_files_that_are_none_are_named(tmp_path):
    (tmp_path / "mine.parquet").write_bytes(b"no parquet")
    (tmp_path / "mine.txt").write_text("run,episode,reward\n")
    write(tmp_path / "odd.parquet", rows("run", "episode", "reward", agent=[[1]] * RUNS * EPISODES))
    for name, message in (
        ("odd.parquet", "is damaged: Unsupported cast from .*"),
        ("nowhere.csv", "must be a file of curves, but there is no such file"),
        ("mine.txt", r"must be a file of curves: \*.csv or \*.parquet"),
        ("mine.parquet", "is damaged: .*"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(str(tmp_path / name))} {message}$"):
            dw.load_curves(tmp_path / name)


def test_reports_on_them_are_written_beside_them_and_claim_nothing_that_is_not_known(tmp_path):
    path = write(tmp_path / "mine.csv", rows("agent", "run", "episode", "reward"))
    before = path.read_bytes()
    written = {format: write_report(path, format=format) for format in FORMATS}
    assert path.read_bytes() == before
    expected = {f"mine-report.{suffix}" for suffix, _ in FORMATS.values()}
    assert {each.name for each in written.values()} == expected
    page = written["html"].read_text(encoding="utf-8")
    assert "The file has rewards and no regret." in page
    assert "&lt;b&gt;DQN&lt;/b&gt;" in page
    gain = (REWARDS[AGENTS[1]] - REWARDS[AGENTS[0]]).sum(axis=1).mean()
    assert f"earns {gain:.4g} more than the next best agent" in page
    for unknown in (
        *("Run it again", "How the environment drifts", "cannot be made", "common random numbers"),
        *("less regret", "final regret", "umulative regret", "How regret grows", "random actions"),
    ):
        assert unknown not in page
    final = written["csv"].read_text(encoding="utf-8")
    assert final.splitlines()[1].startswith("environment,1.0,<b>DQN</b>,")  # which earns more


def test_a_file_is_a_study_that_can_be_saved_as_a_folder(tmp_path):
    for columns in (("run", "episode", "regret"), ("agent", "run", "episode", "reward")):
        study = dw.load_study(write(tmp_path / "mine.csv", rows(*columns)))
        study.save(tmp_path / "folder")
        (data,) = load_report_data(tmp_path / "folder").values()
        assert data.is_external
        assert list(data.metrics) == [columns[-1]]
        np.testing.assert_array_equal(data.scores, study.data["environment"].scores)
        for each in (study, dw.load_study(tmp_path / "folder")):
            word = "regret" if "regret" in columns else "shortfall"
            assert each.table().columns[1].heading == f"final {word}"


def test_two_files_are_compared_by_what_both_have(tmp_path):
    table = rows("run", "episode", "regret")
    worse = table | {"regret": [regret + 0.5 for regret in table["regret"]]}
    first = load_report_data(write(tmp_path / "a.csv", table))
    second = load_report_data(write(tmp_path / "b.parquet", worse))
    (row,) = compare_folders(first, second).rows
    assert (row.difference, row.verdict) == (pytest.approx(0.5 * EPISODES), "higher")
    with pytest.raises(ValueError, match=r"^metric must be regret, which is all that a has, got 'reward'$"):
        compare_folders(first, second, metric="reward")


def test_commands_take_files(tmp_path, capsys):
    path = write(tmp_path / "mine.csv", rows("agent", "run", "episode", "reward"))
    assert main(["report", str(path), "--format", "csv"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'mine-report.csv'}\n"
    assert main(["compare", str(path), str(path), "--metric", "reward"]) == 0
    assert "A seed is not known" in capsys.readouterr().out
    assert main(["report", str(tmp_path / "nowhere.csv")]) == 2
    assert capsys.readouterr().err.endswith("must be a file of curves, but there is no such file\n")
