"""Decisions that wait for their rewards, within limits of number and age."""

from __future__ import annotations

from collections import OrderedDict

from driftwise.base.validation import ArgumentError
from driftwise.online.engines import Choice


class Pending:
    """Waiting decisions by their ids, which count up from 0.

    Beyond `max_pending` of them the oldest expires, and so does whatever is older than `expire_after`
    decisions (None: nothing is). Of the expired ids the newest `max_pending` are known as such.
    """

    def __init__(self, max_pending: int, expire_after: int | None) -> None:
        self.max_pending, self.expire_after = max_pending, expire_after
        self.num_made = 0
        self.num_expired = 0
        # In the order of ids; a plain dict would search past all that was removed for its first.
        self.waiting: OrderedDict[int, Choice] = OrderedDict()
        self.expired: OrderedDict[int, None] = OrderedDict()  # a set in that order

    def __len__(self) -> int:
        return len(self.waiting)

    def add(self, choice: Choice) -> int:
        """Its id."""
        number = self.num_made
        self.waiting[number] = choice
        self.num_made += 1
        if len(self.waiting) > self.max_pending:
            self._expire(next(iter(self.waiting)))
        if self.expire_after is not None:
            while self.waiting and (oldest := next(iter(self.waiting))) < number - self.expire_after:
                self._expire(oldest)
        return number

    def get(self, number: int) -> Choice:
        """The decision of an id, which stays until it is removed."""
        try:
            return self.waiting[number]
        except KeyError:
            found = f"{number}: it {self._fate(number)}"
            raise ArgumentError("id", "be of a decision that waits for its reward", number, found) from None

    def remove(self, number: int) -> None:
        """Its reward has come."""
        del self.waiting[number]

    def _expire(self, number: int) -> None:
        del self.waiting[number]
        self.expired[number] = None
        self.num_expired += 1
        if len(self.expired) > self.max_pending:
            self.expired.popitem(last=False)

    def _fate(self, number: int) -> str:
        if number >= self.num_made:
            return "was never made"
        if number in self.expired:
            return f"has expired (max_pending={self.max_pending}, expire_after={self.expire_after})"
        if self.expired and number < next(iter(self.expired)):
            return "was rewarded already, or expired long ago"
        return "was rewarded already"
