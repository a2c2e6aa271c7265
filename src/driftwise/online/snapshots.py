"""What a bandit knows as tensors, and back: its state, the decisions that wait, the gauge."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterable, Sequence

import numpy as np

from driftwise.online.engines import Choice, Engine
from driftwise.online.gauge import Gauge
from driftwise.online.pending import Pending
from driftwise.online.persistence import leaves, with_leaves

Tensors = dict[str, np.ndarray]


def taken(engine: Engine, pending: Pending, gauge: Gauge) -> Tensors:
    """All of it, in arrays that nobody else writes to."""
    waiting = list(pending.waiting.values())
    tensors = {
        **{f"state.{i}": leaf for i, leaf in enumerate(leaves(engine.state))},
        "gauge": np.array(dataclasses.astuple(gauge), dtype=np.float64),
        "pending.counts": np.array([pending.num_made, pending.num_expired], dtype=np.int64),
        "pending.expired": np.array(list(pending.expired), dtype=np.int64),
        "pending.ids": np.array(list(pending.waiting), dtype=np.int64),
        "pending.arms": np.array([each.arm for each in waiting], dtype=np.int64),
        "pending.values": np.array([each[1:3] for each in waiting], dtype=np.float64),
        "pending.features": np.array([each.features for each in waiting], dtype=np.float64),
    }
    plans = [leaves(each.planned) for each in waiting]
    for i, column in enumerate(zip(*plans, strict=True)):
        tensors |= _packed(f"plans.{i}", column)
    return tensors


def put_back(tensors: Tensors, engine: Engine, pending: Pending, gauge: Gauge) -> None:
    """Let a bandit that has seen nothing know it."""
    waiting = OrderedDict(_waiting(tensors, engine))
    places = range(len(leaves(engine.state)))
    engine.state = with_leaves(engine.state, [tensors[f"state.{i}"] for i in places])
    pending.num_made, pending.num_expired = tensors["pending.counts"].tolist()
    pending.expired = OrderedDict.fromkeys(tensors["pending.expired"].tolist())
    pending.waiting = waiting
    count, *rest = tensors["gauge"].tolist()
    for field, value in zip(dataclasses.fields(gauge), (int(count), *rest), strict=True):
        setattr(gauge, field.name, value)


def _waiting(tensors: Tensors, engine: Engine) -> Iterable[tuple[int, Choice]]:
    ids, arms, values = (tensors[f"pending.{name}"].tolist() for name in ("ids", "arms", "values"))
    if not ids:
        return
    features = tensors["pending.features"]
    like = engine.choose(np.zeros((1, features.shape[1])), 0).planned
    columns = [_unpacked(f"plans.{i}", tensors) for i in range(len(leaves(like)))]
    for place, number in enumerate(ids):
        planned = with_leaves(like, (column[place] for column in columns))
        value, bonus = values[place]
        yield number, Choice(arms[place], value, bonus, features[place].copy(), planned)


def _packed(name: str, arrays: Sequence[np.ndarray]) -> Tensors:
    """Arrays of one type and number of axes, which may differ in size, as two tensors."""
    return {
        f"{name}.shapes": np.array([each.shape for each in arrays], dtype=np.int64),
        f"{name}.values": np.concatenate([each.ravel() for each in arrays]),
    }


def _unpacked(name: str, tensors: Tensors) -> list[np.ndarray]:
    shapes = tensors[f"{name}.shapes"].tolist()
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(tensors[f"{name}.values"], ends[:-1])
    return [part.reshape(shape).copy() for part, shape in zip(parts, shapes, strict=True)]
