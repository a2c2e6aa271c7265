"""Playing a bandit scenario with any policy: one of ours, or a stranger's that decides and learns."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex

import numpy as np

from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.types import Episode, FeatureTable, Key, Plan, Spec
from driftwise.base.validation import ArgumentError, require_count
from driftwise.environments import LinearBandit
from driftwise.scenarios.feedback import FEEDBACKS, Mail, Reward
from driftwise.scenarios.scenario import Scenario

if TYPE_CHECKING:  # who lists scenarios needs no bandits
    from driftwise.online import Bandit


class Context(NamedTuple):
    """What a policy is shown in a round."""

    number: int  # of the round, from 0; its reward has the same
    arms: np.ndarray  # [A, d]


class Policy(Protocol):
    """Whatever decides and learns.

    Rewards come in the order of their decisions; some come late or never. A scenario that restarts needs a
    policy that can be pickled: what it does not keep, it loses.
    """

    def decide(self, context: Context) -> SupportsIndex:
        """The number of an arm."""
        ...

    def learn(self, reward: Reward) -> None: ...


Make = Callable[[Spec, int], Policy]  # for a problem of these sizes, with a seed


class Played(NamedTuple):
    """A run of a policy, in the rounds that count, `[T]`."""

    values: np.ndarray  # the mean reward of the arm that was taken
    optimal: np.ndarray  # that of the best arm
    learnt: np.ndarray  # rewards that came at the end of the round

    @property
    def regret(self) -> float:
        """What the best arms would have earned more."""
        return float(np.sum(self.optimal - self.values))


def play_policy(make: Make, scenario: Scenario, *, run: int = 0) -> Played:
    """One run of a policy in a bandit scenario.

    ```python
    scenario = dw.scenarios.find_scenario("linear_bandit/gradual-weak/delayed/cold")
    dw.scenarios.play_policy(dw.scenarios.bandit_policy("adaptive_lin_ucb"), scenario).regret
    ```

    Contexts, noise and losses are functions of the run and the round, the same for every policy.

    Args:
      make: makes the policy, from the sizes of the problem and a seed, which is the run's number.
    """
    environment = scenario.environment()
    if not isinstance(environment, LinearBandit):
        raise ArgumentError("scenario", "be one of a bandit", scenario.name)
    world, total = environment.world(), scenario.warm_up + scenario.rounds
    key = random.fold(random.key(0), require_count("run", run, at_least=0, bits=32))
    mail = Mail(FEEDBACKS[scenario.feedback], key)
    seat = _Seat(make(environment.spec, run), mail, environment.spec)
    carry, rows = world.begin(seat), np.empty((total, 3))
    for t, theta in enumerate(environment.at(np.arange(total))):
        if t == scenario.restart:
            seat.policy = _restored(seat.policy)
        played = world.advance(seat, carry, theta, key, t)
        carry = played.carry
        rows[t] = played.record.value, played.record.optimal, seat.arrived
    return Played(*rows[scenario.warm_up :].T)


def _restored(policy: Policy) -> Policy:
    try:
        return pickle.loads(pickle.dumps(policy))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ArgumentError(
            "policy", "be one that can be pickled, for a restart", policy, str(error)
        ) from None


class _Seat(Agent):
    """An agent that asks a policy; its state is the number of the round."""

    def __init__(self, policy: Policy, mail: Mail, spec: Spec) -> None:
        self.policy, self.spec, self.arrived, self._mail = policy, spec, 0, mail

    def init(self, features: FeatureTable) -> int:
        return 0

    def plan(self, state: int, features: FeatureTable, key: Key) -> Plan:
        num_arms, dim = features.values.shape
        decided: Any = self.policy.decide(Context(state, features.values.copy()))
        try:
            arm = operator.index(decided)
        except TypeError:
            arm = -1
        if not 0 <= arm < num_arms:
            raise ArgumentError("policy", f"decide on an arm from 0 to {num_arms - 1}", decided)
        index = np.eye(num_arms)[arm][None, None]
        return Plan(np.zeros((1, dim)), np.zeros_like(index), index, index, np.zeros((1, 1)))

    def update(self, state: int, features: FeatureTable, plan: Plan, episode: Episode) -> int:
        arm, value = int(episode.actions[0]), float(episode.rewards[0])
        self._mail.post(Reward(state, features.values.copy(), arm, value))
        arriving = [*self._mail.arriving(state)]
        for reward in arriving:
            self.policy.learn(reward)
        self.arrived = len(arriving)
        return state + 1


class BanditPolicy:
    """A `driftwise.online.Bandit` as a policy."""

    def __init__(self, bandit: Bandit) -> None:
        self.bandit = bandit

    def decide(self, context: Context) -> int:
        return self.bandit.decide(context.arms, id=context.number).arm

    def learn(self, reward: Reward) -> None:
        self.bandit.learn(reward.number, reward.value)


def bandit_policy(algorithm: str, **options: Any) -> Make:
    """What makes policies of an online bandit with these options."""

    def make(spec: Spec, seed: int) -> BanditPolicy:
        from driftwise.online import Bandit

        return BanditPolicy(Bandit(algorithm, dim=spec.dim, seed=seed, **options))

    return make
