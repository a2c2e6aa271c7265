"""The figure shows the numbers it is given, and the intervals are what they are called."""

from __future__ import annotations

import itertools

import matplotlib as mpl
import numpy as np

from driftwise.analysis import figures
from driftwise.experiments import EXPERIMENTS
from driftwise.experiments.selection import one_per_agent
from driftwise.simulation.results import Result
from tests import examples
from tests.experiments.test_experiments import made_up

RESULTS = {
    label: made_up(examples.agent(name), examples.make(), num_episodes=100, num_runs=3, seed=0)
    for label, name in {"first": "opt_wlsvi", "second": "lsvi_ucb"}.items()
}


def test_moving_average_is_centred_and_cut_off_at_the_ends() -> None:
    curve = np.array([[0.0, 3.0, 6.0, 0.0]])
    np.testing.assert_allclose(figures.moving_average(curve, 3), [[1.5, 3, 3, 3]])
    np.testing.assert_allclose(figures.moving_average(curve, 1), curve)
    np.testing.assert_allclose(figures.moving_average(curve, 0), curve)


def test_spread_keeps_the_order_and_the_gap_and_moves_no_more_than_needed() -> None:
    places = np.array([0.1, 0.11, 0.5, 0.51, 0.52, 0.9])
    moved = figures.spread(places, 0.06)
    assert np.diff(moved).min() >= 0.06 - 1e-12
    assert np.abs(moved - places).max() <= 0.06
    np.testing.assert_allclose(figures.spread(np.array([0.1, 0.5]), 0.06), [0.1, 0.5])


def test_curves_are_the_means_and_break_at_the_change() -> None:
    row = figures.Curves("a place", RESULTS, changes=(40,))
    figure = figures.regret_figure([row], title="What one sees", note="how it was made")
    left, right = figure.axes
    for line, result in zip(right.get_lines(), RESULTS.values(), strict=False):  # the change comes after them
        np.testing.assert_allclose(np.asarray(line.get_ydata()), result.cumulative_regret.mean(axis=0))
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 101))
    episodes = [np.asarray(line.get_xdata()) for line in left.get_lines()]
    pieces = [(x[0], x[-1]) for x in episodes if len(x) > 2]
    assert pieces == [(1, 40), (41, 100)] * 2
    assert sum(x[0] == x[-1] == 40.5 for x in episodes) == 1  # the line that marks the change
    shown = [text.get_text() for axes in (left, right) for text in axes.texts] + [
        t.get_text() for t in figure.texts
    ]
    assert sorted(shown) == sorted(
        ["a place", "change", "change", "first", "second", "What one sees", "how it was made"]
    )


def test_an_agent_looks_the_same_in_every_row_and_names_are_shown_as_they_stand() -> None:
    first, second = RESULTS.values()
    rows = [
        figures.Curves("one", {"$a$": first, "_b": second}, changes=(40,)),
        figures.Curves("other", {"_b": first, "c": second}),
    ]
    figure = figures.regret_figure(rows)
    looks = []
    for axes in figure.axes[1::2]:
        names = {text.get_text(): text for text in axes.texts}
        looks.append({name: text.get_color() for name, text in names.items() if name != "change"})
        assert not any(text.get_parse_math() for name, text in names.items() if name != "change")
    assert [set(each) for each in looks] == [{"$a$", "_b"}, {"_b", "c"}]
    assert looks[0]["_b"] == looks[1]["_b"]
    assert len({looks[0]["$a$"], looks[0]["_b"], looks[1]["c"]}) == 3
    heights = [axes.get_position().height * figure.get_size_inches()[1] for axes in figure.axes]
    np.testing.assert_allclose(heights, heights[0])


def test_of_many_agents_all_are_named_and_those_of_lowest_average_rank_have_colours() -> None:
    flat = np.ones((2, 5))
    agents = {
        str(number): Result(flat, -number * flat, 0 * flat, np.ones(5, dtype=int), None, {})
        for number in range(20)
    }
    rows = [figures.Curves("one", agents), figures.Curves("other", {**agents, "12": agents["19"]})]
    figure = figures.regret_figure(rows, note="made up")
    for axes in figure.axes[1::2]:
        named = {text.get_text(): text for text in axes.texts}
        assert named.keys() == agents.keys()
        coloured = {name for name, text in named.items() if text.get_color() != figures.GREY}
        assert coloured == {str(number) for number in range(15) if number != 12}
        places = sorted(text.get_position()[1] * axes.get_window_extent().height for text in named.values())
        assert np.diff(places).min() >= figures.LABEL * figure.dpi - 1e-6  # names do not overlap
    assert figure.texts[1].get_text() == "made up · in colour the 14 of lowest average rank of 20 agents"


def test_a_grid_is_one_curve_and_its_other_points_are_faint() -> None:
    first, second = RESULTS.values()
    points = {"A (x=1)": first, "A (x=2)": second, "B": second}
    selection = one_per_agent(points, {"A (x=1)": "A", "A (x=2)": "A", "B": "B"})
    figure = figures.regret_figure([figures.curves_of("a place", selection, ())])
    right = figure.axes[1]
    assert [text.get_text() for text in right.texts] == ["A*", "B"]
    assert [line.get_alpha() for line in right.get_lines()] == [None, None, figures.UNCHOSEN["alpha"]]


def test_the_longest_finding_of_an_experiment_fits_into_the_figure() -> None:
    title = max((each.finding or "" for each in EXPERIMENTS.values()), key=len)
    flat = Result(np.ones((2, 5)), -np.ones((2, 5)), np.zeros((2, 5)), np.ones(5, dtype=int), None, {})
    figure = figures.regret_figure([figures.Curves("one", {"a": flat})], title=title)
    assert figure.texts[0].get_window_extent().x1 <= figure.bbox.x1


def test_names_of_changes_never_overlap_and_all_of_them_are_marked() -> None:
    changes = (*range(5, 60, 2), 90)
    drawn = figures.regret_figure([figures.Curves("", RESULTS, changes=changes)])
    for axes in drawn.axes:
        marked = [line for line in axes.get_lines() if len({*np.asarray(line.get_xdata())}) == 1]
        assert len(marked) == len(changes)
        boxes = [text.get_window_extent() for text in axes.texts if text.get_text() == "change"]
        assert len(boxes) > 2
        assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))


def test_one_run_and_a_change_after_the_end_are_drawn_too() -> None:
    result = made_up(examples.agent("uniform"), examples.make(), num_episodes=1, num_runs=1, seed=0)
    figure = figures.regret_figure([figures.Curves("", {"only": result})])
    assert figures.png_bytes(figure)


def test_png_is_the_same_whatever_the_users_settings() -> None:
    def png() -> bytes:
        return figures.png_bytes(figures.regret_figure([figures.Curves("", RESULTS, changes=(40,))]))

    first = png()
    assert first.startswith(b"\x89PNG")
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "savefig.dpi": 10}):
        assert png() == first
        assert mpl.rcParams["font.size"] == 30
