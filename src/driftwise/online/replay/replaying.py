"""The replay: two passes over a log, one event after the other in the second."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms import build
from driftwise.algorithms.registry import lookup
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_count
from driftwise.online.bandits.bandit import Bandit
from driftwise.online.bandits.deciders import Decider
from driftwise.online.bandits.fastest import decider_of
from driftwise.online.decision_log import DecisionLog
from driftwise.online.replay.estimates import Estimates, Event, Tally
from driftwise.online.replay.logs import Log
from driftwise.online.replay.models import RewardModel
from driftwise.online.replay.rows import Row, Rows, rows_of

EXPLORING = ("epsilon", "num_draws")  # options of a bandit that change its policy
WINDOWS = 50  # by default
MAX_WINDOWS = 10_000  # they are kept
ROWS_AT_ONCE = 64  # in memory, with all their arms


class Window(NamedTuple):
    """Estimates after `row` usable rows, over the last window and over all."""

    row: int
    window: Estimates
    so_far: Estimates

    def to_json(self) -> dict[str, Any]:
        return {"row": self.row, "window": self.window.to_json(), "so_far": self.so_far.to_json()}


@dataclass(frozen=True)
class Replay:
    """Estimates of a replay, with its log and its options."""

    log: Log | DecisionLog
    algorithm: str
    parameters: Mapping[str, Any]
    shared: bool
    frozen_after: int | None
    seed: int
    rows: int
    skipped: int
    actions: tuple[str, ...]
    least_propensity: float
    dim: int  # features of an action
    learnt: int  # events that the agent learnt from
    windows: tuple[Window, ...]

    @property
    def final(self) -> Estimates:
        """The estimates over all rows."""
        return self.windows[-1].so_far

    @property
    def warning(self) -> str | None:
        """A sentence if the agent had next to nothing to learn from, else None."""
        if self.learnt >= self.dim:
            return None
        return (
            f"the agent learnt from {self.learnt:,} of {self.rows:,} events, fewer than its {self.dim:,} "
            f"features: the least propensity, {self.least_propensity:.3g}, decides how many are accepted"
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values; numbers that are not there are None."""
        own = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)[1:-1]}
        estimates = {"final": self.final.to_json(), "windows": [each.to_json() for each in self.windows]}
        return self.log.described() | own | estimates


def replay(
    log: Log | DecisionLog,
    algorithm: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    shared: bool = False,
    frozen_after: int | None = None,
    every: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Replay:
    r"""Estimate the mean reward of an agent in the place of the policy that wrote the log.

    The agent's policy $\pi_t$ depends on accepted events alone. Event $t$ with context $x$, logged action
    $a$, reward $r$ and propensity $p$ is accepted with probability $\pi_t(a\mid x)\,p_{\min}/p$; only then
    the agent learns from it. Accepted events are distributed as if the agent had acted itself, and their mean
    reward is the `replay` estimate. On all events, with $\rho = \pi_t(a\mid x)/p$ and a reward model $q$
    fitted to earlier events:

    $$\text{IPS} = \tfrac1n\sum\rho r, \qquad \text{SNIPS} = \frac{\sum\rho r}{\sum\rho}, \qquad
      \text{DR} = \tfrac1n\sum\Bigl(\sum_b \pi_t(b\mid x)q(x,b) + \rho\,(r - q(x,a))\Bigr).$$

    Args:
      log: the decisions: a table with a context in each row, or a `DecisionLog` with the features of all
        arms, which are taken as they are and may be others in every row.
      algorithm: the name of a registered algorithm.
      parameters: of the algorithm, with a `Bandit`'s `epsilon` and `num_draws`.
      shared: whether actions of a table share the weights of the context, see `Encoding`.
      frozen_after: learn from that many rows, then keep the policy and estimate on the others.
      every: rows of a window; by default a fiftieth of all.
      seed: of the agent's draws and of acceptance.
      progress: called as `progress(rows_done, rows)`.

    Reference: Li, Chu, Langford & Wang, "Unbiased Offline Evaluation of Contextual-bandit-based News Article
    Recommendation Algorithms", WSDM 2011, Algorithm 2, which this is where propensities are all the same;
    Dudík, Langford & Li, "Doubly Robust Policy Evaluation and Learning", ICML 2011; Swaminathan & Joachims,
    "The Self-Normalized Estimator for Counterfactual Learning", NeurIPS 2015.
    """
    rows = rows_of(log, shared=shared)
    frozen = 0 if frozen_after is None else require_count("frozen_after", frozen_after)
    if frozen >= rows.number:
        expected = f"leave rows of the {rows.number:,} to estimate on"
        raise ArgumentError("frozen_after", expected, frozen, f"{frozen:,}")
    size = require_count("every", max(1, rows.number // WINDOWS) if every is None else every)
    if rows.number > MAX_WINDOWS * size:
        raise ArgumentError("every", f"give at most {MAX_WINDOWS:,} windows of {rows.number:,} rows", size)
    parameters = dict(parameters or {})
    exploring = [name for name in EXPLORING if not lookup(algorithm).takes(name)]
    own = {name: value for name, value in parameters.items() if name not in exploring}
    build(Spec.bandit(dim=rows.dim, num_arms=1), algorithm, **own)  # a bandit has more options
    bandit = Bandit(algorithm, dim=rows.dim, seed=seed, **parameters)
    decider = decider_of(bandit.agent, seed, bandit.settings.num_draws)
    replayer = _Replayer(rows, decider, bandit.settings.epsilon, frozen)
    so_far, window = Tally(), Tally()
    windows, done, coming = [], 0, rows.read()
    while some := list(islice(coming, ROWS_AT_ONCE)):
        for event in replayer.seen(some):
            done += 1
            if done <= frozen:
                continue
            so_far.add(event)
            window.add(event)
            if done % size == 0 or done == rows.number:
                windows.append(Window(done, window.estimates, so_far.estimates))
                window = Tally()
        progress(done, rows.number)
    if done != rows.number:
        raise log.changed()
    asked = log, algorithm, parameters, shared, frozen_after, seed
    found = rows.number, rows.skipped, rows.actions, rows.least_propensity, rows.dim
    return Replay(*asked, *found, replayer.learnt, tuple(windows))


class _Replayer:
    """The agent and the reward model on their way through the log."""

    def __init__(self, rows: Rows, decider: Decider, epsilon: float, frozen: int) -> None:
        self._least, self._decider, self._model = rows.least_propensity, decider, RewardModel(rows.dim)
        self._epsilon, self._frozen, self._round, self.learnt = epsilon, frozen, 0, 0

    def seen(self, rows: Sequence[Row]) -> Iterator[Event]:
        """Some rows, as the estimators see them."""
        uniforms = self._decider.draws.uniform(self._round + np.arange(len(rows)))
        for row, uniform in zip(rows, uniforms.tolist(), strict=True):
            yield self._step(row, uniform)

    def _step(self, row: Row, uniform: float) -> Event:
        decider, (arms, arm, reward, propensity) = self._decider, row
        with np.errstate(all="ignore"):
            try:
                offer = decider.offer(arms, self._round).with_floor(self._epsilon)
            except FloatingPointError as error:
                raise ValueError(str(error)) from None
            weight = offer.chances.item(arm) / propensity
            accepted = uniform < weight * self._least
            predictions = self._model.predict(arms)
            expected = float(offer.chances @ predictions)
            event = Event(reward, weight, expected, float(predictions[arm]), accepted)
            self._model.learn(arms[arm], reward)
            if accepted and not 0 < self._frozen <= self._round:
                decider.learn(decider.choice(offer, arm), reward)
                self.learnt += 1
        self._round += 1
        return event
