"""What an episodic agent knows by now, in a few numbers to watch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.base.types import Moments
from driftwise.online.episodic_memory import MemoryState, RememberedLeastSquares
from driftwise.online.gauge import Gauge
from driftwise.online.inspection import acting, effective_samples


@dataclass(frozen=True)
class EpisodicSummary:
    """Numbers to watch; the second and third are of the model that acts, None if it is no least squares."""

    episodes: int
    effective_samples: float | None  # (Σω)² / Σω²: how many episodes of equal weight what it knows is worth
    condition: float | None  # of the worst step: largest over smallest eigenvalue of the gram
    recent_error: float  # mean |r + V(s') − prediction| of a step, over the last 50 episodes or so
    recent_bonus: float  # mean exploration in the index, of the same steps
    drift: float  # recent errors against older ones: above 4, see `Gauge`, the world has changed


def summarise(agent: Any, state: Any, num_episodes: int, gauge: Gauge) -> EpisodicSummary:
    """The summary of an episodic agent's insides."""
    effective, condition = _knowledge(agent, state)
    return EpisodicSummary(num_episodes, effective, condition, gauge.recent, gauge.recent_bonus, gauge.drift)


def watch(gauge: Gauge, plan: Any, episode: Any, num_steps: int) -> None:
    """Let the gauge see the mean temporal difference of an episode's first steps, if there are any."""
    if num_steps < 1:
        return
    at = np.arange(len(episode.actions)), episode.states, episode.actions
    bonus = plan.bonus[at]
    errors = episode.rewards + plan.values_ahead(episode.successors) - (plan.q[at] - bonus)
    gauge.observe(float(np.abs(errors[:num_steps]).mean()), float(bonus[:num_steps].mean()))


def _knowledge(agent: Any, state: Any) -> tuple[float | None, float | None]:
    try:
        moments = acting(state, agent)
    except TypeError:  # it counts, and has no gram
        return None, None
    eigenvalues = np.linalg.eigvalsh(moments.gram)
    smallest = float(eigenvalues[..., 0].min())
    worst = float((eigenvalues[..., -1] / eigenvalues[..., 0]).max()) if smallest > 0 else math.inf
    return effective_samples(moments), worst


@acting.register
def _(state: MemoryState, agent: RememberedLeastSquares) -> Moments:
    return agent.moments(state)
