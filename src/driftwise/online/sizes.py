"""Sizes of states, known before any of their arrays is made."""

from __future__ import annotations

from driftwise.algorithms.bandits.dynamic_lin_ucb import ModelPool
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.algorithms.unknown_variation.multi_scale import Master
from driftwise.algorithms.unknown_variation.restarting import Restarting
from driftwise.base.agent import Agent, Wrapper
from driftwise.parts.detectors import Glr
from driftwise.parts.forgetting import SlidingWindow
from driftwise.parts.least_squares import LeastSquares
from driftwise.parts.weighted_likelihood import WeightedLikelihood


def least_numbers(agent: Agent) -> int:
    """Numbers that the state of an agent has at least, whatever it has learnt from."""
    dim, horizon = agent.spec.dim, agent.spec.horizon
    gram = dim * dim if (agent.spec.num_states, horizon) == (1, 1) else horizon  # episodes may have blocks
    match agent:
        case MixtureOfMemories():
            return agent.num_memories * least_numbers(agent.base)
        case Master():
            return agent.num_orders * least_numbers(agent.base)
        case ModelPool():
            return agent.capacity * max(least_numbers(agent.base), agent.ring_length)
        case Restarting(detector=Glr() as detector):
            return max(detector.window, least_numbers(agent.base))
        case Wrapper():
            return least_numbers(agent.base)
        case LeastSquares(forgetting=SlidingWindow() as window):
            return max(window.num_slots * horizon * dim, gram)
        case WeightedLikelihood():
            return max(agent.capacity * dim, gram)
    return gram
