"""Radii for linear MDPs that depend on what was seen or on what is told about the drift."""

from __future__ import annotations

import numpy as np

from driftwise.base.arrays import namespace
from driftwise.base.part import number, part
from driftwise.base.types import Array, Moments, Numeric, Variation
from driftwise.base.validation import ArgumentError, require_numeric


@part
class MixtureRadius:
    r"""$\beta = c\,H\sqrt{J\log(JT/\delta)}$ with $T = KH$, for a mixture of $J$ known kernels.

    Cai, Yang, Jin & Wang 2019, in the theorem on the regret of OPPO, with `scale` the constant $c$ that it
    leaves open; $J$ is the dimension of the regression.
    """

    horizon: Numeric = number(at_least=1, integer=True)
    num_episodes: Numeric = number(at_least=1, integer=True)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    scale: Numeric = number(at_least=0, default=1.0)

    def given(self, moments: Moments) -> Array:
        xp, num_anchors, dtype = namespace(moments.gram), moments.gram.shape[-1], moments.gram.dtype
        horizon, num_episodes, delta, scale = (
            xp.asarray(value, dtype=dtype)
            for value in (self.horizon, self.num_episodes, self.delta, self.scale)
        )
        failures = num_anchors * num_episodes * horizon / delta
        return scale * horizon * xp.sqrt(num_anchors * xp.log(failures))


@part
class LocalVariationRadius:
    r"""$\beta + \sqrt{d\,n}\,(B_\theta + H B_\mu)$ after $n$ samples of an epoch that varies so much.

    $B_\theta$ and $B_\mu$ are `reward_variation` and `transition_variation` of the epoch: one entry for each
    epoch of `period` episodes, the last one for all that come later. Zhou, Chen, Varshney & Jagmohan 2020.
    """

    radius: Numeric = number(at_least=0)
    period: Numeric = number(at_least=1, integer=True)
    horizon: Numeric = number(at_least=1, integer=True)
    reward_variation: tuple[float, ...]
    transition_variation: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("reward_variation", "transition_variation"):
            value = require_numeric(name, getattr(self, name), at_least=0)
            if np.ndim(value) != 1:
                raise ArgumentError(name, "be a list of numbers, one for each epoch", value)
            object.__setattr__(self, name, value)
        epochs, given = len(self.reward_variation), len(self.transition_variation)
        if given != epochs:
            raise ArgumentError(
                "transition_variation", f"have as many entries as reward_variation ({epochs})", given
            )

    def given(self, moments: Moments) -> Array:
        xp, dim, dtype = namespace(moments.gram), moments.gram.shape[-1], moments.gram.dtype
        radius, horizon = (xp.asarray(value, dtype=dtype) for value in (self.radius, self.horizon))
        of_rewards, of_transitions = (
            xp.asarray(values, dtype=dtype) for values in (self.reward_variation, self.transition_variation)
        )
        epoch = xp.minimum(moments.tick // self.period, xp.asarray(len(self.reward_variation) - 1))
        seen = xp.astype(moments.tick % self.period, dtype)
        return radius + xp.sqrt(dim * seen) * (of_rewards[epoch] + horizon * of_transitions[epoch])


def local_variation_radius(
    radius: float, *, period: int, horizon: int, num_episodes: int, variations: Variation
) -> LocalVariationRadius:
    """The radius that is told what moves within each epoch; moves from one epoch to the next do not count."""
    if len(variations.reward) < num_episodes - 1:
        raise ArgumentError(
            "variations", f"cover num_episodes = {num_episodes} episodes", len(variations.reward) + 1
        )
    before = np.arange(num_episodes - 1)
    within = before // period == (before + 1) // period
    num_epochs = -(-num_episodes // period)
    of_rewards, of_transitions = (
        np.bincount(before // period, weights=moves[: num_episodes - 1] * within, minlength=num_epochs)
        for moves in (variations.reward, variations.transition)
    )
    return LocalVariationRadius(
        radius, period, horizon, tuple(of_rewards.tolist()), tuple(of_transitions.tolist())
    )
