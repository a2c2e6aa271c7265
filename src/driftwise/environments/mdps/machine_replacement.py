"""Machine replacement under wear that drifts."""

from __future__ import annotations

import numpy as np

from driftwise.base.arguments import Count, Several, Share
from driftwise.environments.drift import Drift, anchor_numbers
from driftwise.environments.models.linear_mdp import LinearMdp, RewardKind
from driftwise.environments.models.sizes import require_models
from driftwise.environments.models.tabular import tabular_mdp
from driftwise.environments.registry import register

KEEP, REPLACE = 0, 1


@register
def machine_replacement(
    *,
    num_conditions: Several = 10,
    horizon: Count = 20,
    wear: tuple[float, ...] = (0.1, 0.9),
    replacement_cost: Share = 0.7,
    drift: Drift | None = None,
    rewards: RewardKind = "mean",
) -> LinearMdp:
    """A machine that wears out: keep it and earn less, or pay for a new one.

    In condition i of 0 (new) … n − 1 (worn out) a step earns `1 − i/(n − 1)`, and with the anchor's
    probability of `wear` the condition becomes one worse, if it can. Action 0 keeps the machine; action 1
    puts a new one in its place at once, which earns `1 − replacement_cost` in this step and wears like any
    other. Episodes start with a new machine. Features are one-hot, so `dim = 2·num_conditions`. A drift with
    fewer anchors than `wear` takes the first ones.

    Reference: the textbook problem, e.g. Puterman, "Markov Decision Processes", 1994, Section 4.7, where it
    is best to replace from some condition on.
    """
    wear, drift = anchor_numbers("wear", wear, drift, at_least=0, at_most=1)
    require_models(
        (num_conditions, 2, 2 * num_conditions, horizon),
        drift,
        num_conditions=num_conditions,
        horizon=horizon,
    )
    condition = np.eye(num_conditions)
    worse = condition[np.minimum(np.arange(num_conditions) + 1, num_conditions - 1)]
    income = np.linspace(1, 0, num_conditions)

    def anchor(worsens: float) -> tuple[np.ndarray, np.ndarray]:
        reward, kernel = np.zeros((num_conditions, 2)), np.zeros((num_conditions, 2, num_conditions))
        reward[:, KEEP], reward[:, REPLACE] = income, income[0] - replacement_cost
        kernel[:, KEEP] = (1 - worsens) * condition + worsens * worse
        kernel[:, REPLACE] = kernel[0, KEEP]
        return reward, kernel

    return tabular_mdp([anchor(worsens) for worsens in wear], horizon=horizon, drift=drift, rewards=rewards)
