"""A result as it shows itself in a notebook."""

import base64
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import driftwise as dw
from driftwise.base import expand_grid, to_config
from driftwise.base.part import describe_structure, extract_parameters
from driftwise.simulation.results import map_curves

NUM_RUNS, NUM_EPISODES = 6, 5
RATES, RADII = [[0.8], [0.9]], [0.1, 0.3, 1.0]
ENV = dw.environments.combination_lock(horizon=3, drift=dw.drift.Abrupt((2,)))
AGENT = dw.algorithms.opt_wlsvi(ENV.spec, rate=RATES, radius=RADII)


def made(agent=AGENT, *, grid: tuple[int, ...] = (2, 3), seed: int = 0, **more) -> dw.Result:
    """A result as the simulator gives it, with regrets that need no simulation."""
    values = -np.random.default_rng(seed).uniform(size=(*grid, NUM_RUNS, NUM_EPISODES))
    manifest = {"agent": to_config(agent), "environment": {"name": ENV.name}, "changes": [2], "first_run": 0}
    curves = values + 1, values, np.zeros_like(values), np.ones(NUM_EPISODES, dtype=int)
    return dw.Result(*curves, None, manifest, configs=[to_config(own) for own in expand_grid(agent)], **more)


SINGLE = dw.algorithms.opt_wlsvi(ENV.spec, rate=0.9, radius=0.3)


def test_its_text_is_one_short_line_that_names_all_that_ran():
    for result in (made(), made(SINGLE, grid=())):
        text = repr(result)
        assert len(text) < 200
        assert "\n" not in text
        for word in (
            "LeastSquares(ExponentialWeights, Ucb)",
            ENV.name,
            "5 episodes",
            "6 runs",
            "final regret",
        ):
            assert word in text
    assert "grid of rate (2) × radius (3)" in repr(made())
    assert re.search(r"final regret \d\.\d+ ± \d\.\d+>$", repr(made(SINGLE, grid=())))


def test_the_axes_of_a_grid_have_the_names_of_what_varies_along_them():
    result = made()
    assert result.axes == ("rate", "radius", "run", "episode")
    assert result.grid == (2, 3)
    np.testing.assert_array_equal(result.parameters["rate"], np.broadcast_to(RATES, (2, 3)))
    assert {*result.varied} == {"rate", "radius"} < {*result.parameters}
    together = dw.algorithms.opt_wlsvi(ENV.spec, rate=[0.8, 0.9], radius=[0.1, 0.3])
    assert made(together, grid=(2,)).axes == ("rate, radius", "run", "episode")
    assert made(SINGLE, grid=()).axes == ("run", "episode")


def test_numbers_within_parts_have_the_shortest_names_that_tell_them_apart():
    base = {"type": "B", "rate": 1, "x": 2}
    config = {"type": "A", "spec": {"type": "Spec", "dim": 2}, "rate": 0.5, "base": base}
    assert extract_parameters(config) == {"rate": 0.5, "base.rate": 1, "x": 2}
    assert describe_structure(config) == "A(B)"


def test_a_point_is_found_by_its_parameters():
    result = made()
    found = result.at(rate=0.9, radius=0.3)
    np.testing.assert_array_equal(found.regret, result.regret[1, 1])
    assert found.manifest["agent"] == to_config(SINGLE) == found.configs[0]
    for values, message in (
        ({"rate": 0.9}, "^at must name one agent of the grid, got 3 of 6 at "),
        ({"rate": 0.7}, "^at must name one agent of the grid, got 0 of 6 at "),
        ({"ridge": 1.0}, "^at must name parameters that vary: rate, radius, got 'ridge'$"),
    ):
        with pytest.raises(ValueError, match=message):
            result.at(**values)


def test_the_best_point_is_chosen_on_other_runs_than_it_is_reported_on():
    result = made()
    finals = result.cumulative_regret[..., -1]
    held, others = finals[..., [0, 4]], finals[..., [1, 2, 3, 5]]
    index = np.unravel_index(held.mean(axis=-1).argmin(), (2, 3))
    assert index != np.unravel_index(others.mean(axis=-1).argmin(), (2, 3))  # or this says little
    best = result.best()
    np.testing.assert_array_equal(best.cumulative_regret[:, -1], others[index])
    assert best.to_frame().run.unique().tolist() == [1, 2, 3, 5]
    assert best.best() is best
    assert "best of 6 agents in 2 other runs" in repr(best)
    few = replace(result, **map_curves(lambda curve: curve[..., :2, :], result))
    with pytest.raises(ValueError, match=r"^num_runs must be at least 3 to hold some back, got 2$"):
        few.best()


def test_a_summary_has_a_row_for_each_agent_and_marks_the_lowest_regret():
    result = made(diagnostics={"restarts": np.zeros((2, 3, NUM_RUNS, NUM_EPISODES))})
    table = result.summary()
    assert [column.heading for column in table.columns][:3] == ["rate", "radius", "final regret"]
    assert table.columns[-1].heading == "restarts"
    finals = result.cumulative_regret[..., -1].mean(axis=-1).reshape(-1)
    assert [row[2].numbers[0] for row in table.rows] == pytest.approx(finals)
    assert [row[2].best for row in table.rows] == (finals == finals.min()).tolist()
    lines = repr(table).splitlines()
    assert len(lines) == 8
    assert len({len(line) for line in lines[1:]}) == 1
    assert table._repr_html_().count("<tr>") == 7


def test_a_data_frame_has_parameters_as_columns():
    result = made()
    frame = result.to_frame()
    assert len(frame) == result.regret.size
    assert {"rate", "radius", "ridge", "run", "episode", "reward", "regret"} < {*frame.columns}
    means = frame[frame.episode == NUM_EPISODES].groupby(["rate", "radius"]).cumulative_regret.mean()
    np.testing.assert_allclose(means.to_numpy(), result.cumulative_regret[..., -1].mean(axis=-1).reshape(-1))
    assert frame[frame.run == 4].episode.tolist() == [1, 2, 3, 4, 5] * 6


def test_a_cell_of_a_notebook_has_words_a_figure_and_no_other_address():
    shown = made()._repr_html_()
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', shown)
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    assert len(shown) < 60_000
    assert "http" not in shown
    assert "<table>" in shown
    named = made(SINGLE, grid=())
    named.manifest["environment"]["name"] = "<b>&"
    assert "&lt;b&gt;&amp;" in named._repr_html_()


def test_without_matplotlib_a_cell_has_no_figure_and_plot_names_the_extra(monkeypatch):
    made().to_frame()  # in which pyarrow looks for pandas, once and for all
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "driftwise.analysis.matplotlib_figures", raising=False)
    assert "<img" not in made()._repr_html_()
    with pytest.raises(ModuleNotFoundError, match=r"^plot needs matplotlib.*: pip .* 'driftwise\[cli\]'$"):
        made().plot()
    with pytest.raises(ModuleNotFoundError, match=r"^a data frame needs pandas: "):
        made().to_frame()


def test_a_plot_has_a_curve_for_each_agent_and_the_changes():
    figure = made().plot()
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"rate=0.8, radius=0.1", "rate=0.9, radius=1"} < names
    assert any(np.array_equal(line.get_xdata(), [2.5, 2.5]) for line in figure.axes[0].get_lines())


def test_a_saved_result_comes_back_equal_but_for_its_state(tmp_path):
    diagnostics = {"alarms": np.ones((2, 3, NUM_RUNS, NUM_EPISODES))}
    result = made(diagnostics=diagnostics, signed=True)
    path = tmp_path / "one.npz"
    result.save(path)
    found = dw.Result.load(path)
    for name in ("returns", "values", "optimal_values", "lengths"):
        np.testing.assert_array_equal(getattr(found, name), getattr(result, name))
    np.testing.assert_array_equal(found.diagnostics["alarms"], diagnostics["alarms"])
    assert (found.manifest, found.configs, found.signed) == (result.manifest, result.configs, True)
    assert found.axes == result.axes
    assert [each.name for each in tmp_path.iterdir()] == ["one.npz"]


def test_what_is_no_result_is_refused_by_its_path(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(ValueError, match=r"x\.npz is missing"):
        dw.Result.load(path)
    for content in (b"", b"PK\x03\x04", b"text"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"x\.npz is damaged: "):
            dw.Result.load(path)
    made().save(path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"x\.npz is damaged: "):
        dw.Result.load(path)
    np.savez(path, facts=np.array('{"format": 2}'))
    with pytest.raises(ValueError, match="written by a newer driftwise"):
        dw.Result.load(path)
    with pytest.raises(ValueError, match="cannot be read"):
        dw.Result.load(tmp_path)
