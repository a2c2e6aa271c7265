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
from driftwise.base.validation import (
    ArgumentError,
    require_array,
    require_choice,
    require_kind,
    require_number,
)
from driftwise.online.bandits.decision import ArmBlocks, Decision, NamedDecision
from driftwise.online.bandits.forking import survives_forks
from driftwise.online.bandits.pending import as_id
from driftwise.online.limits import LARGEST_FEATURE, require_reward, require_within

SUFFIX = ".jsonl"
MOST_NUMBERS = 10_000_000  # of all arms of a line, which a short line may ask for
T = TypeVar("T")


class Logged(NamedTuple):
    """A decision that was logged."""

    id: str
    time: float  # seconds since 1970
    arms: np.ndarray  # [num_arms, dim]
    arm: int
    probabilities: np.ndarray  # [num_arms]
    reward: float | None  # None while there is none
    names: tuple[str, ...] | None = None  # of the arms, if they have some


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

    A line is written by one call of the system, so that threads and processes may share a file, forked ones
    too; a call returns when the system has the line, and `sync=True` waits for the disk. A kill tears at most
    the line that it interrupts, which readers leave out. `driftwise replay` and
    `driftwise.online.replay.replay` read the file as it is.
    """

    has_propensities = True

    def __init__(self, path: str | os.PathLike[str], *, sync: bool = False) -> None:
        self.path, self._sync = Path(path), sync
        require_choice("the ending of the log's name", self.path.suffix.lower(), (SUFFIX,))
        self._file: int | None = None
        self._lock = threading.RLock()
        survives_forks(self)

    def _begin_in_child(self) -> None:
        """Nothing: parent and child append to one file."""

    def decided(
        self,
        decision: Decision | NamedDecision,
        *,
        arms: Any = None,
        features: Any = None,
        time: Moment | None = None,
    ) -> None:
        """Add a decision.

        Args:
          decision: what a `Bandit` decided; or a `NamedBandit`, whose decisions have their arms with them.
          arms: `[num_arms, dim]`, what it was decided on; or else
          features: `[p]` of the context, where each arm has weights of its own: `arms` is then
            `np.kron(np.eye(num_arms), features)`.
          time: of the decision, in seconds since 1970 or as a `datetime`; its own unless given.
        """
        moment = moment_of("time", decision.time if time is None else time)
        if isinstance(decision, NamedDecision):
            if arms is not None or features is not None:
                raise ArgumentError("arms, features", "be left out where arms have names", arms, "some")
            offered, names = _plain_blocks(decision.blocks), [*decision.probabilities]
            offered, arm = {"names": names, **offered}, names.index(decision.arm)
            chances = [*decision.probabilities.values()]
        else:
            offered, arm = _plain_arms(arms, features, len(decision.probabilities)), decision.arm
            chances = decision.probabilities.tolist()
        self._append({"id": decision.id, "time": moment, "arm": arm, "probabilities": chances, **offered})

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
    arms = _arms_of(line, len(chances))
    arm = require_number("arm", line["arm"], at_least=0, at_most=len(chances) - 1, integer=True)
    if not chances[int(arm)] > 0:
        raise ArgumentError("probabilities", "be above 0 for the arm that was taken", line["probabilities"])
    require_within("arms", arms, LARGEST_FEATURE)
    names = _names_of(line, len(chances)) if "names" in line else None
    return Logged(as_id(line["id"]), moment_of("time", line["time"]), arms, int(arm), chances, None, names)


def _plain_arms(arms: Any, features: Any, number: int) -> dict[str, Any]:
    """Arms as they are logged: rows, or the context of all."""
    if (arms is None) == (features is None):
        raise ArgumentError("arms, features", "be given one or the other", arms, "both or none")
    name, value, shape = ("features", features, (None,)) if arms is None else ("arms", arms, (number, None))
    return {name: require_within(name, require_array(name, value, shape), LARGEST_FEATURE).tolist()}


def _plain_blocks(blocks: ArmBlocks) -> dict[str, Any]:
    """Arms in blocks as they are logged: no zeros of other slots, and one row where all are the same."""
    parts = {"shared": blocks.shared, "own": blocks.own}
    rows = {name: rows for name, rows in parts.items() if rows is not None}
    logged = {name: (each[:1] if (each == each[0]).all() else each).tolist() for name, each in rows.items()}
    return logged if blocks.own is None else logged | {"slots": blocks.slots, "num_slots": blocks.num_slots}


def _arms_of(line: dict[str, Any], number: int) -> np.ndarray:
    """Features `[num_arms, dim]` of logged arms."""
    if "features" in line:
        context = require_array("features", line["features"], (None,))
        _require_few("features", number, number * len(context))
        return np.kron(np.eye(number), context)
    if "own" not in line and "shared" not in line:
        return require_array("arms", line["arms"], (number, None))
    shared, own = (_rows_of(name, line, number) for name in ("shared", "own"))
    if own is None:
        return ArmBlocks(shared, None, [], 0).features
    num_slots = int(require_number("num_slots", line["num_slots"], at_least=1, integer=True))
    _require_few("num_slots", number, num_slots * own.shape[1])
    slots = require_array("slots", line["slots"], (number,)).tolist()
    if not all(slot.is_integer() and 0 <= slot < num_slots for slot in slots) or len({*slots}) < number:
        raise ArgumentError("slots", f"be different ones of {num_slots}", slots)
    return ArmBlocks(shared, own, [int(slot) for slot in slots], num_slots).features


def _rows_of(name: str, line: dict[str, Any], number: int) -> np.ndarray | None:
    if name not in line:
        return None
    rows = require_array(name, line[name], (None, None))
    if len(rows) not in (1, number):
        raise ArgumentError(name, f"be one row or {number} of them", line[name], f"{len(rows)}")
    _require_few(name, number, rows.shape[1])
    return rows.repeat(number // len(rows), axis=0)


def _require_few(name: str, num_arms: int, dim: int) -> None:
    """Refuse what no memory could hold before any is taken."""
    if num_arms * dim > MOST_NUMBERS:
        found = f"{num_arms} arms of {dim} numbers"
        raise ArgumentError(name, f"make at most {MOST_NUMBERS:,} numbers of all arms", num_arms * dim, found)


def _names_of(line: dict[str, Any], number: int) -> tuple[str, ...]:
    names = tuple(as_id(name, "names") for name in require_kind("names", line["names"], list))
    if len({*names}) != number or len(names) != number:
        raise ArgumentError("names", f"be {number} different ones", line["names"])
    return names
