"""What docs/production.md says is so."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from driftwise.online import Bandit, Summary
from driftwise.online.limits import LARGEST_FEATURE, LARGEST_REWARD

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "production.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What its blocks leave behind."""
    found: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, found)
    return found


def test_its_examples_run_and_give_what_they_say(names):
    assert names["summary"].rewards == 305
    assert names["summary"].pending == 1
    assert names["restored"].summary().pending == 0
    assert names["found"]["forgetting"] != 1.0
    assert names["mean"].shape == names["std"].shape == (5,)
    assert names["arms"].tolist() == [2, 0]


def test_a_message_that_comes_twice_is_an_error_that_can_be_counted(names):
    with pytest.raises(ValueError, match="was rewarded already"):
        names["bandit"].learn(names["waiting"][1].id, 0.3)


def test_it_explains_every_number_of_a_summary():
    cells = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == {field.name for field in fields(Summary)}


def test_limits_and_defaults_are_as_it_says():
    assert (LARGEST_FEATURE, LARGEST_REWARD) == (1e6, 1e100)
    assert "Features beyond ±1e6 and rewards beyond ±1e100 are refused" in PAGE
    bandit = Bandit("greedy", dim=2)
    for _ in range(10_001):
        bandit.decide([[1.0, 0.0]])
    assert bandit.summary().pending == 10_000


def test_what_it_links_to_exists():
    links = re.findall(r"\]\(([^)#]+)", PAGE)
    assert len(links) > 4
    for link in links:
        assert (DOCS / link).exists(), link
