"""Decisions that wait for their rewards, within limits of number and age."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from driftwise.base.validation import ArgumentError
from driftwise.online.bandits.deciders import Choice
from driftwise.online.files import Tensors, leaves, pack, unpack, with_leaves


class Pending:
    """Waiting decisions by their ids, which count up from 0.

    Beyond `max_pending` of them the oldest expires, and so does each that is older than `expire_after`
    decisions (None: no age is too old). The newest `max_pending` expired ids are known as such.
    """

    def __init__(self, max_pending: int, expire_after: int | None) -> None:
        self.max_pending, self.expire_after = max_pending, expire_after
        self.num_made = 0
        self.num_expired = 0
        # In the order of ids; a plain dict would search past all that was removed for its first.
        self.waiting: OrderedDict[int, Choice] = OrderedDict()
        self.expired: OrderedDict[int, None] = OrderedDict()  # a set in that order

    def add(self, choice: Choice) -> int:
        """Let a decision wait, and give it an id."""
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
        """The decision of an id, which stays until it is deleted from `waiting`."""
        try:
            return self.waiting[number]
        except KeyError:
            found = f"{number}: it {self._fate(number)}"
            raise ArgumentError("id", "be of a decision that waits for its reward", number, found) from None

    def to_tensors(self) -> Tensors:
        """All decisions, in arrays that nobody else writes to."""
        choices = list(self.waiting.values())
        tensors = {
            "pending.counts": np.array([self.num_made, self.num_expired], dtype=np.int64),
            "pending.expired": np.array(list(self.expired), dtype=np.int64),
            "pending.ids": np.array(list(self.waiting), dtype=np.int64),
            "pending.numbers": np.array([each[:3] for each in choices], dtype=np.float64),
            "pending.features": np.array([each.features for each in choices], dtype=np.float64),
        }
        for i, column in enumerate(zip(*(leaves(each.planned) for each in choices), strict=True)):
            tensors |= pack(f"plans.{i}", column)
        return tensors

    def restore(self, tensors: Tensors, like: Choice) -> None:
        """Take over the decisions of `to_tensors`, which are as `like` but for their numbers."""
        self.num_made, self.num_expired = tensors["pending.counts"].tolist()
        self.expired = OrderedDict.fromkeys(tensors["pending.expired"].tolist())
        ids, numbers = tensors["pending.ids"].tolist(), tensors["pending.numbers"].tolist()
        columns = [unpack(f"plans.{i}", tensors) for i in range(len(leaves(like.planned)) if ids else 0)]
        for place, (number, (arm, index, bonus)) in enumerate(zip(ids, numbers, strict=True)):
            planned = with_leaves(like.planned, [column[place] for column in columns])
            features = tensors["pending.features"][place].copy()
            self.waiting[number] = Choice(int(arm), index, bonus, features, planned)

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
