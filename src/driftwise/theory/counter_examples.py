r"""Steps that fail in published analyses of forgetting, and an assumption that does not bound what it has to.

Cheung, Simchi-Levi & Zhu (2019, Lemma 1) need $y^\top V^{-1}Xy\ge 0$ for all $y$, where
$X=\sum_{\tau\le p}A_\tau A_\tau^\top$ is a part of $V = \sum_\tau A_\tau A_\tau^\top+\lambda I$. Touati &
Vincent (2020, Appendix A) show why it is not so.
"""

import math
from typing import NamedTuple

import numpy as np

from driftwise.base.schema import Count, Positive, PositiveShare, Seed, check_keywords
from driftwise.base.validation import require_array, require_number
from driftwise.theory.confidence import log_failure


class Witness(NamedTuple):
    """A matrix and a vector `y` at which its quadratic form is negative."""

    matrix: np.ndarray
    vector: np.ndarray

    @property
    def value(self) -> float:
        """`yᵀMy`."""
        return float(self.vector @ self.matrix @ self.vector)


def same_characteristic_polynomial() -> Witness:
    r"""$B$ with columns $(1,0),(-10,1)$ has the characteristic polynomial of $I$, and $y^\top By=-8$."""
    return Witness(np.array([[1.0, -10.0], [0.0, 1.0]]), np.array([1.0, 1.0]))


def part_of_a_gram(*, unit_ball: bool = True, ridge: float = 1.0) -> Witness:
    r"""$M=V^{-1}A_1A_1^\top$ with $A_1=(1,0)$, $A_2=(1,1)$ and $y=(1,5)$: $y^\top My=-0.6$ for $\lambda=1$.

    With `unit_ball` $A_2$ is scaled to length one, as the model assumes, and the value is $-2/7$.
    """
    second = np.array([1.0, 1.0]) / (math.sqrt(2) if unit_ball else 1.0)
    matrix = gram_share(np.stack([[1.0, 0.0], second]), [True, False], ridge=ridge)
    return Witness(matrix, np.array([1.0, 5.0]))


@check_keywords
def gram_share(actions: np.ndarray, among: object, *, ridge: Positive) -> np.ndarray:
    r"""$V^{-1}X$ with $V=\sum_\tau A_\tau A_\tau^\top+\lambda I$ and $X$ the same sum over those `among`."""
    actions = require_array("actions", actions, (None, None))
    chosen = actions[np.asarray(among, dtype=bool)]
    return np.linalg.solve(actions.T @ actions + ridge * np.eye(actions.shape[1]), chosen.T @ chosen)


class Crossings(NamedTuple):
    """Weighted sums of noise against their radius, over many runs."""

    ratios: np.ndarray  # [runs, rounds] ‖Σ_τ ω φ_τ ε_τ‖ in the norm of Λ̃⁻¹, over the radius
    radius: np.ndarray  # [rounds]
    share_at: np.ndarray  # [rounds] runs above it in each round: what a bound for a fixed round is about
    share_by: np.ndarray  # [rounds] runs above it in some round so far: what a bound for all rounds is about


@check_keywords
def crossings(
    *,
    num_rounds: Count,
    num_runs: Count,
    rate: PositiveShare = 0.9,
    delta: PositiveShare = 0.05,
    ridge: Positive = 1.0,
    shares: Seed = 1,
    seed: Seed = 0,
) -> Crossings:
    r"""$|S_t|/\sqrt{\tilde V_t}$ against $\sqrt{2\log(1/\delta')+\log(\tilde V_t/\lambda)}$, $x\equiv1$.

    $S_t=\sum_{\tau\le t}\eta^{t-\tau}\varepsilon_\tau$ with standard Gaussian noise and $\tilde
    V_t=\sum_{\tau\le t}\eta^{2(t-\tau)}+\lambda$. $S_t$ is nearly independent after $1/(1-\eta)$ rounds, so
    that it almost surely crosses a fixed radius: the inequality of Russac, Vernade & Cappé (2019) holds for
    each fixed round, not for all at once (Y.-S. Wu, 2026). `shares=1` is as published, see `log_failure`.
    """
    noise = np.random.default_rng(seed).normal(size=(num_runs, num_rounds))
    total, squares = np.zeros(num_runs), 0.0
    ratios, radius = np.empty((num_runs, num_rounds)), np.empty(num_rounds)
    for t in range(num_rounds):
        total, squares = rate * total + noise[:, t], rate**2 * squares + 1
        information = math.log1p(squares / ridge)
        radius[t] = math.sqrt(2 * log_failure(delta, shares, t + 1) + information)
        ratios[:, t] = np.abs(total) / (math.sqrt(squares + ridge) * radius[t])
    above = ratios > 1
    return Crossings(ratios, radius, above.mean(axis=0), np.maximum.accumulate(above, axis=1).mean(axis=0))


class SignedMeasures(NamedTuple):
    r"""A linear MDP of two states with signed measures, and the estimate of $PV$ after many samples of it."""

    features: np.ndarray  # [S=2, A=1, d=2] φ of the only action in each state
    measures: np.ndarray  # [d=2, S=2] μ
    ridge: float
    horizon: int
    assumed: float  # ‖μ(S)‖, which the assumption bounds by √d
    needed: float  # ‖|μ|(S)‖, which bounds ‖∫V dμ‖/H
    width: float  # ‖φ‖ in the norm of Λ⁻¹, of the first state, after as many samples of either state
    truth: float  # [PV](s) of the first state
    ridge_term: float  # λφᵀΛ⁻¹∫V dμ: how far the ridge pulls the estimate down

    def ridge_bound(self, mass: float) -> float:
        r"""$\sqrt\lambda\,HC_\mu\|\phi\|_{\Lambda^{-1}}$, which holds for $C_\mu$ = `needed`."""
        return math.sqrt(self.ridge) * self.horizon * mass * self.width

    def optimistic(self, radius: float) -> float:
        r"""The estimate without noise, and the bonus $\beta\|\phi\|_{\Lambda^{-1}}$."""
        return self.truth - self.ridge_term + radius * self.width


@check_keywords
def signed_measures(
    *, size: float = 1e-4, num_samples: Count = 10**6, horizon: Count = 3, ridge: Positive = 1.0
) -> SignedMeasures:
    r"""Measures with $\|\mu(S)\| = \sqrt d$ whose ridge term is hundreds of times what that allows.

    $\phi = (1/\sqrt2, \pm\epsilon)$ in the two states, $\mu_1 = \frac{\sqrt2}2(1, 1)$, $\mu_2 =
    \frac{0.45}\epsilon(1, -1)$, $V = (H, 0)$ and `size` $\epsilon$. Masses cancel in $\mu(S)$, but
    $\int V\,d\mu$ is of the order $H/\epsilon$, along a direction that $\|\phi\|_{\Lambda^{-1}}$ hardly sees.
    """
    size = require_number("size", size, above=0, at_most=math.sqrt(0.5))
    root, leaning = math.sqrt(0.5), 0.45 / size
    features, measures = np.array([[root, size], [root, -size]]), np.array([[root] * 2, [leaning, -leaning]])
    values = np.array([float(horizon), 0.0])
    gram, phi = num_samples / 2 * features.T @ features + ridge * np.eye(2), features[0]
    return SignedMeasures(
        features=features[:, None],
        measures=measures,
        ridge=ridge,
        horizon=horizon,
        assumed=float(np.linalg.norm(measures.sum(-1))),
        needed=float(np.linalg.norm(np.abs(measures).sum(-1))),
        width=float(np.sqrt(phi @ np.linalg.solve(gram, phi))),
        truth=float(phi @ measures @ values),
        ridge_term=float(ridge * phi @ np.linalg.solve(gram, measures @ values)),
    )
