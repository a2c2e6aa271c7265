"""Reports: made of folders written by hand, and looked at in a browser."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from driftwise import drift, environments
from driftwise.experiments import EXPERIMENTS
from driftwise.parts import to_config
from driftwise.report import FORMATS, write_report
from driftwise.report.data import load_report_data
from driftwise.report.elements import shown, thinned, with_interval
from driftwise.report.page import html_page
from driftwise.report.panels.heat_map import find_grids
from driftwise.report.panels.reproduce import toml
from driftwise.report.summary import summary
from driftwise.report.tables import latex_escaped
from tests.browser import find_chromium, probe
from tests.report_folders import LABELS, NASTY, damage, make_folder

needs_browser = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")


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
        "csv": b"rank,",
        "latex": b"% by",
    }
    assert path.read_bytes().startswith(starts[format])
    assert not list(tmp_path.rglob("*.part"))


def test_curves_come_back_as_they_were_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, record_every=7)
    table = pq.read_table(folder / "results.parquet")
    shuffled = table.take(np.random.default_rng(1).permutation(len(table)))
    pq.write_table(shuffled, folder / "results.parquet")
    data = load_report_data(folder)
    assert data.labels == LABELS
    assert data.episodes.tolist() == [7, 14, 21, 28, 35, 42, 49, 56, 60]
    written = table["cumulative_regret"].to_numpy().reshape(len(LABELS), 6, 9)  # agents, runs, points
    for result, expected in zip(data.results.values(), written, strict=True):
        np.testing.assert_allclose(result.cumulative_regret, expected)


def test_the_table_ranks_by_mean_regret_and_measures_recovery(tmp_path: Path) -> None:
    data = load_report_data(make_folder(tmp_path))
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


def test_latex_is_escaped_and_its_rows_have_equal_numbers_of_cells(tmp_path: Path) -> None:
    text = write_report(make_folder(tmp_path), format="latex").read_text()
    assert latex_escaped(NASTY) in text
    assert latex_escaped(r"50%_a\b{ε}") == r"50\%\_a\textbackslash{}b\{$\varepsilon$\}"
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {4}
    assert len(rows) == 1 + len(LABELS)


@pytest.mark.parametrize(
    ("labels", "runs", "episodes"), [(("one",), 1, 1), (("a", "b"), 1, 3), (("a",), 2, 9)]
)
def test_the_smallest_results_have_reports(
    tmp_path: Path, labels: tuple[str, ...], runs: int, episodes: int
) -> None:
    none = {"name": "combination_lock", "drift": {"type": "Constant"}}
    folder = make_folder(tmp_path, labels, runs=runs, episodes=max(episodes, 2), environment=none)
    for format in FORMATS:
        assert write_report(folder, format=format).stat().st_size > 50


def test_twenty_agents_stay_under_ten_megabytes_and_a_hundred_do_too(tmp_path: Path) -> None:
    for count, episodes in ((20, 2000), (100, 200)):
        labels = tuple(f"agent {number}" for number in range(count))
        path = write_report(make_folder(tmp_path / str(count), labels, episodes=episodes), format="html")
        assert path.stat().st_size < 10e6
        assert len(re.findall('<td data-key="agent', path.read_text())) > count


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
    folder = make_folder(tmp_path, environment={"name": "unheard of", "drift": {"type": "Sudden"}})
    page = html_page(load_report_data(folder))
    assert "The environment cannot be made from the manifest" in page
    assert 'id="cumulative"' in page


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
    assert (kept[0], kept[-1], len(kept)) == (0, 10_000, 500)


LOOK = """
const rows = () => [...document.querySelectorAll("#final tbody tr")].map((row) => row.cells[0].textContent);
const lines = () => document.querySelectorAll("#cumulative .scatterlayer .trace .js-line").length;
const ground = () => getComputedStyle(document.body).backgroundColor;
const click = async (place) => { document.querySelector(place).click(); await pause(); };
const figures = Object.fromEntries([...document.querySelectorAll(".figure")].map(
  (place) => [place.id, place.querySelectorAll(".scatterlayer .trace, .heatmaplayer image").length]));
const found = { figures, before: lines(), ground: [ground()] };
found.text = document.body.innerText;
found.images = document.images.length;
found.buttons = document.querySelectorAll(".modebar-btn").length;
await click(".chip");
found.hidden = lines();
found.pressed = [...document.querySelectorAll(".chip")].map((chip) => chip.getAttribute("aria-pressed"));
await click(".chip");
found.again = lines();
await click("#theme");
found.ground.push(ground());
await click("#theme");
found.ground.push(ground());
found.order = [rows()];
for (const column of [3, 3, 2]) {
  await click(`#final th:nth-child(${column}) button`);
  found.order.push(rows());
}
return found;
"""


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (390, True)])
def test_the_page_works_in_a_browser(tmp_path: Path, width: int, dark: bool) -> None:
    def parameters(label: str) -> dict[str, Any]:
        place = labels.index(label)
        return {"rate": [0.9, 0.99][place % 2], "radius": place // 2} if place < 4 else {"rate": 1.0}

    labels = (*(f"G (point {number})" for number in range(4)), NASTY)
    wandering = environments.random_linear_mdp(
        num_states=4, num_actions=2, dim=3, horizon=2, drift=drift.Gradual(knots=(0, 20, 40)), seed=0
    )
    described = {"name": wandering.name, **wandering.config, "drift": to_config(wandering.drift)}
    folder = make_folder(tmp_path / "results", labels, parameters=parameters, environment=described)
    page = write_report(folder, format="html").read_text()
    assert not re.search(r"<(script|img|link|iframe)[^>]* (src|href)=\"(?!data:)", page)
    if width > 1000:  # as with a mouse, which a browser without a window lacks: figures have buttons
        page = page.replace('matchMedia("(hover: hover)")', 'matchMedia("all")')
    found = probe(page, LOOK, tmp_path, width=width, dark=dark)
    assert found["buttons"] == (4 * 7 if width > 1000 else 0)
    assert found["trouble"] == []
    assert found["requests"] == []
    assert found["overflow"] <= 0
    assert found["images"] == 0  # the label is text
    assert NASTY in found["text"]
    drawn = found["figures"]
    assert drawn == {
        "cumulative": 10,
        "per-episode": 10,
        "growth": 5,
        "grid-0": 1,
        "variation": 2,
        "distance": 2,
        "theta": 2,
    }
    assert found["hidden"] < found["before"] == found["again"]
    assert found["pressed"] == 2 * ["false", "true", "true", "true", "true"]
    light, black = "rgb(255, 255, 255)", "rgb(20, 23, 27)"
    assert found["ground"] == ([black, light, black] if dark else [light, black, light])
    ranks = ["1", "2", "3", "4", "5"]
    by_name = ["5", "1", "2", "3", "4"]
    assert found["order"] == [ranks, ranks, ranks[::-1], by_name]


@needs_browser
def test_the_browser_test_sees_errors_and_requests(tmp_path: Path) -> None:
    page = (
        '<html><head></head><body><img src="http://127.0.0.1:9/x.png"><script>oh.no()</script></body></html>'
    )
    found = probe(page, "return {}", tmp_path)
    assert any("oh is not defined" in each for each in found["trouble"])
    assert found["requests"] == ["http://127.0.0.1:9/x.png"]
