"""Decisions as callers get them, and those that wait for their rewards, within limits of number and age."""

import copy
import math
import os
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from numbers import Integral
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from driftwise.base.times import LATEST_TIMESTAMP
from driftwise.base.validation import ArgumentError, require_array
from driftwise.online.deciders.definition import Choice
from driftwise.online.limits import LARGEST_REWARD, as_numbers, require_within
from driftwise.online.waiting import WaitingSums

_LONGEST_ID = 200  # characters
_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(slots=True)  # a frozen one takes five times as long to be made
class Decision:
    """A chosen arm, with its index and probability."""

    arm: int
    id: str  # to be given back with the reward
    index: float  # by which the arm was chosen
    bonus: float  # the part of the index that is exploration
    probability: float  # with which this arm was taken: its propensity
    probabilities: np.ndarray = field(compare=False)  # [num_arms] of all arms, after every mixing
    scores: np.ndarray = field(compare=False)  # [num_arms] the indices of all arms
    time: float = field(compare=False)  # in seconds since 1970


class Outcome(StrEnum):
    """The result of a reward: it was learnt, or the reason why its decision does not wait for one."""

    LEARNT = "learnt"
    REPEATED = "repeated"  # the decision has been rewarded already
    EXPIRED = "expired"
    UNKNOWN = "unknown"  # never made, lost in a crash, or forgotten


class Waiting(NamedTuple):
    """A decision that waits for its reward."""

    id: str
    arm: int | str  # its number in the decision, or its name
    since: float  # Unix time of the decision


class Entry(NamedTuple):
    """A choice that waits."""

    choice: Choice
    number: int  # of its decision
    time: float  # Unix time of its decision, as the caller says
    since: float  # the latest time of any decision until then, from which its age counts
    name: str | None = None  # of the arm, if arms have names


class LayeredDict(MutableMapping[_K, _V]):
    """A dictionary in order of insertion over a frozen one, which another thread can read meanwhile.

    Changes are kept beside it until `merged`. A key may be set only if absent, and deleted only if present.
    """

    def __init__(self, frozen: MutableMapping[_K, _V]) -> None:
        self._frozen, self._removed = frozen, set[_K]()
        self._newer: OrderedDict[_K, _V] = OrderedDict()
        self._rest = iter(frozen)
        self._first = next(self._rest, None)  # of the frozen keys: all before it are removed

    def merged(self) -> MutableMapping[_K, _V]:
        """Return the old dictionary with all changes."""
        for key in self._removed:
            del self._frozen[key]
        self._frozen.update(self._newer)
        return self._frozen

    def __getitem__(self, key: _K) -> _V:
        return (self._newer if key in self._newer or key in self._removed else self._frozen)[key]

    def __setitem__(self, key: _K, value: _V) -> None:
        self._newer[key] = value

    def __delitem__(self, key: _K) -> None:
        if self._newer.pop(key, None) is None:
            self._removed.add(key)

    def __iter__(self) -> Iterator[_K]:
        while self._first in self._removed:
            self._first = next(self._rest, None)
        if self._first is not None:
            yield self._first
            yield from (key for key in self._frozen if key not in self._removed and key != self._first)
        yield from self._newer

    def __len__(self) -> int:
        return len(self._newer) + len(self._frozen) - len(self._removed)


class PendingDecisions:
    """Waiting decisions by their ids, in the order in which they were made.

    An id is the caller's own, or `{prefix}-{number}` with a random prefix, a new one for every bandit that is
    made, loaded, copied or forked. So no id is used twice, whatever was lost between a save and a crash.

    When one is made, the oldest expires beyond `max_pending` of them, and so does any that is older than
    `expire_after` decisions or than `expire_after_seconds`. Seconds count between the latest times that
    decisions had until then: a clock that jumps backwards makes no decision older, and none that comes after
    it. The outcomes of the last `max_pending` decisions that no longer wait are remembered.
    """

    def __init__(self, max_pending: int, *ages: float | None, sums: WaitingSums | None = None) -> None:
        self.max_pending, (self.expire_after, self.expire_after_seconds) = max_pending, ages
        self.sums = sums  # of their features, where the agent counts them
        self._longest = [math.inf if age is None else age for age in ages]
        self.num_decisions = self.num_expired = 0
        self.latest = -LATEST_TIMESTAMP  # time of any decision
        # A plain dict would search past all that was removed for its first.
        self.waiting: MutableMapping[str, Entry] = OrderedDict()
        self.finished: MutableMapping[str, Outcome] = OrderedDict()
        self.change_prefix()

    def change_prefix(self) -> None:
        """Generate ids from now on that no other process and no copy generates."""
        self._prefix = os.urandom(8).hex()

    def require_new(self, id: Any) -> str:
        """Return the caller's id of the next decision as text; one that is in use is an `ArgumentError`."""
        id = as_id(id)
        if (entry := self.get(id)) is not Outcome.UNKNOWN:
            why = "it waits for its reward" if isinstance(entry, Entry) else self.reason(entry)
            raise ArgumentError("id", "be unique", id, f"{id!r}: {why}")
        return id

    def add(self, choice: Choice, id: str | None, time: float, name: str | None = None) -> str:
        """Add a decision and return its id; what is too old or too much expires."""
        number = self.num_decisions
        if id is None:
            id = f"{self._prefix}-{number}"
        if time > self.latest:
            self.latest = time
        self.waiting[id] = Entry(choice, number, time, self.latest, name)
        self.num_decisions += 1
        if self.sums is not None:
            self.sums.add(id, number, choice.features)
        later, seconds = self._longest
        while True:
            first, oldest = next(iter(self.waiting.items()))
            is_old = oldest.number < number - later or oldest.since < self.latest - seconds
            if not is_old and len(self.waiting) <= self.max_pending:
                return id
            self.remove([first], Outcome.EXPIRED)

    def get(self, id: str) -> Entry | Outcome:
        """Return the decision of an id, or the outcome of one that does not wait."""
        return self.waiting.get(id) or self.finished.get(id, Outcome.UNKNOWN)

    def find(self, argument: str, ids: Sequence[str], *, strict: bool) -> list[Entry | Outcome]:
        """Return decisions by their ids, or outcomes of those that do not wait, which `strict` refuses."""
        found = dict[str, Entry | Outcome]()
        entries = list[Entry | Outcome]()
        for id in ids:
            entry = Outcome.REPEATED if isinstance(found.get(id), Entry) else self.get(id)
            entries.append(entry)
            found.setdefault(id, entry)
            if strict and not isinstance(entry, Entry):
                why = "it is there twice" if isinstance(found[id], Entry) else self.reason(entry)
                expected = "be of a decision that waits for its reward"
                raise ArgumentError(argument, expected, id, f"{id!r}: {why}")
        return entries

    def remove(self, ids: Collection[str], outcome: Outcome) -> None:
        """Remove decisions whose rewards were learnt, or would come too late or be of no use."""
        oldest = self.num_decisions
        for id in ids:
            oldest = min(oldest, self.waiting.pop(id).number)
            self.finished[id] = outcome
        if self.sums is not None:
            self.sums.remove(ids, self.num_decisions - oldest if outcome is Outcome.REPEATED else 0)
        self.num_expired += len(ids) * (outcome is Outcome.EXPIRED)
        while len(self.finished) > self.max_pending:
            del self.finished[next(iter(self.finished))]

    def reason(self, outcome: Outcome) -> str:
        """Return why a decision of this outcome does not wait."""
        return {
            Outcome.REPEATED: "it was rewarded already",
            Outcome.EXPIRED: f"it has expired (max_pending={self.max_pending}, "
            f"expire_after={self.expire_after}, expire_after_seconds={self.expire_after_seconds})",
        }.get(outcome, "it was never made here, was lost in a crash, or was forgotten")

    def freeze(self) -> Self:
        """Return the decisions as they are now; they stay so until `thaw`."""
        self.thaw()  # the last thread may not have come to that: a forked child has no other threads
        snapshot = copy.copy(self)
        self.waiting, self.finished = LayeredDict(self.waiting), LayeredDict(self.finished)
        return snapshot

    def thaw(self) -> None:
        """Merge all changes since `freeze`."""
        if isinstance(self.waiting, LayeredDict) and isinstance(self.finished, LayeredDict):
            self.waiting, self.finished = self.waiting.merged(), self.finished.merged()


def as_id(id: Any, argument: str = "id") -> str:
    """Return an id, or a name, as text; integers are written out, so that 7 and "7" are the same."""
    if isinstance(id, str) and 0 < len(id) <= _LONGEST_ID:
        return str(id)
    if isinstance(id, Integral) and not isinstance(id, bool) and -(1 << 63) <= int(id) < 1 << 64:
        return str(int(id))
    expected = f"be an integer of 64 bits or text of 1 to {_LONGEST_ID} characters"
    raise ArgumentError(argument, expected, id)


def as_batch(ids: Any, rewards: Any) -> tuple[list[str], list[float]]:
    """Return the ids of decisions and as many rewards, checked."""
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise ArgumentError("ids", "be those of many decisions, in a list", ids)
    ids = [as_id(id, "ids") for id in ids]
    checked = require_array("rewards", as_numbers(rewards), (len(ids),))
    return ids, (require_within("rewards", checked, LARGEST_REWARD) if ids else checked).tolist()
