"""The figure shows the numbers it is given, and the intervals are what they are called."""

import dataclasses
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import driftwise as dw
from driftwise.analysis import matplotlib_figures as figures
from driftwise.analysis.regret_curves import RegretCurves, find_lead_ranges, relative_distances, views
from driftwise.experiments import EXPERIMENTS
from driftwise.experiments.saved_results import random_regret
from tests import examples
from tests.experiments.test_experiments import made_up

RESULTS = {
    label: made_up(examples.agent(name), examples.make(), num_episodes=100, num_runs=3, seed=0)
    for label, name in {"first": "opt_wlsvi", "second": "lsvi_ucb"}.items()
}


def test_curves_are_the_means_and_break_at_the_change() -> None:
    row = RegretCurves("a place", RESULTS, changes=(40,))
    figure = figures.regret_plot([row], title="What one sees", note="how it was made")
    cumulative, episode = figure.axes
    for line, result in zip(cumulative.get_lines(), RESULTS.values(), strict=False):  # then the change
        np.testing.assert_allclose(np.asarray(line.get_ydata()), result.cumulative_regret.mean(axis=0))
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 101))
    lines = [np.asarray(line.get_xdata(), dtype=float) for line in episode.get_lines()]
    for x in lines[:2]:
        np.testing.assert_array_equal(x, [*range(1, 41), np.nan, *range(41, 101)])
    assert lines[2].tolist() == [40.5, 40.5]  # the line that marks the change
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["first", "second"]
    assert (figure.get_suptitle(), legend.get_title().get_text()) == ("What one sees", "how it was made")
    assert figure.subfigs[0].get_suptitle() == "a place"


def test_smoothing_knows_neither_what_comes_after_nor_what_was_before_a_change() -> None:
    result = RESULTS["first"]
    _, view = views(result, (40,))
    seen = view.curves(result)
    regret = result.optimal_values - result.values
    for place in (39, 40, 70):
        other = regret.copy()
        other[:, place + 1 :] += 5  # the future
        if place >= 40:
            other[:, :40] += 5  # another world
        changed = dataclasses.replace(result, values=result.optimal_values - other)
        start = 0 if place < 40 else 40
        np.testing.assert_allclose(view.curves(changed)[:, start : place + 1], seen[:, start : place + 1])
    np.testing.assert_allclose(seen[:, 40], result.regret[:, 40])


def test_the_drift_lies_below_every_axis_and_random_actions_are_the_unit_of_the_other() -> None:
    environment = examples.make()
    level = random_regret(environment, 100)
    drift = relative_distances(environment, np.arange(100))
    row = RegretCurves("a place", RESULTS, drift=drift, random=level)
    figure = figures.regret_plot([row])
    axes, strips = figure.axes[::2], figure.axes[1::2]
    for panel, strip in zip(axes, strips, strict=True):
        assert strip.get_position().y1 < panel.get_position().y0
        assert strip.get_xlim() == panel.get_xlim() == (0, 100)
    drawn = [[np.asarray(line.get_data()).T.tolist() for line in panel.get_lines()] for panel in axes]
    bands = (dw.statistics.mean_interval(result.cumulative_regret) for result in RESULTS.values())
    highest = max((mean + half_width).max() for mean, half_width in bands)
    seen = min(100, 105 * highest / (100 * level)) if 100 * level > 1.5 * highest else 100
    assert [[0, 0], [pytest.approx(seen), pytest.approx(seen * level)]] in drawn[0]
    assert [[0, pytest.approx(level)], [100, pytest.approx(level)]] in drawn[1]
    (shares,) = axes[0].child_axes
    assert shares.get_ylim() == pytest.approx(np.array(axes[0].get_ylim()) / (100 * level))
    still = figures.regret_plot([row._replace(drift=None, random=np.nan)])
    assert len(still.axes) == 2


def test_shading_is_where_the_leader_is_significantly_below_all_others() -> None:
    generator = np.random.default_rng(0)
    luck = generator.uniform(0.9, 1.1, (10, 20))
    gap = np.where(np.arange(20) < 10, 0.0, 1.0) * generator.uniform(0.5, 1.5, (10, 20))
    assert find_lead_ranges({"a": luck, "b": luck + gap, "c": luck + 2 * gap}, "a") == [(10, 19)]
    assert find_lead_ranges({"a": luck, "b": luck + gap, "c": luck[::-1]}, "a") == []  # not below all
    assert find_lead_ranges({"a": luck, "b": luck + gap, "a again": luck}, "a") == [(10, 19)]  # its equal
    assert find_lead_ranges({"a": luck}, "a") == []
    assert find_lead_ranges({"a": luck + gap, "b": luck}, "a") == []  # above, however surely
    gap[:, 12] = 0
    assert find_lead_ranges({"a": luck, "b": luck + gap}, "a") == [(10, 11), (13, 19)]


def test_an_agent_looks_the_same_in_every_row_and_names_are_shown_as_they_stand() -> None:
    first, second = RESULTS.values()
    rows = [
        RegretCurves("one", {"$a$": first, "_b": second}, changes=(40,)),
        RegretCurves("other", {"_b": first, "c": second}),
    ]
    figure = figures.regret_plot(rows)
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == [r"\$a\$", "\u200b_b", "c"]  # as matplotlib writes them
    colours = [line.get_color() for line in legend.get_lines()]
    assert len({*colours}) == 3
    drawn = [[line.get_color() for line in axes.get_lines()[:2]] for axes in figure.axes[::2]]
    assert drawn == [colours[:2], colours[1:]]
    heights = [axes.get_position().height * figure.get_size_inches()[1] for axes in figure.axes]
    np.testing.assert_allclose(heights, heights[0], rtol=0.02)  # but for what is written around them


def test_of_many_agents_all_are_drawn_and_those_of_lowest_average_rank_have_colours() -> None:
    flat = np.ones((2, 5))
    lengths = np.ones(5, dtype=int)
    agents = {str(n): dw.Result(flat, -n * flat, 0 * flat, lengths, None, {}) for n in range(20)}
    rows = [RegretCurves("one", agents), RegretCurves("other", {**agents, "12": agents["19"]})]
    figure = figures.regret_plot(rows, note="made up")
    assert all(len(axes.get_lines()) == 20 for axes in figure.axes)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [*(str(number) for number in range(15) if number != 12), "6 others"]
    note = figure.legends[0].get_title().get_text()
    assert note == "made up · in colour the 14 of lowest average rank of 20 agents"


def test_a_grid_is_one_curve_and_its_other_points_are_faint() -> None:
    first, second = RESULTS.values()
    row = RegretCurves("a place", {"A*": first, "B": second}, others={"A*": [second]})
    figure = figures.regret_plot([row])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["A*", "B"]
    alphas = [line.get_alpha() for line in figure.axes[0].get_lines()]
    assert alphas == [None, None, 0.25]


@pytest.mark.parametrize("width", [3.3, 7.0])
def test_a_figure_is_as_wide_as_asked_and_nothing_of_it_is_cut_off(width: float) -> None:
    rows = [RegretCurves("a place", RESULTS, changes=(40,), random=0.5)]
    figure = figures.regret_plot(rows, title="A title that is long " * 4, width=width, font="serif")
    assert figure.get_size_inches()[0] == width
    box = figure.get_tightbbox()
    assert box.x0 >= -0.02
    assert box.x1 <= width + 0.02
    first, second, *_ = (axes.get_position() for axes in figure.axes)
    assert (first.x0 == pytest.approx(second.x0, abs=0.02)) == (width < 6)  # one below the other
    family = figure.axes[0].get_xticklabels()[0].get_fontfamily()
    assert family[0] == "serif"


@pytest.mark.parametrize(
    ("look", "message"),
    [
        ({"width": 1}, "width must be"),
        ({"font": "No Such Font"}, "font must be a font that is installed here, or serif, got 'No Such"),
        ({"font_size": 0}, "font_size must be"),
    ],
)
def test_a_look_that_cannot_be_is_refused(look: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        figures.regret_plot([RegretCurves("", RESULTS)], **look)


def test_the_longest_finding_of_an_experiment_fits_into_the_figure() -> None:
    title = max((each.finding or "" for each in EXPERIMENTS.values()), key=len)
    flat = dw.Result(np.ones((2, 5)), -np.ones((2, 5)), np.zeros((2, 5)), np.ones(5, dtype=int), None, {})
    figure = figures.regret_plot([RegretCurves("one", {"a": flat})], title=title)
    assert figure.texts[0].get_window_extent().x1 <= figure.bbox.x1


def test_one_run_and_a_change_after_the_end_are_drawn_too() -> None:
    result = made_up(examples.agent("uniform"), examples.make(), num_episodes=1, num_runs=1, seed=0)
    figure = figures.regret_plot([RegretCurves("", {"only": result})])
    assert figures.figure_bytes(figure)


def test_png_is_the_same_whatever_the_users_settings() -> None:
    def png() -> bytes:
        return figures.figure_bytes(figures.regret_plot([RegretCurves("", RESULTS, changes=(40,))]))

    first = png()
    assert first.startswith(b"\x89PNG")
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "savefig.dpi": 10}):
        assert png() == first
        assert mpl.rcParams["font.size"] == 30
