"""Decisions that wait for their rewards, within limits of number and age."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from numbers import Integral
from typing import Any, NamedTuple

from driftwise.base.times import LATEST
from driftwise.base.validation import ArgumentError
from driftwise.online.bandits.deciders import Choice
from driftwise.online.bandits.layers import Layers

LONGEST_ID = 200  # characters
RANDOM_BYTES = 8  # of a life


class Outcome(StrEnum):
    """Fate of a reward: it was learnt from, or its decision does not wait for one."""

    LEARNT = "learnt"
    REPEATED = "repeated"  # the decision has been rewarded already
    EXPIRED = "expired"
    UNKNOWN = "unknown"  # never made, lost in a crash, or gone for long


class Waiting(NamedTuple):
    """A decision that waits for its reward."""

    id: str
    arm: int | str  # its number among those on offer, or its name
    since: float  # Unix time of the decision


class Entry(NamedTuple):
    """A choice that waits."""

    choice: Choice
    number: int  # of its decision
    time: float  # Unix time of its decision, as the caller says
    since: float  # the latest time of any decision until then, from which its age counts
    name: str | None = None  # of the arm, if arms have names


class Frozen(NamedTuple):
    """Decisions at one moment, which nobody changes."""

    counts: tuple[int, int]  # made, expired
    latest: float
    waiting: Mapping[str, Entry]
    gone: Mapping[str, Outcome]


class Pending:
    """Waiting decisions by their ids, in the order in which they were made.

    An id is the caller's own, or `{life}-{number}`, where the life is random and begins with every bandit
    that is made, loaded, copied or forked. So no id is given twice, whatever was lost between a save and a
    crash.

    Beyond `max_pending` of them the oldest expires, and so does each that is older than `expire_after`
    decisions or than `expire_after_seconds` (None: no age is too old). The fates of the newest `max_pending`
    that are gone are remembered.

    Both ages are looked at when a decision is made. Seconds count between the latest times that decisions
    had until then: a clock that jumps backwards makes nothing older, and nothing that comes after it.
    """

    def __init__(
        self, max_pending: int, expire_after: int | None = None, expire_after_seconds: float | None = None
    ) -> None:
        self.max_pending = max_pending
        self.expire_after, self.expire_after_seconds = expire_after, expire_after_seconds
        self.num_made = 0
        self.num_expired = 0
        self.latest = -LATEST  # time of any decision
        self.waiting: Layers[str, Entry] = Layers()
        self.gone: Layers[str, Outcome] = Layers()
        self.begin_life()

    def begin_life(self) -> None:
        """Give other ids from now on than any other process, or copy, does."""
        self._life = os.urandom(RANDOM_BYTES).hex()

    def require_new(self, id: Any) -> str:
        """The caller's id of the next decision, as text."""
        id = as_id(id)
        if id in self.waiting or id in self.gone:
            why = self._fate(self.gone[id]) if id in self.gone else "it waits for its reward"
            raise ArgumentError("id", "be of no other decision", id, f"{id!r}: {why}")
        return id

    def add(self, choice: Choice, id: str | None, time: float, name: str | None = None) -> str:
        """Let a decision wait, under an id that is new, for an arm that may have a name."""
        number = self.num_made
        if id is None:
            id = f"{self._life}-{number}"
        if time > self.latest:
            self.latest = time
        self.waiting[id] = Entry(choice, number, time, self.latest, name)
        self.num_made += 1
        if len(self.waiting) > self.max_pending:
            self._expire()
        if self.expire_after is not None:
            while self._oldest().number < number - self.expire_after:
                self._expire()
        if self.expire_after_seconds is not None:
            while self._oldest().since < self.latest - self.expire_after_seconds:
                self._expire()
        return id

    def get(self, id: str) -> Entry | Outcome:
        """The decision of an id, which stays until it is rewarded, or the fate of one that does not wait."""
        return self.waiting.get(id) or self.gone.get(id, Outcome.UNKNOWN)

    def rewarded(self, id: str) -> None:
        """Let a decision wait no longer."""
        del self.waiting[id]
        self._remember(id, Outcome.REPEATED)

    def expire(self, id: str) -> None:
        """Let a decision wait no longer, whose reward would be of no use."""
        del self.waiting[id]
        self._remember(id, Outcome.EXPIRED)
        self.num_expired += 1

    def refused(self, id: str, outcome: Outcome) -> ArgumentError:
        """The error of a reward for a decision that does not wait."""
        expected = "be of a decision that waits for its reward"
        return ArgumentError("id", expected, id, f"{id!r}: {self._fate(outcome)}")

    def _fate(self, outcome: Outcome) -> str:
        """What became of a decision that does not wait."""
        return {
            Outcome.REPEATED: "it was rewarded already",
            Outcome.EXPIRED: f"it has expired (max_pending={self.max_pending}, "
            f"expire_after={self.expire_after}, expire_after_seconds={self.expire_after_seconds})",
        }.get(outcome, "it was never made here, was lost in a crash, or is gone for long")

    def listed(self) -> list[Waiting]:
        """All that wait, the oldest first."""
        return [
            Waiting(id, entry.choice.arm if entry.name is None else entry.name, entry.time)
            for id, entry in self.waiting.items()
        ]

    def freeze(self) -> Frozen:
        """These decisions as they are now, until `thaw`."""
        counts = self.num_made, self.num_expired
        return Frozen(counts, self.latest, self.waiting.freeze(), self.gone.freeze())

    def thaw(self) -> None:
        """Let what is frozen follow what has happened since."""
        self.waiting.thaw()
        self.gone.thaw()

    def _oldest(self) -> Entry:
        return self.waiting[next(iter(self.waiting))]

    def _expire(self) -> None:
        self._remember(self.waiting.pop_oldest(), Outcome.EXPIRED)
        self.num_expired += 1

    def _remember(self, id: str, outcome: Outcome) -> None:
        self.gone[id] = outcome
        if len(self.gone) > self.max_pending:
            self.gone.pop_oldest()


def as_id(id: Any, argument: str = "id") -> str:
    """An id as text, or a name; integers are written out, so that 7 and "7" are the same."""
    if isinstance(id, str) and 0 < len(id) <= LONGEST_ID:
        return str(id)
    if isinstance(id, Integral) and not isinstance(id, bool) and -(1 << 63) <= int(id) < 1 << 64:
        return str(int(id))
    expected = f"be an integer of 64 bits or text of 1 to {LONGEST_ID} characters"
    raise ArgumentError(argument, expected, id)
