"""Speed of the bandit simulator against loops over arms, as ratios measured in one run.

    python -m benchmarks.bandits [--weighted-linear-bandits FOLDER]

D-LinUCB on the abrupt bandit of Russac et al. 2019, with the parameters of the built-in experiment. The loops
are one run each: two in the usual style of research code, where Python goes over arms and a pseudo-inverse
is taken for every arm or for every round, and one that leaves all arms to NumPy. Ours are 100 runs in one
call, with exact regret in every round; the loops compute none. On the first rounds all are checked to choose
the same arms.

The code of the paper's authors is no package and is not copied here. Where a folder with it is given, its
`DLinUCB` plays its `Environment`, which draws arms and tells the best of them, as in its notebooks. It makes
Ṽ from V (docs/errata.md), so it pulls other arms; its regret stands beside ours.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from benchmarks.measuring import print_table, seconds, short, times_faster
from driftwise.base import random
from driftwise.base.random import episode_keys
from driftwise.environments import LinearBandit
from driftwise.environments.models.linear_bandit import ARMS, NOISE
from driftwise.experiments.experiment import find_experiment
from driftwise.experiments.study import TaskGroup, prepare
from driftwise.parts import ExponentialWeights, LeastSquares
from driftwise.simulation.running import simulate

EXPERIMENT = find_experiment("russac_abrupt")
NUM_ROUNDS, NUM_RUNS = EXPERIMENT.episodes, EXPERIMENT.runs
DELTA, RIDGE = 0.01, 0.1  # of the experiment; noise and norm bound are 1
CHECKED = 500  # rounds in which the loops have to agree with ours
TIE = 1e-9  # relative difference below which indices count as tied


class Round(NamedTuple):
    """What a loop meets."""

    features: np.ndarray  # [A, d]
    noise: float
    luck: float  # in [0, 1), decides ties


class Learner(Protocol):
    """One run of D-LinUCB."""

    def indices(self, features: np.ndarray) -> np.ndarray: ...

    def learn(self, x: np.ndarray, reward: float) -> None: ...


class LoopOverArms:
    """As the algorithm reads: each arm has its index, one after the other."""

    def __init__(self, dim: int, rate: float, *, inverse_for_every_arm: bool) -> None:
        self.dim, self.rate, self.inverse_for_every_arm = dim, rate, inverse_for_every_arm
        self.t = 0
        self.v, self.v_tilde, self.b = RIDGE * np.eye(dim), RIDGE * np.eye(dim), np.zeros(dim)
        self.inverse = np.linalg.pinv(self.v)

    def indices(self, features: np.ndarray) -> np.ndarray:
        beta = radius(self.t, self.dim, self.rate)
        indices = np.zeros(len(features))
        for arm, x in enumerate(features):
            inverse = np.linalg.pinv(self.v) if self.inverse_for_every_arm else self.inverse
            width = np.sqrt(np.dot(x, np.dot(inverse, np.dot(self.v_tilde, np.dot(inverse, x)))))
            indices[arm] = np.dot(x, np.dot(inverse, self.b)) + beta * width
        return indices

    def learn(self, x: np.ndarray, reward: float) -> None:
        outer, identity = np.outer(x, x), np.eye(self.dim)
        self.v = self.rate * self.v + outer + (1 - self.rate) * RIDGE * identity
        self.v_tilde = self.rate**2 * self.v_tilde + outer + (1 - self.rate**2) * RIDGE * identity
        self.b = self.rate * self.b + reward * x
        self.t += 1
        if not self.inverse_for_every_arm:
            self.inverse = np.linalg.pinv(self.v)


class Vectorised:
    """All arms at once, and nothing computed twice or kept twice."""

    def __init__(self, dim: int, rate: float) -> None:
        self.dim, self.rate = dim, rate
        self.t = 0
        self.v, self.v_tilde, self.b = RIDGE * np.eye(dim), RIDGE * np.eye(dim), np.zeros(dim)
        self.refill, self.refill_sq = (1 - rate) * self.v, (1 - rate**2) * self.v

    def indices(self, features: np.ndarray) -> np.ndarray:
        inverse = np.linalg.inv(self.v)
        squared = ((features @ (inverse @ self.v_tilde @ inverse)) * features).sum(axis=1)
        return features @ (inverse @ self.b) + radius(self.t, self.dim, self.rate) * np.sqrt(squared)

    def learn(self, x: np.ndarray, reward: float) -> None:
        outer = x[:, None] * x
        self.v *= self.rate
        self.v += self.refill
        self.v += outer
        self.v_tilde *= self.rate * self.rate
        self.v_tilde += self.refill_sq
        self.v_tilde += outer
        self.b *= self.rate
        self.b += reward * x
        self.t += 1


def radius(t: int, dim: int, rate: float) -> float:
    """After `t` rounds, as published."""
    information = dim * math.log1p((1 - rate ** (2 * t)) / (RIDGE * dim * (1 - rate * rate)))
    return math.sqrt(RIDGE) + math.sqrt(-2 * math.log(DELTA) + information)


def play(learner: Learner, rounds: Iterable[Round], path: np.ndarray) -> list[int]:
    """The arms of one run."""
    chosen = []
    for theta, here in zip(path, rounds, strict=False):  # of fresh rounds there are more
        indices = learner.indices(here.features)
        best = indices.max()
        tied = np.flatnonzero(indices >= best - TIE * max(1.0, abs(best)))
        arm = int(tied[int(here.luck * len(tied))])
        x = here.features[arm]
        learner.learn(x, float(x @ theta) + here.noise)
        chosen.append(arm)
    return chosen


def fresh_rounds(environment: LinearBandit, rng: np.random.Generator) -> Iterator[Round]:
    """Arms and noise from NumPy's generator, as a loop would draw them."""
    shape = environment.spec.num_actions, environment.spec.dim
    while True:
        points = rng.uniform(-1, 1, shape)
        norms = np.sqrt((points * points).sum(axis=1, keepdims=True))
        yield Round(points / np.maximum(norms, 1), environment.noise_scale * rng.normal(), rng.random())


def replayed_rounds(environment: LinearBandit, num_rounds: int) -> Iterator[Round]:
    """The rounds of our run 0."""
    arms, run_key = environment.to_arrays().arms, random.fold(random.key(0), 0)
    for t in range(num_rounds):
        for_environment, _, for_action = episode_keys(run_key, t)
        luck = random.draw_uniform(random.fold(for_environment, NOISE), 3, np.float64)
        noise = environment.noise_scale * random.box_muller(luck[:1], luck[1:2])[0]
        features = arms.draw(random.fold(for_environment, ARMS)).values
        yield Round(features, noise, random.draw_uniform(for_action, 1, np.float64)[0])


def check(learners: dict[str, Callable[[], Learner]], group: TaskGroup, environment: LinearBandit) -> None:
    """Fails unless all learners choose the arms that the simulator chooses."""
    rounds = list(replayed_rounds(environment, CHECKED))
    path = environment.at(np.arange(CHECKED))
    simulated = simulate(group.task.agent, environment, num_episodes=CHECKED).returns[0]
    for name, make in learners.items():
        arms = play(make(), rounds, path)
        met = zip(rounds, arms, path, strict=True)
        earned = [float(here.features[arm] @ theta) + here.noise for here, arm, theta in met]
        # No two arms of a round pay alike, and noise is the round's: equal rewards are equal arms.
        worst = np.abs(np.array(earned) - simulated).max()
        assert worst < 1e-9, f"{name} must choose the arms of the simulator, got a reward {worst:.3g} off"


def per_round(make: Callable[[], Learner], environment: LinearBandit, at_least: float) -> float:
    """Seconds a round, from as many rounds as take that long."""
    path = environment.at(np.arange(NUM_ROUNDS))
    rounds = fresh_rounds(environment, np.random.default_rng(0))
    learner, spent, played = make(), 0.0, 0
    while spent < at_least and played < NUM_ROUNDS:
        part = path[played : played + 100]
        started = time.perf_counter()
        play(learner, rounds, part)
        spent += time.perf_counter() - started
        played += len(part)
    return spent / played


class Row(NamedTuple):
    """Microseconds for a round of a run, and the regrets of runs where they were computed."""

    name: str
    spent: float
    regrets: np.ndarray | None = None

    def cells(self, ours: float) -> list[str]:
        regrets = self.regrets
        error = 0 if regrets is None else regrets.std(ddof=1) / math.sqrt(len(regrets))
        shown = "" if regrets is None else f"{regrets.mean():.0f} ± {error:.0f}"
        return [self.name, short(self.spent), times_faster(self.spent, ours), shown]


def published(folder: Path, environment: LinearBandit, rate: float, num_runs: int) -> Row:
    """The code of the paper's authors."""
    sys.path.insert(0, str(folder))
    from D_LinUCB_class import DLinUCB  # pyright: ignore[reportMissingImports]
    from environment_class import Environment  # pyright: ignore[reportMissingImports]

    path, spec = environment.at(np.arange(NUM_ROUNDS)), environment.spec

    def run() -> float:
        policy = DLinUCB(spec.dim, DELTA, 1, RIDGE, 1, rate, "", False, environment.noise_scale, False)
        world, regret = Environment(spec.dim, path[0], environment.noise_scale, verbose=False), 0.0
        for world.theta in path:
            arms = world.get_arms(spec.num_actions)
            _, best = world.get_best_arm()
            arm = policy.select_arm(arms)
            reward, x = world.play(arm)
            policy.update_state(x, reward)
            regret += best - world.get_expected_rewards()[arm]
        return regret

    np.random.seed(0)  # noqa: NPY002 (its generator)
    regrets: list[float] = []
    spent = seconds(lambda: regrets.append(run()), num_runs)
    return Row("code of Russac et al.", 1e6 * spent / NUM_ROUNDS, np.array(regrets))


def against_others(at_least: float, folder: Path | None) -> None:
    group = next(group for group in prepare(EXPERIMENT).groups if group.label == "D-LinUCB")
    agent, environment = group.task.agent, group.task.environment
    assert isinstance(environment, LinearBandit)
    assert isinstance(agent, LeastSquares)
    assert isinstance(agent.forgetting, ExponentialWeights)
    dim, rate = environment.spec.dim, agent.forgetting.rate
    loops: dict[str, Callable[[], Learner]] = {
        "loop over arms, a `pinv` for each": partial(LoopOverArms, dim, rate, inverse_for_every_arm=True),
        "loop over arms, a `pinv` a round": partial(LoopOverArms, dim, rate, inverse_for_every_arm=False),
        "NumPy, all arms at once": partial(Vectorised, dim, rate),
    }
    check(loops, group, environment)
    rows = [Row(name, 1e6 * per_round(make, environment, at_least)) for name, make in loops.items()]
    if folder is None:
        print("The code of Russac et al. is left out: no --weighted-linear-bandits says where a copy is")
    else:
        rows.insert(0, published(folder, environment, rate, num_runs=3))
    run = partial(simulate, agent, environment, num_episodes=NUM_ROUNDS, record_every=NUM_ROUNDS)
    ours = Row(f"ours, {NUM_RUNS} at once", timing(group), run(num_runs=NUM_RUNS).cumulative_regret[:, -1])
    title = f"D-LinUCB on `russac_abrupt`: 50 arms, d = 2, {NUM_ROUNDS} rounds, rate {rate:.4f}"
    headings = ("D-LinUCB", "µs a round", "times ours", "regret")
    print_table(title, headings, [row.cells(ours.spent) for row in (*rows, ours)])


def all_agents() -> None:
    title = f"All agents of the experiment, {NUM_RUNS} at once"
    rows = ([group.label, f"{timing(group):.2f}"] for group in prepare(EXPERIMENT).groups)
    print_table(title, ("bandit", "µs a round"), rows)


def timing(group: TaskGroup) -> float:
    """Microseconds per run and round, without compilation."""
    agent, environment = group.task.agent, group.task.environment
    call = partial(simulate, agent, environment, num_runs=NUM_RUNS, record_every=EXPERIMENT.record_every)
    call(num_episodes=1)
    return 1e6 * seconds(partial(call, num_episodes=NUM_ROUNDS), 3) / (NUM_RUNS * NUM_ROUNDS)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each of the loops is timed")
    parser.add_argument(
        "--weighted-linear-bandits",
        type=Path,
        default=os.environ.get("WEIGHTED_LINEAR_BANDITS") or None,
        help="a copy of github.com/YRussac/WeightedLinearBandits; or the variable WEIGHTED_LINEAR_BANDITS",
    )
    options = parser.parse_args()
    against_others(options.seconds, options.weighted_linear_bandits)
    all_agents()


if __name__ == "__main__":
    main()
