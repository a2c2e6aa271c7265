"""DQN and PPO of Stable-Baselines3 in control problems, with the published settings of its zoo.

Settings: github.com/DLR-RM/rl-baselines3-zoo, `hyperparams/dqn.yml` and `ppo.yml`; the zoo has no DQN for
Pendulum, which has those of Acrobot here. Schedules end after as many steps as in the zoo.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

_ACROBOT: dict[str, Any] = dict(
    steps=1e5,
    learning_rate=6.3e-4,
    batch_size=128,
    buffer_size=50_000,
    learning_starts=0,
    gamma=0.99,
    target_update_interval=250,
    train_freq=4,
    gradient_steps=-1,
    exploration_fraction=0.12,
    exploration_final_eps=0.1,
    policy_kwargs=dict(net_arch=[256, 256]),
)
DQN: dict[str, dict[str, Any]] = {
    "CartPole-v1": dict(
        steps=5e4,
        learning_rate=2.3e-3,
        batch_size=64,
        buffer_size=100_000,
        learning_starts=1000,
        gamma=0.99,
        target_update_interval=10,
        train_freq=256,
        gradient_steps=128,
        exploration_fraction=0.16,
        exploration_final_eps=0.04,
        policy_kwargs=dict(net_arch=[256, 256]),
    ),
    "MountainCar-v0": dict(
        steps=1.2e5,
        learning_rate=4e-3,
        batch_size=128,
        buffer_size=10_000,
        learning_starts=1000,
        gamma=0.98,
        target_update_interval=600,
        train_freq=16,
        gradient_steps=8,
        exploration_fraction=0.2,
        exploration_final_eps=0.07,
        policy_kwargs=dict(net_arch=[256, 256]),
    ),
    "Acrobot-v1": _ACROBOT,
    "Pendulum-v1": _ACROBOT,
}
PPO: dict[str, dict[str, Any]] = {
    "CartPole-v1": dict(
        steps=1e5,
        copies=8,
        linear=True,
        learning_rate=1e-3,
        clip_range=0.2,
        n_steps=32,
        batch_size=256,
        gae_lambda=0.8,
        gamma=0.98,
        n_epochs=20,
    ),
    "MountainCar-v0": dict(
        steps=1e6, copies=16, normalize=True, n_steps=16, gae_lambda=0.98, gamma=0.99, n_epochs=4
    ),
    "Acrobot-v1": dict(
        steps=1e6, copies=16, normalize=True, n_steps=256, gae_lambda=0.94, gamma=0.99, n_epochs=4
    ),
    "Pendulum-v1": dict(
        steps=1e5,
        copies=4,
        n_steps=1024,
        gae_lambda=0.95,
        gamma=0.9,
        n_epochs=10,
        learning_rate=1e-3,
        use_sde=True,
        sde_sample_freq=4,
    ),
}


class Episodes:
    """Returns and end times of all episodes of a learner, in all copies of its environment."""

    def __init__(self) -> None:
        self.returns, self.seconds, self.begun = list[float](), list[float](), 0
        self._start = time.perf_counter()

    def add(self, earned: float) -> None:
        self.returns.append(earned)
        self.seconds.append(time.perf_counter() - self._start)


class Recorded(gymnasium.Wrapper):
    """An environment that adds its episodes to `Episodes`; a drift follows the number of those begun."""

    def __init__(self, env: gymnasium.Env, episodes: Episodes, *, drifts: bool) -> None:
        super().__init__(env)
        self._episodes, self._drifts, self._earned = episodes, drifts, 0.0

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        if self._drifts:
            options["options"] = {"episode": self._episodes.begun}
        self._episodes.begun, self._earned = self._episodes.begun + 1, 0.0
        return self.env.reset(**options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._earned += float(reward)
        if terminated or truncated:
            self._episodes.add(self._earned)
        return observation, reward, terminated, truncated, info


def play(
    algorithm: str, problem: Any, make_env: Callable[[], gymnasium.Env], num_episodes: int, seed: int
) -> dict[str, list[float]]:
    """Return returns and end times `[num_episodes]` of `"dqn"` or `"ppo"` in a `ControlProblem`."""
    import stable_baselines3  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]
    from stable_baselines3.common.callbacks import BaseCallback  # pyright: ignore[reportMissingImports]
    from stable_baselines3.common.vec_env import (  # pyright: ignore[reportMissingImports]
        DummyVecEnv,
        VecNormalize,
    )

    torch.set_num_threads(1)
    episodes, settings = Episodes(), dict({"dqn": DQN, "ppo": PPO}[algorithm][problem.id])
    steps, copies = int(settings.pop("steps")), settings.pop("copies", 1)
    total = max(steps, num_episodes * problem.max_steps)
    normalize, is_linear = settings.pop("normalize", False), settings.pop("linear", False)

    class StopAfter(BaseCallback):
        def _on_step(self) -> bool:
            return len(episodes.returns) < num_episodes

    def make() -> gymnasium.Env:
        return Recorded(make_env(), episodes, drifts=problem.drift is not None)

    vector: Any = DummyVecEnv([make] * copies)
    if normalize:
        vector = VecNormalize(vector)
    if algorithm == "dqn":
        settings["exploration_fraction"] *= steps / total
    if is_linear:
        for name in ("learning_rate", "clip_range"):
            settings[name] = _linear(settings[name], steps, total)
    kind = {"dqn": stable_baselines3.DQN, "ppo": stable_baselines3.PPO}[algorithm]
    kind("MlpPolicy", vector, seed=seed, device="cpu", **settings).learn(total, StopAfter())
    return {
        "returns": np.round(episodes.returns[:num_episodes], 3).tolist(),
        "seconds": np.round(episodes.seconds[:num_episodes], 3).tolist(),
    }


def _linear(first: float, steps: int, total: int) -> Any:
    """Return the schedule that falls to 0 in `steps` of a `total`, and to a thousandth at the least."""
    return lambda remaining: first * max(1 - (1 - remaining) * total / steps, 1e-3)
