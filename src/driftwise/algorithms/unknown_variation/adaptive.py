"""Memory that tunes itself: recipes of a mixture of memories, which need only the sizes of the problem."""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal, TypedDict, Unpack, get_args

from driftwise.algorithms.algorithm import register
from driftwise.algorithms.bandits.bandit_agent import bandit_agent, require_bandit
from driftwise.algorithms.bandits.generalised_linear import d_glb_omd
from driftwise.algorithms.unknown_variation.expanding import (
    MAX_PRODUCTS,
    Expand,
    MapName,
    MixtureOfMaps,
    mapped_dim,
)
from driftwise.algorithms.unknown_variation.mixture import Decision, MixtureOfMemories, Origin, can_be_copied
from driftwise.base import Agent, Forecaster, Numeric, Spec
from driftwise.base.part import expand_grid, get_grids, stack_parts
from driftwise.base.schema import add_defaults
from driftwise.base.times import to_seconds
from driftwise.base.validation import ArgumentError, require_choice, require_count, require_numeric
from driftwise.parts import ClockWeights, ExponentialWeights, FixedShare, LearntNoise
from driftwise.parts.exploration import Exploration, Thompson, Ucb
from driftwise.parts.forgetting import NoForgetting
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.links import LinkName
from driftwise.parts.radii import GrowingRadius

_GROWTH = 0.3  # of the radius
_OUTLIER = 10.0  # standard deviations; how all numbers of bandits were found: docs/adaptive.md
_NOISE = LearntNoise(max_degrees=8.0)  # heavy tails: rewards need not be Gaussian
_NOISE_FORGETTING = ExponentialWeights(1 - 1 / 64)
_NOISE_FORGETTING_OF_MDPS = ExponentialWeights(1 - 1 / 1024)  # large errors may be rare


class Mixing(TypedDict, total=False):
    r"""Options of a mixture: its memories, how they are weighed, and how their weights decide.

    Args:
      shortest: the length $1/(1-\eta)$ of the shortest candidate, 8 unless given; each next one is twice as
        long. Durations such as `"1h"`, for both ends, are half-lives by the clock, see docs/clock-time.md.
      longest: the length of the longest candidate, 4096 unless given. One that never forgets is the last.
      share: $\alpha$, the share of the weights that is reallocated in every episode; 0 is $1/(t+1)$.
      favour: the prior weight of the last candidate beyond that of the others.
      decision, fresh: as in `MixtureOfMemories`.
    """

    shortest: Annotated[int | str | timedelta | None, None]
    longest: Annotated[int | str | timedelta | None, None]
    share: Annotated[float, 0.0]
    favour: Annotated[float, 0.1]
    decision: Annotated[Decision, "heaviest"]
    fresh: Annotated[Literal["at_alarm", "never"] | None, None]


_ROW: Any = dict(forgetting="a mixture of memories", bound="on forecasts; none on regret")
_ROW |= dict(paper="ours; fixed share: Herbster & Warmuth 1998")
_CLICKS_ROW = _ROW | dict(paper="ours; Zhang, Xu, Zhao & Sugiyama 2025; Herbster & Warmuth 1998")


def memory_lengths(shortest: int | None = None, longest: int | None = None) -> tuple[int, ...]:
    """Return lengths of memories: the shortest, 8 unless given, doubled up to the longest, else 4096."""
    least = require_count("shortest", 8 if shortest is None else shortest, at_least=2)
    most = require_count("longest", 4096 if longest is None else longest, at_least=least)
    return tuple(least * 2**k for k in range((most // least).bit_length()))


def mixture(base: Any, origin: Origin = "zero", **mixing: Unpack[Mixing]) -> MixtureOfMemories:
    """Return the mixture of a base with memories of all lengths, or of the points of its grid."""
    options = add_defaults(Mixing, mixing)
    bounds = {name: options[name] for name in ("shortest", "longest")}
    if get_grids(base):
        if any(bounds.values()):
            expected = "be left out for a base with a grid, its memories"
            raise ArgumentError("shortest or longest", expected, bounds)
    elif any(isinstance(bound, str | timedelta) for bound in bounds.values()):  # by the clock
        least, most = (to_seconds(name, bound) for name, bound in bounds.items())
        if most < least:
            expected = f"be at least shortest, which is {bounds['shortest']!r}"
            raise ArgumentError("longest", expected, bounds["longest"])
        lives = (least * 2**k for k in range(int(most / least).bit_length()))
        base = dataclasses.replace(base, forgetting=ClockWeights((*lives, 1e30)))  # s: for ever
    else:
        rates = (1 - 1 / length for length in memory_lengths(**bounds))
        base = dataclasses.replace(base, forgetting=ExponentialWeights((*rates, 1.0)))
    candidates = stack_parts(expand_grid(base))
    fresh = options["fresh"]
    if fresh is None:
        fresh = "at_alarm" if can_be_copied(candidates) else "never"
    forgetting = _NOISE_FORGETTING_OF_MDPS if base.spec.horizon > 1 else _NOISE_FORGETTING
    noise, outlier = _NOISE, 0.0
    if origin == "learnt":  # as the first reward, whose error is 0
        noise = dataclasses.replace(noise, lost=1.0)
    if base.counts_waiting:
        outlier = _OUTLIER
    weights = FixedShare(options["share"], options["favour"]), noise, forgetting
    return MixtureOfMemories(candidates, *weights, options["decision"], origin, fresh, outlier)


@register(exploration="the base's", problem="any", takes_arms=True, **_ROW)
def adaptive(base: Agent | Sequence[Agent], **mixing: Unpack[Mixing]) -> MixtureOfMemories:
    r"""An agent whose memory tunes itself.
    Args:
      base: an agent on least squares or mirror descent, or one that counts (`ucbvi`). The candidates are the
        points of its grid, agents that differ in numbers alone, or else exponential weights of all lengths.
    When to use: an agent should find its memory by itself; the candidates are a grid of memories.
    When not: you know the memory, or need a bound on regret. There is one on forecasts alone.
    """
    candidates = base if isinstance(base, Sequence) and base else [base]
    if not all(isinstance(candidate, Forecaster) for candidate in candidates):
        raise ArgumentError("base", "forecast: be on least squares or mirror descent, or count", base)
    return mixture(stack_parts(candidates) if len(candidates) > 1 else candidates[0], **mixing)


@register(exploration="UCB in units of the learnt noise", problem="linear bandit", **_ROW)
def adaptive_lin_ucb(
    spec: Spec,
    *,
    radius: Numeric = 0.8,
    ridge: Numeric = 0.2,
    origin: Origin = "learnt",
    expand: Expand = "no",
    blocks: int = 1,
    **mixing: Unpack[Mixing],
) -> MixtureOfMemories | MixtureOfMaps:
    r"""Linear UCB that knows neither how fast to forget nor how large the noise is.

    Candidates are regressions with memories of 8, 16, …, 4096 rounds, and one that never forgets. Each
    learns the origin of rewards, its noise and the size of its weights. Its index is the forecast plus
    $c\sqrt{1 + 0.3\log(1 + n/d)}$ of its standard deviations after $n$ samples. Neither the unit of rewards
    nor an amount that is added to all of them changes a decision.
    Args:
      radius: $c \ge 0$, in standard deviations of a forecast.
      ridge: $\lambda > 0$, for features of a length of about 1, and rewards in units of the noise.
      origin: `"zero"` where the mean reward of features that are all 0 is known to be 0.
      expand: `"auto"` where rewards need not be linear: candidates are the features as given, these with
        their `"products"`, and with 50 random `"fourier"` features, as in `MixtureOfMaps`. One of the two
        names takes that map alone.
      blocks: blocks of the features that are never used together, as those of numbered arms: products across
        them are left out.
    When to use: you do not know how fast the problem drifts, or how large the noise is. Start here.
    When not: you need a bound on regret. A known memory saves the cost of the others.
    """
    return _expanded_bandit(spec, Ucb(_growing_radius(radius)), ridge, origin, expand, blocks, **mixing)


@register(exploration="Thompson sampling", problem="linear bandit", **_ROW)
def adaptive_lin_ts(
    spec: Spec,
    *,
    scale: Numeric = 0.5,
    ridge: Numeric = 0.2,
    origin: Origin = "learnt",
    expand: Expand = "no",
    blocks: int = 1,
    **mixing: Unpack[Mixing],
) -> MixtureOfMemories | MixtureOfMaps:
    r"""Thompson sampling that knows neither how fast to forget nor how large the noise is.

    A memory is drawn with its weight, then a parameter from its posterior.
    Args:
      scale: $a \ge 0$, in standard deviations of a forecast; 1 is the Bayesian choice.
      ridge, origin, expand, blocks: as in `adaptive_lin_ucb`.
      decision: `"draw"` unless given.
    When to use: you know neither the pace of the drift nor the noise, and want random choices.
    When not: you need a bound on regret, or the same choice from the same data.
    """
    mixing = {"decision": "draw", **mixing}
    return _expanded_bandit(spec, Thompson(scale), ridge, origin, expand, blocks, **mixing)


def _growing_radius(radius: Numeric) -> GrowingRadius:
    """Return the radius of an adaptive bandit."""
    return GrowingRadius(require_numeric("radius", radius, at_least=0), _GROWTH)


def _expanded_bandit(
    spec: Spec,
    exploration: Exploration,
    ridge: Numeric,
    origin: Origin,
    expand: Expand,
    blocks: int,
    **mixing: Unpack[Mixing],
) -> MixtureOfMemories | MixtureOfMaps:
    """Return an adaptive bandit, or a mixture of those on several maps of the features."""
    require_choice("expand", expand, get_args(Expand))
    if expand == "no":
        if require_count("blocks", blocks) > 1:
            raise ArgumentError("blocks", "be 1 where expand='no'", blocks)
        return _bandit(spec, exploration, ridge, origin, **mixing)
    for name in ("shortest", "longest"):
        if isinstance(mixing.get(name), str | timedelta):
            raise ArgumentError("expand", f"be 'no' with a duration as {name}", expand)
    if spec.dim % require_count("blocks", blocks):
        raise ArgumentError("blocks", f"divide dim, which is {spec.dim}", blocks)
    names: tuple[MapName, ...] = get_args(MapName) if expand == "auto" else (expand,)
    sizes = {name: mapped_dim(name, spec.dim, blocks) for name in names}
    if sizes.get("products", 0) > MAX_PRODUCTS:
        size = sizes.pop("products")
        if not sizes:
            expected = f"be 'auto' or 'fourier' where products make more than {MAX_PRODUCTS} features"
            raise ArgumentError("expand", expected, expand, f"{expand!r} with {size} of them")
    maps: Any = {
        name: _bandit(dataclasses.replace(spec, dim=size), exploration, ridge, origin, **mixing)
        for name, size in sizes.items()
    }
    return MixtureOfMaps(spec, **maps, blocks=blocks)


def _bandit(
    spec: Spec, exploration: Exploration, ridge: Numeric, origin: Origin, **mixing: Unpack[Mixing]
) -> MixtureOfMemories:
    """Return an adaptive bandit; its memories have one feature more, the constant, where they learn it."""
    require_bandit(spec)
    is_learnt = require_choice("origin", origin, get_args(Origin)) == "learnt"
    inner, noise = dataclasses.replace(spec, dim=spec.dim + is_learnt), LearntNoise(lost=float(is_learnt))
    agent = bandit_agent(inner, NoForgetting(), exploration, ridge, noise=noise, prior="learnt")
    return _mixture_of_one(agent, origin, **mixing)


@register(exploration="UCB in units of the learnt noise", problem="linear MDP", **_ROW)
def adaptive_opt_wlsvi(
    spec: Spec, *, radius: Numeric = 1.0, ridge: Numeric = 0.001, **mixing: Unpack[Mixing]
) -> MixtureOfMemories:
    r"""OPT-WLSVI that knows neither how fast to forget nor how much to explore.

    Candidates remember 8, 16, …, 4096 episodes, and all. They forecast $r_h + \bar V_{h+1}(s_{h+1})$. Each
    learns its noise $s_h$ of every step, and has the bonus $\beta(s_h + \sqrt\lambda(H-h+1))\,\|\phi\|$, so
    that a pair never tried is worth all that can follow.
    Args:
      radius: $\beta \ge 0$, in units of the noise.
      ridge: $\lambda > 0$, in visits; rewards should lie in [0, 1].
    When to use: you do not know how fast the MDP drifts. Start here with episodes.
    When not: you need a bound on regret. A known memory saves the cost of the others.
    """
    agent = LeastSquares(
        spec, NoForgetting(), Ucb(radius), ridge, clip="tight", noise=LearntNoise(), unit="value"
    )
    return _mixture_of_one(agent, "zero", **mixing)


def _mixture_of_one(agent: LeastSquares, origin: Origin, **mixing: Unpack[Mixing]) -> MixtureOfMemories:
    """Return the mixture of an agent without a grid: its points would take the place of the memories."""
    for name, value in get_grids(agent).items():
        raise ArgumentError(name, "be one number; only `adaptive(base)` takes several", value)
    return mixture(agent, origin, **mixing)


@register(exploration="UCB, single norm", problem="linear bandit", **_CLICKS_ROW)
def adaptive_glb_omd(
    spec: Spec,
    *,
    link: LinkName = "logistic",
    norm_bound: Numeric = 100.0,
    noise_scale: Numeric = 1.0,
    radius: Numeric = 0.7,
    ridge: Numeric = 0.05,
    **mixing: Unpack[Mixing],
) -> MixtureOfMemories:
    r"""Clicks or counts, from an agent that does not know how fast to forget.

    Candidates are regressions through a link with memories of 8, 16, …, 4096 rounds, and one that never
    forgets: `d_glb_omd` with `step="mean"` and $\zeta = 1$, as in `driftwise.parts.MirrorDescent`. The radius
    grows as that of `adaptive_lin_ucb`. Each forecasts the mean $\mu(x^\top\theta_j)$ of a reward.
    Args:
      link, noise_scale: as in `d_glb_omd`.
      norm_bound: $S \ge \|\theta\|$, which keeps estimates finite; it may be much too large.
      radius: $c \ge 0$, in standard deviations of a forecast of $x^\top\theta$.
      ridge: $\lambda > 0$, for features of a length of about 1.
    When to use: rewards are counts with `link="log"`, and you do not know how fast they drift.
    When not: rewards are clicks, or numbers with a linear mean; start with `adaptive_lin_ucb`.
    """
    numbers = dict(norm_bound=norm_bound, noise_scale=noise_scale, ridge=ridge)
    agent = d_glb_omd(spec, rate=1.0, link=link, radius=_growing_radius(radius), **numbers)
    return mixture(dataclasses.replace(agent, step="mean", step_size=1.0), **mixing)
