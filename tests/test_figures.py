"""The figure shows the numbers it is given, and the intervals are what they are called."""

from __future__ import annotations

import io

import matplotlib as mpl
import numpy as np

from driftwise import figures
from tests import examples
from tests.test_experiments import made_up

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
    figure = figures.regret_figure(RESULTS, changes=(40,), title="What one sees", note="how it was made")
    left, right = figure.axes
    labelled = {line.get_label(): line for line in right.get_lines()}
    for label, result in RESULTS.items():
        np.testing.assert_allclose(
            np.asarray(labelled[label].get_ydata()), result.cumulative_regret.mean(axis=0)
        )
        np.testing.assert_array_equal(labelled[label].get_xdata(), np.arange(1, 101))
    episodes = [np.asarray(line.get_xdata()) for line in left.get_lines()]
    pieces = [(x[0], x[-1]) for x in episodes if len(x) > 2]
    assert pieces == [(1, 40), (41, 100)] * 2
    assert sum(x[0] == x[-1] == 40.5 for x in episodes) == 1  # the line that marks the change
    shown = [text.get_text() for axes in (left, right) for text in axes.texts] + [
        t.get_text() for t in figure.texts
    ]
    assert sorted(shown) == sorted(
        ["change", "change", "first", "second", "What one sees", "how it was made"]
    )


def test_one_run_and_a_change_after_the_end_are_drawn_too() -> None:
    result = made_up(examples.agent("uniform"), examples.make(), num_episodes=1, num_runs=1, seed=0)
    figure = figures.regret_figure({"only": result}, changes=())
    figures.write_png(figure, io.BytesIO())


def test_png_is_the_same_whatever_the_users_settings() -> None:
    def png() -> bytes:
        file = io.BytesIO()
        figures.write_png(figures.regret_figure(RESULTS, changes=(40,)), file)
        return file.getvalue()

    first = png()
    assert first.startswith(b"\x89PNG")
    with mpl.rc_context({"font.size": 30, "lines.linewidth": 9, "savefig.dpi": 10}):
        assert png() == first
        assert mpl.rcParams["font.size"] == 30
