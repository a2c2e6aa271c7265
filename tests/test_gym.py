"""Gymnasium environments: the contract, the exact model path, and the clock that runs over resets."""

import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import driftwise as dw
from driftwise.environments import ENVIRONMENTS
from driftwise.gym import MAKERS, LinearMdpEnv, LinearMdpVectorEnv, make_env, make_vector_env
from tests.examples import DRIFTS, SPEC, make
from tests.reference import planning

LOCK = "driftwise/CombinationLock-v0"


def trajectory(env: Any, num_episodes: int, **first: Any) -> list[Any]:
    """All that an environment says when the same actions are taken, `first` in the first reset."""
    actions = np.random.default_rng(0).integers(SPEC.num_actions, size=(num_episodes, SPEC.horizon))
    said: list[Any] = []
    for episode, row in enumerate(actions):
        said.append(env.reset(**(first if episode == 0 else {})))
        said.extend(env.step(action) for action in row)
    return said


@pytest.mark.parametrize("name", MAKERS)
def test_gymnasium_finds_no_fault_with_any_of_them(name: str) -> None:
    check_env(gymnasium.make(name).unwrapped)


def test_every_maker_of_linear_mdps_has_an_id_and_no_other_has() -> None:
    episodic = {name for name, make in ENVIRONMENTS.items() if ".mdps." in make.__module__}
    assert set(MAKERS.values()) == episodic
    assert MAKERS["driftwise/RandomLinearMdp-v0"] == "random_linear_mdp"


def test_same_seed_gives_the_same_trajectory_on_the_same_path() -> None:
    env = LinearMdpEnv(make(rewards="bernoulli"))
    first, other = trajectory(env, 10, seed=3), trajectory(env, 10, seed=4)
    assert trajectory(env, 10, seed=3) == first != other
    assert trajectory(LinearMdpEnv(make(rewards="bernoulli")), 10, seed=3) == first


def test_clock_runs_over_resets_until_it_is_set() -> None:
    env = LinearMdpEnv(make())

    def episode(**how: Any) -> int:
        return env.reset(**how)[1]["episode_index"]

    assert [episode() for _ in range(3)] == [0, 1, 2]
    assert episode(options={"episode": 30}) == 30
    assert episode(options={}) == 31
    assert [episode(seed=1), episode()] == [0, 1]
    assert [episode(seed=1, options={"episode": 8}), episode()] == [8, 9]


def test_an_episode_terminates_at_the_horizon_and_info_says_where_it_is() -> None:
    env = LinearMdpEnv(make())
    first, *steps = trajectory(env, 1, options={"episode": 5})
    infos = [first[1], *(info for *_, info in steps)]
    assert [info["step"] for info in infos] == list(range(SPEC.horizon + 1))
    places = {(info["episode_index"], info["optimal_value"]) for info in infos}
    assert places == {(5, first[1]["optimal_value"])}
    assert [ended for _, _, *ended, _ in steps] == [[False, False]] * (SPEC.horizon - 1) + [[True, False]]


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_models_and_optimal_values_are_those_of_the_path(drift: Any) -> None:
    environment = make(drift=drift)
    env = LinearMdpEnv(environment)
    for episode in (0, 6, 7, 15, 16, 3):
        state, info = env.reset(options={"episode": episode})
        values, _ = planning.optimal(environment.features, environment.model(episode))
        np.testing.assert_allclose(info["optimal_value"], values[0, state], atol=1e-12)
        np.testing.assert_array_equal(env.model.mu, environment.model(episode).mu)
        reward = env.step(1)[1]
        assert reward == pytest.approx(environment.features[state, 1] @ env.model.theta[0], abs=1e-12)


def test_draws_follow_the_model_before_and_after_a_change() -> None:
    change = 2000
    environment = make(drift=dw.drift.Abrupt((change,)), rewards="bernoulli")
    env, rng = LinearMdpEnv(environment), np.random.default_rng(1)
    shape = (2, SPEC.horizon, SPEC.num_states, SPEC.num_actions)
    starts = np.zeros(SPEC.num_states)
    successes, moves = np.zeros(shape), np.zeros((*shape, SPEC.num_states))
    env.np_random = np.random.default_rng(2)
    for episode in range(2 * change):
        state, _ = env.reset()
        starts[state] += 1
        for h, action in enumerate(rng.integers(SPEC.num_actions, size=SPEC.horizon)):
            place = (episode // change, h, state, action)
            state, reward, *_ = env.step(action)
            successes[place] += reward
            moves[(*place, state)] += 1
    visits = moves.sum(-1)
    require_binomial(starts, np.asarray(2.0 * change), environment.initial)
    for half, model in enumerate((environment.model(0), environment.model(change))):
        reward, probability = planning.kernel(environment.features, model)
        require_binomial(successes[half], visits[half], reward)
        require_binomial(moves[half], visits[half][..., None], probability)


def require_binomial(counts: np.ndarray, trials: np.ndarray, probability: np.ndarray) -> None:
    """Counts within five standard errors (they are hundreds), where a normal approximation will do."""
    variance = trials * probability * (1 - probability)
    told = np.broadcast_to(variance >= 4, counts.shape)
    assert told.mean() > 0.3
    assert np.all(np.abs(counts - trials * probability)[told] <= 5 * np.sqrt(variance[told]))


@pytest.mark.parametrize("observe", ["state", "step", "features"])
def test_observations_are_the_state_the_step_or_the_features(observe: str) -> None:
    environment = make()
    env, plain = LinearMdpEnv(environment, observe=observe), LinearMdpEnv(environment)
    check_env(env, skip_render_check=True)
    for said, (state, *_, info) in zip(trajectory(env, 2, seed=0), trajectory(plain, 2, seed=0), strict=True):
        expected = {"state": state, "step": [state, info["step"]], "features": environment.features[state]}
        np.testing.assert_array_equal(said[0], expected[observe])
        assert env.observation_space.contains(said[0])


def test_specifications_say_how_long_episodes_are_and_nothing_is_truncated() -> None:
    env = gymnasium.make(LOCK, horizon=3, observe="features")
    assert env.spec is not None
    assert env.spec.max_episode_steps == 3
    *_, (_, _, terminated, truncated, _) = trajectory(env, 1, seed=0)
    assert (terminated, truncated) == (True, False)
    aware = gymnasium.wrappers.TimeAwareObservation(env)  # needs to know how long episodes are
    observed, _ = aware.reset()
    assert aware.observation_space.contains(observed)
    envs = gymnasium.make_vec(LOCK, num_envs=2, horizon=4)
    assert envs.spec is not None
    assert envs.spec.max_episode_steps == 4


@pytest.mark.parametrize("observe", ["state", "step", "features"])
def test_vector_environments_do_what_copies_one_after_the_other_do(observe: str) -> None:
    environment, num_envs = make(rewards="bernoulli"), 3
    together = LinearMdpVectorEnv(environment, num_envs, observe=observe)
    apart = gymnasium.vector.SyncVectorEnv([lambda: LinearMdpEnv(environment, observe=observe)] * num_envs)
    assert together.observation_space == apart.observation_space
    assert together.action_space == apart.action_space
    rng = np.random.default_rng(0)
    how: list[dict[str, Any]] = [dict(seed=5), dict(options={"episode": 14}), dict(seed=[1, 7, 3]), {}]
    for first in how:
        said = [each.reset(**first) for each in (together, apart)]
        for _ in range(3 * (SPEC.horizon + 1)):
            for mine, theirs in zip(*said, strict=True):
                _assert_equal(mine, theirs)
            assert together.observation_space.contains(said[0][0])
            actions = rng.integers(SPEC.num_actions, size=num_envs)
            said = [each.step(actions) for each in (together, apart)]


def _assert_equal(mine: Any, theirs: Any) -> None:
    if isinstance(theirs, dict):
        assert {*mine} == {*theirs}
        for name, value in theirs.items():
            _assert_equal(mine[name], value)
    else:
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12)


def test_an_id_makes_a_vector_environment_of_its_own_and_statistics_can_be_recorded() -> None:
    envs = gymnasium.make_vec(LOCK, num_envs=2, horizon=3)
    assert isinstance(envs, LinearMdpVectorEnv)
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
    envs.reset(seed=0)
    infos = [envs.step(envs.action_space.sample())[-1] for _ in range(4)]
    assert infos[2]["episode"]["l"].tolist() == [3, 3]
    assert infos[3]["episode_index"].tolist() == [1, 1]  # the fourth step was a reset
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make(LOCK, horizon=3))
    *_, (_, _, _, _, info) = trajectory(env, 1, seed=0)
    assert info["episode"]["l"] == 3


def test_mistakes_with_vector_environments_are_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"^max_episode_steps must be the horizon, 3, or left out, got 5$"):
        gymnasium.make_vec(LOCK, num_envs=2, horizon=3, max_episode_steps=5)
    with pytest.raises(ValueError, match=r"^observe must be one of state, step, features, got 'steps'"):
        gymnasium.make_vec(LOCK, num_envs=2, horizon=3, observe="steps")
    with pytest.raises(ValueError, match=r"^render_mode is no key of combination_lock, expected one of "):
        make_vector_env("combination_lock", num_envs=2, render_mode="ansi")
    envs = LinearMdpVectorEnv(make(), 2)
    for call in (lambda: envs.step(np.array([0, 0])), lambda: envs.model):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"^reset must be called"):
            call()
    for seed in ([1], [1, None]):
        with pytest.raises(ValueError, match=r"^seed must be one, or one for each of 2 copies, got \["):
            envs.reset(seed=seed)  # pyright: ignore[reportArgumentType]
    envs.reset(seed=1)
    for actions in ([0], [0, 99], [-1, 0], [0.5, 0.5], None):
        with pytest.raises(ValueError, match=r"^actions must be 2 integers from 0 to \d, got "):
            envs.step(actions)  # pyright: ignore[reportArgumentType]


def test_rendering_is_a_line_and_parts_may_be_plain_dictionaries() -> None:
    env = gymnasium.make(LOCK, horizon=3, render_mode="ansi", drift={"type": "Abrupt", "at": [2]})
    env.reset(seed=0, options={"episode": 7})
    assert env.render() == "episode 7, step 0 of 3, state 0\n"
    same = make_env("combination_lock", horizon=3, drift=dw.drift.Abrupt((2,))).environment
    assert env.unwrapped.environment.digest() == same.digest()  # pyright: ignore[reportAttributeAccessIssue]


def run_python(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; {program}"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_module_in_the_id_registers_without_jax_and_without_gymnasium_the_extra_is_named() -> None:
    made = f"import gymnasium; print(*gymnasium.make('driftwise.gym:{LOCK}', horizon=2).reset(seed=0))"
    done = run_python(f"{made}; sys.exit('jax' in sys.modules)")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0 {'episode_index': 0")
    done = run_python("sys.modules['gymnasium'] = None; import driftwise.gym")
    assert done.stderr.endswith("driftwise.gym needs gymnasium: pip install 'driftwise[gym]'\n")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(maker="locks"), "maker must be one of .* names, got 'locks'; they are .*"),
        (dict(horizn=3), r"horizn is no key of combination_lock \(did you mean 'horizon'\?\), expected .*"),
        (dict(horizon=1), "horizon must be an integer of at least 2, got 1"),
        (dict(drift={"type": "Abrup"}), r"type must name a part, got 'Abrup' \(did you mean 'Abrupt'\?\)"),
        (dict(drift=3), "drift must be a Drift, got 3"),
        (dict(render_mode="human"), "render_mode must be one of ansi, got 'human'"),
    ],
)
def test_bad_parameters_are_one_sentence(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        gymnasium.make(LOCK, **given)


def test_bad_calls_are_one_sentence_and_change_nothing() -> None:
    with pytest.raises(ValueError, match=r"^environment must be a .*LinearMdp, got 'locks'$"):
        LinearMdpEnv("locks")  # pyright: ignore[reportArgumentType]
    env = make_env("combination_lock", horizon=3)
    for call in (lambda: env.step(0), env.render, lambda: env.model):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"^reset must be called"):
            call()
    env.reset(seed=0)
    for options, message in (
        ({"epsode": 1}, r"options must be one of episode, got 'epsode' \(did you mean 'episode'\?\)"),
        ({"episode": -1}, "episode must be an integer of at least 0, got -1"),
        ([1], r"options must be a .*Mapping, got \[1\]"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            env.reset(seed=1, options=options)  # pyright: ignore[reportArgumentType]
    for action in (2, -1, 0.5, None):
        with pytest.raises(ValueError, match=f"^action must be an integer from 0 to 1, got {action}$"):
            env.step(action)  # pyright: ignore[reportArgumentType]
    assert trajectory(env, 1)[0][1]["episode_index"] == 1
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
