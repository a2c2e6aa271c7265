r"""The radius of a confidence ellipsoid around the parameter of a linear bandit, as functions of numbers.

It is $\sqrt\lambda S + \sigma\sqrt{2\log(1/\delta') + \ell}$ for $\sigma$-sub-Gaussian noise,
$\|\theta\| \le S$ and $\|x\| \le 1$. The information $\ell$ is $\log(\det\Lambda/\lambda^d)$, or its bound
`counted_information`.

The inequality without weights holds for all rounds of an epoch at once (Abbasi-Yadkori, Pál & Szepesvári
2011, Theorem 2): with restarts $\delta$ is spread over the epochs. The one for weighted sums that D-LinUCB
rests on (Russac, Vernade & Cappé 2019, Theorem 1) is stated for all rounds at once, but it holds at each
fixed round only (Y.-S. Wu, 2026): with weights or windows $\delta$ is spread over the rounds.

`xp` is the array library to compute in.
"""

from __future__ import annotations

from typing import Any

from driftwise.base.arrays import Numbers
from driftwise.base.validation import require_count, require_number
from driftwise.theory.bandit_tuning import RidgeRule, bandit_ridge


def log_failure(delta: Any, shares: Any, current: Any, xp: Any = Numbers) -> Any:
    r"""$\log(1/\delta')$, such that the failures of all shares together stay below $\delta$.

    With a known number of shares, of rounds or of epochs, $\delta' = \delta/N$. Where it is not known,
    `shares=0`, the share $t = 1, 2, \dots$ is $\delta' = \delta/(2t(1+\ln t)^2)$; all of them sum to at most
    $\delta$. `current` is $t$.
    """
    num = xp.where(shares > 0, shares, 2 * current * (1 + xp.log(current)) ** 2)
    return xp.log(num) - xp.log(delta)


def counted_information(dim: int, samples: Any, ridge: Any, xp: Any = Numbers) -> Any:
    r"""$d\log(1 + n/(\lambda d)) \ge \log(\det\Lambda/\lambda^d)$ after $n$ samples; $n = \sum\omega^2$."""
    return dim * xp.log1p(samples / (ridge * dim))


def ellipsoid_radius(
    information: Any, failure: Any, noise_scale: Any, norm_bound: Any, ridge: Any, xp: Any = Numbers
) -> Any:
    r"""$\sqrt\lambda S + \sigma\sqrt{2\log(1/\delta') + \ell}$."""
    return xp.sqrt(ridge) * norm_bound + noise_scale * xp.sqrt(2 * failure + information)


def bandit_radius(
    *,
    dim: int,
    samples: float,
    shares: float,
    noise_scale: float,
    norm_bound: float = 1.0,
    delta: float = 0.05,
    ridge: RidgeRule | float = "one",
) -> float:
    r"""$\beta = \sqrt\lambda S + \sigma\sqrt{2\log(N/\delta) + d\log(1 + n/(\lambda d))}$, as one number.

    `samples` $n$ is the window, the period, or $(1-\eta^{2K})/(1-\eta^2)$ of exponential weights; `shares`
    $N$ is into how many $\delta$ is spread: rounds for windows and weights, epochs for restarts.
    `driftwise.parts.radii.ConfidenceRadius` is the same as a part, which follows the run.
    """
    dim, ridge = require_count("dim", dim), bandit_ridge(dim=dim, ridge=ridge)
    samples = require_number("samples", samples, at_least=0)
    shares = require_number("shares", shares, at_least=1)
    delta = require_number("delta", delta, above=0, at_most=1)
    return ellipsoid_radius(
        counted_information(dim, samples, ridge),
        log_failure(delta, shares, 1),
        noise_scale=require_number("noise_scale", noise_scale, at_least=0),
        norm_bound=require_number("norm_bound", norm_bound, at_least=0),
        ridge=ridge,
    )
