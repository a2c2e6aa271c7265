"""Memories of a mixture together with their weights, for few dimensions, by `_mixture.c`.

The compiled module comes with the wheel for Linux, or is made where driftwise is installed from its source
and finds a compiler. Without it NumPy serves, with the same numbers to rounding.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.online.bandits.anchored import LARGE
from driftwise.online.bandits.memories import Pair, Sums, estimate_of, forecast_of, spread_of
from driftwise.online.bandits.weighing import Numbers, upper_bounds
from driftwise.parts.noise import WORST

LANES = 4  # memories side by side
MANY = 10_000  # numbers of all arms, from which on BLAS is faster


def module() -> Any:
    """The compiled module; None if there is none, or one of another source."""
    try:
        from driftwise.online.bandits import _mixture  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        return None
    try:
        source = Path(__file__).with_name("_mixture.c").read_bytes()
    except OSError:  # a package may come without its sources
        return _mixture
    return _mixture if hashlib.sha256(source).hexdigest() == _mixture.SOURCE else None


MODULE = module()


def serves(dim: int) -> bool:
    """Whether the module is there, and the fastest way for so many dimensions."""
    return MODULE is not None and dim < LARGE


class Fields(ctypes.Structure):
    """`Mixture` of the source."""

    _fields_ = (
        *((name, ctypes.c_ssize_t) for name in ("dim", "num", "blocks", "heaviest")),
        ("worst", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in ("rates", "ridges", "gram", "gram_sq", "cross")),
        *((name, ctypes.c_void_p) for name in ("error", "variance", "room", "held")),
        *((name, ctypes.c_void_p) for name in ("prior", "log_weights", "weights")),
    )


class Compiled:
    """A `Mixture` whose arrays, `[blocks, ..., LANES]`, C reads and writes; of matrices, the lower triangles.

    Lanes that are left over follow the first memory, and have no weight.
    """

    def __init__(self, rates: np.ndarray, ridges: np.ndarray, prior: np.ndarray, numbers: Numbers) -> None:
        sums, held, log_weights = numbers
        num, dim = sums.cross.shape
        given = {"rates": rates, "ridges": ridges, "prior": prior, "log_weights": log_weights}
        given |= sums._asdict()
        arrays = {name: in_lanes(each) for name, each in given.items() if each is not None}
        blocks = len(arrays["rates"])
        arrays |= {name: aligned(blocks, LANES) for name in ("weights", "error", "variance")}
        arrays |= {"held": aligned(6, blocks, LANES), "room": aligned(dim, dim + 2, LANES)}
        places = {name: each.ctypes.data for name, each in arrays.items()}
        self._fields = Fields(dim=dim, num=num, blocks=blocks, worst=WORST, **places)
        self._address, self._arrays = ctypes.addressof(self._fields), arrays  # C does not hold arrays
        self._num, self._sums = num, Sums(arrays["gram"], arrays.get("gram_sq"), arrays["cross"])
        self.held = arrays["held"].reshape(6, -1)[:, :num]
        self.log_weights, self.weights, self._error, self._variance = (
            arrays[name].reshape(-1)[:num] for name in ("log_weights", "weights", "error", "variance")
        )
        self.held[:] = held
        self.weights[:] = [math.exp(each) for each in log_weights]  # NumPy's has other last bits
        self.heaviest = int(self.weights.argmax())

    @property
    def numbers(self) -> Numbers:
        return Numbers(self._filled(lambda each: of_lanes(each)[: self._num]), self.held, self.log_weights)

    def gram(self, j: int) -> np.ndarray:
        return self._memory(j).gram

    def bounds(self, j: int, arms: np.ndarray, radius: float) -> Pair:
        if arms.size < MANY:
            index, bonus, flags = np.empty(len(arms)), np.empty(len(arms)), arms.flags
            if not (flags.c_contiguous and flags.aligned):
                arms = np.array(arms, order="C")
            if MODULE.bounds(self._address, j, radius, arms, index, bonus):
                return index, bonus
        return upper_bounds(estimate_of(self._memory(j), arms), radius)

    def spread(self, j: int, arms: np.ndarray) -> Pair:
        return spread_of(self._memory(j), arms)

    def learn(
        self, features: np.ndarray, reward: float, weight: float, degrees: float, scale: float, share: float
    ) -> float:
        heard = MODULE.learn(self._address, features, reward, weight, degrees, scale, share)
        if heard is None:
            self._error[:], self._variance[:] = forecast_of(self.numbers.sums, features, reward)
            heard = MODULE.learn_forecast(self._address, features, reward, weight, degrees, scale, share)
        self.heaviest = self._fields.heaviest
        return heard

    def renew(self, source: int) -> None:
        (block, lane), (last_block, last_lane) = divmod(source, LANES), divmod(self._num - 1, LANES)
        for each in self._sums:
            if each is not None:
                each[last_block, ..., last_lane] = each[block, ..., lane]
        self.held[:, -1] = self.held[:, source]

    def _memory(self, j: int) -> Sums:
        """The sums of one memory."""
        block, lane = divmod(j, LANES)
        return self._filled(lambda each: each[block, ..., lane])

    def _filled(self, part: Callable[[np.ndarray], np.ndarray]) -> Sums:
        """A part of the sums, with whole matrices."""
        gram, gram_sq, cross = self._sums
        return Sums(whole(part(gram)), None if gram_sq is None else whole(part(gram_sq)), part(cross))


def aligned(*shape: int) -> np.ndarray:
    """An array that begins where a vector of C may."""
    size = math.prod(shape)
    room = np.zeros(size + LANES)
    start = -room.ctypes.data // room.itemsize % LANES
    return room[start : start + size].reshape(shape)


def in_lanes(values: np.ndarray) -> np.ndarray:
    """Values `[J, ...]` as `[blocks, ..., LANES]`."""
    blocks, shape = -(-len(values) // LANES), values.shape[1:]
    memory = np.arange(blocks * LANES)
    memory[len(values) :] = 0
    made = aligned(blocks, *shape, LANES)
    made[:] = np.moveaxis(values[memory].reshape(blocks, LANES, *shape), 1, -1)
    return made


def of_lanes(array: np.ndarray) -> np.ndarray:
    """Values of all memories, and of the lanes that are left over."""
    return np.moveaxis(array, -1, 1).reshape(-1, *array.shape[1:-1])


def whole(lower: np.ndarray) -> np.ndarray:
    """Symmetric matrices of which the lower triangle is known."""
    return np.tril(lower) + np.tril(lower, -1).mT
