"""Every recursion equals the weighted sum that defines it."""

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import driftwise as dw
from driftwise.base import Forgetting, Moments, Sample, WeightFunction
from driftwise.base.part import PARTS
from driftwise.parts import Caution, CautiousUcb, ClockWeights, PeriodicRestart, RestartAt, Ucb
from driftwise.parts.forgetting import DirectionalForgetting, ExponentialWeights, NoForgetting, SlidingWindow
from driftwise.parts.regression import empty_moments
from tests.examples import NUM_EPISODES, NUM_RUNS, SPEC, assert_play_alike, make
from tests.reference.moments import weighted_counts, weighted_moments

NUM_STEPS, DIM, NUM_STATES, RIDGE = 2, 3, 4, 0.7
TOLERANCE = 1e-9  # sums of at most a few hundred numbers of size one: rounding stays below 1e-13

forgettings = st.one_of(
    st.just(NoForgetting()),
    st.floats(0.05, 1.0).map(ExponentialWeights),
    st.tuples(st.floats(0.2, 50), st.just("zero"), st.sampled_from(["now", "last"])).map(
        lambda given: ClockWeights(*given)  # pyright: ignore[reportArgumentType]
    ),
    st.integers(1, 15).map(SlidingWindow),
    st.tuples(st.integers(1, 6), st.integers(0, 5)).map(lambda n: SlidingWindow(n[0], sum(n))),
    st.integers(1, 15).map(PeriodicRestart),
    st.lists(st.integers(1, 15), max_size=4).map(tuple).map(RestartAt),
)
EXAMPLES = [
    NoForgetting(),
    ExponentialWeights(0.8),
    SlidingWindow(4),
    PeriodicRestart(5),
    RestartAt((3, 11)),
    ClockWeights(3.0),
]
DIRECTIONAL = DirectionalForgetting(0.8)  # the one that is no weight function: see test_directional.py


def test_every_forgetting_has_an_example():
    ours = (cls for cls in PARTS.values() if cls.__module__.startswith("driftwise."))
    known = {cls for cls in ours if issubclass(cls, Forgetting)}
    assert {type(forgetting) for forgetting in (*EXAMPLES, DIRECTIONAL)} == known


def draw_samples(seed: int, num: int) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [
        Sample(
            features=rng.uniform(-1, 1, (NUM_STEPS, DIM)) / np.sqrt(DIM),
            reward=rng.random(NUM_STEPS),
            successor=rng.integers(NUM_STATES, size=NUM_STEPS),
            count=rng.integers(4, size=NUM_STEPS).astype(float),
            share=rng.uniform(size=NUM_STEPS) if seed % 2 else None,
        )
        for _ in range(num)
    ]


def start(forgetting: Forgetting, sample: Sample) -> Moments:
    return forgetting.init(empty_moments(sample, NUM_STATES, RIDGE, gram_sq=True), sample)


def absorb(forgetting: Forgetting, samples: list[Sample]) -> Moments:
    moments = start(forgetting, samples[0])
    for sample in samples:
        moments = forgetting.update(moments, sample)
    return moments


def assert_moments_equal(moments: Moments, expected: tuple[np.ndarray, ...]) -> None:
    gram_sq = moments.gram if moments.gram_sq is None else moments.gram_sq  # None says: the same as gram
    for actual, wanted in zip((moments.gram, gram_sq, moments.cross), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=0, atol=TOLERANCE)


def assert_weights_equal(moments: Moments, forgetting: WeightFunction, samples: list[Sample]) -> None:
    """Σω, Σω² and how often all weights were zero, whatever the counts of the samples."""
    tick = int(moments.tick)
    counts = weighted_counts(samples, list(forgetting.weights(tick)))
    np.testing.assert_allclose([moments.weight, moments.weight_sq], counts, rtol=0, atol=TOLERANCE)
    assert moments.epoch == sum(not forgetting.weights(past).any() for past in range(1, tick + 1))
    assert moments.weight.dtype == moments.weight_sq.dtype == moments.gram.dtype
    assert moments.epoch.dtype == np.int64


def definition(forgetting: WeightFunction, samples: list[Sample]) -> tuple[np.ndarray, ...]:
    return weighted_moments(samples, list(forgetting.weights(len(samples))), RIDGE, NUM_STATES)


@given(forgettings, st.integers(0, 2**32 - 1), st.integers(1, 14))
def test_recursion_equals_the_weighted_sum_at_every_tick(forgetting, seed, num):
    samples = draw_samples(seed, num)
    moments = start(forgetting, samples[0])
    for tick, sample in enumerate(samples, start=1):
        moments = forgetting.update(moments, sample)
        assert moments.tick == tick
        assert_moments_equal(moments, definition(forgetting, samples[:tick]))
        assert_weights_equal(moments, forgetting, samples[:tick])


@pytest.mark.parametrize("forgetting", EXAMPLES, ids=str)
def test_recursion_on_jax_equals_the_weighted_sum(forgetting):
    samples = draw_samples(seed=1, num=13)
    with jax.enable_x64(True):
        stacked = jax.tree.map(lambda *leaves: jax.numpy.stack(leaves), *samples)
        first = jax.tree.map(lambda leaf: leaf[0], stacked)
        moments, _ = jax.lax.scan(
            lambda m, sample: (forgetting.update(m, sample), None), start(forgetting, first), stacked
        )
        assert_moments_equal(jax.device_get(moments), definition(forgetting, samples))
        assert_weights_equal(jax.device_get(moments), forgetting, samples)


@given(forgettings, st.integers(0, 2**32 - 1), st.integers(0, 8), st.integers(0, 3))
def test_a_count_is_how_often_there_is_the_same_sample_at_that_tick(forgetting, seed, where, count):
    samples = [sample._replace(count=np.ones(NUM_STEPS)) for sample in draw_samples(seed, 9)]
    times = np.where(np.arange(9) == where, count, 1)  # 0: it never was, while time passes
    repeated = [sample for sample, number in zip(samples, times, strict=True) for _ in range(number)]
    weights = np.repeat(forgetting.weights(9), times)
    expected = weighted_moments(repeated, list(weights), RIDGE, NUM_STATES)
    samples[where] = samples[where]._replace(count=np.full(NUM_STEPS, float(count)))
    assert_moments_equal(absorb(forgetting, samples), expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_rate_one_window_and_period_beyond_the_end_all_equal_no_forgetting(seed, num):
    samples = draw_samples(seed, num)
    expected = definition(NoForgetting(), samples)
    restarting = PeriodicRestart(num + 1), RestartAt(), RestartAt((num + 1, 99))
    for forgetting in (ExponentialWeights(1), SlidingWindow(num), SlidingWindow(99), *restarting):
        assert_moments_equal(absorb(forgetting, samples), expected)


def test_restarts_at_the_multiples_of_a_period_are_periodic_restarts_in_whatever_order_they_are_given():
    samples = draw_samples(seed=3, num=17)
    for tick in range(1, 18):
        moments = absorb(RestartAt((12, 4, 16, 8)), samples[:tick])
        assert_moments_equal(moments, definition(PeriodicRestart(4), samples[:tick]))


def test_a_restart_drops_all_samples_before_its_tick():
    forgetting = RestartAt((3, 5))
    weights = [forgetting.weights(tick).tolist() for tick in range(7)]
    assert weights == [[], [1], [1, 1], [0, 0, 0], [0, 0, 0, 1], [0] * 5, [0, 0, 0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("exploration", "caution"),
    [(Ucb(0.4), None), (CautiousUcb(0.4, widening=0.1), Caution(0.3))],
    ids=["plain", "cautious"],
)
@pytest.mark.parametrize(
    "forgetting", [ExponentialWeights(1), SlidingWindow(NUM_EPISODES), PeriodicRestart(NUM_EPISODES)], ids=str
)
def test_agents_that_never_forget_in_the_run_play_like_no_forgetting(forgetting, exploration, caution):
    never, forgets = (
        dw.LeastSquares(SPEC, kind, exploration, caution=caution) for kind in (NoForgetting(), forgetting)
    )
    assert_play_alike(never, forgets, make())


@pytest.mark.parametrize("num_ticks", [1_010, 100_010])
def test_window_after_many_ticks_equals_a_fresh_rebuild_with_errors_that_do_not_grow(num_ticks):
    """Every 500 ticks comes a sample with count 10⁹. Adding and subtracting it leaves errors of 1e-7 in a
    running sum, and a new one each time; only the renewal removes them. 1e-12 is a fresh sum's rounding."""
    length = 7
    rng, shape = np.random.default_rng(0), (num_ticks, NUM_STEPS)
    count = np.ones(shape)
    count[::500] = 1e9
    features = rng.uniform(-1, 1, (*shape, DIM)) / np.sqrt(DIM)
    samples = Sample(features, rng.random(shape), rng.integers(NUM_STATES, size=shape), count)
    window = SlidingWindow(length)
    with jax.enable_x64(True):
        on_device = jax.tree.map(jax.numpy.asarray, samples)
        first = jax.tree.map(lambda leaf: leaf[0], on_device)
        scan = jax.jit(lambda m, xs: jax.lax.scan(lambda m, x: (window.update(m, x), None), m, xs)[0])
        moments = jax.device_get(scan(start(window, first), on_device))
    assert num_ticks % length != 0  # the running sum answers, not a renewal
    last = [Sample(*(field[t] for field in samples[:4])) for t in range(num_ticks - length, num_ticks)]
    gram, _, cross = weighted_moments(last, [1.0] * length, RIDGE, NUM_STATES)
    np.testing.assert_allclose(moments.gram, gram, rtol=0, atol=1e-12)
    np.testing.assert_allclose(moments.cross, cross, rtol=0, atol=1e-12)
    assert moments.weight == moments.weight_sq == sum(count[-length:].max(axis=1))


@pytest.mark.parametrize(
    ("single", "grid"),
    [
        (lambda n: SlidingWindow(n, capacity=8), SlidingWindow((3, 8), capacity=9)),
        (PeriodicRestart, PeriodicRestart((3, 8))),
    ],
    ids=["window", "restart"],
)
def test_grid_of_lengths_equals_single_runs(single, grid):
    environment = make()
    options: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    together = dw.simulate(dw.LeastSquares(SPEC, grid, Ucb(0.4)), environment, **options)
    for i, length in enumerate((3, 8)):
        alone = dw.simulate(dw.LeastSquares(SPEC, single(length), Ucb(0.4)), environment, **options)
        # batches of another size may round differently in the last bits, trajectories are the same
        np.testing.assert_allclose(together.values[i], alone.values, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(together.returns[i], alone.returns)


def test_update_needs_nothing_but_the_moments():
    """The state of every forgetting has a fixed size: no history grows with the ticks."""
    for forgetting in (*EXAMPLES, DIRECTIONAL):
        samples = draw_samples(seed=0, num=30)
        early, late = absorb(forgetting, samples[:2]), absorb(forgetting, samples)
        assert jax.tree.map(np.shape, early) == jax.tree.map(np.shape, late)
