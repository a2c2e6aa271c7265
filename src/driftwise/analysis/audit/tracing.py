"""A run of the NumPy engine that keeps its whole history."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from driftwise.analysis.audit.snapshot import History, Snapshot, Trace
from driftwise.analysis.audit.subject import Subject
from driftwise.base.arrays import spd_inverse
from driftwise.base.types import Episode
from driftwise.simulation.play import play


def views(subject: Subject, *, seed: int = 0, run: int = 0, stride: int = 1) -> Iterator[Snapshot | Trace]:
    """Play a run: snapshots of every `stride`-th episode and the last, then the trace of all."""
    spec, num_episodes = subject.spec, subject.num_episodes
    sizes = num_episodes, spec.horizon
    history = History(
        features=np.zeros((*sizes, spec.dim)),
        rewards=np.zeros(sizes),
        successors=np.zeros(sizes, dtype=int),
        means=np.zeros(sizes),
        kernels=np.zeros((*sizes, spec.num_states)),
    )
    regret, widths, surprises, radius = np.zeros(num_episodes), np.zeros(sizes), np.zeros(sizes), 0.0
    played_run = play(subject.agent, subject.environment, num_episodes=num_episodes, seed=seed, run=run)
    for t, played in enumerate(played_run):
        episode, record = played.episode, played.record
        snapshot = Snapshot(subject, t, history.before(t), played.before, played.plan, played.features)
        if t % stride == 0 or t == num_episodes - 1:
            yield snapshot
        regret[t] = record.optimal - record.value
        widths[t], surprises[t] = _widths(snapshot, episode), _surprises(snapshot, episode)
        radius = max(radius, float(snapshot.radius.max()))
        _keep(history, t, episode, snapshot)
    yield Trace(subject, regret, widths, surprises, radius)


def _keep(history: History, t: int, episode: Episode, snapshot: Snapshot) -> None:
    theta, mu = snapshot.model
    history.features[t], history.rewards[t] = episode.features, episode.rewards
    history.successors[t] = episode.successors
    history.means[t] = np.sum(episode.features * theta, axis=-1)
    history.kernels[t] = np.einsum("hd,hds->hs", episode.features, mu)


def _widths(snapshot: Snapshot, episode: Episode) -> np.ndarray:
    """`√(φᵀMφ)` of the pairs played, with the algorithm's own matrices: `[H]`."""
    moments, phi = snapshot.moments, episode.features
    matrix = snapshot.subject.width_matrix(spd_inverse(moments.gram), moments.gram_sq)
    return np.sqrt(np.maximum(np.einsum("hd,hde,he->h", phi, matrix, phi), 0))


def _surprises(snapshot: Snapshot, episode: Episode) -> np.ndarray:
    """`[P(V − V^π)](s_h, a_h) − (V − V^π)(s_{h+1})`: `[H]`."""
    gap = (snapshot.values - snapshot.policy_values)[1:]
    expected = np.einsum("hd,hds,hs->h", episode.features, snapshot.model.mu, gap)
    return expected - gap[np.arange(len(gap)), episode.successors]
