"""Agents and yardsticks that play a world: each returns the arms `[T]` that it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from benchmarks.gauntlet.parts import Draws
from driftwise.online import Bandit

MEMORIES = 30, 100, 300, 1000, np.inf  # rounds that the fixed memories of the grid last
RADII = 0.25, 0.5, 1.0  # of the grid, in units of the rewards
RIDGE = 0.1  # of the grid, in units of the mean square of features
_LARGEST_EXACT, _REFRESH = 60, 20  # dimensions up to which inverses are exact; else they are so that often


class Player(Protocol):
    """Takes arms of a run by their features; rewards that come together have the numbers of their rounds."""

    def decide(self, t: int, arms: np.ndarray) -> int: ...

    def learn(self, numbers: list[int], rewards: list[float]) -> None: ...


def arrivals(due: np.ndarray) -> Iterator[list[int]]:
    """Yield the rounds whose rewards arrive at the end of each round, in order."""
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    for t, end in enumerate(due.tolist()):
        waiting[end].append(t)
        yield waiting.pop(t, [])


def play(player: Player, draws: Draws) -> np.ndarray:
    """Return the arms that a player takes."""
    taken = np.empty(len(draws.means), dtype=int)
    for t, arriving in enumerate(arrivals(draws.due)):
        offered = np.flatnonzero(draws.offered[t])
        taken[t] = offered[player.decide(t, draws.arms(t)[offered])]
        if arriving:
            player.learn(arriving, draws.rewards[arriving, taken[arriving]].tolist())
    return taken


class OnlineBandit:
    """A bandit of the library, through its public API."""

    def __init__(self, dim: int, seed: int, **options: Any) -> None:
        self.bandit = Bandit(dim=dim, seed=seed, max_pending=100_000, **options)

    def decide(self, t: int, arms: np.ndarray) -> int:
        return self.bandit.decide(arms, id=t).arm

    def learn(self, numbers: list[int], rewards: list[float]) -> None:
        self.bandit.learn_many(numbers, rewards)


class VowpalWabbit:
    """Vowpal Wabbit with action-dependent features, 5 % exploration, and constant steps."""

    def __init__(self, dim: int, seed: int) -> None:
        from vowpalwabbit import Workspace  # pyright: ignore[reportMissingImports]

        options = f"--cb_explore_adf --epsilon 0.05 --power_t 0 --random_seed {seed + 1} --quiet"
        self._learner, self._draws = Workspace(options), np.random.default_rng(seed)
        self._decided: dict[int, tuple[list[str], int, float]] = {}

    def decide(self, t: int, arms: np.ndarray) -> int:
        text = ["| " + " ".join(f"{i}:{row[i]:.9g}" for i in np.flatnonzero(row)) for row in arms]
        chances = np.array(self._learner.predict(text))
        arm = int(self._draws.choice(len(arms), p=chances / chances.sum()))
        self._decided[t] = text, arm, chances[arm]
        return arm

    def learn(self, numbers: list[int], rewards: list[float]) -> None:
        for t, reward in zip(numbers, rewards, strict=True):
            text, arm, chance = self._decided.pop(t)
            text[arm] = f"{arm}:{-reward:.9g}:{chance:.9g} {text[arm]}"
            self._learner.learn(text)


def has_vowpal_wabbit() -> bool:
    """Return whether Vowpal Wabbit is installed."""
    try:
        VowpalWabbit(1, 0)
    except ImportError:
        return False
    return True


class FixedMemories:
    r"""Linear UCB with index $x^\top\hat\theta + \rho\sqrt{x^\top\Lambda^{-1}x}$ for many rates and radii.

    All agents of the grid advance together. Grams `[G, B, p, p]` have one block, or one for each arm. The
    ridge never shrinks. In many dimensions inverses are exact in every twentieth round; in between, their
    ridges shrink with the rest.
    """

    def __init__(self, rates: np.ndarray, radii: np.ndarray, ridge: float, draws: Draws, seed: int) -> None:
        grid, dim = len(rates), draws.features.shape[-1]
        num_blocks = draws.means.shape[1] if draws.blocks else 1
        self._rates, self._radii, self._ridge = rates[:, None], radii[:, None], ridge
        self._blocks, self._rows = draws.blocks, np.arange(grid)
        self._gram = np.zeros((grid, num_blocks, dim, dim))
        self._cross = np.zeros((grid, num_blocks, dim))
        self._eye = ridge * np.eye(dim)
        self._inverse = np.linalg.inv(self._gram + self._eye)
        self._exact, self._is_old, self._updates = dim <= _LARGEST_EXACT, False, 0
        self._ties = np.random.default_rng(seed)

    def decide(self, features: np.ndarray, offered: np.ndarray) -> np.ndarray:
        """Return the arm of each agent, from arms `[A, d]`, or a context `[p]` with blocks."""
        if self._is_old:
            self._inverse, self._is_old = np.linalg.inv(self._gram + self._eye), False
        theta = (self._inverse @ self._cross[..., None])[..., 0]
        if self._blocks:
            mean = theta @ features
            square = (self._inverse @ features) @ features
        else:
            mean = theta[:, 0] @ features.T
            square = np.vecdot(features @ self._inverse[:, 0], features)
        index = mean + self._radii * np.sqrt(np.maximum(square, 0))
        index = np.where(offered, index, -np.inf)
        best = index >= index.max(axis=1, keepdims=True) - 1e-12
        return (best * self._ties.random(best.shape[1])).argmax(axis=1)

    def learn(self, features: np.ndarray, taken: np.ndarray, rewards: np.ndarray) -> None:
        """Learn a reward of each agent for features `[G, p]`; with blocks, in the block of its arm."""
        block = taken if self._blocks else np.zeros_like(taken)
        self._gram *= self._rates[..., None, None]
        self._cross *= self._rates[..., None]
        self._gram[self._rows, block] += features[:, :, None] * features[:, None]
        self._cross[self._rows, block] += rewards[:, None] * features
        self._updates += 1
        self._is_old = self._exact or self._updates % _REFRESH == 0
        if not self._is_old:
            self._inverse /= self._rates[..., None, None]
            own = self._inverse[self._rows, block]
            image = (own @ features[:, :, None])[..., 0]
            own -= image[:, :, None] * (image / (1 + np.vecdot(image, features))[:, None])[:, None]
            self._inverse[self._rows, block] = own


def play_grid(draws: Draws, seed: int) -> np.ndarray:
    """Return the arms `[T, G]` of fixed memories, which are told the mean and the unit of rewards."""
    rates = np.repeat([1 - 1 / memory for memory in MEMORIES], len(RADII))
    radii = np.tile(RADII, len(MEMORIES))
    squares = np.mean(np.sum(draws.features[:100] ** 2, axis=-1)).item()
    agents = FixedMemories(rates, radii, RIDGE * squares, draws, seed)
    rewards = (draws.rewards - np.mean(draws.means)) / draws.unit
    taken = np.empty((len(rewards), len(rates)), dtype=int)
    for t, arriving in enumerate(arrivals(draws.due)):
        features = draws.features[t % len(draws.features)]
        taken[t] = agents.decide(features, draws.offered[t])
        for number in arriving:
            arms, at = taken[number], draws.features[number % len(draws.features)]
            rows = np.broadcast_to(at, (len(arms), len(at))) if draws.blocks else at[arms]
            agents.learn(rows, arms, rewards[number, arms])
    return taken


def make_bandit(algorithm: str, draws: Draws, seed: int) -> OnlineBandit:
    """Return the bandit of an algorithm; `lin_ucb` is told the noise, or a tenth of the unit of rewards."""
    options: dict[str, Any] = {}
    if algorithm == "lin_ucb":
        options["noise_scale"] = max(draws.noise, 0.1 * draws.unit)
    return OnlineBandit(draws.dim, seed, algorithm=algorithm, **options)
