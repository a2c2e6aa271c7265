"""Sets of files that are written whole or not at all, and folders that one process writes to."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from driftwise.base.extras import needed_by
from driftwise.base.files import behind_links, ensure_folder, replaceable, stage, temporary

with needed_by("writing a folder", "cli"):
    from filelock import FileLock, Timeout


@contextlib.contextmanager
def output_folder(path: Path, names: Iterable[str]) -> Iterator[Path]:
    """The folder, made if need be and found ready to take the named files; made in vain, it is removed."""
    place = behind_links(path)
    made = [folder for folder in (place, *place.parents) if not folder.exists()]
    try:
        ensure_folder(path)
        for name in names:
            target = replaceable(path / name)
            temporary(target).touch()
            temporary(target).unlink()
        yield path
    except BaseException:
        for folder in made:
            with contextlib.suppress(OSError):  # not empty, or never made
                folder.rmdir()
        raise


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, so that nobody else writes to it; an `OSError` if somebody does.

    After a failure that leaves nothing else in the folder, the lock's file goes. It goes while it is locked:
    whoever has opened it finds it locked, or without a name, and then `FileLock` takes a new one.
    """
    lock = FileLock(folder / ".lock")
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        raise OSError(errno.EBUSY, "another run is writing to it") from None
    with held:
        try:
            yield
        except BaseException:
            if [path.name for path in folder.iterdir()] == [".lock"]:
                with contextlib.suppress(OSError):  # Windows keeps what is open
                    (folder / ".lock").unlink()
            raise


def write_files(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files that belong together; the last one seals the set.

    All are written under temporary names first: if any of that fails, what was in the folder stays as it
    was. The old seal goes before the first file is replaced, so a folder with a seal is never a mixture.
    """
    paths = [replaceable(folder / name) for name in contents]
    try:
        for path, content in zip(paths, contents.values(), strict=True):
            stage(path, content)
        paths[-1].unlink(missing_ok=True)
        for path in paths:
            os.replace(temporary(path), path)
    finally:
        for path in paths:
            temporary(path).unlink(missing_ok=True)
    return [folder / name for name in contents]


def json_bytes(value: Any) -> bytes:
    """A value as the content of a JSON file."""
    return f"{json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)}\n".encode()


def compact_json(value: Any) -> str:
    """A value as one line of JSON, the same for the same value."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
