"""Papers as BibTeX, found by what a docstring or a table calls them."""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import NamedTuple


class Paper(NamedTuple):
    """An entry of the bibliography."""

    bibtex: str
    title: str
    names: frozenset[str]  # by which texts cite it, as "Touati & Vincent 2020"


@functools.cache
def papers() -> tuple[Paper, ...]:
    """The bibliography."""
    text = (files("driftwise.analysis") / "references.bib").read_text(encoding="utf-8")
    return tuple(_paper(entry.strip()) for entry in text.split("\n\n") if entry.strip())


def cited(text: str) -> list[Paper]:
    """The papers that a text names by authors and year, or by a title in quotes."""
    text = " ".join(text.split())
    titles = re.findall(r'"([^"]+)"', text)
    return [
        paper
        for paper in papers()
        if any(paper.title == title or paper.title.startswith(f"{title}:") for title in titles)
        or any(name in text for name in paper.names)
    ]


def _paper(bibtex: str) -> Paper:
    fields = dict(re.findall(r"^  (\w+) = \{(.*)\},?$", bibtex, re.MULTILINE))
    authors = [author.split(",")[0] for author in fields["author"].split(" and ")]
    *others, last = authors
    listed = f"{', '.join(others)} & {last}" if others else last
    names = frozenset(f"{each} {fields['year']}" for each in (listed, f"{authors[0]} et al."))
    return Paper(bibtex, fields["title"], names)
