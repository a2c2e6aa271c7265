"""A log of decisions and their rewards: JSON lines, only ever appended to."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from driftwise.base.files import require_regular
from driftwise.base.times import Moment, moment_of
from driftwise.base.validation import ArgumentError, require_array, require_choice, require_number
from driftwise.online.bandits.decision import Decision
from driftwise.online.bandits.pending import as_id
from driftwise.online.limits import LARGEST_FEATURE, require_reward, require_within

SUFFIX = ".jsonl"
T = TypeVar("T")


class Logged(NamedTuple):
    """A decision that was logged."""

    id: str
    time: float  # seconds since 1970
    arms: np.ndarray  # [num_arms, dim]
    arm: int
    probabilities: np.ndarray  # [num_arms]
    reward: float | None  # None while there is none


class Rewarded(NamedTuple):
    """A reward that was logged."""

    id: str
    time: float  # seconds since 1970
    reward: float


class DecisionLog:
    """A file of decisions, with their probabilities, and of rewards, as they come.

    ```python
    log = DecisionLog("decisions.jsonl")
    decision = bandit.decide(arms)
    log.decided(decision, arms=arms)  # {"id": …, "time": …, "arm": 2, "probabilities": […], "arms": [[…], …]}
    log.rewarded(decision.id, 0.7)  # {"id": …, "time": …, "reward": 0.7}
    ```

    A line is written by one call of the system, so that threads and processes may share a file; a call
    returns when the system has the line, and `sync=True` waits for the disk. A kill tears at most the line
    that it interrupts, which readers leave out. `driftwise replay` and `driftwise.online.replay.replay` read
    the file as it is.
    """

    has_propensities = True

    def __init__(self, path: str | os.PathLike[str], *, sync: bool = False) -> None:
        self.path, self._sync = Path(path), sync
        require_choice("the ending of the log's name", self.path.suffix.lower(), (SUFFIX,))
        self._file: int | None = None
        self._lock = threading.Lock()

    def decided(
        self, decision: Decision, *, arms: Any = None, features: Any = None, time: Moment | None = None
    ) -> None:
        """Add a decision.

        Args:
          decision: what a `Bandit` decided.
          arms: `[num_arms, dim]`, what it was decided on; or else
          features: `[p]` of the context, where each arm has weights of its own: `arms` is then
            `np.kron(np.eye(num_arms), features)`.
          time: of the decision, in seconds since 1970 or as a `datetime`; its own unless given.
        """
        number = len(decision.probabilities)
        if (arms is None) == (features is None):
            raise ArgumentError("arms, features", "be given one or the other", arms, "both or none")
        name, value, shape = (
            ("features", features, (None,)) if arms is None else ("arms", arms, (number, None))
        )
        offered = require_within(name, require_array(name, value, shape), LARGEST_FEATURE)
        chosen = {"arm": decision.arm, "probabilities": decision.probabilities.tolist()}
        moment = moment_of("time", decision.time if time is None else time)
        self._append({"id": decision.id, "time": moment, **chosen, name: offered.tolist()})

    def rewarded(self, id: str | int, reward: float, *, time: Moment | None = None) -> None:
        """Add the reward of a decision, now unless a time is given; of several for one, the first counts."""
        rewarded = require_reward(reward)
        self._append({"id": as_id(id), "time": moment_of("time", time), "reward": rewarded})

    def close(self) -> None:
        """Close the file; writing opens it again."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file = None

    def events(self) -> Iterator[Logged | Rewarded]:
        """All decisions, their rewards left out, and all rewards, in the order of the file."""
        for number, line in self._lines():
            yield self._checked(number, _reward_of if "reward" in line else _decision_of, line)

    def decisions(self) -> Iterator[Logged]:
        """All decisions in the order of the file, each with its reward; that takes memory for the rewards."""
        rewards: dict[str, float] = {}
        for number, line in self._lines():
            if "reward" in line:
                rewarded = self._checked(number, _reward_of, line)
                rewards.setdefault(rewarded.id, rewarded.reward)
        seen = set[str]()
        for number, line in self._lines():
            if "reward" not in line:
                logged = self._checked(number, _decision_of, line)
                if logged.id in seen:
                    raise ValueError(f"{self.path}: line {number}: id {logged.id!r} must be of one decision")
                seen.add(logged.id)
                yield logged._replace(reward=rewards.get(logged.id))

    def described(self) -> dict[str, Any]:
        """Plain values that say what is read."""
        return {"log": str(self.path)}

    def changed(self) -> ValueError:
        """The error of a file that is not the same when it is read again."""
        return ValueError(f"{self.path} must stay as it is while it is read, but it has changed")

    def _append(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._lock:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            if os.fstat(self._file).st_size:
                os.lseek(self._file, -1, os.SEEK_END)
                torn = os.read(self._file, 1) != b"\n"  # by a kill or a full disk
                text = b"\n" * torn + text
            if os.write(self._file, text) != len(text):
                raise OSError(f"{self.path}: the disk did not take the whole line")
            if self._sync:
                os.fsync(self._file)

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The numbered lines that are whole."""
        try:
            require_regular(self.path)
            with open(self.path, "rb") as file:
                for number, text in enumerate(file, start=1):
                    try:
                        line = json.loads(text)
                    except ValueError:  # torn
                        continue
                    if isinstance(line, dict):
                        yield number, line
        except OSError as error:
            raise ValueError(f"{self.path} cannot be read: {error.strerror or error}") from None

    def _checked(self, number: int, read: Callable[[dict[str, Any]], T], line: dict[str, Any]) -> T:
        try:
            return read(line)
        except KeyError as error:
            raise ValueError(f"{self.path}: line {number}: {error.args[0]} is missing") from None
        except ValueError as error:
            raise ValueError(f"{self.path}: line {number}: {error}") from None


def _reward_of(line: dict[str, Any]) -> Rewarded:
    return Rewarded(as_id(line["id"]), moment_of("time", line["time"]), require_reward(line["reward"]))


def _decision_of(line: dict[str, Any]) -> Logged:
    chances = require_array("probabilities", line["probabilities"], (None,))
    if not len(chances) or chances.min() < 0 or abs(chances.sum() - 1) > 1e-6:
        raise ArgumentError("probabilities", "be at least 0 and sum to 1", line["probabilities"])
    if "features" in line:
        arms = np.kron(np.eye(len(chances)), require_array("features", line["features"], (None,)))
    else:
        arms = require_array("arms", line["arms"], (len(chances), None))
    arm = require_number("arm", line["arm"], at_least=0, at_most=len(chances) - 1, integer=True)
    if not chances[int(arm)] > 0:
        raise ArgumentError("probabilities", "be above 0 for the arm that was taken", line["probabilities"])
    require_within("arms", arms, LARGEST_FEATURE)
    return Logged(as_id(line["id"]), moment_of("time", line["time"]), arms, int(arm), chances, None)
