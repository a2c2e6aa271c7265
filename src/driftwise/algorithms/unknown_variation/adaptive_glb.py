"""Clicks and counts with a memory that tunes itself: a mixture of memories of D-GLB-OMD."""

from __future__ import annotations

from typing import Unpack

from driftwise.algorithms.bandits.d_glb_omd import d_glb_omd
from driftwise.algorithms.registry import register
from driftwise.algorithms.unknown_variation.adaptive import Mixing, mixture
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.types import Numeric, Spec
from driftwise.parts.links import LinkName


@register(
    problem="linear bandit",
    forgetting="a mixture of memories",
    exploration="UCB, single norm",
    bound="on forecasts; none on regret",
    paper="ours; Zhang, Xu, Zhao & Sugiyama 2025; Herbster & Warmuth 1998",
)
def adaptive_glb_omd(
    spec: Spec,
    *,
    link: LinkName = "logistic",
    norm_bound: Numeric = 5.0,
    noise_scale: Numeric = 1.0,
    ridge: Numeric = 1.0,
    delta: Numeric = 0.05,
    radius_scale: Numeric = 0.1,
    **mixing: Unpack[Mixing],
) -> MixtureOfMemories:
    r"""Clicks or counts, from an agent that is not told how fast to forget.

    Candidates are `d_glb_omd` with memories of 8, 16, …, 4096 rounds, and GLB-OMD. Each forecasts the mean
    $\mu(x^\top\theta_j)$ of a reward, and is weighed by the error.

    Args:
      link, norm_bound, noise_scale, delta: as of `d_glb_omd`.
      ridge: $\lambda > 0$.
      radius_scale: a factor of the radius; theory's is 1 with the `ridge` of `d_glb_omd`, which explores more
        than most streams have use for.
      shortest, longest, share, favour, decision, weighing, fresh: as of `adaptive`.

    When to use: rewards are clicks or counts, and you do not know how fast they drift.

    When not: rewards are numbers with a linear mean; `adaptive_lin_ucb` needs no link and learns the
    noise.

    There is no paper.
    """
    base = d_glb_omd(
        spec,
        rate=1.0,
        link=link,
        norm_bound=norm_bound,
        noise_scale=noise_scale,
        ridge=ridge,
        delta=delta,
        radius_scale=radius_scale,
    )
    return mixture(base, **mixing)
