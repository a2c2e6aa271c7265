"""Numbers as texts, with the digits that their size and their interval are worth."""

from __future__ import annotations

import math

DIGITS, OF_HALF_WIDTH = 3, 2  # at least, of a number with an interval
AT_MOST = 7  # digits; a half-width that takes more to be seen is as good as zero


def rounded(value: float, digits: int = 4) -> str:
    """A number as text to so many digits; a whole one has no decimals."""
    whole = math.isfinite(value) and value == round(value)
    return _written(value, 0 if whole else _decimals(value, digits), abs(value))


def with_half_width(value: float, half_width: float) -> str:
    """A number as text: `12.3 ± 1.2`, or alone where its half-width is not known."""
    if not math.isfinite(half_width):
        return rounded(value)
    value_text, half_width_text = _alike((value, half_width), half_width)
    return f"{value_text} ± {half_width_text}"


def with_interval(value: float, low: float, high: float) -> str:
    """A number as text: `12.3 [11.1, 13.5]`, or alone where its interval is not known."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return rounded(value)
    value_text, low_text, high_text = _alike((value, low, high), (high - low) / 2)
    return f"{value_text} [{low_text}, {high_text}]"


def probability(p: float) -> str:
    """A p-value as text."""
    return "–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def daggers(p: float) -> str:
    """A mark of significance: one dagger at 5 %, a double one at 1 %."""
    return "‡" if p <= 0.01 else "†" if p <= 0.05 else ""


def percent(share: float) -> str:
    """A share as text: `25 %`."""
    return f"{100 * share:.0f} %"


def counted(count: int, noun: str) -> str:
    """A number of things as text: `1 run`, `2,000 runs`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _alike(values: tuple[float, ...], half_width: float) -> list[str]:
    """Numbers with equally many decimals: as many as the largest, or the half-width, is worth."""
    size = max(abs(value) for value in values)
    worth = _decimals(half_width, OF_HALF_WIDTH)
    decimals = max(_decimals(size, DIGITS), worth if worth <= _decimals(size, AT_MOST) else 0)
    return [_written(value, decimals, size) for value in values]


def _decimals(size: float, digits: int) -> int:
    """Decimals that a number of this size needs to be seen to so many digits."""
    return max(0, digits - 1 - math.floor(math.log10(abs(size)))) if size and math.isfinite(size) else 0


def _written(value: float, decimals: int, size: float) -> str:
    """A number among others of this size."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if size and not 1e-4 <= size < 1e7:
        return f"{value:.2e}".replace("-", "−")
    text = f"{value:,.{decimals}f}"
    return (text.removeprefix("-") if float(text.replace(",", "")) == 0 else text).replace("-", "−")
