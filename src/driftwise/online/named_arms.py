"""Arms by their names: their settings, slots, features and decisions."""

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from driftwise.base.part import choice, count, member, record
from driftwise.base.validation import ArgumentError, require_instance, suggest_name
from driftwise.online.decisions import as_id
from driftwise.online.encoding import Encoder
from driftwise.online.encoding.encoder import ArmBlocks
from driftwise.online.tensors import Tensors, require_sound


@dataclass(frozen=True, slots=True)
class NamedDecision:
    """A chosen arm by its name, with its index and probability."""

    arm: str
    id: str  # to be given back with the reward
    index: float  # by which the arm was chosen
    bonus: float  # the part of the index that is exploration
    probability: float  # with which this arm was taken: its propensity
    probabilities: dict[str, float] = field(compare=False)  # of all arms, after every mixing
    scores: dict[str, float] = field(compare=False)  # the indices of all arms
    time: float = field(compare=False)  # in seconds since 1970
    blocks: ArmBlocks = field(compare=False, repr=False)  # features of all arms


@record
class ArmSettings:
    """Encoders of named arms: for weights in a block of their own, for weights that all share, or both."""

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
    def dim(self) -> int:
        """Number of all weights."""
        num_shared, num_own = self._sizes
        return num_shared + self.max_arms * num_own

    def block(self, slot: int) -> np.ndarray:
        """Return the coordinates of a slot."""
        num_shared, num_own = self._sizes
        return num_shared + slot * num_own + np.arange(num_own)

    @property
    def _sizes(self) -> tuple[int, int]:
        return 0 if self.shared is None else self.shared.dim, 0 if self.own is None else self.own.dim


class ArmSlots:
    """The slots of arms by name, the least recently used arm first; without slots, arms need none."""

    def __init__(self, num: int, when_full: str) -> None:
        self.num, self._when_full = num, when_full
        self.taken: OrderedDict[str, int] = OrderedDict()

    @property
    def free(self) -> list[int]:
        """Slots without an arm."""
        return sorted({*range(self.num)} - {*self.taken.values()})

    def to_retire(self, names: Sequence[str]) -> list[str]:
        """Return the arms that have to retire before these can be used: the least recently used ones."""
        new = [name for name in names if name not in self.taken]
        lacking = len(self.taken) + len(new) - self.num
        if lacking <= 0 or not self.num:
            return []
        if len(names) > self.num or self._when_full == "refuse":
            raise self._full_error(names)
        return [name for name in self.taken if name not in {*names}][:lacking]

    def use(self, names: Sequence[str]) -> None:
        """Mark arms as used last; new ones take free slots."""
        if new := [name for name in names if name not in self.taken]:
            self.taken.update(zip(new, self.free, strict=False))
        for name in names if self.num else ():
            self.taken.move_to_end(name)

    def look_up(self, names: Sequence[str]) -> list[int]:
        """Return the slots of arms; for new ones a free slot, whose weights are as at the start."""
        if all(name in self.taken for name in names):
            return [self.taken[name] for name in names]
        if not self.num:
            return []
        free = self.free
        if not free:
            raise self._full_error(names)
        return [self.taken.get(name, free[0]) for name in names]

    def _full_error(self, names: Sequence[str]) -> ArgumentError:
        if len(names) > self.num:
            return ArgumentError("arms", f"be at most max_arms={self.num}", names, f"{len(names)} of them")
        new = [name for name in names if name not in self.taken]
        got = f"{new[0]!r}, which is new: retire one, such as {next(iter(self.taken))!r}, unused for longest"
        return ArgumentError("arms", f"be known where all {self.num} slots are taken", new, got)

    def require(self, name: str) -> int:
        """Return the slot of a known arm."""
        if name not in self.taken:
            raise ArgumentError("arm", "be known", name, f"{name!r}{suggest_name(name, self.taken)}")
        return self.taken[name]

    def to_tensors(self) -> Tensors:
        """Return names and slots as arrays."""
        names = json.dumps([*self.taken]).encode()
        slots = np.array([*self.taken.values()], dtype=np.int64)
        return {"arms.names": np.frombuffer(names, dtype=np.uint8), "arms.slots": slots}

    def restore(self, tensors: Tensors) -> None:
        """Read the arrays of `to_tensors`."""
        names = require_instance("arms.names", json.loads(tensors["arms.names"].tobytes()), list)
        names = [as_id(require_instance("arms.names", name, str), "arms.names") for name in names]
        slots = require_sound("arms.slots", tensors["arms.slots"]).astype(np.int64, casting="safe").tolist()
        different = len(names) == len({*names}) == len(slots) == len({*slots})
        if not different or not {*slots} <= {*range(self.num)}:
            raise ArgumentError("arms.slots", f"be a different one of {self.num} for each arm", slots)
        self.taken.update(zip(names, slots, strict=True))
