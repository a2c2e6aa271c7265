"""What the pages on production say is so."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from driftwise.online import Bandit, Summary, load
from driftwise.online.limits import LARGEST_FEATURE, LARGEST_REWARD
from tests.online.streams import bits

DOCS = Path(__file__).parent.parent / "docs"
PRODUCTION, BANDITS, SKLEARN, CLOCK = (
    (DOCS / name).read_text(encoding="utf-8")
    for name in ("production.md", "online-bandits.md", "scikit-learn.md", "clock-time.md")
)


def names_of(page: str) -> dict[str, Any]:
    """What the blocks of a page leave behind."""
    found: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, found)
    return found


def heading(line: str) -> str:
    """The anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")


def test_the_service_recovers_bit_for_bit_and_loses_nothing():
    names = names_of(PRODUCTION)
    service, restarted = names["service"].bandit, names["restarted"].bandit
    assert bits(service.state) == bits(restarted.state)
    assert service.pending() == restarted.pending()
    assert (service.summary().decisions, load(names["service"].path).summary().decisions) == (120, 81)


def test_the_examples_of_bandits_online_give_what_they_say():
    names = names_of(BANDITS)
    assert names["restored"].summary().pending == names["bandit"].summary().pending - 1 == 0
    with pytest.raises(ValueError, match="was rewarded already"):
        names["bandit"].learn(names["waiting"][1].id, 0.3)


def test_the_examples_with_scikit_learn_give_what_they_say():
    names = names_of(SKLEARN)
    assert names["found"]["forgetting"] != 1.0
    assert names["mean"].shape == names["std"].shape == (5,)
    assert names["arms"].tolist() == [2, 0]


def test_the_examples_of_clock_time_give_what_they_say():
    names = names_of(CLOCK)
    assert names["bandit"].summary().samples == 4
    assert names["sampler"].summary().rewards == 1


def test_production_explains_every_number_of_a_summary():
    cells = [line.split("|")[1] for line in PRODUCTION.splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`(\w+)`", " ".join(cells))) == {field.name for field in fields(Summary)}


def test_limits_and_defaults_are_as_bandits_online_says():
    assert (LARGEST_FEATURE, LARGEST_REWARD) == (1e6, 1e100)
    assert "Features beyond ±1e6 and rewards beyond ±1e100 are refused" in BANDITS
    bandit = Bandit("greedy", dim=2)
    for _ in range(10_001):
        bandit.decide([[1.0, 0.0]])
    assert bandit.summary().pending == 10_000


def test_links_between_pages_reach_a_page_and_a_heading():
    for page in (
        *DOCS.glob("**/*.md"),
        *DOCS.parent.glob("*.md"),
        *DOCS.parent.glob("examples/**/README.md"),
    ):
        for link, anchor in re.findall(
            r"\]\(((?!http)[^)#\s]*)#?([^)\s]*)\)", page.read_text(encoding="utf-8")
        ):
            target = (page.parent / link) if link else page
            assert target.exists(), (page.name, link)
            if anchor:
                lines = target.read_text(encoding="utf-8").splitlines()
                assert anchor in map(heading, (each for each in lines if each.startswith("#"))), (
                    page.name,
                    anchor,
                )
