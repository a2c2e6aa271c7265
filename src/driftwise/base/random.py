"""Addressed randomness: a number is a function of where it is used, not of what was drawn before.

Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
2011), the same bits on NumPy and JAX. A key is two 32-bit words; `fold(key, i)` is the key at `i` below it.
"""

import math
from typing import Any

import numpy as np

from driftwise.base.arrays import namespace
from driftwise.base.types import Array, Key

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_WORD = 0xFFFFFFFF
ENVIRONMENT, PLANNING, ACTING = 0, 1, 2  # purposes: a run meets the same world, whoever acts in it
_FEW = 8  # words, up to which Python is faster than NumPy


def key(seed: int) -> Key:
    """The root key of a seed (its low 64 bits), as a NumPy array."""
    return np.array([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], dtype=np.uint32)


def threefry(key: Key, high: Array, low: Array) -> tuple[Array, Array]:
    """Encrypt the counters `(high, low)` (uint32, `[..., n]`) under keys `[..., 2]`."""
    xp = namespace(high)
    if xp is np and low.ndim == 1 and len(low) <= _FEW and key.shape == (2,):
        return _threefry_of_few(key.tolist(), high.tolist(), low.tolist())
    u = xp.uint32
    first, second = key[..., :1], key[..., 1:]
    schedule = (first, second, first ^ second ^ u(_PARITY))
    high, low = high + schedule[0], low + schedule[1]
    for group in range(5):
        for turn in _ROTATIONS[group % 2]:
            high = high + low
            low = ((low << u(turn)) | (low >> u(32 - turn))) ^ high
        high = high + schedule[(group + 1) % 3]
        low = low + schedule[(group + 2) % 3] + u(group + 1)
    return high, low


def _threefry_of_few(key: list[int], highs: list[int], lows: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Encrypt a few counters with Python's integers, which is much faster than with NumPy."""
    first, second = key
    schedule = (first, second, first ^ second ^ _PARITY)
    words = []
    for high, low in zip(highs, lows, strict=True):
        high, low = high + first & _WORD, low + second & _WORD
        for group in range(5):
            for turn in _ROTATIONS[group % 2]:
                high = high + low & _WORD
                low = (low << turn & _WORD | low >> 32 - turn) ^ high
            high = high + schedule[(group + 1) % 3] & _WORD
            low = low + schedule[(group + 2) % 3] + group + 1 & _WORD
        words.append((high, low))
    array = np.array(words, dtype=np.uint32)
    return array[:, 0], array[:, 1]


def fold(key: Key, address: Any) -> Key:
    """The key at an integer address below `key`, of any size in Python; arrays of either give `[..., 2]`."""
    xp = namespace(key)
    above = address >> 32 if isinstance(address, int) else 0
    low = xp.asarray(address & _WORD if above else address, dtype=xp.uint32)[..., None]
    low = low + xp.zeros_like(key[..., :1])
    high = xp.full_like(low, 2 + above if above else 1)  # draws have the words 0 and 2
    return xp.concat(threefry(key, high, low), axis=-1)


def episode_keys(run_key: Key, t: Any) -> tuple[Key, Key, Key]:
    """The keys of an episode: for the environment, the plan and the actions."""
    purposes = namespace(run_key).asarray((ENVIRONMENT, PLANNING, ACTING))
    keys = fold(fold(run_key, purposes), t)
    return keys[0], keys[1], keys[2]


def draw_uniform(key: Key, size: int, dtype: Any) -> Array:
    """`size` numbers in [0, 1), of each key if there are many, with all the bits that `dtype` holds."""
    xp = namespace(key)
    low = xp.arange(size, dtype=xp.uint32)
    high, low = threefry(key, xp.zeros_like(low), low)
    if dtype == xp.float32:
        return xp.astype(high >> xp.uint32(8), dtype) * (1.0 / (1 << 24))
    high, low = xp.astype(high >> xp.uint32(5), dtype), xp.astype(low >> xp.uint32(6), dtype)
    return (high * (1 << 26) + low) * (1.0 / (1 << 53))


def draw_coarse(key: Key, size: int, dtype: Any) -> Array:
    """`size` numbers in [0, 1) that need not be finer than 2⁻³², at half the price of `draw_uniform`."""
    xp = namespace(key)
    low = xp.arange((size + 1) // 2, dtype=xp.uint32)
    words = xp.concat(threefry(key, xp.full_like(low, 2), low))[:size]
    if dtype == xp.float32:
        return xp.astype(words >> xp.uint32(8), dtype) * (1.0 / (1 << 24))
    return xp.astype(words, dtype) * (1.0 / (1 << 32))


def draw_normal(key: Key, size: int, dtype: Any) -> Array:
    """`size` standard normal numbers, of each key if there are many."""
    u = draw_uniform(key, 2 * size, dtype)
    return box_muller(u[..., :size], u[..., size:])


def box_muller(first: Array, second: Array) -> Array:
    """Box and Muller's transform of two uniform numbers into a standard normal one."""
    xp = namespace(first)
    return xp.sqrt(-2.0 * xp.log(1.0 - first)) * xp.cos(2.0 * math.pi * second)


def choose_index(cumulative: Array, u: Array) -> Array:
    """Inverse-CDF draw: the first index whose cumulative mass exceeds `u` times the total, as int32."""
    xp = namespace(cumulative)
    below = xp.astype(cumulative <= xp.asarray(u)[..., None] * cumulative[..., -1:], xp.int32)
    index = xp.sum(below, axis=-1, dtype=xp.int32)
    return xp.minimum(index, xp.asarray(cumulative.shape[-1] - 1, dtype=xp.int32))
