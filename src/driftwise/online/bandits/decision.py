"""Decisions, as callers get them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


@dataclass(slots=True)  # a frozen one takes five times as long to be made
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


class ArmBlocks(NamedTuple):
    """Features of arms in parts: those whose weights all arms share, and those with weights in slots."""

    shared: np.ndarray | None  # [num_arms, p]
    own: np.ndarray | None  # [num_arms, q]
    slots: list[int]  # of the arms; none where nothing is their own
    num_slots: int

    @property
    def features(self) -> np.ndarray:
        """`φ = (shared, e_slot ⊗ own)`, over √2 where there are both: `[num_arms, dim]`."""
        if self.own is None:
            assert self.shared is not None
            return self.shared
        num_arms, num_own = self.own.shape
        blocks = np.zeros((num_arms, self.num_slots, num_own))
        blocks[np.arange(num_arms), self.slots] = self.own
        rows = blocks.reshape(num_arms, -1)
        return rows if self.shared is None else np.hstack([self.shared, rows]) / np.sqrt(2)


@dataclass(frozen=True, slots=True)
class NamedDecision:
    """A chosen arm by its name, and the index that it was chosen by."""

    arm: str
    id: str  # to be given back with the reward
    index: float  # by which the arm was chosen
    bonus: float  # the part of the index that is exploration
    probability: float  # with which this arm was taken: its propensity
    probabilities: dict[str, float] = field(compare=False)  # of all arms, after every mixing
    scores: dict[str, float] = field(compare=False)  # the indices of all arms
    time: float = field(compare=False)  # in seconds since 1970
    blocks: ArmBlocks = field(compare=False, repr=False)  # features of all arms
