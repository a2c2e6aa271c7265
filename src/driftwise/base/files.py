"""Files that are replaced at once: whatever happens, there is the old one or the new one, complete."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import platform
import re
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has other locks
    fcntl = None

HOST = platform.node().replace(".", "-")
SECONDS_OF_A_LEFTOVER = 24 * 3600  # after which whoever wrote it is gone
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


Mark = tuple[int, ...]  # which tells a file from all that were, or will be, in its place


def mark(path: Path) -> Mark | None:
    """The mark of the file behind `path`, None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def replace_seen(path: Path, *content: bytes | memoryview, seen: Mark | None) -> Mark | None:
    """Replace a file that has one writer, and return the mark of the new one.

    A `FileExistsError` says that somebody else writes to it: now, or since it was `seen` last.
    """
    path = replaceable(path)
    with _locked(path):
        if seen is not None and mark(path) not in (None, seen):
            raise _shared(path, "has been replaced by somebody else since it was loaded or saved here")
        remove_leftovers(path.parent, path.name)
        replace_file(path, *content)
        return mark(path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock on the file at `path`, if there is one, for as long as it takes to replace it."""
    with contextlib.ExitStack() as stack:
        if fcntl is not None:
            with contextlib.suppress(FileNotFoundError, PermissionError):
                file = stack.enter_context(path.open("rb"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    stack.callback(fcntl.flock, file, fcntl.LOCK_UN)  # closing it leaves that of a fork
                except BlockingIOError:
                    raise _shared(path, "is being saved by somebody else") from None
                except OSError:  # a file system without locks
                    pass
        yield


def _shared(path: Path, why: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"{path.name} {why}: two agents need two files", os.fspath(path))


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove what killed processes left half-written in the folder, of the file of that name or of all."""
    for leftover in folder.glob(f".{glob.escape(name)}*.part"):
        with contextlib.suppress(OSError, ValueError):  # it is gone already, or none of ours
            _, thread, host, pid, _ = leftover.name.rsplit(".", 4)
            ended = host == HOST and not _writes(int(pid), int(thread, 16))
            if ended or time.time() - leftover.stat().st_mtime > SECONDS_OF_A_LEFTOVER:
                leftover.unlink()


def _writes(pid: int, thread: int) -> bool:
    """Whether there is another process of this number, or another thread of this process."""
    if pid == os.getpid():
        return thread != threading.get_ident() and any(each.ident == thread for each in threading.enumerate())
    if os.name != "posix":  # there, signal 0 would end it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is somebody else's
        pass
    return True


def stage(path: Path, *content: bytes | memoryview) -> None:
    """Write what is to become a file under its temporary name, down to the disk."""
    try:
        opened = temporary(path).open("wb")
    except OSError as error:  # which names a file that the caller does not know
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    with opened as file:
        for piece in content:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def temporary(path: Path) -> Path:
    """A name next to `path`, on the same file system, that only this thread of this process uses."""
    return path.with_name(f".{path.name}.{threading.get_ident():x}.{HOST}.{os.getpid()}.part")
