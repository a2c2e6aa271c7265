"""The replay itself: two passes over a log, one event after the other in the second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.types import Key
from driftwise.base.validation import ArgumentError, require_count
from driftwise.online.replay.encoding import Encoding
from driftwise.online.replay.estimates import Estimates, Event, Tally
from driftwise.online.replay.logs import Events, Log
from driftwise.online.replay.policy import Policy
from driftwise.online.replay.reward_model import RewardModel
from driftwise.online.replay.survey import Survey, survey

WINDOWS = 50  # unless told otherwise
MAX_WINDOWS = 10_000  # they are kept
MAX_DIM = 500  # an event takes time in its cube: then some hundredths of a second


class Window(NamedTuple):
    """After `row` usable rows: the estimates over the last window and over all."""

    row: int
    window: Estimates
    so_far: Estimates


@dataclass(frozen=True)
class Replay:
    """What a replay found."""

    log: Log
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
        return self.windows[-1].so_far

    @property
    def warning(self) -> str | None:
        """That the agent had next to nothing to learn from, if so."""
        if self.learnt >= self.dim:
            return None
        return (
            f"the agent learnt from {self.learnt:,} of {self.rows:,} events, fewer than its {self.dim:,} "
            f"features: the least propensity, {self.least_propensity:.3g}, decides how many are accepted"
        )

    def to_json(self) -> dict[str, Any]:
        """Numbers that are not there are None."""
        return {
            "log": str(self.log.path),
            "action": self.log.action,
            "reward": self.log.reward,
            "features": list(self.log.features),
            "propensity": self.log.propensity,
            "algorithm": self.algorithm,
            "parameters": dict(self.parameters),
            "shared": self.shared,
            "frozen_after": self.frozen_after,
            "seed": self.seed,
            "rows": self.rows,
            "skipped": self.skipped,
            "actions": list(self.actions),
            "least_propensity": self.least_propensity,
            "dim": self.dim,
            "learnt": self.learnt,
            "final": self.final.to_json(),
            "windows": [
                {"row": each.row, "window": each.window.to_json(), "so_far": each.so_far.to_json()}
                for each in self.windows
            ],
        }


def replay(
    log: Log,
    algorithm: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    shared: bool = False,
    frozen_after: int | None = None,
    every: int | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Replay:
    r"""Estimate what an agent would have earned in the place of the policy that wrote the log.

    The agent's policy $\pi_t$ depends on accepted events alone. Event $t$ with context $x$, logged action
    $a$, reward $r$ and propensity $p$ is accepted with probability $\pi_t(a\mid x)\,p_{\min}/p$; only then
    the agent learns from it. Accepted events are distributed as if the agent had acted itself, and their mean
    reward is the `replay` estimate. On all events, with $\rho = \pi_t(a\mid x)/p$ and a reward model $q$
    fitted to earlier events:

    $$\text{IPS} = \tfrac1n\sum\rho r, \qquad \text{SNIPS} = \frac{\sum\rho r}{\sum\rho}, \qquad
      \text{DR} = \tfrac1n\sum\Bigl(\sum_b \pi_t(b\mid x)q(x,b) + \rho\,(r - q(x,a))\Bigr).$$

    Args:
      log: the decisions.
      algorithm: the name of a registered algorithm.
      parameters: of the algorithm.
      shared: whether actions share the weights of the context, see `Encoding`.
      frozen_after: learn from that many rows, then keep the policy and estimate on the others.
      every: rows of a window; by default a fiftieth of all.
      seed: of the agent's draws and of acceptance.
      progress: called as `progress(rows_done, rows)`.

    Reference: Li, Chu, Langford & Wang, "Unbiased Offline Evaluation of Contextual-bandit-based News Article
    Recommendation Algorithms", WSDM 2011, Algorithm 2, which this is where propensities are all the same;
    Dudík, Langford & Li, "Doubly Robust Policy Evaluation and Learning", ICML 2011; Swaminathan & Joachims,
    "The Self-Normalized Estimator for Counterfactual Learning", NeurIPS 2015.
    """
    seen = survey(log)
    frozen = 0 if frozen_after is None else require_count("frozen_after", frozen_after)
    if frozen >= seen.rows:
        raise ArgumentError(
            "frozen_after", f"leave rows of the {seen.rows:,} to estimate on", frozen, f"{frozen:,}"
        )
    size = require_count("every", max(1, seen.rows // WINDOWS) if every is None else every)
    if seen.rows > MAX_WINDOWS * size:
        raise ArgumentError("every", f"give at most {MAX_WINDOWS:,} windows of {seen.rows:,} rows", size)
    replayer = _Replayer(log, seen, algorithm, dict(parameters or {}), shared, frozen, seed)
    so_far, window = Tally(seen.mean_reward), Tally(seen.mean_reward)
    windows, done = [], 0
    for events in log.events():
        for event in replayer.play(events):
            done += 1
            if done <= frozen:
                continue
            so_far.add(event)
            window.add(event)
            if done % size == 0 or done == seen.rows:
                windows.append(Window(done, window.estimates, so_far.estimates))
                window = Tally(seen.mean_reward)
        progress(done, seen.rows)
    if done != seen.rows:
        raise changed(log)
    return Replay(
        log,
        algorithm,
        dict(parameters or {}),
        shared,
        frozen_after,
        seed,
        seen.rows,
        seen.skipped,
        tuple(seen.actions),
        seen.least_propensity,
        replayer.dim,
        replayer.learnt,
        tuple(windows),
    )


def changed(log: Log) -> ValueError:
    """The error of a log that is another one when it is read again."""
    return ValueError(f"{log.path} must stay as it is while it is replayed, but it has changed")


class _Replayer:
    """The agent and the reward model on their way through the log."""

    def __init__(
        self,
        log: Log,
        seen: Survey,
        algorithm: str,
        parameters: dict[str, Any],
        shared: bool,
        frozen: int,
        seed: int,
    ) -> None:
        self._log, self._seen, self._frozen = log, seen, frozen
        self._arms = {action: number for number, action in enumerate(seen.actions)}
        self._encoding = Encoding(seen.low, seen.high, len(seen.actions), shared)
        if self._encoding.dim > MAX_DIM:
            smaller = "fewer actions or features" if shared else "shared=True (--shared), or fewer features"
            raise ValueError(
                f"{log.path}: {len(seen.actions):,} actions and {len(log.features):,} features must make at "
                f"most {MAX_DIM:,} weights, got {self._encoding.dim:,}: take {smaller}"
            )
        self._policy = Policy(algorithm, self._encoding.dim, seed, parameters)
        self._model = RewardModel(len(seen.actions), self._encoding.context_dim)
        self._round = 0
        self.dim, self.learnt = self._encoding.dim, 0

    def play(self, events: Events) -> Iterator[Event]:
        """The events of a block, as the estimators see them."""
        if not self._arms.keys() >= set(events.actions):
            raise changed(self._log)
        arms = np.array([self._arms[action] for action in events.actions], dtype=int)
        contexts = self._encoding.contexts(events.features)
        propensities = self._seen.propensities(events, arms)
        keys, luck = self._policy.luck(self._round + np.arange(len(arms)))
        numbers = (arms.tolist(), events.rewards.tolist(), propensities.tolist(), luck.tolist())
        for row in zip(contexts, keys, *numbers, strict=True):
            yield self._step(*row)

    def _step(
        self, context: np.ndarray, key: Key, arm: int, reward: float, propensity: float, luck: float
    ) -> Event:
        features = self._encoding.actions(context)
        plan = self._policy.plan(features, key)
        chances = plan.policy[0, 0]
        weight = float(chances[arm]) / propensity
        accepted = luck < weight * self._seen.least_propensity
        predictions = self._model.predict(context)
        event = Event(reward, weight, float(chances @ predictions), float(predictions[arm]), accepted)
        self._model.learn(context, arm, reward)
        if accepted and not 0 < self._frozen <= self._round:
            self._policy.learn(plan, features, arm, reward)
            self.learnt += 1
        self._round += 1
        return event
