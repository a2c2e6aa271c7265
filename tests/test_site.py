"""The documentation's site, as far as it can be told without building it."""

import re
from pathlib import Path
from typing import get_args

import pytest
from tools.site import DOCS, algorithms
from tools.site.gallery import ROUNDS, make_environment
from tools.site.runs import FILES, agents, run_of
from tools.site.versions import publish

from driftwise.algorithms import ALGORITHMS
from driftwise.analysis.docstrings import Docstring
from driftwise.environments import ENVIRONMENTS
from driftwise.experiments import load_experiment, prepare
from driftwise.theory.bounds.bound import Status

GENERATED = ("algorithms", "gallery")  # folders that a build writes
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.parent.name not in GENERATED]


def listed(page: Path) -> set[Path]:
    """The pages that the toctrees of a page list."""
    trees = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    entries = (line for tree in trees for line in tree.splitlines() if line and not line.startswith(":"))
    return {page.parent / f"{entry}.md" for entry in entries}


def test_every_page_is_in_a_toctree_and_every_toctree_lists_pages_that_are_there():
    found = set[Path]().union(*map(listed, PAGES))
    assert {page for page in PAGES if page not in found} == {DOCS / "index.md"}
    written = ("algorithms/*.md", "gallery/environments.md", "gallery/panels.md")  # by a build
    assert {page for page in found if page not in PAGES} == {DOCS / page for page in written}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_recipe_says_when_to_use_it_and_when_not_and_plays_in_a_run(name):
    doc, algorithm = Docstring.of(ALGORITHMS[name].recipe.__doc__), ALGORITHMS[name]
    for text in (doc.use, doc.avoid):
        assert text.endswith("."), f"{name} lacks it: {text!r}"
    assert agents(run_of(name, algorithm.problem))[name]["algorithm"] == name


def test_pages_of_algorithms_have_formulas_parameters_bounds_and_papers(monkeypatch):
    monkeypatch.setattr(algorithms, "_figure", lambda name, run, others: f"{name} beside {others}")
    pages = algorithms.pages()
    assert pages.keys() == ALGORITHMS.keys()
    for name, page in pages.items():
        assert page.startswith(f"# {name}\n")
        assert "## When not" in page
        assert "dw.algorithms." in page
    page = pages["opt_wlsvi"]
    for piece in (
        r"\Lambda_{t,h} = \sum_{\tau<t} \eta^{t-1-\tau}",
        "* - `rate`\n  - `Numeric`\n  - needed\n  - $\\eta \\in (0, 1]$, ",
        "| d^(5/4) H^2 Δ^(1/4) K^(3/4) |",
        "@article{touati2020efficient,",
        "opt_wlsvi beside ['lsvi_ucb_restart', 'sw_lsvi_ucb', 'lsvi_ucb', ",
    ):
        assert piece in page, piece
    assert algorithms.STATUSES.keys() == {*get_args(Status)}


@pytest.mark.parametrize("run", FILES)
def test_the_run_behind_figures_can_be_made(run):
    assert len(prepare(load_experiment(FILES[run])).groups) >= len(agents(run))


def test_environments_of_the_gallery_drift():
    for name, maker in ENVIRONMENTS.items():
        assert make_environment(maker).variation(ROUNDS).total > 0, name


def test_formulas_of_recipes_can_be_drawn():
    pytest.importorskip("latex2mathml", reason="formulas are drawn with driftwise[docs]")
    from tools.site.mathml import mathml

    formula = re.compile(r"\$\$(.+?)\$\$|\$([^$]+)\$", re.DOTALL)
    for algorithm in ALGORITHMS.values():
        for block, inline in formula.findall(algorithm.recipe.__doc__ or ""):
            assert mathml(block or inline).startswith("<math")
    with pytest.raises(ValueError, match="unheard is not known"):
        mathml(r"\unheard x")


def test_docstrings_become_the_markup_that_autodoc_reads():
    pytest.importorskip("sphinx", reason="docstrings are rewritten with driftwise[docs]")
    from tools.site.docstrings import to_restructured_text

    rewritten = to_restructured_text("`a` times $\\eta^t$: V* of |S|")
    assert rewritten == "``a`` times :math:`\\eta^t`: V\\* of \\|S\\|"
    assert to_restructured_text("So\n$$x$$\nfar") == "So\n\n\n.. math:: \n\n   x\n\n\nfar"


def test_versions_stand_beside_each_other_and_the_newest_is_shown_first(tmp_path):
    built, folder = tmp_path / "built", tmp_path / "site"
    built.mkdir()
    with pytest.raises(SystemExit, match=r"must be a built site, got none: run `make docs` first$"):
        publish(built, folder, "0.9.0")
    assert not folder.exists()
    for version in ("0.9.0", "0.10.0", "0.9.0"):
        (built / "index.html").write_text(f"this is {version}")
        publish(built, folder, version)
    assert (folder / "0.10.0" / "index.html").read_text() == "this is 0.10.0"
    assert (folder / "versions.js").read_text() == 'window.versions = ["0.10.0", "0.9.0"];\n'
    assert "url=0.10.0/index.html" in (folder / "index.html").read_text()
    assert {path.name for path in folder.iterdir()} == {"0.9.0", "0.10.0", "versions.js", "index.html"}


def test_what_a_command_prints_is_shown_in_one_piece():
    pytest.importorskip("myst_nb", reason="needs `docs`")
    from tools.site.streams import join_streams

    parts = [("stdout", "a ta"), ("stderr", "late"), ("stdout", "ble\n")]
    outputs = [{"output_type": "stream", "name": name, "text": text} for name, text in parts]
    assert [output["text"] for output in join_streams(outputs)] == ["a table\n", "late"]
