"""Settings of bandits, and their files: all numbers, with the waiting decisions, as tensors."""

import json
import os
import time as clock
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np

from driftwise.algorithms.unknown_variation.mixture import MixtureState
from driftwise.base import ArgumentError
from driftwise.base.agent import Agent
from driftwise.base.knowledge import name_needs
from driftwise.base.part import choice, count, from_config, member, record, scalar, to_config
from driftwise.base.times import LATEST_TIMESTAMP, to_seconds
from driftwise.base.validation import (
    require_array,
    require_count,
    require_instance,
    require_number,
    require_plain,
)
from driftwise.online import agent_files, tensors
from driftwise.online.deciders.clock_decider import clock_of, uses_clock
from driftwise.online.deciders.definition import Choice
from driftwise.online.decisions import Entry, Outcome, PendingDecisions, as_id
from driftwise.online.limits import require_reward_range, require_within
from driftwise.online.summary import Gauge
from driftwise.online.tensors import Tensors, require_sound

if TYPE_CHECKING:
    from driftwise.online.bandit import Bandit

_T = TypeVar("_T")
_AT_ONCE = 500  # decisions that are copied before other threads may run


@record
class BanditSettings:
    """All settings of a bandit but its metadata, which is the caller's."""

    algorithm: str
    agent: Agent = member(Agent)
    seed: int = count(at_least=0, bits=64)
    max_pending: int = count(bits=64)
    expire_after: int | None
    expire_after_seconds: Any  # a duration; kept in seconds
    epsilon: float = scalar(at_least=0, at_most=1)
    num_draws: int = count(bits=16)
    reward_range: Sequence[float] | None
    outside: Literal["refuse", "clip"] = choice("refuse", "clip", default="refuse")

    def __post_init__(self) -> None:
        algorithm, agent = require_instance("algorithm", self.algorithm, str), self.agent
        if agent.needs:
            needed = f"{algorithm!r}, which needs {name_needs(agent.needs)}"
            raise ArgumentError("algorithm", "learn from its own rewards alone", algorithm, needed)
        if not agent.sees_arms:
            got = f"{algorithm!r}, which does not"
            raise ArgumentError("algorithm", "know arms by their features", algorithm, got)
        if uses_clock(agent) and clock_of(agent) is None:
            got = f"{algorithm!r}, which has the clock within"
            raise ArgumentError("algorithm", "forget by the clock itself", algorithm, got)
        if self.expire_after is not None:
            require_count("expire_after", self.expire_after)
        if self.expire_after_seconds is not None:
            seconds = to_seconds("expire_after_seconds", self.expire_after_seconds)
            object.__setattr__(self, "expire_after_seconds", require_number("expire_after_seconds", seconds))
        if self.reward_range is not None:
            object.__setattr__(self, "reward_range", require_reward_range(self.reward_range))


class SavedBandit(ABC):
    """Files of `Bandit` and of `NamedBandit`."""

    @property
    def _inner(self) -> Any:
        """The bandit whose numbers are saved."""
        return self

    @abstractmethod
    def _content(self) -> agent_files.AgentFile:
        """Return all that is needed to go on; the caller holds `_writing`."""

    @classmethod
    @abstractmethod
    def _restore(cls, file: agent_files.AgentFile) -> Self:
        """Return the bandit of a file."""

    @classmethod
    def from_file(cls, file: agent_files.AgentFile, features: None = None) -> Self:
        """Return the bandit of a file, which has all but what its caller keeps."""
        if features is not None:
            raise ArgumentError("features", f"be left out for a {file.description['kind']}", features)
        return cls._restore(file)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is needed to go on; the file at `path` is replaced at once, or stays as it was.

        A `FileExistsError` if another program has replaced it since this bandit loaded or saved it.
        """
        with self._inner._writing:  # no older state replaces a newer one; decisions do not wait for the disk
            self._inner._seen = agent_files.write_agent_file(path, self._content())

    def to_bytes(self) -> bytes:
        """Return the content of its file, say for a database; `pickle` and `copy.deepcopy` use it too."""
        with self._inner._writing:
            return agent_files.to_bytes(self._content())

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the bandit of `to_bytes`."""
        return agent_files.require_own(cls, agent_files.from_bytes(content), "content")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)


def bandit_content(bandit: "Bandit", kind: str, more: Callable[[], Tensors] = dict) -> agent_files.AgentFile:
    """Return all that is needed to go on, with `more` tensors of one moment; the caller holds `_writing`."""
    metadata = require_plain("metadata", bandit.metadata)
    description = to_config(bandit.settings) | {"kind": kind, "metadata": metadata}
    del description["type"]
    with bandit._lock:
        state = tensors.to_tensors("state", bandit._decider.state)
        gauge, pending = bandit._gauge.to_array(), bandit._pending.freeze()
        others = {"gauge": gauge, "samples": np.array(bandit._num_rounds - pending.num_decisions), **more()}
        if pending.sums is not None:
            others |= pending.sums.to_tensors()
    try:
        stored = {**state, **others, **pending_tensors(pending)}
    finally:
        with bandit._lock:
            bandit._pending.thaw()
    return agent_files.AgentFile(description, stored, bandit._seen)


def restore_bandit(bandit: "Bandit", file: agent_files.AgentFile) -> None:
    """Initialise an empty bandit from the content of a file."""
    given, stored = dict(file.description), file.tensors
    del given["kind"]
    metadata, agent = given.pop("metadata"), require_instance("agent", from_config(given.pop("agent")), Agent)
    tensors.require_numbers(stored, agent)
    bandit._start(BanditSettings(agent=agent, **given), metadata)
    like = bandit._decider.offer(np.zeros((1, bandit._dim)), 0).choice(0)
    pending = bandit._pending
    restore_pending(pending, stored, like)
    if pending.sums is not None:
        rows = ((id, entry.number, entry.choice.features) for id, entry in pending.waiting.items())
        pending.sums.restore(stored, rows)
    state = tensors.from_tensors("state", bandit._decider.state, stored)
    if uses_clock(agent):
        moments = state.base if isinstance(state, MixtureState) else state
        require_within("state: the clock", moments.memory, LATEST_TIMESTAMP)
    bandit._decider.state = state
    for entry in pending.waiting.values():
        bandit._decider.expect(entry.choice)
    num_samples = tensors.with_leaves(0, [("samples", require_sound("samples", stored["samples"]))])
    bandit._num_rounds = int(num_samples) + bandit._pending.num_decisions
    bandit._gauge, bandit._seen = Gauge.from_array(stored["gauge"]), file.seen


def pending_tensors(frozen: PendingDecisions) -> Tensors:
    """Return all waiting decisions, and the outcomes of others, as arrays."""
    num, entries = len(frozen.waiting), frozen.waiting.values()  # a list would take long to be freed
    first = next(iter(entries)).choice if num else None
    dim = 0 if first is None else len(first.features)
    stored = {
        "pending.counts": np.array([frozen.num_decisions, frozen.num_expired]),
        "pending.gone": _text(frozen.finished),
        "pending.expired": _text(id for id, outcome in frozen.finished.items() if outcome is Outcome.EXPIRED),
        "pending.ids": _text(frozen.waiting),
        "pending.rounds": np.fromiter((entry.number for entry in _slowly(entries)), np.int64, num),
        "pending.times": _rows((entry[2:4] for entry in _slowly(entries)), num, 2),
        "pending.names": _text(entry.name for entry in entries),
        "pending.latest": np.array(frozen.latest),
        "pending.numbers": _rows((entry.choice[:3] for entry in _slowly(entries)), num, 3),
        "pending.features": _rows((entry.choice.features for entry in _slowly(entries)), num, dim),
    }
    if first is not None and first.planned is not None:
        plans = (tensors.copy_leaves(entry.choice.planned) for entry in _slowly(entries))
        for i, column in enumerate(zip(*plans, strict=True)):
            stored |= tensors.pack(f"plans.{i}", column)
    return stored


def restore_pending(pending: PendingDecisions, stored: Tensors, like: Choice) -> None:
    """Read the decisions of `pending_tensors`; their choices differ from `like` in numbers alone."""
    names = "pending.counts", "pending.rounds"
    counts, rounds = (require_sound(key, stored[key]).astype(np.int64, casting="safe") for key in names)
    pending.num_decisions, pending.num_expired = counts.tolist()
    names = "pending.ids", "pending.gone", "pending.expired"
    ids, finished, expired = (_ids(key, stored, pending.max_pending) for key in names)
    if {*ids} & {*finished} or not {*expired} <= {*finished}:
        raise ArgumentError("pending.gone", "be of ids that expired or were rewarded", finished)
    bounded = np.concatenate([[-1], rounds, [pending.num_decisions]])
    if len(rounds) != len(ids) or not (np.diff(bounded) > 0).all():
        raise ArgumentError("pending.rounds", f"ascend to less than {pending.num_decisions}", rounds)
    if pending.num_expired + len(ids) > pending.num_decisions or len(expired) > pending.num_expired:
        raise ArgumentError("pending.counts", "be at most the number of decisions", pending.num_expired)
    pending.finished.update(zip(finished, repeat(Outcome.REPEATED)))
    pending.finished.update(zip(expired, repeat(Outcome.EXPIRED)))
    times = require_array("pending.times", stored["pending.times"], (len(ids), 2))
    pending.latest = require_array("pending.latest", stored["pending.latest"], ()).item()
    limit, (time, since) = LATEST_TIMESTAMP, times.T
    ascending = (np.diff([-limit, *since, pending.latest, limit]) >= 0).all()
    if not ascending or not ((time >= -limit) & (time <= since)).all():
        raise ArgumentError("pending.times", f"ascend to at most {pending.latest}, within ±{limit:g}", times)
    numbers = require_array("pending.numbers", stored["pending.numbers"].reshape(-1, 3), (len(ids), 3))
    features = stored["pending.features"].reshape(-1, len(like.features))
    features = require_array("pending.features", features, (len(ids), None))
    columns = [f"plans.{i}" for i in range(len(tensors.copy_leaves(like.planned)))] if ids else []
    plans = {key: tensors.unpack(key, stored) for key in columns}
    names = require_instance("pending.names", json.loads(stored["pending.names"].tobytes()), list)
    rows = zip(ids, rounds.tolist(), times.tolist(), names, numbers.tolist(), strict=True)
    for row, (id, number, (time, since), name, (arm, index, bonus)) in enumerate(rows):
        arrays = [(key, column[row]) for key, column in plans.items()]
        num_arms = len(arrays[0][1]) if arrays else 2**53  # features of all arms; or all that a float counts
        require_number("pending.numbers", arm, at_least=0, at_most=num_arms - 1)
        planned = tensors.with_leaves(like.planned, arrays, num_arms=num_arms)
        choice = Choice(int(arm), index, bonus, features[row].copy(), planned)
        name = None if name is None else as_id(require_instance("pending.names", name, str), "pending.names")
        pending.waiting[id] = Entry(choice, number, time, since, name)


def _ids(name: str, stored: Tensors, most: int) -> list[str]:
    given = require_instance(name, json.loads(stored[name].tobytes()), list)
    ids = [as_id(require_instance(name, id, str)) for id in given]
    if len(ids) > min(most, len({*ids})):
        raise ArgumentError(name, f"be at most {most}, all different", ids, f"{len(ids)}")
    return ids


def _slowly(values: Iterable[_T]) -> Iterator[_T]:
    """Yield the values; after every few of them other threads may run."""
    for number, value in enumerate(values):
        if number % _AT_ONCE == 0:
            clock.sleep(0)
        yield value


def _rows(rows: Iterable[Any], num: int, length: int) -> np.ndarray:
    array = np.empty((num, length))
    for number, row in enumerate(rows):
        array[number] = row
    return array


def _text(ids: Iterable[str | None]) -> np.ndarray:
    slowly = _slowly(ids)
    parts = iter(lambda: json.dumps([*islice(slowly, _AT_ONCE)])[1:-1], "")
    return np.frombuffer(f"[{','.join(parts)}]".encode(), dtype=np.uint8)
