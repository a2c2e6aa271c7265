"""How benchmarks measure, and how they say what they found: tables in Markdown, as docs/speed.md has them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np


def seconds(
    task: Callable[[], object], repeats: int = 1, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The median of a few timings."""
    times = []
    for _ in range(repeats):
        started = clock()
        task()
        times.append(clock() - started)
    return statistics.median(times)


def exponent(sizes: Sequence[float], times: Sequence[float]) -> float:
    """Slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def times_faster(slow: float, fast: float) -> str:
    """A ratio as tables have it."""
    return f"{slow / fast:,.0f}×" if slow > 9.95 * fast else f"{slow / fast:.1f}×"


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A title and a table; rows are printed as they come."""
    print(f"\n{title}\n\n| {' | '.join(headings)} |\n|{'---|' * len(headings)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def short(number: float) -> str:
    """Three digits, or all before the point."""
    return f"{number:,.0f}" if number >= 99.95 else f"{number:.3g}"
