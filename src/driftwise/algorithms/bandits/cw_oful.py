"""CW-OFUL and its forgetful kin: optimism where rewards may be corrupted."""

from __future__ import annotations

import math
from typing import Any, Literal, Unpack

import numpy as np

from driftwise.algorithms.bandits.agent import (
    Confidence,
    Information,
    SpreadConfidence,
    bandit_agent,
    confidence_radius,
)
from driftwise.algorithms.bandits.d_lin_ucb import weight_ucb_tuning
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, require_number, require_numeric
from driftwise.parts.caution import Caution
from driftwise.parts.exploration import CautiousUcb, Ucb
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.theory.bandit_tuning import RidgeRule, Tuning

LEAST = 1e-12  # corruption below which no sample is weighed down


def _caution(
    spec: Spec,
    alpha: Numeric | None,
    corruption: Numeric,
    ridge: Numeric,
    noise_scale: Numeric | None = None,
    norm_bound: Numeric = 1.0,
    **_: Any,
) -> Caution:
    """Caution with the α that was given, or with (σ√d + √λS)/C."""
    if alpha is not None:
        return Caution(alpha)
    if noise_scale is None:
        raise ArgumentError("alpha", "be a number above 0 where no noise_scale is given", None)
    given = dict(noise_scale=noise_scale, norm_bound=norm_bound, ridge=ridge)
    sigma, bound, ridge = (np.asarray(require_numeric(*each, at_least=0)) for each in given.items())
    spread = sigma * math.sqrt(spec.dim) + np.sqrt(ridge) * bound
    return Caution(spread / np.maximum(corruption, LEAST))


def tuning(
    spec: Spec,
    *,
    num_episodes: int,
    noise_scale: float,
    norm_bound: float = 1.0,
    corruption: float | None = None,
) -> dict[str, Any]:
    """`λ = σ²/S²`. Where the corruption is not known, √K stands for it: `d√K` holds up to so much of it."""
    noise_scale = require_number("noise_scale", noise_scale, above=0)
    norm_bound = require_number("norm_bound", norm_bound, above=0)
    return dict(
        ridge=(noise_scale / norm_bound) ** 2,
        corruption=math.sqrt(num_episodes) if corruption is None else corruption,
    )


@register(
    tuning=tuning,
    tunes=("ridge", "corruption"),
    forgetting="none",
    exploration="UCB, cautious weights",
    bound="d K^(1/2) + d C for corruption C, stationary",
    paper="He, Zhou, Zhang & Gu 2022",
)
def cw_oful(
    spec: Spec,
    *,
    corruption: Numeric,
    alpha: Numeric | None = None,
    information: Information = "count",
    ridge: Numeric = 1.0,
    **confidence: Unpack[Confidence],
) -> LeastSquares:
    r"""Confidence-weighted linear UCB: an adversary may change rewards by $C$ in all, seeing the arm.

    $$w_t = \min\Bigl\{1, \frac{\alpha}{\|x_t\|_{V_t^{-1}}}\Bigr\}, \qquad
      V_t = \sum_{\tau<t} w_\tau x_\tau x_\tau^\top + \lambda I, \qquad
      \hat\theta_t = V_t^{-1} \sum_{\tau<t} w_\tau x_\tau r_\tau,$$
    $$x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x}, \qquad
      \beta_t = \sqrt\lambda S + \sigma\sqrt{2\log\tfrac1\delta + \ell_t} + \alpha C.$$

    Args:
      corruption: $C \ge \sum_t |c_t|$, of what is added to rewards besides noise; 0 is `lin_ucb`.
      alpha: $\alpha > 0$; $(\sigma\sqrt d + \sqrt\lambda S)/C$ unless given.
      noise_scale, radius, norm_bound, delta, information, radius_scale, ridge: as of `lin_ucb`.

    When to use: nothing drifts, but some rewards may be wrong, and you can bound by how much in all.

    When not: rewards can be trusted, or the world drifts; see `lin_ucb` and `robust_weight_ucb`.

    Reference: He, Zhou, Zhang & Gu, "Nearly Optimal Algorithms for Linear Contextual Bandits with Adversarial
    Corruptions", NeurIPS 2022, CW-OFUL. We had its abstract and, at second hand, its algorithm: the values
    of $\alpha$ and of the tuned $\lambda$ may be printed with other constants.

    Deviations from the paper: those of `lin_ucb`.
    """
    amount = require_numeric("corruption", corruption, at_least=0)
    caution = _caution(spec, alpha, amount, ridge, **confidence)
    widening = np.multiply(caution.alpha, amount)
    radius = confidence_radius(
        spread="epochs", shares=1, information=information, widening=widening, **confidence
    )
    return bandit_agent(spec, NoForgetting(), Ucb(radius, "single"), ridge, caution)


def robust_tuning(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    corruption: float | None = None,
    tuning: Tuning = "corrected",
    ridge: RidgeRule | float = "dim",
) -> dict[str, Any]:
    """Rate, `λ` and radius of `weight_ucb`. A corruption that is not known is taken to be √m.

    m is the number of rounds that corruption is remembered for, `1/(1−√η)`, at most K.
    """
    numbers = weight_ucb_tuning(
        spec, num_episodes=num_episodes, variation=variation, tuning=tuning, ridge=ridge
    )
    remembered = 1 / max(1 - math.sqrt(numbers["rate"]), 1 / num_episodes)
    return numbers | dict(corruption=math.sqrt(remembered) if corruption is None else corruption)


@register(
    tuning=robust_tuning,
    tunes=("rate", "ridge", "corruption", "num_episodes", "confidence"),
    forgetting="exponential weights",
    exploration="UCB, cautious weights",
    bound="none for drift and corruption at once",
    paper="ours; He, Zhou, Zhang & Gu 2022",
)
def robust_weight_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    corruption: Numeric,
    alpha: Numeric | None = None,
    norm: Literal["single", "sandwich"] = "single",
    ridge: Numeric = 1.0,
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Weighted UCB with the cautious weights of `cw_oful`, for rewards that drift and are corrupted.

    $$V_t = \sum_{\tau<t} \eta^{t-1-\tau} w_\tau x_\tau x_\tau^\top + \lambda I, \qquad
      \hat\theta_t = V_t^{-1} \sum_{\tau<t} \eta^{t-1-\tau} w_\tau x_\tau r_\tau, \qquad
      w_t = \min\Bigl\{1, \frac{\alpha}{\|x_t\|_{V_t^{-1}}}\Bigr\},$$

    and the radius $\beta_t$ of `weight_ucb`, wider by $\alpha\eta^{-1/2}\tilde C$: corruption is forgotten at
    half the rate. The sandwich with $\tilde V_t$ below is the width of noise alone; `norm="sandwich"` has the
    bonus
    $$\tilde V_t = \sum_{\tau<t} \eta^{2(t-1-\tau)} w_\tau^2 x_\tau x_\tau^\top + \lambda I, \qquad
      \beta_t\sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x} +
      \alpha\eta^{-1/2}\tilde C\sqrt{x^\top V_t^{-1} x}.$$

    Args:
      rate: $\eta \in (0, 1]$.
      corruption: $\tilde C \ge \sum_{\tau<t} \eta^{(t-1-\tau)/2} |c_\tau|$ in every round $t$, say
        $\bar c/(1-\sqrt\eta)$ if no reward is changed by more than $\bar c$; 0 is `weight_ucb`.
      alpha: $\alpha > 0$; $(\sigma\sqrt d + \sqrt\lambda S)\sqrt\eta/\tilde C$ unless given.
      norm: `"single"` is the norm of $V_t^{-1}$ for all; `"sandwich"` as above, never larger.
      noise_scale, radius, norm_bound, delta, num_episodes, confidence, radius_scale: as of `d_lin_ucb`; a
        `radius` that is given is $\beta_t$ of the norm: with `"single"` for noise and corruption, with
        `"sandwich"` for noise alone, and corruption has its own term.
      ridge: $\lambda > 0$.

    When to use: the world drifts and some rewards may be wrong.

    When not: rewards can be trusted. Caution gives weight away, and no bound covers both at once.

    Reference: the weights are those of He, Zhou, Zhang & Gu 2022; that they go with forgetting is our
    derivation, see `driftwise.parts.caution.Caution`. No bound on the regret is known.
    """
    forgetting = ExponentialWeights(rate)
    amount = require_numeric("corruption", corruption, at_least=0) / np.sqrt(forgetting.rate)
    caution = _caution(spec, alpha, amount, ridge, **confidence)
    widening = np.multiply(caution.alpha, amount)
    if norm == "sandwich":  # noise and corruption have their own norms
        scaled = np.multiply(confidence.get("radius_scale", 1.0), widening)
        exploration = CautiousUcb(confidence_radius(**confidence), scaled)
    else:
        exploration = Ucb(confidence_radius(widening=widening, **confidence), norm)
    return bandit_agent(spec, forgetting, exploration, ridge, caution)
