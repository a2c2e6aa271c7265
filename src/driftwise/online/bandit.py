"""A bandit that decides on one set of arms at a time."""

import copy
import math
import threading
import time as clock
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from driftwise.algorithms import build
from driftwise.algorithms.algorithm import find_algorithm
from driftwise.base.part import require_single
from driftwise.base.resources import register_for_fork
from driftwise.base.times import Duration, Timestamp, to_timestamp
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_number, require_plain
from driftwise.online import agent_files, limits
from driftwise.online.bandit_files import BanditSettings, SavedBandit, bandit_content, restore_bandit
from driftwise.online.deciders import make_decider
from driftwise.online.deciders.clock_decider import uses_clock
from driftwise.online.deciders.definition import Choice, Offer
from driftwise.online.decisions import Decision, Entry, Outcome, PendingDecisions, Waiting, as_batch, as_id
from driftwise.online.hints import find_hints
from driftwise.online.limits import RewardRange
from driftwise.online.renewal import renew_state, require_coordinates
from driftwise.online.summary import Gauge, Summary, map_weights, summary_fields
from driftwise.online.waiting import WaitingSums

_KIND = "bandit"  # in files


class Bandit(SavedBandit):
    """An agent of `driftwise.algorithms` that decides on one set of arms at a time, of any size.

    The default is `adaptive_lin_ucb`, which needs to know neither how fast to forget nor how large the noise
    is.

    ```python
    bandit = Bandit(dim=10)
    decision = bandit.decide(features)  # [num_arms, dim]
    bandit.learn(decision.id, reward=0.7)
    ```

    Its draws are those of run 0 of a simulation with the same seed, so that both give the same numbers for
    the same arms and rewards. Rewards may come late, in any order, or never; by the clock, a reward has the
    time of its decision. Of the waiting decisions, the oldest expires when they are more than `max_pending`,
    or when more than `expire_after` others were made since, or one more than `expire_after_seconds` later.
    A generated id is never used twice, whatever was lost in a crash. `metadata` is a dictionary of plain
    values of the caller's, saved with the agent.

    With probability `epsilon` any of the arms is taken instead; an algorithm with an `epsilon` of its own
    receives it. Agents that draw what they decide by, such as Thompson sampling, draw `num_draws` times and
    take an arm by its share of wins. A reward outside `reward_range` is refused, so that its decision waits
    on, or clipped, as `outside` says. Where no range is known, `outside="clip"` clips outliers: rewards that
    are farther from their prediction than ten standard deviations of such errors.

    Any number of threads may use one bandit, and a process that forks. A mistake in the arguments is a
    `ValueError`, changing nothing. `decide` raises a `FloatingPointError` where no finite number supports a
    decision: load the last saved file, or make a new agent with a larger `ridge` or a smaller radius.
    """

    def __init__(
        self,
        algorithm: str = "adaptive_lin_ucb",
        *,
        dim: int,
        seed: int = 0,
        max_pending: int = 10_000,
        expire_after: int | None = None,
        expire_after_seconds: Duration | None = None,
        epsilon: float | None = None,
        num_draws: int = 1,
        metadata: Mapping[str, Any] | None = None,
        reward_range: tuple[float, float] | None = None,
        outside: Literal["refuse", "clip"] = "refuse",
        **parameters: Any,
    ) -> None:
        if epsilon is not None and find_algorithm(algorithm).takes("epsilon"):
            parameters["epsilon"], epsilon = epsilon, None
        agent = build(Spec.bandit(dim=dim, num_arms=1), algorithm, **parameters)
        require_single(agent)
        numbers = max_pending, expire_after, expire_after_seconds, epsilon or 0.0, num_draws
        settings = BanditSettings(algorithm, agent, seed, *numbers, reward_range, outside)
        self._start(settings, {} if metadata is None else metadata)

    def _start(self, settings: BanditSettings, metadata: Mapping[str, Any]) -> None:
        self.settings, self.algorithm, self.agent = settings, settings.algorithm, settings.agent
        self.metadata = require_plain("metadata", metadata)
        ages = settings.expire_after, settings.expire_after_seconds
        self._dim = self.agent.spec.dim
        with limits.within_memory(self.agent):
            self._decider = make_decider(self.agent, settings.seed, settings.num_draws)
            sums = WaitingSums(self._dim, self.agent.expand) if self.agent.counts_waiting else None
        self._pending = PendingDecisions(settings.max_pending, *ages, sums=sums)
        self._range = RewardRange(settings.reward_range or self.agent.reward_range, settings.outside)
        self._gauge, self._num_rounds = Gauge(), 0  # rounds: decisions and samples have draws of their own
        self._offered: np.ndarray | None = None  # features of the last arms, for hints
        self._seen: agent_files.Stamps = {}
        self._lock, self._writing = threading.RLock(), threading.Lock()
        register_for_fork(self)

    def _reset_after_fork(self) -> None:
        self._writing = threading.Lock()  # the thread that may hold the old one is not here
        self._pending.change_prefix()  # the parent goes on with the old one

    def __repr__(self) -> str:
        with self._lock:
            num, waiting = self._pending.num_decisions, len(self._pending.waiting)
        return f"Bandit({self.algorithm!r}, dim={self._dim}, {num} decisions, {waiting} of them pending)"

    @property
    def state(self) -> Any:
        """A copy of the agent's state."""
        with self._lock:
            return copy.deepcopy(self._decider.state)

    def summary(self) -> Summary:
        """Return numbers to watch: how much is known, how good predictions are, and whether rewards drift."""
        with self._lock:
            agent, state, gauge, pending = self.agent, self._decider.state, self._gauge, self._pending
            decisions, expired, waiting = pending.num_decisions, pending.num_expired, len(pending.waiting)
            fields = summary_fields(agent, state, gauge, missing=math.nan)
            fields |= dict(decisions=decisions, expired=expired, pending=waiting, outside=int(gauge.outside))
            hints = tuple(find_hints(agent, state, gauge, self._offered, decisions, waiting))
            samples, rewards = self._num_rounds - decisions, decisions - expired - waiting
            maps = map_weights(agent, state)
            return Summary(rewards=rewards, samples=samples, hints=hints, maps=maps, **fields)

    def diagnostics(self) -> dict[str, float]:
        """Return numbers of the agent by name, after the last reward: `alarms` is 1 if that was one."""
        with self._lock:
            return {name: float(value) for name, value in self.agent.diagnostics(self._decider.state).items()}

    def pending(self) -> list[Waiting]:
        """Return the decisions that wait for their rewards and since when, the oldest first."""
        with self._lock:
            entries = self._pending.waiting.items()
            return [Waiting(id, entry.name or entry.choice.arm, entry.time) for id, entry in entries]

    def decide(
        self,
        features: Any,
        *,
        id: str | int | None = None,
        arm: int | None = None,
        time: Timestamp | None = None,
        names: Sequence[str] | None = None,
    ) -> Decision:
        """Choose one of the arms `[num_arms, dim]`; a caller-supplied `id` must be unique.

        The `time` is in seconds since 1970 or a `datetime`; the default is now. Where the choice was made
        elsewhere, in a log or by a person, `arm` is the one that was taken; the probabilities are the agent's
        all the same. With `names` of the arms, the decision waits under the name of the one that was taken.
        """
        with self._lock:
            if id is not None:
                id = self._pending.require_new(id)
            moment = clock.time() if time is None else to_timestamp("time", time)
            offer = limits.run_silently(self._offer, features, moment, self._pending.sums)
            num_arms, self._offered = len(offer.arms), offer.arms.copy()
            if names is not None and len(names) != num_arms:
                raise ArgumentError("names", f"be one for each of {num_arms} arms", names, f"{len(names)}")
            if self.settings.epsilon:
                offer = offer.with_floor(self.settings.epsilon)
            if arm is not None:
                arm = int(require_number("arm", arm, at_least=0, at_most=num_arms - 1, integer=True))
            elif (arm := offer.sure) is None:
                arm = self._decider.draws.arm(offer.policy, self._num_rounds)
            choice, chances = offer.choice(arm), offer.chances
            name = None if names is None else as_id(names[arm], "names")
            self._decider.expect(choice)
            id = self._pending.add(choice, id, moment, name)
            self._num_rounds += 1
        return Decision(arm, id, choice.value, choice.bonus, chances.item(arm), chances, offer.scores, moment)

    def learn(self, id: str | int, reward: float, *, strict: bool = True) -> Outcome:
        """Learn the one reward of a decision.

        If the decision does not wait for it, a `strict` call raises a `ValueError`; others, for messages that
        may be delivered twice, return the reason: `repeated`, `expired` or `unknown`.
        """
        id, reward = as_id(id), limits.require_reward(reward)
        with self._lock:
            entry = self._pending.get(id)
            if not isinstance(entry, Entry):
                self._pending.find("id", [id], strict=strict)  # which raises the error
                return entry
            reward = self._observe(entry.choice, self._range.clip(reward, self._gauge))
            limits.run_silently(self._decider.learn, entry.choice, reward, entry.time)
            self._pending.remove([id], Outcome.REPEATED)
            return Outcome.LEARNT

    def learn_many(self, ids: Any, rewards: Any, *, strict: bool = True) -> list[Outcome]:
        """Learn the rewards of many decisions that came together, and return the outcome of each.

        Linear adaptive bandits learn them in one update, or in parts where they are more than 256: each is
        forecast from what was known before all of them, and is a tick of forgetting in the order of
        decisions. Other algorithms, and all that forget by the clock, learn them one after another, in this
        order. `strict` is as in `learn`. Where any argument is wrong, nothing is learnt.
        """
        ids, rewards = as_batch(ids, rewards)
        with self._lock:
            found = self._pending.find("ids", ids, strict=strict)
            batch = dict[str, tuple[Entry, float]]()
            for id, entry, reward in zip(ids, found, rewards, strict=True):
                if isinstance(entry, Entry):
                    batch[id] = entry, self._range.clip(reward, self._gauge)
            entries = sorted(batch.values(), key=lambda pair: pair[0].number)
            choices, times = [entry.choice for entry, _ in entries], [entry.time for entry, _ in entries]
            learnt = [self._observe(entry.choice, reward) for entry, reward in entries]
            limits.run_silently(self._decider.learn_many, choices, learnt, times)
            self._pending.remove(batch, Outcome.REPEATED)
            return [Outcome.LEARNT if isinstance(entry, Entry) else entry for entry in found]

    def learn_from(self, features: Any, reward: Any, *, weight: Any = 1.0, time: Any = None) -> None:
        """Learn the reward of features `[dim]` that were chosen elsewhere, or of many: `[n, dim]` and `[n]`.

        No decision is counted. A reward of `weight` w, one for all or `[n]`, is the mean of w rewards that
        came at once, in one step of forgetting; at 0 nothing happens. Only least squares, likelihoods through
        a link, and mixtures of them have weights, and only agents that forget by the clock a `time`, one for
        all or `[n]`.
        """
        samples = limits.require_samples(features, reward, weight, time, self._dim)
        with np.errstate(all="ignore"), self._lock:
            rewards = self._rewards(samples, timed=time is not None)
            weights, moments = samples.weights.tolist(), samples.times.tolist()
            for row, reward, weight, moment in zip(samples.features, rewards, weights, moments, strict=True):
                if weight:
                    choice = self._decider.offer(row[None], self._num_rounds, moment).choice(0)
                    self._decider.learn(choice, self._observe(choice, reward), moment, weight)
                    self._num_rounds += 1

    def scores(self, features: Any, *, time: Timestamp | None = None) -> np.ndarray:
        """Return indices `[num_arms]` of arms `[num_arms, dim]` in the next decision. Nothing is decided."""
        with self._lock:
            sums = None if self._pending.sums is None else self._pending.sums.copy()
            return limits.run_silently(self._offer, features, to_timestamp("time", time), sums).scores

    def top(self, features: Any, k: int, *, time: Timestamp | None = None) -> list[int]:
        """Return the `k` arms of the highest scores, the best first. Nothing is decided."""
        return limits.best_of(self.scores(features, time=time), k)

    def renew(self, coordinates: Any, *, name: str | None = None) -> int:
        """Reset the weights of some coordinates of the features, as for a new arm in the place of another.

        The others stay as they are, and as certain. Waiting decisions whose features are not 0 at these
        coordinates expire, and those that wait under the `name` of the arm that goes; their number is
        returned. If the sums of the algorithm do not allow it, that is a `ValueError`.
        """
        block = require_coordinates(coordinates, self._dim)
        with np.errstate(all="ignore"), self._lock:
            self._decider.state = renew_state(self._decider.state, block, self.agent)
            gone = []
            for id, entry in self._pending.waiting.items():
                if (name is not None and entry.name == name) or entry.choice.features[block].any():
                    gone.append(id)
                else:
                    self._decider.expect(entry.choice)
            self._pending.remove(gone, Outcome.EXPIRED)
            return len(gone)

    def _offer(self, features: Any, moment: float, sums: WaitingSums | None) -> Offer:
        """Return the offer of the next round."""
        arms = limits.require_decision_arms(features, self._dim)
        waiting = None if sums is None else sums.gram(self._pending.num_decisions)
        return self._decider.offer(arms, self._num_rounds, moment, waiting)

    def _observe(self, choice: Choice, reward: float) -> float:
        """Return the reward to learn for a choice, clipped if it is an outlier; the gauge has its error."""
        predicted = choice.value - choice.bonus
        reward = self._range.clip_outlier(reward, predicted, self._gauge)
        self._gauge.observe(reward - predicted, choice.bonus)
        return reward

    def _rewards(self, samples: limits.Samples, *, timed: bool) -> list[float]:
        """Return the rewards of samples as they are learnt; raise an error if they cannot be."""
        if (samples.weights != 1).any() and not self.agent.takes_counts:
            raise ArgumentError("weight", f"be 1 for {self.algorithm}, which has no weights", samples.weights)
        if timed and not uses_clock(self.agent):
            expected = f"be left out for {self.algorithm}, which counts rewards"
            raise ArgumentError("time", expected, samples.times, "some")
        return [self._range.clip(reward, self._gauge) for reward in samples.rewards.tolist()]

    def _content(self) -> agent_files.AgentFile:
        return bandit_content(self, _KIND)

    @classmethod
    def _restore(cls, file: agent_files.AgentFile) -> Self:
        restore_bandit(bandit := object.__new__(cls), file)
        return bandit


agent_files.LOADERS[_KIND] = Bandit.from_file
