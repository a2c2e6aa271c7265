"""Where numbers come from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from driftwise.base import provenance


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
    assert provenance._checked_out_commit(package) == commit
    (package / "__init__.py").write_text("changed = True")
    assert provenance._checked_out_commit(package) == f"{commit} with changes"


def test_the_commit_of_a_repository_around_an_installed_package_is_not_ours(package: Path) -> None:
    installed = package.parent / "site-packages" / "driftwise"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert provenance._checked_out_commit(installed) is None


def test_without_git_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance._checked_out_commit(tmp_path) is None


def test_the_host_is_described_in_plain_values() -> None:
    host = provenance.host()
    assert set(host) == {"name", "system", "machine", "cpus"}
    assert host["cpus"] >= 1
