"""Memory that tunes itself: recipes of a mixture of memories, which ask for nothing but sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal, TypedDict, Unpack

from driftwise.algorithms.bandits.agent import bandit_agent
from driftwise.algorithms.registry import register
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories, can_be_copied
from driftwise.base.agent import Agent, Forecaster
from driftwise.base.arguments import with_defaults
from driftwise.base.part import grid_of, numbers, points, stack
from driftwise.base.times import seconds_of
from driftwise.base.types import Numeric, Spec
from driftwise.base.validation import ArgumentError, require_choice, require_count
from driftwise.parts.clock import ClockWeights
from driftwise.parts.exploration import Thompson, Ucb
from driftwise.parts.fixed_share import FixedShare
from driftwise.parts.forgetting import ExponentialWeights, NoForgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.noise import LearntNoise
from driftwise.parts.radii import ConfidenceRadius

RADII = {"practical": 0.3, "theory": 1.0}  # factors of the radius; how they were found: docs/adaptive.md
NOISE = LearntNoise(max_degrees=8.0)  # heavy tails: rewards need not be Gaussian
NOISE_OF_MDPS = LearntNoise(least=0.25, max_degrees=8.0)  # rewards lie in [0, 1], and may be rare
NOISE_FORGETTING = ExponentialWeights(1 - 1 / 64)
FOR_EVER = 1e30  # seconds in which nothing is forgotten


class Mixing(TypedDict, total=False):
    """How memories are weighed, and how their weights decide."""

    shortest: Annotated[int | str | timedelta | None, None]
    longest: Annotated[int | str | timedelta | None, None]
    share: Annotated[float, 0.0]
    favour: Annotated[float, 0.1]
    decision: Annotated[Literal["heaviest", "mixture", "variance", "draw"], "heaviest"]
    weighing: Annotated[Literal["together", "per_step"], "together"]
    fresh: Annotated[Literal["at_alarm", "never"] | None, None]


def memories(shortest: int | None = None, longest: int | None = None) -> tuple[int, ...]:
    """Lengths of memories: the shortest, 8 unless given, doubled up to the longest, 4096 unless given."""
    least = require_count("shortest", 8 if shortest is None else shortest, at_least=2)
    most = require_count("longest", 4096 if longest is None else longest, at_least=least)
    return tuple(least * 2**k for k in range((most // least).bit_length()))


def by_rounds_or_clock(shortest: Any, longest: Any) -> ExponentialWeights | ClockWeights:
    """Weights of all lengths, by rounds, or by the clock where lengths are durations; the last for ever."""
    if not any(isinstance(each, str | timedelta) for each in (shortest, longest)):
        return ExponentialWeights((*(1 - 1 / length for length in memories(shortest, longest)), 1.0))
    least, most = seconds_of("shortest", shortest), seconds_of("longest", longest)
    if most < least:
        raise ArgumentError("longest", f"be at least shortest, which is {shortest!r}", longest)
    return ClockWeights((*(least * 2**k for k in range(int(most / least).bit_length())), FOR_EVER))


def mixture(
    base: Any, origin: Literal["zero", "first"] = "zero", **mixing: Unpack[Mixing]
) -> MixtureOfMemories:
    """The mixture of a base with memories of all lengths, or of the points of its grid."""
    given = with_defaults(Mixing, mixing)
    bounds = {name: given[name] for name in ("shortest", "longest")}
    if not grid_of(base):
        base = dataclasses.replace(base, forgetting=by_rounds_or_clock(**bounds))
    elif any(bounds.values()):
        raise ArgumentError("shortest or longest", "be left out for a base with a grid, its memories", bounds)
    candidates = stack(points(base))
    fresh = given["fresh"]
    if fresh is None:
        fresh = "at_alarm" if can_be_copied(candidates) else "never"
    return MixtureOfMemories(
        candidates,
        FixedShare(given["share"], given["favour"]),
        NOISE_OF_MDPS if base.spec.horizon > 1 else NOISE,
        NOISE_FORGETTING,
        given["decision"],
        given["weighing"],
        origin,
        fresh,
    )


@register(
    problem="any",
    forgetting="a mixture of memories",
    exploration="the base's",
    bound="on forecasts; none on regret",
    paper="ours; fixed share: Herbster & Warmuth 1998",
    takes_arms=True,
)
def adaptive(base: Agent | Sequence[Agent], **mixing: Unpack[Mixing]) -> MixtureOfMemories:
    r"""An agent whose memory tunes itself.

    ```python
    adaptive(lsvi_ucb(spec, radius=1.0))
    adaptive(sw_lin_ucb(spec, length=[50, 200, 800], noise_scale=1.0))
    ```

    Args:
      base: an agent on least squares, on mirror descent (`d_glb_omd`), or one that counts (`ucbvi`). If it
        holds a grid, its points are the
        candidates; so are several agents that are alike but for their numbers. Else its own forgetting is
        replaced by exponential weights of all lengths. Its exploration stays as it is.
      shortest, longest: of the lengths $1/(1-\eta)$ of candidates, each twice the one before; 8 and 4096
        unless given. The one that never forgets comes besides, and is last. Durations, both of them, such
        as `"1h"` and `"30 days"`, are half-lives by the clock, see docs/clock-time.md.
      share: $\alpha$, the share of the weights that is dealt out anew in every episode; 0 is $1/(t+1)$.
      favour: the prior weight of the last candidate beyond that of the others.
      decision, weighing, fresh: as in `MixtureOfMemories`.

    When to use: an agent should find its memory by itself; the candidates are a grid of memories.

    When not: you know the memory, or need a bound on regret. There is one on forecasts alone.

    There is no paper.
    """
    candidates = base if isinstance(base, Sequence) and base else [base]
    if not all(isinstance(each, Forecaster) for each in candidates):
        raise ArgumentError("base", "forecast: be on least squares or mirror descent, or count", base)
    return mixture(stack(candidates) if len(candidates) > 1 else candidates[0], **mixing)


@register(
    problem="linear bandit",
    forgetting="a mixture of memories",
    exploration="UCB in units of the learnt noise",
    bound="on forecasts; none on regret",
    paper="ours; fixed share: Herbster & Warmuth 1998",
)
def adaptive_lin_ucb(
    spec: Spec,
    *,
    exploration: Literal["practical", "theory"] = "practical",
    delta: Numeric = 0.05,
    ridge: Numeric = 0.1,
    **mixing: Unpack[Mixing],
) -> MixtureOfMemories:
    r"""Linear UCB that is told neither how fast to forget nor how large the noise is.

    Candidates are D-LinUCB with memories of 8, 16, …, 4096 rounds, and LinUCB. Each learns its noise $s_j$;
    its index is $x^\top\hat\theta_j + c\,s_j\beta_j\|x\|$ with the width $\|x\|$ and the radius $\beta_j$ of
    `d_lin_ucb` for a noise of one, without the term of the ridge.

    Args:
      exploration: `"theory"` is $c = 1$, `"practical"` 0.3, see docs/adaptive.md.
      delta: $\delta$ of the radius.
      ridge: $\lambda > 0$, in units of the noise.
      shortest, longest, share, favour, decision, weighing, fresh: as of `adaptive`.

    When to use: you do not know how fast the world drifts, or how large the noise is. Start here with a
    bandit.

    When not: you need a bound on regret. There is one on forecasts alone. A known memory saves the cost
    of the others.

    There is no paper.
    """
    factor = RADII[require_choice("exploration", exploration, list(RADII))]
    radius = ConfidenceRadius(noise_scale=1.0, norm_bound=0.0, delta=delta, scale=factor)
    agent = _in_noise(bandit_agent(spec, NoForgetting(), Ucb(radius), ridge))
    return mixture(_one(agent), "first", **mixing)


@register(
    problem="linear bandit",
    forgetting="a mixture of memories",
    exploration="Thompson sampling",
    bound="on forecasts; none on regret",
    paper="ours; fixed share: Herbster & Warmuth 1998",
)
def adaptive_lin_ts(
    spec: Spec, *, scale: Numeric = 0.5, ridge: Numeric = 0.1, **mixing: Unpack[Mixing]
) -> MixtureOfMemories:
    r"""Thompson sampling that is told neither how fast to forget nor how large the noise is.

    A memory is drawn with its weight, then a parameter from its posterior, whose deviation is `scale` times
    the learnt noise.

    Args:
      scale: $a \ge 0$; 1 is the Bayesian choice.
      ridge, shortest, longest, share, favour, weighing, fresh: as of `adaptive_lin_ucb`.
      decision: `"draw"` unless given.

    When to use: you know neither the pace of the drift nor the noise, and want random choices.

    When not: you need a bound on regret, or the same choice from the same data.

    There is no paper.
    """
    agent = _in_noise(bandit_agent(spec, NoForgetting(), Thompson(scale), ridge))
    return mixture(_one(agent), "first", **{"decision": "draw", **mixing})


@register(
    problem="linear MDP",
    forgetting="a mixture of memories",
    exploration="UCB",
    bound="on forecasts; none on regret",
    paper="ours; fixed share: Herbster & Warmuth 1998",
)
def adaptive_opt_wlsvi(
    spec: Spec, *, radius: Numeric = 1.0, ridge: Numeric = 0.1, **mixing: Unpack[Mixing]
) -> MixtureOfMemories:
    r"""OPT-WLSVI that is not told how fast to forget.

    Candidates remember 8, 16, …, 4096 episodes, and all. They forecast $r_h + \bar V_{h+1}(s_{h+1})$. The
    radius is not in units of the noise of these targets, since values of unseen states are no noise.

    Args:
      radius: $\beta \ge 0$, for rewards in [0, 1].
      ridge: $\lambda > 0$.
      shortest, longest, share, favour, decision, weighing, fresh: as of `adaptive`.

    When to use: you do not know how fast the MDP drifts. Start here with episodes.

    When not: you need a bound on regret. There is one on forecasts alone. A known memory saves the cost
    of the others.

    There is no paper.
    """
    return mixture(_one(LeastSquares(spec, NoForgetting(), Ucb(radius), ridge, clip="tight")), **mixing)


def _one(agent: LeastSquares) -> LeastSquares:
    """The agent, whose numbers may not be grids: its memories would not be there."""
    for each in numbers(agent):
        if each.grid:
            raise ArgumentError(each.name, "be one number; only `adaptive(base)` takes several", each.value)
    return agent


def _in_noise(agent: LeastSquares) -> LeastSquares:
    """The agent with its exploration in units of the noise that it learns."""
    return dataclasses.replace(agent, noise=LearntNoise())
