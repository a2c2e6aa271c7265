"""The statements, in the order of tables: regression, bias, confidence, and sums over a whole run."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.audit.lemma import LEMMAS, Lemma, Sides, lemma
from driftwise.analysis.audit.snapshot import Snapshot, Trace
from driftwise.analysis.audit.subject import Subject
from driftwise.base.arrays import spd_inverse
from driftwise.parts.forgetting import ExponentialWeights, RestartAt

__all__ = ["LEMMAS", "Lemma"]


@lemma("Alg. 1, l. 16", "identity")
def gram_recursion(run: Snapshot) -> Sides:
    """Λ of the recursion = Σ ω φφᵀ + λI."""
    return run.moments.gram, run.gram


@lemma("Alg. 1, l. 17", "identity", "gram_sq")
def gram_sq_recursion(run: Snapshot) -> Sides:
    """Λ̃ of the recursion = Σ ω² φφᵀ + λI; where none is kept it has to equal Λ."""
    return run.moments.gram if run.moments.gram_sq is None else run.moments.gram_sq, run.gram_sq


@lemma("Alg. 1, l. 6", "identity")
def cross_recursion(run: Snapshot) -> Sides:
    """cross of the recursion = Σ ω φ (r, e_s')ᵀ, of rewards alone where there is only one step."""
    targets = run.history.rewards[..., None]
    if run.subject.spec.horizon > 1:
        arrived = np.eye(run.subject.spec.num_states)[run.history.successors]
        targets = np.concatenate([targets, arrived], axis=-1)
    return run.moments.cross, run.weighted(targets)


@lemma("Eq. (6)", "identity")
def estimator(run: Snapshot) -> Sides:
    """w = Λ⁻¹ Σ ω φ (r + V(s'))."""
    summed = run.weighted(run.history.rewards + run.targets_ahead)
    return run.plan.weights, (run.inverse @ summed[..., None])[..., 0]


@lemma("Alg. 1, l. 7", "identity", "optimism")
def bonus(run: Snapshot) -> Sides:
    """B(s, a) = β √(φᵀ Λ⁻¹ Λ̃ Λ⁻¹ φ)."""
    return run.bonus, run.radius[:, None] * run.width


@lemma("Lemma 9", "always")
def weighted_features(run: Snapshot) -> Sides:
    """Σ ω φᵀ Λ⁻¹ φ ≤ d."""
    inverse, features = spd_inverse(run.moments.gram), run.history.features
    return np.einsum("t,thd,hde,the->h", run.weights, features, inverse, features), run.subject.spec.dim


@lemma("Lemma 5", "always", "successors")
def bounded_weights(run: Snapshot) -> Sides:
    """‖w‖ ≤ 2H √(d Σω / λ), which is 2H √(d (1−η^(t−1)) / (λ (1−η)))."""
    spec = run.subject.spec
    norms = np.linalg.norm(run.plan.weights, axis=-1)
    limit = 2 * spec.horizon * np.sqrt(spec.dim * run.weights.sum() / run.subject.ridge)
    return norms, limit


@lemma("Lemma 5", "always")
def bounded_sandwich(run: Snapshot) -> Sides:
    """‖Λ⁻¹ Λ̃ Λ⁻¹‖ ≤ 1/λ."""
    moments = run.moments
    inverse = spd_inverse(moments.gram)
    matrix = inverse if moments.gram_sq is None else inverse @ moments.gram_sq @ inverse
    return np.linalg.norm(matrix, ord=2, axis=(-2, -1)), 1 / run.subject.ridge


@lemma("Lemma 11", "always")
def determinant(run: Snapshot) -> Sides:
    """log det(Λ̃/λ) ≤ d log(1 + Σω² / (λd))."""
    dim, ridge = run.subject.spec.dim, run.subject.ridge
    matrix = run.gram_sq if run.moments.gram_sq is None else run.moments.gram_sq
    information = np.linalg.slogdet(matrix / ridge)[1]
    return information, dim * np.log1p(np.square(run.weights).sum() / (ridge * dim))


@lemma("Lemma 1", "identity", "successors")
def linear_q(run: Snapshot) -> Sides:
    """Q^π = φᵀ (θ + μ V^π), held against a backward induction with the kernel P = Φμ."""
    backed_up = run.backed_up(run.policy_values)
    values, action_values = np.zeros(run.subject.spec.num_states), np.zeros_like(backed_up)
    for h in reversed(range(len(backed_up))):
        action_values[h] = run.features @ run.model.theta[h] + run.features @ run.model.mu[h] @ values
        values = _played(run, action_values)[h]
    return backed_up, action_values


@lemma("Lemma 2", "always")
def reward_bias(run: Snapshot) -> Sides:
    """|r − r̄| ≤ bias_r."""
    away = np.abs((run.model.theta - run.average_model.theta) @ run.features.T)
    return away, run.biases[0][:, None]


@lemma("Lemma 2", "always", "successors")
def transition_bias(run: Snapshot) -> Sides:
    """|[(P − P̄) f](s, a)| ≤ H bias_P for the worst f with |f| ≤ H."""
    horizon = run.subject.spec.horizon
    away = np.abs(run.features @ (run.model.mu - run.average_model.mu)).sum(-1)
    return horizon * away, horizon * run.biases[1][:, None]


@lemma("App. C.1", "always", "exact_rewards")
def reward_variance(run: Snapshot) -> Sides:
    """|r̂ − r̄| ≤ √λ S ‖φ‖ in the norm of Λ⁻¹ Λ̃ Λ⁻¹, with S = √d."""
    widths = run.norms(run.inverse @ run.gram_sq @ run.inverse)
    learnt = (run.inverse @ run.weighted(run.history.rewards)[..., None])[..., 0]
    away = np.abs((learnt - run.average_model.theta) @ run.features.T)
    return away, np.sqrt(run.subject.ridge) * run.subject.theta_bound * widths


@lemma("Lemma 10", "probable", "noise")
def reward_concentration(run: Snapshot) -> Sides:
    """‖Σ ω φ (r − φᵀθ_τ)‖ ≤ σ √(2 log(2KH/δ) + log det(Λ̃/λ)) in the norm of Λ̃⁻¹.

    The lemma holds at each t; for all (t, h) at once δ is divided by their number.
    """
    deviation = _self_normalised(run, run.history.rewards - run.history.means)
    information = np.linalg.slogdet(run.gram_sq / run.subject.ridge)[1]
    return deviation, run.subject.noise_scale * np.sqrt(2 * _log_failures(run) + information)


@lemma("Lemmas 6 and 13", "probable", "optimism", "successors")
def transition_concentration(run: Snapshot) -> Sides:
    """‖Σ ω φ (V(s') − [P_τ V](s, a))‖ ≤ H √(2 log(2KHN/δ) + d log(1 + Σω²/(λd))) + 1 in the norm of Λ̃⁻¹.

    The paper's with its constants: `log N = (d²+d) log(3(2H√(dΣω/λ) + β²√d/λ)/ε)` covers all value functions
    that there can be, to ε = λ/(4Σω)². There is nothing to learn of successors at the last step.
    """
    spec, ridge = run.subject.spec, run.subject.ridge
    expected = np.einsum("ths,hs->th", run.history.kernels, run.values[1:])
    deviation = _self_normalised(run, run.targets_ahead - expected)[:-1]
    memory = max(1.0, float(run.weights.sum()))
    fineness = min(1.0, ridge / (4 * memory) ** 2)
    size = 2 * spec.horizon * np.sqrt(spec.dim * memory / ridge)
    size += run.radius.max() ** 2 * np.sqrt(spec.dim) / ridge
    covering = (spec.dim**2 + spec.dim) * np.log(3 * size / fineness)
    information = spec.dim * np.log1p(np.square(run.weights).sum() / (ridge * spec.dim))
    limit = spec.horizon * np.sqrt(2 * (_log_failures(run) + covering) + information) + 1
    return deviation, limit


@lemma("Lemma 7, proof", "probable", "optimism")
def concentration(run: Snapshot) -> Sides:
    """|φᵀw − r̄ − P̄ V| ≤ β ‖φ‖."""
    average = run.average_model
    backed = average.theta + np.einsum("hds,hs->hd", average.mu, run.values[1:])
    return np.abs(run.estimate - backed @ run.features.T), run.bonus


@lemma("Lemma 7", "probable", "optimism")
def key_lemma(run: Snapshot) -> Sides:
    """|φᵀw − Q^π − P(V − V^π)| ≤ β ‖φ‖ + 2H (bias_r + bias_P).

    The left side is `|φᵀw − r − PV|` whatever π is, since `Q^π = r + PV^π`.
    """
    return np.abs(run.estimate - run.backed_up(run.values)), run.bonus + run.bias[:, None]


@lemma("Lemmas 4 and 8", "probable", "optimism")
def optimism(run: Snapshot) -> Sides:
    """Q* − φᵀw ≤ β ‖φ‖ + 2H Σ_{h' ≥ h} (bias_r + bias_P)."""
    ahead = np.cumsum(run.bias[::-1])[::-1]
    return run.backed_up(run.optimal_values) - run.estimate, run.bonus + ahead[:, None]


@lemma("Eq. (21), one step", "probable", "optimism")
def single_step_regret(run: Snapshot) -> Sides:
    """(V − V^π)(s) − [P(V − V^π)](s, a) ≤ 2β ‖φ‖ + 2H (bias_r + bias_P), over the actions of π."""
    gap = run.values - run.policy_values
    ahead = _played(run, run.backed_up(gap, rewards=False))
    return gap[:-1] - ahead, 2 * _played(run, run.bonus) + run.bias[:, None]


@lemma("Eqs. (20) and (21)", "probable", "optimism")
def episode_regret(run: Snapshot) -> Sides:
    """V* − V^π ≤ E_π Σ_h 2β ‖φ_h‖ + 4H Σ_h (bias_r + bias_P), at every first state."""
    explored = np.zeros_like(run.values)
    for h in reversed(range(len(run.bonus))):
        ahead = run.backed_up(explored, rewards=False)
        explored[h] = _played(run, 2 * run.bonus + ahead)[h]
    regret = run.optimal_values[0] - run.policy_values[0]
    return regret, explored[0] + 2 * run.bias.sum()


def _self_normalised(run: Snapshot, noise: np.ndarray) -> np.ndarray:
    """`‖Σ ω φ ε‖` in the norm of `Λ̃⁻¹`: `[H]` from noise `[t, H]`."""
    summed = run.weighted(noise)
    return np.sqrt(np.einsum("hd,hd->h", summed, np.linalg.solve(run.gram_sq, summed[..., None])[..., 0]))


def _log_failures(run: Snapshot) -> float:
    """`log(2KH/δ)`."""
    return float(np.log(2 * run.subject.num_episodes * run.subject.spec.horizon / run.subject.delta))


def _played(run: Snapshot, of_pairs: np.ndarray) -> np.ndarray:
    """The mean over the policy's actions: `[H, S]` from `[H, N]`."""
    return np.sum(run.policy * run.by_state(of_pairs), axis=-1)


@lemma("Eq. (23), term A", "probable", "optimism", "successors", whole_run=True)
def surprises(run: Trace) -> Sides:
    """|Σ_{t,h} ξ| ≤ 4 √(H³ K log(4/δ))."""
    return np.abs(run.surprises.sum()), _surprise_bound(run.subject)


@lemma("Eq. (24), term B", "always", "optimism", "potential", whole_run=True)
def sum_of_widths(run: Trace) -> Sides:
    """Σ_{t,h} ‖φ‖ ≤ H √K √(2dK log(1/η) + 2d log(1 + Σω/(λd))); by blocks where weights are 0 or 1."""
    return run.widths.sum(), _width_bound(run.subject)


@lemma("Theorem 1", "probable", "optimism", "potential", whole_run=True)
def theorem(run: Trace) -> Sides:
    """Regret(K) ≤ (A) + 2β (B) + 4H Σ_{t,h} (bias_r + bias_P), with (A) and (B) as bounded above."""
    explored = 2 * run.radius * _width_bound(run.subject)
    drifted = 4 * run.subject.spec.horizon * run.bias
    return run.regret.sum(), _surprise_bound(run.subject) + explored + drifted


def _surprise_bound(subject: Subject) -> float:
    horizon, num_episodes = subject.spec.horizon, subject.num_episodes
    return float(4 * np.sqrt(horizon**3 * num_episodes * np.log(4 / subject.delta)))


def _width_bound(subject: Subject) -> float:
    r"""$H\sqrt{K\ell}$ with $\ell$ a bound on $\sum_t \|\phi_t\|^2$ at one step.

    Exponential weights: $\ell = 2d(K\log(1/\eta) + \log(1+\sum\omega/(\lambda d)))$ (Russac et al. 2019,
    Proposition 4). Weights of 0 and 1: $\ell = 2d\,n\log(1 + m/(\lambda d))$ for $n$ blocks of at most $m$
    episodes. A ridge below one multiplies by $1/\lambda$.
    """
    spec, ridge, num_episodes = subject.spec, subject.ridge, subject.num_episodes
    forgetting = subject.agent.forgetting
    heaviest = max(float(forgetting.weights(t).sum()) for t in range(num_episodes + 1))
    information = np.log1p(heaviest / (ridge * spec.dim))
    if isinstance(forgetting, ExponentialWeights):
        information += num_episodes * np.log(1 / forgetting.rate)
    else:
        information *= _num_blocks(subject)
    potential = 2 * max(1.0, 1 / ridge) * spec.dim * information
    return float(spec.horizon * np.sqrt(num_episodes * potential))


def _num_blocks(subject: Subject) -> int:
    """Stretches of the run such that in each nothing is forgotten that came in it."""
    forgetting, num_episodes = subject.agent.forgetting, subject.num_episodes
    if isinstance(forgetting, RestartAt):
        return len(forgetting.changes) + 1
    length = getattr(forgetting, "length", getattr(forgetting, "period", num_episodes))
    return -(-num_episodes // min(length, num_episodes))
