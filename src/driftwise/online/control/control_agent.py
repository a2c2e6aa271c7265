"""An agent for control: value iteration with shared steps, for observations of any kind."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from driftwise.base.resources import require_memory
from driftwise.base.validation import (
    ArgumentError,
    require_array,
    require_count,
    require_number,
    require_plain,
)
from driftwise.online import agent_files
from driftwise.online.control.kernel import CountedFeatures, KernelFeatures
from driftwise.online.control.spaces import SPACES, Actions, Observations, describe_env
from driftwise.online.control.transitions import SAMPLES, ControlOptions, Transitions
from driftwise.online.control.world import COUNTERS, World
from driftwise.online.episodes.player import EpisodePlayer
from driftwise.online.limits import require_reward

_KIND = "control agent"  # in files
_DEFAULT_GRID = {1: 9, 2: 5}  # values along each axis of continuous actions, by the number of axes
_LOOKS = 4, 8, 12, 16, 20  # steps of an episode after which another world may be recognised
_FAMILIAR = 1.0  # variance of a forecast, in units of the noise, below which it says something
_STAY, _ALARM = 5.0, 20.0  # logarithms of likelihood ratios: for another known world, and for a new one
_LEAST_CLOCK = 3  # episodes after which a world can be recognised
_TIE = 1e-9
_NOT_FINITE = "no finite number supports an action: load the last saved file, or use a larger ridge"


@dataclass(frozen=True)
class ControlSummary:
    """Numbers of an agent for control to watch."""

    episodes: int  # that it has learnt from
    transitions: int  # that are kept of the world at present
    worlds: int  # that it knows
    world: int  # the number of the one at present, from 0
    memory: int | None  # episodes that the memory which plans lasts; None for all
    features: int  # of a state


class ControlAgent(EpisodePlayer):
    """An agent for observations of any kind, whose steps share one regression for each action.

    `EpisodicAgent.for_env(env)` makes it for the spaces of an environment of Gymnasium.

    Args:
      observation_space, action_space: what `describe_env` returns.
      seed: of random actions, centres and ties.
      actions: values to try along each axis of continuous actions; 9 for one axis, 5 for two, unless given.
      discount: of the next step's value. The plan is for all steps alike.
      horizon: the most steps of an episode; the plan then has values for each step, and no discount.
      memories: lengths in episodes, None for all. They are weighed by forecasts, and the heaviest plans.
      bonus: of exploration, as a share of the range of values.
      ridge: of all regressions.
      num_features: of a state, at most, where states cannot be counted.
      capacity: transitions that are kept of a world.
      plan_every: episodes between two plans.
      learn_every: steps after which an episode is learnt from while it goes on; unless given, at its end.
      max_worlds: worlds that are told apart and kept, so that one that returns is known; 1 for no such test.
      reward_range: the least and the largest reward, if known, or else those seen; 0 is always in it.
      metadata: a dictionary of plain values, saved with the agent.

    It learns from an episode at its end. Calls are made by one thread; a mistake in the arguments is a
    `ValueError`, a call out of turn a `RuntimeError`, and neither changes anything.
    """

    def __init__(
        self,
        observation_space: Mapping[str, Any],
        action_space: Mapping[str, Any],
        *,
        seed: int = 0,
        actions: int | None = None,
        discount: float = 0.99,
        horizon: int | None = None,
        memories: Sequence[int | None] = (5, 15, 50, 150, None),
        bonus: float = 3e-4,
        ridge: float = 1e-3,
        num_features: int = 150,
        capacity: int = 20_000,
        plan_every: int = 1,
        learn_every: int | None = None,
        max_worlds: int = 8,
        reward_range: tuple[float, float] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        if action_space["type"] == "Box" and actions is None:
            actions = _DEFAULT_GRID.get(len(action_space["bounds"]))
        self._observations, self._actions = Observations(observation_space), Actions(action_space, actions)
        if horizon is not None:
            require_count("horizon", horizon)
        given = memories if isinstance(memories, Sequence) else ()
        lengths = [None if length is None else require_count("memories", length) for length in given]
        if not lengths or len({*lengths}) < len(lengths):
            raise ArgumentError("memories", "be a list of different numbers of episodes, or None", memories)
        if reward_range is not None:
            low, high = require_array("reward_range", reward_range, (2,)).tolist()
            if low > high or low == high == 0:
                expected = "be the least and the largest reward, and not both 0"
                raise ArgumentError("reward_range", expected, reward_range)
            reward_range = low, high
        self.options = ControlOptions(
            num_actions=self._actions.num,
            num_states=self._observations.num_states,
            discount=require_number("discount", discount, at_least=0, at_most=0.9999),
            horizon=horizon,
            memories=tuple(sorted(lengths, key=lambda length: math.inf if length is None else length)),
            bonus=require_number("bonus", bonus, at_least=0),
            ridge=require_number("ridge", ridge, at_least=1e-8),
            num_features=require_count("num_features", num_features, bits=12),
            capacity=require_count("capacity", capacity, at_least=100, bits=32),
            reward_range=reward_range,
            seed=require_count("seed", seed, at_least=0),
        )
        size = self._observations.num_states or min(num_features, capacity) + 1
        numbers = 4 * len(lengths) * self._actions.num * size**2  # Gram matrices, inverses and copies of them
        text = f"{self._actions.num} actions, {len(lengths)} memories and {size} features"
        require_memory("num_features", 8 * numbers, text)
        self.plan_every = require_count("plan_every", plan_every)
        self.learn_every = None if learn_every is None else require_count("learn_every", learn_every)
        self.max_worlds = require_count("max_worlds", max_worlds)
        self.metadata = require_plain("metadata", {} if metadata is None else metadata)
        self.num_episodes, self.num_worlds, self._seen = 0, 1, {}
        self.worlds = [self._new_world()]
        self._present = 0  # the place of the world at present

    def _new_world(self) -> World:
        counted = self.options.num_states
        num = self._observations.num if counted is None else 1
        features = KernelFeatures.none(num) if counted is None else CountedFeatures(counted)
        return World(self.options, 0, features, num)

    def __repr__(self) -> str:
        episodes = f"{self.num_episodes} episode{'s' * (self.num_episodes != 1)}"
        return f"ControlAgent({self.options.num_actions} actions, learnt from {episodes})"

    @property
    def world(self) -> World:
        """The world in which the agent believes to be."""
        return self.worlds[self._present]

    def summary(self) -> ControlSummary:
        """Return numbers to watch."""
        world = self.world
        memory = self.options.memories[world.leader]
        sizes = len(world.kept), len(self.worlds), world.number
        return ControlSummary(self.num_episodes, *sizes, memory, world.features.num)

    def require_env(self, env: Any) -> tuple[int, int]:
        own = self._observations.description, self._actions.description
        for name, of_agent, of_env in zip(SPACES, own, describe_env(env), strict=True):
            if of_env != of_agent:
                raise ArgumentError("env", f"have the {name} that the agent was made for", of_env)
        return 0, 0

    def begin(self, state: Any) -> None:
        """Start an episode with an observation."""
        self._require_closed()
        self._open = _Open(self._vector("state", state))

    def act(self) -> Any:
        """Choose the action of this step, as the environment takes it."""
        episode: _Open = self._require_open("act")
        if episode.action is not None:
            raise RuntimeError(f"act must come after observe, which has not followed action {episode.action}")
        episode.action = self._choose(episode)
        return self._actions.action(episode.action)

    def _choose(self, episode: "_Open") -> int:
        step, num = episode.step, self.options.num_actions
        rng = [self.options.seed, self.num_episodes, step]
        if not self.world.has_plan:
            return int(np.random.default_rng(rng).integers(num))
        with np.errstate(all="ignore"):
            index = self.world.index(episode.state, min(step, (self.options.horizon or 1) - 1))
        if not np.isfinite(index).all():
            raise FloatingPointError(_NOT_FINITE)
        best = np.flatnonzero(index >= index.max() - _TIE * max(1.0, abs(index.max())))
        return int(best[0]) if len(best) == 1 else int(np.random.default_rng(rng).choice(best))

    def observe(self, reward: float, next_state: Any, *, terminated: bool = False) -> None:
        episode: _Open = self._require_open("observe")
        if episode.action is None:
            raise RuntimeError("observe must come after act, which has not chosen an action in this step")
        reward, state = require_reward(reward), self._vector("next_state", next_state)
        episode.steps.append((episode.state, episode.action, reward, state, bool(terminated)))
        episode.state, episode.action, episode.step = state, None, episode.step + 1
        if terminated or episode.step == self.options.horizon:
            self.end()
        elif self.learn_every is not None and len(episode.steps) == self.learn_every:
            self._learn(episode)
        elif len(self.worlds) > 1 and episode.step in _LOOKS:
            self._recognise(episode.transitions(), may_be_new=False)

    def end(self) -> None:
        """Leave the episode where it is, and learn from its steps."""
        episode: _Open = self._require_open("end")
        if episode.steps:
            self._learn(episode)
        self._open, self.num_episodes = None, self.num_episodes + 1

    def _vector(self, name: str, observation: Any) -> np.ndarray:
        vector = self._observations.vector(name, observation)
        counted = self._observations.num_states is not None
        return self._observations.state(vector)[None].astype(np.float64) if counted else vector

    def _learn(self, episode: "_Open") -> None:
        transitions = episode.transitions()
        self._recognise(transitions, may_be_new=True)
        world = self.world
        try:
            with np.errstate(all="ignore"):  # an index that is not finite is an error
                world.learn(transitions)
                if not world.has_plan or world.clock % self.plan_every == 0:
                    world.make_plan()
        except np.linalg.LinAlgError as error:
            raise FloatingPointError(_NOT_FINITE) from error
        episode.steps.clear()

    @np.errstate(all="ignore")
    def _recognise(self, steps: Transitions, *, may_be_new: bool) -> None:
        """Go to the world that forecasts these steps best, or to a new one where none says anything.

        Only steps that are familiar to the present world count: elsewhere all forecasts are wrong.
        """
        known = [i for i, world in enumerate(self.worlds) if world.clock >= _LEAST_CLOCK]
        if self.max_worlds == 1 or self._present not in known:
            return
        forecasts = {i: self.worlds[i].likelihood(steps) for i in known}
        familiar = forecasts[self._present][1] < _FAMILIAR
        if (num := int(familiar.sum())) < _LOOKS[0]:
            return
        count = min(num, SAMPLES)
        scores = {i: count * float(fits[familiar].mean()) for i, (fits, _) in forecasts.items()}
        scores[self._present] += _STAY
        best = max(scores, key=lambda i: scores[i])
        if may_be_new:
            base = count * float(self.world.base_likelihood(steps)[familiar].mean())
            if base > scores[best] + _ALARM:
                self._add_world()
                return
        self._present = best

    def _add_world(self) -> None:
        """Begin an empty world with the present features; the oldest world may have to go."""
        world = self.world.copy_features(self.num_worlds)
        self.num_worlds += 1
        self.worlds = [*self.worlds, world][-self.max_worlds :]
        self._present = len(self.worlds) - 1

    def _content(self) -> agent_files.AgentFile:
        options = {**asdict(self.options), "actions": self._actions.grid}
        del options["num_actions"], options["num_states"]
        options |= {name: getattr(self, name) for name in ("plan_every", "learn_every", "max_worlds")}
        description = {"kind": _KIND, "options": options, "present": self._present}
        description |= {"observations": self._observations.description, "actions": self._actions.description}
        description |= {"num_episodes": self.num_episodes, "num_worlds": self.num_worlds}
        description["metadata"] = require_plain("metadata", self.metadata)
        description["worlds"] = [{name: getattr(world, name) for name in COUNTERS} for world in self.worlds]
        parts = [world.tensors(f"{i}.") for i, world in enumerate(self.worlds)]
        tensors = {name: array for part in parts for name, array in part.items()}
        return agent_files.AgentFile(description, tensors, self._seen)

    @classmethod
    def from_file(cls, file: agent_files.AgentFile, features: None = None) -> Self:
        """Return the agent of a file; it has features of its own."""
        if features is not None:
            raise ArgumentError("features", "be left out, as the agent has its own", features)
        content, tensors = file.description, file.tensors
        options = {**content["options"], "metadata": content["metadata"]}
        if options["reward_range"] is not None:
            options["reward_range"] = tuple(options["reward_range"])
        agent = cls(content["observations"], content["actions"], **options)
        agent.num_episodes, agent.num_worlds = content["num_episodes"], content["num_worlds"]
        (first,) = agent.worlds
        agent.worlds = [first.restored(own, tensors, f"{i}.") for i, own in enumerate(content["worlds"])]
        agent._present, agent._seen = content["present"], file.seen
        return agent


class _Open:
    """An episode under way."""

    def __init__(self, state: np.ndarray) -> None:
        self.state, self.action, self.step = state, None, 0
        self.steps: list[tuple[np.ndarray, int, float, np.ndarray, bool]] = []  # not learnt yet
        self.action: int | None

    def transitions(self) -> Transitions:
        return Transitions(*map(np.array, zip(*self.steps, strict=True)))


agent_files.LOADERS[_KIND] = ControlAgent.from_file
