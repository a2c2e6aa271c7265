"""What meta-algorithms cost: time per run, episode and step as a multiple of their base's, in one run.

    python -m benchmarks.meta                             # 64 runs in one call
    python -m benchmarks.meta --runs 4096 --episodes 512  # for accelerators
    python -m benchmarks.meta adaptive MASTER             # these rows alone

A bandit of 20 arms in 10 dimensions, and the MDP of `benchmarks.speed`. Base and meta-algorithm take turns,
so that whatever else the machine does slows both; medians count. The base of a mixture is one of its J
memories alone; MASTER has M copies of its base.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import jax

from benchmarks.speed import environment, seconds
from driftwise.algorithms import (
    adaptive_lin_ts,
    adaptive_lin_ucb,
    adaptive_opt_wlsvi,
    borl,
    change_detection,
    d_lin_ucb,
    lin_ucb,
    lsvi_ucb,
    master,
    opt_wlsvi,
)
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.base.agent import Agent
from driftwise.base.part import index_part
from driftwise.environments import Environment, linear_bandit
from driftwise.environments.arms import FreshArms
from driftwise.environments.paths import Rotation
from driftwise.parts import Cusum, Glr
from driftwise.simulation.running import simulate

TURNS = 5
RATES = (0.9, 0.95, 0.98, 0.99, 1.0)
Pairs = Mapping[str, tuple[Agent, Agent]]  # a meta-algorithm and the base it is measured against, by name


def wrapped(base: Agent, weighted: Agent, one_rate: Agent, num_episodes: int) -> Pairs:
    over_copies = master(base, num_episodes=num_episodes, regret_scale=1.0)
    return {
        f"BoRL, {len(RATES)} rates": (borl(weighted, num_episodes=num_episodes), one_rate),
        "change detection, GLR": (change_detection(base, detector=Glr(noise_scale=0.1)), base),
        "change detection, CUSUM": (change_detection(base, detector=Cusum()), base),
        f"MASTER, M = {over_copies.num_orders}": (over_copies, base),
    }


def mixture(agent: Agent) -> Pairs:
    assert isinstance(agent, MixtureOfMemories)
    return {f"mixture, J = {agent.num_memories}, {agent.decision}": (agent, index_part(agent.base, 5))}


def in_bandit(num_episodes: int) -> tuple[Environment, Pairs]:
    path = Rotation(0.0, 3.0, num_episodes, dim=10)
    env = linear_bandit(arms=FreshArms(20, 10), path=path, noise_scale=0.1)
    weighted = partial(d_lin_ucb, env.spec, radius=0.5)
    base = lin_ucb(env.spec, radius=0.5)
    return env, {
        **mixture(adaptive_lin_ucb(env.spec)),
        **mixture(adaptive_lin_ts(env.spec)),
        **wrapped(base, weighted(rate=RATES), weighted(rate=0.99), num_episodes),
    }


def in_mdp(num_episodes: int) -> tuple[Environment, Pairs]:
    env = environment(num_episodes)
    weighted = partial(opt_wlsvi, env.spec, radius=0.5)
    base = lsvi_ucb(env.spec, radius=0.5)
    return env, {
        **mixture(adaptive_opt_wlsvi(env.spec)),
        **wrapped(base, weighted(rate=RATES), weighted(rate=0.99), num_episodes),
    }


def compare(title: str, env: Environment, pairs: Pairs, num_episodes: int, num_runs: int) -> None:
    """Print a row for each pair."""
    device = jax.devices()[0].device_kind
    print(f"\n{title}, {num_runs} runs of {num_episodes} episodes, {device}\n")
    print("| algorithm | µs a step | its base's | times its base | first call, s |\n|---|---|---|---|---|")
    steps = num_runs * num_episodes * env.spec.horizon / 1e6
    for name, pair in pairs.items():
        plays = [partial(simulate, each, env, num_runs=num_runs, record_every=16) for each in pair]
        first, (meta, base) = in_turns(plays, num_episodes)
        ratio = statistics.median(one / other for one, other in zip(meta, base, strict=True))
        own, its_base = (f"{statistics.median(times) / steps:.3g}" for times in (meta, base))
        print(f"| {name} | {own} | {its_base} | {ratio:.2f} | {first:.1f} |", flush=True)


def in_turns(plays: Sequence[Callable[..., object]], num_episodes: int) -> tuple[float, list[list[float]]]:
    """Seconds of the first call of the first, and of each later, `TURNS` times."""
    first, *_ = [seconds(partial(play, num_episodes=1)) for play in plays]  # compile
    turns = [[seconds(partial(play, num_episodes=num_episodes)) for play in plays] for _ in range(TURNS)]
    return first, [list(times) for times in zip(*turns, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="of which a row's name has one; all rows without")
    parser.add_argument("--runs", type=int, default=64)
    parser.add_argument(
        "--episodes", type=int, default=500, help="of the MDP; the bandit has 8 times as many"
    )
    options = parser.parse_args()

    def chosen(pairs: Pairs) -> Pairs:
        words = options.words or [""]
        return {name: pair for name, pair in pairs.items() if any(word in name for word in words)}

    for title, make, num_episodes in (
        ("Bandit, d = 10, A = 20", in_bandit, 8 * options.episodes),
        ("MDP, d = 10, S = 20, A = 5, H = 10", in_mdp, options.episodes),
    ):
        env, pairs = make(num_episodes)
        compare(title, env, chosen(pairs), num_episodes, options.runs)


if __name__ == "__main__":
    main()
