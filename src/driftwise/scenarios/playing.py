"""Playing a scenario with any policy: one of ours, or a stranger's that decides and learns."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np

from driftwise.base.validation import ArgumentError
from driftwise.scenarios.bandit_rounds import BanditRounds
from driftwise.scenarios.feedback import FEEDBACKS, Mail
from driftwise.scenarios.mdp_rounds import MdpRounds
from driftwise.scenarios.protocols import Make
from driftwise.scenarios.rounds import Rounds
from driftwise.scenarios.scenario import Scenario

ROUNDS = {"bandits": BanditRounds, "mdps": MdpRounds}


class Played(NamedTuple):
    """A run of a policy, in the rounds that count, `[T]`; an episode of an MDP is a round."""

    values: np.ndarray  # the mean reward of the arm that was taken, or the value of the policy
    optimal: np.ndarray  # that of the best one
    learnt: np.ndarray  # rewards, or trajectories, that came at the end of the round
    taken: np.ndarray  # arms, or chances of actions [T, H, S, A]
    alarms: np.ndarray | None  # whether the policy raised one; None if it never said so or otherwise
    frozen: np.ndarray  # at each change, the value of the last decision made without it
    rounds: Rounds  # in which it was played

    @property
    def regret(self) -> float:
        """What the best arms, or policies, would have earned more."""
        return float(np.sum(self.optimal - self.values))


def rounds_of(scenario: Scenario, run: int) -> Rounds:
    """All rounds of a run."""
    return ROUNDS[scenario.kind](scenario, run)


def play_policy(make: Make, scenario: Scenario, *, run: int = 0) -> Played:
    """One run of a policy in a scenario.

    ```python
    scenario = dw.scenarios.find_scenario("linear_bandit/gradual-weak/delayed/cold")
    dw.scenarios.play_policy(dw.scenarios.bandit_policy("adaptive_lin_ucb"), scenario).regret
    ```

    Contexts, noise and losses are functions of the scenario, the run and the round, the same for every
    policy.

    Args:
      make: makes the policy, from the sizes of the problem and a seed, which is the run's number.
    """
    rounds = rounds_of(scenario, run)
    policy: Any = make(rounds.spec, run)
    mail = Mail(FEEDBACKS[scenario.feedback], rounds.fate)
    learnt, alarms = np.zeros((2, rounds.num_rounds), dtype=int)
    decisions, detects = [], False
    for t in range(rounds.num_rounds):
        if t == scenario.restart:
            policy = _restored(policy)
        decision = rounds.checked(policy.decide(rounds.shown(t)))
        decisions.append(decision)
        mail.post(t, rounds.told(t, decision))
        arriving = [*mail.arriving(t)]
        told = [policy.learn(each) for each in arriving]
        told = [each for each in told if isinstance(each, bool | np.bool)]  # others return themselves
        learnt[t], alarms[t], detects = len(arriving), any(told), detects or bool(told)
    counting, taken = np.arange(scenario.warm_up, rounds.num_rounds), np.array(decisions)
    values, optimal = rounds.worth(taken[counting], counting, counting)
    rung = alarms[counting].astype(bool) if detects else None
    frozen = rounds.frozen(taken, np.array(scenario.changes, dtype=int) + scenario.warm_up)
    return Played(values, optimal, learnt[counting], taken[counting], rung, frozen, rounds)


def _restored(policy: Any) -> Any:
    try:
        return pickle.loads(pickle.dumps(policy))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ArgumentError(
            "policy", "be one that can be pickled, for a restart", policy, str(error)
        ) from None
