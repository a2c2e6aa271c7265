"""dLinUCB: a pool of LinUCB models under a master that detects when they have become wrong."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from driftwise.algorithms.bandits.agent import bandit_agent, confidence_radius
from driftwise.algorithms.bandits.model_pool import ModelPool
from driftwise.algorithms.bandits.tuning import stationary
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Radius, Spec
from driftwise.base.validation import require_numeric
from driftwise.parts.exploration import Ucb
from driftwise.parts.forgetting import NoForgetting


@register(
    tuning=stationary,
    tunes=("ridge",),
    problem="linear bandit",
    forgetting="change detection, a pool of models",
    exploration="UCB",
    bound="Γ S^(1/2) log S, Γ stretches of at most S rounds",
    paper="Wu, Iyer & Wang 2018",
)
def dynamic_lin_ucb(
    spec: Spec,
    *,
    noise_scale: Numeric,
    radius: Numeric | Radius | None = None,
    norm_bound: Numeric = 1.0,
    delta: Numeric = 0.01,
    window: Numeric = 200,
    admit_share: Numeric = 0.2,
    badness_delta: Numeric = 0.01,
    radius_scale: Numeric = 1.0,
    ridge: Numeric = 1.0,
    capacity: int = 8,
) -> ModelPool:
    r"""LinUCB models that are created, selected and discarded by how often they predict wrongly (dLinUCB).

    Model $m$ was wrong about the arm $x$ with reward $r$ if
    $$e_t(m) = \mathbb 1\bigl[|x^\top\hat\theta_m - r| > B_m(x) + \varepsilon\bigr], \qquad
      B_m(x) = \beta_m\sqrt{x^\top\Lambda_m^{-1}x}, \qquad
      \varepsilon = \sqrt2\,\sigma\,\mathrm{erf}^{-1}(1-\delta_1);$$
    it learns from the round if it was not. With $n_m$ the smaller of $\tau$ and its age,
    $$\hat e_m = \frac1{n_m}\sum_{i > t-n_m} e_i(m), \qquad d_m = \sqrt{\frac{\ln(1/\delta_2)}{2n_m}}.$$
    The model with the least $\hat e_m - \sqrt{\ln\tau}\,d_m$ pulls the arm of largest
    $x^\top\hat\theta_m + B_m(x)$. After the round, models with $\hat e_m \ge \delta_1 + d_m$ are discarded,
    and if none has $\hat e_m < \tilde\delta_1 + d_m$, an empty one is added.

    Args:
      spec: sizes of the problem, `environment.spec`.
      noise_scale: $\sigma \ge 0$.
      radius: $\beta \ge 0$, or a part of `driftwise.parts.radii`; without it $\beta_m$ is that of `lin_ucb`
        for the samples the model took.
      norm_bound: $S \ge \|\theta\|$.
      delta: $\delta_1 \in (0, 1]$, the share of wrong predictions that a correct model may have.
      window: $\tau$, rounds in which a model is judged.
      admit_share: $\tilde\delta_1/\delta_1 \in [0, 1]$. The larger it is, the rarer are new models; at 1 the
        pool holds a single one, which is restarted.
      badness_delta: $\delta_2 \in (0, 1]$.
      radius_scale: a factor of $\beta_m$.
      ridge: $\lambda > 0$.
      capacity: models that the pool can hold.

    Reference: Wu, Iyer & Wang, "Learning Contextual Bandits in a Non-stationary Environment", SIGIR 2018,
    Algorithm 1. The defaults of $\tau, \delta_1, \tilde\delta_1, \delta_2$ are those with which Russac,
    Vernade & Cappé (NeurIPS 2019) published their code of it.

    Deviations from the paper: the pool is bounded by `capacity`; when it is full, a new model replaces that
    of the highest $\hat e_m$. The radius is that of Abbasi-Yadkori et al. (2011) with explicit constants. A
    model that has not been judged yet ranks as if judged once, without error. Ties between models go to the
    oldest, ties between arms are broken at random.
    """
    beta = confidence_radius(
        spread="epochs",
        shares=1,
        radius=radius,
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        delta=delta,
        radius_scale=radius_scale,
    )
    return ModelPool(
        bandit_agent(spec, NoForgetting(), Ucb(beta, "single"), ridge),
        margin=_noise_quantile(noise_scale, delta),
        window=window,
        discard_level=delta,
        admit_share=admit_share,
        badness_delta=badness_delta,
        capacity=capacity,
    )


def _noise_quantile(noise_scale: Numeric, delta: Numeric) -> np.ndarray:
    """What a normal deviation of σ exceeds in size with probability δ: `√2 σ erf⁻¹(1−δ) = σ |Φ⁻¹(δ/2)|`."""
    scale = np.asarray(require_numeric("noise_scale", noise_scale, at_least=0))
    tail = np.asarray(require_numeric("delta", delta, above=0, at_most=1)) / 2
    return scale * np.abs(np.vectorize(NormalDist().inv_cdf)(tail))
