"""Packages that only some features need."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


@contextlib.contextmanager
def needed_by(feature: str, extra: str) -> Iterator[None]:
    """Imports of a feature; a package that is missing is told with what installs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        installed = f"driftwise[{extra}]" if extra else "driftwise"
        text = f"{feature} needs {package}: pip install '{installed}'"
        raise ModuleNotFoundError(text, name=package) from None
