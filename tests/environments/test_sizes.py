"""Sizes that do not fit into memory are refused before anything is allocated."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from driftwise.base.arguments import Count, Several
from driftwise.base.validation import ArgumentError
from driftwise.environments import ENVIRONMENTS, ContinuingMdp, LinearBandit, LinearMdp
from driftwise.environments.arms import FreshArms, orthogonal_arms
from driftwise.environments.drift import Periodic, RandomWalk
from driftwise.environments.models import sizes
from driftwise.environments.paths import SphereWalk

FIXED = ("num_rounds", "seed")  # no array is as long
COUNTS = [
    (name, argument)
    for name, maker in ENVIRONMENTS.items()
    for argument, parameter in inspect.signature(maker, eval_str=True).parameters.items()
    if parameter.annotation in (int, Count, Several) and argument not in FIXED
]


def is_bandit(name: str) -> bool:
    return inspect.signature(ENVIRONMENTS[name], eval_str=True).return_annotation is LinearBandit


@pytest.mark.parametrize("size", [2**31, 2**63 - 1])
@pytest.mark.parametrize(("name", "argument"), COUNTS)
def test_a_size_that_never_fits_is_refused_at_once(name: str, argument: str, size: int) -> None:
    odd = size - 1 + size % 2  # as four rooms need it
    with pytest.raises(ArgumentError, match=r"memory that are free|must be at most|below 2\^64"):
        ENVIRONMENTS[name](**{argument: odd})


@pytest.mark.parametrize("name", sorted({name for name, _ in COUNTS if not is_bandit(name)}))
def test_makers_ask_for_the_room_of_their_arrays_twice(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(sizes, "require_room", lambda what, num_bytes, sizes: asked.append(num_bytes))
    made = ENVIRONMENTS[name]()
    models = made.tables if isinstance(made, ContinuingMdp) else made
    assert isinstance(models, LinearMdp)
    assert asked == [2 * (models.features.nbytes + models.theta.nbytes + models.mu.nbytes)]


def test_anchors_and_paths_that_never_fit_are_refused_at_once() -> None:
    with pytest.raises(ArgumentError, match="models must fit"):
        ENVIRONMENTS["random_linear_mdp"](drift=Periodic(9, num_anchors=10**12))
    river = ENVIRONMENTS["river_swim"](drift=RandomWalk(0.1))
    with pytest.raises(ArgumentError, match=r"paths must fit .* num_episodes = 1000000000000"):
        river.variation(10**12)
    with pytest.raises(ArgumentError, match=r"path must fit .* 1099511627776 episodes of RandomWalk"):
        river.at(np.array([10**12]))
    arms = FreshArms(num_arms=2, dim=2)
    walk = ENVIRONMENTS["linear_bandit"](arms=arms, path=SphereWalk(dim=2, scale=0.1))
    for measure in (walk.variation, walk.norm_bound):  # pyright: ignore[reportAttributeAccessIssue]
        with pytest.raises(ArgumentError, match="paths must fit"):
            measure(10**12)
    with pytest.raises(ArgumentError, match=r"arms must fit .* shape \(1000000000000, 2\)"):
        FreshArms(num_arms=10**12, dim=2)
    with pytest.raises(ArgumentError, match="arms must fit"):
        orthogonal_arms(10**7)
