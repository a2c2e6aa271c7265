"""Options that are numbers."""

from __future__ import annotations

from typing import Any

import typer

from driftwise.base.validation import require_number
from driftwise.cli.app import InputError, check


def number(name: str, help: str, *, metavar: str = "X", show_default: bool = True, **bounds: Any) -> Any:
    """An option of one number within the bounds of `require_number`; it fails as the library does."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{name} must be a number, got {text!r}") from None
        return check(require_number, name, value, **bounds)

    return typer.Option(name, metavar=metavar, parser=parse, help=help, show_default=show_default)
