"""Reports of folders written by hand."""

from __future__ import annotations

import csv
import inspect
import io
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from driftwise import drift, environments, planning
from driftwise.experiments import EXPERIMENTS
from driftwise.report import FORMATS, write_report
from driftwise.report.data import load_report_data
from driftwise.report.elements import shown, thinned, with_interval
from driftwise.report.page import html_page
from driftwise.report.panels.drift import drift as drift_panel
from driftwise.report.panels.heat_map import find_grids
from driftwise.report.panels.reproduce import toml
from driftwise.report.random_actions import random_regret
from driftwise.report.standings import standings
from driftwise.report.summary import recovery_threshold, summary
from driftwise.report.tables import latex_escaped
from tests.report_folders import LABELS, NASTY, damage, described_lock, make_folder, make_grid_folder


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_written_next_to_the_results_or_where_asked(tmp_path: Path, format: str) -> None:
    folder = make_folder(tmp_path / "results")
    path = write_report(folder, format=format)
    assert path == folder / f"report.{FORMATS[format][0]}"
    other = write_report(folder, format=format, out=tmp_path / "other")
    assert other.read_bytes() == path.read_bytes()  # nothing in it depends on when it was written
    starts = {
        "html": b"<!doctype html>",
        "pdf": b"%PDF",
        "png": b"\x89PNG",
        "csv": b"environment,",
        "latex": b"% by",
    }
    assert path.read_bytes().startswith(starts[format])
    assert not list(tmp_path.rglob("*.part"))


def test_curves_come_back_as_they_were_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, record_every=7)
    table = pq.read_table(folder / "results.parquet")
    shuffled = table.take(np.random.default_rng(1).permutation(len(table)))
    pq.write_table(shuffled, folder / "results.parquet")
    (data,) = load_report_data(folder).values()
    assert data.environment_label == "lock"
    assert data.labels == LABELS
    assert data.episodes.tolist() == [7, 14, 21, 28, 35, 42, 49, 56, 60]
    written = table["cumulative_regret"].to_numpy().reshape(len(LABELS), 6, 9)  # agents, runs, points
    for result, expected in zip(data.results.values(), written, strict=True):
        np.testing.assert_allclose(result.cumulative_regret, expected)


def test_the_table_ranks_by_mean_regret_and_measures_recovery(tmp_path: Path) -> None:
    (data,) = load_report_data(make_folder(tmp_path)).values()
    rows = summary(data)
    assert [row.agent for row in rows] == list(LABELS)
    assert [row.rank for row in rows] == [1, 2, 3]
    assert rows[0].mean == pytest.approx(data.scores[:, 0].mean())
    assert rows[0].iqm_low <= rows[0].iqm <= rows[0].iqm_high
    assert data.changes == (30,)
    assert rows[0].recovery[0] < rows[2].recovery[0] < 30
    table = list(csv.DictReader(io.StringIO(write_report(tmp_path, format="csv").read_text())))
    assert [row["agent"] for row in table] == list(LABELS)
    assert float(table[1]["final_cumulative_regret"]) == rows[1].mean
    assert float(table[1]["recovery_after_30"]) == rows[1].recovery[0]


def test_recovery_is_measured_against_random_actions_whichever_agents_were_run(tmp_path: Path) -> None:
    two_arms = environments.random_linear_mdp(
        num_states=3, num_actions=2, dim=2, horizon=2, drift=drift.Abrupt(at=(30,)), seed=0
    )
    uniform = np.full((2, 3, 2), 0.5)
    regrets = []
    for episode in (0, 30):
        best, random = (
            planning.optimal_values(two_arms.features, two_arms.model(episode)),
            planning.policy_values(two_arms.features, two_arms.model(episode), uniform),
        )
        regrets.append((best - random)[0])
    bounds = np.min(regrets), np.max(regrets)
    assert bounds[0] <= random_regret(two_arms, 60) <= bounds[1]
    described = {"one": {"name": two_arms.name, **two_arms.config}}
    thresholds = [
        recovery_threshold(
            load_report_data(make_folder(tmp_path / label, (label,), environments=described))["one"]
        )
        for label in ("a", "b")
    ]
    assert thresholds == 2 * [random_regret(two_arms, 60) / 4]


def test_environments_are_told_apart_in_every_format(tmp_path: Path) -> None:
    described = {"first": described_lock(30), "§ 2 & more": described_lock(20)}
    folder = make_folder(tmp_path, environments=described)
    report = load_report_data(folder)
    assert list(report) == list(described)
    assert [data.changes for data in report.values()] == [(30,), (20,)]
    assert [data.labels for data in report.values()] == [LABELS, LABELS]
    assert [[LABELS[i] for i in data.order] for data in report.values()] == [[*LABELS], [*LABELS[::-1]]]
    table = list(csv.DictReader(io.StringIO(write_report(folder, format="csv").read_text())))
    assert [(row["environment"], row["agent"]) for row in table] == [
        *(("first", label) for label in LABELS),
        *(("§ 2 & more", label) for label in LABELS[::-1]),
    ]
    assert all((row["recovery_after_30"] == "") == (row["environment"] != "first") for row in table)
    lines = write_report(folder, format="latex").read_text().splitlines()
    assert sum(line.startswith("first & ") for line in lines) == 1
    assert sum(line.startswith(r"§ 2 \& more & ") for line in lines) == 1
    assert lines.count(r"\midrule") == 2
    for format in ("pdf", "png"):
        assert write_report(folder, format=format).stat().st_size > 1000


def test_standings_average_ranks_over_the_environments_that_an_agent_was_run_in(tmp_path: Path) -> None:
    described = {name: described_lock(30) for name in ("a", "b", "c")}
    found = standings(load_report_data(make_folder(tmp_path, environments=described)))
    assert [standing.agent for standing in found] == list(LABELS)
    assert [standing.average_rank for standing in found] == pytest.approx([5 / 3, 2, 7 / 3])
    assert [score.best for score in found[0].scores.values()] == [True, False, True]
    report = load_report_data(tmp_path)
    partly = {"a": report["a"], "b": replace(report["b"], results={"third": report["b"].results["third"]})}
    ranks = {standing.agent: standing.average_rank for standing in standings(partly)}
    assert ranks == {"plain": 1, NASTY: 2, "third": 2}


def test_a_thousand_agents_stay_under_ten_megabytes(tmp_path: Path) -> None:
    path = write_report(make_grid_folder(tmp_path, rows=25, columns=40), format="html")
    assert path.stat().st_size < 10e6
    page = path.read_text()
    assert page.count("<td>OPT-WLSVI (") == 1000 + 999 + 12  # final table, differences, exponents
    assert page.count("Show all 1,000 rows") == page.count("Show all 999 rows") == 1
    assert page.count('data-name="grid-0"') == 1


def test_many_environments_of_long_curves_stay_under_ten_megabytes(tmp_path: Path) -> None:
    described = {f"lock {number}": described_lock(500) for number in range(10)}
    labels = tuple(f"agent {number}" for number in range(30))
    folder = make_folder(tmp_path, labels, episodes=1000, runs=2, environments=described)
    assert write_report(folder, format="html").stat().st_size < 10e6


def test_latex_is_escaped_and_its_rows_have_equal_numbers_of_cells(tmp_path: Path) -> None:
    text = write_report(make_folder(tmp_path), format="latex").read_text()
    assert latex_escaped(NASTY) in text
    assert latex_escaped(r"50%_a\b{ε}") == r"50\%\_a\textbackslash{}b\{$\varepsilon$\}"
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {5}
    assert len(rows) == 1 + len(LABELS)


@pytest.mark.parametrize(
    ("labels", "runs", "episodes"), [(("one",), 1, 1), (("a", "b"), 1, 3), (("a",), 2, 9)]
)
def test_the_smallest_results_have_reports(
    tmp_path: Path, labels: tuple[str, ...], runs: int, episodes: int
) -> None:
    none = {"still": {"name": "combination_lock", "drift": {"type": "Constant"}}}
    folder = make_folder(tmp_path, labels, runs=runs, episodes=max(episodes, 2), environments=none)
    for format in FORMATS:
        assert write_report(folder, format=format).stat().st_size > 50


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no manifest", "is missing"),
        ("no results", "is missing"),
        ("cut manifest", "is damaged: it is not JSON"),
        ("cut results", "is damaged"),
        ("no column", "its column 'regret' is missing"),
        ("lost rows", "is incomplete"),
        ("newer", "format 99, written by a newer driftwise"),
        ("bare", "no format number"),
        ("empty", "does not name the agents"),
        ("other agents", "does not belong to its manifest"),
        ("other environment", "does not belong to its manifest"),
        ("named twice", "does not belong to its manifest"),
        ("homeless", "does not name the agents and the environments"),
    ],
)
def test_a_folder_that_cannot_be_read_is_one_sentence_with_the_path(
    tmp_path: Path, how: str, message: str
) -> None:
    path = damage(make_folder(tmp_path), how)
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        write_report(tmp_path, format="html")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "report.html").exists()


def test_wrong_folders_and_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such folder"):
        write_report(tmp_path / "nowhere", format="html")
    folder = make_folder(tmp_path / "results")
    with pytest.raises(ValueError, match=r"format must be one of .* \(did you mean 'html'\?\)"):
        write_report(folder, format="htm")
    with pytest.raises(ValueError, match="there is no folder"):
        write_report(folder, format="csv", out=tmp_path / "no" / "report.csv")
    with pytest.raises(ValueError, match="it is a folder"):
        write_report(folder, format="csv", out=tmp_path)


def test_an_environment_of_another_version_costs_its_panel_only(tmp_path: Path) -> None:
    odd = {"odd": {"name": "unheard of", "drift": {"type": "Sudden"}}, "lock": described_lock(30)}
    page = html_page(load_report_data(make_folder(tmp_path, environments=odd)))
    assert page.count("The environment cannot be made from the manifest") == 1
    assert page.count('data-name="cumulative"') == 2
    assert page.count('data-name="variation"') == 1


def test_every_environment_has_its_panels(tmp_path: Path) -> None:
    made = [
        make()
        for make in environments.ENVIRONMENTS.values()
        if all(given.default is not given.empty for given in inspect.signature(make).parameters.values())
    ]
    described = {each.name: {"name": each.name, **each.config} for each in made}
    report = load_report_data(make_folder(tmp_path, ("agent",), environments=described))
    assert len(report) > 2
    for data in report.values():
        assert not isinstance(data.environment, str), data.environment
        assert recovery_threshold(data) > 0
        moves = data.environment.variation(data.num_episodes).total > 0
        assert ('data-name="variation"' in drift_panel(data).body) == moves


def test_grids_of_two_parameters_are_found() -> None:
    def agent(label: str, **parameters: Any) -> dict[str, Any]:
        return {"label": label, "parameters": {"part": parameters, "ridge": 1.0}}

    grid = [
        agent(f"A (length={x}, radius={y})", length=x, capacity=128 if x < 128 else 256, radius=y)
        for x in (50, 100, 200)
        for y in (0.3, 1)
    ]
    (found,) = find_grids([*grid, agent("B", length=1, radius=2)])
    assert found.keys == ("part.length", "part.radius")
    assert found.values == ([50, 100, 200], [0.3, 1])
    assert find_grids(grid[:-1]) == []  # not full
    assert find_grids(grid[::2]) == []  # one parameter


def test_the_file_in_the_report_is_the_experiment() -> None:
    for experiment in EXPERIMENTS.values():
        assert tomllib.loads(toml(experiment.config)) == experiment.config
    odd = {"a": 'x"\\\x7f\n', "t": {"ε b": [1, 2.5, True, "50%"], "n": {"deep": {"er": -1}}}}
    assert tomllib.loads(toml(odd)) == odd


def test_numbers_are_short_and_thinning_keeps_the_ends() -> None:
    assert [shown(x) for x in (0, 1234.567, -0.01234567, np.nan, np.inf)] == [
        "0",
        "1,235",
        "−0.01235",
        "–",
        "∞",
    ]
    assert with_interval(32.55, 3.129, 61.98) == "32.55 [3.13, 61.98]"
    assert thinned(3).tolist() == [0, 1, 2]
    kept = thinned(10_001)
    assert (kept[0], kept[-1], len(kept)) == (0, 10_000, 400)
