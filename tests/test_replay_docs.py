"""What docs/replay.md says is so."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from driftwise.online.decision_log import DecisionLog
from driftwise.online.replay import replay
from driftwise.online.replay.independence import LEVEL
from driftwise.online.replay.samples import MAX_DIM
from tests.online.test_replay import drawn, write_csv

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "replay.md").read_text(encoding="utf-8")


def test_its_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    columns = drawn(200)
    hours = np.arange(200) % 24
    named = dict(zip(("age", "article", "click", "chance"), columns.values(), strict=True))
    write_csv(tmp_path / "clicks.csv", named | {"hour": hours})
    with_a_table, with_a_log = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict = {}
    exec(with_a_table, names)
    assert names["fast"].differences["logged"]["running"].low >= -1
    names = {"arms": np.eye(9)}
    exec(with_a_log, names)
    assert replay(DecisionLog("decisions.jsonl"), {"uniform": {}}).rows == 1


def test_its_numbers_and_links_are_right() -> None:
    assert f"`dim` is at most {MAX_DIM}" in PAGE
    assert f"at a level of {LEVEL:g}" in PAGE
    for link in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (DOCS / link).exists(), link
