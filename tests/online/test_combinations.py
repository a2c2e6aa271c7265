"""Batches, maps of features, blocks, resets, late rewards and files together."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftwise.online import Bandit
from driftwise.online.deciders import compiled_mixture
from driftwise.online.deciders.maps_decider import MapsDecider
from tests.online.streams import bits

ARMS, INNER = 3, 3


def rows(rng: np.random.Generator, kind: str) -> np.ndarray:
    """Return arms in blocks, now and then with one that is dense, a duplicate or zeros."""
    arms = np.kron(np.eye(ARMS), rng.uniform(-1, 1, size=INNER))
    if kind == "sometimes dense" and rng.uniform() < 0.1:
        arms[0] = rng.uniform(-1, 1, size=ARMS * INNER)
    if kind == "odd":
        arms[int(rng.integers(ARMS))] = arms[0] * rng.integers(2)
    return arms


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(["adaptive_lin_ucb", "adaptive_lin_ts"]),
    expand=st.sampled_from(["no", "auto"]),
    kind=st.sampled_from(["blocks", "sometimes dense", "odd"]),
    num_draws=st.sampled_from([1, 4]),
    noise=st.sampled_from([0.0, 0.1]),
    seed=st.integers(0, 99),
)
def test_all_forms_decide_the_same(name, expand, kind, num_draws, noise, seed):
    """One with blocks, which is also read and replaced by copies, and one of NumPy alone, to rounding."""
    options: Any = dict(expand=expand, num_draws=num_draws, epsilon=0.1, shortest=4, longest=32)
    if expand == "auto":
        options["blocks"] = ARMS
    rng, theta, waiting = np.random.default_rng(seed), np.linspace(-2, 2, ARMS * INNER), dict[str, float]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_mixture, "MIN_BLOCKS_DIM", 2)
        patch.setattr(compiled_mixture, "largest_cost", lambda dim: dim**3 / 4)
        kernel, bandits = compiled_mixture.KERNEL, list[Any]([None, None])

        def lead(step: Callable[[Bandit], Any]) -> list[Any]:
            """Return what a step returns for each bandit, the second without the kernel."""
            found = []
            for bandit, used in zip(bandits, (kernel, None), strict=True):
                patch.setattr(compiled_mixture, "KERNEL", used)
                found.append(step(bandit))
            return found

        bandits[:] = lead(lambda _: Bandit(name, dim=ARMS * INNER, seed=seed, **options))
        for t in range(40):
            arms = rows(rng, kind)
            bandits[0].scores(arms)  # reading changes nothing
            one, other = lead(operator.methodcaller("decide", arms, id=t, time=t))
            np.testing.assert_allclose(one.scores, other.scores, rtol=1e-6, atol=1e-6)
            assert one.arm == other.arm
            waiting[one.id] = 1e3 + float(arms[one.arm] @ theta + noise * rng.normal())
            if t % 7 == 6:
                ids = rng.permutation([*waiting])[: int(rng.integers(1, 8))].tolist()
                rewards = [waiting.pop(id) for id in ids]
                assert lead(operator.methodcaller("learn_many", ids, rewards)) == [["learnt"] * len(ids)] * 2
            if t == 20:
                assert len({*lead(operator.methodcaller("renew", range(INNER)))}) == 1
                waiting = {each.id: waiting[each.id] for each in bandits[0].pending()}
            if t % 10 == 9:
                copied = lead(lambda bandit: Bandit.from_bytes(bandit.to_bytes()))[0]
                assert bits(copied.state) == bits(bandits[0].state)
                bandits[0] = copied
    assert bandits[0].summary().pending == len(waiting)


@pytest.mark.parametrize("name", ["adaptive_lin_ucb", "adaptive_lin_ts"])
def test_maps_learn_a_batch_of_one_as_one_reward(name):
    one, other = (Bandit(name, dim=3, expand="auto", shortest=4, longest=16) for _ in range(2))
    decider, rng = other._decider, np.random.default_rng(0)
    assert isinstance(decider, MapsDecider)
    for inner in decider._deciders.values():
        inner.least_batch = 1
    for _ in range(40):
        arms, reward = rng.uniform(-1, 1, size=(2, 3)), float(rng.normal())
        ids = [bandit.decide(arms).id for bandit in (one, other)]
        one.learn(ids[0], reward)
        other.learn_many([ids[1]], [reward])
    np.testing.assert_allclose(other.state.log_weights, one.state.log_weights, rtol=1e-8)
    assert other.state.tick == one.state.tick == 40
