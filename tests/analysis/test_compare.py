"""Two results folders side by side: what differs, how it is tested, and what is said of it."""

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import driftwise as dw
from driftwise.__main__ import main
from driftwise.analysis.folder_comparison import (
    Comparison,
    ManifestDifference,
    Participant,
    compare_folders,
    welch_test,
)
from driftwise.analysis.report.data import ReportData
from tests.report_folders import LABELS, make_folder

HARD = np.array([10.0, 14.0, 11.0, 17.0, 13.0, 15.0])  # what luck adds to a run, whoever plays it
GAIN = np.array([1.0, 1.5, 0.5, 1.2, 0.9, 1.1])


def folder_of(
    scores: dict[str, Any], *, episodes: int = 4, every: int = 1, environment: str = "lock", **facts: Any
) -> dict[str, ReportData]:
    """A folder in memory whose agents have these final cumulative regrets, spread evenly over episodes."""
    lengths = np.diff([*range(0, episodes, every), episodes])
    results = {}
    for label, final in scores.items():
        regret = np.repeat(np.asarray(final, dtype=float)[:, None] / episodes, len(lengths), axis=1)
        results[label] = dw.Result(-regret, -regret, np.zeros_like(regret), lengths, None, {})
    facts_of_agent = {"environment": environment, "parameters": {"rate": 0.5}, "seconds": 1.5}
    agents = [{"label": label, **facts_of_agent} for label in scores]
    manifest = {"seed": 7, "environments": {environment: {"name": "lock"}}, "agents": agents, **facts}
    return {environment: ReportData(manifest, environment, results)}


def said(arguments: list[str], capsys: pytest.CaptureFixture) -> str:
    assert main(["compare", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def verdicts(found: Comparison) -> list[str]:
    return [row.verdict for row in found.rows]


def test_with_one_seed_differences_are_paired() -> None:
    found = compare_folders(folder_of({"a": HARD}), folder_of({"a": HARD + GAIN}))
    (row,) = found.rows
    by_hand = GAIN.mean() / (GAIN.std(ddof=1) / math.sqrt(6))  # t on 5 degrees of freedom
    expected = stats.ttest_rel(HARD + GAIN, HARD)
    low, high = expected.confidence_interval(0.95)
    assert expected.statistic == pytest.approx(by_hand)
    assert (found.method, row.verdict) == ("paired", "higher")
    assert [row.first, row.second, row.difference] == pytest.approx([80 / 6, 86.2 / 6, 6.2 / 6])
    assert [row.p, row.p_adjusted] == pytest.approx([expected.pvalue] * 2)
    assert [row.low, row.high] == pytest.approx([low, high])
    assert "Both have seed 7" in found.notes[0]


def test_with_two_seeds_they_are_two_samples_of_any_sizes() -> None:
    first, second = HARD, np.concatenate([HARD + GAIN, [12.0, 12.5]])
    found = compare_folders(folder_of({"a": first}), folder_of({"a": second}, seed=8))
    (row,) = found.rows
    expected: Any = stats.ttest_ind(second, first, equal_var=False)
    low, high = expected.confidence_interval(0.95)
    assert (found.method, row.verdict) == ("welch", "unclear")
    assert (row.runs_first, row.runs_second) == (6, 8)
    assert [row.p, row.low, row.high] == pytest.approx([expected.pvalue, low, high])
    assert "seeds are 7 and 8" in found.notes[0]
    assert row.differs_from is None  # runs of different draws part at once
    assert found.facts == (ManifestDifference("seed", 7, 8),)
    unknown = compare_folders(folder_of({"a": HARD}, seed=None), folder_of({"a": HARD + GAIN}, seed=None))
    assert unknown.method == "welch"


LAST_BITS = 1e-15 * np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (np.ones(3), np.ones(4), (0, 0, 1)),
        (np.ones(3), np.ones(4) + 1, (1, 0, 0)),
        (np.ones(3) + LAST_BITS[:3], np.ones(4) + 1e-12 + LAST_BITS, (0, pytest.approx(0, abs=1e-12), 1)),
    ],
)
def test_constant_samples_and_rounding_have_a_p_value_without_a_division_by_zero(
    first: np.ndarray, second: np.ndarray, expected: Any
) -> None:
    assert welch_test(first, second) == expected


def test_p_values_are_adjusted_over_the_rows_that_are_tested() -> None:
    first = {"a": HARD, "same": HARD, "b": HARD}
    second = {"a": HARD + GAIN, "same": HARD, "b": HARD - GAIN[::-1] + 0.9}
    found = compare_folders(folder_of(first), folder_of(second))
    a, same, b = found.rows
    assert a.p < b.p
    assert [a.p_adjusted, b.p_adjusted] == pytest.approx([2 * a.p, b.p])  # two tests, not three
    assert (same.difference, same.low, same.high, same.differs_from) == (0, 0, 0, None)
    assert math.isnan(same.p)
    assert math.isnan(same.p_adjusted)
    assert verdicts(found) == ["higher", "identical", "unclear"]


@pytest.mark.parametrize(("size", "verdict"), [(1e-10, "rounding"), (1e-6, "higher")])
def test_rounding_is_no_difference_however_regular_it_is(size: float, verdict: str) -> None:
    found = compare_folders(folder_of({"a": HARD}), folder_of({"a": HARD + size * GAIN}))
    assert (verdicts(found), found.rows[0].differs_from) == ([verdict], 1 if verdict == "higher" else None)


def test_one_run_has_numbers_and_no_test() -> None:
    found = compare_folders(folder_of({"a": [3.0]}), folder_of({"a": [5.0]}))
    (row,) = found.rows
    assert (row.first, row.second, row.difference, row.verdict) == (3, 5, 2, "not tested")
    assert np.isnan([row.low, row.high, row.p, row.p_adjusted]).all()
    assert any("one run" in note for note in found.notes)
    for other, verdict in (
        (folder_of({"a": HARD}, seed=8), "not tested"),
        (folder_of({"a": [3.0]}), "identical"),
    ):
        assert verdicts(compare_folders(folder_of({"a": [3.0]}), other)) == [verdict]


def test_only_runs_in_common_are_paired() -> None:
    found = compare_folders(folder_of({"a": HARD}), folder_of({"a": np.concatenate([HARD + GAIN, [1e6]])}))
    (row,) = found.rows
    assert (row.runs_first, row.runs_second) == (6, 6)
    assert row.second == pytest.approx((HARD + GAIN).mean())
    assert "lock: compared are the 6 runs in common, of 6 and 7." in found.notes


def test_runs_of_other_lengths_are_compared_at_the_last_episode_that_both_recorded() -> None:
    first = folder_of({"a": HARD}, episodes=12, every=4)  # 4, 8, 12
    second = folder_of({"a": HARD}, episodes=18, every=2)  # the same in more episodes: less in each
    found = compare_folders(first, second)
    (row,) = found.rows
    assert (row.episode, row.differs_from) == (12, 4)
    assert [row.first, row.second] == pytest.approx([HARD.mean(), HARD.mean() * 12 / 18])
    assert any("after episode 12, the last that both recorded of 12 and 18" in note for note in found.notes)
    with pytest.raises(ValueError, match=r"^the folders must both have recorded some episode of 'lock'"):
        compare_folders(*(folder_of({"a": HARD}, episodes=n, every=n) for n in (12, 18)))


def test_runs_are_paired_by_number_though_one_folder_holds_some_back_to_choose_points() -> None:
    numbered = np.arange(6.0)
    first = folder_of({"A (x=1)": 1 + numbered, "A (x=2)": 2 + numbered, "B": numbered})
    for entry in first["lock"].manifest["agents"][:2]:
        entry["name"] = "A"
    first["lock"] = ReportData(first["lock"].manifest, "lock", first["lock"].points)  # which reads it
    second = folder_of({"B": numbered})
    found = compare_folders(first, second)
    (row,) = found.rows
    assert (row.agent, row.runs_first, row.verdict) == ("B", 4, "identical")  # runs 1, 2, 3 and 5
    assert found.only_first == (Participant("lock", "A*"),)
    assert any("A* is A (x=1), of 2" in note for note in found.notes)
    alone = folder_of({"B": numbered[:1]})
    with pytest.raises(ValueError, match=r"^the folders must both show some run of 'lock', got none$"):
        compare_folders(first, alone)


def test_the_first_episode_at_which_curves_differ_is_found() -> None:
    first, second = folder_of({"a": HARD}), folder_of({"a": HARD})
    changed = replace(second["lock"].points["a"], values=second["lock"].points["a"].values - [0, 0, 1, 0])
    second["lock"] = ReportData(second["lock"].manifest, "lock", {"a": changed})
    (row,) = compare_folders(first, second).rows
    assert (row.differs_from, row.difference) == (3, 1)


def test_the_reward_of_all_episodes_can_be_compared() -> None:
    found = compare_folders(folder_of({"a": HARD}), folder_of({"a": HARD + GAIN}, every=3), metric="reward")
    assert found.rows[0].difference == pytest.approx(-GAIN.mean())
    assert verdicts(found) == ["lower"]
    with pytest.raises(ValueError, match="metric must be one of regret, reward, got 'loss'"):
        compare_folders(folder_of({"a": HARD}), folder_of({"a": HARD}), metric="loss")


def test_what_is_in_one_folder_only_is_named() -> None:
    first = {**folder_of({"a": HARD, "b": HARD}), **folder_of({"a": HARD}, environment="maze")}
    found = compare_folders(first, folder_of({"c": HARD, "b": HARD}))
    assert [Participant(row.environment, row.agent) for row in found.rows] == [("lock", "b")]
    assert found.only_first == (("lock", "a"), ("maze", "a"))
    assert found.only_second == (("lock", "c"),)
    nothing = compare_folders(folder_of({"a": HARD}), folder_of({"b": HARD}))
    assert nothing.rows == ()
    assert "no results to compare" in nothing.notes[0]


def test_facts_are_paths_into_the_manifest_and_leave_out_the_moment() -> None:
    def folder(labels: str, at: int, rate: float, moment: str, **facts: Any) -> dict[str, ReportData]:
        rates = {"c": 0.5, "a": rate}
        agents = [
            {"environment": "lock", "label": label, "parameters": {"rate": rates[label]}, "seconds": at}
            for label in labels
        ]
        config = {"agents": {"a b": {"rate": rate}}, "at": [1, at]}
        known = dict(agents=agents, config=config, written=moment, versions={"jax": "1"})
        return folder_of(dict.fromkeys(labels, HARD), **known, **facts)

    first = folder("ac", 2, 0.5, "today")
    second = folder("ca", 3, 0.9, "tomorrow", host={"name": "elsewhere"})
    assert {path: values for path, *values in compare_folders(first, second).facts} == {
        "agents.lock.a.parameters.rate": [0.5, 0.9],
        'config.agents."a b".rate': [0.5, 0.9],
        "config.at": [[1, 2], [1, 3]],
        "host": [None, {"name": "elsewhere"}],
    }


@pytest.mark.parametrize("seeds", [(7, 7), (7, 8)])
def test_without_a_difference_verdicts_are_seldom_wrong(seeds: tuple[int, int]) -> None:
    """Of 400 comparisons of 5 agents each, about 5 % find any difference: 20, with a deviation of 4.4."""
    generator, wrong = np.random.default_rng(11), 0
    for _ in range(400):
        draws = generator.normal(size=(2, 5, 8)) + generator.normal(size=8) * (seeds[0] == seeds[1]) + 20
        sides = (
            folder_of(dict(zip("abcde", scores, strict=True)), episodes=1, seed=seed)
            for scores, seed in zip(draws, seeds, strict=True)
        )
        wrong += any(word in ("lower", "higher") for word in verdicts(compare_folders(*sides)))
    assert 3 <= wrong <= 37


def test_a_folder_and_itself_are_identical(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = str(make_folder(tmp_path / "one"))
    text = said([folder, folder], capsys)
    assert "Nothing differs in what was run." in text
    assert len([line for line in text.splitlines() if line.rstrip().endswith(" identical")]) == len(LABELS)
    assert "identical: all numbers agree to the last bit." in text
    assert "nan" not in text


def test_text_tells_what_changed_and_who_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    first = make_folder(tmp_path / "one", ("a", "b"))
    second = make_folder(tmp_path / "two", ("b", "c"), seed=8, versions={"driftwise": "0.2.0"}, device="gpu")
    lines = [line.split() for line in said([str(first), str(second)], capsys).splitlines()]
    for expected in (["versions.driftwise", "0.1.0", "0.2.0"], ["seed", "7", "8"], ["device", "–", "gpu"]):
        assert expected in lines
    only = [line for line in lines if line[:1] == ["Only"]]
    assert [line[3:5] for line in only] == [["first:", "a"], ["second:", "c"]]


def test_json_and_csv_have_all_digits(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folders = [str(make_folder(tmp_path / name, seed=seed)) for name, seed in (("one", 7), ("two", 8))]
    other = str(make_folder(tmp_path / "short", LABELS[:2], episodes=30, runs=1, seed=8))
    content = json.loads(said([folders[0], other, "--format", "json"], capsys))
    assert content["folders"] == [folders[0], other]
    assert (content["metric"], content["method"]) == ("regret", "welch")
    assert {"path": "seed", "first": 7, "second": 8} in content["facts"]
    assert [row["agent"] for row in content["rows"]] == list(LABELS[:2])
    assert content["rows"][0]["p"] is None  # one run
    assert [cell["agent"] for cell in content["only_first"]] == [LABELS[2]]

    rows = json.loads(said([*folders, "--format", "json", "--metric", "reward"], capsys))["rows"]
    table = csv.DictReader(io.StringIO(said([*folders, "--format", "csv", "--metric", "reward"], capsys)))
    written = [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
    assert list(table) == written
