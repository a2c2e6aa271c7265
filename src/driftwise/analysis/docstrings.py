"""A docstring in its sections, and its formulas in Unicode."""

import inspect
import re
import textwrap
from dataclasses import dataclass, field
from typing import Any, Self

_HEADINGS = {"When to use": "use", "When not": "avoid", "Deviations": "deviations"}  # of one paragraph each
FORMULA = re.compile(r"(\$\$.+?\$\$)", re.DOTALL)
_NAMES = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
GREEK: dict[str, str] = dict(zip(_NAMES.split(), "αβγδεεζηθικλμνξπρστφφχψωΓΔΘΛΞΠΣΦΨΩ", strict=True))
_SIGNS = {
    "sum": "Σ", "prod": "Π", "int": "∫", "top": "ᵀ", "in": " ∈ ", "ni": " ∋ ", "le": " ≤ ", "ge": " ≥ ",
    "ne": " ≠ ", "preceq": " ≼ ", "succeq": " ≽ ", "sim": " ~ ", "approx": " ≈ ", "propto": " ∝ ",
    "to": " → ", "leftarrow": " ← ", "pm": " ± ", "bmod": " mod ", "infty": "∞", "cdot": "·", "times": "×",
    "dots": "…", "mid": "|", "|": "‖", "ell": "ℓ", "partial": "∂", "lfloor": "⌊", "rfloor": "⌋",
    "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩", "{": "⦃", "}": "⦄", "quad": "  ", "qquad": "\n",
}  # fmt: skip
_MARKS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "check": "\u030c", "dot": "\u0307"}
_RAISED = str.maketrans("0123456789+-n*", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ*")
_COMMANDS = {"frac", "tfrac", "sqrt", "text", "mathrm", "mathbb", "mathcal", "operatorname", *_MARKS}


def _power(match: re.Match[str]) -> str:
    text = match[1].strip("{}")
    raised = text.translate(_RAISED)
    if text == "ᵀ" or not {*raised} & {*text} or raised == "*":
        return raised
    return f"‸{text}" if len(text) == 1 else f"‸({text})"


def _operand(text: str) -> str:
    """Return an operand, in brackets unless it is a letter or a number."""
    text = text.strip("{}")
    whole = re.fullmatch(r"\w[\u0300-\u030f]?(_\w|_⦃[^⦃⦄]*⦄)?|\d+", text)
    return text if whole else f"({text})"


def _fraction(match: re.Match[str]) -> str:
    function, above, below = match[1], _operand(match[2]), _operand(match[3])
    return f"{function.strip()}({above}/{below})" if function else f"{above}/{below} "


_ARGUMENT = r"\s*(\{[^{}]*\}|[^\s\\{}])"  # a group without groups in it, or a letter
_GROUPS: list[tuple[str, Any]] = [  # from the inside out
    (rf"\\({'|'.join(_MARKS)}){_ARGUMENT}", lambda m: re.sub("(?<=^.)", _MARKS[m[1]], m[2].strip("{}"))),
    (rf"\\(?:text|mathrm|mathbb|mathcal|operatorname){_ARGUMENT}", lambda m: m[1].strip("{}")),
    (rf"(log |ln )?\\t?frac{_ARGUMENT}{_ARGUMENT}", _fraction),
    (rf"\\sqrt{_ARGUMENT}", lambda m: f"√{_operand(m[1])}"),
    (rf"\^{_ARGUMENT[3:]}", _power),
    (r"_\{([^{}])\}", r"_\1"),
    (r"_\{([^{}]*)\}", r"_⦃\1⦄"),
    (r"(?<!frac)(?<!sqrt)(?<!\})\{([^{}]*)\}(?!\{)", r"\1"),
]


def readable(text: str) -> str:
    """Return a text with the formulas between dollars in Unicode."""
    return re.sub(r"\$\$?(.+?)\$\$?", lambda match: plain_formula(match[1]), text, flags=re.DOTALL)


def plain_formula(latex: str) -> str:
    r"""Return a formula in Unicode: `\frac{a+b}{c}` is `(a+b)/c`. A `\qquad` begins a new line."""
    text = re.sub(r"\\(?:left|right|displaystyle|[bB]igg?[lr]?)(?![A-Za-z])|\\[,!]", "", latex)
    text = re.sub(r"\\[;: ]|\s", " ", text)
    text = re.sub(r"\\([A-Za-z]+|[|{}])", _sign, text)
    before = ""
    while text != before:
        before = text
        for pattern, written in _GROUPS:
            text = re.sub(pattern, written, text)
    text = text.translate(str.maketrans({"{": "", "}": "", "⦃": "{", "⦄": "}", "‸": "^"}))
    lines = (re.sub(r" (?=[)\]},.⌋⌉⟩_])|(?<=[({\[⌊⌈⟨√]) ", "", " ".join(x.split())) for x in text.split("\n"))
    return "\n".join(line.strip(",") for line in lines if line)


def _sign(match: re.Match[str]) -> str:
    """Return the sign of a command; commands with arguments stay, and names such as log are words."""
    name = match[1]
    if name in _COMMANDS:
        return match[0]
    following = match.string[match.end() : match.end() + 1]
    return GREEK.get(name) or _SIGNS.get(name) or f" {name}{' ' * (following not in '_(^ ')}"


@dataclass
class Docstring:
    """The sections of a docstring, with formulas in LaTeX."""

    summary: str
    body: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)  # several may have one text
    use: str = ""
    avoid: str = ""
    reference: str = ""
    deviations: str = ""

    @classmethod
    def of(cls, text: str | None) -> Self:
        """Return the sections of a docstring."""
        summary, *paragraphs = inspect.cleandoc(text or "").split("\n\n")
        doc = cls(" ".join(summary.split()))
        for paragraph in paragraphs:
            before, reference, after = paragraph.partition("Reference: ")
            if paragraph.startswith("Args:"):  # lines `a, b: text` that go on where they are indented further
                entries = re.findall(r"^  ([\w, ]+): (.*(?:\n    .*)*)", paragraph, re.MULTILINE)
                doc.arguments = {name.strip(): text for names, text in entries for name in names.split(",")}
            elif heading := next((start for start in _HEADINGS if paragraph.startswith(start)), None):
                setattr(doc, _HEADINGS[heading], paragraph.partition(":")[2].strip())
            else:
                doc.body += [before] if before.strip() else []
                doc.reference = after if reference else doc.reference
        return doc

    def format_body(self, width: int) -> str:
        """Return the body: prose in lines of this width, formulas and code below each other."""
        return "\n\n".join(_format_paragraph(paragraph, width) for paragraph in self.body)


def _format_paragraph(paragraph: str, width: int) -> str:
    if paragraph.startswith("```"):
        return textwrap.indent(re.sub(r"^```.*\n?", "", paragraph, flags=re.MULTILINE).strip(), "  ")
    if re.match(r"\d\. |[-*] ", paragraph):
        return readable(paragraph)
    layout = dict(initial_indent="  ", subsequent_indent="      ")
    lines: list[str] = []
    for part in FORMULA.split(paragraph):
        if part.startswith("$$"):
            lines += (fill_prose(line, width, **layout) for line in plain_formula(part[2:-2]).splitlines())
        elif part.strip():
            lines.append(fill_prose(part, width))
    return "\n".join(lines)


def fill_prose(text: str, width: int, **layout: Any) -> str:
    """Return prose in lines of this width, its formulas in Unicode; no word is broken."""
    lines = " ".join(readable(text).split())
    return textwrap.fill(lines, width, break_long_words=False, break_on_hyphens=False, **layout)
