"""Bandits that forget by the clock: real times, late rewards, and silence."""

import copy
import dataclasses
import pickle
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import driftwise as dw
from driftwise.algorithms import build
from driftwise.online import Bandit, DecisionLog, load
from driftwise.online.replay import Options, TableLog, read_samples, replay
from driftwise.parts import ClockWeights, Softmax, Thompson
from tests.examples import BANDIT, NUM_EPISODES, make_bandit
from tests.online.streams import bits
from tests.reference.bandits import rounds
from tests.reference.clock import Event, sums_at

HALF_LIFE, START, DIM, RIDGE, RADIUS = 3600.0, 1.7e9, 3, 0.5, 0.4
CLOSE = 1e-9  # of ages of days at such times, rounded to 2e-7 seconds


def make(**options: Any) -> Bandit:
    given: dict[str, Any] = dict(dim=DIM, half_life="1h", radius=RADIUS, ridge=RIDGE)
    return Bandit("clock_lin_ucb", **given | options)


def draw_arms(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-1, 1, (4, DIM)) / np.sqrt(DIM)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_indices_are_those_of_the_sums_over_ages_however_late_rewards_come(seed):
    rng, bandit, learnt = np.random.default_rng(seed), make(), []
    waiting: list[tuple[str, Event]] = []
    time = START
    for _ in range(15):
        time += rng.exponential(0.2 * HALF_LIFE)
        arms = draw_arms(rng)
        decision = bandit.decide(arms, time=time)
        newest = max([time, *(each.time for each in learnt)])
        sums = sums_at(newest, learnt, HALF_LIFE, RIDGE, DIM)
        expected = [arm @ sums.estimate + RADIUS * sums.width(arm) for arm in arms]
        np.testing.assert_allclose(decision.scores, expected, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(bandit.scores(arms, time=time), expected, rtol=0, atol=CLOSE)
        waiting.append((decision.id, Event(time, arms[decision.arm], rng.normal())))
        while waiting and rng.random() < 0.5:
            id, event = waiting.pop(rng.integers(len(waiting)))
            bandit.learn(id, event.reward)
            learnt.append(event)


@pytest.mark.parametrize("prior", ["zero", "hold", "decay"])
def test_decisions_leave_no_trace_and_a_file_goes_on_bit_for_bit(prior, tmp_path: Path):
    rng, bandit = np.random.default_rng(1), make(prior=prior, norm="sandwich")
    waits = [bandit.decide(draw_arms(rng), time=START + 1000 * t).id for t in range(6)]
    for id in waits[1::2]:
        bandit.learn(id, 0.7)
    before = bits(bandit.state)
    bandit.scores(draw_arms(rng), time=START + 2e4)
    bandit.decide(draw_arms(rng), time=START + 2e4)
    assert bits(bandit.state) == before
    bandit.save(tmp_path / "agent.safetensors")
    others = [load(tmp_path / "agent.safetensors"), pickle.loads(pickle.dumps(bandit)), copy.deepcopy(bandit)]
    for each in (bandit, *others):
        for id in waits[::2]:  # late ones, with the times that they were saved with
            each.learn(id, -0.2)
        each.decide(np.eye(DIM), id="last", time=START + 2.1e4)
        each.learn("last", 0.3)
    assert all(bits(each.state) == bits(bandit.state) for each in others)
    assert bits(bandit.state) != before


def test_a_decision_before_the_last_reward_brings_nothing_back_and_its_reward_is_late():
    rng, bandit = np.random.default_rng(2), make()
    arms = draw_arms(rng)
    bandit.learn_from(arms[0], 1.0, time=START)
    at_last = bandit.scores(arms, time=START)
    early = bandit.decide(arms, time=START - 2 * HALF_LIFE)
    assert early.scores.tolist() == at_last.tolist()
    bandit.learn(early.id, 0.5)
    events = [Event(START, arms[0], 1.0), Event(START - 2 * HALF_LIFE, arms[early.arm], 0.5)]
    expected = sums_at(START, events, HALF_LIFE, RIDGE, DIM)
    np.testing.assert_allclose(bandit.state.gram[0], expected.gram, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(bandit.state.weight_sq, 1 + 0.25**2, rtol=CLOSE)


def test_batches_are_singles_and_a_weight_is_the_mean_of_so_many_rewards():
    rng = np.random.default_rng(3)
    rows, rewards = draw_arms(rng), rng.normal(size=4)
    times, weights = START + np.array([50.0, 9e3, 400.0, 7e3]), np.array([1.0, 3.0, 0.0, 0.5])
    batch, single = make(norm="sandwich"), make(norm="sandwich")
    batch.learn_from(rows, rewards, weight=weights, time=times)
    for row, reward, weight, time in zip(rows, rewards, weights, times, strict=True):
        single.learn_from(row, reward, weight=weight, time=datetime.fromtimestamp(time, UTC))
    assert bits(batch.state) == bits(single.state)
    events = [Event(*each) for each in zip(times, rows, rewards, weights, strict=True)]
    expected = sums_at(times.max(), events, HALF_LIFE, RIDGE, DIM)
    np.testing.assert_allclose(batch.state.gram[0], expected.gram, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(batch.state.gram_sq[0], expected.gram_sq, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(batch.state.cross[0, :, 0], expected.cross, rtol=0, atol=CLOSE)


def test_silence_is_explored_again_up_to_the_ridge_or_refused_where_it_decays():
    silence, bonus = 40 * HALF_LIFE, {}
    bandits = {prior: make(prior=prior) for prior in ("zero", "hold", "decay")}
    for prior, bandit in bandits.items():
        bandit.learn_from(np.eye(DIM), [1.0, 0.5, 0.2], time=START)
        if prior == "decay":
            later = bandit.decide(np.eye(DIM), time=START + silence / 4)
            assert later.bonus == pytest.approx(2**5 * RADIUS / np.sqrt(1 + RIDGE))
            continue
        decision = bandit.decide(np.eye(DIM), time=START + silence)
        bonus[prior] = decision.bonus
        estimate = (decision.scores - RADIUS / np.sqrt(RIDGE)).max()
        assert estimate == pytest.approx(1 / (1 + RIDGE) if prior == "hold" else 0, abs=1e-6)
    assert bonus["zero"] == pytest.approx(RADIUS / np.sqrt(RIDGE), rel=1e-6)
    assert bonus["hold"] == bonus["zero"]
    refused = bandits["decay"]
    before = refused.summary()
    sentence = (
        r"^agent: the least eigenvalue of its gram has decayed to 1e-09, below 1e-08, 144000 seconds after "
        r"its last reward; use prior='hold' or a longer half_life: LeastSquares\([^\n]*$"
    )
    with pytest.raises(FloatingPointError, match=sentence):
        refused.decide(np.eye(DIM), time=START + silence)
    assert refused.summary() == before
    refused.decide(np.eye(DIM), time=START)  # nothing is lost, and what comes helps
    refused.learn_from(np.eye(DIM), [0.1, 0.8, 0.3], time=START + silence)
    assert refused.decide(np.eye(DIM), time=START + silence).arm == 1


@pytest.mark.parametrize(
    ("exploration", "num_draws"), [(Thompson(0.4), 1), (Thompson(0.4), 50), (Softmax(0.2), 1)], ids=str
)
def test_any_exploration_decides_by_the_clock(exploration, num_draws):
    """After so many half-lives nothing is left: scores are those of an agent that knows nothing."""
    parts: dict[str, Any] = dict(forgetting=ClockWeights(HALF_LIFE), exploration=exploration)
    bandits = [Bandit("least_squares", dim=DIM, num_draws=num_draws, **parts) for _ in range(2)]
    for bandit, time in zip(bandits, (START, START - 80 * HALF_LIFE), strict=True):
        bandit.learn_from(np.eye(DIM), [3.0, -2.0, -2.0], time=time)
    known, forgotten = (bandit.decide(np.eye(DIM), time=START) for bandit in bandits)
    ignorant = Bandit("least_squares", dim=DIM, num_draws=num_draws, **parts)
    ignorant._num_rounds = 3  # the same draws
    np.testing.assert_allclose(forgotten.scores, ignorant.scores(np.eye(DIM)), rtol=0, atol=1e-9)
    assert np.abs(known.scores - forgotten.scores).max() > 0.1


FORGETFUL = {
    "fast": dict(algorithm="clock_lin_ucb", half_life="1h", radius=0.01),
    "slow": dict(algorithm="clock_lin_ucb", half_life=1e9, radius=0.01),
}


def turned_over() -> list[tuple[float, int, float]]:
    """Times, arms and rewards of two arms, of which the better one changes after ten silent hours."""
    rng = np.random.default_rng(4)
    rows = [(START + t + 10 * HALF_LIFE * (t >= 30), int(rng.integers(2))) for t in range(60)]
    return [(time, arm, float((arm == 0) == (t < 30))) for t, (time, arm) in enumerate(rows)]


def logged(path: Path) -> DecisionLog:
    log, chooser = DecisionLog(path), Bandit("uniform", dim=2)
    for time, arm, reward in turned_over():
        decision = chooser.decide(np.eye(2), time=time, arm=arm)
        log.add_decision(decision, arms=np.eye(2))
        log.add_reward(decision.id, reward)
    return log


def table(path: Path, column: str | None) -> TableLog:
    dates = [np.datetime64(round(1e3 * time), "ms") for time, _, _ in turned_over()]
    rows = [
        f"{t},{date}Z,{time:.3f},{arm},{reward},0.5,1"
        for t, (date, (time, arm, reward)) in enumerate(zip(dates, turned_over(), strict=True))
    ]
    path.write_text("\n".join(["row,date,seconds,arm,reward,chance,x", *rows]))
    return TableLog(path, "arm", "reward", ("x",), propensity="chance", time=column)


@pytest.mark.parametrize("kind", ["decisions", "date", "seconds"])
def test_a_replay_and_a_warm_start_take_the_times_of_the_log(kind, tmp_path: Path):
    """By the clock nothing of the world before is left when the last rows come."""
    log = logged(tmp_path / "log.jsonl") if kind == "decisions" else table(tmp_path / "log.csv", kind)
    found = replay(log, FORGETFUL, Options(learn="all", every=30))
    fast, slow = (found.policies[name].windows[-1].window.values["IPS"].value for name in ("fast", "slow"))
    assert fast > slow + 0.3
    samples, times = read_samples(log), [time for time, _, _ in turned_over()]
    assert samples.times is not None
    np.testing.assert_allclose(samples.times, times, rtol=0, atol=1e-3)
    bandit = make(dim=samples.features.shape[1])
    bandit.learn_from(samples.features, samples.rewards, time=samples.times)
    assert bandit.state.memory == samples.times[-1]


def test_a_table_without_times_is_refused_for_an_agent_that_needs_them(tmp_path: Path):
    with pytest.raises(ValueError, match=r"log.csv must have a column of times for fast, which forgets by"):
        replay(table(tmp_path / "log.csv", None), FORGETFUL)
    log = dataclasses.replace(table(tmp_path / "log.csv", "date"), time="chance", propensity=None)
    assert read_samples(log).times is not None
    (tmp_path / "log.csv").write_text((tmp_path / "log.csv").read_text().replace("2023-11-14", "yesterday"))
    with pytest.raises(ValueError, match=r"date must be times \(seconds since 1970, timestamps, or ISO"):
        read_samples(dataclasses.replace(log, time="date"))


def test_times_of_samples_are_refused_by_agents_that_count_rewards():
    bandit = Bandit("lin_ucb", dim=DIM, radius=0.1)
    with pytest.raises(ValueError, match=r"^time must be left out for lin_ucb, which counts .*, got some$"):
        bandit.learn_from(np.ones(DIM), 1.0, time=5.0)
    assert bandit.summary().samples == 0


HALF_LIVES = (600.0, 1200.0, 2400.0, 4800.0, 1e30)  # the last for ever


def adaptive(**options: Any) -> Bandit:
    return Bandit("adaptive_lin_ucb", dim=DIM, seed=5, shortest="10min", longest="2h", **options)


def test_memories_of_an_adaptive_agent_are_sums_over_ages_whatever_the_order_of_arrival():
    rng, bandit, ahead = np.random.default_rng(6), adaptive(fresh="never"), adaptive(fresh="never")
    events = [Event(START + 700.0 * t, draw_arms(rng)[0], rng.normal()) for t in range(12)]
    assert bandit.agent.base.forgetting.half_life == HALF_LIVES  # pyright: ignore[reportAttributeAccessIssue]
    shuffled = [events[0], *(events[i] for i in 1 + rng.permutation(11))]
    for each, order in ((ahead, events), (bandit, shuffled)):
        for event in order:
            each.learn_from(event.features, event.reward, time=event.time)
    first = events[0]  # whose features have the unit, and whose reward is the origin
    unit = min(np.linalg.norm(first.features), 1.0)
    events = [
        Event(time, np.append(features / unit, 10.0), reward - first.reward)
        for time, features, reward, _ in events
    ]
    for state in (ahead.state.base, bandit.state.base):
        for j, half_life in enumerate(HALF_LIVES):
            expected = sums_at(events[-1].time, events, half_life, 0.2, DIM + 1)
            np.testing.assert_allclose(state.gram[j, 0], expected.gram, rtol=0, atol=CLOSE)
            np.testing.assert_allclose(state.cross[j, 0, :, 0], expected.cross, rtol=0, atol=CLOSE)
            np.testing.assert_allclose(state.weight_sq[j], expected.weight_sq, rtol=0, atol=CLOSE)
            np.testing.assert_allclose(state.noise.moments.weight[j], expected.weight, rtol=0, atol=CLOSE)
    again = Bandit.from_bytes(bandit.to_bytes())
    scores = [each.scores(np.eye(DIM), time=START + 1e4).tolist() for each in (bandit, again)]
    assert scores[0] == scores[1]


def test_an_adaptive_agent_with_a_reward_a_second_decides_as_in_the_simulator():
    given: dict[str, Any] = dict(shortest="4s", longest="16s")
    environment, bandit = make_bandit(noise_scale=0.3), Bandit("adaptive_lin_ucb", dim=DIM, seed=5, **given)
    played = dw.play(build(BANDIT, "adaptive_lin_ucb", **given), environment, NUM_EPISODES, seed=5)
    for t, (one, here) in enumerate(zip(played, rounds(environment, NUM_EPISODES, seed=5), strict=True)):
        decision = bandit.decide(here.features[here.present], time=START + t)
        assert decision.index == pytest.approx(one.plan.q[0, 0, decision.arm], abs=1e-9)
        bandit.learn(decision.id, here.rewards[here.present][decision.arm])


def test_an_adaptive_agent_finds_that_the_world_turns_over_every_night():
    """Within a day nothing changes: half-lives of hours know it soon, and for ever mixes all days."""
    rng, bandit = np.random.default_rng(8), adaptive(fresh="never")
    minutes, thetas = 240.0 * np.arange(25), rng.normal(size=(5, DIM))
    for day, theta in enumerate(thetas):
        rows = rng.uniform(-1, 1, (25, DIM))
        rewards = rows @ theta + 0.1 * rng.normal(size=25)
        bandit.learn_from(rows, rewards, time=START + 86400.0 * day + minutes)
    assert np.exp(bandit.state.log_weights)[:-1].sum() > 0.99
    scores = bandit.scores(np.eye(DIM), time=START + 4 * 86400.0 + 6000.0)
    np.testing.assert_allclose(scores, thetas[-1], atol=0.3)
