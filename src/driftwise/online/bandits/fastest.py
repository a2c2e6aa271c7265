"""The choice among deciders."""

from __future__ import annotations

from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent
from driftwise.online.bandits import clocked, clocked_mixture, descending, mixed, sampled
from driftwise.online.bandits.deciders import Decider, Draws, Planned
from driftwise.online.bandits.direct import Direct
from driftwise.parts.exploration import Ucb
from driftwise.parts.least_squares import LeastSquares


def decider_of(agent: Agent, seed: int, num_draws: int = 1) -> Decider:
    """The fastest decider that leads this agent."""
    if isinstance(agent, LeastSquares) and clocked.fits(agent):
        return clocked.Clocked(agent, _by_rounds(agent, Draws(seed), num_draws))
    if isinstance(agent, MixtureOfMemories) and clocked_mixture.fits(agent):
        return clocked_mixture.ClockedMixture(agent, Draws(seed), num_draws)
    return _by_rounds(agent, Draws(seed), num_draws)


def _by_rounds(agent: Agent, draws: Draws, num_draws: int) -> Decider:
    if isinstance(agent, LeastSquares) and isinstance(agent.exploration, Ucb) and agent.noise is None:
        return Direct(agent, agent.exploration, draws)
    if isinstance(agent, MixtureOfMemories) and mixed.fits(agent):
        return mixed.Mixed(agent, draws, num_draws)
    if descending.fits(agent):
        return descending.Descending(agent, draws)
    if descending.fits_mixture(agent):
        return descending.DescendingMixture(agent, draws)
    if num_draws > 1 and isinstance(agent, LeastSquares) and sampled.fits(agent):
        return sampled.Sampled(agent, draws, num_draws)
    return Planned(agent, draws, num_draws)
