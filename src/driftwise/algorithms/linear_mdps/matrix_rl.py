"""MatrixRL: optimistic value iteration with known rewards and known features of successors."""

from __future__ import annotations

import math
from typing import Any, Literal, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import AnyForgetting, LinearRun, choose_forgetting, radius_and_memory
from driftwise.base.types import Numeric, Spec
from driftwise.parts import LeastSquares, Ucb


def tune_matrix_rl(spec: Spec, **run: Unpack[LinearRun]) -> dict[str, Any]:
    r"""The radius of MatrixRL's theory, and a forgetting as fast as OPT-WLSVI's.

    The radius is $c\,H\sqrt{d\iota}$ with OPT-WLSVI's logarithm $\iota$: a factor $\sqrt d$ less than where
    features of successors are not known. `beta_scale` is $c$, with all constants of the features in it.
    """
    radius, memory = radius_and_memory(spec, **run)
    return dict(radius=radius / math.sqrt(spec.dim), **memory)


@tuned_by(tune_matrix_rl, "radius", *AnyForgetting.__annotations__)
@register(
    "none, or any",
    "UCB; rewards and features of successors are known",
    bound="d H^2 T^(1/2), T = HK, stationary",
)
def matrix_rl(
    spec: Spec,
    *,
    radius: Numeric,
    ridge: Numeric = 1.0,
    steps: Literal["shared", "apart"] = "shared",
    clip: Literal["range", "tight"] = "range",
    **forgetting: Unpack[AnyForgetting],
) -> LeastSquares:
    r"""Value iteration on an estimate of the matrix $M$ in $P(s'|s,a) = \phi(s,a)^\top M \psi(s')$.

    $$A_t = \lambda I + \sum_{\tau<t,\,h} \phi_{\tau,h}\phi_{\tau,h}^\top, \qquad
      \hat M_t = A_t^{-1} \sum_{\tau<t,\,h} \phi_{\tau,h}\,\psi(s_{\tau,h+1})^\top K_\psi^{-1}, \qquad
      K_\psi = \sum_s \psi(s)\psi(s)^\top,$$
    $$Q_{t,h} = r_{t,h} + \phi^\top \hat M_t \sum_s \psi(s) V_{t,h+1}(s) + \beta\sqrt{\phi^\top A_t^{-1}\phi},
      \qquad V_{t,h} = \min\{\max\{\max_a Q_{t,h}(\cdot,a), 0\}, H\}.$$

    It needs $\psi$ and the rewards of every episode; an environment without `successor_features` is
    refused. Where it forgets, sums are weighted.

    Args:
      steps: `"shared"` as above, for transitions that do not depend on h (other environments are refused);
        `"apart"` has sums for each step.
      clip: `"range"` as above; `"tight"` clips step h to $[0, H-h+1]$.
    When to use: rewards and features of successors are known, so that a small matrix is all there is to
    learn.
    When not: rewards have to be learnt, or nobody knows the features of successors.
    Reference: Yang & Wang 2020, Algorithm 1.
    Deviations from the paper: the most that an $M$ of the confidence ball can give depends on
    $\|\sum_s \psi(s)V(s)\| \le C_\psi H$; the bound takes its place, so that the bonus is the same for all V.
    Where several actions reach the clip, the one with the largest unclipped index acts; other ties are broken
    at random. Forgetting, rewards that depend on episode and step, and `steps="apart"` are ours.
    """
    return LeastSquares(
        spec,
        choose_forgetting(**forgetting),
        Ucb(radius, "single"),
        ridge,
        clip,
        rewards="known",
        successors="features",
        steps=steps,
    )
