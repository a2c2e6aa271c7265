"""The contract of detectors: a state of one shape, and an alarm that is yes or no."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from driftwise.base.part import require_single
from driftwise.base.types import Array
from driftwise.checks.contract import check_compiled, check_described, leaves, require
from driftwise.parts.detectors import Detector


def check_detector(detector: Detector, *, num_episodes: int = 40, seed: int = 0) -> None:
    """Raise a `ContractError` unless a detector keeps what all of them keep.

    It prints and goes to a configuration and back; its events are names, `restarts` among them; its state
    keeps its shapes and types and is left as it was given; an alarm is true or false; `detect` gives the same
    compiled as on NumPy.
    """
    check_described("detector", detector, Detector)
    require_single(detector)
    events = detector.events
    named = isinstance(events, tuple) and "restarts" in events and all(type(each) is str for each in events)
    require(named, f"events must be names with 'restarts' among them, got {events!r}")
    rng = np.random.default_rng(seed)
    state = detector.init(np.float64(0))
    layout = [(leaf.shape, leaf.dtype) for leaf in leaves(state)]
    for t in range(num_episodes):
        observed, chance = np.float64(rng.random() + (t > num_episodes // 2)), np.float64(rng.random())
        before = copy.deepcopy(state)
        following, alarm = detector.detect(state, observed, chance)
        kept = all(map(np.array_equal, leaves(before), leaves(state)))
        require(kept, f"detect must leave the state as it was given, changed in episode {t}")
        boolean = np.ndim(alarm) == 0 and np.asarray(alarm).dtype == bool
        require(boolean, f"an alarm must be true or false, got {alarm!r} in episode {t}")
        found = [(leaf.shape, leaf.dtype) for leaf in leaves(following)]
        require(found == layout, f"the state must keep its shapes and types, changed in episode {t}")
        if t % 10 == 9:
            check_compiled("detect", _detected, detector, state, observed, chance)
        state = following


def _detected(detector: Detector, *given: Any) -> tuple[Any, Array]:
    return detector.detect(*given)
