"""Reports of folders written by hand."""

import csv
import html
import inspect
import io
import json
import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import driftwise as dw
from driftwise import environments
from driftwise.analysis.figures import Figure
from driftwise.analysis.finished import FinishedStudy
from driftwise.analysis.formatting import format_half_width, format_interval, format_number
from driftwise.analysis.page import Code, Section
from driftwise.analysis.regret_curves import thinned
from driftwise.analysis.report import FORMATS, write_report
from driftwise.analysis.report.data import ReportData, differences_to_best, load_report_data
from driftwise.analysis.report.final_table import IN_CSV, final_table, find_grids, mean_recovery
from driftwise.analysis.report.latex import latex_text
from driftwise.analysis.report.origin import reproduce
from driftwise.analysis.report.regret import drift as drift_panel
from driftwise.analysis.report.standings import details, ranking
from driftwise.analysis.report.writing import report_html
from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.environments import drift, planning
from driftwise.experiments import EXPERIMENTS, prepare, run_study
from driftwise.experiments.saved_results import random_regret
from tests.report_folders import LABELS, damage, described_lock, make_folder, make_grid_folder, write

STARTS = {"html": b"<!doctype html>", "svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
STARTS |= {"csv": b"environment,", "latex": b"% by"}


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_written_next_to_the_results_or_where_asked(tmp_path: Path, format: str) -> None:
    folder = make_folder(tmp_path / "results")
    path = write_report(folder, format=format)
    assert path == folder / f"report.{FORMATS[format][0]}"
    other = write_report(folder, format=format, out=tmp_path / "other")
    assert other.read_bytes() == path.read_bytes()  # nothing in it depends on when it was written
    assert path.read_bytes().startswith(STARTS[format])
    assert not list(tmp_path.rglob("*.part"))


def blocks_of(section: Section | None) -> Sequence[Any]:
    """The blocks of a panel that has something to say."""
    assert section is not None
    return section.blocks


def test_curves_come_back_as_they_were_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, record_every=7)
    table = pq.read_table(folder / "results.parquet")
    shuffled = table.take(np.random.default_rng(1).permutation(len(table)))
    write(folder, json.loads((folder / "manifest.json").read_text()), shuffled)
    (data,) = load_report_data(folder).values()
    assert data.environment_label == "lock"
    assert data.labels == LABELS
    assert data.episodes.tolist() == [7, 14, 21, 28, 35, 42, 49, 56, 60]
    written = table["cumulative_regret"].to_numpy().reshape(len(LABELS), 6, 9)  # agents, runs, points
    for result, expected in zip(data.results.values(), written, strict=True):
        np.testing.assert_allclose(result.cumulative_regret, expected)


def test_the_table_ranks_by_mean_regret_and_measures_recovery(tmp_path: Path) -> None:
    report = load_report_data(make_folder(tmp_path))
    (data,) = report.values()
    assert data.changes == (30,)
    table = list(csv.DictReader(io.StringIO(write_report(tmp_path, format="csv").read_text())))
    assert [row["agent"] for row in table] == list(LABELS)
    assert [row["rank"] for row in table] == ["1.0", "2.0", "3.0"]
    first, second, third = ({key: float(row[key]) for key in [*row][3:]} for row in table)
    assert first["final_cumulative_regret"] == pytest.approx(data.scores[:, 0].mean())
    assert first["share_of_random"] == pytest.approx(data.scores[:, 0].mean() / (60 * data.random_regret))
    assert first["iqm_low_95"] <= first["iqm"] <= first["iqm_high_95"]
    assert first["recovery_after_30"] < third["recovery_after_30"] < 30
    assert first["recovered_from_30"] == third["recovered_from_30"] == 1
    rows = final_table(report, IN_CSV).rows
    assert [value for cell in rows[1] for value in cell.numbers][1:] == [*second.values()]


def test_recovery_is_measured_against_random_actions_whichever_agents_were_run(tmp_path: Path) -> None:
    two_arms = environments.random_linear_mdp(
        num_states=3, num_actions=2, dim=2, horizon=2, drift=drift.Abrupt(at=(30,)), seed=0
    )
    uniform, regrets = np.full((2, 3, 2), 0.5), []
    for model in (two_arms.model(0), two_arms.model(30)):
        best = planning.optimal_values(two_arms.features, model)
        regrets.append((best - planning.policy_values(two_arms.features, model, uniform))[0])
    level = random_regret(two_arms, 60)
    assert np.min(regrets) <= level <= np.max(regrets)
    described = {"one": {"name": two_arms.name, **two_arms.config}}
    for label in ("a", "b"):
        folder = make_folder(tmp_path / label, (label,), environments=described)
        assert load_report_data(folder)["one"].recovery_threshold == level / 4


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
    assert write_report(folder, format="svg").stat().st_size > 1000


def test_agents_are_ranked_within_runs_and_ranks_averaged_over_environments(tmp_path: Path) -> None:
    described = {name: described_lock(30) for name in ("a", "b", "c")}
    report = load_report_data(make_folder(tmp_path, environments=described))
    found = ranking(report)
    finals = {
        label: np.stack([data.results[label].cumulative_regret[:, -1] for data in report.values()], axis=1)
        for label in LABELS
    }
    table = dw.statistics.rank_table(finals)
    assert found.agents == table.agents == LABELS  # which lead in two of three
    assert np.stack(found.ranks).tolist() == np.stack(table.overall).tolist()
    assert (found.num_leaders, found.best[0].tolist()) == (1, [True, False, True])


def in_memory(scores: dict[str, Any], **facts: Any) -> ReportData:
    """A report on agents with these final cumulative regrets after two episodes."""
    results = {}
    for label, final in scores.items():
        regret = np.repeat(np.asarray(final, dtype=float)[:, None] / 2, 2, axis=1)
        results[label] = dw.Result(-regret, -regret, np.zeros_like(regret), np.ones(2, dtype=int), None, {})
    agents = [{"environment": "none", "label": label} for label in scores]
    manifest = {"environments": {"none": {"name": "none"}}, "agents": agents, "seed": 3, **facts}
    return ReportData(manifest, "none", results)


NAN = math.nan
SOME = np.array([10.0, 14.0, 11.0, 17.0])
NEXT = np.array([2.0, 3.0, 2.5, 2.1])


@pytest.mark.parametrize("rounding", [0.0, 1e-13])
def test_an_equal_best_shares_the_lead_and_is_not_tested(rounding: float) -> None:
    data = in_memory({"last": SOME + NEXT, "one": SOME * (1 + rounding), "other": SOME})
    heading, lead = _opening({"none": data})
    share = 1 - SOME.mean() / (SOME + NEXT).mean()
    assert heading.startswith(f"one and other end with {100 * share:.0f} % less regret than the next best")
    assert "After 2 episodes the regret of one is 13.0 ± 5.0; last has 2.40 [1.68, 3.12] more" in lead
    assert data.ranks.tolist() == [3, 1.5, 1.5]
    found = differences_to_best(data)
    assert found.identical.tolist() == [True, False]
    assert found.adjusted[1] == found.p[1]  # one test
    assert np.isnan([found.p[0], found.adjusted[0]]).all()
    twice = {"a": data, "b": data}
    assert ranking(twice).num_leaders == 2
    assert ranking(twice).best.all(axis=1).tolist() == [True, True, False]
    assert "one and other share the lowest average rank over 2 environments, 1.50" in _opening(twice)[0]


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        (
            {"b": SOME + NEXT, "a": SOME},
            "a ends with 16 % less regret than the next best agent, b (95 %: 9.1 % to 22 %, p = 0.002).",
        ),
        ({"a": SOME, "b": SOME[::-1] + 0.1}, r"a ends with .* p = 0.9\d*): too close to call with 4 runs."),
        ({"a": [1.0], "b": [2.0]}, "a ends with 50 % less regret than the next best agent, b, in one .*"),
        (  # as without episodes
            {"a": -SOME, "b": SOME},
            r"a ends with 13 less regret than the next best agent, b (95 %: 7.968 to 18.03, p = 0.00\d).",
        ),
        ({"a": SOME}, "a ends with a regret of 13.0 ± 5.0."),
        ({"a": SOME, "b": SOME[::-1]}, "a and b end with a regret of 13.0 ± 5.0."),  # means alone are equal
        (dict.fromkeys("abcdef", SOME), "a, b, c, d and 2 more end with a regret of 13.0 ± 5.0 in every .*"),
    ],
)
def test_the_opening_sentence_names_the_agent_by_how_much_and_with_what_certainty(
    scores: dict[str, Any], sentence: str
) -> None:
    heading, *_ = _opening({"none": in_memory(scores)})
    assert re.fullmatch(re.sub(r"([()])", r"\\\1", sentence), heading)


def test_the_lead_says_since_when_it_is_significant(tmp_path: Path) -> None:
    (data,) = load_report_data(make_folder(tmp_path, runs=8)).values()
    assert re.search(r"It is significantly below all others from episode \d+ on\.", details(data))
    (few,) = load_report_data(make_folder(tmp_path, runs=5)).values()
    assert "significantly" not in details(few)
    assert "of that of random actions; " in details(few)


def _opening(report: dict[str, ReportData]) -> list[str]:
    """The heading of the page and the paragraph below it."""
    header = report_html(report).split("</header>")[0]
    texts = re.findall(r'<(?:h1|p class="lead")>(.*?)</', header)
    return [html.unescape(text).replace("\u00a0", " ") for text in texts]


def test_recovery_shows_how_many_runs_recovered_before_how_fast(tmp_path: Path) -> None:
    """An agent five of whose eight runs recover at once has a median of 0, which does not show the others."""
    (data,) = load_report_data(make_folder(tmp_path)).values()
    after = data.episodes > 30
    curves = {label: np.tile(9.0 * after, (8, 1)) for label in LABELS}
    curves[LABELS[0]][:, data.episodes > 42] = 0  # all recover, though later
    curves[LABELS[1]][:5, after] = 0  # five of eight do so at once
    items = curves.items()
    results = {own: dw.Result(-curve, -curve, 0 * curve, data.lengths, None, {}) for own, curve in items}
    changed = ReportData(data.manifest, data.environment_label, results)
    table = final_table({"one": changed}, ("agent", "recovery"), ranked=False)
    shares, texts = zip(*((row[1].numbers[0], row[1].text) for row in table.rows), strict=True)
    assert shares == (1, 0.625, 0)
    assert texts == ("100 % (12)", "62 % (0)", "0 %")


def test_mean_recovery_is_over_the_changes_that_can_be_judged() -> None:
    cases = {(): NAN, (NAN,): NAN, (4.0, NAN, 8.0): 6, (4.0, math.inf, NAN): math.inf}
    for recovery, expected in cases.items():
        assert mean_recovery(recovery) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(("runs", "cautions"), [(9, 1), (10, 0)])
def test_few_runs_are_told(tmp_path: Path, runs: int, cautions: int) -> None:
    page = report_html(load_report_data(make_folder(tmp_path, ("a", "b"), runs=runs)))
    assert page.count("With 9 runs, which are few to resample") == cautions  # of the final table


def test_facts_that_differ_between_the_parts_of_a_run_are_all_shown() -> None:
    facts = {"device": ["cpu", "NVIDIA"], "versions": {"driftwise": ["1.0", "1.1"], "jax": "0.8"}}
    page = report_html({"none": in_memory({"a": SOME}, **facts)})
    assert "<dt>device</dt><dd>cpu or NVIDIA</dd>" in page
    assert "<dd>driftwise 1.0 or 1.1, jax 0.8</dd>" in page
    assert "With driftwise 1.0 or 1.1;" in page


@pytest.mark.parametrize(("platform", "given"), [("gpu", True), ("cpu", False), (None, False)])
def test_the_command_asks_for_the_device_where_it_was_a_gpu(platform: str | None, given: bool) -> None:
    page = report_html({"none": in_memory({"a": SOME}, platform=platform)})
    assert ("--device gpu" in page) == given


@pytest.mark.slow
def test_a_thousand_points_stay_under_ten_megabytes(tmp_path: Path) -> None:
    path = write_report(make_grid_folder(tmp_path, rows=25, columns=40), format="html")
    assert path.stat().st_size < 10e6
    page = path.read_text()
    assert page.count("<td>OPT-WLSVI (") == 1000  # the points
    assert page.count("<td>OPT-WLSVI*</td>") == 3  # final table, numbers, exponents
    assert page.count("Show all 1,000 rows") == 1
    assert page.count('data-name="grid-0"') == 1


@pytest.mark.slow
def test_many_environments_of_long_curves_stay_under_ten_megabytes(tmp_path: Path) -> None:
    described = {f"lock {number}": described_lock(500) for number in range(10)}
    labels = tuple(f"agent {number}" for number in range(30))
    folder = make_folder(tmp_path, labels, episodes=1000, runs=2, environments=described)
    assert write_report(folder, format="html").stat().st_size < 10e6


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"50%_a\b{ε}", r"50\%\_a\textbackslash b\{$\varepsilon$\}"),
        ("Δ ≤ λ, Ω, φ", r"$\Delta$ $\le$ $\lambda$, $\Omega$, $\varphi$"),
        ("Demšar, i\N{COMBINING ACUTE ACCENT}", "Demšar, í"),  # LaTeX reads Latin letters as they are
        ("UCB – 中", "UCB – 中"),
    ],
)
def test_letters_of_all_kinds_are_latex(text: str, expected: str) -> None:
    lines = latex_text(Table.of("t", words("a", "b"), [("x", text)])).splitlines()
    assert lines[-3] == rf"x & {expected} \\"


def test_latex_says_what_it_takes_and_counts_right(tmp_path: Path) -> None:
    text = write_report(make_folder(tmp_path, ("é", "中"), runs=1), format="latex").read_text()
    assert text.splitlines()[:2] == [
        "% by-hand: 60 episodes, 1 run; no intervals, the lowest regret first",
        "% XeLaTeX or LuaLaTeX is needed, and a font that has: 中",
    ]


@pytest.mark.parametrize(
    ("text", "mark", "expected"),
    [
        ("1,234.5 ± 0.3", "", r"$1{,}234.5 \pm 0.3$"),
        ("∞", "", r"$\infty$"),
        ("–", "", "--"),
        ("−2.00e−07 [1, 2]", "", r"$-2.00 \cdot 10^{-7}\ [1, 2]$"),
        ("100 % (12)", "", r"$100\,\%\ (12)$"),
        ("1 ± 2", "†", r"$1 \pm 2^{\dagger}$"),
    ],
)
def test_numbers_are_mathematics_in_latex(text: str, mark: str, expected: str) -> None:
    table = Table.of("t", words("a") + numbers("b"), [("x", Cell(text, (1.0,), mark=mark))])
    assert latex_text(table).splitlines()[-3] == rf"x & {expected} \\"


def test_the_best_is_bold_in_latex_and_those_that_differ_from_it_are_marked() -> None:
    noise = np.array([-3.0, 3.0, -3.0, 3.1])
    report = {"none": in_memory({"near": SOME + noise, "best": SOME - 0.5, "worse": SOME + 10 * NEXT})}
    lines = latex_text(final_table(report, ("agent", "regret"))).splitlines()
    regrets = dict(line.removesuffix(r" \\").split(" & ") for line in lines if " & " in line)
    assert regrets["best"].startswith(r"$\mathbf{12.5 \pm ")
    assert regrets["worse"].endswith(r"^{\ddagger}$")
    assert "dagger" not in regrets["near"]


def test_a_look_is_for_figures_alone(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    with pytest.raises(ValueError, match=r"width must be left out for html: it is for svg, pdf, png, got 3"):
        write_report(folder, width=3)
    path = write_report(folder, format="svg", width=3.5, title="", font="serif")
    assert 'width="252pt"' in path.read_text()  # 72 to the inch
    assert "by-hand" not in path.read_text()


def test_latex_is_escaped_and_its_rows_have_equal_numbers_of_cells(tmp_path: Path) -> None:
    text = write_report(make_folder(tmp_path), format="latex").read_text()
    nasty = r"$<$/script$>$$<$img src=x onerror=alert(1)$>$ \& $\varepsilon$-greedy \$5\_\%"
    assert nasty in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {6}
    assert len(rows) == 1 + len(LABELS)


@pytest.mark.parametrize(
    ("labels", "runs", "episodes"), [(("one",), 1, 1), (("a", "b"), 1, 3), (("a",), 2, 9)]
)
def test_small_results_have_reports(tmp_path: Path, labels: Any, runs: int, episodes: int) -> None:
    none = {"still": {"name": "combination_lock", "drift": {"type": "Constant"}}}
    folder = make_folder(tmp_path, labels, runs=runs, episodes=max(episodes, 2), environments=none)
    for format in ("html", "svg", "csv", "latex"):
        assert write_report(folder, format=format).stat().st_size > 50


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no manifest", "is missing"),
        ("no results", "is missing"),
        ("cut manifest", "is damaged: it is not JSON"),
        ("cut results", "is damaged: its content is not what manifest.json was written for"),
        ("holes", "its column 'regret' has holes"),
        ("no column", "its column 'regret' is missing"),
        ("lost rows", "is incomplete"),
        ("newer", "format 99, written by a newer driftwise"),
        ("bare", "no format number"),
        ("empty", "does not name the agents"),
        ("other agents", "does not belong to its manifest"),
        ("other environment", "does not belong to its manifest"),
        ("named twice", "does not belong to its manifest"),
        ("absent", "does not name the agents and the environments"),
        ("homeless", "does not name the agents and the environments"),
    ],
)
def test_a_damaged_folder_is_one_sentence_with_the_path(tmp_path: Path, how: str, message: str) -> None:
    path = damage(make_folder(tmp_path), how)
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        write_report(tmp_path, format="html")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "report.html").exists()


def test_a_report_needs_a_folder_and_a_file_to_be_written_to(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "results")
    with pytest.raises(ValueError, match="there is no folder"):
        write_report(folder, format="csv", out=tmp_path / "no" / "report.csv")
    with pytest.raises(IsADirectoryError, match="is a folder, not a file"):
        write_report(folder, format="csv", out=tmp_path)


def test_an_environment_of_another_version_costs_its_panel_only(tmp_path: Path) -> None:
    odd = {"odd": {"name": "unheard of", "drift": {"type": "Sudden"}}, "lock": described_lock(30)}
    folder = make_folder(tmp_path, environments=odd)
    with pytest.warns(UserWarning, match="^odd cannot be rebuilt, so that its drift "):
        page = write_report(folder).read_text(encoding="utf-8")
    assert page.count("The environment cannot be rebuilt from the manifest") == 1
    assert page.count('data-name="cumulative"') == 2
    assert page.count('data-name="variation"') == 1


def test_every_environment_has_its_panels(tmp_path: Path) -> None:
    described = {}
    for name, make in environments.ENVIRONMENTS.items():
        if all(given.default is not given.empty for given in inspect.signature(make).parameters.values()):
            described[name] = {"name": name, **make().config}
    report = load_report_data(make_folder(tmp_path, ("agent",), environments=described))
    assert len(report) > 2
    for data in report.values():
        assert not isinstance(data.environment, str), data.environment
        assert data.recovery_threshold > 0
        moves = data.environment.variation(data.num_episodes).total > 0
        figures = blocks_of(drift_panel(data))[0]
        assert isinstance(figures, tuple if moves else str)
        assert not moves or ("variation" in {each.name for each in figures if isinstance(each, Figure)})


def test_grids_of_two_parameters_are_found_by_what_the_manifest_says_of_points() -> None:
    def agent(name: str, **point: Any) -> dict[str, Any]:
        return {"label": f"{name} {point}", "name": name, "point": point}

    grid = [agent("A (ours)", length=x, depth=3, radius=y) for x in (50, 100, 200) for y in (0.3, 1)]
    (found,) = find_grids([*grid, agent("B"), {"label": "C (rate=1)", "parameters": {"rate": 1}}])
    assert (found.name, found.keys) == ("A (ours)", ("length", "radius"))
    assert found.values == ([50, 100, 200], [0.3, 1])
    assert found.agents[100, 1] == grid[3]["label"]
    assert find_grids(grid[:-1]) == []  # not full
    assert find_grids(grid[::2]) == []  # one parameter
    assert find_grids([*grid, *(agent("A (ours)", length=x, depth=4, radius=1) for x in (50, 100))]) == []


def test_the_file_in_the_report_is_the_experiment() -> None:
    odd = {"agents": {}, "a": 'x"\\\x7f\n', "t": {"ε b": [1, 2.5, True, "50%"], "n": {"deep": {"er": -1}}}}
    for config in (*(experiment.config for experiment in EXPERIMENTS.values()), odd):
        blocks = blocks_of(reproduce({"none": in_memory({"a": SOME}, experiment="mine", config=config)}))
        assert blocks[1] == "with this in mine.toml:"
        assert isinstance(blocks[2], Code)
        assert tomllib.loads(blocks[2].text) == config


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((1234.567, 0.312), "1,234.57 ± 0.31"),
        ((1234.567, 456.0), "1,235 ± 456"),
        ((0.5, 31.24), "0.5 ± 31.2"),
        ((12.0, 0.0), "12.0 ± 0.0"),
        ((12.0, np.nan), "12"),
        ((1234.567, 1e-12), "1,235 ± 0"),
        ((0.4740714, 0.4740714, 0.47407140001), "0.474 [0.474, 0.474]"),
        ((-0.001, -30.0, 30.0), "0.0 [−30.0, 30.0]"),
        ((32.55, 3.129, 61.98), "32.5 [3.1, 62.0]"),
        ((0.0012, 0.0011, 0.0013), "0.00120 [0.00110, 0.00130]"),
        ((1.5e8, 1e8, 2e8), "1.50e+08 [1.00e+08, 2.00e+08]"),
    ],
)
def test_numbers_have_the_digits_that_their_interval_has(numbers: tuple[float, ...], expected: str) -> None:
    assert (format_half_width if len(numbers) == 2 else format_interval)(*numbers) == expected


@pytest.mark.parametrize(
    ("number", "digits", "expected"),
    [
        *((0, 4, "0"), (1234.567, 4, "1,235"), (-0.01234567, 4, "−0.01235"), (NAN, 4, "–"), (np.inf, 4, "∞")),
        *((120.0, 3, "120"), (12.5, 3, "12.5"), (1e9, 3, "1.00e+09"), (-2e-7, 3, "−2.00e−07")),
    ],
)
def test_numbers_are_short(number: float, digits: int, expected: str) -> None:
    assert format_number(number, digits) == expected


def test_thinning_keeps_the_ends() -> None:
    assert thinned(3).tolist() == [0, 1, 2]
    kept = thinned(10_001)
    assert (kept[0], kept[-1], len(kept)) == (0, 10_000, 400)


@pytest.mark.slow
def test_the_title_of_the_quickstart_is_true_of_every_agent(tmp_path: Path) -> None:
    study = prepare(EXPERIMENTS["quickstart"])
    FinishedStudy.of(study, run_study(study)).write(tmp_path)
    (data,) = load_report_data(tmp_path).values()
    shares = dict(zip(data.labels, data.recovery.share[:, 0].tolist(), strict=True))
    greedy = shares.pop("ε-greedy LSVI")
    assert shares == {"OPT-WLSVI": 1, "SW-LSVI-UCB": 1, "LSVI-UCB": 0, "LSVI-UCB-Restart": 1}
    assert 0.25 < greedy < 0.75  # half of 32 runs, and three standard deviations
