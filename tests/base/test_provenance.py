"""Where numbers come from."""

import functools
import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driftwise.base import provenance
from tests.examples import make
from tests.simulation.diagnosing import diagnosing


def _git(folder: Path, *arguments: str) -> str:
    own = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    command = ["git", *own, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package under version control."""
    folder = tmp_path / "src" / "package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "add", ".")
    _git(tmp_path, "commit", "-q", "-m", "first")
    return folder


def test_the_commit_of_a_checkout_is_known_and_changes_are_told(package: Path) -> None:
    commit = _git(package, "rev-parse", "HEAD")
    assert provenance.find_commit(package) == commit
    (package / "__init__.py").write_text("changed = True")
    assert provenance.find_commit(package) == f"{commit} with changes"


def test_the_commit_of_a_repository_around_an_installed_package_is_not_ours(
    package: Path, monkeypatch
) -> None:
    installed = package.parent / "site-packages" / "driftwise"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert provenance.find_commit(installed) is None
    monkeypatch.setenv("PATH", str(package))  # without git nobody knows
    assert provenance.find_commit(package) is None


def test_the_code_of_a_function_is_that_of_driftwise_and_of_its_own_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for number in (1, 2):
        (tmp_path / f"foreign_{number}.py").write_text(f"def make():\n    return {number}\n")
        found.append(provenance.digest_code(importlib.import_module(f"foreign_{number}").make))
        assert found[-1] == provenance.digest_code(
            functools.partial(functools.partial(importlib.import_module(f"foreign_{number}").make), 1)
        )
        monkeypatch.delitem(sys.modules, f"foreign_{number}")
    ours = provenance.digest_code(make)
    assert provenance.digest_code(provenance.find_commit) == provenance.provenance()["sources"]["driftwise"]
    assert len({ours, *found, provenance.digest_code(3)}) == 4


def test_a_digest_is_of_names_and_contents_and_of_nothing_else(tmp_path: Path) -> None:
    def digest() -> str:
        return provenance.digest_path(tmp_path)

    for name, content in {"a.py": "x = 1", "room/b.py": "y = 1", "room/c.toml": "z = 1"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    before = digest()
    os.utime(tmp_path / "a.py", (0, 0))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"compiled")
    (tmp_path / ".#a.py").symlink_to("an editor's lock")
    assert digest() == before
    seen = {before}
    for change in (
        lambda: (tmp_path / "a.py").write_text("x = 2"),
        lambda: (tmp_path / "room" / "c.toml").write_text("z = 2"),
        lambda: (tmp_path / "a.py").rename(tmp_path / "d.py"),
        lambda: (tmp_path / "room" / "b.py").unlink(),
        lambda: (tmp_path / "e.py").touch(),
    ):
        change()
        seen.add(digest())
    assert len(seen) == 6


def test_the_digest_of_this_package_the_host_and_the_flags_of_the_compiler_are_known(monkeypatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    found = provenance.provenance()
    assert set(found["host"]) == {"name", "system", "machine", "cpu", "cpus"}
    assert found["sources"] == {"driftwise": provenance.digest_path(provenance._PACKAGE)}
    assert found["xla_flags"] == "--xla_cpu_enable_fast_math=false"


def test_code_from_elsewhere_is_known_by_its_module() -> None:
    here = provenance.foreign_sources(diagnosing(), make())
    assert list(here) == ["tests.simulation.diagnosing"]
    assert provenance.foreign_sources(make(), 3, "word") == {}


PART = """
from dataclasses import dataclass

@dataclass
class Part:
    size: int = {}
"""


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Parts from two files of one name."""
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for number, folder in enumerate(("first_room", "second_room")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "parts.py").write_text(PART.format(number))
        found.append(importlib.import_module(f"{folder}.parts").Part())
        monkeypatch.delitem(sys.modules, folder)
    yield found
    for folder in ("first_room", "second_room"):
        del sys.modules[f"{folder}.parts"]


def test_files_of_one_name_are_two_sources(parts: list[Any]) -> None:
    found = provenance.foreign_sources(*parts)
    assert list(found) == ["first_room.parts", "second_room.parts"]
    assert len({*found.values()}) == 2


def test_a_program_has_one_name_in_all_its_processes(
    parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("__main__", "__mp_main__"):
        monkeypatch.setitem(sys.modules, name, sys.modules["first_room.parts"])
        monkeypatch.setattr(type(parts[0]), "__module__", name)
        assert list(provenance.foreign_sources(parts[0])) == ["__main__"]


def test_a_class_that_was_sent_is_not_taken_for_one_of_the_program_that_received_it(
    parts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(sys.modules["first_room.parts"], "Part")
    assert provenance.foreign_sources(parts[0]) == {}
