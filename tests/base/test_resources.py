"""Cores and memory of this process, as control groups allow, and the refusal of what does not fit."""

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftwise.base import resources
from driftwise.base.resources import count_bytes, format_bytes, free_memory, require_memory


def test_what_does_not_fit_is_refused_in_one_sentence_with_its_bytes_and_sizes() -> None:
    require_memory("window", 2048, "length = 9", free=2048)
    with pytest.raises(ValueError, match="window") as refused:
        require_memory("window", 3 << 30, "length = 9", free=2048)
    line = "window must fit into the 2 KiB of memory that are free, got 3 GiB for length = 9: "
    assert str(refused.value) == line + "lower the largest of these"


@pytest.mark.parametrize(
    ("told", "where", "limit", "usage"),
    [
        ("0::/outer/inner\n", "", "memory.max", "memory.current"),
        ("7:cpu:/\n4:memory:/outer/inner\n", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ],
)
@pytest.mark.parametrize("limited", ["outer", "outer/inner", "."])
def test_limits_of_all_control_groups_around_a_process_count_less_what_is_used(
    told, where, limit, usage, limited, tmp_path, monkeypatch
):
    monkeypatch.setattr(resources, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(resources, "_OWN_GROUPS", tmp_path / "told")
    for group in (".", "outer", "outer/inner"):
        folder = tmp_path / "groups" / where / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / limit).write_text("4096\n" if group == limited else "max\n")
        (folder / usage).write_text("1000\n")
        (folder / "memory.stat").write_text("anon 5\ninactive_file 300\n")
    assert list(resources._limits_left()) == []
    (tmp_path / "told").write_text(told)
    assert list(resources._limits_left()) == [4096 - 700]


@pytest.mark.skipif(os.name != "posix", reason="there is no such limit")
def test_a_limit_of_the_address_space_counts() -> None:
    script = """
import resource
from driftwise.base.resources import free_memory
resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))
print(free_memory())
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert 0 < int(said) < 1 << 32


def test_no_less_than_nothing_is_free_and_no_limit_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "_limits_left", lambda: iter([]))
    assert free_memory() > 4096
    monkeypatch.setattr(resources, "_limits_left", lambda: iter([-5]))
    assert free_memory() == 0


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
    assert format_bytes(num_bytes) == words


def test_sizes_are_products_of_shapes_however_large() -> None:
    assert count_bytes((2, 3), (5,)) == 88
    assert count_bytes((2**62, 2**62), itemsize=4) == 2**126


@pytest.mark.parametrize(
    ("quotas", "allowed"),
    [
        ({}, math.inf),
        ({"": "max 100000"}, math.inf),
        ({"": "150000 100000"}, 1.5),
        ({"": "400000 100000", "a/b": "50000 100000", "a": "max 100000"}, 0.5),
        ({"other": "50000 100000"}, math.inf),
        ({"a": "nonsense"}, math.inf),
    ],
)
def test_the_least_quota_of_all_groups_around_a_process_counts(quotas, allowed, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(resources, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(resources, "_OWN_GROUPS", tmp_path / "own")
    assert resources.cpu_quota() == math.inf  # there are no control groups
    for group, text in quotas.items():
        folder = tmp_path / "groups" / group
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpu.max").write_text(f"{text}\n")
    (tmp_path / "own").write_text("1:cpu:/elsewhere\n0::/a/b\n")
    assert resources.cpu_quota() == allowed


def test_half_a_core_is_one_and_no_quota_is_none(monkeypatch):
    monkeypatch.setattr(resources, "cpu_quota", lambda: 0.5)
    assert resources.num_cores() == 1
    monkeypatch.setattr(resources, "cpu_quota", lambda: math.inf)
    assert resources.num_cores() == len(os.sched_getaffinity(0))
