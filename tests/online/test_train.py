"""Agents in environments of Gymnasium, and parameters of these that drift."""

import importlib.util
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import driftwise as dw
from driftwise.gym import DriftingParameter, LinearMdpEnv, set_cart_pole, set_slipperiness
from driftwise.online import EpisodicAgent, Training, train
from driftwise.online.features import Fourier, OneHot, PerAction
from tests.examples import SPEC, make

EXAMPLE = Path(__file__).parents[2] / "examples" / "drifting_gym.py"


JUMP = dw.drift.Abrupt((2,))


def cart_pole(drift: Any = JUMP, parameter: Any = "force_mag", values: Any = (10.0, -10.0)) -> Any:
    return drifting("CartPole-v1", parameter, values, drift, max_episode_steps=12)


def cart_pole_agent(**options: Any) -> EpisodicAgent:
    features = PerAction(Fourier((-2.4, -3.0, -0.21, -3.0), (2.4, 3.0, 0.21, 3.0), order=1), 2)
    given: dict[str, Any] = dict(horizon=12, rate=0.9, radius=0.1, tolerance=1e-2) | options
    return EpisodicAgent("opt_wlsvi", features=features, **given)


def lake_agent(**options: Any) -> EpisodicAgent:
    features = PerAction(OneHot(16), 4).table(range(16))
    return EpisodicAgent("opt_wlsvi", features=features, horizon=8, rate=0.9, radius=0.1, **options)


def test_what_it_earns_is_what_the_environment_paid():
    env = gymnasium.wrappers.RecordEpisodeStatistics(cart_pole())
    said: list[tuple[int, int, float]] = []
    found = train(cart_pole_agent(), env, 5, seed=0, progress=lambda *now: said.append(now))
    assert isinstance(found, Training)
    np.testing.assert_array_equal(found.returns, list(env.return_queue))
    np.testing.assert_array_equal(found.lengths, list(env.length_queue))
    assert said == [(k + 1, 5, found.returns[k]) for k in range(5)]


def test_calling_it_twice_goes_on_and_seeds_decide():
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=8)
    whole, other = (train(lake_agent(), env, 12, seed=seed) for seed in (0, 1))
    agent = lake_agent()
    parts = [train(agent, env, 5, seed=0), train(agent, env, 7)]
    lengths = np.concatenate([each.lengths for each in parts]).tolist()
    assert lengths == whole.lengths.tolist() != other.lengths.tolist()
    assert agent.num_episodes == 12


def test_episodes_are_cut_at_the_agents_horizon_and_at_the_environments():
    long = train(lake_agent(), gymnasium.make("FrozenLake-v1", is_slippery=False), 5, seed=0)
    assert long.lengths.max() <= 8
    agent = lake_agent()
    env = gymnasium.make("FrozenLake-v1", max_episode_steps=3)
    assert train(agent, env, 5, seed=0).lengths.max() == 3
    assert agent.num_episodes == 5


def test_it_learns_the_way_over_a_lake():
    env = gymnasium.make("FrozenLake-v1", desc=["SF", "HG"], is_slippery=False, max_episode_steps=4)
    features = PerAction(OneHot(4), 4).table(range(4))
    agent = EpisodicAgent("opt_wlsvi", features=features, horizon=4, rate=0.99, radius=0.1, ridge=0.1)
    assert train(agent, env, 60, seed=0).returns[-20:].mean() == 1


def test_linear_mdps_of_ours_can_be_played_too():
    agent = EpisodicAgent("lsvi_ucb", features=make().features, horizon=SPEC.horizon, radius=0.4)
    assert train(agent, LinearMdpEnv(make()), 4, seed=0).lengths.tolist() == [SPEC.horizon] * 4


def test_a_saved_agent_with_its_features_is_loaded_with_them(tmp_path):
    agent, file = cart_pole_agent(), tmp_path / "agent.safetensors"
    train(agent, cart_pole(), 2, seed=0)
    agent.save(file)
    restored = EpisodicAgent.load(file)
    first, second = (train(each, cart_pole(), 3, seed=1).returns for each in (agent, restored))
    np.testing.assert_array_equal(first, second)


def test_progress_is_shown(capsys):
    train(lake_agent(), gymnasium.make("FrozenLake-v1"), 3, seed=0, progress=True)
    assert "episode 3 of 3, last return" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("agent", "name", "episodes", "message"),
    [
        (cart_pole_agent, "FrozenLake-v1", 3, r"^env must have the agent's 2 discrete actions, got 4 in"),
        (cart_pole_agent, "MountainCarContinuous-v0", 3, r"^env must have the agent's 2 .*, got None in"),
        (lake_agent, "FrozenLake-v1", 0, r"^num_episodes must be a positive integer, got 0$"),
        (lambda: "opt_wlsvi", "FrozenLake-v1", 1, r"^agent must be an EpisodicAgent, got 'opt_wlsvi'$"),
    ],
)
def test_mistakes_are_one_sentence(agent, name, episodes, message):
    with pytest.raises(ValueError, match=message):
        train(agent(), gymnasium.make(name), episodes)


def drifting(name: str, *parameter: Any, **options: Any) -> Any:
    return DriftingParameter(gymnasium.make(name, **options), *parameter)


DRIFTING: dict[str, Callable[[], Any]] = {
    "cart pole": lambda: drifting("CartPole-v1", "force_mag", (10.0, 5.0), dw.drift.Abrupt((2,))),
    "pole length": lambda: drifting(
        "CartPole-v1", set_cart_pole("length"), (0.5, 2.0), dw.drift.Gradual((0, 10))
    ),
    "mountain car": lambda: drifting("MountainCar-v0", "gravity", (0.0025, 0.002), dw.drift.Periodic(8)),
    "frozen lake": lambda: drifting("FrozenLake-v1", set_slipperiness, (0.0, 0.5), dw.drift.Abrupt((2,))),
}


@pytest.mark.parametrize("name", DRIFTING)
def test_gymnasium_finds_no_fault_with_a_drifting_parameter(name):
    with warnings.catch_warnings():
        for known in ("different from the unwrapped version", "value is -?infinity"):
            warnings.filterwarnings("ignore", message=f".*{known}")
        check_env(DRIFTING[name](), skip_render_check=True)


def test_the_parameter_follows_the_drift_and_the_clock():
    env = DRIFTING["pole length"]()
    lengths = [
        env.reset(**how)[1]["parameter"] for how in (dict(seed=0), {}, dict(options={"episode": 5}), {})
    ]
    np.testing.assert_allclose(lengths, [0.5, 0.65, 1.25, 1.4])
    assert env.unwrapped.length == pytest.approx(1.4)
    assert env.unwrapped.polemass_length == pytest.approx(0.14)
    *_, info = env.step(0)
    assert (info["episode_index"], info["parameter"]) == (6, pytest.approx(1.4))
    assert env.reset(seed=0)[1]["episode_index"] == 0


def test_a_slippery_lake_slips_as_often_as_it_says():
    env = DRIFTING["frozen lake"]()
    env.reset(seed=0, options={"episode": 2})
    ways = env.unwrapped.P[0][1]
    assert [share for share, *_ in ways] == [0.25, 0.5, 0.25]
    env.reset(seed=0)
    assert [share for share, *_ in env.unwrapped.P[0][1]] == [0, 1, 0]
    assert len(env.unwrapped.P[5][0]) == 1  # a hole


def test_the_same_seed_gives_the_same_drifting_trajectory():
    def trajectory(seed: int) -> list[Any]:
        env, said = DRIFTING["frozen lake"](), []
        for episode in range(6):
            said.append(env.reset(seed=seed) if episode == 0 else env.reset())
            said.extend(env.step(action) for action in (2, 1, 2))
        return said

    assert trajectory(1) == trajectory(1) != trajectory(2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(parameter="gravty"), r"^parameter must be a number of .* 'gravty' \(did you mean 'gravity'\?"),
        (dict(parameter=3), "^parameter must be the name of an attribute or a function, got 3$"),
        (dict(values=(1.0,)), r"^drift must mix as many anchors as there are values \(1\), got Abrupt"),
        (dict(values="ab"), "^values must be an array of numbers, got 'ab'$"),
        (dict(drift=3), "^drift must be a Drift, got 3$"),
    ],
)
def test_bad_drifts_are_one_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        cart_pole(**given)


def test_a_lake_that_is_not_slippery_cannot_be_made_so():
    env = drifting("FrozenLake-v1", set_slipperiness, (0.0, 0.5), dw.drift.Abrupt((2,)), is_slippery=False)
    with pytest.raises(ValueError, match=r"^env must be a lake made with is_slippery=True, got <.*Frozen"):
        env.reset(seed=0)


def test_a_reset_that_fails_does_not_move_the_clock(monkeypatch):
    env = cart_pole()
    env.reset(seed=0)

    def fails(**_: Any) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(env.env, "reset", fails)
        with pytest.raises(MemoryError):
            env.reset()
    with pytest.raises(ValueError, match=r"^episode must be an integer of at least 0, got -1$"):
        env.reset(options={"episode": -1})
    assert env.step(0)[-1]["episode_index"] == 0
    assert env.reset()[1]["episode_index"] == 1


def test_an_agent_that_is_playing_is_not_trained_and_no_environment_is_reset():
    agent, env = lake_agent(), gymnasium.make("FrozenLake-v1")
    agent.begin(0)
    with pytest.raises(RuntimeError, match=r"^train must come after the end of"):
        train(agent, env, 1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


@pytest.mark.slow
def test_in_the_example_forgetting_wins(tmp_path):
    spec = importlib.util.spec_from_file_location("drifting_gym", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    found = example.main(tmp_path / "figure.png", num_episodes=300, num_runs=3)
    forgets, window, never = (returns[:, 150:].mean() for returns in found.values())
    assert min(forgets, window) > never + 0.2
    assert (tmp_path / "figure.png").stat().st_size > 1000
