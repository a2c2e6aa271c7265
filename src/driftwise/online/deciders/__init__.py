"""Deciders: agents led through single events, by their definition or by a faster form of it."""

from driftwise.algorithms.unknown_variation.expanding import MixtureOfMaps
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent
from driftwise.base.part import index_part
from driftwise.online.deciders.clock_decider import ClockDecider, clock_of
from driftwise.online.deciders.definition import Decider, PlannedDecider, RoundDraws
from driftwise.online.deciders.least_squares_decider import LeastSquaresDecider
from driftwise.online.deciders.maps_decider import MapsDecider
from driftwise.online.deciders.mirror_descent_decider import MirrorDescentDecider
from driftwise.online.deciders.mixture_decider import MixtureDecider
from driftwise.parts import ExponentialWeights, LearntNoise, LeastSquares, MirrorDescent, Thompson, Ucb


def make_decider(agent: Agent, seed: int, num_draws: int = 1) -> Decider:
    """Return the fastest decider of an agent, by the parts that the agent declares."""
    draws, clock = RoundDraws(seed), clock_of(agent)
    decider: Decider
    match agent:
        case LeastSquares(exploration=Ucb(), noise=None):
            decider = LeastSquaresDecider(agent, draws)
        case LeastSquares(exploration=Thompson(), noise=None) if num_draws > 1:
            decider = LeastSquaresDecider(agent, draws, num_draws)
        case (
            MirrorDescent(exploration=Ucb())
            | MixtureOfMemories(decision="heaviest", origin="zero", base=MirrorDescent(exploration=Ucb()))
        ):
            decider = MirrorDescentDecider(agent, draws)
        case MixtureOfMemories(
            base=LeastSquares(
                forgetting=ExponentialWeights(),
                exploration=Ucb() | Thompson(),
                noise=LearntNoise() as noise,
                unit="noise",
                caution=None,
            ),
        ) if len({index_part(noise, j) for j in range(agent.num_memories)}) == 1:
            decider = MixtureDecider(agent, draws, num_draws)
        case MixtureOfMaps(counts_waiting=True) if (
            found := [make_decider(inner, seed, num_draws) for inner in agent.maps.values()]
        ) and all(isinstance(each, MixtureDecider) for each in found):
            decider = MapsDecider(agent, draws, found)
        case _:
            decider = PlannedDecider(agent, draws, num_draws)
    return decider if clock is None else ClockDecider(agent, clock, decider)
