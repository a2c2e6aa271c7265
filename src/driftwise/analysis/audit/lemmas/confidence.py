"""Statements about what the agent believes: how far its estimates are from the truth, and what that costs."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.audit.lemma import Sides, lemma
from driftwise.analysis.audit.reference import counted_information
from driftwise.analysis.audit.snapshot import Snapshot


def _any_noise(run: Snapshot) -> float:
    """`H √t`, since `XΛ̃⁻¹Xᵀ ≼ I` for the rows `ωφ` of X and the noise is within H."""
    return float(run.subject.spec.horizon * np.sqrt(run.t))


@lemma("Lemmas 6 and 13", "probable", "optimism", "successors", trivial=_any_noise)
def transition_concentration(run: Snapshot) -> Sides:
    """‖Σ ω φ (V(s') − [P_τ V](s, a))‖ ≤ H √(2 log(2KHN/δ) + d log(1 + Σω²/(λd))) + 1 in the norm of Λ̃⁻¹.

    The paper's with its constants: `log N = (d²+d) log(3(2H√(dΣω/λ) + β²√d/λ)/ε)` covers all value functions
    that there can be, to ε = λ/(4Σω)². There is nothing to learn of successors at the last step.
    """
    spec, ridge = run.subject.spec, run.subject.ridge
    expected = np.einsum("ths,hs->th", run.history.kernels, run.values[1:])
    deviation = self_normalised(run, run.targets_ahead - expected)[:-1]
    memory = max(1.0, float(run.weights.sum()))
    fineness = min(1.0, ridge / (4 * memory) ** 2)
    size = 2 * spec.horizon * np.sqrt(spec.dim * memory / ridge)
    size += run.radius.max() ** 2 * np.sqrt(spec.dim) / ridge
    covering = (spec.dim**2 + spec.dim) * np.log(3 * size / fineness)
    information = counted_information(np.square(run.weights).sum(), spec.dim, ridge)
    limit = spec.horizon * np.sqrt(2 * (log_failures(run) + covering) + information) + 1
    return deviation, limit


@lemma("Lemma 7, proof", "promised", "optimism")
def concentration(run: Snapshot) -> Sides:
    """|φᵀw − r̄ − P̄ V| ≤ β ‖φ‖."""
    average = run.average_model
    backed = average.theta + np.einsum("hds,hs->hd", average.mu, run.values[1:])
    return np.abs(run.estimate - backed @ run.features.T), run.bonus


def _any_model(run: Snapshot) -> np.ndarray:
    """`|φᵀw| + max r + max |V|`, whatever the model is."""
    ahead = np.abs(run.values[1:]).max(-1, keepdims=True)
    return np.abs(run.estimate) + run.subject.most_reward + ahead


@lemma("Lemma 7", "promised", "optimism", trivial=_any_model)
def key_lemma(run: Snapshot) -> Sides:
    """|φᵀw − Q^π − P(V − V^π)| ≤ β ‖φ‖ + 2H (bias_r + bias_P).

    The left side is `|φᵀw − r − PV|` whatever π is, since `Q^π = r + PV^π`.
    """
    return np.abs(run.estimate - run.backed_up(run.values)), run.bonus + run.bias[:, None]


def _most_lacking(run: Snapshot) -> np.ndarray:
    """The most to be had from a step on, less `φᵀw`."""
    return run.steps_left[:, None] * run.subject.most_reward - run.estimate


@lemma("Lemmas 4 and 8", "promised", "optimism", trivial=_most_lacking)
def optimism(run: Snapshot) -> Sides:
    """Q* − φᵀw ≤ β ‖φ‖ + 2H Σ_{h' ≥ h} (bias_r + bias_P)."""
    ahead = np.cumsum(run.bias[::-1])[::-1]
    return run.backed_up(run.optimal_values) - run.estimate, run.bonus + ahead[:, None]


def _all_believed(run: Snapshot) -> np.ndarray:
    """`V(s) − min r − min V(s')`: nothing comes of what is believed."""
    return run.values[:-1] + run.subject.most_loss - run.values[1:].min(-1, keepdims=True)


@lemma("Eq. (21), one step", "promised", "optimism", trivial=_all_believed)
def single_step_regret(run: Snapshot) -> Sides:
    """(V − V^π)(s) − [P(V − V^π)](s, a) ≤ 2β ‖φ‖ + 2H (bias_r + bias_P), over the actions of π."""
    gap = run.values - run.policy_values
    ahead = played(run, run.backed_up(gap, rewards=False))
    return gap[:-1] - ahead, 2 * played(run, run.bonus) + run.bias[:, None]


@lemma("Eqs. (20) and (21)", "promised", "optimism", trivial=lambda run: run.subject.most_regret)
def episode_regret(run: Snapshot) -> Sides:
    """V* − V^π ≤ E_π Σ_h 2β ‖φ_h‖ + 4H Σ_h (bias_r + bias_P), at every first state."""
    explored = np.zeros_like(run.values)
    for h in reversed(range(len(run.bonus))):
        ahead = run.backed_up(explored, rewards=False)
        explored[h] = played(run, 2 * run.bonus + ahead)[h]
    regret = run.optimal_values[0] - run.policy_values[0]
    return regret, explored[0] + 2 * run.bias.sum()


def self_normalised(run: Snapshot, noise: np.ndarray) -> np.ndarray:
    """`‖Σ ω φ ε‖` in the norm of `Λ̃⁻¹`: `[H]` from noise `[t, H]`."""
    summed = run.weighted(noise)
    return np.sqrt(np.einsum("hd,hd->h", summed, np.linalg.solve(run.gram_sq, summed[..., None])[..., 0]))


def log_failures(run: Snapshot) -> float:
    """`log(2KH/δ)`."""
    return float(np.log(2 * run.subject.num_episodes * run.subject.spec.horizon / run.subject.delta))


def played(run: Snapshot, of_pairs: np.ndarray) -> np.ndarray:
    """The mean over the policy's actions: `[H, S]` from `[H, N]`."""
    return np.sum(run.policy * run.by_state(of_pairs), axis=-1)
