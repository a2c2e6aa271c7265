"""The compiled module gives the numbers of NumPy, and refuses arrays that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.online import Bandit
from driftwise.online.bandits import compiled, mixed
from driftwise.online.bandits.compiled import LANES, MODULE, Compiled
from driftwise.online.bandits.memories import Sums
from driftwise.online.bandits.weighing import Mixture, Numbers, Weighed
from driftwise.online.limits import silently
from tests.online.streams import bits

pytestmark = pytest.mark.skipif(MODULE is None, reason="nothing was compiled when driftwise was installed")


def both(dim: int, num: int, squared: bool, seed: int = 0) -> tuple[Weighed, Compiled]:
    """Mixtures of the same memories, whose weights are not all alike."""
    rng = np.random.default_rng(seed)
    rates, ridges, prior = rng.uniform(0.6, 1, num), rng.uniform(0.1, 2, num), rng.dirichlet(np.ones(num))
    gram = ridges[:, None, None] * np.eye(dim)
    sums = Sums(gram, gram.copy() if squared else None, np.zeros((num, dim)))
    numbers = Numbers(sums, np.zeros((6, num)), np.log(rng.dirichlet(np.ones(num))))
    return Weighed(rates, ridges, prior, numbers), Compiled(rates, ridges, prior, numbers)


def flat(numbers: Numbers) -> list[np.ndarray]:
    return [each for each in (*numbers.sums, *numbers[1:]) if each is not None]


def assert_same(one: Mixture, other: Mixture, arms: np.ndarray, radius: float) -> None:
    """The same to rounding: matrices here have condition numbers below 1e4."""
    assert one.heaviest == other.heaviest
    seen = [(*flat(each.numbers), each.weights, each.held, each.log_weights) for each in (one, other)]
    for j in range(len(one.weights)):
        for ask, numbers in (("bounds", (radius,)), ("spread", ())):
            seen[0] += getattr(one, ask)(j, arms, *numbers)
            seen[1] += getattr(other, ask)(j, arms, *numbers)
        seen[0] += (one.gram(j),)
        seen[1] += (other.gram(j),)
    for first, second in zip(*seen, strict=True):
        np.testing.assert_allclose(second, first, rtol=1e-9, atol=1e-11)


@given(dim=st.integers(1, 9), num=st.integers(1, 11), squared=st.booleans(), seed=st.integers(0, 99))
def test_a_compiled_mixture_is_one_of_numpy(dim, num, squared, seed):
    """Through weights of samples, rounds without a scale, and memories that start anew."""
    rng, (one, other) = np.random.default_rng(seed), both(dim, num, squared, seed)
    for t in range(8):
        features, reward = rng.normal(size=dim), float(rng.normal())
        weight, scale = (1.0 if t % 3 else 2.5), (float(rng.uniform(0, 3)) if t else 0.0)
        given = features, reward, weight, float(rng.uniform(1, 20)), scale, float(rng.uniform())
        assert other.learn(*given) == pytest.approx(one.learn(*given), rel=1e-9)
        if t == 4:
            for each in (one, other):
                each.renew(num // 2)
        assert_same(one, other, rng.normal(size=(t + 1, dim)), float(rng.uniform()))


def test_matrices_that_rounding_has_made_indefinite_are_solved_all_the_same():
    num = LANES + 1
    gram = np.tile(np.eye(2), (num, 1, 1))
    gram[1] = [[1, 1 + 1e-9], [1 + 1e-9, 1]]  # has no factor; the last block has nothing of this kind
    sums, equal = Sums(gram, None, np.full((num, 2), 3.0)), np.full(num, 1 / num)
    numbers, arms = Numbers(sums, np.zeros((6, num)), np.log(equal)), np.array([[1.0, 0.5], [0.2, 1.0]])
    one, other = (make(np.full(num, 0.9), np.ones(num), equal, numbers) for make in (Weighed, Compiled))
    for _ in range(2):
        for j in range(num):
            for pair in zip(*(silently(each.bounds, j, arms, 2.0) for each in (one, other)), strict=True):
                np.testing.assert_allclose(*pair, rtol=1e-7)
        given = np.ones(2), 4.0, 1.0, 3.0, 1.0, 0.1
        assert silently(other.learn, *given) == pytest.approx(silently(one.learn, *given), rel=1e-7)
        for first, second in zip(flat(one.numbers), flat(other.numbers), strict=True):
            np.testing.assert_allclose(second, first, rtol=1e-7)


def test_many_arms_have_the_bounds_of_few():
    _, mixture = both(5, 3, squared=True)
    mixture.learn(np.ones(5), 1.0, 1.0, 4.0, 0.5, 0.1)
    arms = np.random.default_rng(0).normal(size=(compiled.MANY // 5, 5))
    for all_, few in zip(mixture.bounds(1, arms, 2.0), mixture.bounds(1, arms[:9], 2.0), strict=True):
        np.testing.assert_allclose(all_[:9], few, rtol=1e-12)


@pytest.mark.parametrize(("reward", "degrees", "scale"), [(1e100, 3.0, 1e-200), (5.0, 1e7, 1e-3)])
def test_an_error_beyond_all_expectation_leaves_weights_that_are_finite(reward, degrees, scale):
    """A square over its scale that overflows, and scores all so low that their exponentials are 0."""
    one, other = both(2, 6, squared=True)
    for each in (one, other):
        silently(each.learn, np.ones(2), reward, 1.0, degrees, scale, 0.1)
        assert np.isfinite(each.log_weights).all()
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-6)  # of the many degrees
    assert one.heaviest == other.heaviest


def test_the_first_of_memories_that_are_equal_is_the_heaviest():
    sums = Sums(np.ones((5, 1, 1)), None, np.zeros((5, 1)))
    equal = np.full(5, 0.2)
    for make in (Weighed, Compiled):
        mixture = make(np.full(5, 0.9), np.ones(5), equal, Numbers(sums, np.zeros((6, 5)), np.log(equal)))
        mixture.learn(np.ones(1), 1.0, 1.0, 4.0, 0.5, 0.1)
        assert mixture.heaviest == 0


def test_a_squared_norm_that_rounding_has_made_negative_counts_by_its_size():
    sums = Sums(np.eye(2)[None], np.array([[[1, 1 + 1e-9], [1 + 1e-9, 1]]]), np.zeros((1, 2)))
    for make in (Weighed, Compiled):
        mixture = make(np.ones(1), np.ones(1), np.ones(1), Numbers(sums, np.zeros((6, 1)), np.zeros(1)))
        _, bonus = mixture.bounds(0, np.array([[1.0, -1.0]]), 1.0)
        np.testing.assert_allclose(bonus, 2e-9**0.5, rtol=1e-6)


@pytest.mark.parametrize("squared", [True, False])
def test_a_mixture_goes_on_from_its_numbers_bit_by_bit(squared):
    rng, (_, one) = np.random.default_rng(1), both(5, 6, squared)
    rates, ridges, prior = (one._arrays[name].reshape(-1)[:6] for name in ("rates", "ridges", "prior"))
    for _ in range(20):
        one.learn(rng.normal(size=5), 1.0, 1.0, 4.0, 0.5, 0.1)
    other = Compiled(rates, ridges, prior, one.numbers)
    assert bits(other.numbers) == bits(one.numbers)
    assert bits(other.weights) == bits(one.weights)
    for each in (one, other):
        each.learn(np.ones(5), 2.0, 1.0, 4.0, 0.5, 0.1)
    assert bits(other.numbers) == bits(one.numbers)


def test_arms_may_lie_in_memory_as_they_like():
    _, mixture = both(3, 2, squared=True)
    mixture.learn(np.ones(3), 1.0, 1.0, 4.0, 0.5, 0.1)
    arms = np.random.default_rng(0).normal(size=(4, 3))
    crooked = np.frombuffer(b"." + arms.tobytes(), dtype=np.uint8)[1:].view(float).reshape(4, 3)
    for other in (np.asfortranarray(arms), np.repeat(arms, 2, axis=0)[::2], crooked):
        np.testing.assert_array_equal(mixture.bounds(0, other, 1.0), mixture.bounds(0, arms, 1.0))


@pytest.mark.parametrize(
    ("function", "given", "error"),
    [
        ("learn", (np.ones(4), 1.0, 1.0, 1.0, 1.0, 0.1), ValueError),
        ("learn", (np.ones(6)[::2], 1.0, 1.0, 1.0, 1.0, 0.1), ValueError),
        ("learn", (np.ones(3), "one", 1.0, 1.0, 1.0, 0.1), TypeError),
        ("learn", (np.ones(3),), TypeError),
        ("learn_forecast", (np.ones(2), 1.0, 1.0, 1.0, 1.0, 0.1), ValueError),
        ("bounds", (0, 1.0, np.ones((2, 2)), np.ones(2), np.ones(2)), ValueError),
        ("bounds", (0, 1.0, np.ones((2, 3)), np.ones(1), np.ones(2)), ValueError),
        ("bounds", (0, 1.0, np.ones((2, 3)), np.ones(2), np.ones(2, dtype=np.float32)), ValueError),
        ("bounds", (0, 1.0, np.ones((2, 3), dtype=int), np.ones(2), np.ones(2)), ValueError),
        ("bounds", (0, 1.0, np.ones((2, 3)), np.broadcast_to(1.0, 2), np.ones(2)), ValueError),
        ("bounds", (2, 1.0, np.ones((2, 3)), np.ones(2), np.ones(2)), ValueError),
        ("bounds", (-1, 1.0, np.ones((2, 3)), np.ones(2), np.ones(2)), ValueError),
        ("bounds", (), TypeError),
    ],
)
def test_what_does_not_fit_is_an_error_and_changes_nothing(function: str, given: Any, error: type[Exception]):
    _, mixture = both(3, 2, squared=True)
    before = bits(mixture.numbers)
    with pytest.raises(error):
        getattr(MODULE, function)(mixture._address, *given)
    assert bits(mixture.numbers) == before


def test_a_module_of_another_source_is_not_taken(monkeypatch):
    monkeypatch.setattr(MODULE, "SOURCE", "of last week")
    assert compiled.module() is None


def test_a_bandit_decides_the_same_without_the_module(monkeypatch):
    fast = Bandit(dim=4, longest=64)
    monkeypatch.setattr(mixed, "serves", lambda dim: False)
    slow, rng = Bandit(dim=4, longest=64), np.random.default_rng(5)
    assert isinstance(fast._decider._mixture, Compiled)  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(slow._decider._mixture, Weighed)  # pyright: ignore[reportAttributeAccessIssue]
    for t in range(200):
        arms = rng.normal(size=(3, 4)) / 2
        one, other = fast.decide(arms), slow.decide(arms)
        assert one.arm == other.arm
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-8, atol=1e-10)
        for bandit, decision in ((fast, one), (slow, other)):
            bandit.learn(decision.id, float(arms[decision.arm, t // 100]))
