"""Waiting decisions as the tensors of a file."""

from __future__ import annotations

import json
import time as clock
from collections.abc import Iterable, Iterator
from itertools import islice, repeat
from typing import Any, TypeVar

import numpy as np

from driftwise.base.times import LATEST
from driftwise.base.validation import ArgumentError, require_array, require_kind, require_number
from driftwise.online.bandits.deciders import Choice
from driftwise.online.bandits.pending import Entry, Frozen, Outcome, Pending, as_id
from driftwise.online.tensors import Tensors, leaves, pack, require_sound, unpack, with_leaves

T = TypeVar("T")
AT_ONCE = 500  # decisions that are copied before other threads may run
LARGEST_ARM = 2**53  # which a float counts


def to_tensors(frozen: Frozen) -> Tensors:
    """All decisions as arrays."""
    num, entries = len(frozen.waiting), frozen.waiting.values()  # a list would take long to be freed
    first = next(iter(entries)).choice if num else None
    dim = 0 if first is None else len(first.features)
    tensors = {
        "pending.counts": np.array(frozen.counts, dtype=np.int64),
        "pending.gone": _text(frozen.gone),
        "pending.expired": _text(id for id, fate in frozen.gone.items() if fate is Outcome.EXPIRED),
        "pending.ids": _text(frozen.waiting),
        "pending.rounds": np.fromiter((each.number for each in _slowly(entries)), np.int64, num),
        "pending.times": _rows((each[2:4] for each in _slowly(entries)), num, 2),
        "pending.names": _text(each.name for each in entries),
        "pending.latest": np.array(frozen.latest),
        "pending.numbers": _rows((each.choice[:3] for each in _slowly(entries)), num, 3),
        "pending.features": _rows((each.choice.features for each in _slowly(entries)), num, dim),
    }
    if first is not None and first.planned is not None:
        plans = (leaves(each.choice.planned) for each in _slowly(entries))
        for i, column in enumerate(zip(*plans, strict=True)):
            tensors |= pack(f"plans.{i}", column)
    return tensors


def restore(pending: Pending, tensors: Tensors, like: Choice) -> None:
    """Take over the decisions of `to_tensors`, which are as `like` but for their numbers."""
    counts, rounds = (
        require_sound(name, tensors[name]).astype(np.int64, casting="safe")
        for name in ("pending.counts", "pending.rounds")
    )
    pending.num_made, pending.num_expired = counts.tolist()
    ids, gone, expired = (
        _ids(name, tensors, pending.max_pending)
        for name in ("pending.ids", "pending.gone", "pending.expired")
    )
    if {*ids} & {*gone} or not {*expired} <= {*gone}:
        raise ArgumentError("pending.gone", "be of ids that expired or were rewarded", gone)
    bounded = np.concatenate([[-1], rounds, [pending.num_made]])
    if len(rounds) != len(ids) or not (np.diff(bounded) > 0).all():
        raise ArgumentError("pending.rounds", f"ascend to less than {pending.num_made}", rounds)
    if pending.num_expired + len(ids) > pending.num_made or len(expired) > pending.num_expired:
        raise ArgumentError("pending.counts", "not be more than were made", pending.num_expired)
    pending.gone.update(zip(gone, repeat(Outcome.REPEATED)))
    pending.gone.update(zip(expired, repeat(Outcome.EXPIRED)))
    times = require_array("pending.times", tensors["pending.times"], (len(ids), 2))
    pending.latest = require_array("pending.latest", tensors["pending.latest"], ()).item()
    since = np.concatenate([[-LATEST], times[:, 1], [pending.latest, LATEST]])
    if not (np.diff(since) >= 0).all() or not ((times[:, 0] >= -LATEST) & (times[:, 0] <= times[:, 1])).all():
        raise ArgumentError("pending.times", f"ascend to at most {pending.latest}, within ±{LATEST:g}", times)
    numbers = require_array("pending.numbers", tensors["pending.numbers"].reshape(-1, 3), (len(ids), 3))
    features = tensors["pending.features"].reshape(-1, len(like.features))
    features = require_array("pending.features", features, (len(ids), None))
    columns = [unpack(f"plans.{i}", tensors) for i in range(len(leaves(like.planned)) if len(ids) else 0)]
    names = require_kind("pending.names", json.loads(tensors["pending.names"].tobytes()), list)
    told = zip(ids, rounds.tolist(), times.tolist(), names, numbers.tolist(), strict=True)
    for place, (id, number, (time, since), name, (arm, index, bonus)) in enumerate(told):
        arrays = [column[place] for column in columns]
        num_arms = len(arrays[0]) if arrays else LARGEST_ARM  # the first are the features of all
        require_number("pending.numbers", arm, at_least=0, at_most=num_arms - 1)
        planned = with_leaves(like.planned, arrays, num_arms=num_arms)
        choice = Choice(int(arm), index, bonus, features[place].copy(), planned)
        name = None if name is None else as_id(require_kind("pending.names", name, str), "pending.names")
        pending.waiting[id] = Entry(choice, number, time, since, name)


def _ids(name: str, tensors: Tensors, most: int) -> list[str]:
    ids = [
        as_id(require_kind(name, id, str))
        for id in require_kind(name, json.loads(tensors[name].tobytes()), list)
    ]
    if len(ids) > min(most, len({*ids})):
        raise ArgumentError(name, f"be at most {most}, all different", ids, f"{len(ids)}")
    return ids


def _slowly(values: Iterable[T]) -> Iterator[T]:
    """The values; after every few of them other threads may run."""
    for number, value in enumerate(values):
        if number % AT_ONCE == 0:
            clock.sleep(0)
        yield value


def _rows(rows: Iterable[Any], num: int, length: int) -> np.ndarray:
    made = np.empty((num, length))
    for place, row in enumerate(rows):
        made[place] = row
    return made


def _text(ids: Iterable[str | None]) -> np.ndarray:
    slowly = _slowly(ids)
    parts = iter(lambda: json.dumps([*islice(slowly, AT_ONCE)])[1:-1], "")
    return np.frombuffer(f"[{','.join(parts)}]".encode(), dtype=np.uint8)
