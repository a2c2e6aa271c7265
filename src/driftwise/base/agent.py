"""The agent protocol: everything that engines, metas and checks ask of an agent."""

import math
import operator
from abc import ABC, abstractmethod
from typing import Any

from driftwise.base.arrays import namespace
from driftwise.base.random import choose_index
from driftwise.base.types import Array, Episode, FeatureTable, Forecast, Key, Moments, Plan, Spec


class Agent(ABC):
    """Plans at the start of an episode, acts in it, learns from it.

    An agent is a part; its state is a named tuple of arrays that nobody else looks into. All that changes
    between episodes happens in `update`, and all that is drawn is drawn in `plan`: rewards may come late.
    """

    spec: Spec
    needs: tuple[type, ...] = ()
    """Types of `driftwise.base.knowledge` that the agent needs besides features."""
    off_policy: bool = True
    """Whether it may learn from any play, and not only from those that its plan drew."""
    sees_arms: bool = True
    """Whether it knows arms by their features alone, so that a bandit may have others in every round."""
    counts_waiting: bool = False
    """Whether plans use `WaitingDecisions`, the samples whose rewards have not come yet."""
    takes_counts: bool = False
    """Whether `update` uses `Episode.counts`: a reward may then be the mean of several."""

    @property
    def optimistic(self) -> bool:
        """Whether plans value what is little known above its estimate, surely or by a draw."""
        return True

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the largest reward that its model knows of."""
        return -math.inf, math.inf

    @abstractmethod
    def init(self, features: FeatureTable) -> Any:
        """The state before anything was seen, of the features' array library and precision."""

    @abstractmethod
    def plan(self, state: Any, features: FeatureTable, key: Key) -> Plan:
        """The plan of an episode with these features."""

    @abstractmethod
    def update(self, state: Any, features: FeatureTable, plan: Plan, episode: Episode) -> Any:
        """The state after an episode with these features and this plan; the given state may be consumed."""

    def act(self, plan: Plan, h: int | Array, state: Array, uniform: Array) -> Array:
        """The action in step `h`, drawn from the plan's policy with a number that is uniform in [0, 1)."""
        probabilities = plan.policy[h][state]
        return choose_index(namespace(probabilities).cumulative_sum(probabilities), uniform)

    def action_probabilities(self, plan: Plan, key: Key) -> Array:
        """Probabilities of a bandit's arms before anything is drawn with the key, on NumPy: `[A]`.

        Where no formula sums over the draws they are those of the plan, given what was drawn for it.
        """
        return plan.policy[0, 0]

    def expand(self, features: Array) -> Array:
        """Return the features `[..., D]` whose products `WaitingDecisions` sum, of features `[..., d]`."""
        return features

    def diagnostics(self, state: Any) -> dict[str, Array]:
        """Numbers by name about the episode last learnt from; engines record them beside the regret."""
        return {}

    def moments(self, state: Any) -> Moments | None:
        """Moments of the regression that the next plan rests on; None if it rests on none."""
        return None


class Forecaster(Agent):
    """An agent that forecasts the targets `r_h + V_{h+1}(s_{h+1})` of an episode, with values of any plan."""

    forgetting: Any

    @abstractmethod
    def forecast(self, state: Any, features: FeatureTable, plan: Plan, episode: Episode) -> Forecast:
        """The forecasts for what came, before it is learnt from."""

    def learn(self, state: Any, features: FeatureTable, plan: Plan, episode: Episode) -> tuple[Forecast, Any]:
        """Return the forecasts for an episode, and the state after it."""
        forecast = self.forecast(state, features, plan, episode)
        return forecast, self.update(state, features, plan, episode)  # which may consume the state

    @abstractmethod
    def policy(self, q: Array) -> Array:
        """The policy that the agent would have for an index `[H, S, A]`."""

    @abstractmethod
    def memory(self, state: Any) -> Array:
        """The number of episodes that count: Σω."""


class Wrapper(Agent):
    """An agent around another one, its `base`, with the same properties."""

    base: Any

    def moments(self, state: Any) -> Moments | None:
        return self.base.moments(state.base)


for _name in ("spec", "needs", "act", "optimistic", "off_policy", "sees_arms", "reward_range"):
    setattr(Wrapper, _name, property(operator.attrgetter(f"base.{_name}")))
