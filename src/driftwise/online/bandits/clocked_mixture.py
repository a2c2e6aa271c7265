"""A decider for mixtures of memories by the clock."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base.agent import Agent
from driftwise.base.types import Moments
from driftwise.online.bandits.deciders import Choice, Draws, Offer, Planned
from driftwise.parts.clock import ClockWeights
from driftwise.parts.least_squares import LeastSquares


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
        self.agent, self.draws, self._clock = agent, draws, agent.base.forgetting
        self._half_lives = np.array(self._clock.half_life)
        self._planned = Planned(self._spaced(0.0), draws, num_draws)
        self.state: MixtureState = self._planned.state

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        self._planned.state = self._later(time) if self._clock.reference == "now" else self.state
        return self._planned.offer(arms, number)

    def choice(self, offer: Offer, arm: int) -> Choice:
        return self._planned.choice(offer, arm)

    def learn(self, choice: Choice, reward: float, time: float = 0.0) -> None:
        late, usual = min(time - self._last(time), 0.0), self._planned.agent
        self._planned.state = self._later(time)
        self._planned.agent = self._spaced(late) if late else usual
        self._planned.learn(choice, reward)
        self.state, self._planned.agent = self._planned.state, usual

    def _spaced(self, seconds: float) -> MixtureOfMemories:
        """The agent whose next sample comes so many seconds after the newest."""
        spacing = (seconds,) * len(self._half_lives)
        forgetting = dataclasses.replace(self._clock, reference="last", spacing=spacing)
        base: Any = self.agent.base
        return dataclasses.replace(self.agent, base=dataclasses.replace(base, forgetting=forgetting))

    def _last(self, time: float) -> float:
        """The time of the newest sample; of the first, whatever time it is."""
        return self.state.base.memory.item(0) if self.state.tick else time

    def _later(self, time: float) -> MixtureState:
        """The state at that time, or at that of the newest sample if it is later."""
        last, base = self._last(time), self.state.base
        newest = max(last, time)
        kept = 0.5 ** ((newest - last) / self._half_lives)
        later = _shrunk(base, kept, newest)
        if base.noise is not None:
            later = later._replace(
                noise=base.noise._replace(moments=_shrunk(base.noise.moments, kept, newest))
            )
        return self.state._replace(base=later)


def _shrunk(moments: Moments, kept: np.ndarray, time: float) -> Moments:
    """`ClockWeights.later` for all memories at once."""
    share, gram_sq = kept[:, None, None, None], moments.gram_sq
    ridge = moments.ridge[:, None, None, None] * np.eye(moments.gram.shape[-1])
    if gram_sq is not None:
        gram_sq = share * share * gram_sq + (1 - share * share) * ridge
    return moments._replace(
        gram=share * moments.gram + (1 - share) * ridge,
        gram_sq=gram_sq,
        cross=share * moments.cross,
        weight=kept * moments.weight,
        weight_sq=kept * kept * moments.weight_sq,
        memory=np.full(len(kept), time),
    )
