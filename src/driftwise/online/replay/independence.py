r"""A test of whether the actions of a log were drawn regardless of the context and of time.

Where they were, with whatever shares, $p_t(a) = p(a)$ in every row. The evidence against it is a likelihood
ratio: how well the actions are predicted by their frequencies so far among rows of the same kind, over the
best that any shares could have done in hindsight,

$$E = \frac1m\sum_{j=1}^m \prod_t \frac{n_{j,t}(a_t) + 1/2}{n_{j,t} + K/2} \Big/ \max_p\prod_t p(a_t),$$

with the counts $n_{j,t}$ of earlier rows that are of row t's kind by feature j, or by time. If actions are
random, $P(E \ge 1/\alpha) \le \alpha$, for logs of any length (universal inference: Wasserman, Ramdas &
Balakrishnan, PNAS 2020). A log that passes may still depend on what the kinds do not show.
"""

from __future__ import annotations

import math
import zlib
from typing import NamedTuple

import numpy as np

from driftwise.online.replay.logs import Log, Survey

LEVEL = 0.001  # at which a log of random actions is taken for another
NUM_TIMES = 8  # of equally many rows; a number has as many kinds
NUM_KINDS = 64  # of words


class Dependence(NamedTuple):
    """The evidence that actions depend on something, and on what it depends most."""

    log_evidence: float  # log E
    on: str  # a feature, or "time"

    @property
    def found(self) -> bool:
        """Whether actions are taken not to be random."""
        return self.log_evidence >= -math.log(LEVEL)


def require_random(log: Log, seen: Survey, *, assume_random: bool) -> Dependence | None:
    """The dependence of the actions of a log without propensities, which is refused if there is some."""
    if log.has_propensities:
        return None
    tested = dependence(log, seen)
    if tested.found and not assume_random:
        raise ValueError(
            f"{log.path}: the actions must have propensities (--propensity), since they were not drawn at "
            f"random: they depend on {tested.on} (level {LEVEL:g}); assume_random (--assume-random) goes on, "
            "with estimates that are biased"
        )
    return tested


def dependence(log: Log, seen: Survey) -> Dependence:
    """The evidence that the actions of a log depend on a feature or on time."""
    names = ("time", *log.features)
    counts = np.zeros((len(names), NUM_KINDS, len(seen.actions)))
    edges, done = dict[str, np.ndarray](), 0
    for events in log.events():
        if not len(events.rewards):
            continue
        times = np.minimum((done + np.arange(len(events.rewards))) * NUM_TIMES // seen.rows, NUM_TIMES - 1)
        kinds = np.column_stack(
            [times, *(_kinds(name, each, edges) for name, each in events.features.items())]
        )
        np.add.at(counts, (np.arange(len(names)), kinds, seen.arms(log, events)[:, None]), 1)
        done += len(events.rewards)
    shares = np.array(list(seen.actions.values()))
    ratios = _log_predicted(counts) - seen.rows * float(shares @ np.log(shares))
    evidence = np.logaddexp.reduce(ratios) - math.log(len(names))
    return Dependence(float(evidence), names[int(ratios.argmax())])


def _kinds(name: str, values: np.ndarray, edges: dict[str, np.ndarray]) -> np.ndarray:
    """Kinds of a feature's values, which may depend on them as they like: words by their hashes."""
    if values.dtype == object:
        return np.array([zlib.crc32(str(word).encode()) % NUM_KINDS for word in values], dtype=int)
    if name not in edges:  # quantiles of the first block
        edges[name] = np.nanquantile(values, np.linspace(0, 1, NUM_TIMES + 1)[1:-1])
    return (values[:, None] > edges[name]).sum(axis=1)


def _log_predicted(counts: np.ndarray) -> np.ndarray:
    """Logarithms of the products of predictions `[..., kinds, actions]`, which the counts alone decide."""
    half = counts.shape[-1] / 2
    each = (_log_gamma(counts + 0.5) - math.lgamma(0.5)).sum(axis=-1)
    return (each + math.lgamma(half) - _log_gamma(counts.sum(axis=-1) + half)).sum(axis=-1)


_log_gamma = np.vectorize(math.lgamma, otypes=[float])
