"""The instance behind the lower bound for linear MDPs."""

from __future__ import annotations

import itertools
import math

import numpy as np

from driftwise.base.arguments import Count, Seed, Several
from driftwise.base.validation import ArgumentError, require_number
from driftwise.environments.drift import Drift, checked_drift
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.registry import register

MAX_SIGNS = 10  # 2^10 actions


@register
def hard_instance(
    *,
    num_signs: Count = 3,
    horizon: Several = 6,
    gap: float | None = None,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
    seed: Seed = 0,
) -> LinearMdp:
    r"""A corridor whose side door pays for the rest of the episode; all actions seem alike.

    In $x_h$ the action $a \in \{\pm 1\}^m$ ($m$ is `num_signs`) leads to the paying state with probability
    $1/H + \langle \nu_h, a \rangle$, else to $x_{h+1}$; the paying state is never left and pays 1 a step.
    The signs of $\nu_h \in \{\pm\epsilon\}^m$ are drawn from `seed` for every step and every anchor, so the
    best action is $\mathrm{sign}(\nu_h)$ and the others are hard to tell from it. With $p = 1/H + m\epsilon$,
    $V^*_1(x_1) = \sum_{h=1}^{H} p (1-p)^{h-1} (H-h)$ in every anchor.

    With $\alpha = 1/\sqrt 2$ and $\beta = 1/\sqrt{2m}$ the features are $\phi(x_h, a) = (\alpha, \beta a, 0)$
    in the corridor $x_1 \dots x_{H+1}$ and $(0, 0, 1)$ in $x_{H+2}$, which pays; `dim` is $m + 2$. Measures
    are signed: with $m = 1$ they exceed what radii assume, and a warning says so (`LinearMdp.mu_bound`).

    Args:
      gap: $\epsilon$, at most $1/(mH)$, which is what it is unless given.

    Reference: the lower bound of Zhou, Chen, Varshney & Jagmohan, "Nonstationary Reinforcement Learning with
    Linear Function Approximation", 2020, whose segments have instances of their own.
    """
    drift = checked_drift(drift)
    if num_signs > MAX_SIGNS:
        raise ArgumentError("num_signs", f"be at most {MAX_SIGNS} (there are 2^num_signs actions)", num_signs)
    require_models(
        (horizon + 2, 2**num_signs, num_signs + 2, horizon),
        drift,
        steps=horizon,
        num_signs=num_signs,
        horizon=horizon,
    )
    widest = 1 / (num_signs * horizon)
    gap = widest if gap is None else require_number("gap", gap, above=0, at_most=widest)
    rng = np.random.default_rng(seed)

    alpha, beta = 1 / math.sqrt(2), 1 / math.sqrt(2 * num_signs)
    num_states, dim = horizon + 2, num_signs + 2
    pays = num_states - 1
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=num_signs)))
    features = np.zeros((num_states, len(signs), dim))
    features[:pays, :, 0] = alpha
    features[:pays, :, 1:-1] = beta * signs
    features[pays, :, -1] = 1

    steps = np.arange(horizon)
    mu = np.zeros((drift.num_anchors, horizon, dim, num_states))
    nu = np.zeros((horizon, num_signs))
    for anchor in mu:  # [step, coordinate, next state]
        before = nu
        while np.array_equal(nu, before):  # each anchor differs from the one before
            nu = gap * rng.choice((-1.0, 1.0), (horizon, num_signs))
        anchor[steps, 0, steps + 1] = (1 - 1 / horizon) / alpha
        anchor[steps, 1:-1, steps + 1] = -nu / beta
        anchor[:, 0, pays] = 1 / (horizon * alpha)
        anchor[:, 1:-1, pays] = nu / beta
        anchor[:, -1, pays] = 1
    return LinearMdp(
        features=features,
        theta=np.broadcast_to(np.eye(dim)[-1], (drift.num_anchors, horizon, dim)),
        mu=mu,
        initial=np.eye(num_states)[0],
        drift=drift,
        rewards=rewards,
        successor_features=np.eye(num_states),  # which span every measure
    )
