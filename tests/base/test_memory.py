"""Memory: what is free, and the refusal of what does not fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from driftwise.base import memory
from driftwise.base.memory import free_memory, in_words, require_room, size_of


def test_what_does_not_fit_is_refused_in_one_sentence_with_its_bytes_and_sizes() -> None:
    require_room("window", 2048, "length = 9", free=2048)
    with pytest.raises(ValueError, match="window") as refused:
        require_room("window", 3 << 30, "length = 9", free=2048)
    line = "window must fit into the 2 KiB of memory that are free, got 3 GiB for length = 9: "
    assert str(refused.value) == line + "lower the largest of these"


def test_the_limit_of_a_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "limit").write_text("4096\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(memory, "LIMITS", (tmp_path / "none", tmp_path / "missing"))
    assert free_memory() > 4096
    monkeypatch.setattr(memory, "LIMITS", (tmp_path / "none", tmp_path / "limit"))
    assert free_memory() == 4096


@pytest.mark.parametrize(
    ("num_bytes", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1 << 10, "1 KiB"),
        (3 << 39, "1.5 TiB"),
        (10**30, "8.272e+05 YiB"),
    ],
)
def test_bytes_are_told_in_units_of_1024(num_bytes: int, words: str) -> None:
    assert in_words(num_bytes) == words


def test_sizes_are_products_of_shapes_however_large() -> None:
    assert size_of((2, 3), (5,)) == 88
    assert size_of((2**62, 2**62), itemsize=4) == 2**126
