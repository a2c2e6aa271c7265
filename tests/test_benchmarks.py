"""Benchmarks are not run by tests; what their numbers and pages rest on is."""

from functools import partial

import numpy as np
from benchmarks.__main__ import refreshed
from benchmarks.growth import CODES
from benchmarks.literal import opt_wlsvi
from benchmarks.lsvi import environment, regret
from benchmarks.measuring import exponent

PAGE = """Before.

| K | seconds |
|---|---|
| 1 | 2 |
| 2 | 4 |

| d | seconds |
|---|---|
| 1 | 7 |
"""


def test_a_printed_table_replaces_the_one_of_the_page_with_the_same_headings_and_nothing_else():
    printed = "Title\n\n| K | seconds |\n|---|---|\n| 3 | `\\1` |\n\n(5 s)\n"
    assert refreshed(PAGE, printed) == PAGE.replace("| 1 | 2 |\n| 2 | 4 |", "| 3 | `\\1` |")
    assert refreshed(PAGE, "| L | seconds |\n|---|---|\n| 3 | 5 |\n") == PAGE


def test_the_careful_code_of_algorithm_1_visits_what_the_literal_one_visits():
    env = environment()
    play = partial(opt_wlsvi, env, num_episodes=20, rate=0.9, radius=0.5, seed=1)
    literal, careful = (play(careful=careful) for careful in (False, True))
    np.testing.assert_array_equal(literal.states, careful.states)
    np.testing.assert_array_equal(literal.actions, careful.actions)
    assert regret(env, literal) > 0


def test_counts_of_operations_grow_in_the_limit_as_theory_says():
    for code in CODES:
        for name, theory in code.limits.items():
            largest = 10**9 if name == "K" else 10**6
            base = code.base._replace(K=10**9) if code.name == "literal" else code.base
            points = [base._replace(**{name: size}) for size in (largest, 2 * largest)]
            counted = exponent([largest, 2 * largest], [float(code.counted(sizes)) for sizes in points])
            assert abs(counted - theory) < 0.1, (code.name, name)
