r"""Link functions: the mean $\mu(z)$ of rewards of variance $g\,\mu'(z)$, with $z = x^\top\theta$."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np

from driftwise.base.arrays import namespace
from driftwise.base.part import part
from driftwise.base.types import Array, Numeric
from driftwise.base.validation import require_choice

LinkName = Literal["identity", "logistic", "log"]
_MAX_LOG = 50.0  # a mean of 5e21; `exp` overflows at 709
_LEAST = 1e-6  # a chance or a count


class Link(ABC):
    """A mean function μ, its derivative, and the constants in bounds."""

    self_concordance: float  # R, with |μ''| ≤ Rμ'
    reward_range: tuple[float, float]  # smallest and largest possible reward

    @abstractmethod
    def mean(self, z: Array) -> Array:
        """Return `μ(z)`."""

    @abstractmethod
    def slope(self, z: Array) -> Array:
        """Return `μ'(z)`."""

    @abstractmethod
    def inverse(self, mean: Array) -> Array:
        """Return the `z` of a mean, kept away from means that have none."""

    def slopes(self, norm_bound: Numeric) -> tuple[np.ndarray, np.ndarray]:
        """Return `c_μ` and `k_μ`, the least and largest slope for `|z| ≤ norm_bound`, at an end or at 0."""
        ends = np.multiply.outer([-1.0, 0.0, 1.0], norm_bound)
        return self.slope(ends).min(axis=0), self.slope(ends).max(axis=0)


@part
class Identity(Link):
    r"""Linear rewards: $\mu(z) = z$."""

    self_concordance = 0.0
    reward_range = (-np.inf, np.inf)

    def mean(self, z: Array) -> Array:
        return z

    def slope(self, z: Array) -> Array:
        return namespace(z).ones_like(z)

    def inverse(self, mean: Array) -> Array:
        return mean


@part
class Logistic(Link):
    r"""Clicks, 0 or 1: $\mu(z) = 1/(1+e^{-z})$, and $z$ is the log-odds."""

    self_concordance = 1.0
    reward_range = (0.0, 1.0)

    def mean(self, z: Array) -> Array:
        xp = namespace(z)
        small = xp.exp(-xp.abs(z))  # cannot overflow
        return xp.where(z >= 0, xp.ones_like(z), small) / (1 + small)

    def slope(self, z: Array) -> Array:
        xp = namespace(z)
        small = xp.exp(-xp.abs(z))
        return small / (1 + small) ** 2

    def inverse(self, mean: Array) -> Array:
        xp = namespace(mean)
        chance = xp.clip(mean, _LEAST, 1 - _LEAST)
        return xp.log(chance / (1 - chance))


@part
class LogLink(Link):
    r"""Poisson counts 0, 1, 2, …: $\mu(z) = e^z$, at most $e^{50}$."""

    self_concordance = 1.0
    reward_range = (0.0, np.inf)

    def mean(self, z: Array) -> Array:
        xp = namespace(z)
        return xp.exp(xp.minimum(z, xp.full_like(z, _MAX_LOG)))

    def slope(self, z: Array) -> Array:
        return self.mean(z)

    def inverse(self, mean: Array) -> Array:
        xp = namespace(mean)
        return xp.log(xp.maximum(mean, xp.full_like(mean, _LEAST)))


LINKS: dict[str, Link] = {"identity": Identity(), "logistic": Logistic(), "log": LogLink()}


def link_from_name(name: LinkName) -> Link:
    """Return the link of a name."""
    return LINKS[require_choice("link", name, tuple(LINKS))]
