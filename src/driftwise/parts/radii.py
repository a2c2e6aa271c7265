"""Radii of confidence sets, as functions of what was seen."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from driftwise.base.arrays import Numbers, namespace, spd_root
from driftwise.base.part import choice, number, part
from driftwise.base.types import Array, Moments, Numeric, Radius, Variation
from driftwise.base.validation import ArgumentError, require_count, require_numeric
from driftwise.theory.confidence import counted_information, ellipsoid_radius, log_failure

NUMBERS = ("noise_scale", "norm_bound", "delta", "shares", "samples", "scale", "widening")


@part
class ConfidenceRadius(Radius):
    r"""$c(\sqrt\lambda S + \sigma\sqrt{2\log(1/\delta') + \ell} + w)$, for the parameter of a linear bandit.

    The information $\ell$ is $d\log(1 + \sum\omega^2/(\lambda d))$ for `information="count"`, where at least
    `samples` are counted from the start, or $\log(\det\Lambda/\lambda^d)$ for `"determinant"`: smaller, and
    valid where all weights are 0 or 1. $\delta' = \delta/N$ for a known number `shares` of rounds or epochs;
    `shares=0` is a schedule for runs of unknown length, over rounds or epochs as `spread` says. See
    `driftwise.theory.confidence` for which of them holds when. `scale` is $c$. `widening` is $w$, for
    what corrupted rewards may have done to the estimate.
    """

    noise_scale: Numeric = number(at_least=0)
    norm_bound: Numeric = number(at_least=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    information: Literal["count", "determinant"] = choice("count", "determinant", default="count")
    spread: Literal["rounds", "epochs"] = choice("rounds", "epochs", default="rounds")
    shares: Numeric = number(at_least=0, default=0)
    samples: Numeric = number(at_least=0, default=0)
    scale: Numeric = number(at_least=0, default=1.0)
    widening: Numeric = number(at_least=0, default=0.0)

    def at(self, moments: Moments) -> Array:
        gram, current = moments.gram, moments.tick if self.spread == "rounds" else moments.epoch
        dim, counted, ridge = gram.shape[-1], self.information == "count", moments.ridge
        if counted and type(current) is int:
            return self.counted(dim, moments.weight_sq, moments.tick, moments.epoch, ridge)
        xp: Any = namespace(gram)
        seen = moments.weight_sq if counted else _log_determinant(moments)
        values = [seen, current + 1, ridge, *(getattr(self, name) for name in NUMBERS)]
        if xp is np and not any(isinstance(each, tuple) or np.ndim(each) for each in values):
            library, values = Numbers, [float(each) for each in values]
        else:
            library, values = xp, [xp.asarray(each, dtype=gram.dtype) for each in values]
        seen, current, ridge, *numbers = values
        told = SimpleNamespace(**dict(zip(NUMBERS, numbers, strict=True)), information=self.information)
        return xp.asarray(_radius(told, dim, seen, current, ridge, library), dtype=gram.dtype)

    def counted(self, dim: int, weight_sq: float, tick: int, epoch: int, ridge: float) -> float:
        """`at` for `information="count"` by Python's numbers: ten times as fast as arrays."""
        current = tick if self.spread == "rounds" else epoch
        return _radius(self, dim, weight_sq, current + 1, ridge, Numbers)


def _radius(of: Any, dim: int, seen: Any, current: Any, ridge: Any, xp: Any) -> Any:
    """The radius of a `ConfidenceRadius`, or of one whose numbers are arrays."""
    if of.information == "count":
        seen = counted_information(dim, xp.maximum(seen, of.samples), ridge, xp)
    failure = log_failure(of.delta, of.shares, current, xp)
    width = ellipsoid_radius(seen, failure, of.noise_scale, of.norm_bound, ridge, xp)
    return of.scale * (of.widening + width)


def _log_determinant(moments: Moments) -> Array:
    r"""$\log(\det\Lambda/\lambda^d)$, for each step."""
    xp = namespace(moments.gram)
    roots = xp.linalg.diagonal(spd_root(moments.gram))
    return 2 * xp.sum(xp.log(roots), axis=-1) - roots.shape[-1] * xp.log(moments.ridge)


@part
class MixtureRadius(Radius):
    r"""$\beta = c\,H\sqrt{J\log(JT/\delta)}$ with $T = KH$, for a mixture of $J$ known kernels.

    Cai, Yang, Jin & Wang 2019, in the theorem on the regret of OPPO, with `scale` the constant $c$ that it
    leaves open; $J$ is the dimension of the regression.
    """

    horizon: Numeric = number(at_least=1, integer=True)
    num_episodes: Numeric = number(at_least=1, integer=True)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    scale: Numeric = number(at_least=0, default=1.0)

    def at(self, moments: Moments) -> Array:
        xp, num_anchors, dtype = namespace(moments.gram), moments.gram.shape[-1], moments.gram.dtype
        horizon, num_episodes, delta, scale = (
            xp.asarray(value, dtype=dtype)
            for value in (self.horizon, self.num_episodes, self.delta, self.scale)
        )
        failures = num_anchors * num_episodes * horizon / delta
        return scale * horizon * xp.sqrt(num_anchors * xp.log(failures))


@part
class BernsteinRadius(Radius):
    r"""$c(8a\sqrt{\log(1 + k/(m\lambda))\,\ell} + 4b\ell + \sqrt{\lambda J})$ in episode $k$, for UCRL-VTR+.

    $\ell = \log(4k^2H/\delta)$ and $J$ is the dimension of the regression. `of="values"` is $\hat\beta$, of
    samples that are weighted by their variance: $a = b = \sqrt J$, $m = 1$. `of="weights"` is $\check\beta$,
    of the same sums while the variance is not trusted: $a = J$, $b = \sqrt J$, $m = 1$. `of="squares"` is
    $\tilde\beta$, of the squares of values, without weights: $a = \sqrt J$, $b = 1$, $m = J$. Zhou, Gu &
    Szepesvári 2021, for values and squares in $[0, 1]$; `scale` is $c$, one in the paper.
    """

    horizon: Numeric = number(at_least=1, integer=True)
    of: Literal["values", "weights", "squares"] = choice("values", "weights", "squares", default="values")
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    scale: Numeric = number(at_least=0, default=1.0)

    def at(self, moments: Moments) -> Array:
        xp, dim, dtype = namespace(moments.gram), moments.gram.shape[-1], moments.gram.dtype
        root = math.sqrt(dim)
        deviation, span, spread = dict(
            values=(root, root, 1), weights=(dim, root, 1), squares=(root, 1.0, dim)
        )[self.of]
        current, ridge, horizon, delta, scale = (
            xp.asarray(value, dtype=dtype)
            for value in (moments.tick + 1, moments.ridge, self.horizon, self.delta, self.scale)
        )
        failure = xp.log(4 * current**2 * horizon / delta)
        information = xp.log1p(current / (spread * ridge))
        width = 8 * deviation * xp.sqrt(information * failure) + 4 * span * failure
        return scale * (width + xp.sqrt(ridge * dim))


@part
class LocalVariationRadius(Radius):
    r"""$\beta + \sqrt{d\,n}\,(B_\theta + H B_\mu)$ after $n$ samples of an epoch that varies so much.

    $B_\theta$ and $B_\mu$ are `reward_variation` and `transition_variation` of the epoch: one entry for each
    epoch, the last one for all that come later. Zhou, Chen, Varshney & Jagmohan 2020.
    """

    radius: Numeric = number(at_least=0)
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

    def at(self, moments: Moments) -> Array:
        xp, dim, dtype = namespace(moments.gram), moments.gram.shape[-1], moments.gram.dtype
        radius, horizon, rewards, transitions = (
            xp.asarray(value, dtype=dtype)
            for value in (self.radius, self.horizon, self.reward_variation, self.transition_variation)
        )
        epoch = xp.minimum(moments.epoch, xp.asarray(len(self.reward_variation) - 1))
        return radius + xp.sqrt(dim * moments.weight) * (rewards[epoch] + horizon * transitions[epoch])


def local_variation_radius(
    radius: float, *, period: int, horizon: int, num_episodes: int, variations: Variation
) -> LocalVariationRadius:
    """Radius for epochs of `period` episodes; moves from one epoch to the next do not count."""
    if len(variations.reward) < num_episodes - 1:
        raise ArgumentError(
            "variations", f"cover num_episodes = {num_episodes} episodes", len(variations.reward) + 1
        )
    before = np.arange(num_episodes - 1)
    within = before // period == (before + 1) // period
    rewards, transitions = (
        np.bincount(
            before // period, weights=moves[: num_episodes - 1] * within, minlength=-(-num_episodes // period)
        )
        for moves in (variations.reward, variations.transition)
    )
    return LocalVariationRadius(radius, horizon, tuple(rewards.tolist()), tuple(transitions.tolist()))


@part
class Phases:
    """A number for each stretch of time: the first holds up to `starts[0]`, the next up to `starts[1]`, …"""

    starts: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        starts = tuple(require_count("starts", start) for start in self.starts)
        if any(late <= early for early, late in itertools.pairwise(starts)):
            raise ArgumentError("starts", "be rising", starts)
        values = tuple(require_numeric("values", value, at_least=0) for value in self.values)
        if len(values) != len(starts) + 1:
            raise ArgumentError("values", f"be one more than starts ({len(starts)})", len(values))
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "values", values)

    def at(self, tick: Array) -> Array:
        xp = namespace(tick)
        if not self.starts:
            return xp.asarray(self.values[0])
        return xp.asarray(self.values)[xp.sum(tick >= xp.asarray(self.starts))]


@part
class CountRadius:
    r"""$b\sqrt{(c + g \log t + l \log\tau)/\max(1, N)} + w$ after N samples, in step t since a restart.

    That was in step τ of the run. `scale` is b, `constant` c, `growth` g, `lateness` l; `widening` is w, or
    `Phases` of it.
    """

    constant: Numeric = number(at_least=0)
    growth: Numeric = number(at_least=0, default=0.0)
    scale: Numeric = number(at_least=0, default=1.0)
    widening: Numeric | Phases = number(at_least=0, or_part=Phases, default=0.0)
    lateness: Numeric = number(at_least=0, default=0.0)

    def at(self, counts: Array, age: Array, tick: Array) -> Array:
        """Radii `[S, A]` of counts `[S, A]`, with steps since the last restart and since the start."""
        xp = namespace(counts)
        widening: Any = self.widening.at(tick) if isinstance(self.widening, Phases) else self.widening
        since, start = (xp.log(xp.astype(step + 1, counts.dtype)) for step in (age, tick - age))
        squared = self.constant + self.growth * since + self.lateness * start
        spread = xp.sqrt(squared / xp.maximum(counts, xp.ones_like(counts)))
        return xp.astype(self.scale * spread + widening, counts.dtype)
