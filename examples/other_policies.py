"""Policies of other libraries in a scenario, beside one of ours: `pip install 'driftwise[bench]'`."""

from __future__ import annotations

import numpy as np

import driftwise as dw
from driftwise.scenarios import Context, Reward

OWN = 5  # one-hot features, by which a regression for each arm learns nothing, come first


class River:
    """LinUCB with a regression for each arm."""

    def __init__(self, spec: dw.Spec, seed: int) -> None:
        from river.bandit import LinUCBDisjoint  # pyright: ignore[reportMissingImports]

        self.learner = LinUCBDisjoint(seed=seed, smoothing=0.95, beta=1.0)
        self.arms = list(range(spec.num_actions))

    def decide(self, context: Context) -> int:
        return int(self.learner.pull(self.arms, context=features_of(context)))

    def learn(self, reward: Reward) -> None:
        self.learner.update(reward.arm, features_of(reward), reward.value)


def features_of(told: Context | Reward) -> dict[str, float]:
    """The features that change with the context, of all arms, as a dictionary."""
    return {str(name): value for name, value in enumerate(told.arms[:, OWN:].ravel().tolist())}


class BayesianBandits:
    """Thompson sampling with a regression for each arm."""

    def __init__(self, spec: dw.Spec, seed: int) -> None:
        import bayesianbandits as library  # pyright: ignore[reportMissingImports]

        learners = [
            library.NormalInverseGammaRegressor(forgetting=library.StabilizedForgetting(0.97))
            for _ in range(spec.num_actions)
        ]
        arms = [library.Arm(arm, learner=each) for arm, each in enumerate(learners)]
        self.learner = library.ContextualAgent(arms, library.ThompsonSampling(), random_seed=seed)

    def decide(self, context: Context) -> int:
        (arm,) = self.learner.pull(context.arms[:, OWN:].reshape(1, -1))
        return arm

    def learn(self, reward: Reward) -> None:
        self.learner.select_for_update(reward.arm)
        self.learner.update(reward.arms[:, OWN:].reshape(1, -1), np.array([reward.value]))


class VowpalWabbit:
    """Arms with features of their own; the probability of a decision waits for its reward."""

    def __init__(self, spec: dw.Spec, seed: int) -> None:
        from vowpalwabbit import Workspace  # pyright: ignore[reportMissingImports]

        self.learner = Workspace(f"--cb_explore_adf --quiet --random_seed {seed}")
        self.rng = np.random.default_rng(seed)
        self.chances: dict[int, float] = {}

    def decide(self, context: Context) -> int:
        chances = np.array(self.learner.predict(self.lines(context.arms)))
        arm = int(self.rng.choice(len(chances), p=chances / chances.sum()))
        self.chances[context.number] = chances[arm]
        return arm

    def learn(self, reward: Reward) -> None:
        lines, chance = self.lines(reward.arms), self.chances.pop(reward.number)
        lines[reward.arm] = f"{reward.arm}:{-reward.value}:{chance} {lines[reward.arm]}"
        self.learner.learn(lines)

    def lines(self, arms: np.ndarray) -> list[str]:
        return ["| " + " ".join(f"{name}:{value}" for name, value in enumerate(arm)) for arm in arms.tolist()]


if __name__ == "__main__":
    scenario = dw.scenarios.find_scenario("linear_bandit/abrupt_rare-strong/delayed/cold")
    ours = dw.scenarios.bandit_policy("adaptive_lin_ucb")
    for name, make in {
        "ours": ours,
        "river": River,
        "bayesianbandits": BayesianBandits,
        "VW": VowpalWabbit,
    }.items():
        print(f"{name:16} regret {dw.scenarios.play_policy(make, scenario).regret:.0f}")
