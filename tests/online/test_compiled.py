"""The compiled module gives the numbers of NumPy, checks all arguments, and owns its memory."""

import array
import copy
import gc
import hashlib
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.online.deciders import compiled_mixture
from driftwise.online.deciders.compiled_mixture import KERNEL, CompiledMixture
from driftwise.online.deciders.memories import MixtureNumbers, NumpyMixture, Sums, WaitingGram, Width
from driftwise.online.limits import run_silently

pytestmark = pytest.mark.skipif(KERNEL is None, reason="nothing was compiled when driftwise was installed")

LANES = 4  # memories side by side


def ridges_of(num: int) -> np.ndarray:
    """The ridges of the memories of `both`."""
    return np.random.default_rng(num).uniform(0.1, 2, num)


def both(dim: int, num: int, squared: bool, seed: int = 0) -> tuple[NumpyMixture, CompiledMixture]:
    """Mixtures of the same memories, whose weights are not all alike."""
    rng, ridges = np.random.default_rng(seed), ridges_of(num)
    rates, prior = rng.uniform(0.6, 1, num), rng.dirichlet(np.ones(num))
    gram = ridges[:, None, None] * np.eye(dim)
    sums = Sums(gram, gram.copy() if squared else None, np.zeros((num, dim)))
    numbers = MixtureNumbers(sums, np.zeros((6, num)), np.log(rng.dirichlet(np.ones(num))))
    return NumpyMixture(rates, ridges, prior, numbers), CompiledMixture(rates, ridges, prior, numbers)


def flat(numbers: MixtureNumbers) -> list[np.ndarray]:
    return [each for each in (*numbers.sums, *numbers[1:]) if each is not None]


def assert_same(
    one: NumpyMixture, other: CompiledMixture, arms: np.ndarray, ridges: np.ndarray, width: Width
) -> None:
    """The same to rounding: matrices here have condition numbers below 1e4."""
    assert one.heaviest == other.heaviest
    seen = [[*flat(each.numbers), each.weights, each.stats, each.log_weights] for each in (one, other)]
    for j, ridge in enumerate(ridges.tolist()):
        for numbers, mixture in zip(seen, (one, other), strict=True):
            numbers += mixture.bounds(j, arms, width._replace(ridge=ridge))
            numbers += *mixture.memory(j).spread(arms, width._replace(ridge=ridge)), mixture.memory(j).gram
    for first, second in zip(*seen, strict=True):
        np.testing.assert_allclose(second, first, rtol=1e-9, atol=1e-11)


@given(dim=st.integers(1, 9), num=st.integers(1, 11), squared=st.booleans(), seed=st.integers(0, 99))
def test_a_compiled_mixture_is_one_of_numpy(dim, num, squared, seed):
    """Through weights of samples, rounds without a scale, and memories that start anew."""
    rng, (one, other) = np.random.default_rng(seed), both(dim, num, squared, seed)
    ridges = ridges_of(num)
    for t in range(8):
        features, reward = rng.normal(size=dim), float(rng.normal())
        weight, scale = (1.0 if t % 3 else 2.5), (float(rng.uniform(0, 3)) if t else 0.0)
        limit = (math.inf, 10.0, 0.1)[t % 3]  # the last clips most rewards
        given = features, reward, weight, float(rng.uniform(1, 20)), scale, float(rng.uniform()), limit
        assert other.learn(*given) == pytest.approx(one.learn(*given), rel=1e-9)
        if t == 4:
            for each in (one, other):
                each.renew(num // 2)
        rows = rng.normal(size=(2, dim))
        variance, waiting = (0.0, 1.0, 1e-4)[t % 3], WaitingGram(rows.T @ rows, rng.uniform(size=dim))
        width = Width(float(rng.uniform()), 0.0, variance, None if t % 2 else waiting)
        assert_same(one, other, rng.normal(size=(t + 1, dim)), ridges, width)


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
            for pair in zip(
                *(run_silently(each.bounds, j, arms, Width(2.0)) for each in (one, other)), strict=True
            ):
                np.testing.assert_allclose(*pair, rtol=1e-7)
        given = np.ones(2), 4.0, 1.0, 3.0, 1.0, 0.1, math.inf
        assert run_silently(other.learn, *given) == pytest.approx(run_silently(one.learn, *given), rel=1e-7)
        for first, second in zip(flat(one.numbers), flat(other.numbers), strict=True):
            np.testing.assert_allclose(second, first, rtol=1e-7)


def test_many_arms_have_the_bounds_of_few():
    _, mixture = both(5, 3, squared=True)
    mixture.learn(np.ones(5), 1.0, 1.0, 4.0, 0.5, 0.1, math.inf)
    arms = np.random.default_rng(0).normal(size=(compiled_mixture.MANY_NUMBERS // 5, 5))
    width = Width(2.0, ridges_of(3).item(1), 1e-3, WaitingGram(np.eye(5), np.ones(5)))
    for all_, few in zip(mixture.bounds(1, arms, width), mixture.bounds(1, arms[:9], width), strict=True):
        np.testing.assert_allclose(all_[:9], few, rtol=1e-12)


@pytest.mark.parametrize(("reward", "degrees", "scale"), [(1e100, 3.0, 1e-200), (5.0, 1e7, 1e-3)])
def test_an_error_beyond_all_expectation_leaves_weights_that_are_finite(reward, degrees, scale):
    """A square over its scale that overflows, and scores all so low that their exponentials are 0."""
    one, other = both(2, 6, squared=True)
    for each in (one, other):
        run_silently(each.learn, np.ones(2), reward, 1.0, degrees, scale, 0.1, math.inf)
        assert np.isfinite(each.log_weights).all()
    np.testing.assert_allclose(other.weights, one.weights, rtol=1e-6)  # of the many degrees
    assert one.heaviest == other.heaviest


def test_the_first_of_memories_that_are_equal_is_the_heaviest():
    sums = Sums(np.ones((5, 1, 1)), None, np.zeros((5, 1)))
    equal = np.full(5, 0.2)
    numbers = MixtureNumbers(sums, np.zeros((6, 5)), np.log(equal))
    for make in (NumpyMixture, CompiledMixture):
        mixture = make(np.full(5, 0.9), np.ones(5), equal, numbers)
        mixture.learn(np.ones(1), 1.0, 1.0, 4.0, 0.5, 0.1, math.inf)
        assert mixture.heaviest == mixture.weights.tolist().index(max(mixture.weights))
    assert mixture.heaviest == 0  # NumPy's logarithms of equal numbers may differ in their last bits


def test_a_squared_norm_that_rounding_has_made_negative_counts_by_its_size():
    sums = Sums(np.eye(2)[None], np.array([[[1, 1 + 1e-9], [1 + 1e-9, 1]]]), np.zeros((1, 2)))
    numbers = MixtureNumbers(sums, np.zeros((6, 1)), np.zeros(1))
    for make in (NumpyMixture, CompiledMixture):
        mixture = make(np.ones(1), np.ones(1), np.ones(1), numbers)
        _, bonus = mixture.bounds(0, np.array([[1.0, -1.0]]), Width(1.0))
        np.testing.assert_allclose(bonus, 2e-9**0.5, rtol=1e-6)


NUM, DIM = 2, 3
SAMPLE = dict(reward=1.0, weight=1.0, degrees=4.0, scale=0.5, share=0.1, limit=9.0)
THREE, GRAMS = np.ones(DIM), np.tile(np.eye(DIM), (NUM, 1, 1))
LAYOUT = np.array([[2.0, 1, 0], [1, 2, 3], [2, 2, 3]])  # two coordinates below a third
FORECAST = dict(error=np.ones(NUM), variance=np.ones(NUM))
GOOD: dict[str, dict[str, Any]] = {  # arguments of a kernel of two memories in three dimensions
    "Mixture": dict(
        rates=np.full(NUM, 0.9), ridges=np.ones(NUM), prior=np.full(NUM, 0.5), gram=GRAMS, gram_sq=GRAMS,
        cross=np.zeros((NUM, DIM)), stats=np.zeros((6, NUM)), log_weights=np.full(NUM, -0.7),
        layout=LAYOUT, worst=9.0,
    ),
    "learn": dict(features=THREE, **SAMPLE),
    "learn_forecast": dict(features=THREE, **SAMPLE, **FORECAST),
    "bounds": dict(
        memory=0, radius=1.0, variance=0.1, waiting=np.eye(3), scale=np.ones(3),
        arms=np.ones((2, 3)), index=np.ones(2), bonus=np.ones(2),
    ),
    "spread": dict(
        memory=0, radius=1.0, variance=0.1, waiting=np.eye(3), scale=np.ones(3),
        arms=np.ones((2, 3)), index=np.ones(2), bonus=np.ones((2, 3)),
    ),
    "read": dict(memory=0, gram=np.empty((3, 3)), gram_sq=np.empty((3, 3)), cross=np.empty(3)),
    "arrange": dict(layout=LAYOUT),
    "renew": dict(memory=0),
}  # fmt: skip


def made(**changes: Any) -> Any:
    """Return a kernel of the usual arguments, of which some are others."""
    return KERNEL(*(GOOD["Mixture"] | changes).values())


class Resizing:
    """A number that shrinks an array while it is asked for its value."""

    def __init__(self, numbers: "array.array[float]") -> None:
        self.numbers = numbers

    def __float__(self) -> float:
        del self.numbers[1:]
        return 1.0


def bad_values(name: str, good: Any) -> list[tuple[Any, type[Exception], str]]:
    """Return values that this argument must not have, with their errors."""
    if name == "memory":
        numbers = [(j, IndexError, "memory: expected a number from 0 to 1, got ") for j in (-1, 2)]
        return [*numbers, (2**80, OverflowError, "int too large"), (0.0, TypeError, "integer")]
    if isinstance(good, float):
        return [(bad, TypeError, f"{name}: expected a number, got .* {kind}|must be real number")
                for bad, kind in (("one", "str"), (None, "NoneType"))]  # fmt: skip
    crooked = np.frombuffer(bytearray(b"." + good.tobytes()), np.uint8)[1:].view(float).reshape(good.shape)
    shapes = np.ones((1, *good.shape)), np.ones(good.shape[:-1]), np.ones((*good.shape[:-1], 7))
    layouts = np.repeat(good, 2, axis=-1)[..., ::2], good.T if good.ndim > 1 else good[::-1]
    formats = good.astype(np.float32), good.astype(">f8"), good.astype(int), crooked, bytearray(b"abc")
    others = [([1.0, 2.0], "list"), (4096, "int"), (None, "NoneType")][
        : 2 if name in ("gram_sq", "waiting", "layout") else 3
    ]
    found: list[tuple[Any, type[Exception], str]] = [
        *((bad, ValueError, f"({name}|gram): expected (the shape|1 to 32768 mem)") for bad in shapes),
        *((bad, ValueError, f"{name}: expected (an aligned array in C order|the shape)") for bad in layouts),
        *((bad, ValueError, f"{name}: expected (64-bit floats, got the f|the shape)") for bad in formats),
        *((bad, TypeError, f"{name}: expected an array of .*, got .* {kind}") for bad, kind in others),
    ]
    if name in ("index", "bonus"):
        found.append((np.broadcast_to(1.0, good.shape), ValueError, "read-only"))
    if name == "gram_sq" and good.ndim == 2:  # to be read into
        found.append((None, ValueError, "gram_sq: expected an array"))
    return found


@pytest.mark.parametrize(("method", "name"), [(method, name) for method in GOOD for name in GOOD[method]])
def test_a_wrong_argument_is_an_error_and_changes_nothing(method: str, name: str):
    kernel = made()
    kernel.learn(*GOOD["learn"].values())
    before = [bytes(kernel), *read(kernel)]
    function = KERNEL if method == "Mixture" else getattr(kernel, method)
    for bad, error, sentence in bad_values(name, GOOD[method][name]):
        with pytest.raises(error, match=sentence):
            function(*(GOOD[method] | {name: bad}).values())
    with pytest.raises(TypeError, match=f"{len(GOOD[method])} arguments"):
        function()
    assert [bytes(kernel), *read(kernel)] == before


@pytest.mark.parametrize(("num", "dim"), [(0, 3), (2, 0), (1, 40_000)])
def test_a_kernel_has_some_memories_and_dimensions_and_not_too_many(num: int, dim: int):
    with pytest.raises(ValueError, match=f"cross: expected 1 to 32768 .*, got {num} and {dim}"):
        made(cross=np.ones((num, dim)))


@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize("wrong", [[-1, 2, 3], [4, 2, 3], [np.nan, 2, 3], [2, 2, 1], [3, 1, 3], [1, 3, 2]])
def test_a_layout_that_has_no_order_or_no_tree_is_an_error_and_changes_nothing(row: int, wrong: list[float]):
    kernel, layout = made(), LAYOUT.copy()
    layout[row] = wrong
    before = [bytes(kernel), *read(kernel)]
    for make in (kernel.arrange, lambda layout: made(layout=layout)):
        with pytest.raises(
            ValueError, match="layout: expected different coordinates in runs before their pa"
        ):
            make(layout)
    assert [bytes(kernel), *read(kernel)] == before


def read(kernel: Any) -> list[bytes]:
    """Return all sums of a kernel."""
    sums = np.empty((2, DIM, DIM)), np.empty((2, DIM, DIM)), np.empty((2, DIM))
    for j in range(NUM):
        kernel.read(j, *(part[j] for part in sums))
    return [part.tobytes() for part in sums]


def test_a_kernel_cannot_be_subclassed_changed_copied_or_made_without_its_arrays():
    kernel = made()
    with pytest.raises(TypeError, match="keyword"):
        KERNEL(*[*GOOD["Mixture"].values()][:-1], worst=1.0)
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
        KERNEL.learn(4096, *GOOD["learn"].values())
    for make in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot pickle"):
            make(kernel)
    before = bytes(kernel)
    kernel.__init__(*(GOOD["Mixture"] | dict(prior=np.ones(7))).values())  # what was made once stays as it is
    assert bytes(kernel) == before


def test_a_view_of_statistics_outlives_its_kernel_and_cannot_be_written():
    kernel = made()
    gc.collect()
    references = sys.getrefcount(KERNEL)
    view = np.frombuffer(kernel)
    kernel.learn(*GOOD["learn"].values())
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
    kernel, features = made(), array.array("d", [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"features: expected the shape \(3,\), got \(1,\)"):
        kernel.learn(features, Resizing(features), *[*SAMPLE.values()][1:])


def test_no_arms_have_no_bounds():
    assert made().bounds(0, 1.0, 0.0, None, None, np.empty((0, DIM)), np.empty(0), np.empty(0))


def test_squared_weights_have_no_compiled_spread():
    with pytest.raises(ValueError, match="spread: expected a mixture without gram_sq"):
        made().spread(*GOOD["spread"].values())


def test_a_module_of_another_interface_is_not_used(monkeypatch):
    from driftwise.online.deciders import _mixture  # pyright: ignore[reportAttributeAccessIssue]

    monkeypatch.setattr(_mixture, "INTERFACE", 0)
    assert compiled_mixture.load_kernel() is None
    monkeypatch.delattr(_mixture, "INTERFACE")  # as in modules of 2026
    assert compiled_mixture.load_kernel() is None


def test_the_module_was_compiled_from_its_source():
    """If this fails in a checkout, `make` compiles it again."""
    from driftwise.online.deciders import _mixture  # pyright: ignore[reportAttributeAccessIssue]

    source = Path(compiled_mixture.__file__).with_name("_mixture.c").read_bytes()
    assert hashlib.sha256(source).hexdigest() == _mixture.SOURCE
