"""A decider for agents that forget by the clock."""

from __future__ import annotations

import numpy as np

from driftwise.base.agent import Agent
from driftwise.base.part import parts_within
from driftwise.base.types import Moments
from driftwise.online.bandits.deciders import Choice, Decider, Offer, sample_of
from driftwise.parts.clock import ClockWeights
from driftwise.parts.least_squares import LeastSquares

LEAST = 1e-8  # eigenvalue of the gram that a decision may rest on, where the ridge decays


def uses_clock(agent: Agent) -> bool:
    """Whether anything in an agent forgets by the clock."""
    return any(isinstance(each, ClockWeights) for each in parts_within(agent))


def fits(agent: Agent) -> bool:
    """Whether `Clocked` leads this agent."""
    return (
        isinstance(agent, LeastSquares) and isinstance(agent.forgetting, ClockWeights) and agent.noise is None
    )


class Clocked:
    """Least squares by the clock: another decider, at the moments of the time at which it decides.

    Between two rewards the state stays as it is, so that decisions leave no trace in it. A reward counts from
    the time of its decision, whenever it comes.
    """

    def __init__(self, agent: LeastSquares, decider: Decider) -> None:
        assert isinstance(agent.forgetting, ClockWeights)
        self.agent, self.draws, self._decider = agent, decider.draws, decider
        self._forgetting, self.state = agent.forgetting, decider.state

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        moments = self._forgetting.at(self.state, time)
        if len(arms) > 1:  # else there is nothing to choose, as for samples that others chose
            self._require_known(moments, time)
        self._decider.state = moments
        return self._decider.offer(arms, number)

    def choice(self, offer: Offer, arm: int) -> Choice:
        return offer.taken(arm)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        features, share, caution = choice.features, None, self.agent.caution
        if caution is not None:
            share = caution.shares(self._forgetting.at(self.state, time).gram, features[None]).item()
        sample = sample_of(features, reward, weight, share)
        self.state = self._forgetting.absorb(self.state, sample, time)

    def _require_known(self, moments: Moments, time: float) -> None:
        """Refuse to decide where a ridge that decays has left a direction with nothing."""
        if self._forgetting.prior == "decay" and moments.ridge < LEAST:  # below which no eigenvalue lies
            least = np.linalg.eigvalsh(moments.gram).min()
            if not least >= LEAST:
                silence = max(time - self.state.memory.item(), 0.0)
                raise FloatingPointError(
                    f"agent: the least eigenvalue of its gram has decayed to {least:.2g}, below {LEAST:g}, "
                    f"{silence:g} seconds after its last news; take prior='hold', or a longer half_life: "
                    f"{self.agent!r}"
                )
