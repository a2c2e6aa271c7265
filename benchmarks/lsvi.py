"""LSVI-UCB of a public package, as Algorithm 1 reads, and ours: seconds and regret in the same linear MDP.

    python -m benchmarks.lsvi

The model is the same in all steps and episodes, as `LSVIUCBAgent` of rlberry-scool assumes: it pools the data
of all steps, and adds a term of its own to the bonus. Radius, ridge and clip are the same for all. Regret of
the others is the sum of the gaps `V*(s) − Q*(s, a)` of all that they visited, whose mean is the regret; ours
is exact in every episode, and only ours is timed with it. Fed with what rlberry's agent has seen, ours has to
find the same weights. Where rlberry-scool is not installed, its row is left out.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.literal import Visited, opt_wlsvi
from benchmarks.measuring import print_table, seconds, short, times_faster
from driftwise.algorithms import lsvi_ucb
from driftwise.base.types import Episode
from driftwise.environments import LinearMdp, planning, random_linear_mdp
from driftwise.parts import LeastSquares, NoForgetting, Ucb
from driftwise.simulation.running import simulate

RADIUS, RIDGE = 0.5, 1.0
NUM_EPISODES, NUM_RUNS = 100, 64


def environment() -> LinearMdp:
    """d = 10, S = 20, A = 5 and H = 10, all steps alike."""
    drawn = random_linear_mdp(num_states=20, num_actions=5, dim=10, horizon=10, seed=0)

    def alike(anchors: np.ndarray) -> np.ndarray:
        return np.repeat(anchors[:, :1], drawn.spec.horizon, axis=1)

    return LinearMdp(drawn.features, alike(drawn.theta), alike(drawn.mu), drawn.initial)


def regret(env: LinearMdp, visited: Visited) -> float:
    """Sum of the gaps of all visited pairs."""
    model = env.model(0)
    values = planning.optimal_values(env.features, model)
    gaps = values[:-1, :, None] - planning.action_values(env.features, model, values)
    return float(gaps[np.arange(env.spec.horizon), visited.states, visited.actions].sum())


def rlberry_agent(env: LinearMdp, seed: int) -> Any:
    """rlberry's agent with our environment, without its progress bar."""
    import gymnasium
    import rlberry  # pyright: ignore[reportMissingImports]
    from rlberry_scool.agents.linear import LSVIUCBAgent  # pyright: ignore[reportMissingImports]

    spec, model, rng = env.spec, env.model(0), np.random.default_rng(seed)

    class Adapter(gymnasium.Env):
        """The linear MDP, as literal codes draw from it."""

        reward_range = (0.0, 1.0)
        action_space = gymnasium.spaces.Discrete(spec.num_actions)
        observation_space = gymnasium.spaces.Discrete(spec.num_states)

        def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict]:
            self.h, self.state = 0, int(rng.choice(spec.num_states, p=env.initial))
            return self.state, {}

        def step(self, action: int) -> tuple[int, float, bool, bool, dict]:
            phi = env.features[self.state, action]
            reward, chances = float(phi @ model.theta[self.h]), phi @ model.mu[self.h]
            self.h, self.state = self.h + 1, int(rng.choice(spec.num_states, p=chances / chances.sum()))
            return self.state, reward, False, False, {}

    class Features:
        shape = (spec.dim,)

        def map(self, observation: int, action: int) -> np.ndarray:
            return env.features[observation, action]

    rlberry.utils.logging.set_level("ERROR")
    return LSVIUCBAgent(
        Adapter(),
        horizon=spec.horizon,
        feature_map_fn=lambda _: Features(),
        gamma=1.0,
        bonus_scale_factor=RADIUS,
        reg_factor=RIDGE,
        copy_env=False,
    )


def check_weights(env: LinearMdp, agent: Any) -> None:
    """Fails unless ours has the weights of rlberry's final policy, which has no bonus, from the same data."""
    ours = LeastSquares(env.spec, NoForgetting(), Ucb(0.0), RIDGE, steps="shared")
    table = env.to_arrays().table
    state, steps = ours.init(table), (-1, env.spec.horizon)
    history = (agent.state_hist, agent.action_hist, agent.feat_hist, agent.reward_hist, agent.nstate_hist)
    for seen in zip(*(np.reshape(each, (*steps, *np.shape(each)[1:])) for each in history), strict=True):
        plan = ours.plan(state, table, None)
        state = ours.update(state, table, plan, Episode(*seen))
    found = ours.plan(state, table, None).weights[0]
    worst = np.abs(found - agent.w_policy).max()
    assert worst < 1e-8, f"ours must have rlberry's weights, got one {worst:.3g} off"


class Row(NamedTuple):
    """A code, seconds for one run of it, and regrets of some runs."""

    name: str
    pooled: bool  # the data of all steps are one
    spent: float
    regrets: list[float]

    def cells(self, ours: float) -> list[str]:
        mean, num = np.mean(self.regrets), len(self.regrets)
        error = f" ± {np.std(self.regrets, ddof=1) / np.sqrt(num):.0f}" if num > 1 else ""
        pooled = "yes" if self.pooled else "no"
        return [self.name, pooled, short(self.spent), times_faster(self.spent, ours), f"{mean:.0f}{error}"]


def rlberry_row(env: LinearMdp, num_runs: int) -> Row:
    """rlberry's agent, checked against ours."""
    spent, regrets = [], []
    for seed in range(num_runs):
        agent = rlberry_agent(env, seed)
        spent.append(seconds(partial(agent.fit, NUM_EPISODES)))
        check_weights(env, agent)
        went = np.reshape([agent.state_hist, agent.action_hist], (2, NUM_EPISODES, -1))
        regrets.append(regret(env, Visited(*went)))
    name = f"rlberry-scool {version('rlberry-scool')}, `LSVIUCBAgent`"
    return Row(name, True, median(spent), regrets)


def literal_row(env: LinearMdp, num_runs: int, *, careful: bool) -> Row:
    """Algorithm 1 as it is printed: OPT-WLSVI that forgets nothing is LSVI-UCB."""
    settings: dict[str, Any] = dict(num_episodes=NUM_EPISODES, rate=1.0, radius=RADIUS, ridge=RIDGE)
    run = partial(opt_wlsvi, env, careful=careful, **settings)
    spent = seconds(run, 3)
    name = "literal Algorithm 1" + ", careful NumPy" * careful
    return Row(name, False, spent, [regret(env, run(seed=seed)) for seed in range(num_runs)])


def our_row(env: LinearMdp, num_runs: int, *, pooled: bool = False) -> Row:
    """The simulator, which computes exact regret in every episode."""
    agent = lsvi_ucb(env.spec, radius=RADIUS, ridge=RIDGE)
    agent = replace(agent, steps="shared" if pooled else "apart")
    run = partial(simulate, agent, env, num_episodes=NUM_EPISODES, num_runs=num_runs)
    regrets = run().cumulative_regret[:, -1].tolist()  # compiles
    return Row(f"ours, {num_runs} at once", pooled, seconds(run, 5) / num_runs, regrets)


def main() -> None:
    parser = argparse.ArgumentParser(description="LSVI-UCB of others and ours.")
    parser.add_argument(
        "--runs", type=int, default=2, help="of rlberry, which takes a quarter of a minute for one"
    )
    options = parser.parse_args()
    env = environment()
    ours = [our_row(env, 1), our_row(env, NUM_RUNS), our_row(env, NUM_RUNS, pooled=True)]
    others = [literal_row(env, 32, careful=careful) for careful in (False, True)]
    try:
        others.insert(0, rlberry_row(env, options.runs))
    except ImportError as error:
        print(f"rlberry-scool is left out: {error}")
    headings = ("LSVI-UCB", "steps pooled", "s a run", "times ours", "regret")
    title = f"LSVI-UCB, d = 10, S = 20, A = 5, H = 10, {NUM_EPISODES} episodes"
    print_table(title, headings, [row.cells(ours[1].spent) for row in (*others, *ours)])


if __name__ == "__main__":
    main()
