"""Values are linear, and drift biases the regression by so much at most."""

from __future__ import annotations

import numpy as np

from driftwise.analysis.audit.lemma import Sides, lemma
from driftwise.analysis.audit.snapshot import Snapshot


@lemma("Lemma 1", "identity", "successors")
def linear_q(run: Snapshot) -> Sides:
    """Q^π = φᵀ (θ + μ V^π), held against a backward induction with the kernel P = Φμ."""
    values, action_values = np.zeros(run.subject.spec.num_states), []
    for theta, mu, policy in zip(run.model.theta[::-1], run.model.mu[::-1], run.policy[::-1], strict=True):
        kernel = run.features @ mu
        q = run.features @ theta + kernel @ values
        action_values.append(q)
        values = np.sum(policy * run.by_state(q[None])[0], axis=-1)
    return run.backed_up(run.policy_values), np.stack(action_values[::-1])


@lemma("Lemma 2", "always")
def reward_bias(run: Snapshot) -> Sides:
    """|r − r̄| ≤ bias_r."""
    away = np.abs((run.model.theta - run.average_model.theta) @ run.features.T)
    return away, _of_pairs(run.biases[0], away)


@lemma("Lemma 2", "always", "successors")
def transition_bias(run: Snapshot) -> Sides:
    """|[(P − P̄) f](s, a)| ≤ H bias_P for the worst f with |f| ≤ H."""
    horizon = run.subject.spec.horizon
    away = np.abs(run.features @ (run.model.mu - run.average_model.mu)).sum(-1)
    return horizon * away, horizon * _of_pairs(run.biases[1], away)


@lemma("App. C.1", "always", "exact_rewards")
def reward_variance(run: Snapshot) -> Sides:
    """|r̂ − r̄| ≤ √λ S ‖φ‖ in the norm of Λ⁻¹ Λ̃ Λ⁻¹, with S = √d."""
    matrix = run.inverse @ run.gram_sq @ run.inverse
    widths = np.sqrt(np.einsum("nd,hde,ne->hn", run.features, matrix, run.features))
    learnt = (run.inverse @ run.weighted(run.history.rewards)[..., None])[..., 0]
    away = np.abs((learnt - run.average_model.theta) @ run.features.T)
    return away, np.sqrt(run.subject.ridge) * run.subject.theta_bound * widths


def _of_pairs(of_steps: np.ndarray, like: np.ndarray) -> np.ndarray:
    return np.broadcast_to(of_steps[:, None], like.shape)
