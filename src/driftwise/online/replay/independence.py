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

from driftwise.online.replay.table_log import Survey, TableLog

INDEPENDENCE_LEVEL = 0.001  # at which a log of random actions is taken for another
_NUM_TIMES = 8  # of equally many rows; a number has as many kinds
_NUM_KINDS = 64  # of words


class Dependence(NamedTuple):
    """The evidence that actions depend on something, and on what it depends most."""

    log_evidence: float  # log E
    on: str  # a feature, or "time"

    @property
    def found(self) -> bool:
        """Whether actions are taken not to be random."""
        return self.log_evidence >= -math.log(INDEPENDENCE_LEVEL)


def require_random(log: TableLog, survey: Survey, *, assume_random: bool) -> Dependence | None:
    """Return the dependence of the actions of a log without propensities; refuse the log if there is some."""
    if log.propensity is not None:
        return None
    dependence = measure_dependence(log, survey)
    if dependence.found and not assume_random:
        raise ValueError(
            f"{log.path}: the actions must have propensities (--propensity), since they were not drawn at "
            f"random: they depend on {dependence.on} (level {INDEPENDENCE_LEVEL:g}); "
            "assume_random = true goes on, with estimates that are biased"
        )
    return dependence


def measure_dependence(log: TableLog, survey: Survey) -> Dependence:
    """Return the evidence that the actions of a log depend on a feature or on time."""
    names = ("time", *log.features)
    counts = np.zeros((len(names), _NUM_KINDS, len(survey.shares)))
    edges, done = dict[str, np.ndarray](), 0
    for block in log.blocks():
        if not len(block.rewards):
            continue
        times = np.minimum((done + np.arange(len(block.rewards))) * _NUM_TIMES // survey.rows, _NUM_TIMES - 1)
        kinds = np.column_stack(
            [times, *(_kinds(name, values, edges) for name, values in block.features.items())]
        )
        np.add.at(counts, (np.arange(len(names)), kinds, survey.arms(log, block)[:, None]), 1)
        done += len(block.rewards)
    shares = np.array(list(survey.shares.values()))
    ratios = _log_predicted(counts) - survey.rows * float(shares @ np.log(shares))
    evidence = np.logaddexp.reduce(ratios) - math.log(len(names))
    return Dependence(float(evidence), names[int(ratios.argmax())])


def _kinds(name: str, values: np.ndarray, edges: dict[str, np.ndarray]) -> np.ndarray:
    """Return kinds of a feature's values: of words by their hashes, of numbers by quantiles."""
    if values.dtype == object:
        return np.array([zlib.crc32(str(word).encode()) % _NUM_KINDS for word in values], dtype=int)
    if name not in edges:  # quantiles of the first block
        edges[name] = np.nanquantile(values, np.linspace(0, 1, _NUM_TIMES + 1)[1:-1])
    return (values[:, None] > edges[name]).sum(axis=1)


def _log_predicted(counts: np.ndarray) -> np.ndarray:
    """Return logarithms of the products of predictions `[..., kinds, actions]`, by the counts."""
    half = counts.shape[-1] / 2
    by_kind = (_log_gamma(counts + 0.5) - math.lgamma(0.5)).sum(axis=-1)
    return (by_kind + math.lgamma(half) - _log_gamma(counts.sum(axis=-1) + half)).sum(axis=-1)


_log_gamma = np.vectorize(math.lgamma, otypes=[float])
