"""How surely a changed mean is told from chance, and after how many samples."""

from __future__ import annotations

import bisect
import math
from typing import Any

from driftwise.base.arrays import Numbers
from driftwise.base.validation import require_count, require_number

LONGEST = 10**9  # samples after a change that are looked at
STEP = 1.05


def means_threshold(num_samples: Any, num_splits: Any, failure: Any, xp: Any = Numbers) -> Any:
    r"""$\log(\pi^2mn^2/(3\delta))$ for $n$ samples and $m$ splits, with `failure` $\log(1/\delta)$.

    The likelihood ratio of a mean that did not change stays below, for all $n$ with probability $1-\delta$,
    by a union bound.
    """
    return math.log(math.pi**2 / 3) + xp.log(num_splits) + 2 * xp.log(num_samples) + failure


def samples_until_found(
    shift: float,
    *,
    before: int,
    noise_scale: float = 0.5,
    delta: float = 0.05,
    miss: float = 0.05,
    num_streams: int = 1,
    epoch: int = 1,
    window: int | None = None,
) -> int | None:
    r"""Samples after a change of a mean by which a test of means has found it, with probability $1-\delta_D$.

    The least $m$ for which, after $\nu$ samples of before, with $n = \nu + m$,
    $$\Delta\sqrt{\frac{\nu m}{2\sigma^2n}} \ge \sqrt{\log\frac{\pi^2(n-1)n^2}{3\delta_k}} +
      \sqrt{\log\frac2{\delta_D}}, \qquad \delta_k = \frac{6\delta}{\pi^2k^2N},$$
    or None: a change that comes too soon is never found. A test that keeps `window` samples looks at $w - 1$
    splits at most, in place of $n - 1$, and has to find a change before it has left them. With forced plays
    of $d$ arms of which $\alpha$ of all rounds are made, a sample of an arm comes every $d/\alpha$ rounds in
    the mean, and changes have to be further apart than $m$ such samples.

    Args:
      shift: $\Delta > 0$ of the mean.
      before: $\nu$.
      noise_scale: $\sigma > 0$.
      delta: $\delta$, the chance of any false alarm.
      miss: $\delta_D$, the chance that it takes longer.
      num_streams: $N$, means that are watched.
      epoch: $k$, one more than the alarms there were.
      window: $w$, the samples that the test keeps; by default all.
    """
    shift, noise_scale = (
        require_number(*each, above=0) for each in (("shift", shift), ("noise_scale", noise_scale))
    )
    before, streams, epoch = (
        require_count(*each) for each in (("before", before), ("num_streams", num_streams), ("epoch", epoch))
    )
    delta, miss = (require_number(*each, above=0, at_most=1) for each in (("delta", delta), ("miss", miss)))
    failure = math.log(math.pi**2 * epoch**2 * streams / (6 * delta))

    most = LONGEST if window is None else require_count("window", window, at_least=2) - 1

    def is_enough(after: int) -> bool:
        num = before + after
        splits = num - 1 if window is None else min(num - 1, most)
        signal = shift / noise_scale * math.sqrt(before * after / (2 * num))
        return signal >= math.sqrt(means_threshold(num, splits, failure)) + math.sqrt(math.log(2 / miss))

    # The signal has a limit and the threshold has none, so that a search in small steps meets what is enough.
    low, high = 0, 1
    while not is_enough(high):
        if high == most:
            return None
        low, high = high, min(math.ceil(STEP * high), most)
    return bisect.bisect_left(range(high), True, lo=low, key=is_enough)
