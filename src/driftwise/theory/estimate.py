r"""How much an environment drifts, from logged rounds: the path of its parameter, and its variation.

The windows of the log are joined to pieces that minimise $\mathrm{RSS}/\hat\sigma^2$ and a price for each,
exactly, by dynamic programming (optimal partitioning, Jackson et al. 2005). The price is the $1-\alpha/m$
quantile of $\chi^2$; the expected square of the noise is subtracted from each squared step between them. The
estimate contains all variation of jumps, and less than all of a path that moves continuously. Noise is taken
to be normal, with one covariance: results for transitions are approximate.
"""

import math
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict, Unpack

import numpy as np

from driftwise.base.extras import require_extra
from driftwise.base.schema import Count, Seed, add_defaults, check_keywords
from driftwise.base.validation import ArgumentError, require_array, require_count, require_number
from driftwise.theory.windows import Norm, Walk, euclidean, random_walk, split_windows, total_variation

with require_extra("theory.estimate", "simulate"):
    from scipy.special import chdtri

_ROUNDS_PER_PARAMETER = 10  # in a window
_MAX_WINDOWS = 40
_NUM_NOISE_DRAWS = 64  # for the expected squared norm of the noise


@dataclass(frozen=True, eq=False)
class VariationEstimate:
    """The variation between the first and the last round of a log, and the path behind it.

    At `level`, `low` is the lower end for jumps between pieces, `high_of_lines` the upper end for lines
    within pieces; `high` includes a random walk unless the data excludes one. A movement that returns within
    a window, more regularly than a random walk, is in none of them.
    """

    starts: np.ndarray  # [m] first round of each window
    parameters: np.ndarray  # [m, d, p] least squares in each window
    standard_errors: np.ndarray  # [m, d, p]
    pieces: np.ndarray  # [m, d, p] the path in pieces
    num_rounds: int
    plug_in: float
    variation: float
    low: float
    high_of_lines: float
    walk: Walk
    p_value: float  # of the windows differing as much without drift
    p_pieces: float  # of them differing as much from the path in pieces
    level: float

    @property
    def high(self) -> float:
        """The upper end of all paths that the data does not exclude."""
        return self.high_of_lines if self.walk.excluded else max(self.high_of_lines, self.walk.high)

    @property
    def drifts(self) -> bool:
        """Whether the data is incompatible with no drift at all."""
        return self.p_value <= 1 - self.level

    @property
    def changes(self) -> tuple[int, ...]:
        """First rounds of the windows in which another piece begins."""
        moved = np.diff(self.pieces, axis=0).any(axis=(1, 2))
        return tuple(self.starts[1:][moved].tolist())

    def over(self, num_episodes: int) -> float:
        """The variation of a run of another length that drifts at the same pace."""
        return self.variation * (require_count("num_episodes", num_episodes) - 1) / (self.num_rounds - 1)

    @property
    def fits(self) -> bool:
        """Whether the data is compatible with the path in pieces."""
        return self.p_pieces > 1 - self.level

    def __str__(self) -> str:
        num, ends = len(self.changes) + 1, f"[{self.low:.3g}, {self.high_of_lines:.3g}] at {self.level:.0%}"
        text = f"variation {self.variation:.3g} in {num} piece{'s' * (num != 1)}"
        if not self.drifts:
            text = f"compatible with no drift (p = {self.p_value:.2g})"
        elif not self.fits:
            text += f", which do not fit (p = {self.p_pieces:.1g}): it moves within them, and further"
        text += f"; {ends} if it jumps or moves steadily"
        if not self.walk.excluded:
            text += f", up to {self.high:.3g} if it is a random walk, which the data does not exclude"
        return text


@dataclass(frozen=True, eq=False)
class MdpVariationEstimate:
    """Variation of the rewards and of the transitions of each step, and the sums: `Δ = Δ_r + Δ_P`."""

    rewards: tuple[VariationEstimate, ...]  # by step
    transitions: tuple[VariationEstimate, ...]  # likewise

    @property
    def steps(self) -> tuple[VariationEstimate, ...]:
        return (*self.rewards, *self.transitions)

    @property
    def reward_budget(self) -> float:
        """`Δ_r`."""
        return sum(estimate.variation for estimate in self.rewards)

    @property
    def transition_budget(self) -> float:
        """`Δ_P`."""
        return sum(estimate.variation for estimate in self.transitions)

    @property
    def variation(self) -> float:
        """`Δ = Δ_r + Δ_P`."""
        return self.reward_budget + self.transition_budget

    @property
    def low(self) -> float:
        return sum(estimate.low for estimate in self.steps)

    @property
    def high_of_lines(self) -> float:
        return sum(estimate.high_of_lines for estimate in self.steps)

    @property
    def high(self) -> float:
        return sum(estimate.high for estimate in self.steps)

    @property
    def drifts(self) -> bool:
        """Whether some step is incompatible with no drift, each tested at its share of the level."""
        least = min(estimate.p_value for estimate in self.steps)
        return least * len(self.steps) <= 1 - self.steps[0].level


class IntervalOptions(TypedDict, total=False):
    """How windows are cut, and how intervals are computed.

    Args:
      window: rounds of a window, in which all directions must have been played; unless given, ten for each
        dimension, more where that makes over forty windows.
    """

    window: Annotated[int | None, None]
    level: Annotated[float, 0.95]
    num_resamples: Annotated[int, 400]
    seed: Annotated[int, 0]


def estimate_variation(features: Any, rewards: Any, **options: Unpack[IntervalOptions]) -> VariationEstimate:
    r"""$\sum_t\|\theta_t-\theta_{t+1}\|_2$ of a linear bandit, from features `[T, d]` and rewards `[T]`.

    Rewards have the mean $x_t^\top\theta_t$ and independent noise of one scale. For the options see
    `IntervalOptions`.
    """
    features = require_array("features", features, (None, None))
    rewards = require_array("rewards", rewards, (len(features),))
    settings = add_defaults(IntervalOptions, options)
    return _estimate(features, rewards[:, None], euclidean, **settings)


def estimate_mdp_variation(
    features: Any, rewards: Any, next_states: Any, *, num_states: int, **options: Unpack[IntervalOptions]
) -> MdpVariationEstimate:
    r"""$\Delta_r$ and $\Delta_P$ of a linear MDP, from features `[T, H, d]`, rewards and states `[T, H]`."""
    features = require_array("features", features, (None, None, None))
    rewards = require_array("rewards", rewards, features.shape[:2])
    states = np.asarray(next_states)
    num_states = require_count("num_states", num_states)
    if states.shape != features.shape[:2]:
        raise ArgumentError("next_states", f"have shape {features.shape[:2]}", states.shape)
    strange = states[~np.isin(states, np.arange(num_states))]
    if strange.size:
        raise ArgumentError("next_states", f"be states from 0 to {num_states - 1}", strange[0].item())
    settings = add_defaults(IntervalOptions, options)
    kinds = (rewards[..., None], euclidean), (np.eye(num_states)[states], total_variation)
    by_kind = (
        tuple(_estimate(features[:, h], targets[:, h], norm, **settings) for h in range(features.shape[1]))
        for targets, norm in kinds
    )
    return MdpVariationEstimate(*by_kind)


@check_keywords
def _estimate(
    features: np.ndarray,
    targets: np.ndarray,
    norm: Norm,
    *,
    window: int | None,
    level: float,
    num_resamples: Count,
    seed: Seed,
) -> VariationEstimate:
    level, (num_rounds, dim) = require_number("level", level, above=0, at_most=0.9999), features.shape
    usual = max(_ROUNDS_PER_PARAMETER * dim, math.ceil(num_rounds / _MAX_WINDOWS))
    rounds = usual if window is None else require_count("window", window)
    if rounds <= dim:
        raise ArgumentError("window", f"be above the dimension {dim}", rounds)
    if num_rounds < 2 * rounds:
        expected = f"have at least two windows of {rounds} rounds"
        raise ArgumentError("features", expected, num_rounds, f"{num_rounds} rounds")
    rng = np.random.default_rng(seed)
    windows = split_windows(features, targets, rounds)
    num, _, width = windows.cross.shape
    path = np.linalg.solve(windows.gram, windows.cross)
    inverse = np.linalg.inv(windows.gram)
    deviations = np.sqrt(np.square(windows.root).sum(0))
    p_value = windows.p_value(np.arange(num) == 0)
    price = float(chdtri(dim * windows.rank, (1 - level) / num))
    examples = rng.normal(size=(_NUM_NOISE_DRAWS, dim, width))

    starts = windows.find_pieces(windows.cross[None], price)[0]
    fitted = windows.path_in_pieces(starts)
    logs = windows.resample(fitted, rng, num_resamples)
    pairs = zip(logs, windows.find_pieces(logs, price), strict=True)
    jumps = [windows.jump_variation(*pair, norm, examples) for pair in pairs]
    lines = windows.resample(windows.fit_lines(windows.cross, starts, norm)[0], rng, num_resamples)
    _, reaches = windows.fit_lines(lines, starts, norm)
    variation = windows.jump_variation(windows.cross, starts, norm, examples)
    return VariationEstimate(
        starts=rounds * np.arange(num),
        parameters=path,
        standard_errors=np.sqrt(np.diagonal(inverse, axis1=1, axis2=2))[..., None] * deviations,
        pieces=fitted,
        num_rounds=num_rounds,
        plug_in=float(norm(np.diff(path, axis=0)).sum()),
        variation=variation,
        low=min(float(np.quantile(jumps, (1 - level) / 2)), variation) if p_value <= 1 - level else 0.0,
        high_of_lines=max(float(np.quantile(reaches, (1 + level) / 2)), variation),
        walk=random_walk(windows, norm, rng, level),
        p_value=p_value,
        p_pieces=windows.p_value(starts),
        level=level,
    )
