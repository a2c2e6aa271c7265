"""Generalised linear bandits against their plain loops, and what they reduce to."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import d_glb_omd, glb_weight_ucb, sc_d_glucb
from driftwise.base import Spec
from driftwise.environments import LinearBandit, linear_bandit
from driftwise.parts import LINKS, NoForgetting, SlidingWindow
from driftwise.parts.link_regression import mirror_step, project_to_ball
from tests.reference import bandits, glm

REWARDS: dict[str, Any] = {"logistic": "bernoulli", "log": "poisson", "identity": "gaussian"}
FAMILIES = {"logistic": glm.LOGISTIC, "log": glm.POISSON, "identity": glm.GAUSSIAN._replace(dispersion=0.09)}


def world(link: Any = "logistic", *, radius: float = 1.0, rounds: int = 60) -> LinearBandit:
    arms, path = dw.arms.FreshArms(5, 2, "ball", fewest=3), dw.paths.Rotation(0.0, 3.0, rounds, radius)
    return linear_bandit(arms=arms, path=path, rewards=REWARDS[link], noise_scale=0.3, link=link)


@pytest.mark.parametrize("rate", [0.9, 1.0])
@pytest.mark.parametrize("link", FAMILIES)
def test_mirror_descent_is_its_plain_loop(link: Any, rate: float) -> None:
    """To 1e-8; the ball is small enough for some steps to end on its sphere."""
    environment = world(link, radius=1.5)
    given: dict[str, Any] = dict(ridge=0.5, norm_bound=0.8)
    agent = d_glb_omd(
        environment.spec, rate=rate, link=link, noise_scale=0.3, num_episodes=60, radius_scale=1.0, **given
    )
    rounds = bandits.rounds(environment, 60)
    steps = glm.d_glb_omd(
        FAMILIES[link], rounds, rate=rate, log_inverse_delta=lambda t: math.log(60 / 0.05), **given
    )
    lengths = []
    for played, step in zip(dw.play(agent, environment, 60), steps, strict=True):
        assert played.episode.actions[0] == step.arm
        np.testing.assert_allclose(played.plan.weights[0], step.estimate, rtol=0, atol=1e-8)
        there = np.isfinite(step.indices)
        np.testing.assert_allclose(
            played.plan.q[0, 0][there], LINKS[link].mean(step.indices[there]), rtol=1e-8, atol=1e-8
        )
        lengths.append(np.linalg.norm(step.estimate))
    assert max(lengths) == pytest.approx(0.8)


def test_a_rate_of_one_is_no_forgetting_and_windows_are_refused() -> None:
    environment = world()
    agent = d_glb_omd(environment.spec, rate=1.0, ridge=0.5)
    bare = dataclasses.replace(agent, forgetting=NoForgetting())
    for one, other in zip(*(dw.play(each, environment, 20) for each in (agent, bare)), strict=True):
        np.testing.assert_array_equal(one.plan.q, other.plan.q)
    with pytest.raises(ValueError, match=r"^forgetting must be exponential weights, or none, got "):
        dataclasses.replace(agent, forgetting=SlidingWindow(5))


def test_with_the_identity_and_no_bound_mirror_descent_is_weighted_ridge_regression() -> None:
    """The ridge is λσ²: sums are counted in units of the noise's variance."""
    environment = world("identity")
    agent = d_glb_omd(
        environment.spec, rate=0.9, link="identity", noise_scale=0.3, ridge=2.0, norm_bound=1e6, radius=0.5
    )
    xs, rewards = [], []
    for played in dw.play(agent, environment, 40):
        weights = 0.9 ** np.arange(len(xs) - 1, -1, -1.0)
        x = np.reshape(xs, (-1, 2))
        gram = (x * weights[:, None]).T @ x + 2.0 * 0.09 * np.eye(2)
        ridge = np.linalg.solve(gram, (x * weights[:, None]).T @ np.array(rewards))
        np.testing.assert_allclose(played.plan.weights[0], ridge, rtol=0, atol=1e-12)
        xs.append(played.episode.features[0])
        rewards.append(float(played.record.reward))


@pytest.mark.parametrize("rate", [0.97, 1.0])
def test_without_drift_the_parameter_is_in_the_ellipsoid_in_every_round(rate: float) -> None:
    """`‖θ − θ*‖_H ≤ β`; and β is no more than fifty times too large."""
    theta = np.array([1.5, -1.0])
    environment = LinearBandit(
        dw.arms.FreshArms(4, 2), dw.paths.abrupt_path([theta], ()), "bernoulli", link="logistic"
    )
    agent = d_glb_omd(environment.spec, rate=rate, norm_bound=2.0, delta=0.1, num_episodes=150)
    exploration: Any = agent.exploration
    shares = []
    for run in range(2):
        for played in dw.play(agent, environment, 150, run=run):
            moments = played.before
            gap = played.plan.weights[0] - theta
            shares.append(math.sqrt(gap @ moments.gram[0] @ gap) / exploration.radius.at(moments)[0])
    assert max(shares) <= 1
    assert max(shares) >= 0.02


PRINTED: dict[str, Any] = {
    "inside and outside the ball": (
        glb_weight_ucb,
        dict(rate=0.9, ridge=3.0, norm_bound=0.6),
        lambda given: glm.glb_weight_ucb(
            dim=2, rate=0.9, ridge=3.0, bound=0.6, log_inverse_delta=lambda t: math.log(25 / 0.05)
        ),
    ),
    "without a projection": (
        sc_d_glucb,
        dict(rate=0.9, ridge=0.3, norm_bound=0.6),
        lambda given: glm.sc_d_glucb(dim=2, rate=0.9, ridge=0.3, bound=0.6, delta=0.05, num_rounds=25),
    ),
}


@pytest.mark.parametrize("case", PRINTED)
def test_weighted_likelihood_is_its_plain_loop(case: str) -> None:
    """To 1e-8, in rounds with estimates on both sides of the ball's border."""
    recipe, given, printed = PRINTED[case]
    environment = world(radius=3.0, rounds=25)
    agent = recipe(environment.spec, num_episodes=25, **given)
    outside = []
    steps = glm.play(printed(given), bandits.rounds(environment, 25))
    for played, step in zip(dw.play(agent, environment, 25), steps, strict=True):
        assert played.episode.actions[0] == step.arm
        np.testing.assert_allclose(played.plan.weights[0], step.estimate, rtol=0, atol=1e-8)
        there = np.isfinite(step.indices)
        np.testing.assert_allclose(played.plan.q[0, 0][there], step.indices[there], rtol=1e-8, atol=1e-8)
        outside.append(np.linalg.norm(played.before.memory.estimate) > given["norm_bound"])
    assert 0 < sum(outside) < 25


def test_a_ring_of_samples_drops_what_no_longer_counts() -> None:
    """Weights below 1e-12 are gone, and nothing is seen of it: with more room estimates are the same."""
    environment = world(radius=2.0, rounds=80)
    short, long = (
        glb_weight_ucb(environment.spec, rate=0.5, ridge=0.5, radius=0.2, num_episodes=num)
        for num in (None, 80)
    )
    assert (short.capacity, long.capacity) == (40, 40)
    roomy = dataclasses.replace(short, capacity=80)
    for one, other in zip(*(dw.play(agent, environment, 80) for agent in (short, roomy)), strict=True):
        np.testing.assert_allclose(one.plan.weights, other.plan.weights, rtol=0, atol=1e-10)


def test_with_one_hot_arms_each_arm_solves_its_own_equation() -> None:
    arms, path = dw.arms.orthogonal_arms(3), dw.paths.abrupt_path([[1.0, -0.5, 0.2]], ())
    environment = linear_bandit(arms=arms, path=path, rewards="bernoulli", link="logistic")
    agent = sc_d_glucb(environment.spec, rate=0.9, ridge=0.4, radius=0.8, num_episodes=30)
    rewards, arms = [], []
    for played in dw.play(agent, environment, 30):
        weights = 0.9 ** np.arange(len(arms) - 1, -1, -1.0)
        for arm, theta in enumerate(played.plan.weights[0]):
            mine = np.array(arms) == arm
            due = weights[mine] @ (glm.LOGISTIC.mean(theta) - np.array(rewards)[mine]) if mine.any() else 0.0
            assert 0.4 * theta + due == pytest.approx(0, abs=1e-9)
        arms.append(int(played.episode.actions[0]))
        rewards.append(float(played.record.reward))


def test_the_projection_is_the_nearest_point_of_the_ball_in_its_metric() -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e4):
        root = rng.normal(size=(4, 4)) * np.array([1.0, 1.0, 1.0, scale])[:, None]
        metric, point = root.T @ root + 1e-3 * np.eye(4), 5 * rng.normal(size=4)
        near = project_to_ball(metric[None], point[None], 0.7)[0]
        assert np.linalg.norm(near) == pytest.approx(0.7, rel=1e-9)
        best = (near - point) @ metric @ (near - point)
        for _ in range(50):  # no point of the sphere near by is nearer
            other = near + 1e-3 * rng.normal(size=4)
            other *= 0.7 / np.linalg.norm(other)
            assert (other - point) @ metric @ (other - point) >= best * (1 - 1e-9)
    inside = np.array([[0.1, 0.2, 0.3, 0.4]])
    np.testing.assert_array_equal(project_to_ball(np.eye(4)[None], inside, 0.7), inside)


def test_forgetting_clicks_beats_remembering_them_where_tastes_change() -> None:
    spec, path = Spec.bandit(dim=2, num_arms=4), dw.paths.abrupt_path(((3.0, 0.0), (-3.0, 0.0)), (150,))
    environment = LinearBandit(dw.arms.FreshArms(4, 2, "sphere"), path, "bernoulli", link="logistic")
    lost = {}
    for rate in (0.95, 1.0):
        agent = d_glb_omd(spec, rate=rate, norm_bound=3.0, ridge=2.0, radius_scale=0.1)
        played = [one.record for one in dw.play(agent, environment, 300)]
        lost[rate] = sum(float(one.optimal - one.value) for one in played[150:])
    assert lost[0.95] < lost[1.0] / 2


@pytest.mark.parametrize(("link", "chance"), [("logistic", 0.02), ("logistic", 0.4), ("log", 8.0)])
def test_steps_of_means_make_forecasts_of_numbered_arms_the_mean_rewards(link: Any, chance: float) -> None:
    """Where the ridge is small: also if the first rewards are far from the mean."""
    agent = d_glb_omd(Spec.bandit(dim=2, num_arms=2), rate=1.0, link=link, ridge=1e-4, norm_bound=100.0)
    agent = dataclasses.replace(agent, step="mean", step_size=1.0)
    gram, theta, x = np.eye(2)[None] * 1e-4, np.zeros((1, 2)), np.eye(2)[:1]
    rng = np.random.default_rng(0)
    rewards = rng.poisson(chance, 300) if link == "log" else rng.random(300) < chance
    for reward in rewards.astype(float):
        cross = gram @ theta[..., None]
        gram, theta, _ = mirror_step(agent, gram, cross, x, np.array([reward]), 1.0)
    z = theta[0, :1]
    assert agent.link.mean(z) == pytest.approx(rewards.mean(), rel=0.01)
    assert gram[0, 0, 0] == pytest.approx(300 * agent.link.slope(z), rel=0.01)


@pytest.mark.parametrize(
    "chances", [(0.005, 0.01, 0.02, 0.01), (0.02, 0.03, 0.05, 0.08), (0.2, 0.3, 0.4, 0.6)]
)
def test_clicks_of_all_rates_are_learnt(chances: tuple[float, ...]) -> None:
    """The regret of each is less than three quarters of that of arms at random."""
    regret, rng = 0.0, np.random.default_rng(1)
    for seed in range(3):
        bandit = dw.online.Bandit("adaptive_glb_omd", dim=4, seed=seed)
        for _ in range(1500):
            decision = bandit.decide(np.eye(4))
            bandit.learn(decision.id, reward=float(rng.random() < chances[decision.arm]))
            regret += max(chances) - chances[decision.arm]
    assert regret < 0.75 * 3 * 1500 * (max(chances) - np.mean(chances))


@pytest.mark.parametrize("name", ["d_glb_omd", "adaptive_glb_omd"])
def test_online_the_index_of_a_click_is_a_chance(name: str) -> None:
    told = {"rate": 0.9} if name == "d_glb_omd" else {"longest": 16}
    bandit = dw.online.Bandit(name, dim=3, **told)
    for t in range(20):
        decision = bandit.decide(np.eye(3))
        assert 0 <= decision.index - decision.bonus <= decision.index <= 1
        bandit.learn(decision.id, reward=float(t % 3 == 0))
    assert 0 < bandit.summary().recent_error < 1


def test_the_identity_asks_for_noise() -> None:
    with pytest.raises(ValueError, match=r"^noise_scale must be a number above 0, got 0$"):
        d_glb_omd(Spec.bandit(dim=2, num_arms=3), rate=0.9, link="identity", noise_scale=0)
