"""A decider for mixtures of memories by the clock."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base.agent import Agent
from driftwise.base.arrays import over_stacked
from driftwise.base.types import Moments
from driftwise.online.bandits.deciders import Choice, Draws, Offer, Planned
from driftwise.parts.clock import ClockWeights
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.noise import NoiseSums


def fits(agent: Agent) -> bool:
    """Whether `ClockedMixture` leads this agent."""
    return (
        isinstance(agent, MixtureOfMemories)
        and isinstance(agent.base, LeastSquares)
        and isinstance(agent.base.forgetting, ClockWeights)
        and agent.base.forgetting.prior == "zero"
    )


class ClockedMixture:
    """Memories of many half-lives: `Planned`, with all memories at the time of the event.

    Forecasts, too, are those of the time of their sample; for a late one, those of the newest. The noise and
    the shares of the weights are counted in rewards.
    """

    def __init__(self, agent: MixtureOfMemories, draws: Draws, num_draws: int) -> None:
        self.agent, self.draws, self._num_draws = agent, draws, num_draws
        self._planned = self._spaced(0.0)
        self.state: MixtureState = self._planned.state

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        now = self.agent.base.forgetting.reference == "now"
        self._planned.state = self._later(time) if now else self.state
        return self._planned.offer(arms, number)

    def choice(self, offer: Offer, arm: int) -> Choice:
        return self._planned.choice(offer, arm)

    def learn(self, choice: Choice, reward: float, time: float = 0.0) -> None:
        late = min(time - self._time(time), 0.0)
        planned = self._spaced(late) if late else self._planned
        planned.state = self._later(time)
        planned.learn(choice, reward)
        self.state = planned.state

    def _spaced(self, seconds: float) -> Planned:
        """The agent whose next sample comes so many seconds after the newest."""
        base: Any = self.agent.base
        spacing = (seconds,) * len(base.forgetting.half_life)
        forgetting = dataclasses.replace(base.forgetting, reference="last", spacing=spacing)
        agent = dataclasses.replace(self.agent, base=dataclasses.replace(base, forgetting=forgetting))
        return Planned(agent, self.draws, self._num_draws)

    def _time(self, time: float) -> float:
        """The time of the newest sample; of the first, whatever time it is."""
        return self.state.base.memory.item(0) if self.state.tick else time

    def _later(self, time: float) -> MixtureState:
        """The state at that time, or at that of the newest sample if it is later."""
        last = self._time(time)
        newest = max(last, time)

        def moved(agent: LeastSquares, moments: Moments) -> Moments:
            clock: Any = agent.forgetting
            later = clock.later(moments, newest - last)._replace(memory=np.array(newest))
            if moments.noise is None:
                return later
            errors, total = moments.noise
            errors = clock.later(errors, newest - last)._replace(memory=np.array(newest))
            return later._replace(noise=NoiseSums(errors, total))

        base = over_stacked(moved, self.agent.base, self.state.base, self.state.log_weights)
        return self.state._replace(base=base)
