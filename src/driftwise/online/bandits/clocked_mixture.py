"""A decider for mixtures of memories by the clock."""

from __future__ import annotations

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState, constant_weights
from driftwise.base.agent import Agent
from driftwise.base.arrays import solution_or_nan
from driftwise.base.types import FeatureTable, Forecast, Moments
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
        and agent.base.caution is None
    )


class ClockedMixture:
    """Memories of many half-lives: `MixtureOfMemories` for one step, at the time of each event.

    All memories learn at once. Forecasts are those of the time of their sample; of a late one, those of the
    newest. The noise and the shares of the weights are counted in rewards. A decision that waits keeps what
    one of `Mixed` does.
    """

    def __init__(self, agent: MixtureOfMemories, draws: Draws, num_draws: int) -> None:
        self.agent, self.draws, self._clock = agent, draws, agent.base.forgetting
        self._half_lives = np.array(self._clock.half_life)
        self._planned = Planned(agent, draws, num_draws)
        self.state: MixtureState = self._planned.state

    def offer(self, arms: np.ndarray, number: int, time: float = 0.0) -> Offer:
        self._planned.state = self._later(time) if self._clock.reference == "now" else self.state
        return self._planned.offer(arms, number)

    def choice(self, offer: Offer, arm: int) -> Choice:
        choice = offer.taken(arm)
        if self.agent.origin == "zero":
            return choice
        return choice._replace(features=np.concatenate([choice.features, (offer.arms == 1).all(axis=0)]))

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        late = 0.5 ** (max(self._last(time) - time, 0.0) / self._half_lives)
        state, dim = self._later(time), self.agent.spec.dim
        features, constant = choice.features[:dim], choice.features[dim:]
        if self.agent.origin == "first" and not state.tick:
            state = state._replace(origin=constant_weights(FeatureTable(constant[None]), reward))
        reward -= features.dot(state.origin).item()
        base, noise = state.base, state.base.noise
        direction = solution_or_nan(base.gram[:, 0], features)
        error = reward - np.vecdot(direction, base.cross[:, 0, :, 0])
        forecast = Forecast(error[:, None], direction.dot(features)[:, None]).of_means(np.array(weight))
        base = _added(base, features, np.full_like(late, reward), late, weight)
        if noise is not None:
            errors = _added(noise.moments, np.ones(1), forecast.squares[:, 0], late, 1.0)
            base = base._replace(noise=NoiseSums(errors, noise.total + forecast.squares))
        self.state = self.agent.weighed(state, forecast, base, base.weight)

    def _last(self, time: float) -> float:
        """The time of the newest sample; of the first, whatever time it is."""
        return self.state.base.memory.item(0) if self.state.tick else time

    def _later(self, time: float) -> MixtureState:
        """The state at that time, or at that of the newest sample if it is later."""
        last, base = self._last(time), self.state.base
        newest = max(last, time)
        kept = 0.5 ** ((newest - last) / self._half_lives)
        later, noise = _shrunk(base, kept, newest), base.noise
        if noise is not None:
            noise = noise._replace(moments=_shrunk(noise.moments, kept, newest))
        return self.state._replace(base=later._replace(noise=noise))


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


def _added(
    moments: Moments, features: np.ndarray, targets: np.ndarray, weights: np.ndarray, count: float
) -> Moments:
    """So many samples more for all memories, with targets and weights `[J]` of their own."""
    share, gram, gram_sq = weights[:, None, None, None], count * features[:, None] * features, moments.gram_sq
    return moments._replace(
        gram=moments.gram + share * gram,
        gram_sq=None if gram_sq is None else gram_sq + share * share * gram,
        cross=moments.cross + share * targets[:, None, None, None] * (count * features)[:, None],
        tick=moments.tick + 1,
        weight=moments.weight + weights * count,
        weight_sq=moments.weight_sq + weights * weights * count,
    )
