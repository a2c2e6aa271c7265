"""Scenarios of a few rounds, and a stranger's policy that plays them."""

from typing import Any

import numpy as np

from driftwise.scenarios import Context, MdpContext, Reward, Scenario, Trajectory, play_policy

OF_MDPS: dict[str, Any] = dict(problem="mixture_mdp", rounds=60)


class _Stranger:
    """Every arm in turn, or every action alike; it keeps all that it was shown and told."""

    def __init__(self) -> None:
        self.seen: list[Context | MdpContext] = []
        self.learnt: list[tuple[int, Any]] = []  # with the round in which it came

    def decide(self, context: Context | MdpContext) -> Any:
        self.seen.append(context)
        if isinstance(context, Context):
            return context.number % len(context.arms)
        num_states, num_actions, _ = context.features.shape
        return np.full((5, num_states, num_actions), 1 / num_actions)

    def learn(self, observation: Reward | Trajectory) -> None:
        self.learnt.append((self.seen[-1].number, observation))


def stranger() -> Any:
    return _Stranger()


def scenario(feedback: str = "at_once", start: str = "cold", **others: Any) -> Scenario:
    given: dict[str, Any] = {"problem": "linear_bandit", "move": "abrupt_rare", "rounds": 120, **others}
    return Scenario(**given, feedback=feedback, start=start)


def told(here: Scenario, run: int = 0) -> list[tuple[int, Any]]:
    """What a stranger learns in a scenario, with the rounds in which it came."""
    policy = stranger()
    play_policy(lambda spec, seed: policy, here, run=run)
    return policy.learnt
