"""Linear UCB that forgets by the clock, for rewards that come at any time."""

from __future__ import annotations

from typing import Literal, Unpack

from driftwise.algorithms.bandits.agent import SpreadConfidence, bandit_agent, confidence_radius
from driftwise.algorithms.registry import register
from driftwise.base.times import Duration, seconds_of
from driftwise.base.types import Numeric, Spec
from driftwise.parts.clock import ClockWeights
from driftwise.parts.exploration import Ucb
from driftwise.parts.least_squares import LeastSquares


@register(
    forgetting="exponential weights in seconds",
    exploration="UCB",
    bound="weight_ucb's for equal gaps",
    paper="ours",
)
def clock_lin_ucb(
    spec: Spec,
    *,
    half_life: Numeric | Duration,
    prior: Literal["zero", "hold", "decay"] = "zero",
    reference: Literal["now", "last"] = "now",
    norm: Literal["single", "sandwich"] = "single",
    ridge: Numeric = 1.0,
    **confidence: Unpack[SpreadConfidence],
) -> LeastSquares:
    r"""Linear UCB on samples that weigh $\omega_i = 2^{-(t - t_i)/h}$ at the time $t$, in seconds.

    $$\hat\theta_t = V_t^{-1}\sum_i\omega_i x_i r_i, \qquad
      V_t = \sum_i\omega_i x_i x_i^\top + \lambda I, \qquad
      x_t \in \arg\max_x\; x^\top\hat\theta_t + \beta_t \sqrt{x^\top V_t^{-1} x},$$
    $$\beta_t = \sqrt\lambda S
      + \sigma\sqrt{2\log\tfrac1{\delta'} + d\log\Bigl(1 + \frac{\sum_i\omega_i^2}{\lambda d}\Bigr)}.$$

    Online a sample has the time of its decision. In the simulator rounds are a second apart, so that $h$
    counts rounds. See docs/clock-time.md.

    Args:
      half_life: $h > 0$: seconds, a `timedelta`, or text such as `"6h"` or `"2 days"`.
      prior: what silence does to the estimate: `"zero"` sends it to 0, `"hold"` leaves it where it is while
        the width grows to that of the ridge, `"decay"` leaves it while the width grows without end.
      reference: `"now"` weighs samples at the time of the decision, `"last"` at that of the last sample.
      norm: `"single"` as above; `"sandwich"` is the norm of D-LinUCB, with the sums of $\omega_i^2$.
      noise_scale, radius, norm_bound, delta, num_episodes, confidence, radius_scale: as of `d_lin_ucb`.
      ridge: $\lambda > 0$.

    When to use: rewards come at uneven times, and you know how many hours a reward stays useful.

    When not: rounds are evenly spaced; `d_lin_ucb` counts them and is simpler.

    There is no paper. Where nothing changes and times do not depend on rewards, the radius of `prior="zero"`
    holds at each time: weights are then numbers known beforehand, as in `weight_ucb`.
    """
    forgetting = ClockWeights(seconds_of("half_life", half_life), prior, reference)
    return bandit_agent(spec, forgetting, Ucb(confidence_radius(**confidence), norm), ridge)
