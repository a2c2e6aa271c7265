"""Statements about mixtures of memories: forecasts, scores, weights and decisions."""

import numpy as np

from driftwise.analysis.audit import reference
from driftwise.analysis.audit.lemmas import Sides, lemma, updates_and_plans
from driftwise.analysis.audit.mixture_views import MixtureSnapshot, MixtureTrace
from driftwise.analysis.audit.snapshot import Snapshot

_TINY = np.finfo(float).tiny  # the least weight that has a logarithm


@lemma("ours", "identity", "learnt_noise")
def learnt_noise(run: Snapshot) -> Sides:
    """s² = (ν₀P + Σ ω e²/(1+v)) / (ν₀ + Σω), and ν = ν₀ + Σω, of the errors e of its own forecasts."""
    part, errors = run.subject.agent.noise, run.moments.noise.errors
    assert part is not None  # required by the condition
    own = np.append(part.variance(errors), part.count + errors.weight.max())
    return own, np.append(*reference.noise_variance(part, run.weights, run.history.squares))


@lemma("ours", "identity")
def mixture_noise(run: MixtureSnapshot) -> Sides:
    """s² = (ν₀P + Σ ω Σ_j w_j e_j²/(1+v_j)) / (ν₀ + Σω), and ν = ν₀ + Σω, of the forecasts of all."""
    part, errors = run.subject.agent.noise, run.state.noise.errors
    own = np.append(part.variance(errors), part.count + errors.weight.max())
    return own, np.append(*run.defined_noise)


@lemma("ours", "identity")
def mixture_origin(run: MixtureSnapshot) -> Sides:
    """origin = r_1, unit = ‖φ_1‖ between 0.01 and 1, or 1 for 0; 0 and 1 before, or with none learnt."""
    return np.array([run.state.origin, run.state.unit]), np.array(run.start)


@lemma("ours", "identity")
def scores(run: MixtureTrace) -> Sides:
    """ℓ = log t_ν(y; φᵀw, s²(1+v)) with y = r + V(s'), of the whole history."""
    return run.scores, run.defined_scores


@lemma("Herbster & Warmuth 1998", "identity")
def mixture_weights(run: MixtureTrace) -> Sides:
    """w_j = (1−α) u_j + α π_j with u_j ∝ w_j exp(ℓ_j), from w = π on; in logarithms."""
    return np.log(np.maximum(run.weights, _TINY)), np.log(np.maximum(run.defined_weights, _TINY))


@lemma("Herbster & Warmuth 1998", "always")
def fixed_share(run: MixtureTrace) -> Sides:
    r"""Σ_t (ℓ_{t,j_t} − log Σ_j w_j exp(ℓ_j)) ≤ log 1/π_{j_1} + Σ_t log 1/((1−α) 1{j_t = j_{t+1}} + α π)."""
    # for the sequence that leaves least between both sides, after every episode; docs/audit.md has the proof
    scores, weights = np.array(run.defined_scores), np.array(run.weights[:-1])
    top = scores.max(-1, keepdims=True)  # so that not all exponentials are 0
    mixed = top[:, 0] + np.log(np.sum(weights * np.exp(scores - top), axis=-1))
    scored, price = best_sequences(scores, run.subject.prior, run.subject.shares)
    return scored - np.cumsum(mixed), price


@lemma("ours", "identity", "known_index", "known_radius")
def mixture_index(run: MixtureSnapshot) -> Sides:
    """Q = φᵀw_j + B_j, of the heaviest or the drawn memory j."""
    memory = run.deciding
    index = memory.learnt @ memory.features.T + reference.recomputed_bonus(memory)
    return run.played.of_pairs(run.played.plan.q), index + run.start.origin


@lemma("ours", "identity", "successors")
def mixture_value(run: MixtureSnapshot) -> Sides:
    """V = clip(max_a Q_j), of the heaviest or the drawn memory j."""
    return run.played.plan.values, reference.clip_values(run.deciding, run.deciding.plan.q.max(-1))


@lemma("Alg. 1, l. 13", "identity", "known_index")
def mixture_policy(run: MixtureSnapshot) -> Sides:
    """π = argmax_a Q, with the mixture's Q; ties are those of (Q − origin)/s."""
    return updates_and_plans.policy(run.ranked)


@lemma("Alg. 1, l. 13", "identity", "known_index")
def mixture_action(run: MixtureSnapshot) -> Sides:
    """a_h = the action that the random number of step h draws from the mixture's π(s_h)."""
    return updates_and_plans.action(run.ranked)


def best_sequences(scores: np.ndarray, prior: np.ndarray, shares: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return scores and price, `[T]`, of the sequences with the least price − scores up to each round.

    Viterbi's recursion: the best sequence to an expert extends the best one to some expert before.
    """
    with np.errstate(divide="ignore"):  # where a prior is 0
        price = -np.log(prior)
        steps = -np.log((1 - shares[:, None, None]) * np.eye(len(prior)) + shares[:, None, None] * prior)
    total, ends = np.zeros(len(prior)), []  # scores along the sequence that ends at each expert
    for t, current in enumerate(scores):
        if t > 0:
            best = ((price - total)[:, None] + steps[t - 1]).argmin(axis=0)  # of [from, to]
            total, price = total[best], price[best] + steps[t - 1][best, np.arange(len(prior))]
        total = total + current
        last = (price - total).argmin()
        ends.append((total[last], price[last]))
    best_totals, prices = np.array(ends).T
    return best_totals, prices
