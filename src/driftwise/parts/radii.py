"""Radii of confidence sets, as functions of the moments."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from driftwise.base.arrays import FloatNamespace, namespace, spd_root
from driftwise.base.part import choice, number, part
from driftwise.base.types import Array, Moments, Numeric, Radius, Variation
from driftwise.base.validation import ArgumentError, require_count, require_numeric
from driftwise.theory.confidence import counted_information, descent_radius, ellipsoid_radius, log_failure

_SETTINGS = ("noise_scale", "norm_bound", "delta", "shares", "samples", "scale", "widening")


def as_arrays(like: Array, *values: Any) -> list[Array]:
    """Return numbers as arrays of the library and the precision of `like`."""
    return [namespace(like).asarray(value, dtype=like.dtype) for value in values]


def field_arrays(part: Any, like: Array) -> list[Array]:
    """Return the fields of a part of numbers as arrays of the library and the precision of `like`."""
    return as_arrays(like, *(getattr(part, field.name) for field in dataclasses.fields(part)))


@part
class ConfidenceRadius(Radius):
    r"""$c(\sqrt\lambda S + \sigma\sqrt{2\log(1/\delta') + \ell} + w)$, for the parameter of a linear bandit.

    The information $\ell$ is $d\log(1 + \sum\omega^2/(\lambda d))$ for `information="count"`, where at least
    `samples` are counted, or $\log(\det\Lambda/\lambda^d)$ for `"determinant"`: smaller, and valid where all
    weights are 0 or 1. $\delta' = \delta/N$ for a known number `shares` of rounds or epochs; `shares=0` is a
    schedule for runs of unknown length, over rounds or epochs as `spread` says (see
    `driftwise.theory.confidence`). `scale` is $c$, `widening` $w$, which covers corrupted rewards.
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
            return self.value(dim, moments.weight_sq, current + 1, ridge)
        xp: Any = namespace(gram)
        samples = moments.weight_sq if counted else log_determinant(gram, ridge)
        values = [samples, current + 1, ridge, *(getattr(self, name) for name in _SETTINGS)]
        plain = xp is np and not any(isinstance(value, tuple) or np.ndim(value) for value in values)
        library, values = (FloatNamespace, map(float, values)) if plain else (xp, as_arrays(gram, *values))
        samples, current, ridge, *settings = values
        arrays = SimpleNamespace(**dict(zip(_SETTINGS, settings, strict=True)))
        return xp.asarray(self.value(dim, samples, current, ridge, arrays, library), dtype=gram.dtype)

    def value(
        self,
        dim: int,
        samples: Any,
        current: Any,
        ridge: Any,
        settings: Any = None,
        xp: Any = FloatNamespace,
    ) -> Any:
        """Return the radius of a round or epoch, counted from 1, after so many samples.

        For `information="determinant"`, `samples` is the logarithm of the determinant. From Python's numbers
        this is ten times as fast as `at`; for arrays of `xp`, the `settings` are arrays too.
        """
        settings = settings or self
        if self.information == "count":
            samples = counted_information(dim, xp.maximum(samples, settings.samples), ridge, xp)
        failure = log_failure(settings.delta, settings.shares, current, xp)
        width = ellipsoid_radius(samples, failure, settings.noise_scale, settings.norm_bound, ridge, xp)
        return settings.scale * (settings.widening + width)


@part
class GrowingRadius(Radius):
    r"""$c\sqrt{1 + a\log(1 + \sum\omega/d)}$, which grows so that no arm is given up for ever.

    `scale` is $c$, in standard deviations of a forecast, and `growth` $a$.
    """

    scale: Numeric = number(at_least=0)
    growth: Numeric = number(at_least=0)

    def at(self, moments: Moments) -> Array:
        scale, growth = field_arrays(self, moments.gram)
        return self.value(moments.gram.shape[-1], moments.weight, scale, growth, namespace(moments.gram))

    def value(
        self, dim: int, samples: Any, scale: Any = None, growth: Any = None, xp: Any = FloatNamespace
    ) -> Any:
        """Return the radius after so many samples: from Python's numbers, or from arrays of `xp`."""
        scale, growth = (self.scale, self.growth) if scale is None else (scale, growth)
        return scale * xp.sqrt(1 + growth * xp.log1p(samples / dim))


def log_determinant(gram: Array, ridge: Array) -> Array:
    r"""$\log(\det\Lambda/\lambda^d)$, over leading axes."""
    xp, roots = namespace(gram), namespace(gram).linalg.diagonal(spd_root(gram))
    return 2 * xp.sum(xp.log(roots), axis=-1) - roots.shape[-1] * xp.log(ridge)


@part
class MixtureRadius(Radius):
    r"""$c\,H\sqrt{J\log(JT/\delta)}$, $T = KH$, of OPPO with $J$ kernels (Cai, Yang, Jin & Wang 2019)."""

    horizon: Numeric = number(at_least=1, integer=True)
    num_episodes: Numeric = number(at_least=1, integer=True)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    scale: Numeric = number(at_least=0, default=1.0)

    def at(self, moments: Moments) -> Array:
        xp, num_anchors = namespace(moments.gram), moments.gram.shape[-1]
        horizon, num_episodes, delta, scale = field_arrays(self, moments.gram)
        return scale * horizon * xp.sqrt(num_anchors * xp.log(num_anchors * num_episodes * horizon / delta))


@part
class BernsteinRadius(Radius):
    r"""$c(8a\sqrt{\log(1 + k/(m\lambda))\,\ell} + 4b\ell + \sqrt{\lambda J})$ in episode $k$, for UCRL-VTR+.

    $\ell = \log(4k^2H/\delta)$ and $J$ is the dimension of the regression. `of="values"` is $\hat\beta$, of
    samples that are weighted by their variance: $a = b = \sqrt J$, $m = 1$; `"weights"` $\check\beta$, of the
    same sums while the variance is not trusted: $a = J$; `"squares"` $\tilde\beta$, of squares without
    weights: $b = 1$, $m = J$. Zhou, Gu & Szepesvári 2021, for values in $[0, 1]$ and with $c$ = `scale` = 1.
    """

    horizon: Numeric = number(at_least=1, integer=True)
    of: Literal["values", "weights", "squares"] = choice("values", "weights", "squares", default="values")
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    scale: Numeric = number(at_least=0, default=1.0)

    def at(self, moments: Moments) -> Array:
        xp, dim = namespace(moments.gram), moments.gram.shape[-1]
        root = math.sqrt(dim)
        factors = dict(values=(root, root, 1), weights=(dim, root, 1), squares=(root, 1.0, dim))
        deviation, span, spread = factors[self.of]
        numbers = moments.tick + 1, moments.ridge, self.horizon, self.delta, self.scale
        current, ridge, horizon, delta, scale = as_arrays(moments.gram, *numbers)
        failure = xp.log(4 * current**2 * horizon / delta)
        information = xp.log1p(current / (spread * ridge))
        width = 8 * deviation * xp.sqrt(information * failure) + 4 * span * failure
        return scale * (width + xp.sqrt(ridge * dim))


@part
class MirrorDescentRadius(Radius):
    r"""$b\sqrt{\lambda S^2 + 2\zeta\log(1/\delta') + (6\zeta^2+\zeta)D}$ with the moments' `memory` $D$."""

    norm_bound: Numeric = number(above=0)
    step_size: Numeric = number(at_least=1)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    shares: Numeric = number(at_least=0, default=0)  # as of `ConfidenceRadius`
    scale: Numeric = number(at_least=0, default=1.0)  # b

    def at(self, moments: Moments) -> Array:
        xp = namespace(moments.gram)
        norm_bound, step_size, delta, shares, scale = field_arrays(self, moments.gram)
        failure = log_failure(delta, shares, as_arrays(moments.gram, moments.tick + 1)[0], xp)
        return scale * descent_radius(moments.memory, failure, step_size, norm_bound, moments.ridge, xp)


@part
class SelfConcordantRadius(Radius):
    r"""$\beta/\sqrt{c_\mu}$ of SC-D-GLUCB, for `WeightedLikelihood` whose gram has the ridge $\lambda/c_\mu$.

    $$\rho = \frac{\sqrt\lambda}{2m} + \frac{2m}{\sqrt\lambda}\Bigl(\log\frac T\delta + d\log 2\Bigr)
      + \frac{dm}{\sqrt\lambda}\log\Bigl(1 + \frac{k_\mu(1-T^{-2})}{d\lambda(1-\eta^2)}\Bigr),$$
    $\beta = k_\mu\sqrt{1+2S}(\sqrt\lambda S + \rho)$ where $\|\hat\theta\| \le S$; elsewhere
    $\beta = k_\mu\sqrt\lambda(1 + \bar S + \rho\sqrt{(1+\bar S)/\lambda} + \rho^2/\lambda)^{3/2}$ with
    $\bar S = S + (2Sk_\mu+m)/(T\lambda(1-\eta))$. Russac, Faury, Cappé & Garivier 2021.
    """

    norm_bound: Numeric = number(above=0)
    rate: Numeric = number(above=0, at_most=1)
    num_episodes: Numeric = number(at_least=1, integer=True)
    least_slope: Numeric = number(above=0)
    largest_slope: Numeric = number(above=0)
    most: Numeric = number(above=0, default=1.0)
    delta: Numeric = number(above=0, at_most=1, default=0.05)
    scale: Numeric = number(at_least=0, default=1.0)

    def at(self, moments: Moments) -> Array:
        xp, dim = namespace(moments.gram), moments.gram.shape[-1]
        bound, rate, last, least, slope, most, delta, scale = field_arrays(self, moments.gram)
        ridge = moments.ridge * least
        root = xp.sqrt(ridge)
        counted = slope * (1 - last**-2) / (dim * ridge * (1 - rate**2))
        rho = root / (2 * most) + 2 * most / root * (xp.log(last / delta) + dim * math.log(2))
        rho = rho + dim * most / root * xp.log1p(counted)
        longest = bound + (2 * bound * slope + most) / (last * ridge * (1 - rate))  # S̄
        wide = slope * root * (1 + longest + rho * xp.sqrt((1 + longest) / ridge) + rho**2 / ridge) ** 1.5
        narrow = slope * xp.sqrt(1 + 2 * bound) * (root * bound + rho)
        inside = xp.sum(moments.memory.estimate**2) <= bound**2
        return scale / xp.sqrt(least) * xp.where(inside, narrow, wide)


@part
class LocalVariationRadius(Radius):
    r"""$\beta + \sqrt{d\,n}\,(B_\theta + H B_\mu)$ after $n$ samples of an epoch with these variations."""

    radius: Numeric = number(at_least=0)
    horizon: Numeric = number(at_least=1, integer=True)
    reward_variation: tuple[float, ...]  # of each epoch; the last also of all later ones (Zhou et al. 2020)
    transition_variation: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("reward_variation", "transition_variation"):
            value = require_numeric(name, getattr(self, name), at_least=0)
            if np.ndim(value) != 1:
                raise ArgumentError(name, "be a list of numbers, one for each epoch", value)
            object.__setattr__(self, name, value)
        epochs, entries = len(self.reward_variation), len(self.transition_variation)
        if entries != epochs:
            expected = f"have as many entries as reward_variation ({epochs})"
            raise ArgumentError("transition_variation", expected, entries)

    def at(self, moments: Moments) -> Array:
        xp, dim = namespace(moments.gram), moments.gram.shape[-1]
        radius, horizon, rewards, transitions = field_arrays(self, moments.gram)
        epoch = xp.minimum(moments.epoch, xp.asarray(len(self.reward_variation) - 1))
        return radius + xp.sqrt(dim * moments.weight) * (rewards[epoch] + horizon * transitions[epoch])


def local_variation_radius(
    radius: float, *, period: int, horizon: int, num_episodes: int, variations: Variation
) -> LocalVariationRadius:
    """Return the radius for epochs of `period` episodes; changes between epochs do not count."""
    if len(variations.reward) < num_episodes - 1:
        expected = f"cover num_episodes = {num_episodes} episodes"
        raise ArgumentError("variations", expected, len(variations.reward) + 1)
    epochs = np.arange(num_episodes) // period
    within = epochs[:-1] == epochs[1:]
    rewards, transitions = (
        np.bincount(epochs[:-1], moves[: num_episodes - 1] * within, epochs[-1] + 1).tolist()
        for moves in (variations.reward, variations.transition)
    )
    return LocalVariationRadius(radius, horizon, tuple(rewards), tuple(transitions))


@part
class Phases:
    """A piecewise constant function of time: `values[i]` holds before `starts[i]`."""

    starts: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        starts = tuple(require_count("starts", start) for start in self.starts)
        values = tuple(require_numeric("values", value, at_least=0) for value in self.values)
        if starts != tuple(sorted({*starts})):
            raise ArgumentError("starts", "be rising", starts)
        if len(values) != len(starts) + 1:
            raise ArgumentError("values", f"be one more than starts ({len(starts)})", len(values))
        object.__setattr__(self, "starts", starts)
        object.__setattr__(self, "values", values)

    def at(self, tick: Array) -> Array:
        xp = namespace(tick)
        return xp.asarray(self.values)[xp.sum(tick >= xp.asarray(self.starts, dtype=xp.int64))]


@part
class CountRadius:
    r"""$b\sqrt{(c + g \log t + l \log\tau)/\max(1, N)} + w$ after N samples, t steps after a restart at τ."""

    constant: Numeric = number(at_least=0)  # c
    growth: Numeric = number(at_least=0, default=0.0)  # g
    scale: Numeric = number(at_least=0, default=1.0)  # b
    widening: Numeric | Phases = number(at_least=0, or_part=Phases, default=0.0)  # w
    lateness: Numeric = number(at_least=0, default=0.0)  # l

    def at(self, counts: Array, age: Array, tick: Array) -> Array:
        """Return radii of counts `[S, A]`; `age` is steps since the last restart, `tick` since the start."""
        xp = namespace(counts)
        widening: Any = self.widening.at(tick) if isinstance(self.widening, Phases) else self.widening
        since, start = (xp.log(xp.astype(step + 1, counts.dtype)) for step in (age, tick - age))
        squared = self.constant + self.growth * since + self.lateness * start
        spread = xp.sqrt(squared / xp.maximum(counts, xp.ones_like(counts)))
        return xp.astype(self.scale * spread + widening, counts.dtype)
