"""A bandit that meets one decision set at a time."""

from __future__ import annotations

import copy
import math
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from driftwise.algorithms import build
from driftwise.algorithms.registry import lookup
from driftwise.base.part import require_single
from driftwise.base.times import Duration, Moment, moment_of
from driftwise.base.types import Spec
from driftwise.base.validation import ArgumentError, require_count, require_number
from driftwise.online import files
from driftwise.online.bandits import saving
from driftwise.online.bandits.clocked import uses_clock
from driftwise.online.bandits.deciders import Offer
from driftwise.online.bandits.decision import Decision
from driftwise.online.bandits.fastest import decider_of
from driftwise.online.bandits.forking import survives_forks
from driftwise.online.bandits.pending import Entry, Outcome, Pending, Waiting, as_id
from driftwise.online.bandits.renewal import coordinates_of, renewed
from driftwise.online.bandits.samples import Samples, arms_of, samples_of, takes_weights
from driftwise.online.bandits.settings import BanditSettings
from driftwise.online.limits import require_reward, silently, within_memory
from driftwise.online.rewards import RewardRange
from driftwise.online.summary import Gauge, Summary, watched

KIND = "bandit"  # in files


class Bandit:
    """An agent of `driftwise.algorithms` behind a stream of decision sets, which may change in size.

    Unless it is named, it is `adaptive_lin_ucb`, which is told neither how fast to forget nor how large the
    noise is.

    ```python
    bandit = Bandit(dim=10)
    decision = bandit.decide(features)  # [num_arms, dim]
    bandit.learn(decision.id, reward=0.7)
    ```

    Its draws are those of run 0 of a simulation with the same seed, so that both give the same numbers when
    they meet the same arms and rewards. Rewards may come late, in any order, or never. Agents count time in
    rewards; `clock_lin_ucb` counts seconds, and a reward then has the time of its decision. Of the decisions
    that wait, the oldest expires when they are more than `max_pending`, or when more than `expire_after`
    others were made since, or one more than `expire_after_seconds` later; its reward is then refused.

    An id is never given twice, whatever was lost in a crash; or `decide` is told the caller's own. `metadata`
    is the caller's too: a dictionary of plain values, such as how far a log was read, saved with the agent.

    With probability `epsilon` any of the arms is taken instead, so that none has a probability below
    `epsilon/num_arms`; an algorithm with an `epsilon` of its own is given it. Agents that draw what they
    decide by, as Thompson sampling does, draw `num_draws` times and take an arm by its share of wins.

    A reward outside `reward_range`, say in a wrong unit, is refused, so that its decision waits on, or
    clipped, as `outside` says; both are counted in the summary. Algorithms for clicks and counts have a range
    of their own. Where no range is known, `outside="clip"` clips outliers: rewards that are farther from
    their prediction than ten standard deviations of such errors.

    Any number of threads may use one bandit, and a process that forks: its child goes on from between two
    calls. A mistake in the arguments is a `ValueError`, changing nothing.
    `decide` raises a `FloatingPointError` where no finite number supports a decision, and is likely to do so
    again: take the last file that was saved, or a new agent with a larger `ridge` or a smaller radius.
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
        if epsilon is not None and lookup(algorithm).takes("epsilon"):
            parameters["epsilon"], epsilon = epsilon, None
        agent = build(Spec.bandit(dim=dim, num_arms=1), algorithm, **parameters)
        require_single(agent)
        settings = BanditSettings(
            algorithm=algorithm,
            agent=agent,
            seed=seed,
            max_pending=max_pending,
            expire_after=expire_after,
            expire_after_seconds=expire_after_seconds,
            epsilon=epsilon or 0.0,
            num_draws=num_draws,
            reward_range=reward_range,
            outside=outside,
        )
        self._start(settings, {} if metadata is None else metadata)

    def _start(self, settings: BanditSettings, metadata: Mapping[str, Any]) -> None:
        self.settings, self.algorithm, self.agent = settings, settings.algorithm, settings.agent
        self.metadata = files.require_plain("metadata", metadata)
        self._pending = Pending(settings.max_pending, settings.expire_after, settings.expire_after_seconds)
        with within_memory(self.agent):
            self._decider = decider_of(self.agent, settings.seed, settings.num_draws)
        self._dim = self.agent.spec.dim
        self._range = RewardRange(settings.reward_range or self.agent.reward_range, settings.outside)
        self._gauge, self._seen, self._num_samples = Gauge(), None, 0
        self._lock, self._writing = threading.RLock(), threading.Lock()
        survives_forks(self)

    def _begin_in_child(self) -> None:
        self._writing = threading.Lock()  # the thread that may hold the old one is not here
        self._pending.begin_life()  # its parent goes on with the old one

    def __repr__(self) -> str:
        with self._lock:
            made, waiting = self._pending.num_made, len(self._pending.waiting)
        return f"Bandit({self.algorithm!r}, dim={self._dim}, {made} decisions, {waiting} of them pending)"

    @property
    def state(self) -> Any:
        """A copy of the agent's state."""
        with self._lock:
            return copy.deepcopy(self._decider.state)

    def summary(self) -> Summary:
        """Numbers to watch: how much is known, how good predictions are, and whether the world drifts."""
        with self._lock:
            decisions, expired = self._pending.num_made, self._pending.num_expired
            pending = len(self._pending.waiting)
            return Summary(
                decisions=decisions,
                rewards=decisions - expired - pending,
                pending=pending,
                expired=expired,
                samples=self._num_samples,
                outside=int(self._gauge.outside),
                **watched(self.agent, self._decider.state, self._gauge, missing=math.nan),
            )

    def diagnostics(self) -> dict[str, float]:
        """Numbers of the agent by name, of the reward last learnt from: 1 in `alarms` if it was one."""
        with self._lock:
            return {name: float(value) for name, value in self.agent.diagnostics(self._decider.state).items()}

    def pending(self) -> list[Waiting]:
        """Decisions that wait for their rewards and since when, the oldest first."""
        with self._lock:
            return self._pending.listed()

    def decide(
        self,
        features: Any,
        *,
        id: str | int | None = None,
        arm: int | None = None,
        time: Moment | None = None,
        names: Sequence[str] | None = None,
    ) -> Decision:
        """Choose one of the arms `[num_arms, dim]`; an `id` of the caller's own is of no other decision.

        The `time` is in seconds since 1970 or a `datetime`, now unless given.

        If somebody else has chosen already, a log that is replayed or a person who overrules the agent, it
        is told the `arm` that was taken; the probabilities are the agent's all the same. With `names` of the
        arms, the decision waits under the name of the one that was taken.
        """
        with self._lock:
            if id is not None:
                id = self._pending.require_new(id)
            moment = moment_of("time", time)
            offer = silently(self._offer, features, moment)
            if names is not None and len(names) != (num_arms := len(offer.arms)):
                raise ArgumentError("names", f"be those of the {num_arms} arms", names, f"{len(names)}")
            if self.settings.epsilon:
                offer = offer.with_floor(self.settings.epsilon)
            if arm is not None:
                most = len(offer.arms) - 1
                arm = int(require_number("arm", arm, at_least=0, at_most=most, integer=True))
            elif (arm := offer.sure) is None:
                arm = self._decider.draws.arm(offer.policy, self._round)
            choice = self._decider.choice(offer, arm)
            name = None if names is None else as_id(names[arm], "names")
            id, chances = self._pending.add(choice, id, moment, name), offer.chances
        _, index, bonus, _, _ = choice
        return Decision(arm, id, index, bonus, chances.item(arm), chances, offer.scores, moment)

    def learn(self, id: str | int, reward: float, *, strict: bool = True) -> Outcome:
        """Take in the reward of a decision; each decision has one.

        If it does not wait for one, a `strict` call raises a `ValueError`. Any other returns why, as
        messages that are delivered twice are nobody's mistake: `repeated`, `expired` or `unknown`.
        """
        id, reward = as_id(id), require_reward(reward)
        with self._lock:
            found = self._pending.get(id)
            if not isinstance(found, Entry):
                if strict:
                    raise self._pending.refused(id, found)
                return found
            choice, reward = found.choice, self._range.taken(reward, self._gauge)
            predicted = choice.value - choice.bonus
            reward = self._range.near(reward, predicted, self._gauge)
            silently(self._decider.learn, choice, reward, found.time)
            self._pending.rewarded(id)
            self._gauge.observe(reward - predicted, choice.bonus)
            return Outcome.LEARNT

    def learn_from(self, features: Any, reward: Any, *, weight: Any = 1.0, time: Any = None) -> None:
        """Take in the reward of features `[dim]` that somebody else chose, or of many: `[n, dim]` and `[n]`.

        It is as if an arm with these features had been the only one and had been rewarded; no decision is
        counted. A reward of `weight` w, one for all or `[n]`, is the mean of w rewards that came at once: all
        sums are those of w rewards, in one step of forgetting. At weight 0 nothing happens. Only least
        squares, likelihoods through a link, and mixtures of them have weights. The `time` is one for all or
        `[n]`, now unless given; only agents that forget by the clock have times.
        """
        samples = samples_of(features, reward, weight, time, self._dim)
        with np.errstate(all="ignore"), self._lock:
            earnings = self._earnings(samples, timed=time is not None)
            weights, moments = samples.weights.tolist(), samples.times.tolist()
            for row, earned, weight, moment in zip(samples.features, earnings, weights, moments, strict=True):
                if not weight:
                    continue
                choice = self._decider.choice(self._decider.offer(row[None], self._round, moment), 0)
                predicted = choice.value - choice.bonus
                earned = self._range.near(earned, predicted, self._gauge)
                self._decider.learn(choice, earned, moment, weight)
                self._gauge.observe(earned - predicted, choice.bonus)
                self._num_samples += 1

    def scores(self, features: Any, *, time: Moment | None = None) -> np.ndarray:
        """Indices of the arms `[num_arms, dim]` in the next decision: `[num_arms]`. Nothing is decided."""
        with self._lock:
            return silently(self._offer, features, moment_of("time", time)).scores

    def top(self, features: Any, k: int, *, time: Moment | None = None) -> list[int]:
        """The `k` arms of the highest scores, the best first. Nothing is decided."""
        scores = self.scores(features, time=time)
        if require_count("k", k) > len(scores):
            raise ArgumentError("k", f"be at most the {len(scores)} arms that there are", k)
        return np.argsort(-scores, kind="stable")[:k].tolist()

    def renew(self, coordinates: Any, *, name: str | None = None) -> int:
        """Let the weights of some coordinates of the features begin anew, as for an arm that takes a place.

        The other weights stay as they are, and as sure as they are. Waiting decisions whose features are not
        0 at these coordinates expire, since their rewards would teach what is no more, and so do those that
        wait under the `name` of the arm that goes; their number is returned. An algorithm whose sums do not
        allow it is a `ValueError`.
        """
        block = coordinates_of(coordinates, self._dim)
        with np.errstate(all="ignore"), self._lock:
            self._decider.state = renewed(self._decider.state, block)
            waiting = self._pending.waiting.items()
            gone = [
                id
                for id, entry in waiting
                if (name is not None and entry.name == name) or entry.choice.features[block].any()
            ]
            for id in gone:
                self._pending.expire(id)
        return len(gone)

    def _offer(self, features: Any, moment: float) -> Offer:
        """The offer of the next round."""
        return self._decider.offer(arms_of(features, self._dim), self._round, moment)

    @property
    def _round(self) -> int:
        """Number of the next round: decisions and samples have draws of their own."""
        return self._pending.num_made + self._num_samples

    def _earnings(self, samples: Samples, *, timed: bool) -> list[float]:
        """Rewards of samples as they are learnt from, or the error of those that cannot be."""
        if (samples.weights != 1).any() and not takes_weights(self.agent):
            raise ArgumentError("weight", f"be 1 for {self.algorithm}, which has no weights", samples.weights)
        if timed and not uses_clock(self.agent):
            expected = f"be left out for {self.algorithm}, which counts rewards"
            raise ArgumentError("time", expected, samples.times, "some")
        return [self._range.taken(each, self._gauge) for each in samples.rewards.tolist()]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to go on; the file at `path` is replaced at once, or stays as it was.

        A `FileExistsError` if somebody else has replaced it since this bandit loaded or saved it.
        """
        with self._writing:  # no older state replaces a newer one, and nobody else waits for the disk
            self._seen = files.write(path, saving.content_of(self, KIND))

    def to_bytes(self) -> bytes:
        """The content of its file, say for a database; `pickle` and `copy.deepcopy` take it too."""
        with self._writing:
            content = saving.content_of(self, KIND)
        return files.to_bytes(content)

    @classmethod
    def from_bytes(cls, content: bytes) -> Bandit:
        """The bandit of `to_bytes`."""
        return files.require_own(cls, files.from_bytes(content), "content")

    def __reduce__(self) -> tuple[Any, ...]:
        return Bandit.from_bytes, (self.to_bytes(),)

    @classmethod
    def restored(cls, file: files.AgentFile, features: None = None) -> Bandit:
        """The bandit of a file; it has no features of its own."""
        if features is not None:
            raise ArgumentError("features", f"be left out for a {KIND}", features)
        bandit = object.__new__(cls)
        saving.restore(bandit, file)
        return bandit


files.LOADERS[KIND] = Bandit.restored
