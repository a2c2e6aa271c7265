"""Entries of the catalogue: all there is to know about one name, as text."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from driftwise.algorithms import ALGORITHMS, Algorithm
from driftwise.analysis import examples
from driftwise.analysis.catalogue import KINDS, singular
from driftwise.analysis.docstrings import Docstring, filled
from driftwise.analysis.formulas import readable
from driftwise.analysis.references import cited
from driftwise.analysis.table import Table, words
from driftwise.analysis.terminal import terminal_text
from driftwise.base.arguments import call_text
from driftwise.base.validation import ArgumentError, nearest
from driftwise.environments import ENVIRONMENTS, Environment
from driftwise.experiments import EXPERIMENTS, Experiment
from driftwise.experiments.building import parts_of
from driftwise.scenarios.scenario import LEVELS, SUITES, Scenario, product

SPEC = "the sizes of the problem, `environment.spec`"


class Section(NamedTuple):
    """A heading, and the text below it."""

    heading: str
    text: str


def entry_text(name: str, width: int) -> str:
    """All that goes by this name, in sections of lines of at most `width`, but for code."""
    found = [entry for kind in KINDS for entry in _entries(kind, name, width)]
    if not found:
        close = nearest(name, entry_names())
        raise ArgumentError("NAME", "be one that 'driftwise list' has", name, f"{name!r}{close}")
    return "\n\n".join(found)


def entry_names() -> list[str]:
    """All names that have an entry."""
    return [each for kind in KINDS for each in _names(kind)]


def _names(kind: str) -> list[str]:
    listed = [row[0].text for row in KINDS[kind]().rows]
    return [*listed, *product()] if kind == "scenarios" else listed  # which are made of the listed words


def _entries(kind: str, name: str, width: int) -> Iterator[str]:
    if name not in _names(kind):
        return
    if kind == "experiments":
        sections = _of_experiment(EXPERIMENTS[name], width)
        title = EXPERIMENTS[name].summary
    elif kind == "scenarios":
        scenario = _scenario_with(name)
        sections = _of_scenario(scenario, width)
        title = scenario.summary if name in product() else _told_of(name)
    else:
        made = {"algorithms": ALGORITHMS, "environments": ENVIRONMENTS}.get(kind) or parts_of(singular(kind))
        doc = Docstring.of(inspect.unwrap(made[name]).__doc__)
        sections = _of_maker(kind, name, made[name], doc, width)
        title = doc.summary
    told = [filled(f"{name} ({singular(kind)}). {title}", width)]
    for heading, text in sections:
        if text:
            told += ["", heading, textwrap.indent(text, "  ")]
    yield "\n".join(told)


def _of_experiment(experiment: Experiment, width: int) -> list[Section]:
    sizes = f"{experiment.episodes:,} episodes, {experiment.runs:,} runs"
    environments = experiment.environments or {"": experiment.environment or {}}
    kinds = (
        each.name if isinstance(each, Environment) else str(each.get("type"))
        for each in environments.values()
    )
    met = ", ".join(dict.fromkeys(kinds))
    return [
        Section("Sizes", sizes),
        Section("Environments", filled(met, width - 2)),
        Section("Agents", filled(", ".join(experiment.agents), width - 2)),
        Section("Finding", filled(experiment.finding or "", width - 2)),
        Section("Example", f"driftwise run {experiment.name}"),
    ]


def _scenario_with(name: str) -> Scenario:
    """The scenario of that name, or the first that moves and has that word in its name."""
    found = product()
    moving = (each for each in found.values() if name in _words_of(each) and each.move != "none")
    return found[name] if name in found else next(moving, Scenario("linear_bandit"))


def _words_of(scenario: Scenario) -> tuple[str, ...]:
    return tuple(getattr(scenario, part) for part in LEVELS)


def _told_of(word: str) -> str:
    """The part of a scenario's name that a word stands for, and what it says."""
    return next(f"{part}: {levels[word]}." for part, levels in LEVELS.items() if word in levels)


def _of_scenario(scenario: Scenario, width: int) -> list[Section]:
    jumps = ", ".join(map(str, scenario.changes)) or "none"
    sizes = [
        f"{size}: {each.rounds:,} rounds, {each.runs:,} run{'s' * (each.runs > 1)}"
        for size, each in SUITES.items()
    ]
    policy = {"bandits": 'bandit_policy("adaptive_lin_ucb")', "mdps": 'mdp_policy("adaptive_opt_wlsvi")'}
    lines = [
        "import driftwise as dw",
        f'name = "{scenario.name}"',
        "scenario = dw.scenarios.find_scenario(name)",
        f"policy = dw.scenarios.{policy[scenario.kind]}",
        "dw.scenarios.play_policy(policy, scenario).regret",
    ]
    return [
        Section("Scenario", filled(scenario.name, width - 2)),
        Section("Sizes", "\n".join(sizes)),
        Section("Jumps, at the small size", filled(jumps, width - 2)),
        Section("Example", "\n".join(lines)),
    ]


def _of_maker(kind: str, name: str, maker: Any, doc: Docstring, width: int) -> list[Section]:
    inner = width - 2
    paper = maker.paper if isinstance(maker, Algorithm) else ""
    calls = [call_text(name, maker)]
    facts: list[Section] = []
    if isinstance(maker, Algorithm):
        calls.append(call_text(f"{name}.tuned", maker.tuned))
        rows = [(each, getattr(maker, each)) for each in ("problem", "forgetting", "exploration", "bound")]
        table = Table.of("row", words("column", "of the table of algorithms"), rows)
        facts = [Section("In short", terminal_text(table, inner).split("\n", 2)[2])]
    bibtex = [paper.bibtex for paper in cited(f"{doc.reference} {paper}")]
    reference = [filled(doc.reference or paper, inner), *bibtex]
    return [
        Section("Signature", "\n".join(filled(each, inner, subsequent_indent="    ") for each in calls)),
        Section("Definition", doc.written(inner)),
        Section("When to use", filled(doc.use, inner)),
        Section("When not", filled(doc.avoid, inner)),
        Section("Parameters", _parameters(maker, doc, inner)),
        *facts,
        Section("Deviations from the paper", filled(doc.deviations, inner)),
        Section("Reference", "\n\n".join(filter(None, reference))),
        Section("Example", "\n\n".join(examples.example(kind, maker))),
    ]


def _parameters(maker: Callable[..., Any], doc: Docstring, width: int) -> str:
    """The table of parameters: defaults, and symbols and meanings as far as the docstring has them."""
    meanings = {"spec": SPEC} | doc.arguments
    parameters = inspect.signature(maker).parameters.values()
    rows = [
        (
            each.name,
            "needed" if each.default is each.empty else repr(each.default),
            " ".join(readable(meanings.get(each.name, "")).split()),
        )
        for each in parameters
    ]
    table = Table.of("parameters", words("parameter", "default", "meaning"), rows)
    return terminal_text(table.without_empty(), width) if rows else ""
