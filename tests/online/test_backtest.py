"""Backtests: scores against their definition, intervals against simulation, and logs of known memory."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import driftwise as dw
from driftwise.algorithms.unknown_variation.adaptive import adaptive_lin_ucb
from driftwise.base import Episode, Spec
from driftwise.online.backtesting import forecast_rows
from driftwise.online.intervals import gain_of_the_best, normal_interval, possibly_best
from driftwise.online.replay import TableLog, read_samples, replay
from tests.online.test_replay import COLUMNS, drawn, write_csv
from tests.reference.adaptive import Memory, Mixture, Noise, fixed_share

AGENT = adaptive_lin_ucb(Spec.bandit(dim=2, num_arms=1))
NO_ACTION = {**COLUMNS, "action": None, "propensity": None}


def world(rows: int, changes: int = 0, seed: int = 0, noise: Any = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """Rewards of two features, whose weights change sign so many times."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 2))
    sign = np.where(np.arange(rows) * (changes + 1) // rows % 2, -1.0, 1.0)
    return features, sign * (features @ [1.0, -0.5]) + noise * rng.normal(size=rows)


def by_definition(
    features: np.ndarray, rewards: np.ndarray, noise_scale: float, memories: list[Memory]
) -> tuple[np.ndarray, Mixture]:
    """Scores with a fixed noise, and errors, `[n, J, 2]`; and the mixture with a learnt one."""
    each, favour = (1 - AGENT.sharing.favour) / len(memories), AGENT.sharing.favour
    prior = [each] * (len(memories) - 1) + [each + favour]
    noise = Noise(63 / 64, max_degrees=8.0, lost=1)
    mixture = Mixture(memories, [noise], prior, 0.0, fresh=False, outlier=10.0)
    values, found = np.zeros((2, 1)), []
    for phi, reward in zip(features, rewards, strict=True):
        none, extended = np.zeros(1, dtype=int), np.append(phi / np.linalg.norm(features[0]), 10.0)
        expected = [memory.expected(0, extended, values) for memory in memories]
        mixture.learn(Episode(none, none, phi[None], np.array([reward]), none), values)
        clipped = float(memories[0].history[-1].rewards[0])
        found.append(
            [(norm.logpdf(clipped, m, noise_scale * math.sqrt(1 + v)), clipped - m) for m, v in expected]
        )
    return np.array(found), mixture


def test_scores_and_weights_are_those_of_the_definition() -> None:
    features, rewards = world(40, changes=1)
    rewards[30] = 1e3  # clipped
    found = dw.online.backtest(features, rewards, memories=[16, 8], windows=[7], noise_scale=0.4)
    kinds = {
        "8": Memory(0.875, 0.2),
        "16": Memory(0.9375, 0.2),
        "window 7": Memory(1.0, 0.2, window=7),
        "all": Memory(1.0, 0.2),
    }
    expected, mixture = by_definition(features, rewards, 0.4, [*kinds.values()])
    learnt = np.array(mixture.scores)
    assert [each.name for each in found.memories] == [*kinds]
    for memory, (fixed, error), own in zip(
        found.memories, expected.transpose(1, 2, 0), learnt.T, strict=True
    ):
        assert memory.learnt_score == pytest.approx(own.mean(), abs=1e-9)
        assert memory.score == pytest.approx(fixed.mean(), abs=1e-9)
        assert memory.error == pytest.approx(np.sqrt((error**2).mean()), abs=1e-9)
    assert found.learnt_noise == pytest.approx(math.sqrt(mixture.noises[0].variance))
    for scores, mean, weights in (
        (learnt, found.learnt_mixture, found.learnt_weights),
        (expected[..., 0], found.mixture, found.weights),
    ):
        before = np.array(fixed_share(scores.tolist(), mixture.prior, AGENT.sharing.share))
        np.testing.assert_allclose(weights, before[1:], atol=1e-9)
        assert found.at_rows.tolist() == [*range(1, 41)]
        assert mean == pytest.approx(
            np.logaddexp.reduce(np.log(before[:-1]) + scores, axis=1).mean(), abs=1e-9
        )


def test_the_weights_with_learnt_noise_are_those_of_the_agent_online() -> None:
    features, rewards = world(60, changes=2, seed=1)
    rewards[40] = -100.0  # an outlier
    bandit = dw.online.Bandit("adaptive_lin_ucb", dim=2, fresh="never")
    for phi, reward in zip(features, rewards + 50, strict=True):
        bandit.learn(bandit.decide([phi]).id, reward)
    found = dw.online.backtest(features, rewards + 50)
    told = bandit.agent.diagnostics(bandit.state)
    np.testing.assert_allclose(
        found.learnt_weights[-1], [told[f"weight.{j}"] for j in range(len(found.memories))], atol=1e-8
    )


def test_a_window_does_not_gather_rounding_errors() -> None:
    features, rewards = world(300, seed=2)
    features[:100] *= 1e6  # later they have to be subtracted again
    given: Any = dict(rates=np.ones(1), windows={0: 8}, ridge=0.1, progress=lambda *_: None)
    whole, later = (forecast_rows(features[first:], rewards[first:], **given) for first in (0, 150))
    np.testing.assert_allclose(whole.error[160:, 0], later.error[10:, 0], atol=1e-9)


def test_progress_is_reported_to_the_last_row() -> None:
    seen: list[tuple[int, int]] = []
    dw.online.backtest(*world(150), progress=lambda *counts: seen.append(counts))
    assert seen == [(64, 150), (128, 150), (150, 150)]


def test_short_memories_are_advised_where_the_world_jumps() -> None:
    found = dw.online.backtest(*world(1200, changes=11))
    assert found.forgetting == "helps"
    assert found.advised.name in ("8", "16", "32")
    assert not {*found.may_be_best} & {"256", "4096", "all"}
    assert found.mixture_behind.value < found.memories[-1].behind.value / 2
    assert found.gain.low > 0.1


@pytest.mark.parametrize("noise", [0.3, np.where(np.arange(1200) < 600, 0.05, 1.0)], ids=["even", "louder"])
def test_never_forgetting_may_be_best_where_nothing_changes_but_the_noise(noise: Any) -> None:
    for seed in range(3):
        found = dw.online.backtest(*world(1200, seed=seed, noise=noise))
        assert "all" in found.may_be_best
        assert found.forgetting != "helps"
        assert "8" not in found.may_be_best


def test_forgetting_does_not_help_where_only_short_memories_are_tried_and_nothing_changes() -> None:
    found = dw.online.backtest(*world(800), memories=[8, 16])
    assert found.forgetting == "does not help"
    assert found.may_be_best == ("all",)
    assert found.gain.high < 0


def test_the_unit_and_the_level_of_rewards_change_no_advice() -> None:
    features, rewards = world(400, changes=3)
    features = np.insert(features, 1, 1.0, axis=1) @ np.array([[2.0, 1, 0], [0, 1, 1], [1, 0, -1]])
    plain, other = (dw.online.backtest(features, each) for each in (rewards, 1000 * rewards + 1e6))
    np.testing.assert_allclose(other.weights, plain.weights, atol=1e-6)
    np.testing.assert_allclose(other.learnt_weights[10:], plain.learnt_weights[10:], atol=1e-6)
    assert other.noise_scale == pytest.approx(1000 * plain.noise_scale)
    assert other.may_be_best == plain.may_be_best
    assert other.gain == pytest.approx(plain.gain, rel=1e-4)


def test_the_fixed_noise_is_the_likeliest_one() -> None:
    features, rewards = world(200, changes=1)
    found = dw.online.backtest(features, rewards)
    best = found.advised.score
    for factor in (0.9, 1.1):
        other = dw.online.backtest(features, rewards, noise_scale=factor * found.noise_scale)
        assert other.advised.score < best
        assert other.noise_given


@pytest.mark.parametrize("changing", [0.0, 1.0])
def test_the_best_is_thrown_out_in_at_most_one_case_of_twenty(changing: float) -> None:
    """Expectations may change with time, and the size of what comes depends on the past."""
    rng, trials, rows, num = np.random.default_rng(0), 1000, 150, 10
    lost = missed = 0
    drift = changing * np.sin(np.arange(rows) / 10)[:, None] * np.linspace(0, 2, num)
    for _ in range(trials):
        noise = rng.normal(size=(rows, num))
        size = 1 + 0.5 * (np.roll(noise[:, :1], 1, axis=0) > 0)
        scores = drift - drift.mean(axis=0) + size * noise
        lost += not possibly_best(scores)[0]
        gain = gain_of_the_best(scores[:, :-1], scores[:, -1])
        missed += not gain.low <= 0 <= gain.high
    assert lost <= 0.05 * trials + 3 * math.sqrt(0.05 * 0.95 * trials)
    assert missed <= 0.05 * trials + 3 * math.sqrt(0.05 * 0.95 * trials)


def test_forecasters_that_are_clearly_worse_are_thrown_out_and_an_interval_has_its_size() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal([0.0, 0.0, -0.5], size=(400, 3))
    assert possibly_best(scores).tolist() == [True, True, False]
    found = normal_interval(scores[:, 0])
    error = scores[:, 0].std(ddof=1) / 20
    assert found == pytest.approx(
        (scores[:, 0].mean(), found.value - 1.95996 * error, found.value + 1.95996 * error), rel=1e-5
    )


def test_one_row_says_nothing_and_equal_rewards_are_no_error() -> None:
    one = dw.online.backtest([[1.0, 2.0]], [3.0])
    assert one.forgetting == "open"
    assert len(one.may_be_best) == len(one.memories) == 11
    assert math.isnan(one.gain.low)
    still = dw.online.backtest(np.ones((30, 1)), np.full(30, 5.0))
    assert (still.noise_scale, still.gain.value) == (0.0, 0.0)
    assert still.mixture == pytest.approx(0.0, abs=1e-12)
    assert "all" in still.may_be_best


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no rows": (dict(features=np.zeros((0, 2)), rewards=[]), "features must have at least one row"),
    "no columns": (dict(features=np.zeros((2, 0))), "features must have at least one row and one column"),
    "one axis": (dict(features=[1.0, 2.0]), "features must have shape (any, any), got (2,)"),
    "lengths": (dict(rewards=[1.0]), "rewards must have shape (2), got (1,)"),
    "nan": (dict(rewards=[1.0, math.nan]), "rewards must be finite, got nan at index (1,)"),
    "huge": (dict(features=[[1e7], [1.0]]), "features must lie between ±1e+06, got one of size 1e+07"),
    "window": (dict(windows=[0.5]), "windows must be a positive integer, got 0.5"),
    "nothing": (dict(memories=[]), "memories must have at least one length, unless there are windows"),
    "ridge": (dict(ridge=-1.0), "ridge must be a number above 0, got -1.0"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD)
def test_mistakes_are_named(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"features": [[1.0], [2.0]], "rewards": [0.0, 1.0], **arguments}
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        dw.online.backtest(**given)


def contexts(x: np.ndarray) -> np.ndarray:
    """`(1, z)/√2` with z in [−1, 1], linear over the range."""
    z = 2 * (x - x.min()) / (x.max() - x.min()) - 1
    return np.stack([np.ones(len(x)), z], axis=1) / np.sqrt(2)


@pytest.mark.parametrize("shared", [False, True])
def test_samples_are_the_features_of_what_was_done(tmp_path: Path, shared: bool) -> None:
    columns = drawn(40)
    log = TableLog(write_csv(tmp_path / "log.csv", columns), **COLUMNS, bytes_at_once=300)
    samples = read_samples(log, shared=shared)
    for phi, context, arm in zip(samples.features, contexts(columns["x"]), columns["arm"], strict=True):
        taken = np.eye(3)["abc".index(arm)]
        expected = np.concatenate([context, taken]) / np.sqrt(2) if shared else np.kron(taken, context)
        np.testing.assert_allclose(phi, expected, atol=1e-12)
    assert samples.encoding is not None
    found = samples.encoding.encoder.rows({"x": columns["x"]})
    for phi, context, arm in zip(samples.features, found, columns["arm"], strict=True):
        np.testing.assert_array_equal(samples.encoding.actions(context)["abc".index(arm)], phi)
    np.testing.assert_array_equal(samples.rewards, columns["gain"])
    assert (samples.actions, samples.skipped) == (("a", "b", "c"), 0)


def test_a_log_without_actions_has_the_features_of_its_context(tmp_path: Path) -> None:
    columns = drawn(40)
    samples = read_samples(TableLog(write_csv(tmp_path / "log.csv", columns), **NO_ACTION))
    np.testing.assert_allclose(samples.features, contexts(columns["x"]), atol=1e-12)
    with pytest.raises(ValueError, match=r"action must have at least two different values"):
        replay(TableLog(tmp_path / "log.csv", **NO_ACTION), {"uniform": {}})
