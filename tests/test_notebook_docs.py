"""What docs/notebooks.md says is so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "notebooks.md").read_text(encoding="utf-8")


def test_its_cells_run_in_order_and_show_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(cell, names)
    assert names["again"].table().rows == names["study"].table().rows
    assert names["found"].mean > 0
    assert Path("mine.html").stat().st_size > 100_000
    (text,) = re.findall(r"```\n<(.*)…>\n", PAGE)
    assert f"<{text}"[:60] in repr(names["one"])
    for name in ("result", "best"):
        assert "<img" in names[name]._repr_html_()


def test_calls_and_links_of_its_tables_exist() -> None:
    from driftwise.analysis.finished import FinishedStudy
    from driftwise.simulation.results import Result

    for owner, kind in (("result", Result), ("study", FinishedStudy)):
        for name in re.findall(rf"`{owner}\.(\w+)\(", PAGE):
            assert callable(getattr(kind, name)), name
    for link in re.findall(r"\]\(([^)#]+)", PAGE):
        assert (DOCS / link).exists(), link
