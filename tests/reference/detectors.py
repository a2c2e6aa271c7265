"""Detectors of a changed mean by their definitions: everything is summed anew after every observation."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def glr(seen: Sequence[float], *, noise_scale: float, delta: float, scale: float, window: int) -> bool:
    """Whether all that was `seen` is an alarm: any split that leaves less than `window` observations."""
    n = len(seen)
    threshold = scale * math.log(3 * n * math.sqrt(n) / delta)
    for s in range(max(1, n - window + 1), n):
        gap = np.mean(seen[:s]) - np.mean(seen[s:])
        if s * (n - s) / (2 * noise_scale**2 * n) * gap**2 >= threshold:
            return True
    return False


def cusum(seen: Sequence[float], *, warmup: int, slack: float, threshold: float) -> bool:
    """Whether all that was `seen` is an alarm, the sums begun again after the warm-up."""
    if len(seen) <= warmup:
        return False
    mean = sum(seen[:warmup]) / warmup
    up = down = 0.0
    for x in seen[warmup:]:
        up = max(0.0, up + (x - mean) - slack)
        down = max(0.0, down - (x - mean) - slack)
    return max(up, down) >= threshold
