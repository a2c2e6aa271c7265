"""Ridge regression with a block of weights for every arm that there ever was: nothing is ever taken out."""

import numpy as np

from tests.reference.plain import sums_of


class EveryArm:
    """Samples of shared features and of an arm's own, kept as they are.

    The weights are those of all arms, also of those that are gone: `w = Λ⁻¹b` with one block for the shared
    features and one for each arm, and the width of a prediction is `√(φᵀΛ⁻¹φ)`, or with rates below 1 also
    `√(φᵀΛ⁻¹Λ̃Λ⁻¹φ)`.
    """

    def __init__(self, num_shared: int, num_own: int, ridge: float) -> None:
        self.num_shared, self.num_own, self.ridge = num_shared, num_own, ridge
        self.arms: list[str] = []
        self.samples: list[tuple[np.ndarray, np.ndarray, str, float]] = []

    def learn(self, shared: np.ndarray, own: np.ndarray, arm: str, reward: float) -> None:
        if arm not in self.arms:
            self.arms.append(arm)
        self.samples.append((shared, own, arm, reward))

    def row(self, shared: np.ndarray, own: np.ndarray, arm: str) -> np.ndarray:
        """Features with a block for each arm, and one more for an arm that was never seen."""
        blocks = np.zeros((len(self.arms) + 1, self.num_own))
        blocks[self.arms.index(arm) if arm in self.arms else -1] = own
        return np.concatenate([shared, blocks.ravel()])

    def prediction(
        self, shared: np.ndarray, own: np.ndarray, arm: str, rate: float = 1.0
    ) -> tuple[float, float, float]:
        """Estimate, and its width in either norm."""
        newest = len(self.samples) - 1
        samples = [(rate ** (newest - i), self.row(*s[:3]), s[3]) for i, s in enumerate(self.samples)]
        row = self.row(shared, own, arm)
        sums = sums_of(samples, self.ridge, len(row))
        mapped = np.linalg.solve(sums.gram, row)
        return float(row @ sums.estimate), sums.length(row), float(np.sqrt(mapped @ sums.gram_sq @ mapped))
