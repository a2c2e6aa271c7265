"""The fast form of mixtures of feature maps: a decider for each map, of which the heaviest decides."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftwise.algorithms.unknown_variation.expanding import MapsState, MixtureOfMaps, map_features
from driftwise.online.deciders.definition import Choice, Decider, Offer, RoundDraws
from driftwise.online.deciders.mixture_decider import MixtureDecider


class MapsDecider(Decider):
    """`MixtureOfMaps` of mixtures that `MixtureDecider` supports."""

    def __init__(self, agent: MixtureOfMaps, draws: RoundDraws, deciders: list[Any]) -> None:
        self.agent, self.draws = agent, draws
        self._deciders: dict[Any, MixtureDecider] = dict(zip(agent.maps, deciders, strict=True))
        prior = agent.sharing.prior(np.zeros(len(deciders)))
        self._log_weights, self._tick = np.log(prior), np.array(0)

    @property
    def state(self) -> MapsState:
        maps = tuple(decider.state for decider in self._deciders.values())
        return MapsState(maps, self._log_weights.copy(), self._tick)

    @state.setter
    def state(self, state: MapsState) -> None:
        for decider, inner in zip(self._deciders.values(), state.maps, strict=True):
            decider.state = inner
        self._log_weights, self._tick = np.array(state.log_weights), np.array(state.tick)

    def offer(
        self, arms: np.ndarray, number: int, time: float = 0.0, waiting: np.ndarray | None = None
    ) -> Offer:
        name = [*self._deciders][int(self._log_weights.argmax())]
        if waiting is not None:
            waiting = self.agent.waiting_of(name, waiting)
        mapped = map_features(name, arms, self.agent.blocks)
        return self._deciders[name].offer(mapped, number, time, waiting)._replace(arms=arms)

    def expect(self, choice: Choice) -> None:
        for name, decider in self._deciders.items():
            mapped = map_features(name, choice.features, self.agent.blocks)
            decider.expect(choice._replace(features=mapped))

    def learn(self, choice: Choice, reward: float, time: float = 0.0, weight: float = 1.0) -> None:
        scores = []
        for name, decider in self._deciders.items():
            own = choice._replace(features=map_features(name, choice.features, self.agent.blocks))
            scores.append(decider.score(own, reward, weight))
            decider.learn(own, reward, time, weight)
        self._weigh(scores, 1)

    def learn_many(self, choices: Sequence[Choice], rewards: Sequence[float], times: Sequence[float]) -> None:
        """Learn rewards that came together as each map's decider does, and weigh the maps once."""
        if len(choices) < max(decider.least_batch for decider in self._deciders.values()):
            super().learn_many(choices, rewards, times)
            return
        rows, targets, scores = np.array([choice.features for choice in choices]), np.array(rewards), []
        for name, decider in self._deciders.items():
            scores.append(decider.learn_batch(map_features(name, rows, self.agent.blocks), targets))
        self._weigh(scores, len(rows))

    def _weigh(self, scores: list[float], num: int) -> None:
        """Update the weights by the scores of so many rewards together."""
        self._log_weights, tick = self.agent.weigh(self._log_weights, np.array(scores), self._tick + num - 1)
        self._tick = np.array(tick)
