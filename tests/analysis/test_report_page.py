"""The page of a report, looked at in a browser."""

import re
from pathlib import Path
from typing import Any

import pytest

from driftwise import environments
from driftwise.analysis.report import write_report
from driftwise.base import to_config
from driftwise.environments import drift
from tests.analysis.test_report_meta import described as bandits
from tests.analysis.test_report_meta import mixed, told
from tests.browser import find_chromium, probe, visit
from tests.report_folders import NASTY, described_lock, make_folder, make_grid_folder

needs_browser = pytest.mark.skipif(find_chromium() is None, reason="no Chromium on this machine")

# What is wider than its place: tables, and words of figures.
CUT = """
const cut = () => {
  const wide = [...document.querySelectorAll(".scroll, pre, nav, main > *")]
    .filter((place) => !["PRE", "NAV"].includes(place.tagName) && place.scrollWidth > place.clientWidth + 1)
    .map((place) => place.className || place.tagName);
  const words = [...document.querySelectorAll(".figure")].flatMap((figure) => {
    const { left, right } = figure.getBoundingClientRect();
    return [...figure.querySelectorAll(".main-svg text")].filter((text) => {
      const box = text.getBoundingClientRect();
      return box.width && (box.left < left - 1 || box.right > right + 1);
    }).map((text) => `${figure.dataset.name}: ${text.textContent}`);
  });
  return [...wide, ...words];
};
"""

LOOK = (
    CUT
    + """
const rows = () => [...document.querySelectorAll("[data-name=final] tbody tr")].map(
  (row) => row.cells[0].textContent);
const lines = () => document.querySelectorAll("[data-name=cumulative] .scatterlayer .trace .js-line").length;
const ground = () => getComputedStyle(document.body).backgroundColor;
dispatchEvent(new Event("beforeprint")); // which wants all figures
const click = async (place) => { document.querySelector(place).click(); await pause(); };
const figures = Object.fromEntries([...document.querySelectorAll(".figure")].map(
  (place) => [place.dataset.name,
    place.querySelectorAll(".scatterlayer .trace, .heatmaplayer image").length]));
const found = { figures, before: lines(), ground: [ground()] };
found.cut = cut();
found.empty = [...document.querySelectorAll(".figure")].filter(
  (place) => !place.querySelector(".trace path, .heatmaplayer image")).map((place) => place.dataset.name);
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
  await click(`[data-name=final] th:nth-child(${column}) button`);
  found.order.push(rows());
}
return found;
"""
)


@needs_browser
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_page_works_in_a_browser(tmp_path: Path, width: int, dark: bool) -> None:
    def described(label: str) -> dict[str, Any]:
        place = labels.index(label)
        point = {"rate": [0.9, 0.99][place % 2], "radius": place // 2}
        return {"name": "G (ours)", "point": point} if place < 4 else {"name": label, "point": {}}

    labels = (*(f"G (ours) (point {number})" for number in range(4)), NASTY, "third", "fourth")
    wandering = environments.random_linear_mdp(
        num_states=4, num_actions=2, dim=3, horizon=2, drift=drift.Gradual(knots=(0, 20, 40)), seed=0
    )
    config = {"name": wandering.name, **wandering.config, "drift": to_config(wandering.drift)}
    folder = make_folder(tmp_path / "results", labels, described=described, environments={"wander": config})
    page = write_report(folder, format="html").read_text()
    assert not re.search(r"<(script|img|link|iframe)[^>]* (src|href)=\"(?!data:)", page)
    if width > 1000:  # as with a mouse, which a browser without a window lacks: figures have buttons
        page = page.replace('matchMedia("(hover: hover)")', 'matchMedia("all")')
    found = probe(page, LOOK, tmp_path, width=width, dark=dark)
    assert found["buttons"] == (5 * 7 if width > 1000 else 0)
    assert found["cut"] == []
    assert found["empty"] == []
    assert found["images"] == 0  # the label is text
    assert NASTY in found["text"]
    drawn = found["figures"]
    assert drawn == {
        "cumulative": 8 + 3,  # lines and bands of four agents; a grid's points, random actions, the drift
        "per-episode": 8 + 3,
        "growth": 4 + 3 + 1,  # and slopes
        "grid-0": 1,
        "variation": 2,
        "distance": 2,
        "path": 2,
    }
    assert found["hidden"] < found["before"] == found["again"]
    assert found["pressed"] == ["false", "true", "true", "true"]
    light, black = "rgb(255, 255, 255)", "rgb(20, 23, 27)"
    assert found["ground"] == ([black, light, black] if dark else [light, black, light])
    ranks = ["1", "2", "3", "4"]
    by_name = ["2", "4", "1", "3"]
    assert found["order"] == [ranks, ranks, ranks[::-1], by_name]


SEVERAL = """
const articles = [...document.querySelectorAll("article")];
const names = (kind) => articles.map((article) =>
  [...article.querySelectorAll(kind)].map((place) => place.dataset.name));
dispatchEvent(new Event("beforeprint"));
const lines = () => articles.map((article) =>
  article.querySelectorAll("[data-name=cumulative] .scatterlayer .trace .js-line").length);
const ranks = () => articles.map((article) =>
  [...article.querySelectorAll("[data-name=final] tbody tr")].map((row) => row.cells[0].textContent));
const shares = () => ["probability-0", "total-probability-0", "weight-0"].flatMap((name) =>
  [...document.querySelectorAll(`[data-name=${name}]`)].map((p) => p.querySelectorAll(".trace").length));
const found = { figures: names(".figure"), tables: names("table"), lines: [lines()], ranks: [ranks()] };
found.shares = [shares()];
found.empty = document.querySelectorAll(".figure:not(:has(.trace))").length;
const ids = [...document.querySelectorAll("[id]")].map((place) => place.id);
found.ids = [ids.length, new Set(ids).size];
found.links = [...document.querySelectorAll("nav a")].map((link) =>
  [link.textContent, document.querySelector(link.hash) !== null]);
found.best = [...document.querySelectorAll("[data-name=overview] tr")].map((row) =>
  [...row.cells].map((cell) => cell.classList.contains("best")));
document.querySelector(".chip").click();
await pause();
found.lines.push(lines());
[...document.querySelectorAll(".chip")].find((chip) => chip.dataset.agent === "third").click();
await pause();
found.shares.push(shares());
articles[1].querySelector("[data-name=final] th button").click();
articles[1].querySelector("[data-name=final] th button").click();
await pause();
found.ranks.push(ranks());
return found;
"""


@needs_browser
@pytest.mark.parametrize("width", [pytest.param(1200, marks=pytest.mark.slow), 390])
def test_several_environments_keep_out_of_each_others_way(tmp_path: Path, width: int) -> None:
    described = {name: described_lock(30) for name in ("near", "far & wide <i>", "third")}
    diagnostics = {**told(), "plain": mixed()[NASTY]}
    folder = make_folder(tmp_path / "results", environments=described, described=bandits, told=diagnostics)
    found = probe(write_report(folder).read_text(), SEVERAL, tmp_path, width=width, dark=width < 1000)
    shares = ["probability-0", "total-probability-0", "weight-0", "total-weight-0"]
    combined = ["restarts", "alarms", "memory", "noise", *shares]
    figures = ["cumulative", "per-episode", "growth", *combined, "variation", "distance"]
    assert found["figures"] == 3 * [figures]
    assert found["shares"] == [9 * [3], 9 * [0]]  # hidden with their agents
    assert found["tables"] == 3 * [["final", "numbers", "differences", "exponents"]]
    assert found["empty"] == 0
    assert found["ids"][0] == found["ids"][1]
    assert found["links"] == [[name, True] for name in ("Overview", *described)]
    first, *rows = found["best"]
    assert not any(first)
    assert rows == [[False, False, True, False, True], 5 * [False], [False, False, False, True, False]]
    before, after = found["lines"]
    assert after == [count - 2 for count in before]  # its line and its band, in every environment
    up, down = ["1", "2", "3"], ["3", "2", "1"]
    assert found["ranks"] == [[up, up, up], [up, down, up]]


MANY = (
    CUT
    + """
const rows = [...document.querySelectorAll("[data-name=points] tbody tr")];
const shown = () => rows.filter((row) => row.offsetHeight);
const number = (row) => Number(row.cells[1].dataset.key);
const first = () => number(document.querySelector("[data-name=points] tbody tr"));
const found = { counts: [shown().length] };
document.querySelectorAll("[data-name=points] th button")[1].click();
document.querySelectorAll("[data-name=points] th button")[1].click();
found.first = [first(), Math.max(...rows.map(number))];
found.counts.push(shown().length);
document.querySelector("[data-name=points]").closest(".scroll").nextElementSibling.click();
found.counts.push(shown().length);
dispatchEvent(new Event("beforeprint"));
found.grid = document.querySelectorAll("[data-name=grid-0] .heatmaplayer image").length;
found.words = document.querySelectorAll("[data-name=grid-0] .heatmap-label").length;
found.agents = document.querySelectorAll(".chip").length;
found.lines = document.querySelectorAll("[data-name=per-episode] .scatterlayer .trace").length;
found.cut = cut();
return found;
"""
)


@needs_browser
@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.slow)])
def test_of_many_agents_none_is_dropped_and_nothing_is_cut_off(tmp_path: Path, width: int) -> None:
    names = tuple(f"an agent with a rather long name, number {number}" for number in range(60))
    folder = make_grid_folder(tmp_path / "results", rows=5, columns=40, more=names)
    found = probe(write_report(folder).read_text(), MANY, tmp_path, width=width)
    assert found["cut"] == []
    assert found["counts"] == [20, 20, 200]
    assert found["first"][0] == found["first"][1]  # all are sorted, not only those shown
    assert found["grid"] == 1
    assert found["words"] == 0  # they would not fit
    assert found["agents"] == 61
    assert found["lines"] == 61 + 12 + 3  # bands of the best; a grid's points, random actions, the drift


SCROLL = """
const figures = [...document.querySelectorAll(".figure")];
const drawn = () => figures.filter((place) => place.querySelector(".trace"));
await until(() => drawn().length > 1);
const counts = [drawn().length];
for (const place of figures) {
  place.scrollIntoView();
  await until(() => place.querySelector(".trace"));
}
const { top, bottom } = document.querySelector(".legend").getBoundingClientRect();
const seen = scrollY > 500 && top >= 0 && bottom <= innerHeight;
const legends = document.querySelectorAll("div.legend").length;
return { counts: [...counts, drawn().length, figures.length], seen, legends };
"""


@needs_browser
def test_figures_are_drawn_when_one_comes_to_them_and_the_one_legend_stays_in_view(tmp_path: Path) -> None:
    described = {name: described_lock(30) for name in ("near", "far")}
    found = visit(write_report(make_folder(tmp_path, environments=described)).read_text(), SCROLL)
    at_first, in_the_end, all_of_them = found["counts"]
    assert at_first < in_the_end == all_of_them == 10
    assert (found["seen"], found["legends"]) == (True, 1)


@needs_browser
def test_the_browser_test_sees_errors_and_requests(tmp_path: Path) -> None:
    for body, said in (("<script>oh.no()</script>", "oh is not"), ('<img src="http://[::1]:9/x">', "9/x")):
        with pytest.raises(AssertionError, match=said):
            probe(f"<html><head></head><body>{body}</body></html>", "return {}", tmp_path)
