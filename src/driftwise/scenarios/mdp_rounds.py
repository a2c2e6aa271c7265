"""The rounds of a scenario of an MDP: its episodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftwise.base import random
from driftwise.base.types import Episode
from driftwise.base.validation import require_array, require_kind
from driftwise.environments import LinearMdp, planning
from driftwise.scenarios.feedback import FEEDBACKS, Fate
from driftwise.scenarios.protocols import MdpContext, Trajectory
from driftwise.scenarios.rounds import Rounds, run_key
from driftwise.scenarios.scenario import Scenario

KNOWN = ("rewards", "measures", "initial")  # to agents that need them
TOLERANCE = 1e-9  # by which values that are equal may differ


class MdpRounds(Rounds):
    """Episodes with first states, luck for each step, and models that are mixtures of anchors, `[T, J]`."""

    def __init__(self, scenario: Scenario, run: int) -> None:
        environment = require_kind("environment", scenario.environment(), LinearMdp)
        self.spec, self.world = environment.spec, environment.world(needs=KNOWN)
        self._feedback = FEEDBACKS[scenario.feedback]
        key, numbers = run_key(scenario, run), np.arange(scenario.warm_up + scenario.rounds)
        horizon = self.spec.horizon
        self.fate = Fate.of(key, len(numbers), horizon)
        for_world, for_actions = (
            random.fold(random.fold(key, purpose), numbers) for purpose in (random.ENVIRONMENT, random.ACTING)
        )
        self._luck = random.uniform(for_world, 1 + 2 * horizon, np.float64)
        self._choices = random.uniform(for_actions, horizon, np.float64)
        self.starts = random.choose(self.world.cumulative_initial, self._luck[:, 0])
        self.path = environment.at(numbers)
        features = self._features = self.world.features
        self._cumulative = np.einsum("sad,jhdn->jhsan", features, self.world.cumulative_mu)
        self.means = np.einsum("tj,jhd,sad->thsa", self.path, self.world.theta, features, optimize=True)
        for shown in (features, self.means, *self.world.table):
            if isinstance(shown, np.ndarray):
                shown.setflags(write=False)  # a policy cannot change its world
        self.q = self._action_values(lambda q, h: q.max(axis=-1), numbers)  # of the best policy

    def _action_values(self, summarise: Any, worlds: np.ndarray) -> np.ndarray:
        """`Q_h = r_h + P_h V_{h+1}` in the models of rounds `[N]`, by backward induction: `[N, H, S, A]`."""
        mixture, q = self.path[worlds], np.empty((len(worlds), *self.means.shape[1:]))
        values = np.zeros((len(worlds), self.spec.num_states))
        for h in reversed(range(self.spec.horizon)):
            ahead = np.einsum("tj,jds,ts->td", mixture, self.world.mu[:, h], values, optimize=True)
            q[:, h] = self.means[worlds, h] + np.einsum("sad,td->tsa", self._features, ahead)
            values = summarise(q[:, h], h)
        return q

    def shown(self, number: int) -> MdpContext:
        rewards = self.means[number].reshape(self.spec.horizon, -1)
        return MdpContext(number, self._features, self.world.table._replace(rewards=rewards))

    def checked(self, decided: Any) -> np.ndarray:
        chances = require_array("policy", decided, self.means.shape[1:])
        planning.check_policy(chances, self.spec.num_actions)
        return chances

    def told(self, number: int, decision: np.ndarray) -> Trajectory:
        luck, steps = self._luck[number], np.arange(self.spec.horizon)
        everywhere = random.choose(np.cumsum(decision, axis=-1), self._choices[number][:, None])  # [H, S]
        rows = self._cumulative[:, steps[:, None], np.arange(self.spec.num_states), everywhere]
        following = random.choose(np.tensordot(self.path[number], rows, axes=1), luck[1::2, None])
        states, state = [], int(self.starts[number])
        for successor in following.tolist():
            states.append(state)
            state = successor[state]
        states = np.array(states)
        actions, successors = everywhere[steps, states], following[steps, states]
        rewards = self.world.reward(self.means[number, steps, states, actions], luck[2::2])
        own = self.q[number, steps, states]
        best = own[steps, actions] >= own.max(axis=-1) - TOLERANCE
        seen = self._feedback.seen(rewards, best, self.fate.poison[number])
        return Trajectory(number, Episode(states, actions, self._features[states, actions], seen, successors))

    def worth(
        self, decisions: np.ndarray, at: np.ndarray, worlds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        def expected(q: np.ndarray, h: int) -> np.ndarray:
            return np.sum(decisions[:, h] * q, axis=-1)

        first, rows = self._action_values(expected, worlds)[:, 0], np.arange(len(at))
        values = expected(first, 0)[rows, self.starts[at]]
        return values, self.q[worlds, 0, self.starts[at]].max(axis=-1)

    def chance(self, at: np.ndarray, worlds: np.ndarray) -> np.ndarray:
        alike = np.full(self.means.shape[1:], 1 / self.spec.num_actions)
        return self.worth(np.broadcast_to(alike, (len(at), *alike.shape)), at, worlds)[0]

    def frozen(self, taken: np.ndarray, changes: np.ndarray) -> np.ndarray:
        return self.worth(taken[changes - 1], changes, changes)[0]
