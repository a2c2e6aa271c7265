"""Kernel-UCBVI, and with time weights KeRNS: optimistic value iteration on means over a neighbourhood."""

from __future__ import annotations

import math
from typing import Any, Unpack

from driftwise.algorithms.any_forgetting import AnyForgetting, chosen_forgetting
from driftwise.algorithms.metric.kernel_value_iteration import KernelValueIteration
from driftwise.algorithms.registry import register
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import require_number
from driftwise.theory.metric_tuning import kernel_bandwidth, kernel_rate


def tuning(
    spec: Spec,
    *,
    num_episodes: int,
    variation: float,
    lipschitz: float = 1.0,
    delta: float = 0.05,
    beta_scale: float = 1.0,
) -> dict[str, Any]:
    r"""The rate and the bandwidth of KeRNS's regret bound, up to constants, in the unit square.

    The `variation` is that of the pair that moves most, `environment.variation(K, norm="pairs").total`.
    The radius is that of Hoeffding's inequality over steps, episodes and pairs,
    $H\sqrt{\log(2HKSA/\delta)/2}$, times `beta_scale`: the bound's has constants that nobody would use.
    """
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    delta = require_number("delta", delta, above=0, at_most=1)
    scale = require_number("beta_scale", beta_scale, at_least=0)
    events = spec.horizon * num_episodes * spec.num_states * spec.num_actions
    return dict(
        bandwidth=kernel_bandwidth(**run),
        radius=scale * spec.horizon * math.sqrt(math.log(2 * events / delta) / 2),
        lipschitz=lipschitz,
        rate=kernel_rate(**run),
    )


@register(
    tuning=tuning,
    tunes=("bandwidth", "radius", "lipschitz", "rate", "length", "period"),
    problem="metric MDP",
    forgetting="none, or any of them",
    exploration="UCB on kernel-weighted counts",
    bound="Δ^(1/(2d+2)) K^((2d+1)/(2d+2)) in dimension d, powers of H left out",
    paper="Domingues, Ménard, Pirotta, Kaufmann & Valko 2021",
)
def kernel_ucbvi(
    spec: Spec,
    *,
    bandwidth: Numeric,
    radius: Numeric,
    lipschitz: Numeric,
    ridge: Numeric = 0.05,
    bias_scale: Numeric = 1.0,
    **forgetting: Unpack[AnyForgetting],
) -> KernelValueIteration:
    r"""Optimistic value iteration whose means are weighted by nearness, and by age: Kernel-UCBVI and KeRNS.

    With $u = (x, a)$, the metric $\rho(u, v) = |x_u - x_v| + |a_u - a_v|$ and the pairs $u_{s,h}$ visited,
    $$w_s(u) = \eta^{k-1-s} \exp\Bigl(-\frac{\rho(u, u_{s,h})^2}{2\sigma^2}\Bigr), \qquad
      C_h(u) = \beta + \sum_{s<k} w_s(u),$$
    $$\tilde Q_h(u) = \frac{1}{C_h(u)} \sum_{s<k} w_s(u) \bigl(r_{s,h} + V_{h+1}(x_{s,h+1})\bigr)
      + \frac{b}{\sqrt{C_h(u)}} + \frac{\beta H}{C_h(u)} + c L \sigma,$$
    $$Q_h(u) = \min_{s<k} \bigl(\tilde Q_h(u_{s,h}) + L \rho(u, u_{s,h})\bigr), \qquad
      V_h(x) = \min\{\max_a Q_h(x, a), H-h+1\}.$$

    The greedy policy acts on $Q$, which is $H-h+1$ before the first episode. A visit is counted at all pairs
    when it is made, so an episode costs the same however many there were before. The agent has to be told
    `positions`; an environment without them is refused.

    Args:
      spec: sizes of the problem, `environment.spec`.
      bandwidth: $\sigma > 0$.
      radius: $b \ge 0$; in theory $H$ times logarithms.
      lipschitz: $L \ge 0$, of the optimal action values.
      ridge: $\beta > 0$.
      bias_scale: $c \ge 0$; 0 leaves out what smoothing may hide, as is done in practice.
      rate: weight visits with $\eta^{k-1-s}$, $\eta \in (0, 1]$.
      length: or count the newest $W$ episodes only; their kernel weights, $W H S A$ numbers, are remembered.
      period: or start counting anew every $E$ episodes. At most one of the three; without any, nothing is
        forgotten and it is Kernel-UCBVI.

    Reference: Domingues, Ménard, Pirotta, Kaufmann & Valko, "A Kernel-Based Approach to Non-Stationary
    Reinforcement Learning in Metric Spaces", 2021, Algorithms 1 and 2; without forgetting their
    "Kernel-Based Reinforcement Learning: A Finite-Time Analysis", 2021.

    Deviations from the papers: the terms of the bonus have one factor each in the place of constants and
    logarithms; ties are broken at random.
    """
    chosen = chosen_forgetting(**forgetting)
    return KernelValueIteration(spec, chosen, bandwidth, radius, lipschitz, ridge, bias_scale)
