"""Teaches JAX the parts: a part is a tree of its numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax

from driftwise.base.part import PARTS, is_part, numeric_fields

_registered: set[type] = set()


def _register(cls: type) -> None:
    """Numeric fields and parts within parts are children; the rest is structure, compared by equality."""
    names = [field.name for field in dataclasses.fields(cls)]
    numeric = set(numeric_fields(cls))

    def flatten(part: Any) -> tuple[tuple, tuple]:
        values = {name: getattr(part, name) for name in names}
        dynamic = [name for name in names if name in numeric or is_part(values[name])]
        static = tuple((name, values[name]) for name in names if name not in dynamic)
        return tuple(values[name] for name in dynamic), (tuple(dynamic), static)

    def unflatten(structure: tuple, children: Any) -> Any:
        dynamic, static = structure
        part = object.__new__(cls)  # the values may be tracers: no checks
        for name, value in (*zip(dynamic, children, strict=True), *static):
            object.__setattr__(part, name, value)
        return part

    jax.tree_util.register_pytree_node(cls, flatten, unflatten)


def register_parts() -> None:
    """Register every part defined so far, also those that users defined themselves."""
    for cls in PARTS.values():
        if cls not in _registered:
            _register(cls)
            _registered.add(cls)
