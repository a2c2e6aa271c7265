"""CW-OFUL, also with forgetting: optimism where rewards may be corrupted."""

import math
from typing import Any, Unpack

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits import bandit_agent as bandit
from driftwise.algorithms.bandits.bandit_agent import Confidence, Information, SpreadConfidence
from driftwise.algorithms.bandits.lin_ucb import WeightUcbRun, tune_weight_ucb
from driftwise.base.schema import add_defaults
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, require_number, require_numeric
from driftwise.parts import Caution, CautiousUcb, ExponentialWeights, LeastSquares, NoForgetting
from driftwise.parts.exploration import Norm

_LEAST = 1e-12  # corruption below which no sample is weighed down


def _caution(spec: Spec, alpha: Numeric | None, corruption: Numeric, confidence: Confidence) -> Caution:
    """Return caution with the α that was given, or with `(σ√d + √λS)/C`."""
    if alpha is not None:
        return Caution(alpha)
    options = add_defaults(Confidence, confidence)
    if options["noise_scale"] is None:
        raise ArgumentError("alpha", "be a number above 0 where no noise_scale is given", None)
    names = "noise_scale", "norm_bound", "ridge"
    sigma, bound, ridge = (np.asarray(require_numeric(name, options[name], at_least=0)) for name in names)
    return Caution((sigma * math.sqrt(spec.dim) + np.sqrt(ridge) * bound) / np.maximum(corruption, _LEAST))


def tune_cw_oful(
    spec: Spec,
    *,
    num_episodes: int,
    noise_scale: float,
    norm_bound: float = 1.0,
    corruption: float | None = None,
) -> dict[str, Any]:
    """`λ = σ²/S²`. Where the corruption is not known, √K stands for it: `d√K` holds up to so much of it."""
    noise_scale = require_number("noise_scale", noise_scale, above=0)
    ridge = (noise_scale / require_number("norm_bound", norm_bound, above=0)) ** 2
    return dict(ridge=ridge, corruption=math.sqrt(num_episodes) if corruption is None else corruption)


@tuned_by(tune_cw_oful, "ridge", "corruption")
@register("none", "UCB, cautious weights", bound="d K^(1/2) + d C for corruption C, stationary")
def cw_oful(
    spec: Spec,
    *,
    corruption: Numeric,
    alpha: Numeric | None = None,
    information: Information = "count",
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
    When to use: nothing drifts, but some rewards may be wrong, and you can bound by how much in all.
    When not: rewards can be trusted, or the problem drifts; see `lin_ucb` and `robust_weight_ucb`.
    Reference: He, Zhou, Zhang & Gu 2022, CW-OFUL, at second hand: its $\alpha$ and $\lambda$ may differ.
    Deviations from the paper: those of `lin_ucb`.
    """
    amount = require_numeric("corruption", corruption, at_least=0)
    caution = _caution(spec, alpha, amount, confidence)
    radius: Any = dict(spread="epochs", shares=1, information=information)
    radius |= dict(widening=np.multiply(caution.alpha, amount))
    return bandit.ucb_agent(spec, NoForgetting(), "single", caution, **radius, **confidence)


def tune_robust_weight_ucb(
    spec: Spec, *, corruption: float | None = None, **run: Unpack[WeightUcbRun]
) -> dict[str, Any]:
    """Rate, `λ` and radius of `weight_ucb`. A corruption that is not known is taken to be √m.

    m is the number of rounds that corruption is remembered for, `1/(1−√η)`, at most K.
    """
    numbers = tune_weight_ucb(spec, **run)
    remembered = 1 / max(1 - math.sqrt(numbers["rate"]), 1 / run["num_episodes"])
    return numbers | dict(corruption=math.sqrt(remembered) if corruption is None else corruption)


@tuned_by(tune_robust_weight_ucb, "rate", "ridge", "corruption", "num_episodes", "confidence")
@register(
    "exponential weights", "UCB, cautious weights", "ours; He, Zhou, Zhang & Gu 2022", "none for both at once"
)
def robust_weight_ucb(
    spec: Spec,
    *,
    rate: Numeric,
    corruption: Numeric,
    alpha: Numeric | None = None,
    norm: Norm = "single",
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Weighted UCB with the cautious weights of `cw_oful`, for rewards that drift and are corrupted.

    $w_t$, $V_t$ and $\hat\theta_t$ are those of `cw_oful` with the weights $\eta^{t-1-\tau} w_\tau$, and
    $\beta_t$ that of `weight_ucb`, wider by $\alpha\eta^{-1/2}\tilde C$: corruption is forgotten at half the
    rate. With `norm="sandwich"` the width of noise alone has the sandwich:
    $$\tilde V_t = \sum_{\tau<t} \eta^{2(t-1-\tau)} w_\tau^2 x_\tau x_\tau^\top + \lambda I, \qquad
      \beta_t\sqrt{x^\top V_t^{-1} \tilde V_t V_t^{-1} x} +
      \alpha\eta^{-1/2}\tilde C\sqrt{x^\top V_t^{-1} x}.$$

    Args:
      corruption: $\tilde C \ge \sum_{\tau<t} \eta^{(t-1-\tau)/2} |c_\tau|$ in every round $t$, say $\bar
        c/(1-\sqrt\eta)$ if no reward is changed by more than $\bar c$; 0 is `weight_ucb`.
      alpha: $\alpha > 0$; $(\sigma\sqrt d + \sqrt\lambda S)\sqrt\eta/\tilde C$ unless given.
      norm: `"single"` is the norm of $V_t^{-1}$ for all; `"sandwich"` is never larger.
      radius: instead of $\beta_t$: with `"single"` for noise and corruption, with `"sandwich"` for noise.
    When to use: the problem drifts and some rewards may be wrong.
    When not: rewards can be trusted. Caution gives weight away, and no bound covers both at once.
    Reference: weights of He, Zhou, Zhang & Gu 2022; with forgetting they are ours, see
    `driftwise.parts.least_squares.Caution`. No bound on the regret is known.
    """
    forgetting = ExponentialWeights(rate)
    amount = require_numeric("corruption", corruption, at_least=0) / np.sqrt(forgetting.rate)
    caution = _caution(spec, alpha, amount, confidence)
    widening = np.multiply(caution.alpha, amount)
    if norm != "sandwich":
        return bandit.ucb_agent(spec, forgetting, norm, caution, widening=widening, **confidence)
    scaled = np.multiply(confidence.get("radius_scale", 1.0), widening)
    exploration = CautiousUcb(bandit.confidence_radius(**confidence), scaled)  # of noise and of corruption
    return bandit.bandit_agent(spec, forgetting, exploration, confidence.get("ridge", 1.0), caution)
