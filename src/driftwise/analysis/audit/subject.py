"""The subject of an audit: an agent, the true path of models, and the assumptions of theory."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from driftwise import parts
from driftwise.base.types import Model, Radius, Spec, WeightFunction
from driftwise.base.validation import require_instance
from driftwise.environments import LinearBandit, LinearMdp
from driftwise.parts.radii import GrowingRadius

# all weights are one between two restarts
Unweighted = parts.NoForgetting | parts.PeriodicRestart | parts.RestartAt
_WITH_RADIUS = parts.Ucb, parts.RandomisedUcb, parts.Thompson, parts.TruncatedThompson
_KNOWN_RADII = parts.ConfidenceRadius, parts.LocalVariationRadius, GrowingRadius
SHARE_ROUNDING = 1e-9  # of sums of probabilities, and of shares


@dataclass(frozen=True, eq=False)
class Subject:
    """A least-squares agent in an environment for so many episodes."""

    agent: parts.LeastSquares
    environment: LinearMdp | LinearBandit
    num_episodes: int
    delta_of_numbers: float  # what a radius that is a number was made for
    is_memory: bool = False  # of a mixture, which chooses the actions

    @property
    def own_radius(self) -> Any:
        """The factor of the agent's widths or draws: a part or a number; 0 without one."""
        exploration = self.agent.exploration
        if isinstance(exploration, parts.Ucb | parts.RandomisedUcb):
            return exploration.radius
        return exploration.scale if isinstance(exploration, parts.Thompson | parts.TruncatedThompson) else 0.0

    @property
    def delta(self) -> float:
        """δ that the radius was made for."""
        radius = self.own_radius
        return float(radius.delta if isinstance(radius, parts.ConfidenceRadius) else self.delta_of_numbers)

    @property
    def spec(self) -> Spec:
        return self.agent.spec

    @property
    def forgetting(self) -> WeightFunction:
        return require_instance("forgetting", self.agent.forgetting, WeightFunction)

    @property
    def ridge(self) -> float:
        return float(self.agent.ridge)  # λ

    @property
    def noise_scale(self) -> float:
        """σ of the rewards around their means."""
        if self.environment.rewards == "bernoulli":
            return 0.5  # a coin is 1/2-sub-Gaussian
        return self.environment.noise_scale if isinstance(self.environment, LinearBandit) else 0.0

    @property
    def mean_range(self) -> tuple[float, float]:
        """Least and largest mean of a reward: 0 and 1 in MDPs, −S and S in bandits."""
        bound = self.theta_bound
        return (0.0, 1.0) if isinstance(self.environment, LinearMdp) else (-bound, bound)

    @property
    def most_regret(self) -> float:
        return self.spec.horizon * (self.mean_range[1] - self.mean_range[0])  # in an episode

    @cached_property
    def epochs(self) -> np.ndarray:
        """Number of times that all weights were zero before each episode, `[K+1]`."""
        resets = [not self.forgetting.weights(t).any() for t in range(1, self.num_episodes + 1)]
        return np.concatenate([[0], np.cumsum(resets)])

    @cached_property
    def events(self) -> np.ndarray:
        """Number of the deviation inequality of each episode, `[K+1]`: one an epoch if its weights are 1."""
        forgetting = self.forgetting
        unweighted = isinstance(forgetting, Unweighted)
        unweighted |= isinstance(forgetting, parts.ExponentialWeights) and forgetting.rate == 1
        unweighted |= isinstance(forgetting, parts.SlidingWindow) and forgetting.length >= self.num_episodes
        return self.epochs if unweighted else np.arange(self.num_episodes + 1)

    def failure(self, part: parts.ConfidenceRadius, t: int) -> float:
        """Return `δ'` of an episode: `δ/shares`, or `δ/(2n(1+ln n)²)` in the n-th round or epoch."""
        if part.shares > 0:
            return float(part.delta / part.shares)
        current = 1 + (t if part.spread == "rounds" else int(self.epochs[t]))
        return float(part.delta / (2 * current * (1 + np.log(current)) ** 2))

    @cached_property
    def total_failure(self) -> float:
        """The probability that any deviation inequality of a `ConfidenceRadius` fails, by the union bound."""
        events = self.events[: self.num_episodes]
        chances = np.array([self.failure(self.own_radius, t) for t in range(self.num_episodes)])
        return float(sum(chances[events == event].max() for event in np.unique(events)))

    def width_matrix(self, inverse: np.ndarray, gram_sq: np.ndarray | None) -> np.ndarray:
        """Return the matrix of the norm of widths: `Λ⁻¹Λ̃Λ⁻¹`, or `Λ⁻¹` where no `Λ̃` is used or kept."""
        if gram_sq is None or not self.agent.exploration.uses_gram_sq:
            return inverse
        return inverse @ gram_sq @ inverse

    @cached_property
    def _path(self) -> np.ndarray:
        return self.environment.at(np.arange(self.num_episodes))

    def model(self, t: int) -> Model:
        """Return the true model of episode `t`; `μ` of a bandit is 0."""
        environment, mixture = self.environment, self._path[t]
        if isinstance(environment, LinearBandit):
            return Model(mixture[None], np.zeros((1, len(mixture), 1)))
        return Model(*(np.tensordot(mixture, array, axes=1) for array in (environment.theta, environment.mu)))

    @cached_property
    def theta_bound(self) -> float:
        """S: `√d`, as the paper assumes, for linear MDPs; the true bound for bandits."""
        if isinstance(self.environment, LinearBandit):
            return self.environment.norm_bound(self.num_episodes)
        return math.sqrt(self.spec.dim)

    @cached_property
    def mu_bound(self) -> float:
        """`√d`, or the ℓ2 norm of the masses `|μ^(l)|(S)` where signed measures exceed it."""
        environment, root = self.environment, math.sqrt(self.spec.dim)
        return environment.mu_bound if isinstance(environment, LinearMdp) else root

    @cached_property
    def moves(self) -> tuple[np.ndarray, np.ndarray]:
        """`‖θ_{s,h} − θ_{s+1,h}‖`, and the mass of `μ_{s,h} − μ_{s+1,h}`: `[K−1, H]` each."""
        of_rewards, of_transitions = np.zeros((2, self.num_episodes - 1, self.spec.horizon))
        for s in np.flatnonzero(np.any(np.diff(self._path, axis=0) != 0, axis=1)).tolist():
            now, then = self.model(s), self.model(s + 1)
            of_rewards[s] = np.linalg.norm(then.theta - now.theta, axis=-1)
            of_transitions[s] = _mass(then.mu - now.mu)
        return of_rewards, of_transitions

    @cached_property
    def all_biases(self) -> np.ndarray:
        return np.array([self.biases(t) for t in range(self.num_episodes)])  # [K, 2, H]

    def biases(self, t: int, *, sharp: bool = False) -> np.ndarray:
        """`bias_r(t, h)` and `bias_P(t, h)`, `[2, H]`; sharp with `1/4` in the place of d."""
        weights, dim = self.forgetting.weights(t), 0.25 if sharp else self.spec.dim
        bounded = zip(self.moves, (self.theta_bound, self.mu_bound), strict=True)
        return np.array([bias_bound(weights, moves[:t], dim, self.ridge, bound) for moves, bound in bounded])

    @property
    def is_bandit(self) -> bool:
        """Whether theory's radius is that of a bandit: one step, and no successor in proof or radius."""
        is_confidence = isinstance(self.own_radius, parts.ConfidenceRadius)
        return self.spec.horizon == 1 and (is_confidence or isinstance(self.environment, LinearBandit))

    @property
    def mdp_radius(self) -> float:
        """Theory's radius for linear MDPs, `dH√log(2dHKn/δ) + √λH(M − √d)₊`; its open constant is one."""
        dim, horizon, num_episodes, memory = self.spec.dim, self.spec.horizon, self.num_episodes, 1.0
        if isinstance(self.forgetting, parts.ExponentialWeights):  # n = 1/(1−η) ≤ K; 1 for weights of 0 and 1
            memory = 1 / max(1 - float(self.forgetting.rate), 1 / num_episodes)
        failures = math.log(2 * dim * horizon * num_episodes * memory / self.delta)
        excess = max(self.mu_bound - math.sqrt(dim), 0.0)
        return dim * horizon * math.sqrt(failures) + math.sqrt(self.ridge) * horizon * excess

    @cached_property
    def bandit_radius(self) -> parts.ConfidenceRadius:
        """Theory's radius for linear bandits, with the true σ and S; its form is that of the agent's own."""
        own = self.own_radius
        true: dict[str, Any] = dict(noise_scale=self.noise_scale, norm_bound=self.theta_bound)
        even = len(np.unique(self.events[: self.num_episodes]))
        if not isinstance(own, parts.ConfidenceRadius):
            return parts.ConfidenceRadius(**true, delta=self.delta, shares=even)
        covered = self.total_failure <= self.delta * (1 + SHARE_ROUNDING)  # all episodes, by its shares of δ
        return replace(own, **true, samples=0, scale=1.0, shares=own.shares if covered else even)

    def with_theory_radius(self, scale: float) -> Self:
        """Return the subject with `scale` times theory's radius; the part for known drift is not scaled."""
        exploration = self.agent.exploration
        if not isinstance(exploration, parts.Ucb):
            return self
        radius: Any = scale * self.mdp_radius
        if self.is_bandit:
            radius = replace(self.bandit_radius, scale=scale)
        elif isinstance(exploration.radius, parts.LocalVariationRadius):
            radius = replace(exploration.radius, radius=radius)
        given: dict[str, Any] = dict(noise=None, prior="given")
        agent = replace(self.agent, exploration=replace(exploration, radius=radius), **given)
        return replace(self, agent=agent, delta_of_numbers=self.delta)

    def conditions(self) -> dict[str, str]:
        """Return all conditions of statements, with the reason why the subject does not meet it, if so."""
        agent, radius = self.agent, self.own_radius
        of_confidence, is_part = isinstance(radius, parts.ConfidenceRadius), isinstance(radius, Radius)
        known_radius = not is_part or isinstance(radius, _KNOWN_RADII)
        uses_gram_sq = agent.exploration.uses_gram_sq and agent.prior == "given"
        known_index = isinstance(agent.exploration, (*_WITH_RADIUS, parts.Unperturbed))
        bounded = isinstance(self.forgetting, parts.ExponentialWeights | Unweighted | parts.SlidingWindow)
        number = "the radius is a number, which `theory_radius` compares with theory's"
        conditions = {
            "optimism": (isinstance(agent.exploration, parts.Ucb), "the exploration is not UCB"),
            "gram_sq": (uses_gram_sq, "the exploration makes no use of Σ ω² φφᵀ"),
            "plays": (not self.is_memory, "the mixture acts, not its memories"),
            "learnt_noise": (agent.noise is not None, "its noise is not learnt"),
            "successors": (self.spec.horizon > 1, "there is only one step"),
            "noise": (self.noise_scale > 0, "rewards are seen without noise"),
            "exact_rewards": (self.noise_scale == 0, "rewards are noisy"),
            "known_index": (known_index, "no formula of this exploration's index is known here"),
            "known_radius": (known_radius, "no formula of its radius is known here"),
            "formula": (is_part or agent.noise is not None, number),
            "radius": (isinstance(agent.exploration, _WITH_RADIUS), "the exploration has no radius"),
            "confidence": (of_confidence, "the radius is not made for a δ of its own"),
            "potential": (bounded, "no bound on the sum of widths is known for this forgetting"),
        }
        return {name: "" if met else why for name, (met, why) in conditions.items()}


def bias_bound(weights: np.ndarray, moves: np.ndarray, dim: float, ridge: float, bound: float) -> np.ndarray:
    r"""$\min_W \sqrt{\tfrac d\lambda \sum_{\tau\ge t-W}\omega_\tau}\sum_{s\ge t-W}\|\theta_s-\theta_{s+1}\|
    + \tfrac{2S}\lambda\sum_{\tau<t-W}\omega_\tau$: the bias lemma for any weights, `[H]` from moves `[t, H]`.

    Exponential weights have $\sum\omega \le 1/(1-\eta)$ and $\eta^W/(1-\eta)$ outside the window, as printed;
    sliding windows have $W$ and 0. The lemma holds for every $W$, hence for the best one.
    """
    before = np.concatenate([[0.0], np.cumsum(weights)])[:, None]  # [t+1, 1] older than each cut
    inside = np.maximum(before[-1] - before, 0.0)
    moved = np.concatenate([np.cumsum(moves[::-1], axis=0)[::-1], np.zeros((1, moves.shape[1]))])
    return np.min(np.sqrt(dim / ridge * inside) * moved + 2 * bound / ridge * before, axis=0)


def _mass(mu: np.ndarray) -> np.ndarray:
    """ℓ2 norm over coordinates of the total variation `|μ^(l)|(S)` of each: `[H, d, S]` to `[H]`."""
    return np.linalg.norm(np.abs(mu).sum(-1), axis=-1)
