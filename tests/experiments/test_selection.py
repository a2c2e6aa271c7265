"""A grid is one agent: which of its points stands for it, and in which runs."""

import numpy as np
import pytest

import driftwise as dw
from driftwise.experiments.outcomes import choose_best_points
from driftwise.simulation.results import select_holdout


def curves(finals: list[float]) -> dw.Result:
    """Curves of one point each, whose final regret is given for every run."""
    regret = np.array(finals, dtype=float)[:, None]
    return dw.Result(-regret, -regret, 0 * regret, np.ones(1, dtype=int), None, {}, {"own": regret})


NAMES = {"A (x=1)": "A", "A (x=2)": "A", "B": "B"}
POINTS = {  # of five runs, the first and the last choose
    "A (x=1)": curves([1, 9, 9, 9, 2]),
    "A (x=2)": curves([3, 0, 0, 0, 4]),
    "B": curves([7, 1, 2, 3, 7]),
}


def test_the_point_is_chosen_by_runs_that_are_not_shown():
    agents, runs = choose_best_points(POINTS, NAMES)
    assert [*agents] == ["A*", "B"]
    assert agents["A*"].best == "A (x=1)"  # whatever the other runs say
    assert runs.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(agents["A*"].result.cumulative_regret[:, -1], [9, 9, 9])
    np.testing.assert_array_equal(agents["A*"].result.diagnostics["own"][:, -1], [9, 9, 9])
    assert [*agents["A*"].others] == ["A (x=2)"]


def test_all_agents_are_shown_in_the_same_runs_and_none_is_lost():
    agents, _ = choose_best_points(POINTS, NAMES)
    np.testing.assert_array_equal(agents["B"].result.cumulative_regret[:, -1], [1, 2, 3])
    assert {point for shown in agents.values() for point in shown.points} == {*POINTS}


def test_without_a_grid_every_run_is_shown_under_its_own_label():
    points = {"B": POINTS["B"], "C (x=1)": POINTS["A (x=1)"]}
    agents, runs = choose_best_points(points, {"B": "B", "C (x=1)": "C"})
    assert [*agents] == ["B", "C (x=1)"]
    assert runs.tolist() == [0, 1, 2, 3, 4]


def test_a_run_that_is_held_back_still_is_when_there_are_more():
    for more in range(4, 20):
        np.testing.assert_array_equal(select_holdout(more)[:-1], select_holdout(more - 1))


@pytest.mark.parametrize("num_runs", [1, 2])
def test_too_few_runs_choose_and_are_shown(num_runs):
    few = {label: curves(result.regret[:num_runs, 0].tolist()) for label, result in POINTS.items()}
    agents, runs = choose_best_points(few, NAMES)
    assert len(runs) == num_runs
    finals = {label: result.cumulative_regret[:, -1].mean() for label, result in few.items()}
    assert agents["A*"].best == min(("A (x=1)", "A (x=2)"), key=finals.__getitem__)


def test_two_agents_that_would_be_called_the_same_are_refused():
    with pytest.raises(ValueError, match=r"two agents are called 'A\*': rename one of them"):
        choose_best_points({**POINTS, "A*": POINTS["B"]}, {**NAMES, "A*": "A*"})
