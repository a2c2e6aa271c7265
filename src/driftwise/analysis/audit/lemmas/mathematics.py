"""Statements about the model and the lemmas alone: the agent chooses the history, and cannot break them."""

from functools import partial

import numpy as np

from driftwise.analysis.audit.lemmas import Sides, lemma
from driftwise.analysis.audit.lemmas.inequalities import log_failures, played, self_normalised
from driftwise.analysis.audit.reference import log_determinant
from driftwise.analysis.audit.snapshot import Snapshot

_lemma = partial(lemma, group="mathematics")


@_lemma("Lemma 1", "identity", "successors")
def linear_q(run: Snapshot) -> Sides:
    """Q^π = φᵀ (θ + μ V^π), held against a backward induction with the kernel P = Φμ."""
    backed_up = run.backed_up(run.policy_values)
    values, action_values = np.zeros(run.subject.spec.num_states), np.zeros_like(backed_up)
    for h in reversed(range(len(backed_up))):
        action_values[h] = run.features @ run.model.theta[h] + run.features @ run.model.mu[h] @ values
        values = played(run, action_values)[h]
    return backed_up, action_values


@_lemma("Lemma 2", "always")
def reward_bias(run: Snapshot) -> Sides:
    """|r − r̄| ≤ bias_r."""
    return _reward_drift(run), run.biases[0][:, None]


@_lemma("Lemma 2", "always", "successors")
def transition_bias(run: Snapshot) -> Sides:
    """|[(P − P̄) f](s, a)| ≤ H bias_P for the worst f with |f| ≤ H."""
    horizon = run.subject.spec.horizon
    return horizon * _transition_drift(run), horizon * run.biases[1][:, None]


@_lemma("Lemma 2, sharp", "always")
def sharp_reward_bias(run: Snapshot) -> Sides:
    """|r − r̄| ≤ bias_r with ½ √(Σω/λ) in the place of √(d Σω/λ), 2√d times smaller."""
    return _reward_drift(run), run.subject.biases(run.t, sharp=True)[0][:, None]  # proof: docs/audit.md


@_lemma("Lemma 2, sharp", "always", "successors")
def sharp_transition_bias(run: Snapshot) -> Sides:
    """|[(P − P̄) f](s, a)| ≤ H bias_P with the same change, for the worst f with |f| ≤ H."""
    horizon, biases = run.subject.spec.horizon, run.subject.biases(run.t, sharp=True)
    return horizon * _transition_drift(run), horizon * biases[1][:, None]


@_lemma("App. C.1", "always", "exact_rewards")
def reward_variance(run: Snapshot) -> Sides:
    """|r̂ − r̄| ≤ √λ S ‖φ‖ in the norm of Λ⁻¹ Λ̃ Λ⁻¹, with S = √d."""
    widths, bound = run.norms(run.inverse @ run.gram_sq @ run.inverse), run.subject.theta_bound
    learnt = (run.inverse @ run.weighted(run.history.rewards)[..., None])[..., 0]
    away = np.abs((learnt - run.average_model.theta) @ run.features.T)
    return away, np.sqrt(run.subject.ridge) * bound * widths, bound


@_lemma("Lemma 10", "probable", "noise")
def reward_concentration(run: Snapshot) -> Sides:
    """‖Σ ω φ (r − φᵀθ_τ)‖ ≤ σ √(2 log(2KH/δ) + log det(Λ̃/λ)) in the norm of Λ̃⁻¹."""
    deviation = self_normalised(run, run.history.rewards - run.history.means)
    information = log_determinant(run.gram_sq, run.subject.ridge)
    # it holds at each t; for all (t, h) at once δ is divided by their number
    return deviation, run.subject.noise_scale * np.sqrt(2 * log_failures(run) + information)


def _reward_drift(run: Snapshot) -> np.ndarray:
    """`|r − r̄|`, `[H, N]`."""
    return np.abs((run.model.theta - run.average_model.theta) @ run.features.T)


def _transition_drift(run: Snapshot) -> np.ndarray:
    """`|P − P̄|(S)`, `[H, N]`."""
    return np.abs(run.features @ (run.model.mu - run.average_model.mu)).sum(-1)
