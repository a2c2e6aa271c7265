"""Tutorials take nothing that they do not say, and end with a figure."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

TUTORIALS = Path(__file__).parent.parent / "docs" / "tutorials"
PAGES = sorted(page for page in TUTORIALS.glob("*.md") if page.name != "index.md")


def test_every_tutorial_is_in_the_index():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (TUTORIALS / "index.md").read_text(encoding="utf-8"))
    assert sorted(listed) == [page.name for page in PAGES]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_runs_in_an_empty_folder_and_ends_with_a_figure(page, tmp_path, monkeypatch):
    jupytext, nbclient = (
        pytest.importorskip(name, reason="needs `docs`") for name in ("jupytext", "nbclient")
    )
    commands = Path(sys.executable).parent  # where `driftwise` is
    monkeypatch.setenv("PATH", f"{commands}{os.pathsep}{os.environ['PATH']}")
    notebook = jupytext.read(page)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    last = [cell for cell in notebook.cells if cell.cell_type == "code"][-1]
    assert any("image/png" in output.get("data", {}) for output in last.outputs)


def test_what_a_command_prints_is_shown_in_one_piece():
    pytest.importorskip("myst_nb", reason="needs `docs`")
    from tools.site.streams import joined

    parts = [("stdout", "a ta"), ("stderr", "late"), ("stdout", "ble\n")]
    outputs = [{"output_type": "stream", "name": name, "text": text} for name, text in parts]
    assert [each["text"] for each in joined(outputs)] == ["a table\n", "late"]
