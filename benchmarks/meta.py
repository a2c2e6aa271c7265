"""What meta-algorithms cost: time per run, episode and step as a multiple of their base's, in one run.

    python -m benchmarks.meta

A bandit of 20 arms in 10 dimensions, and the MDP of `benchmarks.speed`, 64 runs in one call each. Base and
meta-algorithms take turns, so that whatever else the machine does slows all of them; medians count.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from benchmarks.speed import environment, seconds
from driftwise.algorithms import borl, change_detection, d_lin_ucb, lin_ucb, lsvi_ucb, master, opt_wlsvi
from driftwise.base.agent import Agent
from driftwise.environments import Environment, linear_bandit
from driftwise.environments.arms import FreshArms
from driftwise.environments.paths import Rotation
from driftwise.parts.detectors import Cusum, Glr
from driftwise.simulation.simulator import simulate

NUM_RUNS = 64
TURNS = 5
RATES = (0.9, 0.95, 0.98, 0.99, 1.0)
LIMITS = {"BoRL": 2.0, "change detection, GLR": 2.0, "change detection, CUSUM": 2.0, "MASTER": 4.0}
Pairs = Mapping[str, tuple[Agent, Agent]]  # a meta-algorithm and the base it is measured against, by name


def agents(base: Agent, weighted: Agent, one_rate: Agent, num_episodes: int) -> Pairs:
    return {
        "BoRL": (borl(weighted, num_episodes=num_episodes), one_rate),
        "change detection, GLR": (change_detection(base, detector=Glr(noise_scale=0.1)), base),
        "change detection, CUSUM": (change_detection(base, detector=Cusum()), base),
        "MASTER": (master(base, num_episodes=num_episodes, regret_scale=1.0), base),
    }


def in_bandit(num_episodes: int) -> tuple[Environment, Pairs]:
    path = Rotation(0.0, 3.0, num_episodes, dim=10)
    env = linear_bandit(arms=FreshArms(20, 10), path=path, noise_scale=0.1)
    weighted = partial(d_lin_ucb, env.spec, radius=0.5)
    base = lin_ucb(env.spec, radius=0.5)
    return env, agents(base, weighted(rate=RATES), weighted(rate=0.99), num_episodes)


def in_mdp(num_episodes: int) -> tuple[Environment, Pairs]:
    env = environment(num_episodes)
    weighted = partial(opt_wlsvi, env.spec, radius=0.5)
    base = lsvi_ucb(env.spec, radius=0.5)
    return env, agents(base, weighted(rate=RATES), weighted(rate=0.99), num_episodes)


def compare(title: str, env: Environment, pairs: Pairs, num_episodes: int) -> None:
    print(f"{title}, {NUM_RUNS} runs of {num_episodes} episodes\n")
    print(f"{'':>24} {'base µs/step':>13} {'µs/step':>8} {'times':>6} {'limit':>6}")
    steps = NUM_RUNS * num_episodes * env.spec.horizon / 1e6
    for name, pair in pairs.items():
        meta, base = in_turns(
            [partial(simulate, each, env, num_runs=NUM_RUNS) for each in pair], num_episodes
        )
        ratio = statistics.median(one / other for one, other in zip(meta, base, strict=True))
        cost = [statistics.median(times) / steps for times in (base, meta)]
        print(f"{name:>24} {cost[0]:>13.2f} {cost[1]:>8.2f} {ratio:>6.2f} {LIMITS[name]:>6.1f}", flush=True)
    print()


def in_turns(plays: Sequence[Callable[..., object]], num_episodes: int) -> list[list[float]]:
    """Seconds of each, `TURNS` times."""
    for play in plays:
        play(num_episodes=1)  # compile
    turns = [[seconds(partial(play, num_episodes=num_episodes)) for play in plays] for _ in range(TURNS)]
    return [list(times) for times in zip(*turns, strict=True)]


def main() -> None:
    compare("Bandit, d=10 A=20", *in_bandit(4000), 4000)
    compare("MDP, d=10 S=20 A=5 H=10", *in_mdp(500), 500)


if __name__ == "__main__":
    main()
