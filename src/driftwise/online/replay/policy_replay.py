"""Policies in a replay: their probabilities at every row, and the rows that they learn from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from driftwise.algorithms import build
from driftwise.algorithms.algorithm import find_algorithm
from driftwise.base.schema import prefix_errors
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_instance
from driftwise.online.bandit import Bandit
from driftwise.online.deciders import Offer, make_decider
from driftwise.online.named_bandit import NamedBandit
from driftwise.online.replay.estimates import Event
from driftwise.online.replay.evaluations import pseudo_outcome
from driftwise.online.replay.logged_rows import LoggedRow, LoggedRows
from driftwise.online.replay.options import ReplaySchedule, RewardScale

_BANDIT_OPTIONS = ("epsilon", "num_draws")  # options of a bandit that change its policy
LOGGED = "logged"  # the policy that wrote the log
PolicyDescription = Mapping[str, Any] | Bandit | NamedBandit


class RewardModel:
    """Ridge regression `q(φ) = φᵀw` on all events so far (Sherman–Morrison).

    Where every action has weights of its own, it is one regression for each.
    """

    def __init__(self, dim: int, ridge: float = 1.0) -> None:
        self._inverse = np.eye(dim) / ridge
        self._weights = np.zeros(dim)

    def predict(self, arms: np.ndarray) -> np.ndarray:
        """Return the predicted rewards of the arms `[num_arms, dim]`: `[num_arms]`."""
        return arms @ self._weights

    def learn(self, features: np.ndarray, reward: float) -> None:
        """Take in the reward of an arm with these features `[dim]`."""
        direction = self._inverse @ features
        gain = direction / (1 + features @ direction)
        self._weights += gain * (reward - features @ self._weights)
        self._inverse -= np.outer(gain, direction)


class PolicyReplay:
    """A policy that meets the rows of a log one after the other, and learns from those that it may.

    Row t with the logged action a is accepted with probability `min(ρ, M)/M`, where `ρ = π_t(a | x)/p(a | x)`
    and M is the largest possible weight: `1/p_min`, or that at which weights are clipped. M is the same for
    all contexts: with a bound for each context, which is known where all arms' probabilities are, contexts
    would be accepted by how alike the policies are there, and have another distribution than in the log.
    """

    def __init__(
        self, name: str, description: PolicyDescription, schedule: ReplaySchedule, rows: LoggedRows
    ) -> None:
        require_instance("policies", name, str)
        if name == LOGGED:
            raise ArgumentError("policies", f"have names other than {LOGGED!r}, which the log has", name)
        bandit = description.bandit if isinstance(description, NamedBandit) else description
        options, self._scale, self._frozen = schedule.options, schedule.scale, schedule.frozen
        self.parameters = dict[str, Any]()
        with prefix_errors(f"policy {name}"):
            if isinstance(bandit, Bandit):
                if (dim := bandit.agent.spec.dim) != rows.dim:
                    raise ValueError(f"it must have the {rows.dim} features of the log's actions, got {dim}")
            else:
                self.parameters |= bandit
                algorithm = self.parameters.pop("algorithm", name)
                takes = find_algorithm(algorithm).takes
                exploring = [option for option in _BANDIT_OPTIONS if not takes(option)]
                needed = {key: value for key, value in self.parameters.items() if key not in exploring}
                build(Spec.bandit(dim=rows.dim, num_arms=1), algorithm, **needed)  # a bandit has more options
                bandit = Bandit(algorithm, dim=rows.dim, seed=options.seed, **self.parameters)
        settings = bandit.settings
        self.algorithm, self._epsilon = settings.algorithm, settings.epsilon
        self.decider = make_decider(bandit.agent, settings.seed, settings.num_draws)
        self.decider.state = bandit.state
        self._k, self._learn_all, self.learnt = options.k, options.learn == "all", 0
        self._clip = np.inf if options.clip is None else options.clip
        self._share = max(rows.least_propensity, 1 / self._clip)  # 1/M

    def step(
        self, row: LoggedRow, arms: np.ndarray, predictions: np.ndarray, number: int, uniform: float
    ) -> Event:
        """Return a row as the policy's estimators see it, before the policy learns from it."""
        offer, arm = self._offer(arms, number, row.time).with_floor(self._epsilon), row.arm
        chances = offer.chances
        full_weight = chances.item(arm) / row.propensity
        weight = min(full_weight, self._clip)
        accepted = not self._learn_all and uniform < weight * self._share
        scaled = None if self._scale is None else self._scale.scaled(row.reward)
        event = Event(
            row.reward,
            weight,
            full_weight - weight,
            float(chances @ predictions),
            float(predictions[arm]),
            accepted,
            chances,
            scaled,
            None if scaled is None else self._outcomes(row, scaled, weight, chances, predictions),
        )
        if (accepted or self._learn_all) and not 0 < self._frozen <= number:
            if self._learn_all:  # as if it had been the only arm, since somebody else chose it
                offer, arm = self._offer(arms[arm : arm + 1], number, row.time), 0
            self.decider.learn(offer.choice(arm), row.reward, row.time)
            self.learnt += 1
        return event

    def _offer(self, arms: np.ndarray, number: int, time: float) -> Offer:
        try:
            return self.decider.offer(arms, number, time)
        except FloatingPointError as error:
            raise ValueError(str(error)) from None

    def _outcomes(
        self, row: LoggedRow, reward: float, weight: float, chances: np.ndarray, predictions: np.ndarray
    ) -> tuple[float, float]:
        k, scale = self._k, self._scale
        if not k or scale is None or row.chances is None:
            return weight * reward, weight * (1 - reward)
        weights = np.divide(chances, row.chances, out=np.zeros(len(chances)), where=row.chances > 0)
        weights = np.minimum(weights, self._clip)
        predicted = np.clip((predictions - scale.low) / scale.width, 0.0, 1.0)
        sides = (reward, predicted), (1 - reward, 1 - predicted)
        up, down = (pseudo_outcome(r, row.arm, row.chances, weights, q, k) for r, q in sides)
        return up, down


def logged_event(row: LoggedRow, num_arms: int, scale: RewardScale | None) -> Event:
    """Return a row as the estimators of the policy that wrote the log see it."""
    chances = np.zeros(num_arms)
    chances[row.arm] = 1.0
    scaled = None if scale is None else scale.scaled(row.reward)
    outcomes = None if scaled is None else (scaled, 1 - scaled)
    return Event(row.reward, 1.0, 0.0, 0.0, 0.0, False, chances, scaled, outcomes)
