"""Files that are replaced at once: whatever happens, there is the old one or the new one, complete."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import stat
import threading
from pathlib import Path

HOST = platform.node().replace(".", "-")
HANDED_OVER = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")  # what somebody writes to this process
KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def behind_links(path: Path) -> Path:
    """The place that `path` names, whether or not there is anything."""
    return Path(os.path.realpath(path))


def replaceable(path: Path) -> Path:
    """The file behind `path`, old or new; an `OSError` if a folder, a device, a pipe or a socket is there."""
    with contextlib.suppress(FileNotFoundError):
        kind = stat.S_IFMT(path.stat().st_mode)
        if kind != stat.S_IFREG:
            number = errno.EISDIR if kind == stat.S_IFDIR else errno.EINVAL
            raise OSError(number, f"{path.name or path} is {KINDS.get(kind, 'something else')}, not a file")
    return behind_links(path)


def ensure_folder(path: Path) -> None:
    """Make the folder behind `path`, and its parents, if need be; an `OSError` if something else is there."""
    try:
        behind_links(path).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        kind = KINDS.get(stat.S_IFMT(path.stat().st_mode), "something else")
        raise NotADirectoryError(errno.ENOTDIR, f"{path.name} is {kind}, not a folder") from None


def require_regular(path: str | os.PathLike[str]) -> None:
    """Refuse, by an `OSError`, what can be opened but need never end: a pipe, a socket, a device."""
    kind = stat.S_IFMT(os.stat(path).st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR) and not HANDED_OVER.fullmatch(os.fspath(path)):
        raise OSError(errno.EINVAL, f"it is {KINDS.get(kind, 'something else')}, not a file")


def replace_file(path: Path, *content: bytes | memoryview) -> None:
    """Write a file under a temporary name, then put it in the place of the old one.

    Its content may come in pieces. A link stays one, to the new file, which has the mode of the old one. What
    is not a file is not replaced.
    """
    path = replaceable(path)
    try:
        stage(path, *content)
        if path.exists():
            temporary(path).chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary(path), path)
    finally:
        temporary(path).unlink(missing_ok=True)
    if os.name == "posix":  # the new name has to outlive a power cut as well
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def stage(path: Path, *content: bytes | memoryview) -> None:
    """Write what is to become a file under its temporary name, down to the disk."""
    with temporary(path).open("wb") as file:
        for piece in content:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def temporary(path: Path) -> Path:
    """A name next to `path`, on the same file system, that only this thread of this process uses."""
    return path.with_name(f".{path.name}.{threading.get_ident():x}.{HOST}.{os.getpid()}.part")
