"""One run in the NumPy engine that keeps its whole history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.analysis.audit.setting import Setting
from driftwise.analysis.audit.snapshot import History, Snapshot, Trace
from driftwise.base import random
from driftwise.base.arrays import spd_inverse
from driftwise.base.types import Episode, FeatureTable, Key, Moments, Plan
from driftwise.parts.least_squares import LeastSquares


class _Watched:
    """An agent whose latest features and plan are seen."""

    table: FeatureTable
    latest: Plan

    def __init__(self, agent: LeastSquares) -> None:
        self.agent, self.spec = agent, agent.spec
        self.init, self.act, self.update = agent.init, agent.act, agent.update

    def plan(self, state: Moments, features: FeatureTable, key: Key) -> Plan:
        self.table, self.latest = features, self.agent.plan(state, features, key)
        return self.latest


def play(
    setting: Setting, look: Callable[[Snapshot], None], *, seed: int = 0, run: int = 0, stride: int = 1
) -> Trace:
    """Play a run, the one that the simulator plays too; `look` at every `stride`-th episode and the last."""
    spec, num_episodes = setting.spec, setting.num_episodes
    world, watched = setting.environment.world(), _Watched(setting.agent)
    key, state = random.fold(random.key(seed), run), setting.agent.init(world.shown)
    inputs = world.inputs(setting.environment.at(np.arange(num_episodes)))
    sizes = num_episodes, spec.horizon
    history = History(
        features=np.zeros((*sizes, spec.dim)),
        rewards=np.zeros(sizes),
        successors=np.zeros(sizes, dtype=int),
        means=np.zeros(sizes),
        kernels=np.zeros((*sizes, spec.num_states)),
    )
    regret, widths, surprises, radius = np.zeros(num_episodes), np.zeros(sizes), np.zeros(sizes), 0.0
    for t in range(num_episodes):
        moments = state
        state, record, episode = world.play(watched, state, _one_of(inputs, t), key, t)
        snapshot = Snapshot(setting, t, history.before(t), moments, watched.latest, watched.table)
        if t % stride == 0 or t == num_episodes - 1:
            look(snapshot)
        regret[t] = record.optimal - record.value
        widths[t], surprises[t] = _widths(snapshot, episode), _surprises(snapshot, episode)
        radius = max(radius, float(snapshot.radius.max()))
        _keep(history, t, episode, snapshot)
    return Trace(setting, regret, widths, surprises, radius)


def _keep(history: History, t: int, episode: Episode, snapshot: Snapshot) -> None:
    theta, mu = snapshot.model
    history.features[t], history.rewards[t] = episode.features, episode.rewards
    history.successors[t] = episode.successors
    history.means[t] = np.sum(episode.features * theta, axis=-1)
    history.kernels[t] = np.einsum("hd,hds->hs", episode.features, mu)


def _widths(snapshot: Snapshot, episode: Episode) -> np.ndarray:
    """Of the pairs played, with the algorithm's own matrices: `[H]`."""
    moments, phi = snapshot.moments, episode.features
    matrix = snapshot.setting.width_matrix(spd_inverse(moments.gram), moments.gram_sq)
    return np.sqrt(np.maximum(np.einsum("hd,hde,he->h", phi, matrix, phi), 0))


def _surprises(snapshot: Snapshot, episode: Episode) -> np.ndarray:
    """`[P(V − V^π)](s_h, a_h) − (V − V^π)(s_{h+1})`: `[H]`."""
    gap = (snapshot.values - snapshot.policy_values)[1:]
    expected = np.einsum("hd,hds,hs->h", episode.features, snapshot.model.mu, gap)
    return expected - gap[np.arange(len(gap)), episode.successors]


def _one_of(inputs: Any, t: int) -> Any:
    """What a world needs to know of episode `t`, from that of all."""
    return type(inputs)(*(leaf[t] for leaf in inputs)) if isinstance(inputs, tuple) else inputs[t]
