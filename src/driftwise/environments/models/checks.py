"""Checks of the arrays that are to be linear MDPs; a failure says which number is wrong, and where."""

from __future__ import annotations

import numpy as np

TOLERANCE = 1e-8  # of probabilities, rewards and norms: far above rounding, far below a mistake


def projection(psi: np.ndarray) -> np.ndarray:
    """`Ψ(ΨᵀΨ)⁻¹Ψᵀ`, onto the span of the columns of `Ψ`: `[S, S]`."""
    return psi @ np.linalg.pinv(psi)


def check_models(features: np.ndarray, theta: np.ndarray, mu: np.ndarray, initial: np.ndarray) -> None:
    """Raise a `ValueError` that says what keeps these arrays from being linear MDPs."""
    dim = features.shape[-1]
    norms = np.linalg.norm(features, axis=-1)
    check_all(norms, "features", "norm", "at most 1", ("state", "action"), high=1.0)
    check_all(initial, "initial", "probability", "at least 0", ("state",), low=0.0)
    check_all(initial.sum(), "initial", "sum", "1", (), low=1.0, high=1.0)
    where = ("anchor", "step")
    root = np.sqrt(dim)
    at_most = f"at most sqrt(dim) = {root:g}"
    check_all(np.linalg.norm(theta, axis=-1), "theta", "norm", at_most, where, high=root)
    masses = np.linalg.norm(mu.sum(-1), axis=-1)  # ‖μ(S)‖, as the paper assumes: signed masses may cancel
    check_all(masses, "mu", "norm of the masses mu(S)", at_most, where, high=root)
    pair = (*where, "state", "action")
    rewards = np.einsum("sad,jhd->jhsa", features, theta)
    check_all(rewards, "theta", "mean reward", "in [0, 1]", pair, low=0.0, high=1.0)
    mass = np.einsum("sad,jhd->jhsa", features, mu.sum(-1))
    check_all(mass, "mu", "sum of the transition probabilities", "1", pair, low=1.0, high=1.0)
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
    bad = np.argwhere((values < low - TOLERANCE) | (values > high + TOLERANCE))
    if len(bad):
        index = tuple(int(i) for i in bad[0])
        place = ", ".join(f"{axis} {i}" for axis, i in zip(axes, index, strict=True))
        where = f"{what} at {place}" if place else what
        raise ValueError(f"{name}: {where} is {values[index]:.6g}, expected {expected}")
