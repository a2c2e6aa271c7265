"""A log of decisions and their rewards: JSON lines, only ever appended to."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftwise.base import ArgumentError
from driftwise.base.files import require_regular_file
from driftwise.base.resources import register_for_fork
from driftwise.base.times import Timestamp, to_timestamp
from driftwise.base.validation import require_array, require_choice, require_instance, require_number
from driftwise.online.decisions import Decision, as_id
from driftwise.online.encoding.encoder import ArmBlocks
from driftwise.online.limits import LARGEST_FEATURE, require_reward, require_within
from driftwise.online.named_arms import NamedDecision

SUFFIX = ".jsonl"
_MOST_NUMBERS = 10_000_000  # of all arms of a line, which a short line may ask for


class LoggedDecision(NamedTuple):
    """A decision that was logged."""

    id: str
    time: float  # seconds since 1970
    arms: np.ndarray  # [num_arms, dim]
    arm: int
    probabilities: np.ndarray  # [num_arms]
    reward: float | None  # None before it comes
    names: tuple[str, ...] | None = None  # of the arms, if they have some


class LoggedReward(NamedTuple):
    """A reward that was logged."""

    id: str
    time: float  # seconds since 1970
    reward: float


class DecisionLog:
    """A file of decisions, with their probabilities, and of rewards, in the order of events.

    ```python
    log = DecisionLog("decisions.jsonl")
    decision = bandit.decide(arms)
    log.add_decision(decision, arms=arms)  # {"id": …, "time": …, "arm": 2, "probabilities": […], "arms": […]}
    log.add_reward(decision.id, 0.7)  # {"id": …, "time": …, "reward": 0.7}
    ```

    A line is written by one system call, so that threads and processes may share a file, forked ones too; a
    call returns when the system has the line, and `sync=True` waits for the disk. A kill tears at most the
    line that it interrupts, which readers skip.
    """

    def __init__(self, path: str | os.PathLike[str], *, sync: bool = False) -> None:
        self.path, self._sync = Path(path), sync
        require_choice("the ending of the log's name", self.path.suffix.lower(), (SUFFIX,))
        self._file: int | None = None
        self._lock = threading.RLock()
        register_for_fork(self)

    def _reset_after_fork(self) -> None:
        """Do nothing: parent and child append to one file."""

    def add_decision(
        self,
        decision: Decision | NamedDecision,
        *,
        arms: Any = None,
        features: Any = None,
        time: Timestamp | None = None,
    ) -> None:
        """Add a decision.

        Args:
          decision: the decision of a `Bandit`, with either `arms` or `features`; or of a `NamedBandit`, with
            neither, since it contains its arms.
          arms: `[num_arms, dim]`, the arms of the decision.
          features: `[p]` of the context, where the arms are `np.kron(np.eye(num_arms), features)`.
          time: of the decision, in seconds since 1970 or as a `datetime`; by default its own.
        """
        moment = to_timestamp("time", decision.time if time is None else time)
        if isinstance(decision, NamedDecision):
            if arms is not None or features is not None:
                raise ArgumentError("arms, features", "be left out where arms have names", arms, "some")
            blocks, names = decision.blocks, [*decision.probabilities]
            arm, probabilities, offered = names.index(decision.arm), [*decision.probabilities.values()], {}
            for name, rows in (("shared", blocks.shared), ("own", blocks.own)):
                if rows is not None:  # equal rows once
                    offered[name] = (rows[:1] if (rows == rows[0]).all() else rows).tolist()
            if blocks.own is not None:  # without the zeros of other slots
                offered |= {"slots": blocks.slots, "num_slots": blocks.num_slots}
            offered = {"names": names, **offered}
        else:
            if (arms is None) == (features is None):
                raise ArgumentError("arms, features", "be given one or the other", arms, "both or none")
            arm, probabilities = decision.arm, decision.probabilities.tolist()
            name, value, shape = "arms", arms, (len(probabilities), None)
            if arms is None:
                name, value, shape = "features", features, (None,)
            rows = require_within(name, require_array(name, value, shape), LARGEST_FEATURE)
            offered = {name: rows.tolist()}
        line = {"id": decision.id, "time": moment, "arm": arm, "probabilities": probabilities, **offered}
        self._append(line)

    def add_reward(self, id: str | int, reward: float, *, time: Timestamp | None = None) -> None:
        """Add the reward of a decision, by default at the current time; only its first reward counts."""
        line = {"id": as_id(id), "time": to_timestamp("time", time), "reward": require_reward(reward)}
        self._append(line)

    def close(self) -> None:
        """Close the file; writing opens it again."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
            self._file = None

    def events(self) -> Iterator[LoggedDecision | LoggedReward]:
        """Yield all decisions, without their rewards, and all rewards, in the order of the file."""
        return (event for _, event in self._read(rewards=True, decisions=True))

    def decisions(self) -> Iterator[LoggedDecision]:
        """Yield all decisions in the order of the file with their rewards, which are held in memory."""
        rewards, seen = dict[str, float](), set[str]()
        for _, rewarded in self._read(rewards=True):
            rewards.setdefault(rewarded.id, rewarded.reward)
        for number, logged in self._read(decisions=True):
            if logged.id in seen:
                raise ValueError(f"{self.path}: line {number}: id {logged.id!r} must be unique")
            seen.add(logged.id)
            yield logged._replace(reward=rewards.get(logged.id))

    def describe(self) -> dict[str, Any]:
        """Return the path as plain values."""
        return {"log": str(self.path)}

    def _append(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._lock:
            if self._file is None:
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            if os.fstat(self._file).st_size:
                os.lseek(self._file, -1, os.SEEK_END)
                text = b"\n" * (os.read(self._file, 1) != b"\n") + text  # a kill or a full disk tears lines
            if os.write(self._file, text) != len(text):
                raise OSError(f"{self.path}: the disk did not take the whole line")
            if self._sync:
                os.fsync(self._file)

    def _read(self, *, rewards: bool = False, decisions: bool = False) -> Iterator[tuple[int, Any]]:
        """Yield the rewards or the decisions of complete lines, or both, with the numbers of the lines."""
        try:
            require_regular_file(self.path)
            with open(self.path, "rb") as file:
                for number, text in enumerate(file, start=1):
                    try:
                        line = json.loads(text)
                    except ValueError:  # torn
                        continue
                    if not isinstance(line, dict) or not (rewards if "reward" in line else decisions):
                        continue
                    try:
                        yield number, (_read_reward if "reward" in line else _read_decision)(line)
                    except (KeyError, ValueError) as error:
                        problem = f"{error.args[0]} is missing" if isinstance(error, KeyError) else error
                        raise ValueError(f"{self.path}: line {number}: {problem}") from None
        except OSError as error:
            raise ValueError(f"{self.path} cannot be read: {error.strerror or error}") from None


def _read_reward(line: dict[str, Any]) -> LoggedReward:
    return LoggedReward(as_id(line["id"]), to_timestamp("time", line["time"]), require_reward(line["reward"]))


def _read_decision(line: dict[str, Any]) -> LoggedDecision:
    chances = require_array("probabilities", line["probabilities"], (None,))
    if not (number := len(chances)) or chances.min() < 0 or abs(chances.sum() - 1) > 1e-6:
        raise ArgumentError("probabilities", "be at least 0 and sum to 1", line["probabilities"])
    arms = require_within("arms", _read_arms(line, number), LARGEST_FEATURE)
    arm = int(require_number("arm", line["arm"], at_least=0, at_most=number - 1, integer=True))
    if not chances[arm] > 0:
        raise ArgumentError("probabilities", "be above 0 for the chosen arm", line["probabilities"])
    names = None
    if "names" in line:
        names = tuple(as_id(name, "names") for name in require_instance("names", line["names"], list))
        if len({*names}) != number or len(names) != number:
            raise ArgumentError("names", f"be {number} different ones", line["names"])
    time = to_timestamp("time", line["time"])
    return LoggedDecision(as_id(line["id"]), time, arms, arm, chances, None, names)


def _read_arms(line: dict[str, Any], number: int) -> np.ndarray:
    """Return features `[num_arms, dim]` of logged arms."""
    if "features" in line:
        context = require_array("features", line["features"], (None,))
        _require_few("features", number, number * len(context))
        return np.kron(np.eye(number), context)
    if "own" not in line and "shared" not in line:
        return require_array("arms", line["arms"], (number, None))
    parts = dict[str, np.ndarray | None](shared=None, own=None)
    for name in [key for key in parts if key in line]:
        rows = require_array(name, line[name], (None, None))
        if len(rows) not in (1, number):
            raise ArgumentError(name, f"be one row or {number} of them", line[name], f"{len(rows)}")
        _require_few(name, number, rows.shape[1])
        parts[name] = rows.repeat(number // len(rows), axis=0)
    if (own := parts["own"]) is None:
        return ArmBlocks(**parts, slots=[], num_slots=0).features
    num_slots = int(require_number("num_slots", line["num_slots"], at_least=1, integer=True))
    _require_few("num_slots", number, num_slots * own.shape[1])
    slots = require_array("slots", line["slots"], (number,)).tolist()
    if not all(slot.is_integer() and 0 <= slot < num_slots for slot in slots) or len({*slots}) < number:
        raise ArgumentError("slots", f"be different ones of {num_slots}", slots)
    return ArmBlocks(**parts, slots=[int(slot) for slot in slots], num_slots=num_slots).features


def _require_few(name: str, num_arms: int, dim: int) -> None:
    """Refuse sizes that would not fit into memory, before it is allocated."""
    if num_arms * dim > _MOST_NUMBERS:
        expected = f"make at most {_MOST_NUMBERS:,} numbers of all arms"
        raise ArgumentError(name, expected, num_arms * dim, f"{num_arms} arms of {dim} numbers")
