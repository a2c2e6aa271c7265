"""The compiled module gives the numbers of NumPy, checks all arguments, and owns its memory."""

from __future__ import annotations

import array
import copy
import gc
import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.online.deciders import mixture_decider
from driftwise.online.deciders.memories import MixtureNumbers, NumpyMixture, Sums
from driftwise.online.deciders.mixture_decider import KERNEL, CompiledMixture
from driftwise.online.limits import run_silently

pytestmark = pytest.mark.skipif(KERNEL is None, reason="nothing was compiled when driftwise was installed")

LANES = 4  # memories side by side


def both(dim: int, num: int, squared: bool, seed: int = 0) -> tuple[NumpyMixture, CompiledMixture]:
    """Mixtures of the same memories, whose weights are not all alike."""
    rng = np.random.default_rng(seed)
    rates, ridges, prior = rng.uniform(0.6, 1, num), rng.uniform(0.1, 2, num), rng.dirichlet(np.ones(num))
    gram = ridges[:, None, None] * np.eye(dim)
    sums = Sums(gram, gram.copy() if squared else None, np.zeros((num, dim)))
    numbers = MixtureNumbers(sums, np.zeros((6, num)), np.log(rng.dirichlet(np.ones(num))))
    return NumpyMixture(rates, ridges, prior, numbers), CompiledMixture(rates, ridges, prior, numbers)


def flat(numbers: MixtureNumbers) -> list[np.ndarray]:
    return [each for each in (*numbers.sums, *numbers[1:]) if each is not None]


def assert_same(one: NumpyMixture, other: CompiledMixture, arms: np.ndarray, radius: float) -> None:
    """The same to rounding: matrices here have condition numbers below 1e4."""
    assert one.heaviest == other.heaviest
    seen = [(*flat(each.numbers), each.weights, each.stats, each.log_weights) for each in (one, other)]
    for j in range(len(one.weights)):
        seen = [
            (
                *numbers,
                *mixture.bounds(j, arms, radius),
                *mixture.memory(j).spread(arms),
                mixture.memory(j).gram,
            )
            for numbers, mixture in zip(seen, (one, other), strict=True)
        ]
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
    numbers = MixtureNumbers(sums, np.zeros((6, num)), np.log(equal))
    given, arms = (np.full(num, 0.9), np.ones(num), equal, numbers), np.array([[1.0, 0.5], [0.2, 1.0]])
    one, other = NumpyMixture(*given), CompiledMixture(*given)
    for _ in range(2):
        for j in range(num):
            for pair in zip(*(run_silently(each.bounds, j, arms, 2.0) for each in (one, other)), strict=True):
                np.testing.assert_allclose(*pair, rtol=1e-7)
        given = np.ones(2), 4.0, 1.0, 3.0, 1.0, 0.1
        assert run_silently(other.learn, *given) == pytest.approx(run_silently(one.learn, *given), rel=1e-7)
        for first, second in zip(flat(one.numbers), flat(other.numbers), strict=True):
            np.testing.assert_allclose(second, first, rtol=1e-7)


def test_many_arms_have_the_bounds_of_few():
    _, mixture = both(5, 3, squared=True)
    mixture.learn(np.ones(5), 1.0, 1.0, 4.0, 0.5, 0.1)
    arms = np.random.default_rng(0).normal(size=(mixture_decider.MANY_NUMBERS // 5, 5))
    for all_, few in zip(mixture.bounds(1, arms, 2.0), mixture.bounds(1, arms[:9], 2.0), strict=True):
        np.testing.assert_allclose(all_[:9], few, rtol=1e-12)


@pytest.mark.parametrize(("reward", "degrees", "scale"), [(1e100, 3.0, 1e-200), (5.0, 1e7, 1e-3)])
def test_an_error_beyond_all_expectation_leaves_weights_that_are_finite(reward, degrees, scale):
    """A square over its scale that overflows, and scores all so low that their exponentials are 0."""
    one, other = both(2, 6, squared=True)
    for each in (one, other):
        run_silently(each.learn, np.ones(2), reward, 1.0, degrees, scale, 0.1)
        assert np.isfinite(each.log_weights).all()
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-6)  # of the many degrees
    assert one.heaviest == other.heaviest


def test_the_first_of_memories_that_are_equal_is_the_heaviest():
    sums = Sums(np.ones((5, 1, 1)), None, np.zeros((5, 1)))
    equal = np.full(5, 0.2)
    numbers = MixtureNumbers(sums, np.zeros((6, 5)), np.log(equal))
    for make in (NumpyMixture, CompiledMixture):
        mixture = make(np.full(5, 0.9), np.ones(5), equal, numbers)
        mixture.learn(np.ones(1), 1.0, 1.0, 4.0, 0.5, 0.1)
        assert mixture.heaviest == mixture.weights.tolist().index(max(mixture.weights))
    assert mixture.heaviest == 0  # NumPy's logarithms of equal numbers may differ in their last bits


def test_a_squared_norm_that_rounding_has_made_negative_counts_by_its_size():
    sums = Sums(np.eye(2)[None], np.array([[[1, 1 + 1e-9], [1 + 1e-9, 1]]]), np.zeros((1, 2)))
    numbers = MixtureNumbers(sums, np.zeros((6, 1)), np.zeros(1))
    for make in (NumpyMixture, CompiledMixture):
        mixture = make(np.ones(1), np.ones(1), np.ones(1), numbers)
        _, bonus = mixture.bounds(0, np.array([[1.0, -1.0]]), 1.0)
        np.testing.assert_allclose(bonus, 2e-9**0.5, rtol=1e-6)


NUM, DIM = 2, 3
SAMPLE = (1.0, 1.0, 4.0, 0.5, 0.1)
SQUARE, TWO, THREE, ARMS = np.empty((DIM, DIM)), np.ones(2), np.ones(3), np.ones((2, 3))


def arguments(**changes: Any) -> tuple[Any, ...]:
    """Return the arguments of a kernel of two memories, of which some are others."""
    usual = {
        "rates": np.full(NUM, 0.9),
        "ridges": np.ones(NUM),
        "prior": np.full(NUM, 0.5),
        "gram": np.tile(np.eye(DIM), (NUM, 1, 1)),
        "gram_sq": np.tile(np.eye(DIM), (NUM, 1, 1)),
        "cross": np.zeros((NUM, DIM)),
        "stats": np.zeros((6, NUM)),
        "log_weights": np.log(np.full(NUM, 0.5)),
        "worst": 10.0,
    }
    return tuple((usual | changes).values())


class Resizing:
    """A number that shrinks an array while it is asked for its value."""

    def __init__(self, numbers: array.array[float]) -> None:
        self.numbers = numbers

    def __float__(self) -> float:
        del self.numbers[1:]
        return 1.0


@pytest.mark.parametrize(
    ("method", "given", "error", "sentence"),
    [
        ("learn", (np.ones(4), *SAMPLE), ValueError, r"features: expected the shape \(3,\), got \(4,\)"),
        ("learn", (THREE[None], *SAMPLE), ValueError, r"features: .* \(3,\), got \(1, 3\)"),
        ("learn", (np.array(1.0), *SAMPLE), ValueError, r"features: expected the shape \(3,\), got \(\)"),
        ("learn", (np.ones(6)[::2], *SAMPLE), ValueError, "features: expected an aligned array in C order"),
        ("learn", (THREE.astype(">f8"), *SAMPLE), ValueError, "features: .* 64-bit floats, got .*'>d'"),
        ("learn", (b"abc", *SAMPLE), ValueError, "features: expected 64-bit floats, got the format 'B'"),
        ("learn", ([1.0, 2.0, 3.0], *SAMPLE), TypeError, "features: expected an array of .*, got .* list"),
        ("learn", (4096, *SAMPLE), TypeError, "features: expected an array of .*, got .* int"),
        ("learn", (None, *SAMPLE), TypeError, "features: expected an array of .*, got .* NoneType"),
        ("learn", (THREE, "one", *SAMPLE[1:]), TypeError, "reward: expected a number, got .* str"),
        ("learn", (THREE, *SAMPLE[:-1], None), TypeError, "share: .* NoneType"),
        ("learn", (THREE,), TypeError, r"learn\(\) takes 6 arguments, got 1"),
        ("learn_forecast", (TWO, *SAMPLE, TWO, TWO), ValueError, "features: "),
        ("learn_forecast", (THREE, *SAMPLE, THREE, TWO), ValueError, "error: "),
        ("learn_forecast", (THREE, *SAMPLE, TWO, np.ones(1)), ValueError, "variance: "),
        ("learn_forecast", (THREE, *SAMPLE), TypeError, "takes 8 arguments, got 6"),
        ("bounds", (0, 1.0, np.ones((2, 2)), TWO, TWO), ValueError, r"arms: .* \(n, 3\), got \(2, 2\)"),
        ("bounds", (0, 1.0, np.ones(6), TWO, TWO), ValueError, "arms: "),
        ("bounds", (0, 1.0, ARMS, np.ones(1), TWO), ValueError, r"index: .* \(2,\), got \(1,\)"),
        ("bounds", (0, 1.0, ARMS, TWO, TWO.astype(np.float32)), ValueError, "bonus: .*'f'"),
        ("bounds", (0, 1.0, ARMS.astype(int), TWO, TWO), ValueError, "arms: .*'l'"),
        ("bounds", (0, 1.0, ARMS, np.broadcast_to(1.0, 2), TWO), ValueError, "read-only"),
        ("bounds", (2, 1.0, ARMS, TWO, TWO), IndexError, "memory: .* 0 to 1, got 2"),
        ("bounds", (-1, 1.0, ARMS, TWO, TWO), IndexError, "memory: "),
        ("bounds", (2**80, 1.0, ARMS, TWO, TWO), OverflowError, "int too large"),
        ("bounds", (0.0, 1.0, ARMS, TWO, TWO), TypeError, "integer"),
        ("bounds", (), TypeError, "takes 5 arguments, got 0"),
        ("read", (0, np.empty((2, 3)), SQUARE, THREE), ValueError, "gram: "),
        ("read", (0, SQUARE, None, THREE), ValueError, "gram_sq: expected an array"),
        ("read", (0, SQUARE, SQUARE.T, THREE), ValueError, "gram_sq: .* in C order"),
        ("read", (0, SQUARE, SQUARE, np.empty(0)), ValueError, "cross: "),
        ("read", (9, SQUARE, SQUARE, THREE), IndexError, "memory: "),
        ("renew", (2,), IndexError, "memory: "),
        ("renew", (), TypeError, "takes 1 arguments, got 0"),
    ],
)
def test_a_wrong_argument_is_an_error_and_changes_nothing(
    method: str, given: Any, error: type[Exception], sentence: str
):
    kernel = KERNEL(*arguments())
    kernel.learn(np.ones(3), *SAMPLE)
    before = [bytes(kernel), *read(kernel)]
    with pytest.raises(error, match=sentence):
        getattr(kernel, method)(*given)
    assert [bytes(kernel), *read(kernel)] == before


def read(kernel: Any) -> list[bytes]:
    """Return all sums of a kernel."""
    sums = np.empty((2, DIM, DIM)), np.empty((2, DIM, DIM)), np.empty((2, DIM))
    for j in range(NUM):
        kernel.read(j, *(part[j] for part in sums))
    return [part.tobytes() for part in sums]


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"rates": np.ones(3)}, ValueError, r"rates: expected the shape \(2,\), got \(3,\)"),
        ({"rates": 4096}, TypeError, "rates: "),
        ({"ridges": np.ones(2, dtype=np.float32)}, ValueError, "ridges: "),
        ({"prior": np.ones(4)[::2]}, ValueError, "prior: "),
        ({"gram": None}, TypeError, "gram: "),
        ({"gram": np.ones((2, 3, 2))}, ValueError, r"gram: expected the shape \(2, 3, 3\), got \(2, 3, 2\)"),
        ({"gram_sq": np.ones((2, 9))}, ValueError, "gram_sq: "),
        ({"cross": np.ones((0, 3))}, ValueError, "cross: .* 1 to 32768 memories and dimensions, got 0 and 3"),
        ({"cross": np.ones((2, 0))}, ValueError, "cross: .* got 2 and 0"),
        ({"cross": np.ones((1, 40_000))}, ValueError, "cross: .* got 1 and 40000"),
        ({"cross": np.ones(6)}, ValueError, "cross: "),
        ({"stats": np.ones((5, 2))}, ValueError, "stats: "),
        ({"log_weights": np.ones(1)}, ValueError, "log_weights: "),
        ({"worst": "bad"}, TypeError, "real number"),
    ],
)
def test_a_kernel_is_made_of_arrays_that_fit_together(changes: Any, error: type[Exception], sentence: str):
    with pytest.raises(error, match=sentence):
        KERNEL(*arguments(**changes))


def test_a_kernel_takes_all_arguments_by_position():
    with pytest.raises(TypeError, match="keyword"):
        KERNEL(*arguments()[:-1], worst=1.0)
    with pytest.raises(TypeError, match="9 arguments"):
        KERNEL()


def test_a_kernel_cannot_be_subclassed_changed_copied_or_made_without_its_arrays():
    kernel = KERNEL(*arguments())
    with pytest.raises(TypeError, match="not an acceptable base"):
        type("Other", (KERNEL,), {})
    with pytest.raises(TypeError, match="immutable"):
        setattr(KERNEL, "learn", None)  # noqa: B010
    for change in (lambda: setattr(kernel, "heaviest", 1), lambda: delattr(kernel, "heaviest")):
        with pytest.raises(AttributeError):
            change()
    with pytest.raises(TypeError):
        object.__new__(KERNEL)
    with pytest.raises(TypeError, match="learn"):
        KERNEL.learn(4096, np.ones(3), *SAMPLE)
    for make in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot pickle"):
            make(kernel)
    before = bytes(kernel)
    kernel.__init__(*arguments(prior=np.ones(7)))  # what was made once stays as it is
    assert bytes(kernel) == before


def test_a_view_of_statistics_outlives_its_kernel_and_cannot_be_written():
    kernel = KERNEL(*arguments())
    references = sys.getrefcount(KERNEL)
    view = np.frombuffer(kernel)
    kernel.learn(np.ones(3), *SAMPLE)
    before = view.copy()
    del kernel
    gc.collect()
    np.testing.assert_array_equal(view, before)
    assert view.size == 8 * NUM
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.setflags(write=True)
    del view
    assert sys.getrefcount(KERNEL) == references - 1  # an instance holds its class


def test_an_array_that_is_resized_by_another_argument_is_refused():
    """Features are opened last, and stay where they are while C reads them."""
    kernel, features = KERNEL(*arguments()), array.array("d", [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"features: expected the shape \(3,\), got \(1,\)"):
        kernel.learn(features, Resizing(features), *SAMPLE[1:])


def test_no_arms_have_no_bounds():
    assert KERNEL(*arguments()).bounds(0, 1.0, np.empty((0, DIM)), np.empty(0), np.empty(0))


def test_a_module_of_another_interface_is_not_used(monkeypatch):
    from driftwise.online.deciders import _mixture  # pyright: ignore[reportAttributeAccessIssue]

    monkeypatch.setattr(_mixture, "INTERFACE", 0)
    assert mixture_decider.load_kernel() is None
    monkeypatch.delattr(_mixture, "INTERFACE")  # as in modules of 2026
    assert mixture_decider.load_kernel() is None


def test_the_module_was_compiled_from_its_source():
    """If this fails in a checkout, `make` compiles it again."""
    from driftwise.online.deciders import _mixture  # pyright: ignore[reportAttributeAccessIssue]

    source = Path(mixture_decider.__file__).with_name("_mixture.c").read_bytes()
    assert hashlib.sha256(source).hexdigest() == _mixture.SOURCE
