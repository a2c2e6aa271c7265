"""The catalogue: tables of all names, the entry of each name as text, and the bibliography."""

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from importlib.resources import files
from operator import attrgetter
from typing import Any, NamedTuple

from driftwise.algorithms import ALGORITHMS, Algorithm
from driftwise.algorithms.algorithm import FAMILIES
from driftwise.analysis.docstrings import Docstring, fill_prose, readable
from driftwise.analysis.examples import make_example
from driftwise.analysis.table import Table, terminal_text, words
from driftwise.base.schema import format_call
from driftwise.base.validation import ArgumentError, suggest_name
from driftwise.environments import ENVIRONMENTS, Environment
from driftwise.experiments import EXPERIMENTS
from driftwise.experiments.building import parts_of
from driftwise.scenarios.scenario import LEVELS, SUITES, Scenario, all_scenarios

_FACTS = ("problem", "forgetting", "exploration", "bound")  # about algorithms, in tables
SPEC = "the sizes of the problem, `environment.spec`"
_POLICIES = {"bandits": 'bandit_policy("adaptive_lin_ucb")', "mdps": 'mdp_policy("adaptive_opt_wlsvi")'}


def algorithms_table() -> Table:
    """Return the registered algorithms by families: those that forget, those that need not, baselines."""

    def place(algorithm: Algorithm) -> tuple[int, bool, bool, str]:
        family = algorithm.__module__.rpartition(".")[0].rpartition(".")[2]
        rank = [*FAMILIES, family].index(family)
        return rank, algorithm.paper == "baseline", algorithm.forgetting.startswith("none"), algorithm.name

    headings = ("algorithm", "problem", "forgetting", "exploration", "bound on dynamic regret", "paper")
    facts = attrgetter("name", *_FACTS, "paper")
    return Table.of("algorithms", words(*headings), map(facts, sorted(ALGORITHMS.values(), key=place)))


def _makers(kind: str) -> Mapping[str, Any]:
    return {"algorithms": ALGORITHMS, "environments": ENVIRONMENTS}.get(kind) or parts_of(_singular(kind))


def _makers_table(kind: str) -> Table:
    """Return names with the first lines of their docstrings."""
    rows = [(name, readable((maker.__doc__ or "").split("\n")[0])) for name, maker in _makers(kind).items()]
    return Table.of(kind, words(_singular(kind), "what it is"), rows)


def _experiments_table() -> Table:
    rows = [(name, experiment.summary) for name, experiment in EXPERIMENTS.items()]
    return Table.of("experiments", words("experiment", "what happens"), rows)


def _scenarios_table() -> Table:
    """Return the words that names of scenarios are made of."""
    rows = [(level, part, text) for part, levels in LEVELS.items() for level, text in levels.items()]
    columns = words("scenario", "in PROBLEM/MOVE-STRENGTH/FEEDBACK/START", "what it is")
    return Table.of("scenarios", columns, rows)


def _singular(kind: str) -> str:
    return kind if kind == "arms" else kind.removesuffix("s")


_PARTS = ("drifts", "paths", "arms", "corruptions", "forgettings", "explorations", "detectors")
KINDS: dict[str, Callable[[], Table]] = {
    "experiments": _experiments_table,
    "algorithms": algorithms_table,
    "environments": functools.partial(_makers_table, "environments"),
    "scenarios": _scenarios_table,
    **{kind: functools.partial(_makers_table, kind) for kind in _PARTS},
}


class Paper(NamedTuple):
    """An entry of the bibliography."""

    bibtex: str
    title: str
    names: tuple[str, ...]  # by which texts cite it, as "Touati & Vincent 2020"


@functools.cache
def papers() -> tuple[Paper, ...]:
    """Return the bibliography."""
    entries, text = [], (files("driftwise.analysis") / "references.bib").read_text(encoding="utf-8")
    for bibtex in filter(None, map(str.strip, text.split("\n\n"))):
        fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", bibtex, re.MULTILINE))
        *others, last = [author.split(",")[0] for author in fields["author"].split(" and ")]
        listed = f"{', '.join(others)} & {last}" if others else last
        authors = listed, f"{[*others, last][0]} et al."
        entries.append(Paper(bibtex, fields["title"], tuple(f"{name} {fields['year']}" for name in authors)))
    return tuple(entries)


def find_papers(text: str) -> list[Paper]:
    """Return the papers that a text names by authors and year, or by a title in quotes."""
    text = " ".join(text.split())
    titles = re.findall(r'"([^"]+)"', text)
    return [
        paper
        for paper in papers()
        if any(paper.title == title or paper.title.startswith(f"{title}:") for title in titles)
        or any(name in text for name in paper.names)
    ]


def entry_text(name: str, width: int) -> str:
    """Return the entries of a name, in sections of lines of at most `width`, but for code."""
    entries = []
    for kind in KINDS:
        if name not in _names(kind):
            continue
        describe = {"experiments": _experiment_entry, "scenarios": _scenario_entry}.get(kind, _maker_entry)
        title, sections = describe(kind, name, width - 2)
        lines = [fill_prose(f"{name} ({_singular(kind)}). {title}", width)]
        for heading, text in sections.items():
            if text:
                lines += ["", heading, textwrap.indent(text, "  ")]
        entries.append("\n".join(lines))
    if not entries:
        close = suggest_name(name, entry_names())
        raise ArgumentError("NAME", "be one that 'driftwise list' has", name, f"{name!r}{close}")
    return "\n\n".join(entries)


def entry_names() -> list[str]:
    """Return all names that have an entry."""
    return [name for kind in KINDS for name in _names(kind)]


def _names(kind: str) -> list[str]:
    listed = [row[0].text for row in KINDS[kind]().rows]
    return [*listed, *all_scenarios()] if kind == "scenarios" else listed  # made of the listed words


def _experiment_entry(kind: str, name: str, width: int) -> tuple[str, dict[str, str]]:
    experiment = EXPERIMENTS[name]
    environments = (experiment.environments or {"": experiment.environment or {}}).values()
    names = (env.name if isinstance(env, Environment) else str(env.get("type")) for env in environments)
    return experiment.summary, {
        "Sizes": f"{experiment.episodes:,} episodes, {experiment.runs:,} runs",
        "Environments": fill_prose(", ".join(dict.fromkeys(names)), width),
        "Agents": fill_prose(", ".join(experiment.agents), width),
        "Finding": fill_prose(experiment.finding or "", width),
        "Example": f"driftwise run {experiment.name}",
    }


def _scenario_entry(kind: str, name: str, width: int) -> tuple[str, dict[str, str]]:
    """Return the summary of a scenario; of a word, what it stands for, and the first scenario that moves."""
    scenarios = all_scenarios()
    if name in scenarios:
        scenario, title = scenarios[name], scenarios[name].summary
    else:
        title = next(f"{part}: {levels[name]}." for part, levels in LEVELS.items() if name in levels)
        moving = (scenario for scenario in scenarios.values() if scenario.move != "none")
        having = (scenario for scenario in moving if name in {getattr(scenario, part) for part in LEVELS})
        scenario = next(having, Scenario("linear_bandit"))
    suites = SUITES.items()
    sizes = (f"{size}: {own.rounds:,} rounds, {own.runs:,} run{'s' * (own.runs > 1)}" for size, own in suites)
    find, play = "dw.scenarios.find_scenario(name)", "dw.scenarios.play_policy(policy, scenario).regret"
    example = ["import driftwise as dw", f'name = "{scenario.name}"', f"scenario = {find}"]
    example += [f"policy = dw.scenarios.{_POLICIES[scenario.kind]}", play]
    return title, {
        "Scenario": fill_prose(scenario.name, width),
        "Sizes": "\n".join(sizes),
        "Jumps, at the small size": fill_prose(", ".join(map(str, scenario.changes)) or "none", width),
        "Example": "\n".join(example),
    }


def _maker_entry(kind: str, name: str, width: int) -> tuple[str, dict[str, str]]:
    maker = _makers(kind)[name]
    doc, calls, facts, paper = Docstring.of(inspect.unwrap(maker).__doc__), [format_call(name, maker)], "", ""
    if isinstance(maker, Algorithm):
        calls.append(format_call(f"{name}.tuned", maker.tuned))
        rows = [(fact, getattr(maker, fact)) for fact in _FACTS]
        table = Table.of("row", words("column", "of the table of algorithms"), rows)
        facts, paper = terminal_text(table, width).split("\n", 2)[2], maker.paper
    rows, meanings = [], {"spec": SPEC} | doc.arguments
    for parameter in inspect.signature(maker).parameters.values():
        default = "needed" if parameter.default is parameter.empty else repr(parameter.default)
        rows.append((parameter.name, default, " ".join(readable(meanings.get(parameter.name, "")).split())))
    table = Table.of("parameters", words("parameter", "default", "meaning"), rows)
    bibtex = [cited.bibtex for cited in find_papers(f"{doc.reference} {paper}")]
    reference = [fill_prose(doc.reference or paper, width), *bibtex]
    return doc.summary, {
        "Signature": "\n".join(fill_prose(call, width, subsequent_indent="    ") for call in calls),
        "Definition": doc.format_body(width),
        "When to use": fill_prose(doc.use, width),
        "When not": fill_prose(doc.avoid, width),
        "Parameters": terminal_text(table.without_empty(), width) if rows else "",
        "In short": facts,
        "Deviations from the paper": fill_prose(doc.deviations, width),
        "Reference": "\n\n".join(filter(None, reference)),
        "Example": "\n\n".join(make_example(_singular(kind), maker)),
    }
