"""All scenarios have the draws of a simulation, so that one can be held against the other."""

import pytest

from driftwise.scenarios import Scenario


@pytest.fixture(autouse=True)
def _the_seed_of_simulations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "seed", 0)
