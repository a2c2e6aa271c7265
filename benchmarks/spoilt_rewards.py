"""Wrong decisions that spoilt rewards cost an online bandit: one in a wrong unit, or some that were lost.

    python -m benchmarks.spoilt_rewards

Four arms pay 0.3, 0.45, 0.6 and 0.75 in the mean, with noise of 0.1. After 200 rounds one reward is sent 100
times too large, with or without its sign; or the first twenty rewards of the best arm, whenever they come,
arrive as 0. A decision is wrong if it is not for the best arm. The first column has how many are without any
mistake, the others how many more there are with one, in 10,000 rounds: means over streams, and their standard
errors.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.analysis.table import Table, markdown_text, words
from driftwise.online import Bandit

MEANS, NOISE = np.array([0.3, 0.45, 0.6, 0.75]), 0.1
BEST, WORST = 3, 0
ROUNDS, STREAMS = 10_000, 8
TOLD: dict[str, Any] = dict(noise_scale=NOISE, norm_bound=1.1, ridge=0.1)
CLIP: dict[str, Any] = dict(outside="clip")
RANGE: dict[str, Any] = dict(reward_range=(0.0, 1.0), **CLIP)


class Mistake(NamedTuple):
    """So many rewards of an arm, from a round on, times a factor."""

    arm: int
    since: int
    number: int
    factor: float


MISTAKES = {
    "worst arm × 100": Mistake(WORST, 200, 1, 100.0),
    "best arm × −100": Mistake(BEST, 200, 1, -100.0),
    "best arm, 20 × 0": Mistake(BEST, 0, 20, 0.0),
}
AGENTS: dict[str, dict[str, Any]] = {
    "lin_ucb": dict(algorithm="lin_ucb", **TOLD),
    "lin_ucb, outliers clipped": dict(algorithm="lin_ucb", **TOLD, **CLIP),
    "lin_ucb, reward_range": dict(algorithm="lin_ucb", **TOLD, **RANGE),
    "cw_oful, C = 15": dict(algorithm="cw_oful", corruption=15.0, **TOLD),
    "cw_oful, C = 100": dict(algorithm="cw_oful", corruption=100.0, **TOLD),
    "cw_oful, C = 15, reward_range": dict(algorithm="cw_oful", corruption=15.0, **TOLD, **RANGE),
    "d_lin_ucb": dict(algorithm="d_lin_ucb", rate=0.999, **TOLD),
    "d_lin_ucb, outliers clipped": dict(algorithm="d_lin_ucb", rate=0.999, **TOLD, **CLIP),
    "d_lin_ucb, reward_range": dict(algorithm="d_lin_ucb", rate=0.999, **TOLD, **RANGE),
    "robust_weight_ucb, C = 15": dict(algorithm="robust_weight_ucb", rate=0.999, corruption=15.0, **TOLD),
    "adaptive_lin_ucb": dict(algorithm="adaptive_lin_ucb"),
    "adaptive_lin_ucb, reward_range": dict(algorithm="adaptive_lin_ucb", **RANGE),
}


def num_wrong(agent: dict[str, Any], seed: int, mistake: Mistake | None = None) -> int:
    """Decisions of a stream for other arms than the best."""
    bandit, rng = Bandit(dim=len(MEANS), **agent), np.random.default_rng(seed)
    wrong, left = 0, mistake.number if mistake else 0
    for t in range(ROUNDS):
        decision = bandit.decide(np.eye(len(MEANS)))
        reward = MEANS[decision.arm] + NOISE * rng.normal()
        if mistake and left and t >= mistake.since and decision.arm == mistake.arm:
            reward, left = mistake.factor * reward, left - 1
        bandit.learn(decision.id, float(reward))
        wrong += decision.arm != BEST
    return wrong


def row(agent: dict[str, Any]) -> list[str]:
    """Wrong decisions without a mistake, and how many more with each."""
    alone = np.array([num_wrong(agent, seed) for seed in range(STREAMS)])
    more = [
        np.array([num_wrong(agent, seed, mistake) for seed in range(STREAMS)]) - alone
        for mistake in MISTAKES.values()
    ]
    return [f"{round(each.mean()):,} ± {each.std() / math.sqrt(STREAMS):.0f}" for each in (alone, *more)]


if __name__ == "__main__":
    rows = [(name, *row(agent)) for name, agent in AGENTS.items()]
    table = Table.of("wrong decisions", words("agent", "without", *MISTAKES), rows)
    print(markdown_text(table))
