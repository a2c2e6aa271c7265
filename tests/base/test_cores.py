"""Cores are those that a process may use, not those that the machine has."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from driftwise.base import resources


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
