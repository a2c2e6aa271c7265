"""The worlds of the gauntlet: defaults are chosen on one half of them and shown on the other."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from benchmarks.gauntlet import parts
from benchmarks.gauntlet.parts import Draws, Drift, Pay, Rng

Half = Literal["choose", "show"]


@dataclass(frozen=True)
class World:
    """A linear bandit: features, weights that may drift, rewards, and feedback.

    Rewards are `offset + scale * pay(link(features @ weights))`, with noise of `noise` before the scaling.
    With `values` the features are one-hot, and the weights are these numbers.
    """

    name: str
    half: Half
    rounds: int = 2000
    features: Callable[[Rng, int, int, int], np.ndarray] = parts.sphere
    num_arms: int = 5
    dim: int = 5
    blocks: bool = False  # each arm has weights of its own, and `dim` counts those of one arm
    values: tuple[float, ...] = ()
    norm: float = 1.0  # of the weights
    drift: Drift = parts.rest
    link: Callable[[np.ndarray], np.ndarray] | None = None
    pay: Pay | None = None  # Gaussian unless given
    noise: float = 0.2
    scale: float = 1.0
    offset: float = 0.0
    feedback: Callable[[Rng, int], np.ndarray] = parts.at_once
    on_offer: int | None = None  # a random subset of that many arms; all unless given

    @property
    def is_costly(self) -> bool:
        """Whether a round takes some milliseconds."""
        return self.dim * (self.num_arms if self.blocks else 1) > 100 or self.num_arms > 100

    def draw(self, run: int) -> Draws:
        """Return the random numbers of a run."""
        rng = np.random.default_rng([zlib.crc32(self.name.encode()), run])
        if self.values:
            num, features = len(self.values), np.eye(len(self.values))[None]
        else:
            num, features = self.num_arms, self.features(rng, self.rounds, self.num_arms, self.dim)
        weights = self.drift(self.rounds, partial(self._draw_weights, rng, features.shape[-1]))
        if self.blocks:
            scores = (weights @ features[:, :, None])[..., 0]
        else:
            scores = np.matmul(features, weights[..., None])[..., 0]
        means = scores if self.link is None else self.link(scores)
        pay = self.pay or parts.gaussian
        rewards = pay(rng, means, noise=self.noise)
        means, rewards = (self.offset + self.scale * array for array in (means, rewards))
        offered = np.ones((self.rounds, num), dtype=bool)
        if self.on_offer is not None:
            offered = rng.random(offered.shape).argsort(axis=1) < self.on_offer
        due = self.feedback(rng, self.rounds)
        return Draws(features, means, rewards, due, offered, self.scale * self.noise, self.blocks)

    def _draw_weights(self, rng: Rng, dim: int) -> np.ndarray:
        """Return random weights `[d]`, or those of each arm `[A, p]`; given values change places."""
        if self.values:
            return rng.permutation(self.values)
        shape = (self.num_arms, dim) if self.blocks else (dim,)
        return self.norm * parts.unit_rows(rng, *shape)


def chance(rate: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return a link to chances around a rate."""
    return lambda scores: 1 / (1 + np.exp(-scores) * (1 - rate) / rate)


def _blocks(num_arms: int = 4, dim: int = 3, **options: Any) -> dict[str, Any]:
    """Options of a world with contexts of a few numbers and a constant, as newcomers make it."""
    common: dict[str, Any] = dict(features=parts.contexts, blocks=True, noise=0.1)
    return common | dict(num_arms=num_arms, dim=dim) | options


_jumps, _late, _sized = (partial(partial, part) for part in (parts.jumps, parts.late, parts.sized))
_CHOOSE: dict[str, dict[str, Any]] = {
    # offsets, units, and no noise
    "four arms paying 40 to 50": dict(values=(40, 42, 45, 50), noise=2.0, rounds=3000),
    "blocks, rewards + 3": _blocks(offset=3.0),
    "blocks, no noise": _blocks(noise=0.0),
    "sphere, offset of 1,000 noise units": dict(offset=200.0),
    "blocks, unit 1e-8": _blocks(scale=1e-8),
    "sphere, offset -1,000, unit 1e8": dict(scale=1e8, offset=-2e10),
    "features of norm 30": dict(features=_sized(size=30.0), norm=1 / 30),
    # nothing changes
    "sphere of 149 dimensions, noise 1": dict(num_arms=6, dim=149, noise=1.0),
    "1,000 fixed arms, 32 dimensions": dict(features=parts.fixed, num_arms=1000, dim=32, noise=0.1),
    "one dimension": dict(num_arms=3, dim=1),
    "30 numbered arms": dict(values=tuple(np.linspace(0, 1, 30))),
    "all arms twice": dict(features=parts.duplicates, num_arms=8),
    "arms in a plane of eight dimensions": dict(features=parts.collinear, num_arms=6, dim=8),
    "hashed rows, 128 dimensions": dict(features=parts.sparse, num_arms=8, dim=128, norm=3.0),
    "300 categories, two arms": dict(
        features=parts.categories, blocks=True, num_arms=2, dim=301, norm=12.0, rounds=1500
    ),
    # drift
    "plane, three jumps": dict(num_arms=20, dim=2, drift=_jumps(at=(0.2, 0.5, 0.75))),
    "numbered arms, frequent jumps": dict(
        values=(0.1, 0.3, 0.5, 0.7, 0.9), drift=_jumps(at=tuple(np.arange(0.1, 1, 0.1)))
    ),
    "one late jump": dict(drift=_jumps(at=(0.7,)), rounds=3000),
    "blocks, glide": _blocks(drift=partial(parts.glide, turns=2)),
    "noise that doubles twice": dict(pay=parts.noisier),
    "arms come and go, jumps": dict(
        values=tuple(np.linspace(0, 1, 12)), on_offer=4, drift=_jumps(at=(0.33, 0.66))
    ),
    # late rewards
    "10 rounds late, wandering level": _blocks(pay=parts.with_level, feedback=_late(delay=10)),
    "500 rounds late": dict(feedback=_late(delay=500)),
    "batches of 100, jumps": dict(feedback=partial(parts.in_batches, size=100), drift=_jumps(at=(0.4, 0.8))),
    # outliers and tails
    "one reward of 1e6": dict(
        values=(0.2, 0.5, 0.8, 0.3), pay=partial(parts.spoilt, values=(1e6,), at=0.25), rounds=3000
    ),
    "one in a hundred rewards is wrong": dict(pay=parts.often_spoilt),
    "money of 5 % buyers": _blocks(link=lambda scores: 10 * np.exp(2 * scores), pay=parts.money, noise=70.0),
    # clicks
    "clicks of 1 %": dict(values=(0.005, 0.01, 0.02, 0.01), pay=parts.clicks, noise=0.1, rounds=3000),
    "clicks of 38 %, contexts": _blocks(link=chance(0.38), pay=parts.clicks, norm=3.0, noise=0.48),
}
_SHOW: dict[str, dict[str, Any]] = {
    # offsets, units, and no noise
    "four arms without noise": dict(values=(0.2, 0.5, 0.8, 0.1), noise=0.0),
    "blocks, no offset": _blocks(),
    "blocks, offset of -1,000 noise units": _blocks(offset=-100.0),
    "sphere, no noise": dict(num_arms=10, dim=12, noise=0.0),
    "blocks, unit 1e8": _blocks(scale=1e8),
    "sphere, unit 1e-8, offset 1,000": dict(scale=1e-8, offset=2e-6),
    "features of norm 0.01": dict(features=_sized(size=0.01), norm=100.0),
    # nothing changes
    "sphere of 60 dimensions": dict(num_arms=10, dim=60, noise=0.5),
    "300 fixed arms, 16 dimensions": dict(features=parts.fixed, num_arms=300, dim=16),
    "two numbered arms": dict(values=(0.4, 0.6)),
    "100 numbered arms": dict(values=tuple(np.linspace(0, 1, 100)), rounds=3000),
    "an arm without features": dict(features=parts.with_zero),
    "contexts that change slowly": _blocks(features=parts.slow_contexts, dim=5),
    "40 arms, 22 features": _blocks(num_arms=40, dim=22, rounds=1500, norm=2.0),
    # drift
    "plane, glide": dict(num_arms=20, dim=2, drift=partial(parts.glide, turns=3)),
    "blocks, jumps": _blocks(drift=_jumps(at=(0.25, 0.5, 0.75))),
    "numbered arms, one jump": dict(values=(0.2, 0.4, 0.6, 0.8), drift=_jumps(at=(0.5,))),
    "random walk": dict(num_arms=10, drift=parts.walk),
    "jumps in 20 dimensions": dict(num_arms=10, dim=20, drift=_jumps(at=(0.3, 0.6))),
    "arms come and go": dict(features=parts.fixed, num_arms=30, dim=6, on_offer=5),
    # late rewards
    "50 rounds late, wandering level": _blocks(pay=parts.with_level, feedback=_late(delay=50)),
    "50 rounds late, jumps": dict(feedback=_late(delay=50), drift=_jumps(at=(0.33, 0.66))),
    "batches of 500": _blocks(feedback=partial(parts.in_batches, size=500), rounds=3000),
    "delays of 20 on average": _blocks(feedback=partial(parts.spread, delay=20), drift=parts.glide),
    "half of the rewards are lost": dict(
        feedback=partial(parts.lost, share=0.5), drift=_jumps(at=(0.5,)), num_arms=8
    ),
    # outliers and tails
    "three rewards of -1e6": _blocks(pay=partial(parts.spoilt, values=(-1e6,) * 3, at=0.3)),
    "Student's noise, two degrees": dict(pay=parts.student),
    "Student's noise, jumps": _blocks(pay=parts.student, drift=_jumps(at=(0.5,))),
    # clicks and counts
    "clicks of 5 %, contexts": _blocks(link=chance(0.05), pay=parts.clicks, norm=3.0, noise=0.22),
    "counts": dict(link=np.exp, pay=parts.counts, noise=1.0, drift=_jumps(at=(0.5,))),
}

WORLDS = [
    *(World(name, "choose", **options) for name, options in _CHOOSE.items()),
    *(World(name, "show", **options) for name, options in _SHOW.items()),
]
