"""Control with shared steps: the finite form, problems that are solved, files, mistakes, changing worlds."""

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import driftwise as dw
from driftwise.base import ArgumentError, Spec
from driftwise.base.types import Episode, FeatureTable
from driftwise.online import ControlAgent, EpisodicAgent, load, train
from driftwise.online.control.shared_steps import Regression, plan_discounted
from driftwise.parts import ExponentialWeights, LeastSquares, Ucb

STATES, ACTIONS, HORIZON = 4, 3, 5


class Chain(gymnasium.Env):
    """A walk on numbers: two actions move by a step, and at the right end there is a reward and an end."""

    def __init__(self, *, swapped: bool = False, noise: float = 0.0) -> None:
        self.observation_space, self.action_space = spaces.Box(-2.0, 2.0, (1,)), spaces.Discrete(2)
        self.swapped, self.noise, self.steps = swapped, noise, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.place, self.steps = -1.0, 0
        return np.array([self.place]), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        move = 0.25 if (action == 1) != self.swapped else -0.25
        self.place = float(np.clip(self.place + move + self.noise * self.np_random.normal(), -2, 1))
        self.steps += 1
        return np.array([self.place]), -1.0, self.place >= 1, self.steps == 40, {}


def table_agent(rate: float) -> LeastSquares:
    spec = Spec(STATES, ACTIONS, STATES * ACTIONS, HORIZON)
    exploration = Ucb(0.7, "single")
    return LeastSquares(spec, ExponentialWeights(rate), exploration, ridge=0.3, clip="tight", steps="shared")


@pytest.mark.parametrize("length", [None, 3])
def test_with_a_horizon_it_is_the_finite_form_with_shared_steps(length: int | None):
    env = spaces.Discrete(STATES), spaces.Discrete(ACTIONS)
    agent = EpisodicAgent.for_env(
        type("Env", (gymnasium.Env,), dict(observation_space=env[0], action_space=env[1]))(),
        horizon=HORIZON,
        memories=[length],
        bonus=0.7 / HORIZON,
        ridge=0.3,
        reward_range=(0.0, 1.0),
    )
    defined = table_agent(1.0 if length is None else math.exp(-1 / length))
    table = FeatureTable(np.eye(STATES * ACTIONS))
    state, rng = defined.init(table), np.random.default_rng(0)
    for number in range(12):
        plan = defined.plan(state, table, dw.base.random.key(0))
        here, steps = int(rng.integers(STATES)), []
        agent.begin(here)
        for h in range(HORIZON):
            if number:
                index = agent.world.index(np.array([float(here)]), h)
                np.testing.assert_allclose(index, plan.q[h, here], rtol=0, atol=1e-9)
            agent.act()
            action, reward, following = (
                int(rng.integers(ACTIONS)),
                float(rng.random()),
                int(rng.integers(STATES)),
            )
            agent._open.action = action  # one that both learn from
            agent.observe(reward, following)
            steps.append((here, action, reward, following))
            here = following
        states, actions, rewards, successors = map(np.array, zip(*steps, strict=True))
        features = np.eye(STATES * ACTIONS)[states * ACTIONS + actions]
        episode = Episode(states, actions, features, rewards, successors)
        state = defined.update(state, table, plan, episode)


def test_a_discounted_plan_solves_its_equation():
    """Rewards 1 for staying and 0 for leaving an absorbing pair of states: values 1/(1−γ) and 0."""
    rows, following = np.eye(2)[[0, 0, 1, 1]], np.eye(2)[[0, 1, 1, 1]]
    shares = np.array([[1.0, 0], [0, 1], [1, 0], [0, 1]])
    inverse = np.linalg.inv(np.stack([rows.T * shares[:, a] @ rows + 1e-9 * np.eye(2) for a in range(2)]))
    numbers = np.zeros((4, 2)), np.array([1.0, 0, 0, 0]), np.full(4, 0.9), shares, inverse
    regression = Regression(rows, following, *numbers)
    weights, misfit = plan_discounted(regression, np.zeros((2, 2)), (0.0, 10.0), 400, 0.0)
    np.testing.assert_allclose(10 + weights, [[10, 0], [0, 0]], atol=1e-6)
    assert misfit < 1e-6


def test_it_walks_to_the_end():
    agent, env = EpisodicAgent.for_env(Chain(noise=0.02), seed=0), Chain(noise=0.02)
    returns = train(agent, env, 25, seed=0).returns
    assert returns[-10:].mean() > -11  # eight steps at the best, forty at random
    summary = agent.summary()
    assert (summary.episodes, summary.worlds) == (25, 1)
    assert summary.transitions == int(-returns.sum())


def test_worlds_that_return_are_known():
    """In most runs: while a world is new, its first change may be taken for noise."""
    known = []
    for seed in range(1, 4):
        env, agent, firsts = Chain(), EpisodicAgent.for_env(Chain(), seed=seed), []
        for stretch in range(4):
            env.swapped = stretch % 2 == 1
            firsts.append(train(agent, env, 15, seed=stretch).returns[1:6].mean())
        known.append(agent.summary().worlds == 2 and min(firsts[2:]) > -15)
    assert sum(known) >= 2


def test_other_memories_are_for_worlds_that_glide():
    agent = EpisodicAgent.for_env(Chain(), memories=[4], max_worlds=1)
    train(agent, Chain(), 6, seed=0)
    assert agent.summary().memory == 4
    assert agent.summary().worlds == 1


@pytest.mark.parametrize(
    "options", [{}, {"memories": [3], "horizon": 12}, {"plan_every": 3, "learn_every": 5}]
)
def test_a_restored_agent_goes_on_bit_for_bit(tmp_path: Any, options: Any):
    agents = [EpisodicAgent.for_env(Chain(), seed=3, metadata={"a": 1}, **options)]
    train(agents[0], Chain(noise=0.05), 7, seed=1)
    agents[0].save(tmp_path / "agent.safetensors")
    agents += [load(tmp_path / "agent.safetensors"), ControlAgent.from_bytes(agents[0].to_bytes())]
    assert agents[1].metadata == {"a": 1}
    for _ in range(3):
        results = [train(agent, Chain(noise=0.05), 3, seed=2) for agent in agents]
        assert len({result.returns.tobytes() for result in results}) == 1
    contents = {agent.to_bytes() for agent in agents}
    assert len(contents) == 1


@pytest.mark.parametrize("options", [{"horizon": 30, "plan_every": 3}, {"ridge": 1e-8}])
def test_other_plans_are_made(options: dict[str, Any]):
    """New features while a plan for each step waits; regressions whose inverses rounding spoils."""
    agent = EpisodicAgent.for_env(Chain(), **options)
    assert train(agent, Chain(), 30, seed=0).returns[-10:].mean() > -15


def test_rewards_in_a_range_without_0_may_end():
    agent = EpisodicAgent.for_env(Chain(), reward_range=(-2.0, -1.0))
    assert train(agent, Chain(), 25, seed=0).returns[-10:].mean() > -15


def test_the_capacity_bounds_what_is_kept():
    agent = EpisodicAgent.for_env(Chain(), capacity=100)
    train(agent, Chain(), 20, seed=0)
    assert agent.summary().transitions <= 100
    assert train(agent, Chain(), 5).returns.mean() > -20


def test_continuous_actions_and_mixed_observations():
    env = gymnasium.make("Pendulum-v1", max_episode_steps=20)
    agent = EpisodicAgent.for_env(env, actions=5)
    assert train(agent, env, 3, seed=0).lengths.tolist() == [20] * 3
    assert agent.options.num_actions == 5

    class Mixed(Chain):
        def __init__(self) -> None:
            super().__init__()
            self.observation_space = spaces.Dict(where=spaces.Box(-2.0, 2.0, (1,)), lamp=spaces.Discrete(2))

        def reset(self, **options: Any) -> Any:
            place, info = super().reset(**options)
            return {"where": place, "lamp": 0}, info

        def step(self, action: int) -> Any:
            place, *rest = super().step(action)
            return ({"where": place, "lamp": self.steps % 2}, *rest)

    agents = [EpisodicAgent.for_env(Mixed(), seed=seed, max_worlds=1) for seed in range(3)]
    lasts = [train(agent, Mixed(), 30, seed=0).returns[-10:].mean() for agent in agents]
    assert np.median(lasts) > -15


def test_counted_states_need_no_kernel():
    env = gymnasium.make("FrozenLake-v1", is_slippery=False, max_episode_steps=30)
    agent = EpisodicAgent.for_env(env, seed=0)
    assert train(agent, env, 150, seed=0).returns[-30:].mean() > 0.5
    assert agent.summary().features == 16


BAD: list[tuple[dict[str, Any], str]] = [
    ({"memories": []}, "memories must be a list of different numbers of episodes"),
    ({"memories": [5, 5]}, "memories must be a list of different"),
    ({"memories": 5}, "memories must be a list of different"),
    ({"ridge": 1e-300}, "ridge must be a number of at least 1e-08"),
    ({"num_features": 4000, "memories": range(1, 10**5), "capacity": 10**6}, "num_features must fit into"),
    ({"reward_range": 3}, r"reward_range must have shape \(2\)"),
    ({"discount": 1.0}, r"discount must be a number in \[0, 0.9999\], got 1"),
    ({"actions": 3}, "actions must be left out where actions can be counted"),
    ({"reward_range": (1, 0)}, "reward_range must be the least and the largest reward"),
    ({"capacity": 5}, "capacity must be an integer of at least 100"),
    ({"horizon": 0}, "horizon must be a positive integer"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_mistakes_are_one_sentence(options: dict[str, Any], message: str):
    with pytest.raises(ArgumentError, match=message):
        EpisodicAgent.for_env(Chain(), **options)


def test_bad_steps_change_nothing():
    agent = EpisodicAgent.for_env(Chain())
    with pytest.raises(RuntimeError, match="act must come after begin"):
        agent.act()
    with pytest.raises(ArgumentError, match="state must have finite numbers"):
        agent.begin([np.nan])
    agent.begin([0.0])
    agent.act()
    with pytest.raises(ArgumentError, match="reward must be"):
        agent.observe(math.inf, [0.0])
    with pytest.raises(ArgumentError, match="next_state must have finite numbers"):
        agent.observe(0.0, [np.inf])
    with pytest.raises(RuntimeError, match="save must come between episodes"):
        agent.to_bytes()
    agent.observe(0.0, [0.5], terminated=True)
    assert agent.summary().transitions == 1
    with pytest.raises(
        ArgumentError, match="env must have the observation_space that the agent was made for"
    ):
        train(agent, gymnasium.make("CartPole-v1"), 1)
