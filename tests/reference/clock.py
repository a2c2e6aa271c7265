"""Forgetting by the clock, as plain sums over events."""

from typing import NamedTuple

import numpy as np

from tests.reference.moments import Sums


class Event(NamedTuple):
    """A sample and its time in seconds."""

    time: float
    features: np.ndarray  # [d]
    reward: float
    rewards: float = 1.0  # of which that is the mean


def sums_at(time: float, events: list[Event], half_life: float, ridge: float, dim: int) -> Sums:
    """Every event weighs what its age has left; the mean of n rewards has an nth of the noise of one."""
    gram, gram_sq, cross = ridge * np.eye(dim), ridge * np.eye(dim), np.zeros(dim)
    weight = weight_sq = 0.0
    for event in events:
        omega, outer = 2 ** (-(time - event.time) / half_life), np.outer(event.features, event.features)
        gram += omega * event.rewards * outer
        gram_sq += (omega * event.rewards) ** 2 * outer / event.rewards if event.rewards else 0.0
        cross += omega * event.rewards * event.reward * event.features
        weight += omega * event.rewards
        weight_sq += omega**2 * event.rewards
    return Sums(gram, gram_sq, cross, weight, weight_sq)


def held(times: list[float], events: list[Event], half_life: float, ridge: float, dim: int) -> list[Sums]:
    """With the ridge around the last estimate: moments at later times than the events before them, in steps.

    Each step puts the forgotten part of the ridge back as observations of the estimate before the step.
    """
    found, gram, cross, now = [], ridge * np.eye(dim), np.zeros(dim), min(each.time for each in events)
    happening: list[tuple[float, Event | None]] = [(each.time, each) for each in events]
    happening += [(time, None) for time in times]
    for time, event in sorted(happening, key=lambda pair: pair[0]):
        kept, estimate = 2 ** (-(time - now) / half_life), np.linalg.solve(gram, cross)
        gram = kept * gram + (1 - kept) * ridge * np.eye(dim)
        cross = kept * cross + (1 - kept) * ridge * estimate
        now = time
        if event is None:
            found.append(Sums(gram, gram, cross, 0.0, 0.0))
        else:
            gram = gram + np.outer(event.features, event.features)
            cross = cross + event.reward * event.features
    return found
