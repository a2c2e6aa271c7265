"""Pages of algorithms, written from the registry when the site is built: docs/algorithms/NAME.md."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np

from driftwise.algorithms import ALGORITHMS, Algorithm
from driftwise.analysis.docstrings import FORMULA, Docstring, fill_prose
from driftwise.analysis.entries import SPEC, algorithms_table, find_papers
from driftwise.analysis.examples import make_example
from driftwise.analysis.figures import Axis, Figure, mean_curve
from driftwise.analysis.statistics import mean_interval
from driftwise.base.schema import format_call
from driftwise.theory.bounds import BOUNDS
from tools.site import embed_figure
from tools.site.runs import agents, results, run_of

STATUSES = {
    "proven": "proven as printed",
    "corrected": "printed with a mistake, and proven with it corrected",
    "withdrawn": "withdrawn: its proof rests on a step that fails",
    "ours": "ours, after the proofs of the papers",
}
NEIGHBOURS = 4  # curves beside an algorithm's own


def pages() -> dict[str, str]:
    """Return the pages by the names of their algorithms."""
    ordered = [row[0].text for row in algorithms_table().rows]
    return {name: "\n\n".join(_sections(ALGORITHMS[name], ordered)) + "\n" for name in ordered}


def neighbours(name: str, run: str, ordered: Sequence[str]) -> list[str]:
    """Return the algorithms of the same run that stand nearest to one in the table."""
    names = [other for other in ordered if other in agents(run)]
    place = names.index(name)
    others = sorted(names, key=lambda other: abs(names.index(other) - place))
    return [other for other in others if other != name][:NEIGHBOURS]


def _sections(algorithm: Algorithm, ordered: Sequence[str]) -> Iterator[str]:
    name, doc = algorithm.name, Docstring.of(algorithm.recipe.__doc__)
    example = make_example("algorithm", algorithm)
    run = run_of(name, algorithm.problem)
    yield f"# {name}"
    yield doc.summary
    facts = ("problem", "forgetting", "exploration", "bound", "paper")
    yield "\n".join(["| | |", "|---|---|", *(f"| {fact} | {getattr(algorithm, fact)} |" for fact in facts)])
    if doc.body:
        yield "## Definition"
        yield from (part.strip() for text in doc.body for part in FORMULA.split(text) if part.strip())
    yield f"## When to use it\n\n{_sentence(doc.use)}"
    yield f"## When not\n\n{_sentence(doc.avoid)}"
    yield f"## Comparison with its neighbours\n\n{_figure(name, run, neighbours(name, run, ordered))}"
    yield f"## Parameters\n\n{_signature(algorithm)}\n\n{_parameters(algorithm, doc)}"
    yield f"## Bound\n\n{_bounds(algorithm)}"
    if doc.deviations:
        yield f"## Deviations from the paper\n\n{_sentence(doc.deviations)}"
    yield f"## Example\n\n```python\n{example.python}\n```"
    yield f"In an experiment file:\n\n```toml\n{example.file}\n```"
    yield f"## Reference\n\n{_reference(algorithm, doc)}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _signature(algorithm: Algorithm) -> str:
    tuned = fill_prose(
        format_call(f"dw.algorithms.{algorithm.name}.tuned", algorithm.tuned), 88, subsequent_indent="    "
    )
    return (
        f"```{{eval-rst}}\n.. autofunction:: driftwise.algorithms.{algorithm.name}\n```\n\n"
        f"The tuned form takes what theory needs instead:\n\n```python\n{tuned}\n```"
    )


def _parameters(algorithm: Algorithm, doc: Docstring) -> str:
    meanings = {"spec": SPEC} | doc.arguments
    rows = ["```{list-table}", ":header-rows: 1", ":widths: 15 20 15 50", ""]
    for cells in [("parameter", "type", "default", "meaning"), *_rows(algorithm, meanings)]:
        rows += [f"{'*' if not number else ' '} - {cell}" for number, cell in enumerate(cells)]
    return "\n".join([*rows, "```"])


def _rows(algorithm: Algorithm, meanings: dict[str, str]) -> Iterator[tuple[str, ...]]:
    for name, parameter in inspect.signature(algorithm.recipe).parameters.items():
        default = "needed" if parameter.default is parameter.empty else f"`{parameter.default!r}`"
        meaning = " ".join(meanings.get(name, "").split())
        yield f"`{name}`", f"`{_type(parameter.annotation)}`", default, meaning


def _type(annotation: Any) -> str:
    """Return an annotation as text; `Any` stands for `Numeric`, a number or a grid of numbers."""
    if get_origin(annotation) in (Union, UnionType):
        return " | ".join(_type(kind) for kind in get_args(annotation)).replace("NoneType", "None")
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\bAny\b", "Numeric", re.sub(r"\b[a-z_]+\.(?=\w)", "", text))


def _bounds(algorithm: Algorithm) -> str:
    known = [bound for bound in BOUNDS.values() if bound.algorithm == algorithm.name]
    if not known:
        return f"{_sentence(algorithm.bound)}. It is not among the bounds that driftwise evaluates."
    rows = [
        f"| {bound.summary} | {', '.join(f'{key} {value}' for key, value in bound.options.items()) or 'any'} "
        f"| {STATUSES[bound.status]} | {bound.source} |"
        for bound in known
    ]
    head = "| bound on dynamic regret | tuned form | status | source |\n|---|---|---|---|"
    return "\n".join(
        [head, *rows, "", "[Theory](../theory.md) says how they are evaluated, with their constants."]
    )


def _reference(algorithm: Algorithm, doc: Docstring) -> str:
    papers = find_papers(f"{doc.reference} {algorithm.paper}")
    words = doc.reference or f"{_sentence(algorithm.paper)}."
    return "\n\n".join([words, *(f"```bibtex\n{paper.bibtex}\n```" for paper in papers)])


def _figure(name: str, run: str, others: Sequence[str]) -> str:
    all_results = results(run)
    first = all_results[name]
    curves = [
        mean_curve(label, number, *mean_interval(all_results[label].cumulative_regret))
        for number, label in enumerate((name, *others))
    ]
    listed = ", ".join(f"{curve.name} {curve.y[-1]:.0f}" for curve in curves)
    figure = Figure(
        f"regret-{name}",
        curves,
        Axis("episode", integer=True),
        Axis("cumulative regret"),
        f"Cumulative regret at the end of the run: {listed}",
        x=np.asarray(first.episodes),
        legend=True,
    )
    linked = ", ".join(f"[`{other}`]({other}.md)" for other in others)
    return (
        f"{embed_figure(figure)}\n\n"
        f"`{name}` compared with {linked}: mean cumulative regret of {first.num_runs} runs and 95 % "
        f"intervals, in the run of [{run}.toml](../runs/{run}.toml), with shared, untuned parameters."
    )
