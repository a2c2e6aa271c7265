"""Playing a bandit scenario with any policy: one of ours, or a stranger's that decides and learns."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, SupportsIndex

import numpy as np

from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError
from driftwise.scenarios.feedback import FEEDBACKS, Mail, Reward
from driftwise.scenarios.rounds import Rounds, run_key
from driftwise.scenarios.scenario import Scenario

if TYPE_CHECKING:  # who lists scenarios needs no bandits
    from driftwise.online import Bandit


class Context(NamedTuple):
    """What a policy is shown in a round."""

    number: int  # of the round, from 0; its reward has the same
    arms: np.ndarray  # [A, d]


class Policy(Protocol):
    """Whatever decides and learns.

    Rewards come in the order of their decisions; some come late or never. A policy that looks out for changes
    may return from `learn` whether it has just found one. A scenario that restarts needs a policy that can be
    pickled: what it does not keep, it loses.
    """

    def decide(self, context: Context) -> SupportsIndex:
        """The number of an arm."""
        ...

    def learn(self, reward: Reward) -> bool | None:
        """Take in a reward; True is an alarm."""
        ...


Make = Callable[[Spec, int], Policy]  # for a problem of these sizes, with a seed


class Played(NamedTuple):
    """A run of a policy, in the rounds that count, `[T]`."""

    values: np.ndarray  # the mean reward of the arm that was taken
    optimal: np.ndarray  # that of the best arm
    learnt: np.ndarray  # rewards that came at the end of the round
    taken: np.ndarray  # arms
    alarms: np.ndarray | None  # whether the policy raised one; None if it never said so or otherwise

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

    Contexts, noise and losses are functions of the scenario, the run and the round, the same for every
    policy.

    Args:
      make: makes the policy, from the sizes of the problem and a seed, which is the run's number.
    """
    rounds = Rounds.of(scenario, run)
    total, num_arms, dim = rounds.arms.values.shape
    policy = make(Spec.bandit(dim=dim, num_arms=num_arms), run)
    mail = Mail(FEEDBACKS[scenario.feedback], run_key(scenario, run), total)
    taken, learnt, alarms = np.zeros((3, total), dtype=int)
    detects = False
    for t, arms in enumerate(rounds.arms.values):
        if t == scenario.restart:
            policy = _restored(policy)
        taken[t] = arm = _arm(policy.decide(Context(t, arms.copy())), num_arms)
        mail.post(Reward(t, arms.copy(), arm, float(rounds.rewards[t, arm])))
        arriving = [*mail.arriving(t)]
        told = [policy.learn(reward) for reward in arriving]
        told = [each for each in told if isinstance(each, bool | np.bool)]  # others return themselves
        learnt[t], alarms[t], detects = len(arriving), any(told), detects or bool(told)
    counting = slice(scenario.warm_up, None)
    values, optimal = rounds.means[np.arange(total), taken], rounds.means.max(axis=-1)
    rung = alarms[counting].astype(bool) if detects else None
    return Played(values[counting], optimal[counting], learnt[counting], taken[counting], rung)


def _arm(decided: Any, num_arms: int) -> int:
    try:
        arm = operator.index(decided)
    except TypeError:
        arm = -1
    if not 0 <= arm < num_arms:
        raise ArgumentError("policy", f"decide on an arm from 0 to {num_arms - 1}", decided)
    return arm


def _restored(policy: Policy) -> Policy:
    try:
        return pickle.loads(pickle.dumps(policy))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ArgumentError(
            "policy", "be one that can be pickled, for a restart", policy, str(error)
        ) from None


class BanditPolicy:
    """A `driftwise.online.Bandit` as a policy."""

    def __init__(self, bandit: Bandit) -> None:
        self.bandit, self.detects = bandit, "alarms" in bandit.diagnostics()

    def decide(self, context: Context) -> int:
        return self.bandit.decide(context.arms, id=context.number).arm

    def learn(self, reward: Reward) -> bool | None:
        self.bandit.learn(reward.number, reward.value)
        return self.bandit.diagnostics()["alarms"] > 0 if self.detects else None


def bandit_policy(algorithm: str, **options: Any) -> Make:
    """What makes policies of an online bandit with these options."""

    def make(spec: Spec, seed: int) -> BanditPolicy:
        from driftwise.online import Bandit

        return BanditPolicy(Bandit(algorithm, dim=spec.dim, seed=seed, **options))

    return make
