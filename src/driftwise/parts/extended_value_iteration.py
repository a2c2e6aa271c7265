"""Extended value iteration: the best gain over all MDPs within L1 balls around a kernel."""

from typing import NamedTuple

from driftwise.base.arrays import namespace, while_loop
from driftwise.base.types import Array


class Optimum(NamedTuple):
    """The result of value iteration."""

    q: Array  # [S, A] of the last iteration, computed from the values before it
    values: Array  # [S] relative: the least of them is 0
    low: Array  # lower bound of the best gain, up to rounding
    high: Array  # upper bound of it
    iterations: Array


def best_kernel(kernel: Array, radius: Array, values: Array) -> Array:
    """`argmax_p Σ p(s') v(s')` for `‖p − p̂‖₁ ≤ radius`, `[..., S]`: mass moves from the worst states."""
    xp = namespace(kernel)  # for few states comparing all pairs compiles to faster code than a sort
    states = xp.arange(kernel.shape[-1])
    lower = values[:, None] < values[None, :]
    tied_before = (values[:, None] == values[None, :]) & (states[:, None] < states[None, :])
    before = xp.astype(lower | tied_before, kernel.dtype)  # [S, S]
    best = xp.astype(xp.sum(before, axis=0) == kernel.shape[-1] - 1, kernel.dtype)
    moved = xp.minimum(radius / 2, 1 - kernel @ best)[..., None]
    below = kernel @ before  # mass of the states that are worse
    rest = xp.clip(below + kernel - moved, 0, None) - xp.clip(below - moved, 0, None)
    return rest + moved * best


def extended_value_iteration(
    reward: Array, kernel: Array, radius: Array, *, tolerance: Array, active: Array, max_iterations: int
) -> Optimum:
    r"""$u_{i+1}(s) = \max_a \{r(s,a) + \max_p \sum_{s'} p(s')u_i(s')\}$, until all change alike.

    It stops when `max(u_{i+1} − u_i) − min(u_{i+1} − u_i) < tolerance`: then the policy that is greedy for
    `q` has a gain within the tolerance of the best one. `low` and `high` also hold after `max_iterations`.
    Without `active` it does not iterate: a batch takes as long as its slowest active element.
    """
    xp = namespace(kernel)
    zero = xp.zeros((), dtype=kernel.dtype)
    start = Optimum(xp.zeros_like(reward), xp.zeros_like(reward[:, 0]), zero, zero + xp.inf, xp.asarray(0))

    def unfinished(now: Optimum) -> Array:
        return active & (now.high - now.low >= tolerance) & (now.iterations < max_iterations)

    def improve(now: Optimum) -> Optimum:
        q = reward + best_kernel(kernel, radius, now.values) @ now.values
        values = xp.max(q, axis=-1)
        change = values - now.values
        return Optimum(q, values - xp.min(values), xp.min(change), xp.max(change), now.iterations + 1)

    return while_loop(unfinished, improve, start)
