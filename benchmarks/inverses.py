"""Inverses and sandwiches of many small matrices: the library's routines against one matrix to a lane.

    python -m benchmarks.inverses       # where the switch in `base.jax_backend` comes from, on this device

Microseconds for one matrix; the smaller number says which form to take.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from driftwise.base.jax_backend import by_tiles, inverse_by_cholesky, invert_lanes, kernels

DIMENSIONS = (2, 5, 8, 10, 12, 14, 16, 20, 24, 32)
FORMS: dict[str, dict[str, Callable[..., jax.Array]]] = {
    "cpu": {"Cholesky": inverse_by_cholesky, "sweep": by_tiles(invert_lanes)},
    "gpu": {
        "Cholesky": inverse_by_cholesky,
        "kernel": kernels.invert_on_gpu,
        "products": lambda matrix: matrix @ matrix @ matrix,
        "kernel of products": lambda matrix: kernels.sandwich_on_gpu(matrix, matrix),
    },
}


def microseconds(form: Callable[..., jax.Array], matrices: jax.Array, repeats: int = 20) -> float:
    """For one matrix, with the runs as the last axis, as a simulation on a GPU keeps them."""
    program = jax.jit(jax.vmap(form, in_axes=-1, out_axes=-1))
    program(matrices).block_until_ready()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        program(matrices).block_until_ready()
        times.append(time.perf_counter() - started)
    return statistics.median(times) / (matrices.shape[0] * matrices.shape[-1]) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--horizon", type=int, default=10, help="matrices of a run")
    parser.add_argument("--precision", choices=("float32", "float64"), default="float64")
    parser.add_argument("--runs", type=int, nargs="+", help="1 and 64, or 8192 on a GPU")
    given = parser.parse_args()
    platform = jax.default_backend()
    forms = FORMS[platform]
    print(f"| d | runs | {' | '.join(forms)} |\n|---|---|{'---|' * len(forms)}")
    with jax.enable_x64(True), jax.default_matmul_precision("highest"):
        for num_runs in given.runs or ([1, 64] if platform == "cpu" else [8192]):
            for dim in DIMENSIONS:
                made = np.random.default_rng(0).normal(size=(given.horizon, dim, 2 * dim, num_runs))
                made = np.einsum("hikr,hjkr->hijr", made, made).astype(given.precision)
                times = [microseconds(form, jnp.asarray(made)) for form in forms.values()]
                print(f"| {dim} | {num_runs} | {' | '.join(f'{each:.4g}' for each in times)} |", flush=True)


if __name__ == "__main__":
    main()
