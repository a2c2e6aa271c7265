"""Linear bandits as the papers print them: every sum over the past written out, every matrix inverted."""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import random
from driftwise.base.random import ENVIRONMENT
from driftwise.environments import LinearBandit
from driftwise.environments.models.linear_bandit import ARMS, NOISE
from tests.reference.plain import sums_of


class Step(NamedTuple):
    """What an algorithm thought and did in a round."""

    arm: int
    estimate: np.ndarray  # [d]
    indices: np.ndarray  # [A], −∞ where there is no arm


class Round(NamedTuple):
    """What a round has in store."""

    features: np.ndarray  # [A, d]
    present: np.ndarray  # [A]
    means: np.ndarray  # [A]
    rewards: np.ndarray  # [A], what each arm would pay

    def step(
        self, estimate: np.ndarray, *widths: tuple[float, np.ndarray], mean: Callable[[Any], float] = float
    ) -> Step:
        """The arm of the largest `μ(xᵀθ) + Σ β√(xᵀMx)`, for widths (β, M); of tied arms the first."""
        indices = np.full(len(self.features), -np.inf)
        for arm in np.flatnonzero(self.present):
            x = self.features[arm]
            bonus = sum(beta * math.sqrt(x @ matrix @ x) for beta, matrix in widths)
            indices[arm] = mean(x @ estimate) + bonus
        return Step(int(np.argmax(indices)), estimate, indices)


class Textbook(NamedTuple):
    """An optimistic algorithm."""

    weight: Callable[[int, int], float]  # ω(t, τ) for τ < t
    radius: Callable[[int, np.ndarray], float]  # β_t from t and V_t
    ridge: float
    sandwich: bool = False
    alpha: float = math.inf  # of cautious weights
    widening: float = 0.0  # of the norm of V⁻¹, whatever that of the radius is


def rounds(environment: LinearBandit, num_rounds: int, *, seed: int = 0, run: int = 0) -> Iterator[Round]:
    """The rounds that an agent meets under this seed, with noise that does not depend on the arm."""
    world = environment.to_arrays()
    run_key = random.fold(random.key(seed), run)
    for t, theta in enumerate(environment.at(np.arange(num_rounds))):
        here = random.fold(random.fold(run_key, ENVIRONMENT), t)
        arms = world.arms.draw(random.fold(here, ARMS))
        features, present = arms.values, arms.present
        luck = random.draw_uniform(random.fold(here, NOISE), 3, np.float64)
        means = MEANS[environment.link](features @ theta)
        if environment.rewards == "bernoulli":
            rewards = (luck[2] < means).astype(float)
        elif environment.rewards == "poisson":
            rewards = np.array([_count(luck[2], mean) for mean in means])
        else:
            rewards = means + environment.noise_scale * random.box_muller(luck[:1], luck[1:2])
        yield Round(features, np.full(len(features), True) if present is None else present, means, rewards)


MEANS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda z: z,
    "logistic": lambda z: 1 / (1 + np.exp(-z)),
    "log": np.exp,
}


def _count(uniform: float, mean: float) -> float:
    """A Poisson count: the least k with P(count ≤ k) above the uniform number."""
    count, chance, below = 0, math.exp(-mean), math.exp(-mean)
    while below <= uniform:
        count += 1
        chance *= mean / count
        below += chance
    return float(count)


def play(textbook: Textbook, rounds: Iterable[Round]) -> Iterator[Step]:
    """Play all rounds; of tied arms the first."""
    past: list[tuple[np.ndarray, float, float]] = []
    for t, here in enumerate(rounds, start=1):
        v, step = _decide(textbook, past, t, here)
        x = here.features[step.arm]
        own = min(1.0, textbook.alpha / math.sqrt(x @ np.linalg.inv(v) @ x))
        past.append((x, float(here.rewards[step.arm]), own))
        yield step


def _decide(
    textbook: Textbook, past: list[tuple[np.ndarray, float, float]], t: int, here: Round
) -> tuple[np.ndarray, Step]:
    samples = [(own * textbook.weight(t, tau), x, r) for tau, (x, r, own) in enumerate(past, start=1)]
    v, v_tilde, b = sums_of(samples, textbook.ridge, here.features.shape[1])
    inverse = np.linalg.inv(v)
    matrix = inverse @ v_tilde @ inverse if textbook.sandwich else inverse
    return v, here.step(inverse @ b, (textbook.radius(t, v), matrix), (textbook.widening, inverse))


class Assumptions(NamedTuple):
    """What a radius is made from."""

    dim: int
    noise_scale: float  # σ
    norm_bound: float  # S
    delta: float
    ridge: float  # λ

    def radius(self, log_inverse_delta: float, information: float) -> float:
        bias = math.sqrt(self.ridge) * self.norm_bound
        return bias + self.noise_scale * math.sqrt(2 * log_inverse_delta + information)

    def information(self, count: float) -> float:
        return self.dim * math.log(1 + count / (self.ridge * self.dim))


def oful(given: Assumptions) -> Textbook:
    """Abbasi-Yadkori, Pál & Szepesvári 2011, Theorem 2."""

    def radius(t: int, v: np.ndarray) -> float:
        return given.radius(math.log(1 / given.delta), math.log(np.linalg.det(v) / given.ridge**given.dim))

    return Textbook(lambda t, tau: 1.0, radius, given.ridge)


def restart_ucb(given: Assumptions, period: int, num_rounds: int) -> Textbook:
    """Zhao, Zhang, Jiang & Zhou 2020, Algorithm 1, with a radius for `num_rounds` rounds.

    It has the rounds of the epoch so far in it, and each epoch has its share of δ.
    """
    num_epochs = math.ceil(num_rounds / period)

    def radius(t: int, v: np.ndarray) -> float:
        return given.radius(math.log(num_epochs / given.delta), given.information((t - 1) % period))

    return published_restart_ucb(given, period)._replace(radius=radius)


def published_restart_ucb(given: Assumptions, period: int) -> Textbook:
    """Zhao, Zhang, Jiang & Zhou 2020, Algorithm 1: one radius for all rounds."""
    beta = given.radius(math.log(1 / given.delta), given.information(period))

    def weight(t: int, tau: int) -> float:
        return float((tau - 1) // period == (t - 1) // period)

    return Textbook(weight, lambda t, v: beta, given.ridge)


def sw_ucb(given: Assumptions, length: int, num_rounds: int) -> Textbook:
    """Cheung, Simchi-Levi & Zhu 2019, Algorithm 1, with a radius for `num_rounds` rounds.

    It has the rounds in the window in it.
    """

    def radius(t: int, v: np.ndarray) -> float:
        count = min(t - 1, length)
        return given.radius(math.log(num_rounds / given.delta), given.information(count))

    return Textbook(lambda t, tau: float(tau >= t - length), radius, given.ridge)


def d_linucb(given: Assumptions, rate: float, num_rounds: int, *, sandwich: bool = True) -> Textbook:
    """Russac, Vernade & Cappé 2019, Algorithm 1, with a radius for `num_rounds` rounds.

    Without the sandwich: WeightUCB, Wang, Zhao & Zhou 2023.
    """

    def radius(t: int, v: np.ndarray) -> float:
        squares = (1 - rate ** (2 * (t - 1))) / (1 - rate**2)
        return given.radius(math.log(num_rounds / given.delta), given.information(squares))

    return Textbook(lambda t, tau: rate ** (t - 1 - tau), radius, given.ridge, sandwich)


def cw_oful(given: Assumptions, alpha: float, corruption: float) -> Textbook:
    """He, Zhou, Zhang & Gu 2022, CW-OFUL."""
    plain = oful(given)
    return plain._replace(alpha=alpha, widening=alpha * corruption)


def robust_weight_ucb(
    given: Assumptions, rate: float, num_rounds: int, alpha: float, corruption: float, *, sandwich: bool
) -> Textbook:
    """The same weights on those of WeightUCB; `corruption` is what is left of it at half the rate."""
    plain = d_linucb(given, rate, num_rounds, sandwich=sandwich)
    return plain._replace(alpha=alpha, widening=alpha * corruption / math.sqrt(rate))


class Sift(NamedTuple):
    """Directional forgetting with all its matrices kept: `b_t = Σ_τ M_{t−1} … M_{τ+1} x_τ r_τ`, and so on."""

    rate: float
    ridge: float
    beta: Callable[[int, float], float]  # of the round and of tr Ṽ − dλ
    sandwich: bool = True
    fading: float = 1.0  # ρ, of everything that is kept for another round


def play_sift(given: Sift, rounds: Iterable[Round]) -> Iterator[Step]:
    """Lai & Bernstein 2024 below upper confidence bounds; of tied arms the first."""
    past: list[tuple[np.ndarray, float, np.ndarray]] = []  # x, r and the matrix M of the round
    for t, here in enumerate(rounds, start=1):
        dim = here.features.shape[1]
        kept, faded = np.eye(dim), 1.0  # the product of all later M, and that of ρ
        v, v_tilde, b = np.zeros((dim, dim)), np.zeros((dim, dim)), np.zeros(dim)
        for x, reward, matrix in reversed(past):
            v += faded * np.outer(kept @ x, x)
            v_tilde += faded * np.outer(kept @ x, kept @ x)
            b += faded * kept @ x * reward
            kept = kept @ matrix
            ridge = (1 - given.fading) * faded * given.ridge  # that is put back before the round
            v += ridge * kept
            v_tilde += ridge * kept @ kept.T
            faded *= given.fading
        v += faded * given.ridge * kept
        v_tilde += faded * given.ridge * kept @ kept.T
        inverse = np.linalg.inv(v)
        width = inverse @ v_tilde @ inverse.T if given.sandwich else inverse
        beta = given.beta(t, max(np.trace(v_tilde if given.sandwich else v) - dim * given.ridge, 0.0))
        step = here.step(inverse @ b, (beta, width))
        x = here.features[step.arm]
        left = given.fading * v + (1 - given.fading) * given.ridge * np.eye(dim)
        matrix = np.eye(dim) - (1 - given.rate) * np.outer(left @ x, x) / (x @ left @ x)
        past.append((x, float(here.rewards[step.arm]), matrix))
        yield step


def predictions(
    past: list[tuple[np.ndarray, float]], arms: np.ndarray, rate: float, ridge: float
) -> list[float]:
    """Foster & Rakhlin 2020 (SquareCB), line 4: the oracle's predicted rewards of the arms."""
    samples = ((rate**age, *sample) for age, sample in enumerate(reversed(past)))
    return [float(each) for each in arms @ sums_of(samples, ridge, arms.shape[1]).estimate]


def inverse_gap_probabilities(predicted: list[float], gamma: float) -> list[float]:
    """Lines 5 to 7: inverse-gap weighting; of tied arms the first is the best."""
    best = max(range(len(predicted)), key=lambda arm: predicted[arm])
    chances = [0.0] * len(predicted)
    for arm in range(len(predicted)):
        if arm != best:
            chances[arm] = 1 / (len(predicted) + gamma * (predicted[best] - predicted[arm]))
    chances[best] = 1 - sum(chances)
    return chances
