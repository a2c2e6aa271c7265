"""The rounds of a run of a scenario, drawn before a policy plays them, and what a policy is told of them."""

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.knowledge import AnchorMeasures, InitialDistribution, MeanRewards
from driftwise.base.types import Episode, FeatureTable
from driftwise.base.validation import ArgumentError, require_array, require_count, require_instance
from driftwise.environments import LinearBandit, LinearMdp, planning
from driftwise.environments.models.linear_bandit import Mirrored
from driftwise.scenarios.scenario import FEEDBACKS, Scenario

_AGENT_NEEDS = (MeanRewards, AnchorMeasures, InitialDistribution)  # what agents may know of an MDP
_FEEDBACK = 3  # the purpose of draws, after those of `driftwise.base.random`
Values = tuple[np.ndarray, np.ndarray]  # of decisions, and the best ones


class Context(NamedTuple):
    """The context of a round of a bandit."""

    number: int  # of the round, from 0; its reward has the same
    arms: np.ndarray  # [A, d]


class Reward(NamedTuple):
    """A reward, and the decision that earned it."""

    number: int  # of the round
    arms: np.ndarray  # [A, d], as they were offered
    arm: int
    value: float


class MdpContext(NamedTuple):
    """The context of an episode of an MDP."""

    number: int  # of the episode, from 0; its trajectory has the same
    features: np.ndarray  # [S, A, d]
    table: FeatureTable  # the same row by row, with mean rewards and what else is known


class Trajectory(NamedTuple):
    """An episode as it was played."""

    number: int
    episode: Episode


class _Run:
    """A run of a scenario, warm-up included, with the draws of the simulator."""

    path: np.ndarray  # [T, …] parameters of the model of every round

    def __init__(self, scenario: Scenario, run: int, horizon: int) -> None:
        run_key = random.fold(random.key(scenario.seed), require_count("run", run, at_least=0, bits=32))
        self.num_rounds = scenario.warm_up + scenario.rounds
        self.feedback, self._numbers = FEEDBACKS[scenario.feedback], np.arange(self.num_rounds)
        purposes = (random.fold(run_key, own) for own in (_FEEDBACK, random.ENVIRONMENT, random.ACTING))
        keys = (random.fold(key, self._numbers) for key in purposes)
        feedback_keys, self._environment_keys, self._acting_keys = keys
        luck = random.draw_uniform(feedback_keys, 1 + horizon, np.float64)
        self.lost, self._corruption_luck = luck[:, 0] < self.feedback.lost, luck[:, 1:]
        self._corruption = Mirrored(self.feedback.mirrored)


class BanditRounds(_Run):
    """Rounds with arms `[T, A, d]` and rewards `[T, A]`, valued in their own models or those of others."""

    frozen_lag = 0  # rounds from the last decision made without a change to the change: arms are new here

    def __init__(self, scenario: Scenario, run: int) -> None:
        environment = require_instance("environment", scenario.environment(), LinearBandit)
        self.spec, self._environment = environment.spec, environment.to_arrays()
        super().__init__(scenario, run, self.spec.horizon)
        arms, luck = self._environment.draw(self._environment_keys)
        self.path, self._arms = environment.at(self._numbers), arms.values
        means = self.means(self._numbers, self._numbers)
        rewards = self._environment.reward(means, luck[:, None])
        best = means >= means.max(axis=-1, keepdims=True)
        self._rewards = self._corruption.corrupt(rewards, best, np.zeros(()), self._corruption_luck)

    def means(self, at: np.ndarray, models: np.ndarray) -> np.ndarray:
        """Return mean rewards of the arms of rounds `at` in the models of others, `[N, A]`."""
        return self._environment.means(FeatureTable(self._arms[at]), self.path[models])

    def context(self, number: int) -> Context:
        return Context(number, self._arms[number].copy())

    def require_decision(self, decision: Any) -> int:
        """Return a policy's decision, or raise an `ArgumentError`."""
        try:
            arm = operator.index(decision)
        except TypeError:
            arm = -1
        if not 0 <= arm < self.spec.num_actions:
            raise ArgumentError("policy", f"decide on an arm from 0 to {self.spec.num_actions - 1}", decision)
        return arm

    def observation(self, number: int, decision: int) -> Reward:
        """Return what a policy learns from after this decision, if it arrives."""
        return Reward(number, self._arms[number].copy(), decision, float(self._rewards[number, decision]))

    def values(self, decisions: np.ndarray, at: np.ndarray, models: np.ndarray) -> Values:
        """Return exact values `[N]` of decisions in the contexts of rounds `at`, and the best values."""
        means = self.means(at, models)
        return np.take_along_axis(means, decisions[:, None], axis=-1)[:, 0], means.max(axis=-1)

    def random_values(self, at: np.ndarray, models: np.ndarray) -> np.ndarray:
        """Return exact values `[N]` of uniformly random decisions in the same contexts and models."""
        return self.means(at, models).mean(axis=-1)


class MdpRounds(_Run):
    """Episodes with first states, luck for each step, and models that are mixtures of anchors, `[T, J]`."""

    frozen_lag = 1

    def __init__(self, scenario: Scenario, run: int) -> None:
        environment = require_instance("environment", scenario.environment(), LinearMdp)
        self.spec, self._environment = environment.spec, environment.to_arrays(needs=_AGENT_NEEDS)
        super().__init__(scenario, run, self.spec.horizon)
        self._luck = random.draw_uniform(self._environment_keys, 1 + 2 * self.spec.horizon, np.float64)
        self._choices = random.draw_uniform(self._acting_keys, self.spec.horizon, np.float64)
        self.starts = random.choose_index(self._environment.cumulative_initial, self._luck[:, 0])
        path = self.path = environment.at(self._numbers)
        features = self._features = self._environment.features
        self._cumulative = np.einsum("sad,jhdn->jhsan", features, self._environment.cumulative_mu)
        self._means = np.einsum("tj,jhd,sad->thsa", path, self._environment.theta, features, optimize=True)
        known = (extra.array for extra in self._environment.table.extras if type(extra) in _AGENT_NEEDS)
        for array in (features, self._means, self._environment.table.values, *known):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)  # a policy cannot change the model
        self._q = self._action_values(lambda q, h: q.max(axis=-1), self._numbers)  # of the best policy

    def _action_values(self, summarise: Any, models: np.ndarray) -> np.ndarray:
        """Return `Q_h = r_h + P_h V_{h+1}` in the models of rounds `[N]`, `[N, H, S, A]`."""
        mixture, q = self.path[models], np.empty((len(models), *self._means.shape[1:]))
        values = np.zeros((len(models), self.spec.num_states))
        for h in reversed(range(self.spec.horizon)):
            ahead = np.einsum("tj,jds,ts->td", mixture, self._environment.mu[:, h], values, optimize=True)
            q[:, h] = self._means[models, h] + np.einsum("sad,td->tsa", self._features, ahead)
            values = summarise(q[:, h], h)
        return q

    def context(self, number: int) -> MdpContext:
        rewards = self._means[number].reshape(self.spec.horizon, -1)
        return MdpContext(number, self._features, self._environment.table.with_extras(MeanRewards(rewards)))

    def require_decision(self, decision: Any) -> np.ndarray:
        chances = require_array("policy", decision, self._means.shape[1:])
        planning.check_policy(chances, self.spec.num_actions)
        return chances

    def observation(self, number: int, decision: np.ndarray) -> Trajectory:
        luck, steps = self._luck[number], np.arange(self.spec.horizon)
        chances = np.cumsum(decision, axis=-1)
        everywhere = random.choose_index(chances, self._choices[number][:, None])  # [H, S]
        rows = self._cumulative[:, steps[:, None], np.arange(self.spec.num_states), everywhere]
        following = random.choose_index(np.tensordot(self.path[number], rows, axes=1), luck[1::2, None])
        states = [int(self.starts[number])]
        for successor in following[:-1].tolist():
            states.append(successor[states[-1]])
        states = np.array(states)
        actions, successors = everywhere[steps, states], following[steps, states]
        rewards = self._environment.reward(self._means[number, steps, states, actions], luck[2::2])
        own = self._q[number, steps, states]
        best = own[steps, actions] >= own.max(axis=-1) - 1e-9  # but for rounding
        received = self._corruption.corrupt(rewards, best, np.zeros(()), self._corruption_luck[number])
        visited = self._features[states, actions]
        return Trajectory(number, Episode(states, actions, visited, received, successors))

    def values(self, decisions: np.ndarray, at: np.ndarray, models: np.ndarray) -> Values:
        def expected(q: np.ndarray, h: int) -> np.ndarray:
            return np.sum(decisions[:, h] * q, axis=-1)

        first, rows = self._action_values(expected, models)[:, 0], np.arange(len(at))
        values = expected(first, 0)[rows, self.starts[at]]
        return values, self._q[models, 0, self.starts[at]].max(axis=-1)

    def random_values(self, at: np.ndarray, models: np.ndarray) -> np.ndarray:
        uniform = np.full(self._means.shape[1:], 1 / self.spec.num_actions)
        return self.values(np.broadcast_to(uniform, (len(at), *uniform.shape)), at, models)[0]


Rounds = BanditRounds | MdpRounds


def lagged_values(
    rounds: Rounds, decisions: np.ndarray, lags: Sequence[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `[lags, T]` values of decisions in the models of earlier rounds, the best ones and random ones.

    The T rounds have as many rounds with decisions before them as the largest lag, and have changed since.
    """
    most, first = max(lags), rounds.num_rounds - len(decisions)
    at = np.arange(first + most, rounds.num_rounds)
    at = at[(rounds.path[at] != rounds.path[at - most]).any(axis=-1)]
    values, optimal = zip(*(rounds.values(decisions[at - first], at, at - n) for n in lags), strict=True)
    return np.array(values), np.array(optimal), np.array([rounds.random_values(at, at - n) for n in lags])
