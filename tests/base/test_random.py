"""Addressed randomness: known answers, equal bits on both libraries, sound draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from driftwise.base import random


def words(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_known_answers_of_random123(key, counter, expected):
    high, low = random.threefry(words(*key), words(counter[0]), words(counter[1]))
    assert (high.item(), low.item()) == expected


def test_addresses_beyond_32_bits_are_their_own():
    root, addresses = random.key(5), (0, 1, 2**32 - 1, 2**32, 2**32 + 1, 2**33, 2**63)
    assert len({random.fold(root, address).tobytes() for address in addresses}) == len(addresses)


@pytest.mark.parametrize("above", [0, 1, 2, 3, 2**31])
def test_no_key_below_another_is_a_number_that_is_drawn_with_it(above):
    """Draws have the counters (0, i) and (2, i): keys of all addresses are made of other ones."""
    root, places = random.key(5), np.arange(8, dtype=np.uint32)
    drawn = {
        tuple(map(int, each))
        for purpose in (0, 2)
        for each in zip(*random.threefry(root, np.full(8, purpose, dtype=np.uint32), places), strict=True)
    }
    keys = {tuple(random.fold(root, (above << 32) + int(place)).tolist()) for place in places}
    assert len(drawn) == 16
    assert len(keys) == 8
    assert not drawn & keys


def test_fold_takes_many_keys_or_many_addresses():
    root, addresses = random.key(5), np.array([0, 1, 7, 2**32 - 1])
    keys = random.fold(root, addresses)
    expected = np.stack([random.fold(root, int(address)) for address in addresses])
    assert keys.dtype == np.uint32
    np.testing.assert_array_equal(keys, expected)
    np.testing.assert_array_equal(random.fold(keys, 3), np.stack([random.fold(key, 3) for key in expected]))
    each = np.stack([random.fold(key, int(i)) for key, i in zip(expected, addresses, strict=True)])
    np.testing.assert_array_equal(random.fold(keys, addresses), each)
    assert random.fold(root, addresses.reshape(2, 2)).shape == (2, 2, 2)
    with jax.enable_x64(True):
        theirs = random.fold(random.fold(jnp.asarray(root), jnp.asarray(addresses)), 3)
    np.testing.assert_array_equal(np.asarray(theirs), random.fold(keys, 3))


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1, 2**63 + 12345])
def test_numpy_and_jax_give_the_same_bits(seed):
    with jax.enable_x64(True):
        ours, theirs = random.key(seed), jnp.asarray(random.key(seed))
        for address in (0, 7, 2**31 + 3):
            ours, theirs = random.fold(ours, address), random.fold(theirs, address)
            np.testing.assert_array_equal(ours, np.asarray(theirs))
        for draw in (random.draw_uniform, random.draw_coarse):
            for dtype in (np.float32, np.float64):
                expected = draw(ours, 50, dtype)
                assert expected.dtype == dtype
                np.testing.assert_array_equal(expected, np.asarray(draw(theirs, 50, dtype)))


def test_addresses_seeds_and_counters_all_change_the_number():
    keys = [random.key(seed) for seed in range(20)]
    keys += [random.fold(random.key(0), address) for address in range(20)]
    keys += [random.fold(random.fold(random.key(0), 1), address) for address in range(20)]
    drawn = np.stack([random.draw_uniform(key, 5, np.float64) for key in keys])
    assert len(np.unique(drawn)) == drawn.size


@pytest.mark.parametrize("draw", [random.draw_uniform, random.draw_coarse])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_uniform_lies_in_the_unit_interval_with_the_right_mean_and_variance(draw, dtype):
    num = 100_000
    drawn = draw(random.key(3), num, dtype).astype(float)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    # five standard errors: √(1/12/n) of the mean, √(1/180/n) of the mean squared deviation
    assert abs(drawn.mean() - 1 / 2) < 5 * np.sqrt(1 / 12 / num)
    assert abs(np.mean((drawn - 1 / 2) ** 2) - 1 / 12) < 5 * np.sqrt(1 / 180 / num)
    assert abs(np.mean((drawn[1:] - 1 / 2) * (drawn[:-1] - 1 / 2))) < 5 * (1 / 12) / np.sqrt(num)


def test_coarse_numbers_are_32_bit_words_and_others_than_uniform_draws():
    key = random.key(3)
    for size in (1, 2, 5, 6):
        drawn = random.draw_coarse(key, size, np.float64)
        assert len(drawn) == size
        np.testing.assert_array_equal(drawn * 2**32 % 1, 0)
        assert len(np.unique([drawn, random.draw_uniform(key, size, np.float64)])) == 2 * size
    expected = np.concatenate(random.threefry(key, words(2, 2, 2), words(0, 1, 2)))
    np.testing.assert_array_equal(random.draw_coarse(key, 6, np.float64) * 2**32, expected)
    np.testing.assert_array_equal(random.draw_coarse(key, 6, np.float32) * 2**24, expected >> np.uint32(8))


def test_gaussian_is_the_transform_of_box_and_muller():
    first, second = np.array([0.0, 1 - np.exp(-0.5), 1 - np.exp(-2.0)]), np.array([0.3, 0.0, 0.5])
    np.testing.assert_allclose(random.box_muller(first, second), [0, 1, -2], rtol=0, atol=1e-12)
    for dtype in (np.float32, np.float64):
        largest = 1 - np.finfo(dtype).epsneg  # the extreme of a uniform number is a finite normal one
        drawn = random.box_muller(np.array([0, largest], dtype=dtype), np.array([0, 0], dtype=dtype))
        assert drawn.dtype == dtype
        np.testing.assert_allclose(drawn, [0, np.sqrt(-2 * np.log(np.finfo(dtype).epsneg))], rtol=1e-6)


def test_normal_is_the_transform_of_one_stream_of_uniform_numbers():
    u = random.draw_uniform(random.key(4), 10, np.float64)
    np.testing.assert_array_equal(
        random.draw_normal(random.key(4), 5, np.float64), random.box_muller(u[:5], u[5:])
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_normal_has_the_moments_of_the_bell_curve(dtype):
    num = 100_000
    drawn = random.draw_normal(random.key(3), num, dtype)
    assert drawn.dtype == dtype
    drawn = drawn.astype(float)
    # five standard errors: variances of z, z², z³ and z⁴ are 1, 2, 15 and 96
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(drawn**power) - mean) < 5 * np.sqrt(variance / num)
    assert abs(np.mean(np.abs(drawn) > 2) - 0.0455) < 5 * np.sqrt(0.0455 / num)
    assert abs(np.mean(drawn[1:] * drawn[:-1])) < 5 / np.sqrt(num)


@pytest.mark.parametrize("seed", [0, 2**63 + 12345])
def test_numpy_and_jax_draw_the_same_normal_numbers(seed):
    """Up to the last bits of a logarithm and a cosine."""
    with jax.enable_x64(True):
        for dtype, tolerance in ((np.float32, 1e-5), (np.float64, 1e-13)):
            ours = random.draw_normal(random.key(seed), 200, dtype)
            theirs = random.draw_normal(jnp.asarray(random.key(seed)), 200, dtype)
            assert theirs.dtype == dtype
            np.testing.assert_allclose(theirs, ours, rtol=0, atol=tolerance)


def test_choose_takes_the_first_index_whose_cumulative_mass_exceeds_u():
    cumulative = np.cumsum([0.25, 0.5, 0.25])
    drawn = [
        int(random.choose_index(cumulative, np.asarray(u))) for u in (0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999)
    ]
    assert drawn == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("total", [1.0, 0.1 + 0.2, 1 - 2**-53, 1 + 2**-52, 3.7])
def test_choose_never_picks_an_index_without_probability(total):
    probabilities = total * np.array([0.0, 0.3, 0.0, 0.0, 0.7, 0.0])
    extremes = np.array([0.0, 2.0**-53, 0.3, 1 - 2.0**-53])
    u = np.concatenate([extremes, random.draw_uniform(random.key(0), 1000, np.float64)])
    drawn = random.choose_index(np.cumsum(probabilities)[None, :], u)
    assert set(drawn.tolist()) == {1, 4}


def test_choose_matches_the_probabilities():
    probabilities = np.array([0.1, 0.0, 0.6, 0.3])
    num = 50_000
    drawn = random.choose_index(
        np.cumsum(probabilities)[None, :], random.draw_uniform(random.key(1), num, np.float64)
    )
    frequencies = np.bincount(drawn, minlength=4) / num
    five_standard_errors = 5 * np.sqrt(probabilities * (1 - probabilities) / num)
    assert (np.abs(frequencies - probabilities) <= five_standard_errors).all()
