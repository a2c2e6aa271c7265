"""Ten years of Dutch day-ahead electricity prices, cleaned in the open.

The file comes with the package `ev2gym`: `pip install --no-deps ev2gym==2.0.0`. Nothing of the package is
imported. `python -m examples.dutch_prices [FILE]` says what was found in the file.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from examples.packaged import data_folder

from driftwise.base.validation import ArgumentError

UTC, LOCAL, PRICE = "Datetime (UTC)", "Datetime (Local)", "Price (EUR/MWhe)"  # columns
YEAR, MONTH, DAY, HOUR = (
    r"(?P<y>\d{4})",
    r"(?P<m>0[1-9]|1[0-2])",
    r"(?P<d>[0-2]\d|3[01])",
    r"(?P<h>[01]\d|2[0-3])",
)
WRITTEN = {  # times on the hour, by an example; no text fits both, and days above 12 tell where the day is
    "2015-01-31 23:00:00": re.compile(f"{YEAR}-{MONTH}-{DAY} {HOUR}:00:00"),
    "31/01/2015 23:00": re.compile(f"{DAY}/{MONTH}/{YEAR} {HOUR}:00"),
}
BLOCKS = 8  # of a day, three hours each
YEARS = range(2015, 2025)


class Hours(NamedTuple):
    """Each hour once, oldest first."""

    utc: np.ndarray  # [hours] of the type datetime64[h], as the next
    local: np.ndarray
    prices: np.ndarray  # EUR/MWh


class Cleaning(NamedTuple):
    """Faults of a file, counted."""

    rows: int
    untimed: int  # rows without a time: left out
    written: dict[str, int]  # rows by the way their time is written, an example of it
    repeated: int  # rows for an hour that was there already, at the same price: left out
    missing: list[str]  # hours, in UTC, that are not there: a block is the mean of its other hours
    short_days: int  # on which the clock goes forward
    long_days: int  # on which it goes back

    def __str__(self) -> str:
        written = ", ".join(f"{count:,} as {example}" for example, count in self.written.items())
        return (
            f"{self.rows:,} rows, {self.untimed} of them without a time\n"
            f"times are written in {len(self.written)} ways: {written}\n"
            f"hours that come again, at the same price: {self.repeated:,}\n"
            f"hours (UTC) that are missing: {', '.join(self.missing) or 'none'}\n"
            f"days of 23 hours: {self.short_days}, of 25 hours: {self.long_days}"
        )


class Days(NamedTuple):
    """Prices of whole days, by the local clock."""

    dates: np.ndarray  # [days] of the type datetime64[D]
    prices: np.ndarray  # [days, BLOCKS], cents per kWh

    @property
    def years(self) -> np.ndarray:
        return self.dates.astype("datetime64[Y]").astype(int) + 1970


def dutch_file() -> Path:
    """The file of the installed package."""
    return data_folder("ev2gym", "data") / "Netherlands_day-ahead-2015-2024.csv"


def hour_of(text: str) -> tuple[str, str]:
    """An hour as NumPy reads it, and the example of how it is written."""
    for example, pattern in WRITTEN.items():
        if found := pattern.fullmatch(text):
            return "{y}-{m}-{d}T{h}".format(**found.groupdict()), example
    raise ArgumentError("time", f"be an hour, written as {' or '.join(WRITTEN)}", text)


def hours_of(file: Path) -> tuple[Hours, Cleaning]:
    """All hours of a file, and what was wrong with it; an hour that is told in two ways is refused."""
    with file.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    timed = [row for row in rows if row[UTC] and row[LOCAL]]
    told, written = {}, dict.fromkeys(WRITTEN, 0)
    for row in timed:
        utc, example = hour_of(row[UTC])
        written[example] += 1
        news = hour_of(row[LOCAL])[0], float(row[PRICE])
        if told.setdefault(utc, news) != news:
            raise ArgumentError(f"hour {utc} UTC", "have one local time and one price", [told[utc], news])
    ordered = sorted(told)  # as written by ISO 8601, which is their order in time
    utc = np.array(ordered, dtype="datetime64[h]")
    local = np.array([told[hour][0] for hour in ordered], dtype="datetime64[h]")
    prices = np.array([told[hour][1] for hour in ordered])
    clock = np.diff(local - utc).astype(int)  # hours by which it was put forward
    missing = np.setdiff1d(np.arange(utc[0], utc[-1]), utc)
    return Hours(utc, local, prices), Cleaning(
        rows=len(rows),
        untimed=len(rows) - len(timed),
        written={example: count for example, count in written.items() if count},
        repeated=len(timed) - len(told),
        missing=[str(each) for each in missing],
        short_days=int((clock > 0).sum()),
        long_days=int((clock < 0).sum()),
    )


def days_of(hours: Hours) -> Days:
    """Whole days by the local clock, each block the mean of the hours it has: two to four.

    A block has one hour less where the clock goes forward or an hour is missing, and one more where it goes
    back. A day with an empty block is left out.
    """
    day = hours.local.astype("datetime64[D]")
    dates, row = np.unique(day, return_inverse=True)
    place = row, (hours.local - day).astype(int) * BLOCKS // 24
    sums, counts = np.zeros((2, len(dates), BLOCKS))
    np.add.at(sums, place, hours.prices / 10)  # EUR/MWh → cents per kWh
    np.add.at(counts, place, 1)
    whole = counts.all(axis=-1)
    return Days(dates[whole], sums[whole] / counts[whole])


def dutch_days(file: Path | None = None) -> Days:
    """The days of the ten years."""
    days = days_of(hours_of(file or dutch_file())[0])
    given = np.isin(days.years, YEARS)
    return Days(days.dates[given], days.prices[given])


if __name__ == "__main__":
    print(hours_of(Path(sys.argv[1]) if len(sys.argv) > 1 else dutch_file())[1])
