"""A docstring in its sections, written for a terminal."""

from __future__ import annotations

import inspect
import re
import textwrap
from dataclasses import dataclass, field
from typing import Any

from driftwise.analysis.formulas import plain_formula, readable

HEADINGS = {"When to use": "use", "When not": "avoid", "Deviations": "deviations"}  # of one paragraph each
FORMULA = re.compile(r"(\$\$.+?\$\$)", re.DOTALL)


@dataclass
class Docstring:
    """What a docstring says, section by section, formulas as they stand in it."""

    summary: str
    body: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)  # several may have one text
    use: str = ""
    avoid: str = ""
    reference: str = ""
    deviations: str = ""

    @classmethod
    def of(cls, text: str | None) -> Docstring:
        """The sections of a docstring."""
        summary, *paragraphs = inspect.cleandoc(text or "").split("\n\n")
        made = cls(" ".join(summary.split()))
        for paragraph in paragraphs:
            before, reference, after = paragraph.partition("Reference: ")
            if paragraph.startswith("Args:"):
                made.arguments = _arguments(paragraph)
            elif heading := next((each for each in HEADINGS if paragraph.startswith(each)), None):
                setattr(made, HEADINGS[heading], paragraph.partition(":")[2].strip())
            else:
                made.body += [before] if before.strip() else []
                made.reference = after if reference else made.reference
        return made

    def written(self, width: int) -> str:
        """The body: prose in lines of this width, formulas and code below each other."""
        return "\n\n".join(_written(paragraph, width) for paragraph in self.body)


def filled(text: str, width: int, **layout: Any) -> str:
    """Prose in lines of this width, its formulas in Unicode; no word is broken."""
    lines = " ".join(readable(text).split())
    return textwrap.fill(lines, width, break_long_words=False, break_on_hyphens=False, **layout)


def _written(paragraph: str, width: int) -> str:
    if paragraph.startswith("```"):
        return textwrap.indent(re.sub(r"^```.*\n?", "", paragraph, flags=re.MULTILINE).strip(), "  ")
    if re.match(r"\d\. |[-*] ", paragraph):
        return readable(paragraph)
    parts = (part for part in FORMULA.split(paragraph) if part.strip())
    return "\n".join(
        _formula(part[2:-2], width) if part.startswith("$$") else filled(part, width) for part in parts
    )


def _formula(latex: str, width: int) -> str:
    lines = plain_formula(latex).splitlines()
    return "\n".join(filled(line, width, initial_indent="  ", subsequent_indent="      ") for line in lines)


def _arguments(paragraph: str) -> dict[str, str]:
    """Texts by names, from lines `a, b: text` that go on where they are indented further."""
    entries = re.findall(r"^  ([\w, ]+): (.*(?:\n    .*)*)", paragraph, re.MULTILINE)
    return {name.strip(): text for names, text in entries for name in names.split(",")}
