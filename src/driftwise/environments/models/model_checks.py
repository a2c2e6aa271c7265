"""Checks of the arrays of linear MDPs."""

from __future__ import annotations

import functools

import numpy as np

MODEL_TOLERANCE = 1e-8  # of probabilities, rewards and norms: far above rounding, far below a mistake


def check_models(features: np.ndarray, theta: np.ndarray, mu: np.ndarray, initial: np.ndarray) -> None:
    """Raise a `ValueError` that says what keeps these arrays from being linear MDPs."""
    dim = features.shape[-1]
    norms = np.linalg.norm(features, axis=-1)
    check_all(norms, "features", "norm", "at most 1", ("state", "action"), high=1.0)
    check_all(initial, "initial", "probability", "at least 0", ("state",), low=0.0)
    check_all(initial.sum(), "initial", "sum", "1", (), low=1.0, high=1.0)
    where = ("anchor", "step")
    pair = (*where, "state", "action")
    of_pairs = functools.partial(np.einsum, "sad,jhd->jhsa", features)  # not both at once
    check_all(of_pairs(theta), "theta", "mean reward", "in [0, 1]", pair, low=0.0, high=1.0)
    what = "sum of the transition probabilities"
    check_all(of_pairs(mu.sum(-1)), "mu", what, "1", pair, low=1.0, high=1.0)
    root = np.sqrt(dim)  # norms after what they follow from: a sum of 1.2 is a mistake of its own
    at_most = f"at most sqrt(dim) = {root:g}"
    check_all(np.linalg.norm(theta, axis=-1), "theta", "norm", at_most, where, high=root)
    masses = np.linalg.norm(mu.sum(-1), axis=-1)  # ‖μ(S)‖, as the paper assumes: signed masses may cancel
    check_all(masses, "mu", "norm of the masses mu(S)", at_most, where, high=root)
    if features.min() >= 0 and mu.min() >= 0:
        return  # every probability is a sum of non-negative terms
    for j, h in np.ndindex(*mu.shape[:2]):
        prefix = f"mu (anchor {j}, step {h})"
        names = ("state", "action", "next state")
        check_all(features @ mu[j, h], prefix, "transition probability", "at least 0", names, low=0.0)


def check_all(
    values: np.ndarray,
    name: str,
    what: str,
    expected: str,
    axes: tuple[str, ...],
    *,
    low: float = -np.inf,
    high: float = np.inf,
) -> None:
    """Raise a `ValueError` that names the first value outside of the bounds and its place on the axes."""
    bad = np.argwhere((values < low - MODEL_TOLERANCE) | (values > high + MODEL_TOLERANCE))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        place = ", ".join(f"{axis} {i}" for axis, i in zip(axes, index, strict=True))
        where = f"{what} at {place}" if place else what
        raise ValueError(f"{name}: {where} is {values[index]:.6g}, expected {expected}")
