"""A decider for least squares that forgets by the clock, alone or in a mixture of memories."""

import math
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, MixtureState
from driftwise.base.agent import Agent
from driftwise.base.arrays import solve_or_nan
from driftwise.base.part import iterate_parts
from driftwise.base.types import Forecast, Moments
from driftwise.online.deciders.definition import Choice, Decider, Offer, bandit_sample
from driftwise.parts import ClockWeights, LeastSquares
from driftwise.parts.noise import NoiseSums

_LEAST_EIGENVALUE = 1e-8  # of the gram that a decision may rest on, where the ridge decays


def uses_clock(agent: Agent) -> bool:
    """Return whether any part of an agent forgets by the clock."""
    return any(isinstance(part, ClockWeights) for part in iterate_parts(agent))


def clock_of(agent: Agent) -> ClockWeights | None:
    """Return the forgetting of an agent that `ClockDecider` supports; None for any other agent."""
    match agent:
        case LeastSquares(forgetting=ClockWeights() as clock, noise=None):
            return clock
        case MixtureOfMemories(
            base=LeastSquares(forgetting=ClockWeights(prior="zero") as clock, caution=None)
        ):
            return clock
    return None


class ClockDecider(Decider):
    """A decider by rounds, given the sums as they are at the time of each decision.

    Decisions leave no trace in the state. A reward counts from the time of its decision, whenever it comes.
    Memories of a mixture forecast at the time of a sample, or at the newest if that is later. The noise and
    the shares of the weights are counted in rewards.
    """

    def __init__(self, agent: Any, clock: ClockWeights, rounds: Decider) -> None:
        self.agent, self.draws = agent, rounds.draws
        self.state: Any = rounds.state  # `Moments`, or a `MixtureState`
        self._clock, self._rounds = clock, rounds
        self._mixes = isinstance(agent, MixtureOfMemories)
        self._extends = self._mixes and agent.origin == "learnt"
        self._half_lives = np.array(clock.half_life)

    def offer(
        self, arms: np.ndarray, number: int, time: float = 0.0, waiting: np.ndarray | None = None
    ) -> Offer:
        state: Any = self.state if self._mixes else self._clock.at(self.state, time)
        if self._mixes and self._clock.reference == "now":
            state = self._advanced(time)
        if self._clock.prior == "decay" and len(arms) > 1 and state.ridge < _LEAST_EIGENVALUE:
            least = np.linalg.eigvalsh(state.gram).min()  # below the ridge; a single arm is no decision
            if not least >= _LEAST_EIGENVALUE:
                silence = max(time - self.state.memory.item(), 0.0)
                raise FloatingPointError(
                    f"agent: the least eigenvalue of its gram has decayed to {least:.2g}, below "
                    f"{_LEAST_EIGENVALUE:g}, {silence:g} seconds after its last reward; use prior='hold' or "
                    f"a longer half_life: {self.agent!r}"
                )
        self._rounds.state = state
        return self._rounds.offer(arms, number, waiting=waiting)._replace(planned=None)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        agent, features, share = self.agent, choice.features, None
        if not self._mixes:
            if agent.caution is not None:
                share = agent.caution.shares(self._clock.at(self.state, time).gram, features[None]).item()
            self.state = self._clock.absorb(self.state, bandit_sample(features, reward, weight, share), time)
            return
        state = self._advanced(time)
        late = 0.5 ** ((state.base.memory - time) / self._half_lives)  # no time is later than the state
        if self._extends:
            state = agent.set_origin(state, features, np.asarray(reward))
            features, reward = agent.extend(features, state.unit), reward - state.origin.item()
        base, noise = state.base, state.base.noise
        direction = solve_or_nan(base.gram[:, 0], features)
        error = reward - np.vecdot(direction, base.cross[:, 0, :, 0])
        forecast = Forecast(error[:, None], direction.dot(features)[:, None])
        forecast = forecast.scale_by_counts(np.array(weight))
        heaviest = int(state.log_weights.argmax())
        errors = state.noise.errors
        excess = agent.excess(errors, forecast.error[heaviest], forecast.variance[heaviest]).item()
        reward += excess / math.sqrt(weight)
        forecast = forecast._replace(error=forecast.error + excess)
        base = _add(base, features, np.full_like(late, reward), late, weight)
        if noise is not None:
            errors = _add(noise.moments, np.ones(1), forecast.squares[:, 0], late, 1.0)
            base = base._replace(noise=NoiseSums(errors, noise.total + forecast.squares))
        self.state = agent.absorb_forecasts(state, forecast, base, base.weight)

    def _advanced(self, time: float) -> MixtureState:
        """Return a mixture's state at that time, or at that of the newest sample if it is later."""
        base = self.state.base
        last = base.memory.item(0) if self.state.tick else time
        newest = max(last, time)
        kept = 0.5 ** ((newest - last) / self._half_lives)
        advanced, noise = _shrink(base, kept, newest), base.noise
        if noise is not None:
            advanced = advanced._replace(noise=noise._replace(moments=_shrink(noise.moments, kept, newest)))
        return self.state._replace(base=advanced)


def _shrink(moments: Moments, kept: np.ndarray, time: float) -> Moments:
    """Return the moments of all memories at a later time: `ClockWeights.advance` at once."""
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


def _add(
    moments: Moments, features: np.ndarray, targets: np.ndarray, weights: np.ndarray, count: float
) -> Moments:
    """Return the moments of all memories with `count` samples more, with targets and weights `[J]`."""
    share, gram, gram_sq = weights[:, None, None, None], count * features[:, None] * features, moments.gram_sq
    return moments._replace(
        gram=moments.gram + share * gram,
        gram_sq=None if gram_sq is None else gram_sq + share * share * gram,
        cross=moments.cross + share * targets[:, None, None, None] * (count * features)[:, None],
        tick=moments.tick + 1,
        weight=moments.weight + weights * count,
        weight_sq=moments.weight_sq + weights * weights * count,
    )
