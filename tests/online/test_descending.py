"""The fast way through mirror descent equals the one over plans, for one memory and for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import adaptive, adaptive_glb_omd, d_glb_omd
from driftwise.base.arrays import map_tree
from driftwise.base.types import Spec
from driftwise.online import Bandit
from driftwise.online.bandits.deciders import Draws, Planned
from driftwise.online.bandits.descending import Descending, DescendingMixture
from driftwise.online.bandits.fastest import decider_of
from tests.online.streams import rounds
from tests.online.test_deciders import choose

SPEC = Spec.bandit(dim=3, num_arms=1)


def led_alike(agent: Any, kind: type, *, jump: float = 0.0) -> Any:
    """The state after rounds in which both deciders chose the same, with rewards that come late, some of them
    means of several."""
    fast, slow = decider_of(agent, 3), Planned(agent, Draws(3))
    assert isinstance(fast, kind)
    waiting = []
    for t, (arms, reward) in enumerate(rounds(80, seed=4)):
        pair = choose(fast, arms, t), choose(slow, arms, t)
        assert pair[0].arm == pair[1].arm
        np.testing.assert_allclose(pair[0][1:3], pair[1][1:3], rtol=0, atol=1e-9)
        waiting.append((*pair, reward + jump * (t > 40)))
        if t % 3:
            one, other, late = waiting.pop(0)
            for decider, choice in ((fast, one), (slow, other)):
                decider.learn(choice, late, weight=(1.0, 2.5)[t % 2])
    map_tree(lambda *each: np.testing.assert_allclose(*each, rtol=1e-8, atol=1e-10), fast.state, slow.state)
    return fast.state


@pytest.mark.parametrize(
    "given",
    [
        dict(rate=0.9, norm_bound=2.0, ridge=0.5),
        dict(rate=1.0, link="log", ridge=0.5, radius=0.3),
        dict(rate=0.9, link="identity", noise_scale=0.2),
    ],
)
def test_the_fast_way_through_mirror_descent_equals_the_planned_one(given: dict[str, Any]) -> None:
    led_alike(d_glb_omd(SPEC, **given), Descending)


@pytest.mark.parametrize("several", [False, True])
def test_projections_are_the_same(several: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = d_glb_omd(SPEC, rate=0.9, norm_bound=0.3, ridge=0.1)
    found, eigh = list[int](), np.linalg.eigh

    def counted(metric: np.ndarray) -> Any:
        found.append(len(metric))
        return eigh(metric)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    led_alike(
        adaptive(agent, shortest=4, longest=16) if several else agent,
        (Descending, DescendingMixture)[several],
    )
    assert found
    if several:
        assert 0 < min(found) < 4  # of those that lie outside alone


def test_the_fast_way_through_a_mixture_equals_the_planned_one() -> None:
    agent = adaptive_glb_omd(SPEC, shortest=4, longest=16, link="identity", norm_bound=9.0, share=0.05)
    state = led_alike(agent, DescendingMixture, jump=5.0)
    assert state.base.weight[-1] < state.tick  # there was an alarm: the last memory went on from a copy


def test_a_mixture_of_mirror_descent_is_one_of_any_forecasts() -> None:
    base = d_glb_omd(SPEC, rate=1.0, ridge=1.0, radius_scale=0.1)
    assert adaptive(base) == adaptive_glb_omd(SPEC)


def test_numbers_that_are_not_finite_are_an_error() -> None:
    bandit = Bandit("adaptive_glb_omd", dim=3)
    broken = bandit._decider.state
    bandit._decider.state = broken._replace(base=broken.base._replace(gram=np.nan * broken.base.gram))
    with pytest.raises(FloatingPointError, match="its index is not finite"):
        bandit.decide(np.eye(3))
