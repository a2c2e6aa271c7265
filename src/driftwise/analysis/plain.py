"""Values as JSON has them."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """A value of lists, tables by name, and numbers that are finite or `None`: JSON has no infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return plain(value._asdict())  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def json_text(value: Any) -> str:
    """A value as indented JSON."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False)
