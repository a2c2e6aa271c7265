"""An agent that plays episodes, one step at a time."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from driftwise.algorithms import build
from driftwise.base import random
from driftwise.base.agent import Agent
from driftwise.base.part import require_single
from driftwise.base.random import keys_of
from driftwise.base.types import FeatureTable, Spec
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.online import persistence
from driftwise.online.bandit import LARGEST_REWARD
from driftwise.online.episodic_inspection import EpisodicSummary, summarise, watch
from driftwise.online.episodic_memory import RememberedLeastSquares
from driftwise.online.episodic_saving import KIND, Kept, kept_in, stored_as
from driftwise.online.episodic_states import FeatureMap, MappedStates, States, Step, TableOfStates, scalar
from driftwise.online.episodic_truncation import remembering
from driftwise.online.gauge import Gauge
from driftwise.parts.least_squares import LeastSquares


class Playing(NamedTuple):
    """An episode under way."""

    table: FeatureTable
    plan: Any
    choices: np.ndarray  # [H] uniform numbers that actions are drawn with
    state: Any
    action: int | None  # what was chosen in `state`, if it was
    steps: tuple[Step, ...]


class EpisodicAgent:
    """An agent of `driftwise.algorithms` for episodes of at most `horizon` steps.

    ```python
    agent = EpisodicAgent("opt_wlsvi", features=table, horizon=5, rate=0.98, radius=0.3)
    agent.begin(state)
    while agent.under_way:
        action = agent.act()
        state, reward, terminated = step(action)
        agent.observe(reward, state, terminated=terminated)
    ```

    `features` is an array `[S, A, d]` where states are `0 … S−1`; then the agent keeps sums alone, and fed
    with the episodes of run 0 of a simulation with the same seed it does what that run did. Or `features`
    maps a state of any kind to the rows `[A, d]` of its actions; then the newest `memory` episodes are kept,
    by default those whose weights are at least `tolerance`, see `RememberedLeastSquares`. All rows have
    norms of at most 1.

    It learns from an episode at its end: after `horizon` steps, when one of them is `terminated`, or by
    `end()`. After a terminated step nothing more can be earned: the rest of the episode is spent in a state
    of its own with features 0, which makes its value 0 (algorithms that count have to learn that). After
    `end()` the rest is not known: it is left out, and the last step keeps the value of the state it led to.

    `plan_every` lets plain least squares act on the same plan for some episodes, as planning is what costs.
    Algorithms that need `measures`, `initial` chances, a `projection` or `positions` get them in `known`, and
    mean `rewards` with `begin`. A mistake in the arguments is a `ValueError`, a call out of
    turn a `RuntimeError`, and neither changes anything. Calls are made by one thread.

    `begin` raises a `FloatingPointError` where the sums give no finite weights. It would do so again: go on
    with the last file that was saved, or with a new agent, and a larger `ridge` or a smaller `radius`.
    """

    def __init__(
        self,
        algorithm: str,
        *,
        features: np.ndarray | FeatureMap,
        horizon: int,
        seed: int = 0,
        memory: int | None = None,
        tolerance: float = 1e-6,
        plan_every: int = 1,
        known: Mapping[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        mapped = callable(features)
        states: States = MappedStates(features) if mapped else TableOfStates(features)
        spec = Spec(states.num_states, states.num_actions, states.dim, require_count("horizon", horizon))
        agent = build(spec, algorithm, **parameters)
        require_single(agent)
        states.require_enough(agent.needs)
        if mapped:
            agent = remembering(agent, memory=memory, tolerance=tolerance)
        self._start(agent, states, {} if known is None else known, plan_every=plan_every, seed=seed)

    def _start(
        self, agent: Agent, states: States, known: Mapping[str, Any], *, plan_every: int, seed: int
    ) -> None:
        self.agent, self.states = agent, states
        self._table = states.table(agent.spec.horizon, agent.needs, known)
        self._known = {name: np.array(each, dtype=np.float64) for name, each in known.items()}
        self.plan_every = require_count("plan_every", plan_every)
        if self.plan_every > 1 and not isinstance(agent, (LeastSquares, RememberedLeastSquares)):
            raise ArgumentError("plan_every", "be 1 but for plain least squares", plan_every)
        self.seed = require_count("seed", seed, at_least=0)
        self._key = random.fold(random.key(self.seed), 0)
        self._state = agent.init(self._table)
        self._plan: Any = None
        self._playing: Playing | None = None
        self._episode = 0
        self._gauge = Gauge()

    @property
    def horizon(self) -> int:
        """The most steps of an episode."""
        return self.agent.spec.horizon

    @property
    def num_actions(self) -> int:
        """Actions are `0 … num_actions − 1`."""
        return self.agent.spec.num_actions

    @property
    def num_episodes(self) -> int:
        """How many it has learnt from."""
        return self._episode

    @property
    def under_way(self) -> bool:
        """Whether an episode is."""
        return self._playing is not None

    @property
    def plan(self) -> Any:
        """What it acts on in this episode, or acted on in the last one."""
        return self._plan

    @property
    def state(self) -> Any:
        """A copy of what the agent has learnt."""
        return copy.deepcopy(self._state)

    def summary(self) -> EpisodicSummary:
        """How much it knows, how well it predicts, and whether the world drifts."""
        return summarise(self.agent, self._state, self._episode, self._gauge)

    def begin(self, state: Any, *, rewards: Any = None) -> None:
        """Start an episode in a state; mean `rewards` `[H, S, A]` are for algorithms that need them."""
        if self._playing is not None:
            raise RuntimeError("begin must come after the end of an episode, which is under way; see end()")
        first = self.states.checked("state", state)
        needed = "rewards" in self.agent.needs
        table = self.states.with_rewards(self._table, rewards, needed=needed)
        _, for_plan, for_actions = keys_of(self._key, self._episode)
        plan = self._plan
        if self._episode % self.plan_every == 0:
            plan = self._made_plan(table, for_plan)
        choices = random.uniform(for_actions, self.horizon, np.float64)
        self._plan = plan
        self._playing = Playing(table, plan, choices, first, None, ())

    def act(self) -> int:
        """Choose the action of this step."""
        playing = self._require_playing("act")
        if playing.action is not None:
            raise RuntimeError(
                f"act must come after observe, which has not been told of action {playing.action}"
            )
        action = self._action(playing, len(playing.steps), playing.state)
        self._playing = playing._replace(action=action)
        return action

    def observe(self, reward: float, next_state: Any, *, terminated: bool = False) -> None:
        """Take in what the action brought; `next_state` counts unless it `terminated` the episode."""
        playing = self._require_playing("observe")
        if playing.action is None:
            raise RuntimeError("observe must come after act, which has not chosen an action in this step")
        reward = require_number("reward", scalar(reward), at_least=-LARGEST_REWARD, at_most=LARGEST_REWARD)
        reached = self.states.nowhere if terminated else self.states.checked("next_state", next_state)
        steps = (*playing.steps, Step(playing.state, playing.action, reward, reached))
        playing = playing._replace(state=reached, action=None, steps=steps)
        if terminated or len(steps) == self.horizon:
            self._learn(playing, num_predicted=len(steps))
        else:
            self._playing = playing

    def end(self) -> None:
        """Leave the episode where it is, and learn from the steps that were observed."""
        playing = self._require_playing("end")
        self._learn(playing, num_predicted=len(playing.steps) - 1)  # where the last one led was not played

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to go on with the next episode; `path` is replaced at once, or stays."""
        if self._playing is not None:
            raise RuntimeError("save must come between episodes, and one is under way; see end()")
        plan = self._plan if self._episode % self.plan_every else None
        settings = self._known, self.plan_every, self.seed, self._episode, self._gauge
        persistence.write(path, stored_as(Kept(self.agent, self.states, *settings, self._state, plan)))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, features: FeatureMap | None = None) -> EpisodicAgent:
        """The agent saved at `path`; `features` are for maps that no file can describe, see `online.load`."""
        agent = persistence.load(path, features=features)
        if not isinstance(agent, cls):
            raise ArgumentError(
                "path", f"be the file of an {KIND}", agent, f"one of a {type(agent).__name__}"
            )
        return agent

    @classmethod
    def restored(cls, stored: persistence.Stored, features: FeatureMap | None = None) -> EpisodicAgent:
        """The agent in a file."""
        kept, made = kept_in(stored, features), cls.__new__(cls)
        made._start(kept.agent, kept.states, kept.known, plan_every=kept.plan_every, seed=kept.seed)
        made._state, made._plan, made._episode = kept.state, kept.plan, kept.num_episodes
        made._gauge = kept.gauge
        return made

    def _learn(self, playing: Playing, num_predicted: int) -> None:
        nowhere, steps = self.states.nowhere, list(playing.steps)
        for h in range(len(steps), self.horizon):
            steps.append(Step(nowhere, self._action(playing, h, nowhere), 0.0, nowhere))
        with np.errstate(all="ignore"):  # what comes of it is looked at when it is planned with
            plan, episode = self.states.episode(playing.plan, steps)
            gauge = copy.copy(self._gauge)
            watch(gauge, plan, episode, num_predicted)
            state = self.agent.update(self._state, playing.table, plan, episode)
        self._state, self._gauge, self._playing = state, gauge, None
        self._episode += 1

    def _action(self, playing: Playing, h: int, state: Any) -> int:
        with np.errstate(all="ignore"):  # weights are finite
            return int(self.agent.act(playing.plan, h, state, playing.choices[h]))

    def _require_playing(self, call: str) -> Playing:
        if self._playing is None:
            raise RuntimeError(f"{call} must come after begin, as no episode is under way")
        return self._playing

    def _made_plan(self, table: FeatureTable, key: Any) -> Any:
        try:
            with np.errstate(all="ignore"):
                plan = self.agent.plan(self._state, table, key)
        except np.linalg.LinAlgError:
            plan = None
        if plan is None or not np.isfinite(plan.weights).all():
            raise FloatingPointError(
                "agent: its weights are not finite; the ridge may be too small, or the radius too large, "
                f"for such features and rewards: {self.agent!r}"
            )
        return plan


persistence.LOADERS[KIND] = EpisodicAgent.restored
