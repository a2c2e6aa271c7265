"""Numbers that a part cannot have are refused in one sentence: the argument, what it must be, what it was."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from driftwise.parts import ClockWeights, ConfidenceRadius, RestartAt
from driftwise.parts.detectors import Cusum, Glr, RandomRestart
from driftwise.parts.experts import Exp3, FixedShare, exp3, exp3_p, exp3_s
from tests.examples import refused

ARMS: dict[str, Any] = dict(num_arms=2, mixing=0.5, step_size=1)
ROUNDS: dict[str, Any] = dict(num_arms=2, num_rounds=9)


@pytest.mark.parametrize(
    ("make", "arguments", "expected"),
    [
        (Glr, dict(noise_scale=0), "a number above 0, got 0"),
        (Glr, dict(delta=0), "a number in (0, 1], got 0"),
        (Glr, dict(threshold_scale=0), "a number above 0, got 0"),
        (Glr, dict(window=1), "an integer of at least 2, got 1"),
        (Cusum, dict(warmup=0), "an integer of at least 1, got 0"),
        (Cusum, dict(slack=-1), "a number of at least 0, got -1"),
        (Cusum, dict(threshold=0), "a number above 0, got 0"),
        (RandomRestart, dict(probability=1.5), "a number in [0, 1], got 1.5"),
        (Exp3, dict(mixing=0.5, step_size=1, num_arms=0), "a positive integer, got 0"),
        (Exp3, dict(num_arms=2, step_size=1, mixing=0), "a number in (0, 1], got 0.0"),
        (Exp3, dict(num_arms=2, step_size=1, mixing=[0.5, 0]), "a number in (0, 1], got 0.0"),
        (Exp3, dict(num_arms=2, step_size=1, mixing=1.5), "a number in [0, 1], got 1.5"),
        (Exp3, dict(num_arms=2, mixing=0.5, step_size=-1), "a number of at least 0, got -1"),
        (Exp3, dict(**ARMS, bonus=-1), "a number of at least 0, got -1"),
        (Exp3, dict(**ARMS, sharing=math.inf), "a number of at least 0, got inf"),
        (exp3, dict(num_rounds=10, num_arms=2.0), "a positive integer, got 2.0"),
        (exp3, dict(num_arms=2, num_rounds=0), "a positive integer, got 0"),
        (exp3_p, dict(**ROUNDS, delta=0), "a number in (0, 1], got 0"),
        (exp3_p, dict(**ROUNDS, form="bubek"), "one of auer, bubeck, got 'bubek' (did you mean 'bubeck'?)"),
        (exp3_s, dict(**ROUNDS, num_switches=-1), "an integer of at least 0, got -1"),
        (FixedShare, dict(favour=1.0), "a number in [0, 0.999], got 1.0"),
        (ConfidenceRadius, dict(noise_scale=-1.0), "a number of at least 0, got -1.0"),
        (ConfidenceRadius, dict(noise_scale=1, delta=0), "a number in (0, 1], got 0"),
        (ConfidenceRadius, dict(noise_scale=1, shares=-1), "a number of at least 0, got -1"),
        (ConfidenceRadius, dict(noise_scale=1, samples=(9, -2)), "a number of at least 0, got -2"),
        (ConfidenceRadius, dict(noise_scale=1, spread="round"), "one of rounds, epochs, got 'round'"),
        (RestartAt, dict(changes=7), "a list of ticks, got 7"),
        (RestartAt, dict(changes=(3, 0)), "a positive integer, got 0"),
        (RestartAt, dict(changes=(2.5,)), "a positive integer, got 2.5"),
        *((ClockWeights, dict(half_life=each), "a number above 0, got") for each in (0, -1, np.nan, "6h")),
    ],
)
def test_what_a_part_cannot_have_is_refused_in_one_sentence(
    make: Callable[..., Any], arguments: dict[str, Any], expected: str
) -> None:
    *_, name = arguments  # the last one is wrong
    with refused(f"{name} must be {expected}"):
        make(**arguments)
