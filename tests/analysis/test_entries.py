"""The catalogue: whatever is listed can be shown, with formulas to read, BibTeX, and an example that runs."""

import re
import tomllib
from typing import Any

import pytest
from rich.cells import cell_len

from driftwise.algorithms import ALGORITHMS
from driftwise.analysis.docstrings import plain_formula
from driftwise.analysis.entries import KINDS, entry_text, find_papers, papers
from driftwise.base.part import CONFIGURABLE
from driftwise.environments import ENVIRONMENTS
from driftwise.experiments import experiment_of, prepare

LISTED = [(kind, row[0].text) for kind, table in KINDS.items() for row in table().rows]
OTHERS = {name for name, cls in CONFIGURABLE.items() if not cls.__module__.startswith("driftwise.")}
NAMES = [(kind, name) for kind, name in LISTED if name not in OTHERS]
TOP: dict[str, Any] = dict(name="shown", summary="shown", episodes=1000, runs=2)
WORLD = {"type": "combination_lock"}
AGENTS = {"u": {"algorithm": "uniform"}}


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_whatever_is_listed_is_shown_in_80_columns_and_its_example_runs(kind: str, name: str) -> None:
    text = entry_text(name, 80)
    prose = text.split("\nReference\n")[0]
    assert max(map(cell_len, prose.splitlines())) <= 80
    assert "\\" not in prose, "LaTeX is left"
    assert "…" not in text.split("\nExample\n")[-1], "an argument of the example is not known"
    entry = next(each for each in re.split(r"\n\n(?=\S+ \(\w+\)\. )", text) if f"{name} ({kind[:4]}" in each)
    lines = [line[2:] for line in entry.split("\nExample\n")[1].splitlines()]
    if kind == "experiments":
        assert lines == [f"driftwise run {name}"]
        return
    if kind == "scenarios":
        exec("\n".join(line for line in lines if "play_policy" not in line), {})
        return
    first = next(number for number, line in enumerate(lines) if line.startswith("["))
    code = "\n".join(line for line in lines[:first] if not line.startswith("result = "))
    exec(code, {})
    file = {**TOP, **tomllib.loads("\n".join(lines[first:]))}
    world = file.get("environment", {})
    file["environment"] = {**({} if "type" in world else WORLD), **world}
    drift = world.get("drift", {})
    if drift.get("type") == "Product":
        file["environment"]["type"] = "random_linear_mdp"  # a lock has two anchors only
    study = prepare(experiment_of({"agents": AGENTS, **file}))
    assert len(study.groups) == 1


def test_an_entry_has_signatures_formula_symbols_bound_bibtex_and_example() -> None:
    text = entry_text("opt_wlsvi", 80)
    for piece in (
        "  opt_wlsvi(spec, *, rate, radius, norm='sandwich', ridge=1.0, clip='paper')",
        "  opt_wlsvi.tuned(spec, *, num_episodes, variation,",
        "    Λ_{t,h} = Σ_{τ<t} η^(t-1-τ) φ_{τ,h}φ_{τ,h}ᵀ + λ I",
        "  rate       needed      η ∈ (0, 1], often γ in papers; 1 never forgets.",
        "d^(5/4) H^2 Δ^(1/4) K^(3/4)",
        "  @article{touati2020efficient,",
        "agent = dw.algorithms.opt_wlsvi.tuned(",
        '  algorithm = "opt_wlsvi"',
    ):
        assert piece in text, piece


def test_every_scenario_has_an_entry_by_its_whole_name() -> None:
    name = "linear_bandit/abrupt_rare-weak/lost/restarted"
    text = entry_text(name, 80)
    assert text.startswith(f"{name} (scenario). five arms")
    assert "half of the rewards never come" in " ".join(text.split())
    assert "166, 333" in text
    with pytest.raises(ValueError, match=f"did you mean '{name}'"):
        entry_text(name.replace("lost", "last"), 80)


def test_a_name_of_two_things_shows_both() -> None:
    text = entry_text("inventory", 80)
    assert "inventory (experiment). " in text
    assert "inventory (environment). " in text


def test_every_paper_of_the_tables_is_in_the_bibliography() -> None:
    assert len({paper.title for paper in papers()}) == len(papers())
    for algorithm in ALGORITHMS.values():
        parts = algorithm.paper.split("; ")
        found = len(find_papers(algorithm.paper))
        assert algorithm.paper == "baseline" or found >= len(parts) - ("ours" in parts)
    for name, make in {**ALGORITHMS, **ENVIRONMENTS}.items():
        told = (make.__doc__ or "").partition("Reference: ")[2]
        titles = re.findall(r'"([^"]+)"', " ".join(told.partition("\n\n")[0].split()))
        assert len(find_papers(told)) >= len(titles), name


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac{a+b}{c}", "(a+b)/c"),
        (r"\frac1n\sum_{i<n} x_i", "1/n Σ_{i<n} x_i"),
        (r"\sqrt{\phi^\top\Lambda^{-1}\phi}", "√(φᵀΛ⁻¹φ)"),
        (r"\hat\theta_t \in \arg\max_x x^2, \qquad y \leftarrow 3.", "θ̂_t ∈ arg max_x x²\ny ← 3."),
        (r"\bigl\{\log(1/\delta)\bigr\}", "{log(1/δ)}"),
        (r"\log\frac{3n}{\delta}", "log((3n)/δ)"),
        (r"\|\theta\|^{k+1}", "‖θ‖^(k+1)"),
    ],
)
def test_formulas_are_read_as_they_are_written(latex: str, text: str) -> None:
    assert plain_formula(latex) == text
