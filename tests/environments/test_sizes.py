"""Sizes that do not fit into memory are refused before anything is allocated."""

import inspect
import tracemalloc

import numpy as np
import pytest

import driftwise as dw
from driftwise.base import ArgumentError
from driftwise.base.schema import AtLeastTwo, Count
from driftwise.environments import ENVIRONMENTS, environment
from driftwise.environments.models import linear_mdp

FIXED = ("num_rounds", "seed")  # no array is as long
MODULES = {name: maker.__module__ for name, maker in ENVIRONMENTS.items()}
COUNTS = [
    (name, argument)
    for name, maker in ENVIRONMENTS.items()
    for argument, parameter in inspect.signature(maker, eval_str=True).parameters.items()
    if parameter.annotation in (int, Count, AtLeastTwo) and argument not in FIXED
]


@pytest.mark.parametrize("size", [2**31, 2**63 - 1])
@pytest.mark.parametrize(("name", "argument"), COUNTS)
def test_a_size_that_never_fits_is_refused_at_once(name: str, argument: str, size: int) -> None:
    odd = size - 1 + size % 2  # as four rooms need it
    with pytest.raises(ArgumentError, match=r"memory that are free|must be at most|below 2\^64"):
        ENVIRONMENTS[name](**{argument: odd})


LARGE: dict[str, dict[str, int]] = {  # of all but bandits, so large that all but arrays is small
    "river_swim": dict(num_states=100),
    "deep_sea": dict(size=40),
    "hard_instance": dict(num_signs=8, horizon=20),
    "oil_discovery": dict(num_states=20, num_actions=20),
    "machine_replacement": dict(num_conditions=100),
    "latent_chains": dict(num_chains=40, num_actions=100),
    "inventory": dict(capacity=20),
    "admission_control": dict(capacity=60),
    "combination_lock": dict(horizon=30),
    "four_rooms": dict(side=13),
    "random_linear_mdp": dict(num_states=100, dim=100),
    "continuing_river_swim": dict(num_states=100),
    "random_communicating_mdp": dict(num_states=80),
}


@pytest.mark.parametrize("name", sorted({name for name, _ in COUNTS if "bandit" not in MODULES[name]}))
def test_makers_ask_for_the_memory_that_they_take(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(environment, "require_memory", lambda what, num_bytes, sizes: asked.append(num_bytes))
    ENVIRONMENTS[name]()  # imports and caches are not its arrays
    tracemalloc.start()
    try:
        ENVIRONMENTS[name](**LARGE[name])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 0.4 * asked[-1] < peak < 1.05 * asked[-1], peak / asked[-1]


def test_what_can_be_lowered_is_named() -> None:
    with pytest.raises(ArgumentError, match="for side = 100001, horizon = 15 and 1 anchor: lower"):
        ENVIRONMENTS["four_rooms"](side=100_001, horizon=15)
    with pytest.raises(ArgumentError, match="for capacity = 100000000000, horizon = 10 and 1 anchor: "):
        ENVIRONMENTS["inventory"](capacity=10**11)


def test_successor_features_that_are_the_identity_need_no_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.linalg, "pinv", None)
    ENVIRONMENTS["river_swim"]()


def test_anchors_and_paths_that_never_fit_are_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match="models must fit"):
        ENVIRONMENTS["random_linear_mdp"](drift=dw.drift.Periodic(9, num_anchors=10**12))
    river = ENVIRONMENTS["river_swim"](drift=dw.drift.RandomWalk(0.1))
    with pytest.raises(ArgumentError, match=r"paths must fit .* num_episodes = 1000000000000"):
        river.variation(10**12)
    with pytest.raises(ArgumentError, match=r"path must fit .* 1099511627776 episodes of RandomWalk"):
        river.at(np.array([10**12]))
    arms = dw.arms.FreshArms(num_arms=2, dim=2)
    walk = ENVIRONMENTS["linear_bandit"](arms=arms, path=dw.paths.SphereWalk(dim=2, scale=0.1))
    for measure in (walk.variation, walk.norm_bound):  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(ArgumentError, match="paths must fit"):
            measure(10**12)
    with pytest.raises(ArgumentError, match=r"arms must fit .* shape \(1000000000000, 2\)"):
        dw.arms.FreshArms(num_arms=10**12, dim=2)
    with pytest.raises(ArgumentError, match="arms must fit"):
        dw.arms.orthogonal_arms(10**7)


def test_a_variation_that_would_take_hours_to_sum_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    river = ENVIRONMENTS["river_swim"](drift=dw.drift.Periodic(9))
    monkeypatch.setattr(linear_mdp, "_MOST_NUMBERS", 1e8)
    with pytest.raises(ArgumentError, match="num_episodes must be fewer, as the drift moves in too many"):
        river.variation(10**6)
    river.variation(10**4)
