"""The instance behind the lower bound for the unit ball."""

from __future__ import annotations

import itertools
import math

import numpy as np

from driftwise.base.arguments import Count, Seed
from driftwise.base.memory import require_room, size_of
from driftwise.base.validation import ArgumentError, require_number
from driftwise.environments.arms import FixedArms
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.environments.paths import abrupt_path
from driftwise.environments.registry import register

MAX_DIM = 10  # 2^10 arms


@register
def hard_bandit(
    *,
    dim: Count = 4,
    num_rounds: Count = 6000,
    segments: Count = 4,
    gap: float | None = None,
    noise_scale: float = 1.0,
    seed: Seed = 0,
) -> LinearBandit:
    """`θ = ±gap` in every coordinate, signs redrawn in each segment; arms are the corners `±1/√d`.

    For such parameters the best point of the whole unit ball is a corner. Unless given, `gap` is `√(d/n)/4`
    with `n` rounds in a segment, small enough that under noise of deviation 1 one segment does not suffice to
    find all signs; that is what makes the lower bound `d^(2/3) Δ^(1/3) K^(2/3)`. It is at most `1/√d`, where
    `θ` has length 1. No segment repeats the signs of the one before.

    Reference: Cheung, Simchi-Levi & Zhu 2019, Theorem 1.
    """
    if dim > MAX_DIM:
        raise ArgumentError("dim", f"be at most {MAX_DIM} (there are 2^dim arms)", dim)
    if segments > num_rounds:
        raise ArgumentError("segments", f"be at most num_rounds = {num_rounds}", segments)
    largest, usual = 1 / math.sqrt(dim), math.sqrt(dim / (num_rounds / segments)) / 4
    given = min(usual, largest) if gap is None else gap
    gap = require_number("gap", given, above=0, at_most=largest)
    require_room("segments", 5 * size_of((segments, dim)), f"segments = {segments}")
    rng = np.random.default_rng(seed)
    signs = rng.choice((-1.0, 1.0), (segments, dim))
    for before, after in itertools.pairwise(signs):
        if (before == after).all():
            after[rng.integers(dim)] *= -1
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=dim))) / math.sqrt(dim)
    at = tuple(num_rounds * segment // segments for segment in range(1, segments))
    return LinearBandit(FixedArms(corners), abrupt_path(gap * signs, at), "gaussian", noise_scale)
