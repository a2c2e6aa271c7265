"""Decisions that wait for their rewards, within limits of number and age."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from driftwise.base.validation import ArgumentError, require_array, require_number
from driftwise.online.bandits.deciders import Choice
from driftwise.online.files import Tensors, leaves, pack, require_sound, unpack, with_leaves

LARGEST_ARM = 2**53  # which a float counts


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
        counts, expired, ids = (
            require_sound(name, tensors[name]).astype(np.int64, casting="safe")
            for name in ("pending.counts", "pending.expired", "pending.ids")
        )
        self.num_made, self.num_expired = counts.tolist()
        for name, each in (("pending.expired", expired), ("pending.ids", ids)):
            bounded = np.concatenate([[-1], each, [self.num_made]])
            if len(each) > self.max_pending or not (np.diff(bounded) > 0).all():
                raise ArgumentError(
                    name, f"ascend to less than {self.num_made}", each, f"{len(each)} of them"
                )
        if self.num_expired + len(ids) > self.num_made:
            raise ArgumentError("pending.counts", "not be more than were made", self.num_expired)
        self.expired = OrderedDict.fromkeys(expired.tolist())
        numbers = require_array("pending.numbers", tensors["pending.numbers"].reshape(-1, 3), (len(ids), 3))
        features = tensors["pending.features"].reshape(-1, len(like.features))
        features = require_array("pending.features", features, (len(ids), None))
        columns = [unpack(f"plans.{i}", tensors) for i in range(len(leaves(like.planned)) if len(ids) else 0)]
        for place, (number, (arm, index, bonus)) in enumerate(
            zip(ids.tolist(), numbers.tolist(), strict=True)
        ):
            arrays = [column[place] for column in columns]
            num_arms = len(arrays[0]) if arrays else LARGEST_ARM  # the first are the features of all
            require_number("pending.numbers", arm, at_least=0, at_most=num_arms - 1)
            planned = with_leaves(like.planned, arrays, num_arms=num_arms)
            self.waiting[number] = Choice(int(arm), index, bonus, features[place].copy(), planned)

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
