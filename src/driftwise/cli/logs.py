"""Logs that commands read, and files of options."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftwise.base.validation import require_choice, require_instance
from driftwise.cli.app import InputError, check

OPTIONS_FILE = "TOML file of further options, and of any given here."
LOG_KEYS: dict[str, type] = dict.fromkeys(("action", "reward", "propensity", "time", "encoder"), str)
LOG_KEYS |= {"features": list, "shared": bool}


def read_options(file: str | None, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Return the options in a TOML file, which have the names and kinds given; none without a file.

    Options of the kind `object` are checked where they are used.
    """
    if file is None:
        return {}
    try:
        options = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"--options: {file} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"--options: {file} is not TOML: {error}") from None
    for name, value in options.items():
        check(require_choice, f"--options: {file}: an option", name, list(kinds))
        check(require_instance, f"--options: {file}: {name}", value, kinds[name])
    return options


def open_log(file: str, *, needed: tuple[str, ...], encoder: str | None = None, **columns: Any) -> Any:
    """Return the log in a file: a table with named columns, or a decision log, which has its own names.

    Columns of features are needed unless there is the file of an encoder, which names them.
    """
    from driftwise.online.decision_log import SUFFIX, DecisionLog
    from driftwise.online.replay import TableLog
    from driftwise.online.replay.table_log import SUFFIXES

    check(require_choice, "the ending of the log's name", Path(file).suffix.lower(), (*SUFFIXES, SUFFIX))
    try:
        Path(file).stat()
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from None
    named = {name: value for name, value in {**columns, "encoder": encoder}.items() if value is not None}
    if file.lower().endswith(SUFFIX):
        if named:
            options = ", ".join(name if name in ("time", "encoder") else f"--{name}" for name in named)
            raise InputError(f"{options} must be left out for a decision log, which has its own names")
        return check(DecisionLog, file)
    needed = needed if encoder is not None else (*needed, "features")
    if missing := [f"--{name}" for name in needed if name not in named]:
        raise InputError(f"{', '.join(missing)} must name columns of {file}")
    if encoder is not None:
        from driftwise.online.encoding import Encoder

        try:
            named["encoder"] = check(Encoder.from_toml, encoder)
        except OSError as error:
            raise InputError(f"encoder: {encoder} cannot be read: {error.strerror or error}") from None
    return check(TableLog, file, **{"action": None, **named, "features": tuple(named.get("features", ()))})


def warn_of_skipped(skipped: int, rows: int) -> None:
    """Print a line on the error stream if rows of a log could not be used."""
    if skipped:
        share = f"skipped {skipped:,} of {rows + skipped:,} rows"
        print(f"driftwise: {share}: a value is missing or not finite", file=sys.stderr)
