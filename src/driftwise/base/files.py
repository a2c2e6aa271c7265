"""Files that are replaced at once: whatever happens, there is the old one or the new one, complete."""

import contextlib
import errno
import glob
import json
import os
import platform
import re
import stat
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from driftwise.base.extras import require_extra

try:
    import fcntl
except ImportError:  # Windows has other locks
    fcntl = None

HOST = platform.node().replace(".", "-")
_LEFTOVER_SECONDS = 24 * 3600  # after which whoever wrote it is gone
_INHERITED = re.compile(r"/dev/stdin|/(dev|proc/self)/fd/\d+")  # what somebody writes to this process
_FILE_TYPES = {stat.S_IFREG: "a file", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
_FILE_TYPES |= {stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def _file_kind(path: str | os.PathLike[str]) -> str:
    return _FILE_TYPES.get(stat.S_IFMT(os.stat(path).st_mode), "something else")


def resolve_file(path: Path) -> Path:
    """Return the file behind `path`, old or new; refuse a folder, device, pipe or socket by an `OSError`."""
    with contextlib.suppress(FileNotFoundError):
        if (kind := _file_kind(path)) != "a file":
            number = errno.EISDIR if kind == "a folder" else errno.EINVAL
            raise OSError(number, f"{path.name or path} is {kind}, not a file")
    return Path(os.path.realpath(path))


def ensure_folder(path: Path) -> None:
    """Create the folder behind `path` and its parents; an `OSError` says that something else is there."""
    try:
        Path(os.path.realpath(path)).mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, f"{path.name} is {_file_kind(path)}, not a folder") from None


def require_regular_file(path: str | os.PathLike[str]) -> None:
    """Refuse, by an `OSError`, a pipe, a socket or a device, which need never end."""
    kind = _file_kind(path)
    if kind not in ("a file", "a folder") and not _INHERITED.fullmatch(os.fspath(path)):
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")


def replace_file(path: Path, *content: bytes | memoryview) -> None:
    """Write a temporary file, then rename it to the path or to the target of a link, with the old mode."""
    _replace_files({path: content})


def write_files(folder: Path, contents: Mapping[str, bytes], stale: str | None = None) -> list[Path]:
    """Replace files that belong together, or none; where the last one exists, all are from the same call.

    A `stale` file is removed before the first of them is replaced.
    """
    paths = [folder / name for name in contents]
    old = paths[-1:] if len(paths) > 1 else []
    if stale is not None:
        old = [*old, folder / stale]
    _replace_files({path: (content,) for path, content in zip(paths, contents.values(), strict=True)}, old)
    return paths


def _replace_files(contents: Mapping[Path, Iterable[bytes | memoryview]], old: Iterable[Path] = ()) -> None:
    paths = [resolve_file(path) for path in contents]
    try:
        for path, content in zip(paths, contents.values(), strict=True):
            try:
                file = temporary_path(path).open("wb")
            except OSError as error:  # which names a file that the caller does not know
                raise OSError(error.errno, error.strerror, os.fspath(path)) from None
            with file:
                for piece in content:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                temporary_path(path).chmod(stat.S_IMODE(path.stat().st_mode))
        for path in old:  # a set without a seal may be a mixture
            resolve_file(path).unlink(missing_ok=True)
        for path in paths:
            os.replace(temporary_path(path), path)
    finally:
        for path in paths:
            temporary_path(path).unlink(missing_ok=True)
    for place in {path.parent for path in paths} if os.name == "posix" else ():
        folder = os.open(place, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new names have to outlive a power cut as well
        finally:
            os.close(folder)


@contextlib.contextmanager
def corrupt_file_errors(path: Path) -> Iterator[None]:
    """Turn the errors of a reader into a `ValueError` that names the file."""
    try:
        yield
    except FileNotFoundError:
        raise ValueError(f"{path} is missing: nothing finished is there to read") from None
    except MemoryError:
        raise
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    except Exception as error:  # readers of damaged files raise errors of many types
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"{path} is damaged: {reason}") from None


FileStamp = tuple[int, ...]  # distinguishes a file from all others at its path


def read_stamp(path: Path) -> FileStamp | None:
    """Return the stamp of the file behind `path`, None if there is none."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


def replace_unchanged(path: Path, *content: bytes | memoryview, seen: FileStamp | None) -> FileStamp | None:
    """Replace a file that has one writer, under a lock on the old one, and return the stamp of the new one.

    A `FileExistsError` says that somebody else writes to it now, or has since the stamp `seen` was read.
    """
    path = resolve_file(path)
    with contextlib.ExitStack() as stack:
        why = ""
        with contextlib.suppress(OSError):  # there is no file, no right to read it, or no lock in its system
            file = stack.enter_context(path.open("rb"))
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    stack.callback(fcntl.flock, file, fcntl.LOCK_UN)  # closing it leaves that of a fork
            except BlockingIOError:
                why = "is being saved by somebody else"
        if not why and seen is not None and read_stamp(path) not in (None, seen):  # under the lock
            why = "has been replaced by somebody else since it was loaded or saved here"
        if why:
            text = f"{path.name} {why}: two agents need two files"
            raise FileExistsError(errno.EEXIST, text, os.fspath(path))
        remove_leftovers(path.parent, path.name)
        replace_file(path, *content)
        return read_stamp(path)


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove what killed processes left half-written in the folder, of the file of that name or of all."""
    for leftover in folder.glob(f".{glob.escape(name)}*.part"):
        with contextlib.suppress(OSError, ValueError):  # it is gone already, or none of ours
            _, thread, host, pid, _ = leftover.name.rsplit(".", 4)
            ended = host == HOST and not _writes(int(pid), int(thread, 16))
            if ended or time.time() - leftover.stat().st_mtime > _LEFTOVER_SECONDS:
                leftover.unlink()


def _writes(pid: int, thread: int) -> bool:
    """Return whether there is another process of this number, or another thread of this process."""
    if pid == os.getpid():
        return thread != threading.get_ident() and thread in [other.ident for other in threading.enumerate()]
    try:
        if os.name == "posix":  # elsewhere, signal 0 would end it
            os.kill(pid, 0)
    except OSError as error:  # it may be somebody else's
        return not isinstance(error, ProcessLookupError)
    return True


def temporary_path(path: Path) -> Path:
    """Return a name next to `path`, on the same file system, that only this thread uses."""
    return path.with_name(f".{path.name}.{threading.get_ident():x}.{HOST}.{os.getpid()}.part")


@contextlib.contextmanager
def output_folder(path: Path, names: Iterable[str]) -> Iterator[Path]:
    """Create the folder and check that the named files can be written; remove new folders after a failure."""
    place = Path(os.path.realpath(path))
    missing = [folder for folder in (place, *place.parents) if not folder.exists()]
    try:
        ensure_folder(path)
        for name in names:
            target = resolve_file(path / name)
            temporary_path(target).touch()
            temporary_path(target).unlink()
        yield path
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):  # not empty, or never created
                folder.rmdir()
        raise


@contextlib.contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder, or raise an `OSError`; after a failure the lock file goes if nothing else is there."""
    with require_extra("writing a folder", "cli"):
        from filelock import FileLock, Timeout
    lock = FileLock(folder / ".lock")
    try:
        acquired = lock.acquire(timeout=0)
    except Timeout:
        raise OSError(errno.EBUSY, "another run is writing to it") from None
    with acquired:
        try:
            yield
        except BaseException:
            if [path.name for path in folder.iterdir()] == [".lock"]:
                with contextlib.suppress(OSError):  # Windows keeps what is open
                    (folder / ".lock").unlink()
            raise


def json_bytes(value: Any) -> bytes:
    """Return a value as the content of a JSON file."""
    return f"{json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)}\n".encode()


def compact_json(value: Any) -> str:
    """Return a value as one line of JSON, the same for equal values."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
