"""Rewards that come late or never, numbers to watch, and many threads."""

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from driftwise.online import Bandit, load
from driftwise.online.summary import Gauge
from tests.online.streams import bits, lead, make, numbered, rounds

ARMS = np.array([[0.6, 0.0, 0.8], [0.1, 0.5, 0.2]])


@pytest.mark.parametrize(
    ("limits", "made", "expired"),
    [
        (dict(max_pending=3), 5, 2),
        *((dict(expire_after=age), 1 + age, 0) for age in (1, 2, 5)),  # more than that many others
        *((dict(expire_after=age), 3 + age, 2) for age in (1, 2, 5)),
    ],
)
def test_beyond_a_number_or_an_age_the_oldest_expires(limits, made, expired):
    bandit = make(**limits)
    for _ in range(made):
        numbered(bandit, ARMS)
    before = bandit.state
    for number in range(expired):
        with pytest.raises(ValueError, match=rf"^id .*, got '{number}': it has expired \(max_pending="):
            bandit.learn(number, 0.5)
    assert bits(bandit.state) == bits(before)
    for number in reversed(range(expired, made)):
        bandit.learn(number, 0.5)
    summary = bandit.summary()
    assert (summary.decisions, summary.rewards, summary.expired) == (made, made - expired, expired)


def test_beyond_32_bits_decisions_go_on():
    for name in ("d_lin_ts", "lin_ucb"):  # one draws for its plan, the other for ties
        bandit = make(name)
        bandit._pending.num_decisions = bandit._num_rounds = 2**32 - 1
        decisions = [bandit.decide(np.ones((4, 3))) for _ in range(12)]
        assert decisions[-1].id.endswith(f"-{2**32 + 10}")
        assert len({decision.arm for decision in decisions}) > 1


def test_of_ids_long_gone_it_says_what_it_still_knows():
    bandit = make(max_pending=2)
    for _ in range(9):
        numbered(bandit, ARMS)
    with pytest.raises(ValueError, match=r"got '0': it was never made here, .* or was forgotten"):
        bandit.learn(0, 0.5)
    with pytest.raises(ValueError, match="got '6': it has expired"):
        bandit.learn(6, 0.5)


@pytest.mark.parametrize(("name", "expected"), [("d_lin_ucb", 0.9), ("lin_ucb", 1.0)])
def test_effective_samples_follow_from_the_weights(name, expected):
    bandit = make(name)
    lead(bandit, 30, seed=0)
    summary = bandit.summary()
    weights = expected ** np.arange(summary.rewards)
    assert summary.effective_samples == pytest.approx(weights.sum() ** 2 / (weights @ weights), rel=1e-12)


def test_a_summary_says_what_was_learnt():
    bandit = make("lin_ucb", ridge=0.5)
    fresh = bandit.summary()
    assert (fresh.effective_samples, fresh.condition, fresh.rewards, fresh.drift) == (0, 1, 0, 0)
    errors, bonuses = [], []
    for _ in range(7):
        decision = bandit.decide(ARMS[:1])
        bandit.learn(decision.id, 0.75)
        errors.append(abs(0.75 - (decision.index - decision.bonus)))
        bonuses.append(decision.bonus)
    summary = bandit.summary()
    assert summary.effective_samples == 7
    assert summary.condition == pytest.approx((0.5 + 7 * np.square(ARMS[0]).sum()) / 0.5)
    assert summary.recent_error == pytest.approx(np.mean(errors))
    assert summary.recent_bonus == pytest.approx(np.mean(bonuses))


def drifts(num: int, *, change_at: int, seed: int) -> list[float]:
    """The gauge of D-LinUCB after every reward; at the change the parameter turns round."""
    bandit = Bandit("d_lin_ucb", dim=3, rate=0.98, noise_scale=0.1, seed=seed)
    rng, theta, found = np.random.default_rng(seed), np.array([0.5, -0.3, 0.4]), list[float]()
    for t in range(num):
        arms = rng.normal(size=(5, 3))
        decision = bandit.decide(arms)
        mean = arms[decision.arm] @ (theta if t < change_at else -theta)
        bandit.learn(decision.id, mean + 0.1 * rng.normal())
        found.append(bandit.summary().drift)
    return found


def test_the_gauge_is_quiet_in_a_steady_world_and_rises_after_a_change():
    for seed in range(3):
        found = drifts(1200, change_at=1000, seed=seed)
        assert max(found[:1000]) < 4
        assert max(found[1000:1030]) > 8
        assert found[-1] < 4  # it has learnt the new world


def test_rare_rewards_make_the_gauge_noisy_within_a_limit():
    rng, gauge, found = np.random.default_rng(0), Gauge(), []
    for reward in rng.random(20_000) < 0.01:
        gauge.observe(reward - 0.01, 0.0)
        found.append(gauge.drift)
    assert 4 < max(found) < 8  # as its docstring says
    for _ in range(50):  # three times as many as there were
        gauge.observe(0.99 if rng.random() < 0.3 else -0.01, 0.0)
    assert gauge.drift > 8


def test_the_gauge_compares_two_weighted_means():
    errors = np.random.default_rng(0).exponential(size=3000)
    gauge = Gauge()
    for error in errors:
        gauge.observe(error, 2 * error)
    assert gauge.recent_bonus == pytest.approx(2 * gauge.recent)
    weights = {memory: (1 - 1 / memory) ** np.arange(2999, -1, -1) / memory for memory in (50, 1000)}
    older = weights[1000].sum()
    assert gauge.recent == pytest.approx(weights[50] @ errors, abs=1e-2)
    assert gauge.older == pytest.approx(weights[1000] @ errors / older, abs=0.1)
    assert gauge.variance == pytest.approx(1, rel=0.3)  # of an exponential law


@contextlib.contextmanager
def impatient_threads() -> Iterator[None]:
    """Threads give way to each other as often as Python can make them."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


def test_threads_together_do_as_one_after_the_other(tmp_path):
    bandit, lock, learnt = make("lin_ucb", max_pending=500), threading.Lock(), []
    finished = threading.Event()

    def work(seed: int) -> None:
        for arms, reward in rounds(300, seed):
            decision = bandit.decide(arms)
            bandit.learn(decision.id, reward)
            with lock:
                learnt.append((decision.id, arms[decision.arm], reward))

    def keep(file: Path) -> list[int]:
        known, last = list[int](), False
        while not last:
            last = finished.is_set()
            bandit.save(file)
            seen = load(file).summary()  # all of one moment, however many are at work
            assert seen.decisions == seen.rewards + seen.pending == seen.effective_samples + seen.pending
            known.append(seen.rewards)
        return known

    with impatient_threads(), ThreadPoolExecutor(9) as pool:
        kept = pool.submit(keep, tmp_path / "agent.safetensors")
        list(pool.map(work, range(8)))
        finished.set()
        known = kept.result()
    assert known == sorted(known)
    assert known[-1] == 2400
    summary = bandit.summary()
    assert (summary.decisions, summary.rewards, summary.pending) == (2400, 2400, 0)
    assert len({number for number, *_ in learnt}) == 2400
    features = np.array([each for _, each, _ in learnt])
    np.testing.assert_allclose(bandit.state.gram[0], np.eye(3) + features.T @ features, rtol=1e-12)
    rewards = np.array([each for *_, each in learnt])
    np.testing.assert_allclose(bandit.state.cross[0, :, 0], features.T @ rewards, rtol=1e-12)


def test_no_heavy_library_is_loaded_for_deciding_and_learning():
    script = """
import sys
import numpy as np
import driftwise.online
import driftwise.online.features
bandit = driftwise.online.Bandit("d_lin_ts", dim=3, rate=0.9, scale=0.1)
bandit.learn(bandit.decide(np.eye(3)).id, 0.5)
heavy = {"jax", "scipy", "pyarrow", "gymnasium", "pandas", "rich", "sklearn"}
print(heavy & {*sys.modules})
"""
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert told == "set()\n"


@pytest.mark.parametrize("moment", [20, 500, 1500])
def test_one_reward_in_a_wrong_unit_does_not_blind_the_gauge(moment):
    rng, gauge = np.random.default_rng(2), Gauge()
    for t in range(2000):
        gauge.observe(1e6 if t == moment else rng.normal(), 0.0)
        assert t < 100 or gauge.drift < 4  # one outlier is no drift
    assert gauge.outliers == 1
    for _ in range(30):
        gauge.observe(3 * rng.normal(), 0.0)
    assert gauge.drift > 4


def test_rewards_outside_their_range_are_refused_and_counted(tmp_path):
    bandit = make(reward_range=(0.0, 1.0))
    before, decision = bandit.state, bandit.decide(ARMS)
    for reward in (-0.1, 100):
        with pytest.raises(ValueError, match=r"^reward must lie in reward_range, from 0 to 1, got"):
            bandit.learn(decision.id, reward)
    assert bits(bandit.state) == bits(before)
    bandit.save(tmp_path / "agent.safetensors")
    restored = load(tmp_path / "agent.safetensors")
    with pytest.raises(ValueError, match="reward_range"):
        restored.learn(decision.id, 2.0)
    restored.learn(decision.id, 1.0)
    assert (bandit.summary().outside, restored.summary().outside, restored.summary().rewards) == (2, 3, 1)


@pytest.mark.parametrize("algorithm", [dict(), dict(algorithm="d_lin_ucb", rate=0.99, noise_scale=0.1)])
def test_where_no_range_is_known_outliers_are_clipped_and_a_change_that_stays_is_learnt(algorithm):
    rng, only = np.random.default_rng(0), np.ones((1, 1))
    clipping, believing = Bandit(dim=1, outside="clip", **algorithm), Bandit(dim=1, **algorithm)

    def predicted(bandit: Bandit, rewards: np.ndarray) -> float:
        for reward in rewards.tolist():
            bandit.learn(bandit.decide(only).id, reward)
        decision = bandit.decide(only)
        return decision.index - decision.bonus

    usual = 0.5 + 0.1 * rng.normal(size=200)
    assert predicted(clipping, usual) == predicted(believing, usual)
    wrong_unit = np.append(50.0, usual[:1])
    far = [abs(predicted(bandit, wrong_unit) - 0.5) for bandit in (clipping, believing)]
    assert (
        max(far) < 0.1 if algorithm == {} else far[0] < 0.1 < far[1]
    )  # the adaptive ones clip by themselves
    assert (clipping.summary().outside, believing.summary().outside) == (1, 0)
    assert abs(predicted(clipping, 100 * usual) - predicted(believing, 100 * usual)) < 5
    history = np.append(np.full(50, 0.5) + 0.1 * rng.normal(size=50), 50.0)
    warm = Bandit(dim=1, outside="clip", **algorithm)
    warm.learn_from(np.ones((51, 1)), history, weight=2.0)
    assert warm.summary().outside == 1
    assert abs(predicted(warm, usual[:1]) - 0.5) < 0.1


def test_rewards_outside_their_range_are_clipped_and_counted():
    clipped, told = make(reward_range=(0, 1), outside="clip"), make()
    for reward, meant in ((100.0, 1.0), (-3.0, 0.0), (0.4, 0.4)):
        clipped.learn(clipped.decide(ARMS).id, reward)
        told.learn(told.decide(ARMS).id, meant)
    assert bits(clipped.state) == bits(told.state)
    assert (clipped.summary().outside, told.summary().outside) == (2, 0)
