"""LSVI-UCB++: least-squares value iteration with weighted samples, monotone tables and rare switching."""

import math
from typing import Any, Literal, NamedTuple, Unpack

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.algorithms.any_forgetting import TheoryRun, read_run
from driftwise.base import Agent, MeanRewards, Radius, choice, member, number
from driftwise.base.arrays import compute_after, namespace, scan, spd_inverse, spd_root, vecdot, where_tree
from driftwise.base.part import part
from driftwise.base.types import Array, Episode, FeatureTable, Key, Moments, Numeric, Plan, Spec, next_step
from driftwise.base.validation import require_count, require_number
from driftwise.parts import ConfidenceRadius, NoForgetting
from driftwise.parts.exploration import greedy_policy, radius_at, tie_tolerance, width
from driftwise.parts.regression import empty_moments, episode_sample, linear, matvec

Rewards = Literal["known", "learnt"]


class Tables(NamedTuple):
    """The weighted regression of successors, and values between two bounds that only come closer."""

    moments: Moments
    upper: Array  # [H, S, A] Q
    lower: Array  # [H, S, A] Q̌
    information: Array  # [H] log det Σ at the last switch
    switched: Array  # 1 if that was after the last episode


@part
class MonotoneLeastSquares(Agent):
    """The agent of `lsvi_ucb_plus_plus`."""

    spec: Spec = member(Spec)
    radius: Numeric = number(at_least=0)
    lower_radius: Numeric = number(at_least=0)
    squares_radius: Numeric = number(at_least=0)
    ridge: Numeric = number(above=0, default=1.0)
    gap_scale: Numeric = number(at_least=0, default=1.0)
    width_scale: Numeric = number(at_least=0, default=1.0)
    rewards: Rewards = choice("known", "learnt", default="known")
    reward_radius: Numeric | Radius = number(at_least=0, or_part=Radius, default=0.0)

    @property
    def needs(self) -> tuple[type, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return (MeanRewards,) if self.rewards == "known" else ()

    def init(self, features: FeatureTable) -> Tables:
        xp, dtype = namespace(features.values), features.values.dtype
        horizon, dim = self.spec.horizon, self.spec.dim
        steps, zero = xp.zeros(horizon, dtype=dtype), xp.zeros(horizon, dtype=xp.int32)
        empty = Episode(zero, zero, xp.zeros((horizon, dim), dtype=dtype), steps, zero)
        sample = episode_sample(self.spec, features, empty, steps, steps)
        moments = empty_moments(sample, self.spec.num_states, self.ridge, gram_sq=False)
        none = xp.zeros((horizon, self.spec.num_states, self.spec.num_actions), dtype=dtype)
        somewhere = xp.any(features.values != 0, axis=-1).reshape(none.shape[1:])  # else r = P = 0
        most = xp.where(somewhere, horizon, none)
        start = steps + dim * xp.log(moments.ridge)
        return Tables(NoForgetting().init(moments, sample), most, none, start, steps[0])

    def plan(self, state: Tables, features: FeatureTable, key: Key) -> Plan:
        values = namespace(state.upper).max(state.upper, axis=-1)
        inverse = spd_inverse(state.moments.gram)
        weights = _solved(inverse, state.moments.cross, next_step(values))
        if self.rewards == "learnt":
            weights = weights + matvec(inverse, state.moments.cross[..., 0])
        wider = self.radius + self._widening(state.moments)
        bonus = (wider * width(inverse, state.moments, features, "single")).reshape(state.upper.shape)
        return Plan(weights, bonus, state.upper, greedy_policy(state.upper), values)

    def update(self, state: Tables, features: FeatureTable, plan: Plan, episode: Episode) -> Tables:
        xp = namespace(state.upper)
        share = 1 / self.variances(state, episode.features)
        sample = episode_sample(self.spec, features, episode, xp.ones_like(share), share)
        moments = NoForgetting().update(state.moments, sample)
        information = 2 * xp.sum(xp.log(xp.linalg.diagonal(spd_root(moments.gram))), axis=-1)
        # Twice is often exactly twice, as with a ridge of 1/H², and stays so whatever the rounding.
        slack = tie_tolerance(information.dtype) * xp.clip(abs(information), 1, None)
        over = xp.any(information >= state.information + math.log(2) - slack)
        waiting, sizes = compute_after(moments.gram, information[:, None, None]), state.upper.shape[1:]
        inverse = spd_inverse(waiting)
        widths = width(inverse, moments._replace(gram=waiting), features, "single")
        doubt = self._widening(moments._replace(gram=waiting)) * widths
        if self.rewards == "learnt":
            rewards = linear(features, matvec(inverse, moments.cross[..., 0]))
        else:
            rewards = features.get(MeanRewards).array

        def step(carry: tuple[Array, Array], x: tuple) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
            (value, below), (inverse, cross, widths, doubt, rewards, upper, lower) = carry, x
            best, worst = (linear(features, _solved(inverse, cross, values)) for values in (value, below))
            best = rewards + best + self.radius * widths + doubt
            worst = rewards + worst - self.lower_radius * widths - doubt
            upper = xp.minimum(best.reshape(sizes), upper)  # which began at H
            lower = xp.maximum(worst.reshape(sizes), lower)  # which began at 0
            return (xp.max(upper, axis=-1), xp.max(lower, axis=-1)), (upper, lower)

        start = xp.zeros_like(state.upper[0, :, 0])
        xs = (inverse, moments.cross, widths, doubt, rewards, state.upper, state.lower)
        tables = *scan(step, (start, start), xs, reverse=True)[1], information
        upper, lower, information = where_tree(over, tables, (state.upper, state.lower, state.information))
        return Tables(moments, upper, lower, information, xp.astype(over, information.dtype))

    def variances(self, state: Tables, phi: Array) -> Array:
        r"""Upper bounds $\bar\sigma^2$ of variances for the features `[H, d]` of an episode: `[H]`."""
        xp, (horizon, dim) = namespace(phi), phi.shape
        upper, lower = (next_step(xp.max(table, axis=-1)) for table in (state.upper, state.lower))
        # What was played waits for the plan, which inverts the same.
        inverse, cross = spd_inverse(compute_after(state.moments.gram, phi[:, None])), state.moments.cross
        best, worst, square = (vecdot(phi, _solved(inverse, cross, v)) for v in (upper, lower, upper**2))
        length = xp.sqrt(xp.clip(vecdot(phi, matvec(inverse, phi)), 0, None))
        most = horizon**2
        spread = xp.clip(square, 0, most) - xp.clip(best, 0, horizon) ** 2
        doubt = xp.clip(self.squares_radius * length, None, most)
        doubt = doubt + xp.clip(2 * horizon * self.lower_radius * length, None, most)
        gap = 4 * dim**3 * most * (best - worst + 2 * self.lower_radius * length)
        gap = self.gap_scale * xp.clip(gap, None, dim**3 * horizon**3)
        least = (self.width_scale * 2 * dim**3 * most) ** 2 * length
        return xp.maximum(xp.clip(spread + doubt + gap + horizon, most, None), least)

    def diagnostics(self, state: Tables) -> dict[str, Array]:
        return {"switches": state.switched}

    def _widening(self, moments: Moments) -> Numeric:
        """Return what is added to radii where rewards are learnt; it broadcasts to `[H, N]`."""
        return radius_at(self.reward_radius, moments) if self.rewards == "learnt" else 0.0


def _solved(inverse: Array, cross: Array, values: Array) -> Array:
    """`Σ⁻¹ Σ_τ σ̄⁻²φV(s')`, over leading axes."""
    return matvec(inverse, matvec(cross[..., 1:], values))


def tune_lsvi_ucb_plus_plus(
    spec: Spec, *, rewards: Rewards = "known", noise_scale: float = 0.5, **run: Unpack[TheoryRun]
) -> dict[str, Any]:
    r"""$\lambda = 1/H^2$ and the radii of the paper, with `beta_scale` the constant $c$ that it leaves open.

    $\beta = c(H\sqrt{d\lambda} + \sqrt d\log(1 + dKH/(\delta\lambda)))$, $\bar\beta = c(H\sqrt{d\lambda} +
    \sqrt{d^3H^2}\,\iota)$ and $\tilde\beta = c(H^2\sqrt{d\lambda} + \sqrt{d^3H^4}\,\iota)$ with $\iota =
    \log(dHK/(\delta\lambda))$. For learnt rewards $\beta$ and $\bar\beta$ gain $c(\sqrt{\lambda d} +
    \frac\sigma H\sqrt{2\log(H/\delta) + \log(\det\Sigma/\lambda^d)})$ with $\sigma$ = `noise_scale`: ours.
    """
    dim, horizon, ridge = spec.dim, spec.horizon, 1 / spec.horizon**2
    options = read_run(TheoryRun, run)
    delta, scale = options["delta"], options["beta_scale"]
    odds = dim * horizon * require_count("num_episodes", run["num_episodes"]) / (delta * ridge)
    start, root = math.sqrt(dim * ridge), math.sqrt(dim)
    noise = require_number("noise_scale", noise_scale, at_least=0) / horizon
    of_rewards = ConfidenceRadius(noise, root, delta, "determinant", "epochs", shares=horizon, scale=scale)
    radius, wider = horizon * start + root * math.log1p(odds), start + dim * root * math.log(odds)
    radii = dict(lower_radius=scale * horizon * wider, squares_radius=scale * horizon**2 * wider)
    reward_radius = of_rewards if rewards == "learnt" else 0.0
    return dict(radius=scale * radius, **radii, ridge=ridge, reward_radius=reward_radius)


@tuned_by(tune_lsvi_ucb_plus_plus, "radius", "lower_radius", "squares_radius", "ridge", "reward_radius")
@register("none", "UCB, samples weighted by variance")
def lsvi_ucb_plus_plus(
    spec: Spec,
    *,
    radius: Numeric,
    lower_radius: Numeric,
    squares_radius: Numeric,
    ridge: Numeric = 1.0,
    gap_scale: Numeric = 1.0,
    width_scale: Numeric = 1.0,
    rewards: Rewards = "known",
    reward_radius: Numeric | Radius = 0.0,
) -> MonotoneLeastSquares:
    r"""Least-squares value iteration of minimax order, for linear MDPs that stand still.

    Samples are weighted, $\Sigma_h = \sum_\tau \bar\sigma_\tau^{-2}\phi\phi^\top + \lambda I$; $\hat w$,
    $\check w$ and $\tilde w$ are regressions of $V_{h+1}$, $\check V_{h+1}$ and $V_{h+1}^2$ at successors,
    $\|\phi\|$ is that of $\Sigma^{-1}$. From $Q = H$, $\check Q = 0$, whenever a $\det\Sigma_h$ has doubled:
    $$Q_h \leftarrow \min\{r_h + \hat w^\top\phi + \beta\|\phi\|,\ Q_h,\ H\}, \qquad
      \check Q_h \leftarrow \max\{r_h + \check w^\top\phi - \bar\beta\|\phi\|,\ \check Q_h,\ 0\},$$
    with $V_h = \max_a Q_h$ and $\check V_h = \max_a \check Q_h$. It acts greedily on $Q$. At visited pairs,
    $$\sigma^2 = [\tilde w^\top\phi]_{[0,H^2]} - [\hat w^\top\phi]_{[0,H]}^2 +
      \min\{\tilde\beta\|\phi\|, H^2\} + \min\{2H\bar\beta\|\phi\|, H^2\} + D + H,$$
    $$D = \min\{4d^3H^2(\hat w^\top\phi - \check w^\top\phi + 2\bar\beta\|\phi\|),\ d^3H^3\}, \qquad
      \bar\sigma = \max\{\sigma, H, 2d^3H^2\|\phi\|^{1/2}\}.$$
    Args:
      lower_radius, squares_radius: $\bar\beta, \tilde\beta \ge 0$.
      gap_scale: a factor of $D$; $1/(4d^3H^2)$ makes its constant 1.
      width_scale: a factor of $2d^3H^2$ in $\bar\sigma$.
      rewards: `"learnt"` estimates them by the same weighted regression.
      reward_radius: what $\beta$ and $\bar\beta$ then gain in $Q$ and $\check Q$.
    When to use: you study the minimax rate in linear MDPs that stand still, with known rewards.
    When not: anything drifts: its tables only fall. With the constants of the proof nothing is learnt in any
    run: for $d = H = 10$ the first samples weigh $10^{-12}$.
    Reference: He, Zhao, Zhou & Gu 2023, Algorithm 1.
    Deviations from the paper: it may switch once an episode, after it, not inside the loop over steps. Tables
    have the rewards of the episode before. The two factors, and rewards that are learnt, are ours.
    """
    radii = radius, lower_radius, squares_radius
    return MonotoneLeastSquares(spec, *radii, ridge, gap_scale, width_scale, rewards, reward_radius)
