"""Agents that begin anew: when a detector raises an alarm, or by chance."""

from __future__ import annotations

from typing import Literal

from driftwise.algorithms.registry import register
from driftwise.algorithms.unknown_variation.restarting import Restarting
from driftwise.base.agent import Agent
from driftwise.base.types import Numeric
from driftwise.parts.detectors import Detector, Glr, RandomRestart


@register(
    problem="any",
    forgetting="restart on an alarm",
    exploration="the base's",
    bound="none for linear problems",
    paper="Besson et al. 2022; Liu, Lee & Shroff 2018",
    takes_grids=False,
)
def change_detection(
    base: Agent,
    *,
    detector: Detector | None = None,
    watch: Literal["rewards", "residuals"] = "residuals",
) -> Restarting:
    r"""An agent that begins anew whenever a detector finds that its rewards have changed, or its errors.

    ```python
    change_detection(lin_ucb(spec, noise_scale=0.1), detector=Glr(noise_scale=0.1))
    ```

    Args:
      base: any agent.
      detector: `Glr` or `Cusum` of `driftwise.parts.detectors`; without it `Glr()`.
      watch: `"rewards"`, their mean over the steps, or `"residuals"`, the mean of what the errors
        $r_h + V_{h+1}(s_{h+1}) - \hat Q_h(s_h, a_h)$ are beyond the bonus; see
        `driftwise.algorithms.unknown_variation.restarting.Restarting`.

    Reference: Besson, Kaufmann, Maillard & Seznec 2022 and Liu, Lee & Shroff 2018 for bandits of few arms,
    with one detector an arm.

    Deviations from the papers: one detector for all; no forced exploration, so that what improves where
    nobody looks is not found.
    """
    return Restarting(base, Glr() if detector is None else detector, watch)


@register(
    problem="any",
    forgetting="restart by chance",
    exploration="the base's",
    bound="none",
    paper="baseline",
    takes_grids=False,
)
def random_restart(base: Agent, *, probability: Numeric) -> Restarting:
    """An agent that begins anew with the same probability after every episode: the honest baseline of MASTER.

    Args:
      base: any agent.
      probability: of a restart, in every episode.
    """
    return Restarting(base, RandomRestart(probability), "rewards")  # it looks at nothing that it is shown
