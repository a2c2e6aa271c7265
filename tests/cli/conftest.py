"""What tests of several commands need."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def with_options(tmp_path: Path) -> Callable[[str], list[str]]:
    """Return a function that writes a file of options and returns the arguments that give it."""

    def write(text: str) -> list[str]:
        (tmp_path / "options.toml").write_text(text, encoding="utf-8")
        return ["--options", str(tmp_path / "options.toml")]

    return write
