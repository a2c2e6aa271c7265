"""A mixture of memories by its definition: every sum over the whole history, Student's t from SciPy."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

from driftwise.base import Episode


class Memory:
    """A ridge regression with exponential weights for each step, in a window."""

    def __init__(self, rate: float, ridge: float, window: float = math.inf) -> None:
        self.rate, self.ridge, self.window = rate, ridge, window
        self.history: list[Episode] = []
        self.weights: list[float] = []  # of each episode
        self.squares: list[list[float]] = []  # `e²/(1+v)` of each episode and step

    @property
    def held(self) -> float:
        """Number of rewards that count."""
        pairs = zip(self.weights, self.history, strict=True)
        return sum(weight * count_of(episode, 0) for weight, episode in pairs)

    def expected(self, h: int, phi: np.ndarray, values: np.ndarray) -> tuple[float, float]:
        """`m` and `v` for values `[H+1, S]`."""
        gram, target = self.ridge * np.eye(len(phi)), np.zeros(len(phi))
        for weight, episode in zip(self.weights, self.history, strict=True):
            past, weight = episode.features[h], weight * count_of(episode, h)
            gram += weight * np.outer(past, past)
            target += weight * past * (episode.rewards[h] + values[h + 1, episode.successors[h]])
        return float(phi @ np.linalg.solve(gram, target)), float(phi @ np.linalg.solve(gram, phi))

    def forecast(self, episode: Episode, values: np.ndarray) -> list[tuple[float, float]]:
        """`e` and `v` of each step, in units of the noise of what came: the mean of n rewards has an nth."""
        found = []
        for h, phi in enumerate(episode.features):
            mean, doubt = self.expected(h, phi, values)
            error, n = episode.rewards[h] + values[h + 1, episode.successors[h]] - mean, count_of(episode, h)
            found.append((error * math.sqrt(n), doubt * n))
        return found

    def units(self, horizon: int) -> list[float]:
        """`s_h + √λ (H−h+1)` of each step, from the squares of its own forecasts, two of them the mean."""
        found = []
        for h in range(horizon):
            squares = [row[h] for row in self.squares]
            mean = sum(squares) / len(squares) if squares else 1.0
            weighted = sum(w * square for w, square in zip(self.weights, squares, strict=True))
            noise = math.sqrt((2 * mean + weighted) / (2 + sum(self.weights)))
            found.append(noise + math.sqrt(self.ridge) * (horizon - h))
        return found

    def learn(self, episode: Episode) -> None:
        self.history.append(episode)
        self.weights = [self.rate * weight for weight in self.weights] + [1.0]
        self.weights = [w * (age <= self.window) for w, age in zip(self.weights, ages(self), strict=True)]


def count_of(episode: Episode, h: int) -> float:
    """Number of rewards that the one of a step is the mean of."""
    return 1.0 if episode.counts is None else float(episode.counts[h])


def ages(memory: Memory) -> range:
    """1 for the last episode, and so on backwards."""
    return range(len(memory.history), 0, -1)


class Noise:
    """The noise of a step: squares `e²/(1+v)` and exponential weights over them."""

    def __init__(self, rate: float, *, count: float = 2.0, max_degrees: float, lost: int = 0) -> None:
        self.rate, self.count, self.max_degrees, self.lost = rate, count, max_degrees, lost
        self.squares: list[float] = []

    @property
    def degrees(self) -> float:
        """`ν`."""
        return self.count + sum(self._weights())

    @property
    def variance(self) -> float:
        """`s²`."""
        weights, squares = np.array(self._weights()), np.array(self.squares)
        known = len(squares) - self.lost
        prior = float(squares.sum()) / known if known > 0 else 1.0
        return (self.count * prior + float(weights @ squares)) / self.degrees

    def score(self, error: float, doubt: float) -> float:
        """The logarithm of Student's density."""
        if not self.variance > 0:
            return 0.0
        width = math.sqrt(self.variance * (1 + doubt))
        return float(student.logpdf(error, min(self.degrees, self.max_degrees), scale=width))

    def _weights(self) -> list[float]:
        return [self.rate**age for age in range(len(self.squares) - 1, -1, -1)]


class Mixture:
    """Memories, their weights, one noise for each step, and fresh starts of the last memory.

    With an `outlier`, which is for bandits, rewards are regressed on a constant too, and clipped.
    """

    def __init__(
        self,
        memories: list[Memory],
        noises: list[Noise],
        prior: list[float],
        share: float,
        fresh: bool,
        outlier: float = 0.0,
    ) -> None:
        self.memories, self.noises, self.prior, self.share, self.fresh = memories, noises, prior, share, fresh
        self.outlier, self.origin, self.unit = outlier, 0.0, 1.0
        self.scores: list[list[float]] = []
        self.ticks: list[int] = []  # rewards after each of them
        self.renewals: list[int] = []

    @property
    def weights(self) -> list[float]:
        return fixed_share(self.scores, self.prior, self.share, self.ticks)[-1]

    def learn(self, episode: Episode, values: np.ndarray) -> None:
        """Score the forecasts of an episode, for values `[H+1, S]`, and learn from it."""
        before, dim = self.weights, episode.features.shape[1]
        if self.outlier:
            if not self.scores:
                length = float(np.linalg.norm(episode.features[0]))
                self.origin = float(episode.rewards[0])
                self.unit = min(max(length, 0.01), 1.0) if length > 0 else 1.0
            extended = np.column_stack([episode.features / self.unit, [10.0]])
            episode = episode._replace(features=extended, rewards=episode.rewards - self.origin)
            episode = self._clipped(episode, values)
        found = [memory.forecast(episode, values) for memory in self.memories]  # [J][H]
        self.scores.append(
            [sum(noise.score(*each) for noise, each in zip(self.noises, row, strict=True)) for row in found]
        )
        self.ticks.append(len(self.memories[0].squares) + 1)
        for h, noise in enumerate(self.noises):
            squares = [row[h][0] ** 2 / (1 + row[h][1]) for row in found]
            noise.squares.append(float(np.dot(before, squares)))
        for memory, row in zip(self.memories, found, strict=True):
            memory.squares.append([error**2 / (1 + doubt) for error, doubt in row])
            memory.learn(episode)
        self._renew(dim)

    def learn_batch(self, features: np.ndarray, rewards: np.ndarray, most: int) -> float:
        """Learn from a bandit's rewards `[n]` that came together, so many at most forecast together.

        The score of the heaviest memories is returned.
        """
        dim = features.shape[1]
        if self.outlier:
            if not self.scores:
                length = float(np.linalg.norm(features[0]))
                self.origin, self.unit = float(np.median(rewards)), min(max(length, 0.01), 1.0)
            features = np.column_stack([features / self.unit, np.full(len(features), 10.0)])
            rewards = rewards - self.origin
        parts = np.array_split(np.arange(len(rewards)), math.ceil(len(rewards) / most))
        score = sum(self._learn_part(features[part], rewards[part]) for part in parts)
        self._renew(dim)
        return score

    def _learn_part(self, features: np.ndarray, rewards: np.ndarray) -> float:
        before, (noise,), num = self.weights, self.noises, len(rewards)
        if self.outlier:
            rewards = self._clipped_batch(features, rewards)
        found = []  # squares, whose sum is eᵀC⁻¹e, and log |C| of each memory
        for memory in self.memories:
            gram, target = memory.ridge * np.eye(features.shape[1]), np.zeros(features.shape[1])
            for weight, episode in zip(memory.weights, memory.history, strict=True):
                weight *= memory.rate ** (num - 1)
                gram += weight * np.outer(episode.features[0], episode.features[0])
                target += weight * episode.rewards[0] * episode.features[0]
            error = rewards - features @ np.linalg.solve(gram, target)
            covariance = np.eye(num) + features @ np.linalg.solve(gram, features.T)
            rest = np.linalg.solve(covariance, error)
            squares = rest**2 + (error @ rest - rest @ rest) / num
            found.append((squares, float(np.linalg.slogdet(covariance)[1])))
        means = [float(squares.mean()) for squares, _ in found]
        noise.squares += [float(np.dot(before, means))] * (num - 1)  # as before the last of them
        self.scores.append(
            [
                sum(noise.score(math.sqrt(square), 0.0) for square in squares)
                - 0.5 * volume * (noise.variance > 0)
                for squares, volume in found
            ]
        )
        self.ticks.append(len(self.memories[0].squares) + num)
        noise.squares.append(float(np.dot(before, means)))
        for memory, mean in zip(self.memories, means, strict=True):
            memory.squares += [[mean]] * num
            for row, reward in zip(features, rewards, strict=True):
                nowhere = np.zeros(1, dtype=int)
                memory.learn(Episode(nowhere, nowhere, row[None], np.array([reward]), nowhere))
        return self.scores[-1][int(np.argmax(before))]

    def _renew(self, dim: int) -> None:
        weights, last = self.weights, self.memories[-1]
        heaviest = self.memories[int(np.argmax(weights))]
        alpha = self.share or 1 / (self.ticks[-1] + 1)
        sunk = weights[-1] <= min(2 * alpha, 1 / 2) * self.prior[-1]
        if self.fresh and sunk and last.held > 2 * heaviest.held and last.held >= 5 * dim:
            last.weights, last.squares = list(heaviest.weights), list(heaviest.squares)
            self.renewals.append(self.ticks[-1])

    def _clipped_batch(self, features: np.ndarray, rewards: np.ndarray) -> np.ndarray:
        """Return rewards that are no outliers for the heaviest memory, by the noise or by their median."""
        (noise,), heaviest = self.noises, self.memories[int(np.argmax(self.weights))]
        means, doubts = np.transpose([heaviest.expected(0, row, np.zeros((2, 1))) for row in features])
        known, num = len(noise.squares), len(rewards)
        spread = noise.variance if known >= 3 else 0.0
        if num > 3:
            median = float(np.median((rewards - means) ** 2 / (1 + doubts)))
            spread = max(spread, median / 0.6745**2)  # of a normal's absolute value, the median is 0.6745
        if known + num <= 3 or not spread > 0:
            return rewards
        most = self.outlier * (1 + 100 / (known + num - 1)) * np.sqrt(spread * (1 + doubts))
        return np.clip(rewards, means - most, means + most)

    def _clipped(self, episode: Episode, values: np.ndarray) -> Episode:
        """Return the episode with a reward that is no outlier for the heaviest memory, from the 4th on."""
        (noise,), heaviest = self.noises, self.memories[int(np.argmax(self.weights))]
        if len(noise.squares) < 3 or not noise.variance > 0:
            return episode
        mean, doubt = heaviest.expected(0, episode.features[0], values)
        n = count_of(episode, 0)
        outlier = self.outlier * (1 + 100 / len(noise.squares))
        most = outlier * math.sqrt(noise.variance * (doubt + 1 / n))
        return episode._replace(rewards=np.clip(episode.rewards, mean - most, mean + most))


def fixed_share(
    scores: Sequence[Sequence[float]],
    prior: Sequence[float],
    share: float,
    ticks: Sequence[int] | None = None,
) -> list[list[float]]:
    """The weights before each round and after the last, as Herbster & Warmuth (1998) define them."""
    weights = [list(prior)]
    for t, round_scores in zip(ticks or range(1, len(scores) + 1), scores, strict=True):
        best = max(round_scores)  # which leaves the shares as they are
        raised = [w * math.exp(score - best) for w, score in zip(weights[-1], round_scores, strict=True)]
        alpha = share or 1 / (t + 1)
        total = sum(raised)
        weights.append([(1 - alpha) * u / total + alpha * p for u, p in zip(raised, prior, strict=True)])
    return weights


def best_sequence(scores: np.ndarray, prior: np.ndarray, shares: Sequence[float]) -> float:
    """The right side of the guarantee, least over all sequences of experts: try every one of them."""
    num_rounds, num_experts = scores.shape
    best = math.inf
    for code in range(num_experts**num_rounds):
        chosen = [code // num_experts**t % num_experts for t in range(num_rounds)]
        cost = -sum(scores[t, j] for t, j in enumerate(chosen)) - math.log(prior[chosen[0]])
        for t in range(1, num_rounds):
            stays = (1 - shares[t - 1]) * (chosen[t] == chosen[t - 1])
            cost -= math.log(stays + shares[t - 1] * prior[chosen[t]])
        best = min(best, cost)
    return best
