"""Options of a replay, and what follows from them and from the number of rows."""

from dataclasses import dataclass
from typing import Literal

from driftwise.base import ArgumentError
from driftwise.base.validation import require_choice, require_count, require_instance, require_number
from driftwise.online.limits import require_reward_range

_MAX_WINDOWS = 10_000  # they are kept


@dataclass(frozen=True)
class Options:
    """Options of a replay.

    Args:
      learn: the rows to learn from: those that are `accepted` as if the agent had acted itself, or `all`.
      clip: the largest weight `ρ`; larger ones are cut to it. That lowers variance and brings a bias.
      reward_range: the lowest and the highest possible reward, for intervals that hold at all times.
      delta: the probability at which an interval may fail.
      memory: rows, 1/(1−η), of the exponentially weighted means; by default a tenth of those estimated on.
      k: how much of the reward model goes into the intervals; it needs the range and all probabilities.
      against: the name of a policy that the others are compared with, besides the logged one.
      assume_random: whether to take shares of actions for propensities, although they depend on something.
      shared: whether actions of a table share the weights of the context, see `ActionEncoding`.
      frozen_after: learn from that many rows, then keep the policies and estimate on the others.
      every: rows of a window; by default a fiftieth of all.
    """

    learn: Literal["accepted", "all"] = "accepted"
    clip: float | None = None
    reward_range: tuple[float, float] | None = None
    delta: float = 0.05
    memory: float | None = None
    k: float = 0.0
    against: str | None = None
    assume_random: bool = False
    shared: bool = False
    frozen_after: int | None = None
    every: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        require_choice("learn", self.learn, ("accepted", "all"))
        if self.reward_range is not None:
            object.__setattr__(self, "reward_range", require_reward_range(self.reward_range))
        if self.clip is not None:
            require_number("clip", self.clip, above=0)
        require_number("delta", self.delta, above=0, at_most=0.5)
        if self.memory is not None:
            require_number("memory", self.memory, at_least=1)
        if require_number("k", self.k, at_least=0) and self.reward_range is None:
            raise ArgumentError("k", "be 0 without a reward_range, as the intervals that it is for", self.k)
        for name in ("assume_random", "shared"):
            require_instance(name, getattr(self, name), bool)
        for name in ("frozen_after", "every"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        require_count("seed", self.seed, at_least=0)


class ReplaySchedule:
    """The lengths of a replay: of its windows, of its memory, and of the rows that it estimates on."""

    def __init__(self, options: Options, rows: int) -> None:
        self.options, self.frozen = options, options.frozen_after or 0
        if self.frozen >= rows:
            expected = f"leave rows of the {rows:,} to estimate on"
            raise ArgumentError("frozen_after", expected, self.frozen, f"{self.frozen:,}")
        self.every = options.every or max(1, rows // 50)
        if rows > _MAX_WINDOWS * self.every:
            expected = f"give at most {_MAX_WINDOWS:,} windows of {rows:,} rows"
            raise ArgumentError("every", expected, self.every)
        self.rows, self.events = rows, rows - self.frozen
        self.memory = options.memory or max(1.0, self.events / 10)
        self.looks = -(-rows // self.every) - self.frozen // self.every  # windows, at whose ends one looks
