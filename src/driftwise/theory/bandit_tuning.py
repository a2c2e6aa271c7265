r"""How fast a linear bandit should forget, from the number of rounds $K$ and the variation $\Delta$.

Each tuning is a memory: a window, a restart period, or what exponential weights have, $1/\log(1/\eta)$
(`"corrected"`) or $1/(1-\eta)$ (as D-LinUCB was published). It is $((d\lambda)^{1/2}K/\Delta)^{1/2}$ for
`"corrected"` and $(dK/\Delta)^{2/3}$ for `"published"`, which rests on a step that holds for orthogonal arms
only (Touati & Vincent 2020, Section 4), and for `"orthogonal"` arms. $\lambda = d$ is Wang, Zhao & Zhou's
(2023) for WeightUCB; for the others it is our derivation.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Required, TypedDict, Unpack, get_args

from driftwise.base.schema import Count, NonNegative, Positive, PositiveShare, check_keywords
from driftwise.base.validation import require_choice, require_count, require_number

Tuning = Literal["published", "corrected", "orthogonal"]
RidgeRule = Literal["one", "dim"]
TUNINGS = get_args(Tuning)


class BanditRun(TypedDict, total=False):
    """A run of a bandit, and how to tune to it."""

    num_episodes: Required[int]
    variation: Required[float]
    tuning: Annotated[Tuning, "corrected"]
    ridge: Annotated[RidgeRule | float, "one"]


def bandit_ridge(*, dim: int, ridge: RidgeRule | float) -> float:
    """Return `λ = 1`, or `λ = d`, which takes a `√d` out of the bias; or any other number."""
    dim = require_count("dim", dim)
    if not isinstance(ridge, str):
        return require_number("ridge", ridge, above=0)
    return float(dim) if require_choice("ridge", ridge, ("one", "dim")) == "dim" else 1.0


@check_keywords
def bandit_memory(
    *,
    dim: Count,
    num_episodes: Count,
    variation: NonNegative,
    tuning: Tuning = "corrected",
    ridge: RidgeRule | float = "one",
) -> float:
    """Rounds to remember, at least 1: the window, the period, `1/log(1/η)` (published: `1/(1−η)`)."""
    ridge = bandit_ridge(dim=dim, ridge=ridge)
    calm = num_episodes / variation if variation else math.inf
    memory = math.sqrt(math.sqrt(dim * ridge) * calm) if tuning == "corrected" else (dim * calm) ** (2 / 3)
    return max(memory, 1.0)


def bandit_rate(*, dim: int, **run: Unpack[BanditRun]) -> float:
    """The rate η of exponential weights with that memory, at least 1/e; no variation, no forgetting."""
    memory = bandit_memory(dim=dim, **run)
    if run.get("tuning", "corrected") != "corrected":  # 1 − η must leave something of the last round
        return 1.0 - 1.0 / max(memory, 2.0)
    return math.exp(-1.0 / memory)


def bandit_window(*, dim: int, **run: Unpack[BanditRun]) -> int:
    """The window, or the period of restarts: the memory rounded up, at most K."""
    memory = bandit_memory(dim=dim, **run)
    return math.ceil(min(memory - 1e-9, run["num_episodes"]))


@check_keywords
def bob_block_length(*, dim: Count, num_episodes: Count) -> int:
    r"""$\lfloor d\sqrt T\rfloor$, at most $T$: the blocks of BOB (Cheung, Simchi-Levi & Zhu 2019)."""
    return min(math.isqrt(dim * dim * num_episodes), num_episodes)


def bob_windows(block_length: int) -> tuple[int, ...]:
    r"""$\lfloor M^{l/\lceil\ln M\rceil}\rfloor$ for $l = 0, 1, \dots$: the windows of blocks of M."""
    block_length = require_count("block_length", block_length)
    return geometric_grid(block_length, max(math.ceil(math.log(block_length)), 1))


def geometric_grid(longest: int, steps: int) -> tuple[int, ...]:
    """Whole numbers from 1 to `longest` in that many steps of one ratio, each once."""
    return tuple(sorted({math.floor(longest ** (step / steps) + 1e-9) for step in range(steps + 1)}))


@check_keywords
def weight_ucb_rate(*, dim: Count, num_episodes: Count, variation: NonNegative) -> float:
    r"""$\gamma = 1 - \max\{1/T, \sqrt{P_T/(dT)}\}$ with $\lambda = d$ (Wang, Zhao & Zhou 2023)."""
    fading = max(1 / num_episodes, math.sqrt(variation / (dim * num_episodes)))
    return 1.0 - min(fading, 0.5)


@check_keywords
def inverse_gap_scale(
    *, dim: Count, num_arms: Count, num_rounds: float, delta: PositiveShare = 0.05
) -> float:
    r"""$\gamma = \sqrt{NT/(d\log(T/d) + \log(2/\delta))}$ of SquareCB (Foster & Rakhlin 2020, Theorem 1)."""
    rounds = require_number("num_rounds", num_rounds, at_least=1)
    regret = dim * max(math.log(rounds / dim), 1.0)  # also in runs that are shorter than d
    return math.sqrt(num_arms * rounds / (regret + math.log(2 / delta)))


@check_keywords
def adversarial_period(*, dim: Count, num_arms: Count, num_episodes: Count, variation: NonNegative) -> int:
    r"""$\lceil(\sqrt{3d\log N}\,K/(2\Delta))^{2/3}\rceil$, at most $K$ (Cheung, Simchi-Levi & Zhu 2022)."""
    if not variation:
        return num_episodes
    length = (math.sqrt(3 * dim * math.log(num_arms)) * num_episodes / (2 * variation)) ** (2 / 3)
    return min(max(math.ceil(length - 1e-9), 1), num_episodes)


def glb_weight_ucb_rate(
    *, dim: int, num_episodes: int, variation: float, least_slope: float, largest_slope: float
) -> float:
    r"""$1 - \max\{1/T, \sqrt{k_\mu c_\mu P_T/(dT)}\}$ for slopes of a link (Wang, Zhao & Zhou 2023)."""
    slopes = require_number("least_slope", least_slope, above=0) * largest_slope
    return weight_ucb_rate(dim=dim, num_episodes=num_episodes, variation=slopes * variation)


@check_keywords
def sc_d_glucb_rate(*, dim: Count, num_episodes: Count, num_changes: Count, least_slope: Positive) -> float:
    r"""$1 - (\sqrt{c_\mu}\,\Gamma/(dT))^{2/3}$ for Γ jumps (Russac, Faury, Cappé & Garivier 2021)."""
    jumps = num_changes * math.sqrt(least_slope)
    return 1.0 - min((jumps / (dim * num_episodes)) ** (2 / 3), 0.5)
