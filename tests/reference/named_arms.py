"""Ridge regression with a block of weights for every arm that there ever was: nothing is ever taken out."""

import numpy as np


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
        rows = np.array([self.row(*each[:3]) for each in self.samples])
        rewards = np.array([each[3] for each in self.samples])
        weights = rate ** np.arange(len(rows) - 1, -1, -1.0)
        ridge = self.ridge * np.eye(rows.shape[1])
        gram = (rows.T * weights) @ rows + ridge
        gram_sq = (rows.T * weights**2) @ rows + ridge
        row = self.row(shared, own, arm)
        mapped = np.linalg.solve(gram, row)
        estimate = mapped @ (rows.T * weights) @ rewards
        return float(estimate), float(np.sqrt(row @ mapped)), float(np.sqrt(mapped @ gram_sq @ mapped))
