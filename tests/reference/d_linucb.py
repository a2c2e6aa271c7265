"""D-LinUCB (Russac, Vernade & Cappé 2019, Algorithm 1) on a fixed set of arms, without noise."""

from __future__ import annotations

import numpy as np


def pulled_arms(
    arms: np.ndarray, thetas: np.ndarray, *, rate: float, radius: float, ridge: float
) -> list[int]:
    """The arm of every round: arms `[A, d]`, the parameter of each round `[T, d]`."""
    identity = np.eye(arms.shape[1])
    gram, gram_sq, target = ridge * identity, ridge * identity, np.zeros(arms.shape[1])
    pulled = []
    for theta in thetas:
        inverse = np.linalg.inv(gram)
        estimate = inverse @ target
        index = [x @ estimate + radius * np.sqrt(x @ inverse @ gram_sq @ inverse @ x) for x in arms]
        arm = int(np.argmax(index))
        x = arms[arm]
        gram = rate * gram + np.outer(x, x) + (1 - rate) * ridge * identity
        gram_sq = rate**2 * gram_sq + np.outer(x, x) + (1 - rate**2) * ridge * identity
        target = rate * target + x * (x @ theta)
        pulled.append(arm)
    return pulled
