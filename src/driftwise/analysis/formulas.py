"""Formulas of docstrings, written in LaTeX, as text that a terminal shows."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
IDLE = re.compile(r" (?=[)\]}⌋⌉,._])|(?<=[({]) |(?<=[a-z]{2}) (?=[({])")  # blanks that tell nothing apart
GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ",
    "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ",
    "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ",
    "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ",
    "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
}  # fmt: skip
SIGNS = {
    "sum": "Σ", "prod": "Π", "int": "∫", "top": "ᵀ", "in": "∈", "ni": "∋", "le": "≤", "ge": "≥", "ne": "≠",
    "sim": "~", "leftarrow": "←", "to": "→", "infty": "∞", "pm": "±", "cdot": "·", "times": "×", "dots": "…",
    "propto": "∝", "mid": "|", "|": "‖", "{": "{", "}": "}", "ell": "ℓ", "lfloor": "⌊", "rfloor": "⌋",
    "lceil": "⌈", "rceil": "⌉", "langle": "⟨", "rangle": "⟩", "approx": "≈", "partial": "∂",
    ",": "", "!": "", ";": " ", ":": " ", " ": " ", "quad": "  ", "qquad": "\n",
}  # fmt: skip
SPACED = {"∈", "∋", "≤", "≥", "≠", "~", "←", "→", "±", "∝", "≈"}
FRACTIONS = ("\\frac", "\\tfrac")
ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "check": "\u030c", "dot": "\u0307"}
SIZES = {"big", "bigl", "bigr", "Big", "Bigl", "Bigr", "left", "right", "displaystyle"}
AS_THEY_ARE = {"text", "mathrm", "mathbb", "mathcal", "operatorname"}
RAISED = dict(zip("0123456789+-n*", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ*", strict=True)) | {"ᵀ": "ᵀ"}


def readable(text: str) -> str:
    """A text in which formulas between dollars are written in Unicode; the rest stays as it is."""
    return re.sub(r"\$\$?(.+?)\$\$?", lambda found: plain_formula(found[1]), text, flags=re.DOTALL)


def plain_formula(latex: str) -> str:
    r"""A formula in Unicode: `\frac{a+b}{c}` is `(a+b)/c`. After a `\qquad` there is a new line."""
    tokens = deque(TOKEN.findall(latex))
    lines = (" ".join(each.split()).strip(",") for each in "".join(_pieces(tokens)).split("\n"))
    return "\n".join(IDLE.sub("", line) for line in lines if line)


def _pieces(tokens: deque[str]) -> Iterator[str]:
    """Texts of the tokens up to the end of their group."""
    while tokens and (token := tokens.popleft()) != "}":
        yield _piece(token, tokens)


def _piece(token: str, tokens: deque[str]) -> str:
    """The text of a token and of what it takes from those that follow."""
    if token == "{":
        return "".join(_pieces(tokens))
    if token == "^":
        return _raised(_argument(tokens))
    if token == "_":
        lowered = _argument(tokens).strip()
        return f"_{lowered}" if len(lowered) == 1 else f"_{{{lowered}}}"
    if token.isspace():
        return " "
    if token[0] != "\\":
        return token
    name = token[1:]
    if token in FRACTIONS:
        return f"{_grouped(_argument(tokens))}/{_grouped(_argument(tokens))} "
    if name == "sqrt":
        return f"√{_grouped(_argument(tokens))}"
    if name in ACCENTS:
        first, *rest = _argument(tokens)
        return f"{first}{ACCENTS[name]}{''.join(rest)}"
    if name in AS_THEY_ARE:
        return _argument(tokens)
    if name in SIZES:
        return ""
    if name == "bmod":
        return " mod "
    sign = GREEK.get(name, SIGNS.get(name))
    if sign is None:  # log, max, …
        return f" {name}({_argument(tokens)}) " if tokens and tokens[0] in FRACTIONS else f" {name} "
    return f" {sign} " if sign in SPACED else sign


def _argument(tokens: deque[str]) -> str:
    """The next group or token."""
    while tokens and tokens[0].isspace():
        tokens.popleft()
    return _piece(tokens.popleft(), tokens).strip(" ") if tokens else ""


def _raised(text: str) -> str:
    if text and all(letter in RAISED for letter in text):
        return "".join(RAISED[letter] for letter in text)
    return f"^{text}" if len(text) == 1 else f"^({text})"


def _grouped(text: str) -> str:
    """An operand, in brackets unless it is one already."""
    whole = re.fullmatch(r"\w[\u0300-\u030f]?(_\w|_\{[^{}]*\})?", text) is not None or text.isdigit()
    return text if whole else f"({text})"
