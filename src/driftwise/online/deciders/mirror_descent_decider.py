"""The fast form of mirror descent through a link: of one memory, or of a mixture of many."""

from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.arrays import invert_or_nan, map_tree
from driftwise.base.part import index_part
from driftwise.base.types import Forecast, Moments
from driftwise.online.deciders.definition import Choice, Decider, Offer, RoundDraws
from driftwise.online.limits import first_state, not_finite
from driftwise.parts import MirrorDescent
from driftwise.parts.exploration import radius_at
from driftwise.parts.forgetting import next_moments
from driftwise.parts.link_regression import mirror_gain, mirror_move, project_to_ball


class MirrorDescentDecider(Decider):
    """`MirrorDescent` with upper confidence bounds, or a mixture of such memories; the heaviest decides.

    Moments of J memories are stacked: `[J, ...]`; one memory is a stack of one. Its policy acts on the index
    before the link, that of a mixture on the mean reward.
    """

    def __init__(self, agent: MirrorDescent | MixtureOfMemories, draws: RoundDraws) -> None:
        self.agent, self.draws = agent, draws
        self._state: Any = None  # `Moments` of a stack, or a `MixtureState`
        self._mixture, memories = None, list[Any]([agent])
        if isinstance(agent, MixtureOfMemories):
            self._mixture, memories = agent, [index_part(agent.base, j) for j in range(agent.num_memories)]
        self._memories, self._link, self._step = memories, memories[0].link, memories[0].step
        numbers = [(m.rate, m.ridge, m.norm_bound, m.step_size, m.dispersion) for m in memories]
        self._rate, ridge, self._bound, self._step_size, self._dispersion = np.array(numbers).T
        self._refill = ((1 - self._rate) * ridge)[:, None, None] * np.eye(agent.spec.dim)
        self.state = first_state(agent)

    @property
    def state(self) -> Any:
        return self._state if self._mixture is not None else map_tree(lambda leaf: leaf[0], self._state)

    @state.setter
    def state(self, state: Any) -> None:
        mixes = self._mixture is not None
        self._state = state if mixes else map_tree(lambda leaf: np.asarray(leaf)[None], state)

    def offer(
        self, arms: np.ndarray, number: int, time: float = 0.0, waiting: np.ndarray | None = None
    ) -> Offer:
        mixes = self._mixture is not None
        moments, j = (self._state.base, int(self._state.log_weights.argmax())) if mixes else (self._state, 0)
        try:
            mapped = arms.dot(invert_or_nan(moments.gram[j, 0]))
            mean, squared = mapped.dot(moments.cross[j, 0, :, 0]), np.vecdot(mapped, arms)
            radius = radius_at(self._memories[j].exploration.radius, map_tree(lambda leaf: leaf[j], moments))
            index = mean + radius[..., 0] * np.sqrt(np.abs(squared))  # it may round to a little less than 0
        except (ArithmeticError, ValueError) as error:
            raise not_finite(self.agent) from error
        scores = self._link.mean(index)
        bonus = scores - self._link.mean(mean)
        return Offer.of_best(arms, scores if mixes else index, bonus, self.agent)._replace(scores=scores)

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        x = choice.features
        if self._mixture is None:
            self._state = self._update(self._state, x, reward, weight)
            return
        moments = self._state.base
        along = invert_or_nan(moments.gram[:, 0]).dot(x)
        z, width = np.vecdot(along, moments.cross[:, 0, :, 0]), along.dot(x)
        doubt = self._link.slope(z) * width / self._dispersion
        forecast = Forecast((reward - self._link.mean(z))[:, None], doubt[:, None])  # before it is learnt
        if weight != 1:
            forecast = forecast.scale_by_counts(np.array(weight))
        base = self._update(moments, x, reward, weight)
        self._state = self._mixture.absorb_forecasts(self._state, forecast, base, base.weight)

    def _update(self, moments: Moments, x: np.ndarray, reward: float, weight: float) -> Moments:
        """Return the moments after the mean of `weight` rewards."""
        rate, outer, dispersion = self._rate, x[:, None] * x, self._dispersion / weight
        gram = rate[:, None, None] * moments.gram[:, 0] + self._refill  # A
        inverse = invert_or_nan(gram)
        along = inverse.dot(x)
        centre = np.vecdot(inverse, (rate[:, None] * moments.cross[:, 0, :, 0])[:, None])  # A⁻¹ηHθ
        z, width = centre.dot(x), along.dot(x)
        strength = self._step_size / dispersion
        move, curvature = mirror_move(self._link, self._step, z, width, reward, strength)
        theta = centre + move[:, None] * along
        outside = np.vecdot(theta, theta) > self._bound**2
        if outside.any():  # an eigendecomposition
            metric = gram[outside] + curvature[outside, None, None] * outer
            theta[outside] = project_to_ball(metric, theta[outside], self._bound[outside, None])
        gain = mirror_gain(self._link, self._step, z, theta.dot(x), width, dispersion)
        gram += gain[:, None, None] * outer
        sums = gram[:, None], moments.gram_sq, np.vecdot(gram, theta[:, None])[:, None, :, None]
        weight, weight_sq = rate * moments.weight + weight, rate * rate * moments.weight_sq + weight
        memory = rate[:, None] * moments.memory + np.log1p(gain * width)[:, None]
        return next_moments(moments, sums, weight, weight_sq)._replace(memory=memory)
