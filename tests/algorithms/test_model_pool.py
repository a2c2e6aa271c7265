"""dLinUCB: the pool equals its plain-loop definition, stays calm where nothing changes, and sees changes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms.bandits.dynamic_lin_ucb import ModelPool, dynamic_lin_ucb
from driftwise.base import Spec
from driftwise.environments import PlayedEpisode
from driftwise.environments.models.linear_bandit import LinearBandit
from driftwise.parts import ConfidenceRadius, ExponentialWeights, LeastSquares, NoForgetting, Thompson, Ucb
from tests.reference.model_pool import Master

NOISE = 0.2
THETAS = ((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0))
SPEC = Spec.bandit(dim=2, num_arms=6)
HASTY: dict[str, Any] = dict(delta=0.4, window=12, admit_share=0.2, badness_delta=0.7)
CROWDED: dict[str, Any] = dict(delta=0.95, window=12, admit_share=0.0, badness_delta=0.95, capacity=3)
AGENTS: dict[str, dict[str, Any]] = {
    "calm": dict(delta=0.05, window=30, badness_delta=0.1),
    "hasty": HASTY,
    "crowded": CROWDED,
    "restarted": {**HASTY, "admit_share": 1.0},
}


def bandit(changes: tuple[int, ...] = (60, 120), fewest: int = 6) -> LinearBandit:
    """Arms from the ball do not tie, so that there is one best arm for any rounding."""
    arms = dw.arms.FreshArms(num_arms=6, dim=2, shape="ball", fewest=fewest)
    path = dw.paths.abrupt_path(THETAS[: len(changes) + 1], changes)
    return LinearBandit(arms, path, noise_scale=NOISE)


def rounds(environment: LinearBandit, num_rounds: int, seed: int, **options: Any) -> Iterator[tuple]:
    """Each round of the pool with the arms it was offered; arms that were not there are NaN."""
    agent = dynamic_lin_ucb(SPEC, noise_scale=NOISE, **options)
    for played in dw.play(agent, environment, num_rounds, seed=seed):
        arms, present = played.features.values, played.features.present
        yield played, arms if present is None else np.where(present[:, None], arms, np.nan)


@pytest.mark.parametrize("fewest", [6, 2])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", AGENTS)
def test_the_pool_equals_the_paper_arm_by_arm(name, seed, fewest):
    master = Master(2, noise_scale=NOISE, **AGENTS[name])
    sizes, numbers = [], set()
    for played, arms in rounds(bandit(fewest=fewest), 180, seed, **AGENTS[name]):
        arm, there = int(played.episode.actions[0]), np.flatnonzero(~np.isnan(arms[:, 0]))
        assert there[master.arm(arms[there])] == arm
        master.learn(arms[arm], float(played.episode.rewards[0]))
        assert_same_pool(played, master)
        sizes.append(len(master.models))
        numbers.add(len(there))
    assert numbers == {*range(fewest, 7)}
    assert master.num_created > 1  # the comparison has seen pools change
    assert (max(sizes) > 1) == (name != "restarted")
    assert (master.num_overflows > 0) == (name == "crowded")


def assert_same_pool(played: PlayedEpisode, master: Master) -> None:
    state = played.carry.state
    assert state.num_created == master.num_created
    slots = np.flatnonzero(state.alive)
    slots = slots[np.argsort(state.created[slots])]
    assert len(slots) == len(master.models)
    for slot, model in zip(slots, master.models, strict=True):
        assert state.models.tick[slot] == len(model.arms)
        assert state.num_wrong[slot] == sum(model.errors[-master.window :])
        gram = np.eye(2) + sum(np.outer(arm, arm) for arm in model.arms)
        np.testing.assert_allclose(state.models.gram[slot], gram, rtol=0, atol=1e-9)


def test_the_first_judgement_on_a_model_leaves_the_window_as_all_others_do():
    agent = dynamic_lin_ucb(
        SPEC, noise_scale=NOISE, window=3, delta=0.95, admit_share=1.0, badness_delta=0.95
    )
    one = next(dw.play(agent, bandit(), 1))
    state, wrong = one.before, []
    for reward in (9.0, 0.0, 0.0, 0.0, 0.0):
        episode = one.episode._replace(rewards=np.array([reward]))
        state = agent.update(state, one.features, one.plan, episode)
        wrong.append(int(state.num_wrong[0]))
    assert wrong == [1, 1, 1, 0, 0]


def pool_of(environment: LinearBandit, num_rounds: int) -> Any:
    """Twenty runs of the default pool, but for a shorter window."""
    agent = dynamic_lin_ucb(SPEC, noise_scale=NOISE, window=50)
    return dw.simulate(agent, environment, num_episodes=num_rounds, num_runs=20, keep_state=True)


@pytest.mark.slow
def test_where_nothing_changes_the_first_model_stays():
    assert pool_of(bandit(()), 1000).state.num_created.mean() < 1.5


def test_a_change_is_seen_soon_and_regret_comes_down_again():
    """Within one window of 50 rounds: the regret jumps at the change and is small again afterwards."""
    result = pool_of(bandit((500,)), 1000)
    before, at_change, after = (result.regret[:, a:b].mean() for a, b in ((400, 500), (500, 510), (560, 660)))
    newest = result.state.created.max(axis=-1)
    assert ((newest > 500) & (newest < 550)).all()
    assert at_change > 10 * before
    assert after < at_change / 10


def test_tuned_is_the_recipe_with_the_published_levels():
    tuned = dynamic_lin_ucb.tuned(SPEC, num_episodes=100, noise_scale=0.5, ridge="dim")
    assert tuned == dynamic_lin_ucb(SPEC, noise_scale=0.5, ridge=2.0)
    assert isinstance(tuned, ModelPool)
    assert tuned.base.exploration == Ucb(
        ConfidenceRadius(0.5, 1.0, 0.01, spread="epochs", shares=1), "single"
    )
    assert tuned.margin == pytest.approx(0.5 * 2.5758293035489)  # the normal deviate of 1 % in both tails


def test_only_models_whose_bonus_judges_them_form_a_pool():
    with pytest.raises(ValueError, match=r"^spec must be a bandit's, .* got Spec"):
        dynamic_lin_ucb(Spec(2, 2, 2, 1), noise_scale=1.0)
    forgetful = LeastSquares(SPEC, ExponentialWeights(0.9), Ucb(1.0))
    sampled = LeastSquares(SPEC, NoForgetting(), Thompson(1.0))
    mdp = LeastSquares(Spec(2, 2, 2, 1), NoForgetting(), Ucb(1.0))
    for model, name in ((forgetful, "base.forgetting"), (sampled, "base.exploration"), (mdp, "spec")):
        with pytest.raises(ValueError, match=f"{name} must be"):
            ModelPool(model, margin=1.0)
