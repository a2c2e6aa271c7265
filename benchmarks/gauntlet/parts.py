"""Parts of bandit worlds: features of arms, drifts of weights, rewards, and feedback."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

Rng = np.random.Generator
NEVER = np.iinfo(np.int64).max  # the round in which a lost reward arrives


class Draws(NamedTuple):
    """All random numbers of one run of a world, the same for every agent.

    Features are `[T, A, d]`, or `[1, A, d]` if they are constant. With `blocks` they are contexts `[T, p]`,
    and every arm has weights of its own: arm `a` has the context in block `a` of `d = A p` numbers.
    """

    features: np.ndarray
    means: np.ndarray  # [T, A]
    rewards: np.ndarray  # [T, A]
    due: np.ndarray  # [T] the round at whose end the reward of a round arrives
    offered: np.ndarray  # [T, A] whether an arm is on offer
    noise: float  # a typical deviation of rewards from their means
    blocks: bool

    @property
    def dim(self) -> int:
        return self.features.shape[-1] * (self.means.shape[1] if self.blocks else 1)

    def arms(self, t: int) -> np.ndarray:
        """Return the features `[A, d]` of all arms of a round, on offer or not."""
        if not self.blocks:
            return self.features[t % len(self.features)]
        return np.kron(np.eye(self.means.shape[1]), self.features[t])

    @property
    def unit(self) -> float:
        """A typical deviation of the rewards of random arms: noise and differences of arms together."""
        return float(np.hypot(self.noise, np.sqrt(np.var(self.means, axis=1).mean())))

    def regrets(self, taken: np.ndarray) -> np.ndarray:
        """Return the regret of each round, of arms `[T]`."""
        best = np.where(self.offered, self.means, -np.inf).max(axis=1)
        return best - np.take_along_axis(self.means, taken[:, None], axis=1)[:, 0]

    @property
    def uniform_regret(self) -> float:
        """The expected regret of arms at random."""
        best = np.where(self.offered, self.means, -np.inf).max(axis=1)
        return float(np.sum(best - np.mean(self.means, axis=1, where=self.offered)))


# Features: functions of a generator, and numbers of rounds, arms and dimensions.


def unit_rows(rng: Rng, *shape: int) -> np.ndarray:
    """Return uniformly random points of the unit sphere."""
    rows = rng.normal(size=shape)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def one_hot(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    return np.eye(num)[None]


def fixed(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    return unit_rows(rng, 1, num, dim)


def sphere(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    return unit_rows(rng, rounds, num, dim)


def sized(rng: Rng, rounds: int, num: int, dim: int, size: float) -> np.ndarray:
    return size * unit_rows(rng, rounds, num, dim)


def duplicates(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    """Half of the arms, twice."""
    return np.repeat(unit_rows(rng, rounds, num // 2, dim), 2, axis=1)


def with_zero(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    """The last arm has features of 0."""
    arms = unit_rows(rng, rounds, num, dim)
    arms[:, -1] = 0
    return arms


def collinear(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    """Arms in a plane of the features, the same plane in all rounds."""
    return unit_rows(rng, rounds, num, 2) @ np.linalg.qr(rng.normal(size=(dim, 2)))[0].T


def sparse(rng: Rng, rounds: int, num: int, dim: int, ones: int = 4) -> np.ndarray:
    """A few ones in each row, as hashing makes them."""
    arms = np.zeros((rounds, num, dim))
    for _ in range(ones):
        np.put_along_axis(arms, rng.integers(dim, size=(rounds, num, 1)), ones**-0.5, axis=2)
    return arms


def contexts(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    """Random contexts with a constant, in the unit ball; for worlds with blocks."""
    return np.column_stack([rng.uniform(-1, 1, size=(rounds, dim - 1)), np.ones(rounds)]) / dim**0.5


def categories(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    """One category of many and a constant; for worlds with blocks. Common categories come first."""
    chances = 1 / np.arange(1.0, dim)
    rows = np.zeros((rounds, dim))
    rows[np.arange(rounds), rng.choice(dim - 1, size=rounds, p=chances / chances.sum())] = 1
    rows[:, -1] = 1
    return rows / 2**0.5


def slow_contexts(rng: Rng, rounds: int, num: int, dim: int) -> np.ndarray:
    """Contexts that resemble those before, with a constant; for worlds with blocks."""
    steps = rng.normal(size=(rounds, dim - 1))
    for t in range(1, rounds):
        steps[t] = 0.98 * steps[t - 1] + 0.2 * steps[t]
    return np.column_stack([np.tanh(steps), np.ones(rounds)]) / dim**0.5


# Drifts: functions of the number of rounds and of a function that draws weights; weights are `[T, d]`.

DrawWeights = Callable[[], np.ndarray]
Drift = Callable[[int, DrawWeights], np.ndarray]


def rest(rounds: int, draw: DrawWeights) -> np.ndarray:
    return np.broadcast_to(weights := draw(), (rounds, *weights.shape))


def jumps(rounds: int, draw: DrawWeights, at: tuple[float, ...]) -> np.ndarray:
    """New weights at shares of the run."""
    segments = np.digitize(np.arange(rounds) / rounds, at)
    return np.array([draw() for _ in range(len(at) + 1)])[segments]


def glide(rounds: int, draw: DrawWeights, turns: int = 1) -> np.ndarray:
    """Straight lines between random weights."""
    points = np.array([draw() for _ in range(turns + 1)])
    place = np.linspace(0, turns, rounds, endpoint=False)
    share = (place % 1)[(...,) + (None,) * (points.ndim - 1)]
    segment = place.astype(int)
    return (1 - share) * points[segment] + share * points[segment + 1]


def walk(rounds: int, draw: DrawWeights, rate: float = 0.003) -> np.ndarray:
    """A stationary random walk that has forgotten its start after `1/rate` rounds."""
    weights = np.array([draw() for _ in range(rounds)])
    for t in range(1, rounds):
        weights[t] = (1 - rate) * weights[t - 1] + (2 * rate - rate**2) ** 0.5 * weights[t]
    return weights


# Rewards: functions of a generator, of mean rewards, and of a deviation, which not all of them use.

Pay = Callable[..., np.ndarray]


def gaussian(rng: Rng, means: np.ndarray, noise: float) -> np.ndarray:
    return means + noise * rng.normal(size=means.shape)


def noisier(rng: Rng, means: np.ndarray, noise: float) -> np.ndarray:
    """Noise that doubles every third of the run."""
    growth = 2.0 ** (3 * np.arange(len(means)) // len(means))
    return means + noise * growth[:, None] * rng.normal(size=means.shape)


def student(rng: Rng, means: np.ndarray, noise: float) -> np.ndarray:
    """Student's noise with two degrees of freedom, whose variance is infinite."""
    return means + noise * rng.standard_t(2, size=means.shape)


def clicks(rng: Rng, means: np.ndarray, noise: float) -> np.ndarray:
    return (rng.random(means.shape) < means).astype(float)


def counts(rng: Rng, means: np.ndarray, noise: float) -> np.ndarray:
    return rng.poisson(means).astype(float)


def money(rng: Rng, means: np.ndarray, noise: float, buyers: float = 0.05) -> np.ndarray:
    """Amounts with a log-normal distribution, from one in twenty; arms differ in the amounts."""
    bought = rng.random(means.shape) < buyers
    return bought * means / buyers * np.exp(rng.normal(size=means.shape) - 0.5)


def spoilt(rng: Rng, means: np.ndarray, noise: float, values: tuple[float, ...], at: float) -> np.ndarray:
    """Gaussian rewards, and a few wrong ones in rounds that follow a share of the run."""
    rewards = gaussian(rng, means, noise)
    first = int(at * len(means))
    rewards[first : first + len(values)] = np.array(values)[:, None]
    return rewards


def often_spoilt(rng: Rng, means: np.ndarray, noise: float, share: float = 0.01) -> np.ndarray:
    """Gaussian rewards, of which a share is wrong by fifty standard deviations either way."""
    wrong = rng.random(means.shape) < share
    return gaussian(rng, means, noise) + 50 * noise * wrong * rng.choice([-1.0, 1.0], size=means.shape)


def with_level(rng: Rng, means: np.ndarray, noise: float) -> np.ndarray:
    """Gaussian rewards, plus a level that wanders and is the same for all arms."""
    level = 3 * noise * walk(len(means), partial(rng.normal, size=1), rate=0.01)
    return gaussian(rng, means, noise) + level


# Feedback: the rounds at whose end rewards arrive.


def at_once(rng: Rng, rounds: int) -> np.ndarray:
    return np.arange(rounds)


def late(rng: Rng, rounds: int, delay: int) -> np.ndarray:
    return np.arange(rounds) + delay


def spread(rng: Rng, rounds: int, delay: int) -> np.ndarray:
    """Geometric delays, in any order."""
    return np.arange(rounds) + rng.geometric(1 / (delay + 1), size=rounds) - 1


def in_batches(rng: Rng, rounds: int, size: int) -> np.ndarray:
    return np.arange(rounds) // size * size + size - 1


def lost(rng: Rng, rounds: int, share: float) -> np.ndarray:
    return np.where(rng.random(rounds) < share, NEVER, np.arange(rounds))
