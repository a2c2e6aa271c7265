"""Logs that commands read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from driftwise.base.validation import require_choice
from driftwise.cli.app import InputError, check
from driftwise.cli.options import listed


def open_log(file: str, *, needed: tuple[str, ...], encoder: str | None = None, **columns: str | None) -> Any:
    """A table, of whose columns some have to be named, or a decision log, which names its own.

    Columns of features are needed unless there is the file of an encoder, which names them.
    """
    from driftwise.online.decision_log import SUFFIX, DecisionLog
    from driftwise.online.replay import Log
    from driftwise.online.replay.logs import SUFFIXES

    check(require_choice, "the ending of the log's name", Path(file).suffix.lower(), (*SUFFIXES, SUFFIX))
    try:
        Path(file).stat()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from None
    if file.lower().endswith(SUFFIX):
        named = {**columns, "encoder": encoder}
        if given := [f"--{name}" for name, column in named.items() if column is not None]:
            raise InputError(
                f"{', '.join(given)} must be left out for a decision log, which has its own names"
            )
        return check(DecisionLog, file)
    needed = needed if encoder is not None else (*needed, "features")
    if missing := [f"--{name}" for name in needed if columns[name] is None]:
        raise InputError(f"{', '.join(missing)} must name columns of {file}")
    features = listed(columns["features"] or "")
    made = None if encoder is None else _encoder(encoder)
    return check(Log, file, **columns | {"features": features, "encoder": made})


def _encoder(file: str) -> Any:
    from driftwise.online.encoding import Encoder

    try:
        return check(Encoder.from_toml, file)
    except OSError as error:
        raise InputError(f"--encoder: {file} cannot be read: {error.strerror or error}") from None
