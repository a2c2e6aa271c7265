"""The panel on meta-algorithms: who restarted when, and which arms played."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise import algorithms
from driftwise.analysis.figures import AnyFigure
from driftwise.analysis.page import Section
from driftwise.analysis.report.data import load_report_data
from driftwise.analysis.report.final_table import final_table
from driftwise.analysis.report.meta_algorithms import arm_names, memory_names, meta_algorithms
from driftwise.base import to_config
from driftwise.environments import combination_lock
from tests.report_folders import LABELS, NASTY, make_folder

EPISODES, RUNS = 60, 6
RATES = (0.9, 0.99, 1.0)


def stacked(*rates: float) -> dict[str, Any]:
    """Arms as one agent with a list of numbers."""
    return {"type": "Own", "forgetting": {"type": "Weights", "rate": [*rates]}, "ridge": [1.0] * len(rates)}


def arms(*rates: float) -> list[dict[str, Any]]:
    """Arms one by one, as earlier versions wrote them."""
    return [{"type": "Own", "forgetting": {"type": "Weights", "rate": rate}, "ridge": 1.0} for rate in rates]


def described(label: str) -> dict[str, Any]:
    return {"parameters": {"type": "Over", "base": {"type": "Bandit", "base": stacked(*RATES)}}}


def told(points: int = EPISODES) -> dict[str, dict[str, np.ndarray]]:
    """The second agent restarts in all episodes after the 30th, and in half of them is alarmed."""
    late = np.broadcast_to(np.arange(points) >= points / 2, (RUNS, points)).astype(float)
    ones = np.ones((RUNS, points))
    return {
        NASTY: {"restarts": late, "alarms": late / 2},
        "third": {
            **{f"probability.{arm}": share * ones for arm, share in enumerate((0.5, 0.2, 0.3))},
            **{f"played.{arm}": share * ones for arm, share in enumerate((0.25, 0.0, 0.75))},
        },
    }


def figures(section: Section) -> dict[str, Any]:
    """The figures of a section by their names."""
    pairs = [block for block in section.blocks if isinstance(block, tuple)]
    return {each.name: each for pair in pairs for each in pair if isinstance(each, AnyFigure)}


def section(folder: Path, **options: Any) -> Any:
    report = load_report_data(make_folder(folder, described=described, **options))
    return meta_algorithms(next(iter(report.values())))


def test_what_was_told_comes_back_for_those_who_told_it(tmp_path: Path) -> None:
    report = load_report_data(make_folder(tmp_path, told=told()))
    (data,) = report.values()
    for label in LABELS:
        expected = told().get(label, {})
        assert {*data.results[label].diagnostics} == {*expected}
        for name, curve in expected.items():
            np.testing.assert_array_equal(data.results[label].diagnostics[name], curve)
    table = final_table(report, ("agent", "events"), ranked=False)
    texts = [[cell.text for cell in row] for row in table.rows]
    assert texts == [["plain", "–", "–"], [NASTY, "30", "15"], ["third", "–", "–"]]


def sentences(folder: Path, told: dict[str, Any], **options: Any) -> list[str]:
    found = section(folder, told=told, **options)
    (story,) = [block for block in found.blocks if isinstance(block, list)]
    return story


def test_an_agent_that_never_restarted_has_a_sentence_and_no_empty_panel(tmp_path: Path) -> None:
    never = {"plain": {"restarts": np.zeros((RUNS, EPISODES)), "alarms": np.zeros((RUNS, EPISODES))}}
    found = section(tmp_path, told=never)
    assert figures(found) == {}
    assert found.blocks[0] == ["plain never restarted.", "plain never raised an alarm."]


def test_events_are_told_by_how_often_and_how_soon_after_a_change(tmp_path: Path) -> None:
    restarts = np.zeros((RUNS, EPISODES))
    restarts[:3, 34] = 1  # the fifth episode after the change at 30, in half of the runs
    assert sentences(tmp_path, {"plain": {"restarts": restarts}}) == [
        "plain restarted 0.50 times in a run; the change was followed by a restart in 50 % of the cases, "
        "after 5 episodes (median)."
    ]
    before = np.zeros((RUNS, EPISODES))
    before[:, 10] = 1
    (sentence,) = sentences(tmp_path, {"plain": {"restarts": before}})
    assert sentence == "plain restarted once in a run, never after a change."


@pytest.mark.parametrize(
    ("last", "story"),
    [
        ((0.33, 0.33, 0.34), "third stayed uniform, 33/33/34 %."),
        ((0.1, 0.8, 0.1), "third gave 'rate = 0.99' the most weight: 80 % at the end, 80 % over the run."),
        (None, "third preferred a different one in each run: 90 % at the end."),
    ],
)
def test_shares_are_told_by_whether_one_of_them_came_to_count_most(
    tmp_path: Path, last: tuple[float, ...] | None, story: str
) -> None:
    shares = np.tile(np.array(last or (0.9, 0.05, 0.05))[:, None, None], (1, RUNS, EPISODES))
    if last is None:
        shares = np.stack([np.roll(shares[:, run], run, axis=0) for run in range(RUNS)], axis=1)
    curves = {f"{name}.{arm}": shares[arm] for name in ("probability", "played") for arm in range(3)}
    assert sentences(tmp_path, {"third": curves}) == [story]


def test_a_memory_is_told_by_how_it_answered_the_changes(tmp_path: Path) -> None:
    memory = np.full((RUNS, EPISODES), 900.0)
    memory[:, 30:42] = np.geomspace(800, 40, 12)
    memory[:, 42:] = 40
    (fell,) = sentences(tmp_path, {"plain": {"memory": memory}})
    assert fell == "The memory of plain fell from 900 to 40 episodes within 10 episodes of the change."
    (stayed,) = sentences(tmp_path, {"plain": {"memory": np.full((RUNS, EPISODES), 900.0)}})
    assert stayed.endswith(" did not react to the change: 900 episodes before, at least 900 after.")
    still = {"still": {"name": "combination_lock", "drift": {"type": "Constant"}}}
    (alone,) = sentences(tmp_path, {"plain": {"memory": memory}}, environments=still)
    assert alone == "The memory of plain went from 900 to 40 episodes."


def test_agents_that_tell_nothing_have_no_panel(tmp_path: Path) -> None:
    assert section(tmp_path) is None


@pytest.mark.parametrize("record_every", [1, 7])
def test_events_are_counted_in_stretches_beside_the_changes(tmp_path: Path, record_every: int) -> None:
    points = -(-EPISODES // record_every)
    found = figures(section(tmp_path, told=told(points), record_every=record_every))
    assert {*found} == {"restarts", "alarms", "probability-0", "total-probability-0"}
    result = told(points)[NASTY]
    lengths = np.diff([*range(0, EPISODES, record_every), EPISODES])
    for name in ("restarts", "alarms"):
        (curve,) = found[name].curves  # of the one agent that has such
        x, y = found[name].x, curve.y
        assert (x[0], x[-1]) == (0.5, EPISODES + 0.5)
        assert (np.diff(x) > 0).all()
        assert y[-1] == y[-2]  # the end of the last step
        assert y[:-1].sum() == pytest.approx((result[name].mean(axis=0) * lengths).sum())
        assert not y[:-1][x[1:] <= 30].any()
        assert found[name].marks == [30.5]


def test_arms_are_drawn_by_what_tells_them_apart(tmp_path: Path) -> None:
    found = figures(section(tmp_path, told=told()))
    names = [f"rate = {rate:g}" for rate in RATES]
    curves, bars = found["probability-0"].curves, found["total-probability-0"]
    assert [curve.name for curve in curves] == bars.labels == names
    assert [curve.y[0] for curve in curves] == pytest.approx([0.5, 0.2, 0.3])
    assert bars.shares == [0.25, 0.0, 0.75]
    assert [curve.number for curve in curves] == [0, 1, 2]  # in the colours of the bars
    assert {bars.agent, *(curve.agent for curve in curves)} == {"third"}  # hidden with it
    assert bars.text.endswith("rate = 0.9 25 %, rate = 0.99 0 %, rate = 1 75 %")


def mixed() -> dict[str, dict[str, np.ndarray]]:
    """An agent with three memories, which forgets more and more."""
    ones = np.ones((RUNS, EPISODES))
    weights = {f"weight.{j}": share * ones for j, share in enumerate((0.1, 0.2, 0.7))}
    return {NASTY: {**weights, "memory": ones * np.geomspace(1000, 10, EPISODES), "noise": 0.3 * ones}}


def test_weights_of_memories_are_drawn_by_their_lengths_and_sum_to_one(tmp_path: Path) -> None:
    found = figures(section(tmp_path, told=mixed()))
    assert {*found} == {"memory", "noise", "weight-0", "total-weight-0"}
    curves, bars = found["weight-0"].curves, found["total-weight-0"]
    assert [curve.name for curve in curves] == bars.labels == ["memory 10", "memory 100", "all"]
    assert {curve.kind for curve in curves} == {"stacked"}
    assert sum(curve.y for curve in curves) == pytest.approx(1)
    assert bars.shares == pytest.approx([0.1, 0.2, 0.7])


def test_memory_is_on_a_logarithmic_axis_and_noise_from_zero(tmp_path: Path) -> None:
    found = figures(section(tmp_path, told=mixed()))
    (memory,), (noise,) = (found[name].curves for name in ("memory", "noise"))
    assert memory.agent == noise.agent == NASTY
    assert memory.y[[0, -1]] == pytest.approx([1000, 10])
    assert (found["memory"].y_axis.log, found["noise"].y_axis.from_zero) == (True, True)


def test_memories_that_are_no_rates_are_named_as_arms_are() -> None:
    assert memory_names({"base": {"length": [5, 20]}}, 2) == ["length = 5", "length = 20"]
    agent = algorithms.adaptive_opt_wlsvi(combination_lock().spec, longest=16)
    assert memory_names(json.loads(json.dumps(to_config(agent))), 3) == ["memory 8", "memory 16", "all"]


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"base": stacked(0.9, 0.99)}, ["rate = 0.9", "rate = 0.99"]),
        ({"base": stacked(0.9, 0.9)}, ["arm 0", "arm 1"]),
        ({"base": {"rate": [0.9, 0.9, 1.0], "radius": [2, 3, 3]}},
         ["rate = 0.9, radius = 2", "rate = 0.9, radius = 3", "rate = 1, radius = 3"]),
        ({"chooser": {"rates": [1, 2]}, "base": {"rate": 0.9}}, ["arm 0", "arm 1"]),
        ({"arms": arms(0.9, 0.99)}, ["rate = 0.9", "rate = 0.99"]),
        ({"inner": {"arms": arms(0.9999991, 0.9999992)}}, ["rate = 0.9999991", "rate = 0.9999992"]),
        (
            {"arms": [{"length": length, "radius": radius} for length in (5, 9) for radius in (0.1, 0.2)]},
            [f"length = {length}, radius = {radius}" for length in (5, 9) for radius in (0.1, 0.2)],
        ),
        ({"arms": arms(0.9, 0.9)}, ["arm 0", "arm 1"]),
        ({"arms": arms(0.9)}, ["arm 0", "arm 1"]),
        ({"arms": [1, 2]}, ["arm 0", "arm 1"]),
        ({"arms": []}, ["arm 0", "arm 1"]),
        (None, ["arm 0", "arm 1"]),
    ],
)  # fmt: skip
def test_arms_have_names_if_these_differ_and_else_numbers(parameters: Any, names: list[str]) -> None:
    assert arm_names(parameters, len(names)) == names


def test_arms_of_a_registered_algorithm_have_names() -> None:
    agent = algorithms.opt_wlsvi_borl.tuned(combination_lock().spec, num_episodes=1000)
    names = arm_names(json.loads(json.dumps(to_config(agent))), 5)
    assert all(name.startswith(("rate = 0.9", "rate = 0.8")) for name in names)


def test_arms_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Of more than ten, the columns are ordered otherwise."""
    ones = np.ones((RUNS, EPISODES))
    many = {f"{name}.{arm}": arm / 66 * ones for name in ("probability", "played") for arm in range(12)}
    found = figures(section(tmp_path, told={"third": many}))
    assert [curve.name for curve in found["probability-0"].curves] == [f"arm {arm}" for arm in range(12)]
    assert np.multiply(found["total-probability-0"].shares, 66) == pytest.approx(range(12))
