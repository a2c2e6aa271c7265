"""Rows of a table or of a log of decisions: the features of all arms, the one taken, and its reward."""

import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftwise.online.decision_log import DecisionLog, LoggedDecision
from driftwise.online.encoding import Encoder
from driftwise.online.encoding.encoder import MOST_WORDS, ArmBlocks
from driftwise.online.replay.table_log import TableLog

INDEPENDENCE_LEVEL = 0.001  # at which a log of random actions is taken for another
MAX_WEIGHTS = 500  # a row takes time in their cube: then some hundredths of a second
_MAX_ACTIONS = 1000
_NUM_TIMES = 8  # of equally many rows; a number has as many kinds
_NUM_KINDS = 64  # of words


@dataclass(frozen=True)
class ActionEncoding:
    """Features of the actions in a context `x`, of which an encoder makes `c(x)`.

    Every action has weights of its own, `φ(x, a) = e_a ⊗ c`; with `shared` they have a level of their own and
    the rest in common, `φ(x, a) = (c, e_a)/√2`. Norms are at most one.
    """

    encoder: Encoder
    num_actions: int
    shared: bool = False

    @property
    def dim(self) -> int:
        return self.encoder.dim + self.num_actions if self.shared else self.encoder.dim * self.num_actions

    def actions(self, context: np.ndarray) -> np.ndarray:
        """Return `φ` of all actions in one context, as encoded: `[num_actions, dim]`."""
        num, rows = self.num_actions, np.tile(context, (self.num_actions, 1))
        shared, own = (rows, np.ones((num, 1))) if self.shared else (None, rows)
        return ArmBlocks(shared, own, [*range(num)], num).features


class LoggedRow(NamedTuple):
    """One decision with its reward."""

    arms: np.ndarray  # [num_arms, dim] features
    arm: int
    reward: float
    propensity: float
    chances: np.ndarray | None  # [num_arms] the probabilities that all arms had, if known
    numbers: np.ndarray  # [num_arms] of the arms among all actions
    time: float  # in seconds; 0 where it is not known


class LoggedRows(NamedTuple):
    """All usable rows of a log, oldest first, and facts about them."""

    number: int
    skipped: int
    numbers: Mapping[str, int]  # of the actions; those of a decision log are names or numbers of arms
    least_propensity: float
    dim: int
    most_arms: int  # of a row
    shares: np.ndarray | None  # [num_actions] of the rows of a table
    encoding: ActionEncoding | None  # of a table
    read: Callable[[], Iterator[LoggedRow]]


def read_rows(log: TableLog | DecisionLog, *, shared: bool = False) -> LoggedRows:
    """Return the rows of a log and facts about them, for which the log is read once."""
    rows = _rows_of_decisions(log) if isinstance(log, DecisionLog) else _rows_of_table(log, shared)

    def read() -> Iterator[LoggedRow]:
        count = 0
        for count, row in enumerate(rows.read(), start=1):
            if count > rows.number:
                break
            yield row
        if count != rows.number:
            raise _changed_error(log)

    return rows._replace(read=read)


def _rows_of_table(log: TableLog, shared: bool) -> LoggedRows:
    counts, pilot, skipped, least = Counter[str](), dict[str, list[Any]](), 0, 1.0
    for block in log.blocks():
        skipped += block.skipped
        counts.update(block.actions.tolist())
        if len(counts) > _MAX_ACTIONS:
            most = f"must have at most {_MAX_ACTIONS:,} different values"
            raise ValueError(f"{log.path}: {log.action} {most}, got more")
        if block.propensities is not None:
            least = min(least, float(block.propensities.min(initial=1.0)))
        for name, values in block.features.items() if log.encoder is None else ():
            before = pilot.get(name, [])
            if values.dtype == object:
                pilot[name] = [*{*before, *values.tolist()}]
                if len(pilot[name]) > MOST_WORDS:
                    most = f"{name} must have at most {MOST_WORDS:,} different words, got more"
                    raise ValueError(f"{most}: take an encoder that hashes them")
            elif len(numbers := np.append(values, before)):
                pilot[name] = [float(numbers.min()), float(numbers.max())]
    if not (total := counts.total()):
        problem = f"all {skipped:,} lack a value" if skipped else "it has none"
        raise ValueError(f"{log.path} must have at least one row to learn from, but {problem}")
    num = len(counts)
    of_actions = {action: number for number, action in enumerate(sorted(counts))}
    shares = np.array([counts[action] / total for action in of_actions])
    encoder = log.encoder or Encoder.from_frame(pilot, log.features, deviations=None)
    encoding, every, chances = ActionEncoding(encoder, num, shared), np.arange(num), None
    sizes = f"{log.path}: {num:,} actions and {encoder.dim:,} features of contexts"
    smaller = "fewer actions or features" if shared else "shared=True, or fewer features"
    _require_few_weights(sizes, encoding.dim, f": take {smaller}")
    if log.propensity is None:
        least, chances = float(shares.min()), shares

    def read() -> Iterator[LoggedRow]:
        for block in log.blocks():
            arms = _look_up(log, of_actions, block.actions)
            propensities = shares[arms] if block.propensities is None else block.propensities
            times = np.zeros(len(arms)) if block.times is None else block.times
            plain = (values.tolist() for values in (arms, block.rewards, propensities, times))
            for context, arm, reward, chance, time in zip(encoder.rows(block.features), *plain, strict=True):
                yield LoggedRow(encoding.actions(context), arm, reward, chance, chances, every, time)

    return LoggedRows(total, skipped, of_actions, least, encoding.dim, num, shares, encoding, read)


def _rows_of_decisions(log: DecisionLog) -> LoggedRows:
    count, skipped, most, least, dim, numbers = 0, 0, 0, 1.0, None, dict[str, int]()
    for logged in log.decisions():
        dim = logged.arms.shape[1] if dim is None else dim
        _require_few_weights(f"{log.path}: arms", dim)
        if logged.arms.shape[1] != dim:
            dims = f"{logged.arms.shape[1]} at decision {logged.id!r}"
            raise ValueError(f"{log.path}: arms must have {dim} features in all decisions, got {dims}")
        if logged.reward is None:
            skipped += 1
            continue
        count, most = count + 1, max(most, len(logged.arms))
        least = min(least, float(logged.probabilities[logged.arm]))
        for name in _arm_names(logged):
            numbers.setdefault(name, len(numbers))
    if dim is None or not count:
        problem = f"all {skipped:,} lack a reward" if skipped else "it has none"
        raise ValueError(f"{log.path} must have at least one decision to learn from, but {problem}")

    def read() -> Iterator[LoggedRow]:
        for logged in log.decisions():
            if logged.reward is not None:
                arm, chances = logged.arm, logged.probabilities
                known = arm, logged.reward, float(chances[arm]), chances
                yield LoggedRow(logged.arms, *known, _look_up(log, numbers, _arm_names(logged)), logged.time)

    return LoggedRows(count, skipped, numbers, least, dim, most, None, None, read)


def _arm_names(logged: LoggedDecision) -> tuple[str, ...]:
    return tuple(map(str, range(len(logged.arms)))) if logged.names is None else logged.names


def _look_up(log: TableLog | DecisionLog, numbers: Mapping[str, int], actions: Any) -> np.ndarray:
    """Return the numbers of actions; one that was not there before is an error of the log."""
    try:
        return np.array([numbers[action] for action in actions], dtype=int)
    except KeyError:
        raise _changed_error(log) from None


def _changed_error(log: TableLog | DecisionLog) -> ValueError:
    return ValueError(f"{log.path} must stay as it is while it is read, but it has changed")


def _require_few_weights(subject: str, dim: int, advice: str = "") -> None:
    if dim > MAX_WEIGHTS:
        raise ValueError(f"{subject} must make at most {MAX_WEIGHTS:,} weights, got {dim:,}{advice}")


class LoggedSamples(NamedTuple):
    """The usable rows of a log as samples of a regression."""

    features: np.ndarray  # [n, dim] of the actions that were taken
    rewards: np.ndarray  # [n]
    actions: tuple[str, ...]  # all that there are
    skipped: int  # rows with a value that is missing or not finite, decisions without a reward
    times: np.ndarray | None  # [n] in seconds since 1970, if the log has them
    encoding: ActionEncoding | None  # of later contexts and actions; None for a decision log


def read_samples(log: TableLog | DecisionLog, *, shared: bool = False) -> LoggedSamples:
    """Return the whole log with the features that a replay of it has, see `ActionEncoding`."""
    rows = read_rows(log, shared=shared)
    features, (rewards, times) = np.empty((rows.number, rows.dim)), np.empty((2, rows.number))
    for number, row in enumerate(rows.read()):
        features[number], rewards[number], times[number] = row.arms[row.arm], row.reward, row.time
    actions, untimed = tuple(rows.numbers), isinstance(log, TableLog) and log.time is None
    return LoggedSamples(features, rewards, actions, rows.skipped, None if untimed else times, rows.encoding)


class Dependence(NamedTuple):
    """The evidence that actions depend on something, and on what it depends most."""

    log_evidence: float  # log E
    on: str  # a feature, or "time"

    @property
    def is_significant(self) -> bool:
        """Whether the evidence is strong enough to take actions not to be random."""
        return self.log_evidence >= -math.log(INDEPENDENCE_LEVEL)


def measure_dependence(log: TableLog, rows: LoggedRows) -> Dependence:
    r"""Return the evidence that the actions of a log depend on a feature or on time.

    It is a likelihood ratio: how well actions are predicted by their frequencies so far among rows of the
    same kind, over the best that any shares could have done in hindsight,

    $$E = \frac1m\sum_{j=1}^m \prod_t \frac{n_{j,t}(a_t) + 1/2}{n_{j,t} + K/2} \Big/ \max_p\prod_t p(a_t),$$

    with the counts $n_{j,t}$ of earlier rows of row t's kind by feature j, or by time: of words by hashes, of
    numbers by quantiles of the first block. If actions are random, $P(E \ge 1/\alpha) \le \alpha$, for logs
    of any length (universal inference: Wasserman, Ramdas & Balakrishnan, PNAS 2020).
    """
    assert rows.shares is not None
    names = ("time", *log.features)
    counts, edges, done = np.zeros((len(names), _NUM_KINDS, len(rows.shares))), dict[str, np.ndarray](), 0
    for block in log.blocks():
        if not (num := len(block.rewards)):
            continue
        kinds = [np.minimum((done + np.arange(num)) * _NUM_TIMES // rows.number, _NUM_TIMES - 1)]
        for name, values in block.features.items():
            if values.dtype == object:
                words = (zlib.crc32(str(word).encode()) % _NUM_KINDS for word in values)
                kinds.append(np.fromiter(words, dtype=int))
                continue
            if name not in edges:
                edges[name] = np.nanquantile(values, np.linspace(0, 1, _NUM_TIMES + 1)[1:-1])
            kinds.append((values[:, None] > edges[name]).sum(axis=1))
        taken = _look_up(log, rows.numbers, block.actions)
        np.add.at(counts, (np.arange(len(names)), np.column_stack(kinds), taken[:, None]), 1)
        done += num
    ratios = _log_predicted(counts) - rows.number * float(rows.shares @ np.log(rows.shares))
    evidence = float(np.logaddexp.reduce(ratios)) - math.log(len(names))
    return Dependence(evidence, names[int(ratios.argmax())])


def _log_predicted(counts: np.ndarray) -> np.ndarray:
    """Return logarithms of the products of predictions `[..., kinds, actions]`, by the counts."""
    log_gamma, half = np.vectorize(math.lgamma, otypes=[float]), counts.shape[-1] / 2
    by_kind = (log_gamma(counts + 0.5) - math.lgamma(0.5)).sum(axis=-1)
    return (by_kind + math.lgamma(half) - log_gamma(counts.sum(axis=-1) + half)).sum(axis=-1)
