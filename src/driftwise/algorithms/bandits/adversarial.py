"""Bandits whose rewards are corrupted or adversarial: CW-OFUL, also with forgetting, and Restart-Adv."""

import math
from typing import Any, Unpack

import numpy as np

from driftwise import parts
from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.bandits import bandit_agent as bandit
from driftwise.algorithms.bandits.bandit_agent import Confidence, Information, SpreadConfidence
from driftwise.algorithms.bandits.lin_ucb import WeightUcbRun, tune_weight_ucb
from driftwise.base import Agent, OptimalDesign
from driftwise.base.arrays import identity_like, namespace
from driftwise.base.part import member, number, part
from driftwise.base.schema import add_defaults
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Sample, Spec
from driftwise.base.validation import ArgumentError, require_number, require_numeric
from driftwise.parts import LeastSquares
from driftwise.parts.designs import g_optimal_design, moment_inverse
from driftwise.parts.exploration import Norm, bandit_plan, uniform_policy
from driftwise.parts.regression import empty_moments
from driftwise.theory.bandit_tuning import adversarial_period


def _caution(spec: Spec, alpha: Numeric | None, corruption: Numeric, confidence: Confidence) -> parts.Caution:
    """Return caution with the α that was given, or with `(σ√d + √λS)/C`."""
    if alpha is None:
        options, names = add_defaults(Confidence, confidence), ("noise_scale", "norm_bound", "ridge")
        if options["noise_scale"] is None:
            raise ArgumentError("alpha", "be a number above 0 where no noise_scale is given", None)
        sigma, bound, ridge = (np.asarray(require_numeric(name, options[name], at_least=0)) for name in names)
        alpha = (sigma * math.sqrt(spec.dim) + np.sqrt(ridge) * bound) / np.maximum(corruption, 1e-12)
    return parts.Caution(alpha)


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
    return bandit.ucb_agent(spec, parts.NoForgetting(), "single", caution, **radius, **confidence)


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
    "exponential weights",
    "UCB, cautious weights",
    "ours; He, Zhou, Zhang & Gu 2022",
    "none for drift and corruption at once",
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

    $$V_t = \sum_{\tau<t} \eta^{t-1-\tau} w_\tau x_\tau x_\tau^\top + \lambda I, \qquad
      \hat\theta_t = V_t^{-1} \sum_{\tau<t} \eta^{t-1-\tau} w_\tau x_\tau r_\tau, \qquad
      w_t = \min\Bigl\{1, \frac{\alpha}{\|x_t\|_{V_t^{-1}}}\Bigr\},$$
    and the radius $\beta_t$ of `weight_ucb`, wider by $\alpha\eta^{-1/2}\tilde C$: corruption is forgotten at
    half the rate. With `norm="sandwich"` the width of noise alone has the sandwich:
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
    forgetting = parts.ExponentialWeights(rate)
    amount = require_numeric("corruption", corruption, at_least=0) / np.sqrt(forgetting.rate)
    caution = _caution(spec, alpha, amount, confidence)
    widening = np.multiply(caution.alpha, amount)
    if norm != "sandwich":
        return bandit.ucb_agent(spec, forgetting, norm, caution, widening=widening, **confidence)
    scaled = np.multiply(confidence.get("radius_scale", 1.0), widening)
    exploration = parts.CautiousUcb(bandit.confidence_radius(**confidence), scaled)
    return bandit.bandit_agent(spec, forgetting, exploration, confidence.get("ridge", 1.0), caution=caution)


_SOFTMAX = parts.Softmax(1.0)


@part
class AdversarialLinear(Agent):
    r"""Exponential weights over arms, mixed with a G-optimal design: the agent of `restart_adv`.

    The moments have $g = \sum Q(p)^{-1}ar$ as `cross`, with $G(x) = x^\top g$, and as `gram` a number of
    rounds times $I$, the mean of the same sum of $aa^\top$.
    """

    off_policy = False  # a reward counts for more the less its chance was
    spec: Spec = member(Spec)
    forgetting: parts.PeriodicRestart = member(parts.PeriodicRestart)
    step_scale: Numeric = number(at_least=0, default=1.0)
    mixing_scale: Numeric = number(above=0, default=1.0)
    reward_bound: Numeric = number(above=0, default=1.0)

    @property
    def optimistic(self) -> bool:
        return False

    @property
    def reward_range(self) -> tuple[float, float]:
        most = float(np.max(self.reward_bound))
        return -most, most

    def init(self, features: FeatureTable) -> Moments:
        nothing = _empty_sample(features.values[:1])
        return self.forgetting.init(empty_moments(nothing, 0, 1.0, gram_sq=False), nothing)

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        xp, dim, rows = namespace(state.gram), self.spec.dim, features.values
        index = xp.zeros(len(rows), dtype=rows.dtype)
        present = features.present
        even = uniform_policy(index if present is None else xp.where(present, index, -xp.inf))
        num_arms = xp.sum(xp.astype(even > 0, state.gram.dtype))
        step = self.step_scale * xp.sqrt(xp.log(num_arms) / (3 * dim * self.forgetting.period))  # ζ
        mixing = xp.minimum(self.mixing_scale * step * dim, xp.ones_like(step))  # γ
        known = features.find(OptimalDesign)
        design = g_optimal_design(rows, even) if known is None else known.array

        def policy(index: Array) -> Array:
            return mixing * design + (1 - mixing) * _SOFTMAX.policy(index)

        gains = state.cross[..., 0]  # [1, d]
        theta = self.reward_bound * gains / state.gram[..., 0, :1]
        mean, index = (weights @ rows.T for weights in (theta, step * gains))
        return bandit_plan(theta, mean, 0 * mean, policy, features, index)

    def update(self, state: Moments, features: FeatureTable, plan: Plan, episode: Episode) -> Moments:
        inverse = moment_inverse(features.values, plan.policy[0, 0])
        gain = episode.rewards[:, None] / self.reward_bound * (episode.features @ inverse)
        learnt = self.forgetting.update(state, _empty_sample(episode.features))
        goes_on = 1 - (learnt.epoch - state.epoch)
        gram = learnt.gram + goes_on * identity_like(learnt.gram)
        return learnt._replace(gram=gram, cross=learnt.cross + goes_on * gain[..., None])

    def moments(self, state: Moments) -> Moments:
        return state


def _empty_sample(features: Array) -> Sample:
    """Return a sample of weight 0, of the shape and type of features `[1, d]`."""
    xp, none = namespace(features), 0 * features[..., 0]
    return Sample(0 * features, none, xp.astype(none, xp.int32), none)


def tune_restart_adv(spec: Spec, *, num_episodes: int, variation: float) -> dict[str, Any]:
    r"""$E = (\sqrt{3d\log N}\,K/(2\Delta))^{2/3}$, at most $K$."""
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    return dict(period=adversarial_period(dim=spec.dim, num_arms=spec.num_actions, **run))


@tuned_by(tune_restart_adv, "period")
@register("periodic restart", "EXP2, G-optimal design", bound="(d log A)^(1/3) Δ^(1/3) K^(2/3), fixed arms")
def restart_adv(
    spec: Spec,
    *,
    period: Numeric,
    step_scale: Numeric = 1.0,
    mixing_scale: Numeric = 1.0,
    reward_bound: Numeric = 1.0,
) -> AdversarialLinear:
    r"""An adversarial linear bandit that restarts every $E$ rounds: of optimal order for fixed arms.

    In a block from $G = 0$, where $\pi$ minimises $\max_a\|a\|^2_{Q(\pi)^{-1}}$, $Q(p) = \sum_a p(a)aa^\top$,
    $$p_t(a) = \gamma\pi(a) + (1-\gamma)\frac{e^{\zeta G(a)}}{\sum_b e^{\zeta G(b)}}, \qquad
      G(x) \leftarrow G(x) + x^\top Q(p_t)^{-1}a_t\,r_t \quad\text{for all } x,$$
    $$\zeta = c\,\sqrt{\frac{\log N}{3dE}}, \qquad \gamma = \min\{1,\; c'\zeta d\}.$$

    The regret of a block is at most $2\sqrt{3dE\log N}$ for any rewards, and that of a tuned run
    $6(\tfrac34 d\log N)^{1/3}\Delta^{1/3}K^{2/3}$, $\Delta = \sum_t\max_a|a^\top(\theta_t - \theta_{t+1})|$.
    No arm's probability is below $\gamma\pi(a)$: its log can evaluate other policies.
    Args:
      step_scale, mixing_scale: $c$ and $c'$; the proof needs $c' \ge 1$.
      reward_bound: rewards lie within $\pm$ this; online others are refused.
    When to use: arms are fixed, and an adversary may choose the rewards.
    When not: arms change from round to round, or rewards are noisy but calm; it explores all the time.
    Reference: Cheung, Simchi-Levi & Zhu 2022; in a block EXP2 (Bubeck, Cesa-Bianchi & Kakade 2012).
    Deviations from the papers: the tuned form takes $\sum_t\|\theta_t - \theta_{t+1}\|$ for $\Delta$. Arms
    that change are played, without a bound.
    """
    bandit.require_bandit(spec)
    return AdversarialLinear(spec, parts.PeriodicRestart(period), step_scale, mixing_scale, reward_bound)
