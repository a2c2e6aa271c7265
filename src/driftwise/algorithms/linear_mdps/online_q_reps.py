"""Online Q-REPS: mirror descent on the occupancy measures of known transitions, for adversarial rewards."""

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from driftwise.algorithms.algorithm import register, tuned_by
from driftwise.base import Agent, AnchorMeasures, FixedTransitions, InitialDistribution, member, number
from driftwise.base.arrays import identity_like, namespace, scan, spd_inverse, vecdot, while_loop
from driftwise.base.part import part
from driftwise.base.random import draw_uniform, fold
from driftwise.base.types import Array, Episode, FeatureTable, Key, Numeric, Plan, Spec, next_step
from driftwise.base.validation import require_choice
from driftwise.parts import ExactInverse, GeometricResampling
from driftwise.parts.known_model import InverseCovariance, KnownModel
from driftwise.parts.regression import matvec
from driftwise.theory.tuning import restart_period

_MOST_STEPS = 30  # of Newton's method for an episode; a few are enough unless rates are very high


class DualState(NamedTuple):
    rewards: Array  # [H, d] Σ θ̂
    dual: Array  # [H, d] Z of the last episode
    tick: Array  # episodes since the last start


class Primal(NamedTuple):
    policy: Array  # [H, S, A] π ∝ exp(α φᵀZ)
    occupancy: Array  # [H, S, A] μ ∝ μ⁰ exp(ηΔ)
    flow: Array  # [H, S, A] u, where μ leads and then π


@part
class OccupancyDescent(Agent):
    """The agent of `online_q_reps`. A plan's weights are the dual variables `Z`."""

    needs = (AnchorMeasures, InitialDistribution, FixedTransitions)
    off_policy = False  # a reward counts for more the less its chance was
    spec: Spec = member(Spec)
    learning_rate: Numeric = number(above=0)
    softness: Numeric = number(above=0)
    exploration: Numeric = number(above=0, at_most=1)
    covariance: InverseCovariance = member(InverseCovariance)
    period: Numeric = number(at_least=0, integer=True, default=0)

    @property
    def optimistic(self) -> bool:
        return False

    def init(self, features: FeatureTable) -> DualState:
        xp, dtype = namespace(features.values), features.values.dtype
        zero = xp.zeros((self.spec.horizon, self.spec.dim), dtype=dtype)
        return DualState(zero, zero, xp.asarray(0, dtype=xp.int64))

    def plan(self, state: DualState, features: FeatureTable, key: Key) -> Plan:
        xp, model = namespace(state.dual), KnownModel.of(features)
        shape = (self.spec.horizon, self.spec.num_states, self.spec.num_actions)
        even = xp.ones(shape, dtype=state.dual.dtype) / self.spec.num_actions
        prior = model.occupancy(even)
        dual = self.solve_dual(model, prior, state)
        policy = self.primal_variables(model, prior, state.rewards, dual).policy
        inverse = self.covariance.inverse(model, policy, self.exploration, fold(key, 1))
        explores = draw_uniform(fold(key, 0), 1, even.dtype)[0] < self.exploration
        policy = xp.where(explores, even, policy)
        q, values = self.evaluate_policy(model, policy, state)
        return Plan(dual, xp.zeros_like(q), q, policy, values, drawn=inverse)

    def update(self, state: DualState, features: FeatureTable, plan: Plan, episode: Episode) -> DualState:
        xp, tick = namespace(state.dual), state.tick + 1
        rewards = state.rewards + matvec(plan.drawn, episode.features) * episode.rewards[:, None]
        goes_on = xp.where(tick == xp.asarray(self.period), 0, 1)
        return DualState(goes_on * rewards, goes_on * plan.weights, goes_on * tick)

    def evaluate_policy(self, model: KnownModel, policy: Array, state: DualState) -> tuple[Array, Array]:
        """Action values and values of a policy if rewards are the mean of their estimates."""
        xp = namespace(policy)
        rewards = state.rewards / xp.maximum(state.tick, 1)

        def step(value: Array, x: tuple) -> tuple[Array, tuple[Array, ...]]:
            policy, rewards, measures = x
            weights = rewards + measures @ value
            q = (model.features @ weights).reshape(policy.shape)
            value = xp.sum(policy * q, axis=-1)
            return value, (q, value)

        start = xp.zeros_like(model.initial)
        return scan(step, start, (policy, rewards, model.measures), reverse=True)[1]

    def primal_variables(self, model: KnownModel, prior: Array, rewards: Array, dual: Array) -> Primal:
        """The policy, the occupancy and the flow of dual variables."""
        xp = namespace(dual)
        log_sum, policy = _soft_max(self.softness * (dual @ model.features.T).reshape(prior.shape))
        values = (log_sum - math.log(self.spec.num_actions)) / self.softness
        error = rewards + matvec(model.measures, next_step(values)) - dual  # of Bellman's equation
        flat = prior.reshape(len(prior), -1)
        possible = flat > 0
        logits = self.learning_rate * (error @ model.features.T) + xp.log(xp.where(possible, flat, 1.0))
        occupancy = _soft_max(xp.where(possible, logits, -xp.inf))[1].reshape(prior.shape)
        arrived = matvec(xp.matrix_transpose(model.measures), model.expected(occupancy))
        reached = xp.concat([model.initial[None], arrived[:-1]])
        return Primal(policy, occupancy, reached[..., None] * policy)

    def solve_dual(self, model: KnownModel, prior: Array, state: DualState) -> Array:
        """The minimiser of the dual, sought from that of the last episode."""
        xp, small = namespace(state.dual), _small(state.dual)

        def improve(carry: tuple) -> tuple:
            dual, _, count = carry
            step, slope = self.descend(model, prior, state.rewards, dual)
            return dual + step, slope, count + 1

        start = (state.dual, xp.asarray(xp.inf, dtype=state.dual.dtype), xp.asarray(0))
        return while_loop(lambda carry: (carry[1] > small) & (carry[2] < _MOST_STEPS), improve, start)[0]

    def descend(self, model: KnownModel, prior: Array, rewards: Array, dual: Array) -> tuple[Array, Array]:
        """A damped step of Newton's method, and how steep the dual was before it.

        The second derivative is block tridiagonal. As a constant more in `φᵀZ_h` changes nothing, half the
        square of its mean under `μ⁰` is added.
        """
        xp, at = namespace(dual), self.primal_variables(model, prior, rewards, dual)
        expected, usual = model.expected(at.occupancy), model.expected(prior)
        gradient = model.expected(at.flow) - expected + vecdot(usual, dual)[..., None] * usual
        by_state = model.features.reshape(*at.policy.shape[1:], -1)
        mean = xp.sum(at.policy[..., None] * by_state, axis=-2)  # [H, S, d] φ under π
        squares = xp.matrix_transpose(mean) @ (xp.sum(at.flow, axis=-1)[..., None] * mean)
        of_actions = self.softness * (model.covariance(at.flow) - squares)
        of_expected, of_usual = (phi[..., :, None] * phi[..., None, :] for phi in (expected, usual))
        of_errors = self.learning_rate * (model.covariance(at.occupancy) - of_expected)
        ahead = model.measures @ next_step(mean)  # [H, d, d] how the error at h moves with Z_{h+1}
        damping = _small(dual) * identity_like(of_errors)  # for directions that are never met

        def eliminate(carry: tuple[Array, Array], x: tuple) -> tuple[tuple[Array, Array], tuple]:
            (curvature, pull), (gradient, own, of_errors, ahead) = carry, x
            block = own + of_errors + curvature
            inverse = spd_inverse(block + damping * xp.linalg.trace(block))
            pull, onward = pull - gradient, of_errors @ ahead
            left = ahead.T @ onward - onward.T @ inverse @ onward
            return (left, onward.T @ (inverse @ pull)), (inverse, pull, onward)

        def substitute(step: Array, x: tuple) -> tuple[Array, Array]:
            inverse, pull, onward = x
            step = inverse @ (pull + onward @ step)
            return step, step

        start = (xp.zeros_like(damping), xp.zeros_like(gradient[0]))
        _, blocks = scan(eliminate, start, (gradient, of_actions + of_usual, of_errors, ahead))
        _, step = scan(substitute, start[1], blocks, reverse=True)
        of_q = self.softness * (step @ model.features.T)
        of_error = self.learning_rate * ((matvec(ahead, next_step(step)) - step) @ model.features.T)
        farthest = xp.maximum(xp.max(xp.abs(of_q)), xp.max(xp.abs(of_error)))  # that an exponent moves
        length = xp.log1p(farthest) / xp.maximum(farthest, xp.finfo(step.dtype).tiny)
        return length * step, xp.max(xp.abs(gradient))


def _small(like: Array) -> float:
    """Far above rounding, far below a probability that matters."""
    return float(np.finfo(like.dtype).eps) ** 0.4


def _soft_max(logits: Array) -> tuple[Array, Array]:
    """`log Σ exp` over the last axis, and its gradient."""
    xp = namespace(logits)
    most = xp.max(logits, axis=-1, keepdims=True)
    powers = xp.exp(logits - most)
    total = xp.sum(powers, axis=-1, keepdims=True)
    return (xp.log(total) + most)[..., 0], powers / total


def tune_online_q_reps(spec: Spec, *, num_episodes: int, variation: float = 0.0) -> dict[str, Any]:
    r"""$\eta = \alpha = \sqrt{H \log A/(dE)}$ and $\gamma = \min\{1/2, d\eta\}$ for a period $E$.

    The period is LSVI-UCB-Restart's. This is ours: the theorem needs eigenvalues of the covariance.
    """
    run: dict[str, Any] = dict(num_episodes=num_episodes, variation=variation)
    period = restart_period(dim=spec.dim, horizon=spec.horizon, **run)
    rate = math.sqrt(spec.horizon * math.log(max(spec.num_actions, 2)) / (spec.dim * period))
    return dict(learning_rate=rate, softness=rate, exploration=min(0.5, spec.dim * rate), period=period)


@tuned_by(tune_online_q_reps, "learning_rate", "softness", "exploration", "period")
@register(
    "none, or restarts",
    "mirror descent on occupancies, uniform episodes",
    bound="(d H K)^(1/2) for known transitions, against one policy",
)
def online_q_reps(
    spec: Spec,
    *,
    learning_rate: Numeric,
    softness: Numeric,
    exploration: Numeric,
    covariance: Literal["exact", "resampled"] = "exact",
    ridge: Numeric = 1e-4,
    num_samples: int = 100,
    period: Numeric = 0,
) -> OccupancyDescent:
    r"""Relative-entropy policy search with action values, for rewards that an adversary chooses.

    It needs transitions $P_h = \Phi m_h$, which do not drift, and the distribution of the first state. With
    $\Sigma_{k,h} = E[\varphi_h \varphi_h^\top]$ under the policy of episode $k$, $\hat\theta_{k,h} =
    \Sigma_{k,h}^{-1} \varphi_{k,h} r_{k,h}$ estimates the rewards without bias. The next policy maximises
    $$\max_{\mu,u} \sum_h \Big\langle \mu_h, \Phi \sum_{\tau\le k} \hat\theta_{\tau,h} \Big\rangle
      - \frac{1}{\eta} D(\mu_h \| \mu^0_h) - \frac{1}{\alpha} D_C(u_h \| \mu^0_h) \quad\text{where}\quad
      \sum_a u_{h+1}(\cdot,a) = P_h^\top \mu_h, \quad \Phi^\top u_h = \Phi^\top \mu_h,$$
    with the relative entropy $D$ to the occupancy $\mu^0$ of uniform play and the conditional one $D_C$ of
    actions given states. Its dual has $Hd$ variables: with $V_h(s) = \frac1\alpha \log \frac1A \sum_a
    e^{\alpha \varphi(s,a)^\top Z_h}$ and $\Delta_h = \varphi^\top \sum_{\tau\le k} \hat\theta_{\tau,h} + P_h
    V_{h+1} - \varphi^\top Z_h$,
    $$Z_k = \arg\min_Z \sum_h \frac1\eta \log \sum_{s,a} \mu^0_h(s,a) e^{\eta \Delta_h(s,a)} + E[V_1(s_1)],
      \qquad \pi_{k+1,h}(a \mid s) \propto e^{\alpha \varphi(s,a)^\top Z_{k,h}}.$$
    Args:
      learning_rate, softness: $\eta$ and $\alpha > 0$.
      exploration: $\gamma \in (0, 1]$, the probability that all of an episode is played uniformly.
      covariance: `"exact"` from the known model, or `"resampled"` by geometric resampling, as in the paper.
      ridge: $\rho > 0$, added to an exact covariance, which may be singular.
      num_samples: $M$, simulated episodes for a resampled one.
      period: episodes after which everything restarts, 0 for never.
    When to use: transitions are known and stay the same, while rewards may be chosen by an adversary.
    When not: transitions drift or are unknown.
    Reference: Neu & Olkhovskaya 2021, Algorithms 1 and 2.
    Deviations from the paper: exact covariances, with a ridge; the first state may be random; the dual is
    solved by Newton's method. Restarts are an addition: the theorem compares with one policy.
    """
    require_choice("covariance", covariance, ("exact", "resampled"))
    inverse: Any = ExactInverse(ridge) if covariance == "exact" else GeometricResampling(num_samples)
    return OccupancyDescent(spec, learning_rate, softness, exploration, inverse, period)
