"""Confidence sequences by their definitions: every sum is taken anew over all outcomes.

Waudby-Smith & Ramdas 2024 for the plug-in empirical Bernstein bound; the others share its supermartingale.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def psi(bet: float) -> float:
    return -math.log(1 - bet) - bet


def drift_bound(outcomes: Sequence[float], cap: float, rate: float, alpha: float, num_bets: int = 8) -> float:
    """The lower bound of the mean with the weights `rate^(t−i)`."""
    last = len(outcomes) - 1
    weights = [rate ** (last - i) for i in range(len(outcomes))]
    spread = 0.0
    for i, outcome in enumerate(outcomes):
        ages = [rate ** (i - 1 - j) for j in range(i)]
        centre = min(np.average(outcomes[:i], weights=ages), cap) if i else cap / 2
        spread += weights[i] ** 2 * (outcome - centre) ** 2
    mean, total = np.average(outcomes, weights=weights), sum(weights)
    bets = [2.0**-j for j in range(1, num_bets + 1)]
    return max(mean - (math.log(num_bets / alpha) + psi(bet) * spread) / (bet * total) for bet in bets)


def plug_in_bound(outcomes: Sequence[float], cap: float, alpha: float) -> float:
    """The lower bound of a mean that favours early outcomes."""
    bets, cost = [], 0.0
    for i, outcome in enumerate(outcomes):
        before, t = outcomes[:i], i + 1
        spread = sum((before[j] - np.mean(before[: j + 1])) ** 2 for j in range(i))
        variance = (0.25 + spread) / t
        bets.append(min(math.sqrt(2 * math.log(1 / alpha) / (variance * t * math.log(1 + t))), 0.5))
        centre = min(float(np.mean(before)), cap) if i else cap / 2
        cost += psi(bets[-1]) * (outcome - centre) ** 2
    return float((np.dot(bets, outcomes) - math.log(1 / alpha) - cost) / sum(bets))


def gamma_bound(outcomes: Sequence[float], alpha: float, kappa: float = 1.0) -> float:
    """The lower bound of the running mean with bets mixed by a gamma distribution, for outcomes from 0.

    The least ν at which `κ^κ e^−κ/(Γ(κ) − Γ(κ, κ)) · ₁F₁(1; V+κ+1; s+V+κ)/(V+κ)`, `s = Σξ − tν`, is below 1/α
    (Waudby-Smith, Wu, Ramdas, Karampatziakis & Mineiro 2022).
    """
    from scipy import optimize, special

    total, spread, before = 0.0, 0.0, 0.5
    for t, outcome in enumerate(outcomes, start=1):
        spread += (outcome - before) ** 2
        total += outcome
        before = min(total / t, 1.0)
    lower = special.gammaln(kappa) + math.log(special.gammainc(kappa, kappa))  # log(Γ(κ) − Γ(κ, κ))
    constant = kappa * math.log(kappa) - kappa - lower

    def excess(nu: float) -> float:
        s = total - len(outcomes) * nu
        grown = special.hyp1f1(1.0, spread + kappa + 1, s + spread + kappa)
        return constant + math.log(grown) - math.log(spread + kappa) - math.log(1 / alpha)

    if excess(0.0) < 0:
        return 0.0
    root: Any = optimize.brentq(excess, 0.0, total / len(outcomes))
    return root
