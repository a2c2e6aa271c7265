"""Slots for arms by their names: each arm that is known has one."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

import numpy as np

from driftwise.base.part import choice, count, member, record
from driftwise.base.validation import ArgumentError, nearest, require_kind
from driftwise.online.bandits.pending import as_id
from driftwise.online.encoding import Encoder
from driftwise.online.tensors import Tensors, require_sound


@record
class ArmSettings:
    """How arms become features: by weights in a block of their own, by weights that all share, or by both."""

    own: Encoder | None = member(Encoder, default=None)
    shared: Encoder | None = member(Encoder, default=None)
    max_arms: int = count(at_least=0, default=0)
    when_full: Literal["refuse", "retire"] = choice("refuse", "retire", default="refuse")

    def __post_init__(self) -> None:
        if self.own is None and self.shared is None:
            raise ArgumentError("own, shared", "be given, one of them or both", None, "neither")
        if (self.own is None) != (self.max_arms == 0):
            expected = "be 0 without `own`" if self.own is None else "be at least 1 with `own`"
            raise ArgumentError("max_arms", expected, self.max_arms)

    @property
    def num_own(self) -> int:
        """Weights in a block of an arm."""
        return 0 if self.own is None else self.own.dim

    @property
    def num_shared(self) -> int:
        """Weights that all arms share."""
        return 0 if self.shared is None else self.shared.dim

    @property
    def dim(self) -> int:
        """Number of all weights."""
        return self.num_shared + self.max_arms * self.num_own

    def block(self, slot: int) -> np.ndarray:
        """Coordinates of a slot."""
        return self.num_shared + slot * self.num_own + np.arange(self.num_own)


class Slots:
    """The slots of arms, the arm first that has not been used for longest."""

    def __init__(self, num: int) -> None:
        self.num = num
        self.taken: OrderedDict[str, int] = OrderedDict()

    @property
    def free(self) -> list[int]:
        """Slots without an arm."""
        return sorted({*range(self.num)} - {*self.taken.values()})

    def leaving(self, names: Sequence[str], when_full: str) -> list[str]:
        """Arms that have to go before these can be used: those that were not used for longest."""
        new = [name for name in names if name not in self.taken]
        lacking = len(self.taken) + len(new) - self.num
        if lacking <= 0:
            return []
        if len(names) > self.num:
            raise ArgumentError("arms", f"be at most max_arms={self.num}", names, f"{len(names)} of them")
        if when_full == "refuse":
            found = f"{new[0]!r}, which is new: retire one, as {next(iter(self.taken))!r}, unused for longest"
            raise ArgumentError("arms", f"be known where all {self.num} slots are taken", new, found)
        return [name for name in self.taken if name not in {*names}][:lacking]

    def use(self, names: Sequence[str]) -> None:
        """Let arms be the last ones used; new ones take free slots."""
        new = [name for name in names if name not in self.taken]
        if new:
            self.taken.update(zip(new, self.free, strict=False))
        for name in names:
            self.taken.move_to_end(name)

    def look_up(self, names: Sequence[str]) -> list[int]:
        """Slots of arms; those that are not known are looked up in one that is free, where all is new."""
        if any(name not in self.taken for name in names):
            free = self.free
            if not free:
                self.leaving(names, "refuse")  # which says why
            return [self.taken.get(name, free[0]) for name in names]
        return [self.taken[name] for name in names]

    def require(self, name: str) -> int:
        """The slot of an arm that is known."""
        if name not in self.taken:
            raise ArgumentError("arm", "be known", name, f"{name!r}{nearest(name, self.taken)}")
        return self.taken[name]

    def to_tensors(self) -> Tensors:
        """Names and slots as arrays."""
        names = json.dumps([*self.taken]).encode()
        slots = np.array([*self.taken.values()], dtype=np.int64)
        return {"arms.names": np.frombuffer(names, dtype=np.uint8), "arms.slots": slots}

    def restore(self, tensors: Tensors) -> None:
        """Take over what `to_tensors` wrote."""
        names = [
            as_id(require_kind("arms.names", name, str), "arms.names")
            for name in require_kind("arms.names", json.loads(tensors["arms.names"].tobytes()), list)
        ]
        slots = require_sound("arms.slots", tensors["arms.slots"]).astype(np.int64, casting="safe").tolist()
        different = len(names) == len({*names}) == len(slots) == len({*slots})
        if not different or not {*slots} <= {*range(self.num)}:
            raise ArgumentError("arms.slots", f"be a different one of {self.num} for each arm", slots)
        self.taken.update(zip(names, slots, strict=True))
