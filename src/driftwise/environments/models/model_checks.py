"""Checks of the arrays of linear MDPs."""

import functools

import numpy as np

MODEL_TOLERANCE = 1e-8  # of probabilities, rewards and norms: far above rounding, far below a mistake


def check_models(features: np.ndarray, theta: np.ndarray, mu: np.ndarray, initial: np.ndarray) -> None:
    """Raise a `ValueError` that says what keeps these arrays from being linear MDPs."""
    where, pair = ("anchor", "step"), ("anchor", "step", "state", "action")
    check_all(np.linalg.norm(features, axis=-1), "features", "norm", "at most 1", pair[2:], 0.0, 1.0)
    check_all(initial, "initial", "probability", "at least 0", ("state",), 0.0, np.inf)
    check_all(initial.sum(), "initial", "sum", "1", (), 1.0, 1.0)
    of_pairs = functools.partial(np.einsum, "sad,jhd->jhsa", features)  # not both at once
    check_all(of_pairs(theta), "theta", "mean reward", "in [0, 1]", pair, 0.0, 1.0)
    check_all(of_pairs(mu.sum(-1)), "mu", "sum of the transition probabilities", "1", pair, 1.0, 1.0)
    root = np.sqrt(features.shape[-1])  # norms after what they follow from: a wrong sum is named first
    at_most = f"at most sqrt(dim) = {root:g}"
    check_all(np.linalg.norm(theta, axis=-1), "theta", "norm", at_most, where, 0.0, root)
    masses = np.linalg.norm(mu.sum(-1), axis=-1)  # ‖μ(S)‖, as the paper assumes: signed masses may cancel
    check_all(masses, "mu", "norm of the masses mu(S)", at_most, where, 0.0, root)
    if features.min() >= 0 and mu.min() >= 0:
        return  # every probability is a sum of non-negative terms
    for j, h in np.ndindex(*mu.shape[:2]):
        name, axes = f"mu (anchor {j}, step {h})", ("state", "action", "next state")
        check_all(features @ mu[j, h], name, "transition probability", "at least 0", axes, 0.0, np.inf)


def check_all(
    values: np.ndarray, name: str, what: str, expected: str, axes: tuple[str, ...], low: float, high: float
) -> None:
    """Raise a `ValueError` that names the first value outside of the bounds and its place on the axes."""
    bad = np.argwhere((values < low - MODEL_TOLERANCE) | (values > high + MODEL_TOLERANCE))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        place = ", ".join(f"{axis} {i}" for axis, i in zip(axes, index, strict=True))
        where = f"{what} at {place}" if place else what
        raise ValueError(f"{name}: {where} is {values[index]:.6g}, expected {expected}")
