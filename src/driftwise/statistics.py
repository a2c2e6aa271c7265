"""Statistics over independent runs."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit


def mean_interval(samples: np.ndarray, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the first axis, and the half-width of its Student-t interval (NaN for one sample)."""
    count = len(samples)
    mean = samples.mean(axis=0)
    if count == 1:
        return mean, np.full_like(mean, np.nan)
    quantile = stdtrit(count - 1, (1 + level) / 2)
    return mean, quantile * samples.std(axis=0, ddof=1) / np.sqrt(count)
