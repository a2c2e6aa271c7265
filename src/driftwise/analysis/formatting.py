"""Numbers as text: alone, with an interval, as a share, as a count."""

import math

_DIGITS, _DIGITS_OF_HALF_WIDTH = 3, 2  # at least, of a number with an interval
_MAX_DIGITS = 7  # a half-width that needs more to be visible counts as zero


def format_number(value: float, digits: int = 4) -> str:
    """Return a number as text with `digits` digits; a whole number has no decimals."""
    whole = math.isfinite(value) and value == round(value)
    return _write(value, 0 if whole else _decimals(value, digits), abs(value))


def format_half_width(value: float, half_width: float) -> str:
    """Return `12.3 ± 1.2`, or the number alone where its half-width is unknown."""
    if not math.isfinite(half_width):
        return format_number(value)
    value_text, half_width_text = _with_equal_decimals((value, half_width), half_width)
    return f"{value_text} ± {half_width_text}"


def format_interval(value: float, low: float, high: float) -> str:
    """Return `12.3 [11.1, 13.5]`, or the number alone where its interval is unknown."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return format_number(value)
    value_text, low_text, high_text = _with_equal_decimals((value, low, high), (high - low) / 2)
    return f"{value_text} [{low_text}, {high_text}]"


def format_p_value(p: float) -> str:
    """Return a p-value as text."""
    return "–" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def format_percent(share: float) -> str:
    """Return a share as text: `25 %`."""
    return f"{100 * share:.0f} %"


def format_count(count: int, noun: str) -> str:
    """Return a count with its noun: `1 run`, `2,000 runs`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _with_equal_decimals(values: tuple[float, ...], half_width: float) -> list[str]:
    """Numbers with equally many decimals, as many as the largest number or the half-width needs."""
    size = max(abs(value) for value in values)
    fine = _decimals(half_width, _DIGITS_OF_HALF_WIDTH)
    decimals = max(_decimals(size, _DIGITS), fine if fine <= _decimals(size, _MAX_DIGITS) else 0)
    return [_write(value, decimals, size) for value in values]


def _decimals(size: float, digits: int) -> int:
    """Decimals that show a number of this size with `digits` digits."""
    return max(0, digits - 1 - math.floor(math.log10(abs(size)))) if size and math.isfinite(size) else 0


def _write(value: float, decimals: int, size: float) -> str:
    """A number among others of this size, with `decimals` decimals."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if size and not 1e-4 <= size < 1e7:
        return f"{value:.2e}".replace("-", "−")
    text = f"{value:,.{decimals}f}"
    return (text.removeprefix("-") if float(text.replace(",", "")) == 0 else text).replace("-", "−")
