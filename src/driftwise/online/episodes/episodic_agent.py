"""An agent that plays episodes, one step at a time."""

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from driftwise.algorithms import build
from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.knowledge import MeanRewards
from driftwise.base.part import from_config, require_single, to_config
from driftwise.base.random import episode_keys
from driftwise.base.types import FeatureTable, Spec
from driftwise.base.validation import (
    ArgumentError,
    require_array,
    require_count,
    require_instance,
    require_plain,
)
from driftwise.online import agent_files
from driftwise.online.control.control_agent import ControlAgent
from driftwise.online.control.spaces import describe_env
from driftwise.online.episodes import agent_building
from driftwise.online.episodes.player import EpisodePlayer
from driftwise.online.episodes.remembered import MemoryPlan, RememberedLeastSquares, RememberedMixture
from driftwise.online.episodes.states import MappedStates, States, TableOfStates, restore_states
from driftwise.online.features import FeatureMap
from driftwise.online.limits import finite_plan, first_state, require_reward, within_memory
from driftwise.online.summary import EpisodicSummary, Gauge, summary_fields
from driftwise.online.tensors import COUNTED_BITS, from_tensors, require_numbers, to_tensors
from driftwise.parts import LeastSquares

_KIND = "episodic agent"  # in files
_PLAIN = (LeastSquares, agent_building.BlockLeastSquares, RememberedLeastSquares)


class OpenEpisode(NamedTuple):
    """An episode under way."""

    table: FeatureTable
    plan: Any
    uniforms: np.ndarray  # [H] numbers that actions are drawn with
    state: Any
    action: int | None  # chosen in `state`, if one was
    steps: tuple[tuple[Any, int, float, Any], ...]  # states, actions, rewards and next states


class EpisodicAgent(EpisodePlayer):
    """An agent of `driftwise.algorithms` for episodes of at most `horizon` steps.

    ```python
    agent = EpisodicAgent(features=table, horizon=5)
    agent.begin(state)
    while agent.under_way:
        action = agent.act()
        state, reward, terminated = step(action)
        agent.observe(reward, state, terminated=terminated)
    ```

    The default needs no numbers. Recipes without a radius of their own get 0.3, and a `ridge` of (0.3/H)², at
    most 0.01, unless given.

    `features` is an array `[S, A, d]` where states are `0 … S−1`; then the agent keeps only sums, and equals
    run 0 of a simulation with the same seed if it plays the same episodes. Or `features` maps a state of any
    kind to the rows `[A, d]` of its actions; then the newest `memory` episodes are kept, by default those
    whose weights are at least `tolerance`, or 1000 for a mixture of memories. Rows have norms of at most 1.

    It learns from an episode at its end: after `horizon` steps, when one of them is `terminated`, or by
    `end()`. The rest of a terminated episode is spent in a state of its own with features 0, whose value is
    therefore 0. After `end()` the rest is left out, and the last step keeps the value of its next state.

    `plan_every` lets plain least squares act on the same plan for some episodes. Algorithms that need
    `measures`, `initial` chances, a `projection` or `positions` get them in `known`, and mean `rewards` with
    `begin`. `metadata` is a dictionary of plain values, saved with the agent. A mistake in the arguments is a
    `ValueError`, a call out of turn a `RuntimeError`, and neither changes anything. A plan that is not finite
    is a `FloatingPointError`: continue with the last saved file, a larger `ridge` or a smaller `radius`.
    Calls are made by one thread.
    """

    def __init__(
        self,
        algorithm: str = "adaptive_opt_wlsvi",
        *,
        features: np.ndarray | FeatureMap,
        horizon: int,
        seed: int = 0,
        memory: int | None = None,
        tolerance: float = 1e-3,
        plan_every: int = 1,
        known: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        states = MappedStates(features) if callable(features) else TableOfStates(features)
        spec = Spec(states.num_states, states.num_actions, states.dim, require_count("horizon", horizon))
        agent = build(spec, algorithm, **agent_building.with_defaults(algorithm, parameters, horizon))
        require_single(agent)
        if callable(features):
            agent = agent_building.with_memory(agent, memory=memory, tolerance=tolerance)
        elif states.blocks is not None:
            agent = agent_building.with_blocks(agent)
        options = {"plan_every": plan_every, "seed": seed, "metadata": {} if metadata is None else metadata}
        self._start(agent, states, {} if known is None else known, options)

    @staticmethod
    def for_env(env: Any, **options: Any) -> ControlAgent:
        """Return an agent for an environment of Gymnasium, by its spaces alone.

        ```python
        agent = EpisodicAgent.for_env(env, seed=0)
        train(agent, env, num_episodes=60, seed=0)
        ```

        All steps share one regression for each action, features are chosen among the states that are met, and
        memories are weighed by their forecasts. The options are those of `ControlAgent`.
        """
        return ControlAgent(*describe_env(env), **options)

    def _start(self, agent: Agent, states: States, known: Mapping[str, Any], options: dict[str, Any]) -> None:
        self.agent, self.states = agent, states
        self.horizon, self.num_actions = agent.spec.horizon, agent.spec.num_actions
        self._table = states.table(agent, known)
        self._known = {name: np.array(value, dtype=np.float64) for name, value in known.items()}
        self.plan_every = require_count("plan_every", options["plan_every"])
        if self.plan_every > 1 and not isinstance(agent, _PLAIN):
            raise ArgumentError("plan_every", "be 1 but for plain least squares", self.plan_every)
        self.seed = require_count("seed", options["seed"], at_least=0)
        self.metadata = require_plain("metadata", options["metadata"])
        self._key = random.fold(random.key(self.seed), 0)
        with within_memory(agent):
            self._state = first_state(agent, self._table)
        self._open: OpenEpisode | None = None
        self._gauge, self._seen = Gauge(), {}
        self.plan: Any = None  # of the episode under way, or else of the last one
        self.num_episodes = 0  # that it has learnt from

    def __repr__(self) -> str:
        current = f", in step {len(self._open.steps)} of another" if self._open else ""
        episodes = f"{self.num_episodes} episode{'s' * (self.num_episodes != 1)}{current}"
        return f"EpisodicAgent({self.agent!r}, learnt from {episodes})"

    @property
    def state(self) -> Any:
        """A copy of the agent's state."""
        return copy.deepcopy(self._state)

    def summary(self) -> EpisodicSummary:
        """Return numbers to watch: how much is known, how good predictions are, and a gauge of drift."""
        numbers = summary_fields(self.agent, self._state, self._gauge, missing=None)
        return EpisodicSummary(self.num_episodes, **numbers)

    def begin(self, state: Any, *, rewards: Any = None) -> None:
        """Start an episode in a state; mean `rewards` `[H, S, A]` are for algorithms that need them."""
        self._require_closed()
        first, table, spec = self.states.check("state", state), self._table, self.agent.spec
        if (MeanRewards in self.agent.needs) != (rewards is not None):
            expected = "left out" if rewards is not None else "given, as the algorithm needs the mean ones"
            raise ArgumentError("rewards", f"be {expected}", rewards)
        if rewards is not None:
            means = require_array("rewards", rewards, (spec.horizon, spec.num_states - 1, spec.num_actions))
            means = np.pad(means, [(0, 0), (0, 1), (0, 0)])  # none in the state after the end
            table = table.with_extras(MeanRewards(means.reshape(spec.horizon, -1)))
        _, for_plan, for_actions = episode_keys(self._key, self.num_episodes)
        if self.num_episodes % self.plan_every == 0:
            with np.errstate(all="ignore"):
                self.plan = finite_plan(self.agent, self._state, table, for_plan)
        uniforms = random.draw_uniform(for_actions, self.horizon, np.float64)
        self._open = OpenEpisode(table, self.plan, uniforms, first, None, ())

    def act(self) -> int:
        """Choose the action of this step."""
        episode: OpenEpisode = self._require_open("act")
        if episode.action is not None:
            raise RuntimeError(f"act must come after observe, which has not followed action {episode.action}")
        action = self._choose(episode, len(episode.steps), episode.state)
        self._open = episode._replace(action=action)
        return action

    def observe(self, reward: float, next_state: Any, *, terminated: bool = False) -> None:
        """Record the reward of the action; `next_state` counts unless the step `terminated` the episode."""
        episode: OpenEpisode = self._require_open("observe")
        if episode.action is None:
            raise RuntimeError("observe must come after act, which has not chosen an action in this step")
        reward = require_reward(reward)
        state = self.states.end if terminated else self.states.check("next_state", next_state)
        steps = (*episode.steps, (episode.state, episode.action, reward, state))
        episode = episode._replace(state=state, action=None, steps=steps)
        if terminated or len(steps) == self.horizon:
            self._learn(episode, num_predicted=len(steps))
        else:
            self._open = episode

    def end(self) -> None:
        """Leave the episode where it is, and learn from the steps that were observed."""
        episode: OpenEpisode = self._require_open("end")
        self._learn(episode, num_predicted=len(episode.steps) - 1)  # no action followed the last one

    def require_env(self, env: Any) -> tuple[int, int]:
        offered = getattr(getattr(env, "action_space", None), "n", None)
        if offered != self.num_actions:
            expected = f"have the agent's {self.num_actions} discrete actions"
            raise ArgumentError("env", expected, offered, f"{offered} in {env}")
        return int(getattr(env.observation_space, "start", 0)), int(env.action_space.start)

    def _content(self) -> agent_files.AgentFile:
        description = {"kind": _KIND, "agent": to_config(self.agent), "features": self.states.description}
        description |= {"plan_every": self.plan_every, "seed": self.seed, "num_episodes": self.num_episodes}
        description["metadata"] = require_plain("metadata", self.metadata)
        tensors = {**self.states.tensors, "gauge": self._gauge.to_array(), **to_tensors("state", self._state)}
        tensors |= {f"known.{name}": array for name, array in self._known.items()}
        if self.num_episodes % self.plan_every:  # the next episode acts on the same plan
            tensors |= to_tensors("plan", _plan_of(None, self.plan))
        return agent_files.AgentFile(description, tensors, self._seen)

    @classmethod
    def from_file(cls, file: agent_files.AgentFile, features: FeatureMap | None = None) -> Self:
        """Return the agent of a file."""
        (description, tensors, seen, _), restored = file, cls.__new__(cls)
        agent = require_instance("agent", from_config(description["agent"]), Agent)
        spec = agent.spec
        remembers = isinstance(agent, (RememberedLeastSquares, RememberedMixture))
        rows = agent.memory * spec.horizon if remembers else spec.num_states - 1
        require_numbers(tensors, agent, rows * spec.num_actions * spec.dim)
        states = restore_states(file, features, spec)
        known = {name[6:]: array for name, array in tensors.items() if name.startswith("known.")}
        options = {name: description[name] for name in ("plan_every", "seed", "metadata")}
        restored._start(agent, states, known, options)
        num = description["num_episodes"]
        restored.num_episodes = require_count("num_episodes", num, at_least=0, bits=COUNTED_BITS)
        if restored.num_episodes % restored.plan_every:
            like = _plan_of(None, agent.plan(restored._state, restored._table, random.key(0)))
            restored.plan = _plan_of(agent, from_tensors("plan", like, tensors))
        restored._state = from_tensors("state", restored._state, tensors)
        restored._gauge, restored._seen = Gauge.from_array(tensors["gauge"]), seen
        return restored

    def _learn(self, played: OpenEpisode, num_predicted: int) -> None:
        """Learn from an episode, whose rest is spent in the state after its end."""
        end, steps = self.states.end, list(played.steps)
        for h in range(len(steps), self.horizon):
            steps.append((end, self._choose(played, h, end), 0.0, end))
        states, actions, *others = map(np.array, zip(*steps, strict=True))
        gauge = copy.copy(self._gauge)
        with np.errstate(all="ignore"):  # the next plan is checked
            plan, episode = self.states.episode(played.plan, states, actions.astype(np.int32), *others)
            if num_predicted > 0:
                errors, bonus = (part[:num_predicted] for part in plan.residuals(episode))
                gauge.observe(float(np.abs(errors).mean()), float(bonus.mean()))
            state = self.agent.update(self._state, played.table, plan, episode)
        self._state, self._gauge, self._open = state, gauge, None
        self.num_episodes += 1

    def _choose(self, episode: OpenEpisode, h: int, state: Any) -> int:
        with np.errstate(all="ignore"):  # the plan is finite
            return int(self.agent.act(episode.plan, h, state, episode.uniforms[h]))


def _plan_of(agent: Any, plan: Any) -> Any:
    """Return a plan with the base of its agent, if any, and without what only mixtures need."""
    if not isinstance(plan, MemoryPlan):
        return plan
    return plan._replace(base=agent and agent.base, targets=None)


agent_files.LOADERS[_KIND] = EpisodicAgent.from_file
