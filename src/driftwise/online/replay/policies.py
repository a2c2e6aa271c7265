"""Policies on their way through a log: what each would do, and what it learns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms import build
from driftwise.algorithms.registry import lookup
from driftwise.base.making import errors_under
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_kind
from driftwise.online.bandits.bandit import Bandit
from driftwise.online.bandits.deciders import Decider, Offer
from driftwise.online.bandits.fastest import decider_of
from driftwise.online.bandits.named import NamedBandit
from driftwise.online.replay.estimates import Event
from driftwise.online.replay.intervals import Range, pseudo_outcome
from driftwise.online.replay.options import Options
from driftwise.online.replay.rows import Row, Rows

EXPLORING = ("epsilon", "num_draws")  # options of a bandit that change its policy
LOGGED = "logged"  # the policy that wrote the log
Given = Mapping[str, Any] | Bandit | NamedBandit


class Policy(NamedTuple):
    """An agent that is evaluated."""

    algorithm: str
    parameters: dict[str, Any]
    decider: Decider
    epsilon: float


def policy_of(name: str, given: Given, dim: int, seed: int) -> Policy:
    """The policy of a table with its `algorithm`, or else of that name, and parameters; or of a bandit."""
    require_kind("policies", name, str)
    if name == LOGGED:
        raise ArgumentError("policies", f"have names other than {LOGGED!r}, which the log has", name)
    with errors_under(f"policy {name}"):
        if isinstance(given, Bandit | NamedBandit):
            return _of_bandit(given if isinstance(given, Bandit) else given.bandit, dim)
        parameters = dict(given)
        algorithm = parameters.pop("algorithm", name)
        exploring = [each for each in EXPLORING if not lookup(algorithm).takes(each)]
        own = {key: value for key, value in parameters.items() if key not in exploring}
        build(Spec.bandit(dim=dim, num_arms=1), algorithm, **own)  # a bandit has more options
        bandit = Bandit(algorithm, dim=dim, seed=seed, **parameters)
        decider = decider_of(bandit.agent, seed, bandit.settings.num_draws)
        return Policy(algorithm, parameters, decider, bandit.settings.epsilon)


def _of_bandit(bandit: Bandit, dim: int) -> Policy:
    if bandit.agent.spec.dim != dim:
        raise ValueError(f"it must have the {dim} features of the log's actions, got {bandit.agent.spec.dim}")
    decider = decider_of(bandit.agent, bandit.settings.seed, bandit.settings.num_draws)
    decider.state = bandit.state
    return Policy(bandit.settings.algorithm, {}, decider, bandit.settings.epsilon)


class Player:
    """A policy that meets the rows of a log one after the other, and learns from those that it may.

    Row t with the logged action a is accepted with probability `min(ρ, M)/M`, where `ρ = π_t(a | x)/p(a | x)`
    and M is the largest weight that there can be: `1/p_min`, or that at which weights are clipped. M is
    the same for all contexts: with a bound of each context's own, which is known where all arms'
    probabilities are, contexts would be accepted by how alike the policies are there, and the agent would
    live in another world than the log's.
    """

    def __init__(self, policy: Policy, rows: Rows, options: Options, span: Range | None, frozen: int) -> None:
        self._policy, self._options, self._frozen, self.learnt = policy, options, frozen, 0
        self._clip = np.inf if options.clip is None else options.clip
        self._share = max(rows.least_propensity, 1 / self._clip)  # 1/M
        self._range = span

    def step(self, row: Row, predictions: np.ndarray, number: int, uniform: float) -> Event:
        """A row, as the policy's estimators see it, before the policy learns from it."""
        decider, (arms, arm, reward, propensity, *_) = self._policy.decider, row
        offer = self._offer(arms, number, row.time).with_floor(self._policy.epsilon)
        chances, all_rows = offer.chances, self._options.learn == "all"
        full = chances.item(arm) / propensity
        weight = min(full, self._clip)
        accepted = not all_rows and uniform < weight * self._share
        expected, predicted = float(chances @ predictions), float(predictions[arm])
        scaled = None if self._range is None else self._range.scaled(reward)
        outcomes = None if scaled is None else self._outcomes(row, scaled, weight, chances, predictions)
        if (accepted or all_rows) and not 0 < self._frozen <= number:
            if all_rows:  # as if it had been the only arm, since somebody else chose it
                offer, arm = self._offer(arms[arm : arm + 1], number, row.time), 0
            decider.learn(decider.choice(offer, arm), reward, row.time)
            self.learnt += 1
        return Event(reward, weight, full - weight, expected, predicted, accepted, chances, scaled, outcomes)

    def _offer(self, arms: np.ndarray, number: int, time: float) -> Offer:
        try:
            return self._policy.decider.offer(arms, number, time)
        except FloatingPointError as error:
            raise ValueError(str(error)) from None

    def _outcomes(
        self, row: Row, reward: float, weight: float, chances: np.ndarray, predictions: np.ndarray
    ) -> tuple[float, float]:
        k, span = self._options.k, self._range
        if not k or span is None or row.chances is None:
            return weight * reward, weight * (1 - reward)
        weights = np.divide(chances, row.chances, out=np.zeros(len(chances)), where=row.chances > 0)
        weights = np.minimum(weights, self._clip)
        predicted = np.clip((predictions - span.low) / span.width, 0.0, 1.0)
        both = (reward, predicted), (1 - reward, 1 - predicted)
        up, down = (pseudo_outcome(r, row.arm, row.chances, weights, q, k) for r, q in both)
        return up, down


def logged_event(row: Row, span: Range | None) -> Event:
    """A row, as the estimators of the policy that wrote the log see it: on their own policy."""
    chances = np.zeros(len(row.arms))
    chances[row.arm] = 1.0
    scaled = None if span is None else span.scaled(row.reward)
    outcomes = None if scaled is None else (scaled, 1 - scaled)
    return Event(row.reward, 1.0, 0.0, 0.0, 0.0, False, chances, scaled, outcomes)
