r"""The terms that bounds are made of, with the constants of their proofs.

Optimism holds up to a bias, so that a round loses at most twice the bias and twice the bonus. A sum of
bonuses is the radius times the sum of widths $\|\phi_t\|$, which Cauchy and Schwarz and the determinant
bound. $\ell = \max\{1, 1/\lambda\}$ is what short ridges cost; the paper has $\lambda = 1$.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from driftwise.theory.bounds.bound import Setting, Term, Value, whole_episodes
from driftwise.theory.confidence import bandit_radius
from driftwise.theory.tuning import lsvi_ucb_radius, opt_wlsvi_radius


def memory_of(rate: float) -> float:
    r"""$m = 1/\log(1/\eta)$."""
    return math.inf if rate == 1 else -1 / math.log(rate)


def weight_total(memory: float, count: float) -> float:
    r"""$\sum_{i<n}\eta^i$ with $\eta = e^{-1/m}$: at most $n$, at most $1/(1-\eta)$."""
    return count if math.isinf(memory) else math.expm1(-count / memory) / math.expm1(-1 / memory)


def analysis_window(setting: Setting, memory: float) -> int:
    r"""$W = \log(K/(1-\eta))/\log(1/\eta)$, at most $K$: what is older has a share of at most $1/K$."""
    if math.isinf(memory):
        return setting.num_episodes
    window = memory * (math.log(setting.num_episodes) - math.log(-math.expm1(-1 / memory)))
    return math.ceil(min(max(window, 1.0), setting.num_episodes))


def explore(formula: str, radius: Value, width: Term) -> Term:
    """Return $2\\beta H$ times the sum of widths; $H = 1$ in a bandit."""
    formula += width.formula
    return Term("exploration", formula, lambda s, m: 2 * radius(s, m) * s.horizon * width(s, m), radius)


def num_epochs(setting: Setting, memory: float) -> int:
    return -(-setting.num_episodes // whole_episodes(setting, memory))


@partial(Term, "exploration", r"\sqrt{2dK(K\log\frac1\eta + \log(1 + \frac1{d\lambda(1-\eta)}))}")
def weighted_width(setting: Setting, memory: float) -> float:
    r"""Equation (24), with $\sum\omega$ for $1/(1-\eta)$ and the factor $\sqrt\ell$."""
    dim, runs, ridge = setting.dim, setting.num_episodes, ridge_of(setting)
    information = runs / memory + math.log1p(weight_total(memory, runs) / (dim * ridge))
    return math.sqrt(2 * max(1.0, 1 / ridge) * dim * runs * information)


@partial(Term, "exploration", r"\sqrt{2dK\lceil K/W\rceil\log(1 + \frac W{d\lambda})}")
def window_width(setting: Setting, memory: float) -> float:
    """The same window by window."""
    dim, runs, ridge = setting.dim, setting.num_episodes, ridge_of(setting)
    information = math.log1p(whole_episodes(setting, memory) / (dim * ridge))
    return math.sqrt(2 * max(1.0, 1 / ridge) * dim * runs * num_epochs(setting, memory) * information)


@partial(Term, "drift", r"\sqrt{\frac d{\lambda(1-\eta)}}\,W\Delta")
def weighted_drift(setting: Setting, memory: float) -> float:
    """How far the newest $W$ episodes mislead, summed over all."""
    window = analysis_window(setting, memory)
    spread = math.sqrt(setting.dim / ridge_of(setting) * weight_total(memory, window))
    return spread * window * setting.variation


@partial(Term, "drift", r"\sqrt{\frac d{\lambda(1-\eta)}}\,\frac\Delta{1-\sqrt\eta}")
def unsplit_drift(setting: Setting, memory: float) -> float:
    r"""In episode $t$ the move of episode $s$ counts at most $\sqrt{d\eta^{t-1-s}/(\lambda(1-\eta))}$."""
    total, fading = (weight_total(memory * factor, setting.num_episodes) for factor in (1, 2))
    return math.sqrt(setting.dim / ridge_of(setting) * total) * fading * setting.variation


@partial(Term, "drift", r"\sqrt{\frac{dW}\lambda}\,W\Delta")
def window_drift(setting: Setting, memory: float) -> float:
    window = whole_episodes(setting, memory)
    return math.sqrt(setting.dim * window / ridge_of(setting)) * window * setting.variation


@partial(Term, "drift", r"(1 + \frac{\log(1 + \frac1{\lambda(1-\eta)})}{\log(1/\eta)})\Delta")
def fading_average_drift(setting: Setting, memory: float) -> float:
    r"""The drift of weighted averages, each move fading with age.

    In a direction that was not played for $j$ episodes, what is older still has the share
    $\eta^jw/(\eta^jw + \lambda)$ of an average, with $w \le 1/(1-\eta)$.
    """
    total, ridge = weight_total(memory, setting.num_episodes), ridge_of(setting)
    fading = total / (total + ridge) + memory * math.log1p(total / ridge)
    return min(fading, setting.num_episodes) * setting.variation


@partial(Term, "what is older", r"\frac{\eta^W}{1-\eta}")
def weighted_tail(setting: Setting, memory: float) -> float:
    """The weight of what is older than $W$; none is if $W = K$."""
    window = analysis_window(setting, memory)
    older = setting.num_episodes - window
    return math.exp(-window / memory) * weight_total(memory, older) if older else 0.0


def weighted_samples(setting: Setting, memory: float) -> float:
    r"""$\sum\omega^2$ at the end of the run; $\eta^2$ has half the memory."""
    return weight_total(memory / 2, setting.num_episodes)


def make_radius(samples: Value, shares: Value | None = None) -> Value:
    r"""The radius after $n$ samples, with $\delta$ spread over shares, by default over all rounds."""

    def value(setting: Setting, memory: float) -> float:
        sizes: Any = {name: getattr(setting, name) for name in ("dim", "noise_scale", "norm_bound", "delta")}
        sizes |= dict(samples=samples(setting, memory), ridge=ridge_of(setting))
        return bandit_radius(**sizes, shares=shares(setting, memory) if shares else setting.num_episodes)

    return value


def opt_wlsvi_beta(setting: Setting, memory: float) -> float:
    r"""$\beta = c\,dH\sqrt\iota$ of Theorem 1; ridges beyond $d$ need more of it."""
    return _scale_radius(opt_wlsvi_radius, setting, rate=math.exp(-1 / memory))


def lsvi_ucb_beta(setting: Setting, memory: float) -> float:
    r"""$\beta = c\,dH\sqrt{\log(2dT/\delta)}$ of LSVI-UCB."""
    return _scale_radius(lsvi_ucb_radius, setting)


def _scale_radius(radius: Callable[..., float], setting: Setting, **rate: float) -> float:
    sizes: dict[str, Any] = {name: getattr(setting, name) for name in ("dim", "horizon", "num_episodes")}
    sizes |= dict(delta=setting.delta, beta_scale=setting.constant, mu_bound=setting.mu_bound)
    ridge, largest = ridge_of(setting), float(setting.dim)
    return radius(**sizes, ridge=min(ridge, largest), **rate) * max(1.0, math.sqrt(ridge / largest))


@partial(Term, "martingale", r"4\sqrt{H^3K\log(4/\delta)}")
def martingale(setting: Setting, memory: float) -> float:
    """Chance in the successors, Equation (23)."""
    return 4 * math.sqrt(setting.horizon**3 * setting.num_episodes * math.log(4 / setting.delta))


@partial(Term, "drift", r"2H^2dE\Delta\sqrt{2\log(1 + \frac E{d\lambda})}")
def known_drift(setting: Setting, memory: float) -> float:
    """Return what a radius with the local variation adds."""
    ridge, window = ridge_of(setting), whole_episodes(setting, memory)
    width = math.sqrt(2 * max(1.0, 1 / ridge) * math.log1p(window / (setting.dim * ridge)))
    return 2 * setting.horizon**2 * setting.dim * window * setting.variation * width


def ridge_of(setting: Setting) -> float:
    assert setting.ridge is not None, "a bound fills in its own ridge before it is evaluated"
    return setting.ridge
