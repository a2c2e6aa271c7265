"""What an agent knows by now, in a few numbers to watch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from driftwise.algorithms.bandits.dynamic_lin_ucb import PoolState
from driftwise.algorithms.unknown_variation.bandit_over_agents import BlockState
from driftwise.algorithms.unknown_variation.multi_scale import MasterState
from driftwise.algorithms.unknown_variation.restarting import RestartingState
from driftwise.base.arrays import map_tree
from driftwise.base.part import at
from driftwise.base.types import Moments
from driftwise.online.gauge import Gauge
from driftwise.online.pending import Pending


@dataclass(frozen=True)
class Summary:
    """Numbers to watch in production; the first two are of the model that acts, where there are several."""

    effective_samples: float  # (Σω)² / Σω²: how many rewards of equal weight what it knows is worth
    condition: float  # largest over smallest eigenvalue of the gram: beyond 1e12 digits are lost
    decisions: int
    rewards: int
    pending: int  # decisions that wait for their rewards
    expired: int  # decisions that had none in time
    recent_error: float  # mean |reward − prediction| of the last 50 rewards or so
    recent_bonus: float  # mean exploration in the index, of the same decisions
    drift: float  # recent errors against older ones: above 4, see `Gauge`, the world has changed


def summarise(agent: Any, state: Any, pending: Pending, gauge: Gauge) -> Summary:
    """The summary of a bandit's insides."""
    moments = acting(state, agent)
    eigenvalues = np.linalg.eigvalsh(moments.gram[0])
    smallest = max(float(eigenvalues[0]), 0.0)
    return Summary(
        effective_samples=effective_samples(moments),
        condition=float(eigenvalues[-1]) / smallest if smallest else math.inf,
        decisions=pending.num_made,
        rewards=gauge.count,
        pending=len(pending),
        expired=pending.num_expired,
        recent_error=gauge.recent,
        recent_bonus=gauge.recent_bonus,
        drift=gauge.drift,
    )


def effective_samples(moments: Moments) -> float:
    """Number of samples of equal weight that those in the moments are worth, `(Σω)² / Σω²`."""
    weight, weight_sq = (float(np.ravel(each)[0]) for each in (moments.weight, moments.weight_sq))
    return weight * weight / weight_sq if weight_sq else 0.0


@singledispatch
def acting(state: Any, agent: Any) -> Moments:
    """Moments of the least squares within an agent that the next decision rests on."""
    raise TypeError(f"state must be one that is known here, got {type(state).__name__}")


@acting.register
def _(state: Moments, agent: Any) -> Moments:
    return state


@acting.register
def _(state: RestartingState, agent: Any) -> Moments:
    return acting(state.base, agent.base)


@acting.register
def _(state: BlockState, agent: Any) -> Moments:
    return acting(state.base, at(agent.base, state.arm))


@acting.register
def _(state: MasterState, agent: Any) -> Moments:
    slot = np.argmax(state.schedule.end > state.age)  # the shortest instance that goes on
    return acting(map_tree(lambda leaf: leaf[slot], state.bases), agent.base)


@acting.register
def _(state: PoolState, agent: Any) -> Moments:
    return agent.acting(state)
