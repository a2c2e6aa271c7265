r"""Value iteration over weighted transitions that all steps share, with a regression for each action.

For transitions i with features $\phi_i$ of the state in which action $a_i$ was taken, and $\phi'_i$ of the
next one, with weights $\omega_i$ and $\Lambda_a = \sum_{a_i = a} \omega_i\phi_i\phi_i^\top + \lambda I$, a
sweep is

$$w_a \leftarrow \Lambda_a^{-1} \sum_{a_i = a} \omega_i\phi_i\,(r_i + \gamma_i V(s'_i) - v_0), \qquad
  V(s') = \mathrm{clip}\big(\max_a\,v_0 + \phi'^\top w_a + b_a(s')\big),$$

with $\gamma_i = 0$ where the episode ended. With a discount, the prior value $v_0$ is the largest that there
can be, and sweeps go on until nothing changes. With a horizon H it is 0, there are H sweeps from $V = 0$, and
step h uses the sweep $H - h$: Algorithm 1 of the paper with one regression for all steps.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

Range = tuple[float, float]  # the least and the largest value of a state
_RECENT = 200  # transitions at which changes are looked at
_CHECKED = 4  # sweeps between two looks


class Regression(NamedTuple):
    """Transitions with their weights, and what a sweep needs of the sums over them."""

    features: np.ndarray  # [n, d]
    next_features: np.ndarray  # [n, d]
    bonus: np.ndarray  # [n, A] of the actions in the next state
    rewards: np.ndarray  # [n]
    discounts: np.ndarray  # [n] of the next state's value: 0 where the episode ended
    shares: np.ndarray  # [n, A] the weight of the transition, at its action
    inverse: np.ndarray  # [A, d, d] Λ⁻¹

    def targets(self, weights: np.ndarray, values: Range, prior: float = 0.0) -> np.ndarray:
        """Return what the next sweep regresses, `[n]`, from weights `[d, A]`."""
        index = self.next_features @ weights
        index += self.bonus + prior
        return self.rewards + self.discounts * np.clip(index.max(axis=1), *values) - prior

    def solve(self, targets: np.ndarray) -> np.ndarray:
        """Return the weights `[d, A]` of a regression of targets."""
        return np.einsum("ade,ea->da", self.inverse, self.features.T @ (self.shares * targets[:, None]))

    def misfit(self, weights: np.ndarray, targets: np.ndarray) -> float:
        """Return the root of the mean square of what weights `[d, A]` leave of targets."""
        left = self.shares * (targets[:, None] - self.features @ weights) ** 2
        return float(np.sqrt(left.sum() / self.shares.sum()))


class Plan(NamedTuple):
    """A plan; the bonus of a width b is `unit · b + misfit · min(b, 1)`."""

    weights: np.ndarray  # [d, A], or [H, d, A] with a horizon; empty before the first plan
    numbers: np.ndarray  # [3] the unit of widths, a share of the misfit of values, and their prior
    widths: np.ndarray  # [n, A] at the next states that are kept, from this plan or an earlier one, or NaN

    def bonus(self, widths: np.ndarray) -> np.ndarray:
        """Return the bonus for widths."""
        unit, misfit, _ = self.numbers
        return unit * widths + misfit * np.minimum(widths, 1)

    @property
    def prior(self) -> float:
        """The value of an unknown state."""
        return float(self.numbers[2])


def plan_discounted(
    regression: Regression, start: np.ndarray, values: Range, num_sweeps: int, tolerance: float
) -> tuple[np.ndarray, float]:
    """Return weights `[d, A]` after as many sweeps, or once they change no index much; and their misfit."""
    weights, recent, prior = start, regression.features[-_RECENT:], values[1]
    targets = regression.targets(weights, values, prior)
    for number in range(num_sweeps):
        before, targets = weights, regression.targets(weights, values, prior)
        weights = regression.solve(targets)
        if number % _CHECKED == _CHECKED - 1 and np.abs(recent @ (weights - before)).max() < tolerance:
            break
    return weights, regression.misfit(weights, targets)


def plan_horizon(regression: Regression, rewards: Range, horizon: int) -> np.ndarray:
    """Return the weights `[H, d, A]` of all steps."""
    return np.stack([*_sweeps(regression, rewards, horizon)][::-1])


def _sweeps(regression: Regression, rewards: Range, horizon: int) -> Iterator[np.ndarray]:
    weights = np.zeros((regression.features.shape[1], len(regression.inverse)))
    low, high = rewards
    for left in range(horizon):  # steps after the next state is reached
        weights = regression.solve(regression.targets(weights, (left * low, left * high)))
        yield weights
