"""Results as files: curves as NumPy arrays, and the manifest as JSON; written whole or not at all."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np

from driftwise.base.files import replace_file, require_regular
from driftwise.simulation.results import CURVES, DIAGNOSTIC, Result

FORMAT = 1


def write_result(path: str | os.PathLike[str], result: Result) -> None:
    """Replace the file at `path` by a result, less the agents' states."""
    facts = {
        "format": FORMAT,
        "signed": result.signed,
        "configs": list(result.configs),
        "manifest": dict(result.manifest),
    }
    arrays = {name: getattr(result, name) for name in (*CURVES, "lengths")}
    arrays |= {f"{DIAGNOSTIC}{name}": curve for name, curve in result.diagnostics.items()}
    file = io.BytesIO()
    np.savez_compressed(file, facts=np.array(json.dumps(facts, allow_nan=False)), **arrays)  # pyright: ignore
    replace_file(Path(path), file.getvalue())


def read_result(path: str | os.PathLike[str]) -> Result:
    """The result in a file; what is wrong with it is a `ValueError` that names the file."""
    try:
        require_regular(path)
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path} is missing: there is no result to load") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    try:
        return _result(content)
    except NewerError:
        raise ValueError(f"{path} was written by a newer driftwise, which this one cannot read") from None
    except Exception:  # whatever a reader stumbles over
        raise ValueError(f"{path} holds no result that Result.save wrote, or is damaged") from None


class NewerError(Exception):
    """A file of a format that is not known yet."""


def _result(content: bytes) -> Result:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    facts = json.loads(str(arrays.pop("facts")))
    if facts["format"] > FORMAT:
        raise NewerError
    return Result(
        **{name: arrays.pop(name) for name in (*CURVES, "lengths")},
        diagnostics={name.removeprefix(DIAGNOSTIC): curve for name, curve in arrays.items()},
        signed=facts["signed"],
        configs=facts["configs"],
        manifest=facts["manifest"],
        state=None,
    )
