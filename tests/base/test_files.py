"""Outputs replace files and nothing else, and links stay links."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from driftwise.__main__ import main
from driftwise.analysis.report import write_report
from driftwise.base.files import ensure_folder, output_folder, replace_file, require_regular_file, write_files
from driftwise.online import Bandit
from tests.report_folders import make_folder


def save_an_agent(path: Path) -> None:
    Bandit("lin_ucb", dim=2, noise_scale=0.1).save(path)


def write_several(path: Path) -> None:
    write_files(path.parent, {path.name: b"new", "seal": b""})


def write_a_report(path: Path) -> None:
    write_report(make_folder(path.parent / "results"), format="csv", out=path)


def make_ready(path: Path) -> None:
    with output_folder(path.parent, [path.name]):
        pass


WRITERS = [lambda path: replace_file(path, b"new"), write_several, save_an_agent, write_a_report, make_ready]
REPLACING = WRITERS[:-1]


def make_device(path: Path) -> None:
    """A device of the test's own: one of the system's would be lost to all if it were replaced."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("nobody but root makes devices")


OTHERS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "a device": make_device,
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("write", WRITERS)
def test_what_is_not_a_file_is_not_replaced_and_named(
    write: Callable[[Path], None], kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    OTHERS[kind](path)
    before = path.lstat()
    with pytest.raises(OSError, match=f"out is {kind}, not a file") as caught:
        write(path)
    assert "\n" not in str(caught.value)
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("write", REPLACING)
def test_links_are_followed_to_files_old_and_new(
    write: Callable[[Path], None], there: bool, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "file", tmp_path / "link"
    if there:
        target.write_bytes(b"old")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() not in (b"", b"old")
    assert [path.name for path in target.parent.iterdir()] == ["file"]


def test_a_link_to_a_folder_that_is_not_there_yet_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "new")
    with output_folder(tmp_path / "link", ["x"]) as folder:
        (folder / "x").touch()
    assert (tmp_path / "new" / "x").exists()
    assert (tmp_path / "link").is_symlink()


def test_a_link_to_itself_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "link")
    with pytest.raises(OSError, match="symbolic links"):
        replace_file(tmp_path / "link", b"")


@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a file"])
def test_what_is_not_a_folder_is_named(kind: str, tmp_path: Path) -> None:
    {**OTHERS, "a file": Path.touch}[kind](tmp_path / "out")
    with pytest.raises(NotADirectoryError, match=f"out is {kind}, not a folder"):
        ensure_folder(tmp_path / "out")


def test_the_present_folder_has_a_name_in_errors() -> None:
    with pytest.raises(OSError, match=r"\. is a folder, not a file"):
        save_an_agent(Path(""))


def test_only_what_was_handed_over_may_be_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe, not a file"):
        require_regular_file(tmp_path / "pipe")
    reader, writer = os.pipe()
    try:
        require_regular_file(f"/dev/fd/{reader}")
        with pytest.raises(OSError, match="it is a pipe, not a file"):
            require_regular_file(f"/dev/fd/../fd/{reader}")
    finally:
        os.close(reader)
        os.close(writer)


def test_the_command_says_so_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder, path = make_folder(tmp_path / "results"), tmp_path / "out"
    os.mkfifo(path)
    assert main(["report", str(folder), "--out", str(path)]) == 2
    said = f"driftwise: error: --out {str(path)!r} cannot be written: out is a pipe, not a file\n"
    assert capsys.readouterr().err == said
