"""Parts print, compare, hash, and survive the way to a file and back; users can define their own."""

import dataclasses
import json
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise import base
from driftwise.algorithms import ALGORITHMS, opt_wlsvi, sw_lsvi_ucb
from driftwise.base import from_config, is_part, stack_parts, to_config
from driftwise.base.arrays import namespace
from driftwise.base.part import PARTS, part
from driftwise.online.features import OneHot
from driftwise.parts import Exploration, ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow, Ucb
from tests.examples import DRIFTS, NUM_EPISODES, NUM_RUNS, SPEC, agent, make


@part
class Gibbs(Exploration):
    """What a user might add: Boltzmann exploration."""

    temperature: base.Numeric = base.number(above=0)

    def perturb(self, inverse: Any, moments: base.Moments, features: base.FeatureTable, key: Any) -> Any:
        return namespace(inverse).zeros((inverse.shape[0], features.values.shape[0]), dtype=inverse.dtype)

    def policy(self, q: Any) -> Any:
        xp = namespace(q)
        weights = xp.exp((q - xp.max(q, axis=-1, keepdims=True)) / self.temperature)
        return weights / xp.sum(weights, axis=-1, keepdims=True)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_agent_survives_the_way_to_json_and_back(name):
    made = agent(name)
    assert from_config(json.loads(json.dumps(to_config(made)))) == made
    assert pickle.loads(pickle.dumps(made)) == made
    assert pickle.loads(pickle.dumps(ALGORITHMS[name])) is ALGORITHMS[name]


@pytest.mark.parametrize(
    "made",
    [
        opt_wlsvi(SPEC, rate=np.linspace(0.1, 1, 7), radius=[[0.5], [1 / 3]]),
        sw_lsvi_ucb(SPEC, length=[3, 9], radius=1),
        dw.drift.Constant(),
        *DRIFTS.values(),
    ],
)
def test_grids_and_drifts_survive_the_way_to_json_and_back(made):
    assert from_config(json.loads(json.dumps(to_config(made)))) == made


def test_a_part_of_any_room_is_found_by_its_name_whatever_was_imported_before():
    program = "import json, sys; from driftwise.base import from_config; from_config(json.loads(sys.argv[1]))"
    config = json.dumps(to_config((dw.drift.Constant(), NoForgetting(), OneHot(num_states=3))))
    done = subprocess.run([sys.executable, "-c", program, config], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_config_is_plain_and_readable():
    assert to_config(opt_wlsvi(dw.Spec(2, 3, 4, 5), rate=0.9, radius=2)) == {
        "type": "LeastSquares",
        "spec": {"type": "Spec", "num_states": 2, "num_actions": 3, "dim": 4, "horizon": 5},
        "forgetting": {"type": "ExponentialWeights", "rate": 0.9},
        "exploration": {"type": "Ucb", "radius": 2.0, "norm": "sandwich"},
        "rewards": "learnt",
        "successors": "all",
        "steps": "apart",
        "ridge": 1.0,
        "clip": "paper",
        "noise": None,
        "unit": "noise",
        "prior": "given",
        "caution": None,
    }


def test_parts_compare_and_hash_by_value():
    assert ExponentialWeights(1) == ExponentialWeights(1.0) != ExponentialWeights(0.5)
    assert Ucb(np.array([1, 2])) == Ucb([1.0, 2.0])
    assert len({opt_wlsvi(SPEC, rate=r, radius=1) for r in (0.9, 0.9, 0.8)}) == 2
    assert SlidingWindow(4) == SlidingWindow(4, capacity=3) != SlidingWindow(4, capacity=5)
    assert ExponentialWeights(1) != PeriodicRestart(1)  # which have the same values


def test_parts_print_as_they_are_built():
    assert repr(ExponentialWeights(0.9)) == "ExponentialWeights(rate=0.9)"
    assert repr(Ucb([1, 2], "single")) == "Ucb(radius=(1.0, 2.0), norm='single')"


def test_parts_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ExponentialWeights(0.9).rate = 0.5  # pyright: ignore[reportAttributeAccessIssue]


def test_a_part_is_known_by_its_name():
    assert PARTS["Gibbs"] is Gibbs
    assert is_part(Gibbs(1.0))
    assert not is_part(SPEC)
    assert from_config(to_config(Gibbs(0.5))) == Gibbs(0.5)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"type": "ExponentialWeight", "rate": 0.9}, r"type .*'ExponentialWeight'.*mean 'ExponentialWei.*\?"),
        ({"rate": 0.9}, "type must name a part, got None"),
        ({"type": "ExponentialWeights", "rat": 0.9}, r"rat is no key .*mean 'rate'\?"),
        ({"type": "ExponentialWeights"}, "rate is missing: ExponentialWeights needs it"),
        ({"type": "ExponentialWeights", "rate": 2}, r"rate must be a number in \(0, 1\], got 2"),
        ({"type": "Ucb", "radius": 1, "norm": "singel"}, r"norm .*'singel'.*mean 'single'\?"),
    ],
)
def test_a_config_that_says_nothing_known_is_refused(config, message):
    with pytest.raises(ValueError, match=message):
        from_config(config)


def test_a_part_cannot_take_the_name_of_another(monkeypatch):
    """Parts are found by name: a second `Ucb` would make the first one unknown to the simulator."""
    monkeypatch.setitem(PARTS, "Ucb", Ucb)  # put back whatever happens
    with pytest.raises(ValueError, match="Ucb"):
        part(type("Ucb", (), {"__module__": "elsewhere"}))


def test_similar_windows_share_a_ring_and_a_longer_one_gets_a_larger_ring():
    assert stack_parts([SlidingWindow(3), SlidingWindow(100)]) == SlidingWindow((3, 100))
    assert stack_parts([SlidingWindow(3), SlidingWindow(3, capacity=64)]).capacity == 64
    assert [SlidingWindow(n).capacity for n in (1, 2, 3, 5, 8, 9)] == [1, 2, 4, 8, 8, 16]
    assert dataclasses.replace(SlidingWindow(5), length=20).capacity == 32


def test_bad_values_of_a_users_part_are_refused():
    with pytest.raises(ValueError, match="temperature must be a number above 0, got 0"):
        Gibbs(0)


def test_a_users_exploration_runs_in_both_engines_and_over_a_grid():
    environment = make()
    grid = dw.LeastSquares(SPEC, ExponentialWeights(0.9), Gibbs((0.1, 0.5)))
    result = dw.simulate(grid, environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    assert result.values.shape == (2, NUM_RUNS, NUM_EPISODES)
    for i, temperature in enumerate((0.1, 0.5)):
        alone = dw.LeastSquares(SPEC, ExponentialWeights(0.9), Gibbs(temperature))
        plain = [one.record.value for one in dw.play(alone, environment, NUM_EPISODES)]
        np.testing.assert_allclose(result.values[i, 0], plain, rtol=0, atol=1e-9)
    assert not np.allclose(result.values[0], result.values[1])
