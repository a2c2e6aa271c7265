"""Decisions, as callers get them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class Decision:
    """A chosen arm, and the index that it was chosen by."""

    arm: int
    id: str  # to be given back with the reward
    index: float  # by which the arm was chosen
    bonus: float  # the part of the index that is exploration
    probability: float  # with which this arm was taken: its propensity
    probabilities: np.ndarray = field(compare=False)  # [num_arms] of all arms, after every mixing
    scores: np.ndarray = field(compare=False)  # [num_arms] the indices of all arms
    time: float = field(compare=False)  # in seconds since 1970
