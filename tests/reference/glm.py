"""Generalised linear bandits as papers print them: sums over the past, full inverses, searches by SciPy.

Rounds are counted from 1, as in the papers.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, root

from tests.reference.bandits import Round, Step
from tests.reference.plain import sums_of

Past = list[tuple[np.ndarray, float]]


class Family(NamedTuple):
    """An exponential family: mean μ and slope μ' of z, dispersion g, self-concordance R."""

    mean: Callable[[Any], float]
    slope: Callable[[Any], float]
    dispersion: float = 1.0
    concordance: float = 1.0


LOGISTIC = Family(lambda z: 1 / (1 + math.exp(-z)), lambda z: math.exp(-z) / (1 + math.exp(-z)) ** 2)
POISSON = Family(math.exp, math.exp)
GAUSSIAN = Family(lambda z: z, lambda z: 1.0, concordance=0.0)


def d_glb_omd(
    family: Family,
    rounds: Iterable[Round],
    *,
    rate: float,
    ridge: float,
    norm_bound: float,
    log_inverse_delta: Callable[[int], float],
) -> Iterator[Step]:
    """Mirror descent with exponential weights, step by step.

    Zhang, Xu, Zhao & Sugiyama 2025 where the rate is 1. Indices are of the linear predictor.
    """
    mean, slope, g, concordance = family
    theta, h, information = None, None, 0.0
    for t, here in enumerate(rounds, start=1):
        dim = here.features.shape[1]
        if theta is None or h is None:
            theta, h = np.zeros(dim), ridge * np.eye(dim)
        zeta = 1 + concordance * norm_bound
        squared = ridge * norm_bound**2 + 2 * zeta * log_inverse_delta(t) + (6 * zeta**2 + zeta) * information
        step = here.step(theta, (math.sqrt(squared), np.linalg.inv(h)))
        yield step

        x, reward = here.features[step.arm], here.rewards[step.arm]
        a = rate * h + (1 - rate) * ridge * np.eye(dim)
        c = np.linalg.inv(a) @ (rate * h) @ theta
        z = x @ c
        a_tilde = a + zeta * slope(z) / g * np.outer(x, x)
        u = c - zeta * np.linalg.inv(a_tilde) @ x * (mean(z) - reward) / g
        theta = ball_projection(a_tilde, u, norm_bound)
        h = a + slope(x @ theta) / g * np.outer(x, x)
        information = rate * information + math.log(np.linalg.det(h) / np.linalg.det(a))


def ball_projection(matrix: np.ndarray, u: np.ndarray, bound: float) -> np.ndarray:
    """The point v of the ball that minimises (v−u)ᵀM(v−u), by its multiplier."""
    if np.linalg.norm(u) <= bound:
        return u

    def point(multiplier: float) -> np.ndarray:
        return np.linalg.inv(matrix + multiplier * np.eye(len(u))) @ matrix @ u

    highest = float(np.linalg.norm(matrix @ u)) / bound
    return point(zero_of(lambda rho: float(np.linalg.norm(point(rho))) - bound, 0.0, highest))


def zero_of(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function of one number vanishes, between two of them."""
    found: Any = brentq(function, low, high, xtol=1e-15)
    return found


class Likelihood(NamedTuple):
    """The weighted likelihood of the past: κθ + Σ_s η^(t−1−s) (μ(x_sᵀθ) − r_s) x_s and what it is made of."""

    family: Family
    past: Past
    rate: float
    kappa: float

    def mean(self, theta: np.ndarray) -> np.ndarray:
        """`G(θ)`, which leaves the rewards out."""
        total = self.kappa * theta
        for age, (x, _) in enumerate(reversed(self.past)):
            total = total + self.rate**age * self.family.mean(x @ theta) * x
        return total

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        ages = enumerate(reversed(self.past))
        return self.mean(theta) - sum((self.rate**age * r * x for age, (x, r) in ages), 0 * theta)

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        samples = [(self.rate**age, *one) for age, one in enumerate(reversed(self.past))]
        return sums_of(((w * self.family.slope(x @ theta), x, r) for w, x, r in samples), self.kappa, 2).gram

    def maximiser(self) -> np.ndarray:
        """Of two numbers."""
        return root(self.gradient, np.zeros(2), jac=self.hessian, tol=1e-14).x


def circle_projection(
    likelihood: Likelihood, theta_hat: np.ndarray, v: np.ndarray, bound: float
) -> np.ndarray:
    """The point of the circle that minimises ‖G(θ̂) − G(θ)‖ in the norm of V⁻¹, by its angle."""
    aim, inverse = likelihood.mean(theta_hat), np.linalg.inv(v)

    def point(angle: float) -> np.ndarray:
        return bound * np.array([math.cos(angle), math.sin(angle)])

    def distance(angle: float) -> float:
        gap = aim - likelihood.mean(point(angle))
        return float(gap @ inverse @ gap)

    def growth(angle: float) -> float:
        theta, along = point(angle), point(angle + math.pi / 2)
        return float(-2 * (aim - likelihood.mean(theta)) @ inverse @ likelihood.hessian(theta) @ along)

    angles = np.linspace(-math.pi, math.pi, 181)
    best = angles[np.argmin([distance(angle) for angle in angles])]
    step = angles[1] - angles[0]
    return point(zero_of(growth, best - step, best + step))


class Printed(NamedTuple):
    """An optimistic algorithm on the weighted maximum likelihood of a family."""

    family: Family
    rate: float
    kappa: float  # ridge of the likelihood
    ridge: float  # of V
    bound: float  # S
    bonus: Callable[[int, np.ndarray], float]  # factor of ‖x‖ in the norm of V⁻¹, from t and θ̂
    projects: bool


def play(printed: Printed, rounds: Iterable[Round]) -> Iterator[Step]:
    """Play all rounds of the plane; of tied arms the first."""
    past: Past = []
    family, rate, kappa, ridge, bound, bonus, projects = printed
    for t, here in enumerate(rounds, start=1):
        v = sums_of(((rate**age, *one) for age, one in enumerate(reversed(past))), ridge, 2).gram
        likelihood = Likelihood(family, past, rate, kappa)
        theta_hat = theta = likelihood.maximiser()
        if projects and np.linalg.norm(theta_hat) > bound:
            theta = circle_projection(likelihood, theta_hat, v, bound)
        step = here.step(theta, (bonus(t, theta_hat), np.linalg.inv(v)), mean=family.mean)
        past.append((here.features[step.arm], float(here.rewards[step.arm])))
        yield step


def glb_weight_ucb(
    *, dim: int, rate: float, ridge: float, bound: float, log_inverse_delta: Callable[[int], float]
) -> Printed:
    """Wang, Zhao & Zhou 2023, GLB-WeightUCB for clicks, whose noise is 1/2-sub-Gaussian."""
    c, k = LOGISTIC.slope(bound), 0.25

    def bonus(t: int, theta_hat: np.ndarray) -> float:
        counted = (1 - rate ** (2 * (t - 1))) / (1 - rate**2)
        information = dim * math.log(1 + counted / (ridge * dim))
        beta = math.sqrt(ridge) * c * bound + 0.5 * math.sqrt(2 * log_inverse_delta(t) + information)
        return 2 * k / c * beta

    return Printed(LOGISTIC, rate, ridge * c, ridge, bound, bonus, projects=True)


def sc_d_glucb(
    *, dim: int, rate: float, ridge: float, bound: float, delta: float, num_rounds: int
) -> Printed:
    """Russac, Faury, Cappé & Garivier 2021, SC-D-GLUCB for clicks; the smaller radius where ‖θ̂‖ ≤ S."""
    c, k, m, last = LOGISTIC.slope(bound), 0.25, 1.0, num_rounds
    root_ridge = math.sqrt(ridge)
    growth = math.log(1 + k * (1 - last**-2) / (dim * ridge * (1 - rate**2)))
    rho = root_ridge / (2 * m) + 2 * m / root_ridge * (math.log(last / delta) + dim * math.log(2))
    rho += dim * m / root_ridge * growth
    s_bar = bound + (2 * bound * k + m) / (last * ridge * (1 - rate))
    wide = k * root_ridge * (1 + s_bar + rho * math.sqrt((1 + s_bar) / ridge) + rho**2 / ridge) ** 1.5
    narrow = k * math.sqrt(1 + 2 * bound) * (root_ridge * bound + rho)

    def bonus(t: int, theta_hat: np.ndarray) -> float:
        beta = narrow if np.linalg.norm(theta_hat) <= bound else wide
        return beta / math.sqrt(c)

    return Printed(LOGISTIC, rate, ridge, ridge / c, bound, bonus, projects=False)
