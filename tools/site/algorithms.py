"""Pages of algorithms, written from the registry when the site is built: docs/algorithms/NAME.md."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from driftwise.algorithms import ALGORITHMS, Algorithm
from driftwise.analysis.catalogue import algorithms_table
from driftwise.analysis.docstrings import FORMULA, Docstring, filled
from driftwise.analysis.drawings import Curve, Drawing
from driftwise.analysis.entries import SPEC
from driftwise.analysis.examples import example
from driftwise.analysis.references import cited
from driftwise.analysis.statistics import mean_interval
from driftwise.base.arguments import call_text
from driftwise.theory.bounds.catalogue import BOUNDS
from tools.site import embedded
from tools.site.runs import agents, results, run_of

STATUSES = {
    "proven": "proven as printed",
    "corrected": "printed with a mistake, and proven with it corrected",
    "withdrawn": "withdrawn: its proof rests on a step that fails",
    "ours": "ours, after the proofs of the papers",
}
NEIGHBOURS = 4  # curves beside an algorithm's own


def pages() -> dict[str, str]:
    """The pages by the names of their algorithms."""
    ordered = [row[0].text for row in algorithms_table().rows]
    return {name: "\n\n".join(_sections(ALGORITHMS[name], ordered)) + "\n" for name in ordered}


def neighbours(name: str, run: str, ordered: Sequence[str]) -> list[str]:
    """The algorithms of the same run that stand nearest to one in the table."""
    there = [each for each in ordered if each in agents(run)]
    place = there.index(name)
    near = sorted((each for each in there if each != name), key=lambda each: abs(there.index(each) - place))
    return near[:NEIGHBOURS]


def _sections(algorithm: Algorithm, ordered: Sequence[str]) -> Iterator[str]:
    name, doc = algorithm.name, Docstring.of(algorithm.recipe.__doc__)
    made = example("algorithms", algorithm)
    run = run_of(name, algorithm.problem)
    yield f"# {name}"
    yield doc.summary
    facts = ("problem", "forgetting", "exploration", "bound", "paper")
    yield "\n".join(["| | |", "|---|---|", *(f"| {each} | {getattr(algorithm, each)} |" for each in facts)])
    if doc.body:
        yield "## Definition"
        yield from (part.strip() for text in doc.body for part in FORMULA.split(text) if part.strip())
    yield f"## When to use it\n\n{_sentence(doc.use)}"
    yield f"## When not\n\n{_sentence(doc.avoid)}"
    yield f"## Beside its neighbours\n\n{_figure(name, run, neighbours(name, run, ordered))}"
    yield f"## Parameters\n\n{_signature(algorithm)}\n\n{_parameters(algorithm, doc)}"
    yield f"## Bound\n\n{_bounds(algorithm)}"
    if doc.deviations:
        yield f"## Deviations from the paper\n\n{_sentence(doc.deviations)}"
    yield f"## Example\n\n```python\n{made.python}\n```"
    yield f"In an experiment file:\n\n```toml\n{made.file}\n```"
    yield f"## Reference\n\n{_reference(algorithm, doc)}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _signature(algorithm: Algorithm) -> str:
    tuned = filled(
        call_text(f"dw.algorithms.{algorithm.name}.tuned", algorithm.tuned), 88, subsequent_indent="    "
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
    for each in inspect.signature(algorithm.recipe).parameters.values():
        default = "needed" if each.default is each.empty else f"`{each.default!r}`"
        yield (
            f"`{each.name}`",
            f"`{_type(each.annotation)}`",
            default,
            " ".join(meanings.get(each.name, "").split()),
        )


def _type(annotation: Any) -> str:
    """An annotation as it is written; `Any` is what is left of `Numeric`, a number or a grid of them."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\bAny\b", "Numeric", re.sub(r"\b[a-z_]+\.(?=\w)", "", text))


def _bounds(algorithm: Algorithm) -> str:
    known = [bound for bound in BOUNDS.values() if bound.algorithm == algorithm.name]
    if not known:
        return f"{_sentence(algorithm.bound)}. It is not among the bounds that driftwise evaluates."
    rows = [
        f"| {each.summary} | {', '.join(f'{key} {value}' for key, value in each.options.items()) or 'any'} "
        f"| {STATUSES[each.status]} | {each.source} |"
        for each in known
    ]
    head = "| bound on dynamic regret | tuned form | status | source |\n|---|---|---|---|"
    return "\n".join(
        [head, *rows, "", "[Theory](../theory.md) says how they are evaluated, with their constants."]
    )


def _reference(algorithm: Algorithm, doc: Docstring) -> str:
    papers = cited(f"{doc.reference} {algorithm.paper}")
    words = doc.reference or f"{_sentence(algorithm.paper)}."
    return "\n\n".join([words, *(f"```bibtex\n{paper.bibtex}\n```" for paper in papers)])


def _figure(name: str, run: str, others: Sequence[str]) -> str:
    found = results(run)
    shown = {each: found[each] for each in (name, *others)}
    first = found[name]
    curves = []
    for label, result in shown.items():
        mean, half_width = (np.asarray(each) for each in mean_interval(result.cumulative_regret))
        curves.append(Curve(label, mean, mean - half_width, mean + half_width))
    listed = ", ".join(f"{label} {curve.y[-1]:.0f}" for label, curve in zip(shown, curves, strict=True))
    drawing = Drawing(
        f"regret-{name}",
        np.asarray(first.episodes),
        curves,
        "episode",
        "cumulative regret",
        "",
        f"Cumulative regret at the end of the run: {listed}",
    )
    linked = ", ".join(f"[`{each}`]({each}.md)" for each in others)
    return (
        f"{embedded(drawing)}\n\n"
        f"`{name}` beside {linked}: mean cumulative regret of {first.num_runs} runs and 95 % intervals, in "
        f"the run of [{run}.toml](../runs/{run}.toml), whose numbers are common ones and no tunings."
    )
