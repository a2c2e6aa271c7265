"""Bounds on the agent's matrices, the errors of its estimates, the regret they cost, and sums over a run."""

import numpy as np

from driftwise.analysis.audit.lemmas import Sides, lemma
from driftwise.analysis.audit.reference import information_of_count, log_determinant
from driftwise.analysis.audit.snapshot import Snapshot, Trace
from driftwise.analysis.audit.subject import Subject
from driftwise.parts import ExponentialWeights, SlidingWindow


@lemma("Lemma 9", "always")
def weighted_features(run: Snapshot) -> Sides:
    """Σ ω φᵀ Λ⁻¹ φ ≤ d."""
    # trivially, since Λ⁻¹ ≼ I/λ
    phi, trivial = run.history.features, run.longest * run.weights.sum() / run.subject.ridge
    summed = np.einsum("t,thd,hde,the->h", run.weights, phi, run.own_inverse, phi)
    return summed, run.subject.spec.dim, trivial


@lemma("Lemma 5", "always", "successors")
def bounded_weights(run: Snapshot) -> Sides:
    """‖w‖ ≤ 2H √(d Σω / λ), which is 2H √(d (1−η^(t−1)) / (λ (1−η)))."""
    size = np.sqrt(run.subject.spec.dim * run.weights.sum() / run.subject.ridge)
    return np.linalg.norm(run.plan.weights, axis=-1), 2 * run.subject.spec.horizon * size


@lemma("Lemma 5", "always")
def bounded_sandwich(run: Snapshot) -> Sides:
    """‖Λ⁻¹ Λ̃ Λ⁻¹‖ ≤ 1/λ."""
    inverse, gram_sq = run.own_inverse, run.moments.gram_sq
    matrix = inverse if gram_sq is None else inverse @ gram_sq @ inverse
    return np.linalg.norm(matrix, ord=2, axis=(-2, -1)), 1 / run.subject.ridge


@lemma("Lemma 11", "always")
def determinant(run: Snapshot) -> Sides:
    """log det(Λ̃/λ) ≤ d log(1 + L²Σω² / (λd)) with L = max(1, max ‖φ‖); of Λ with Σω where no Λ̃ is kept."""
    dim, ridge, moments = run.subject.spec.dim, run.subject.ridge, run.moments
    matrix, weights = moments.gram_sq, run.weights**2
    if matrix is None:
        matrix, weights = moments.gram, run.weights
    return log_determinant(matrix, ridge), information_of_count(run.longest * weights.sum(), dim, ridge)


@lemma("Lemmas 6 and 13", "probable", "optimism", "successors")
def transition_concentration(run: Snapshot) -> Sides:
    """‖Σ ω φ (V(s') − [P_τ V](s, a))‖ ≤ H √(2 log(2KHN/δ) + d log(1 + Σω²/(λd))) + 1 in the norm of Λ̃⁻¹.

    With the paper's constants: `log N = (d²+d) log(3(2H√(dΣω/λ) + β²√d/λ)/ε)` covers all possible value
    functions, with ε = λ/(4Σω)². The last step has no successors.
    """
    spec, ridge = run.subject.spec, run.subject.ridge
    expected = np.einsum("ths,hs->th", run.history.kernels, run.values[1:])
    deviation = self_normalised(run, run.targets_ahead - expected)[:-1]
    memory, drawn = max(1.0, float(run.weights.sum())), run.radius.max() ** 2 * np.sqrt(spec.dim) / ridge
    size = 2 * spec.horizon * np.sqrt(spec.dim * memory / ridge) + drawn
    covering = (spec.dim**2 + spec.dim) * np.log(3 * size / min(1.0, ridge / (4 * memory) ** 2))
    information = information_of_count(np.square(run.weights).sum(), spec.dim, ridge)
    limit = spec.horizon * np.sqrt(2 * (log_failures(run) + covering) + information) + 1
    # XΛ̃⁻¹Xᵀ ≼ I for the rows ωφ of X, and the noise is within H
    return deviation, limit, spec.horizon * np.sqrt(run.t)


@lemma("Lemma 7, proof", "promised", "optimism")
def concentration(run: Snapshot) -> Sides:
    """|φᵀw − r̄ − P̄ V| ≤ β ‖φ‖."""
    theta, mu = run.average_model
    backed = theta + np.einsum("hds,hs->hd", mu, run.values[1:])
    return np.abs(run.estimate - backed @ run.features.T), run.bonus


@lemma("Lemma 7", "promised", "optimism")
def key_lemma(run: Snapshot) -> Sides:
    """|φᵀw − Q^π − P(V − V^π)| ≤ β ‖φ‖ + 2H (bias_r + bias_P)."""
    ahead = np.abs(run.values[1:]).max(-1, keepdims=True)
    trivial = np.abs(run.estimate) + run.subject.mean_range[1] + ahead  # whatever the model is
    away = np.abs(run.estimate - run.backed_up(run.values))  # whatever π is, since Q^π = r + PV^π
    return away, run.bonus + run.bias[:, None], trivial


@lemma("Lemmas 4 and 8", "promised", "optimism")
def optimism(run: Snapshot) -> Sides:
    """Q* − φᵀw ≤ β ‖φ‖ + 2H Σ_{h' ≥ h} (bias_r + bias_P)."""
    ahead = np.cumsum(run.bias[::-1])[::-1]
    trivial = run.steps_left[:, None] * run.subject.mean_range[1] - run.estimate
    return run.backed_up(run.optimal_values) - run.estimate, run.bonus + ahead[:, None], trivial


@lemma("Eq. (21), one step", "promised", "optimism")
def single_step_regret(run: Snapshot) -> Sides:
    """(V − V^π)(s) − [P(V − V^π)](s, a) ≤ 2β ‖φ‖ + 2H (bias_r + bias_P), over the actions of π."""
    gap = run.values - run.policy_values
    ahead = played(run, run.backed_up(gap, rewards=False))
    # if nothing of the estimate is true: V(s) − min r − min V(s')
    trivial = run.values[:-1] - run.subject.mean_range[0] - run.values[1:].min(-1, keepdims=True)
    return gap[:-1] - ahead, 2 * played(run, run.bonus) + run.bias[:, None], trivial


@lemma("Eqs. (20) and (21)", "promised", "optimism")
def episode_regret(run: Snapshot) -> Sides:
    """V* − V^π ≤ E_π Σ_h 2β ‖φ_h‖ + 4H Σ_h (bias_r + bias_P), at every first state."""
    explored = np.zeros_like(run.values)
    for h in reversed(range(len(run.bonus))):
        ahead = run.backed_up(explored, rewards=False)
        explored[h] = played(run, 2 * run.bonus + ahead)[h]
    regret = run.optimal_values[0] - run.policy_values[0]
    return regret, explored[0] + 2 * run.bias.sum(), run.subject.most_regret


def self_normalised(run: Snapshot, noise: np.ndarray) -> np.ndarray:
    """`‖Σ ω φ ε‖` in the norm of `Λ̃⁻¹`: `[H]` from noise `[t, H]`."""
    summed = run.weighted(noise)
    return np.sqrt(np.einsum("hd,hd->h", summed, np.linalg.solve(run.gram_sq, summed[..., None])[..., 0]))


def log_failures(run: Snapshot) -> float:
    """`log(2KH/δ)`."""
    return float(np.log(2 * run.subject.num_episodes * run.subject.spec.horizon / run.subject.delta))


def played(run: Snapshot, of_pairs: np.ndarray) -> np.ndarray:
    """Return the mean over the policy's actions: `[H, S]` from `[H, N]`."""
    return np.sum(run.policy * run.by_state(of_pairs), axis=-1)


@lemma("Lemma 10, fixed t", "always", "confidence")
def failures(run: Trace) -> Sides:
    """Σ δ' ≤ δ over all rounds, or over the epochs where every weight of an epoch is one."""
    return run.subject.total_failure, run.subject.delta


@lemma("Eq. (23), term A", "probable", "optimism", "successors")
def surprises(run: Trace) -> Sides:
    """|Σ_{t,h} ξ| ≤ 4 √(H³ K log(4/δ))."""
    trivial = 2 * run.subject.num_episodes * run.subject.spec.horizon**2
    return np.abs(run.surprises.sum()), _surprise_bound(run.subject), trivial


@lemma("Eq. (24), term B", "always", "optimism", "potential")
def sum_of_widths(run: Trace) -> Sides:
    """Σ_{t,h} ‖φ‖ ≤ H √K √(2dK log(1/η) + 2d log(1 + Σω/(λd))); by blocks where weights are 0 or 1."""
    return run.widths.sum(), _width_bound(run.subject), run.widths.size / np.sqrt(run.subject.ridge)


@lemma("Theorem 1", "promised", "optimism", "potential")
def theorem(run: Trace) -> Sides:
    """Regret(K) ≤ (A) + 2β (B) + 4H Σ_{t,h} (bias_r + bias_P), with (A) and (B) as bounded above."""
    explored = 2 * run.radius * _width_bound(run.subject)
    drifted = 4 * run.subject.spec.horizon * run.subject.all_biases.sum()
    trivial = run.subject.most_regret * run.subject.num_episodes
    return run.regret.sum(), _surprise_bound(run.subject) + explored + drifted, trivial


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
    forgetting = subject.forgetting
    if isinstance(forgetting, ExponentialWeights):
        samples = forgetting.weights(num_episodes).sum()
        information = num_episodes * np.log(1 / forgetting.rate) + np.log1p(samples / (ridge * spec.dim))
    else:  # lengths of stretches of the run within which nothing is forgotten
        blocks = np.bincount(subject.epochs[:num_episodes]).tolist()
        if isinstance(forgetting, SlidingWindow):
            blocks = [min(forgetting.length, num_episodes)] * -(-num_episodes // forgetting.length)
        information = len(blocks) * np.log1p(max(blocks) / (ridge * spec.dim))
    potential = 2 * max(1.0, 1 / ridge) * spec.dim * information
    return float(spec.horizon * np.sqrt(num_episodes * potential))
