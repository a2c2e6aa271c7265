"""Episodic agents of states that cannot be counted: what they remember gives what counting gives."""

import math
from functools import partial
from typing import Any

import numpy as np
import pytest

from driftwise.base import Episode
from driftwise.online import Bandit, EpisodicAgent, load
from driftwise.online.episodes import RememberedMixture, lost_weight, memory_needed, truncation_bound
from driftwise.online.features import Custom
from driftwise.parts import ExponentialWeights, NoForgetting, PeriodicRestart, SlidingWindow
from tests.examples import BANDIT_PARAMETERS, PARAMETERS, SPEC, make
from tests.online.streams import bits
from tests.online.test_episodic import (
    COUNTING,
    SEED,
    assert_saving_changes_nothing,
    drawn_episodes,
    led_through,
    needs,
    online,
    recipes_as_simulated,
)

__all__ = ["recipes_as_simulated"]  # a fixture for every test here

FEATURES = make().features
MAP = Custom(lambda state: FEATURES[state], num_actions=SPEC.num_actions, dim=SPEC.dim)
MIXTURES = ("adaptive", "adaptive_opt_wlsvi")  # below
BY_FORCE = ("detect_and_restart",)  # in tables of states
PLAIN = "^algorithm must be one of plain least squares for continuous states"
LEARNERS = [name for name in PARAMETERS if not needs(name) and name not in (*COUNTING, *MIXTURES, *BY_FORCE)]
SEEN = drawn_episodes(30)


def mapped(name: str, *, memory: int | None = len(SEEN), **options: Any) -> EpisodicAgent:
    parameters = PARAMETERS[name] | options
    return EpisodicAgent(name, features=MAP, horizon=SPEC.horizon, seed=SEED, memory=memory, **parameters)


def indices(learner: EpisodicAgent, one: Episode) -> np.ndarray:
    """What both kinds of agents thought of the actions in the states that they met."""
    if hasattr(learner.plan, "index_at"):
        return learner.plan.fill_tables(FEATURES[one.states]).q[:, 0]
    return learner.plan.q[np.arange(SPEC.horizon), one.states]


@pytest.mark.parametrize("name", LEARNERS)
def test_it_equals_the_agent_that_counts_states(name):
    counts, remembers, actions = online(name, make()), mapped(name), set()
    for t, one in enumerate(SEEN):
        length = SPEC.horizon - (t % 4 == 3)
        taken = led_through(counts, one, length=length)
        assert led_through(remembers, one, length=length) == taken
        np.testing.assert_allclose(indices(remembers, one), indices(counts, one), rtol=0, atol=1e-9)
        actions.update(taken)
    assert len(actions) == SPEC.num_actions
    summary = counts.summary()
    assert summary.effective_samples is not None
    assert vars(remembers.summary()) == pytest.approx(vars(summary), rel=1e-6)


@pytest.mark.parametrize("name", ["opt_wlsvi", "sw_lsvi_ucb", "lsvi_ucb_restart", "epsilon_greedy_lsvi"])
def test_it_remembers_by_itself_all_that_has_weight(name):
    tolerance = 1e-3
    counts, remembers = online(name, make()), mapped(name, memory=None, tolerance=tolerance)
    agent: Any = remembers.agent
    assert agent.memory == memory_needed(agent.base.forgetting, tolerance)
    for one in SEEN:
        assert led_through(remembers, one) == led_through(counts, one)
    if name in ("sw_lsvi_ucb", "lsvi_ucb_restart"):
        assert lost_weight(agent.base.forgetting, agent.memory, 1000) == 0
        np.testing.assert_allclose(indices(remembers, SEEN[-1]), indices(counts, SEEN[-1]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["opt_wlsvi", "sw_lsvi_ucb", "lsvi_ucb", "lsvi_ucb_restart"])
def test_sums_are_those_of_the_episodes_that_are_remembered(name):
    """Also after the ring has come round several times, with weights that it cuts off."""
    options: dict[str, Any] = dict(length=5) if name == "sw_lsvi_ucb" else {}
    learner = mapped(name, memory=7, **options)
    agent: Any = learner.agent
    for one in SEEN:
        led_through(learner, one)
    weighing, ring = learner.state
    past, tick = agent.base.forgetting.weights(len(SEEN))[-7:], len(SEEN)
    np.testing.assert_allclose(weighing.weights[np.arange(tick - 7, tick) % 7], past, rtol=1e-12)
    columns = np.swapaxes(ring.features * weighing.weights[:, None], 1, 2)
    ridge, moments = agent.base.ridge * np.eye(SPEC.dim), agent.moments(learner.state)
    np.testing.assert_allclose(moments.gram, columns @ ring.features + ridge, rtol=0, atol=1e-12)
    assert moments.weight == pytest.approx(past.sum())
    if moments.gram_sq is not None:
        both = columns @ np.swapaxes(columns, 1, 2) + ridge
        np.testing.assert_allclose(moments.gram_sq, both, rtol=0, atol=1e-12)


@pytest.mark.parametrize("memory", [3, 6, 12])
def test_what_is_lost_changes_the_index_by_no_more_than_is_said(memory):
    rate, radius, worst = 0.5, 0.3, 0.0
    given: Any = dict(rate=rate, radius=radius)
    counts = EpisodicAgent("opt_wlsvi", features=FEATURES, horizon=SPEC.horizon, seed=SEED, **given)
    remembers = mapped("opt_wlsvi", memory=memory, **given)
    for t, one in enumerate(SEEN):
        led_through(counts, one)
        led_through(remembers, one)
        changed = np.abs(indices(remembers, one) - indices(counts, one)).max()
        forgetting = ExponentialWeights(rate)
        bound = truncation_bound(forgetting, memory, tick=t, horizon=SPEC.horizon, radius=radius)
        assert changed <= bound + 1e-12
        worst = max(worst, changed)
    assert worst > 1e-6  # something was lost


def test_forgettings_say_how_long_they_last_and_the_lost_weight_is_a_geometric_tail():
    rate, memory = 0.9, 7
    forgetting = ExponentialWeights(rate)
    assert lost_weight(forgetting, memory, 500) == pytest.approx(rate**memory / (1 - rate), rel=1e-12)
    assert lost_weight(forgetting, memory, memory) == 0
    kept = memory_needed(forgetting, 1e-4)
    assert rate ** (kept - 1) >= 1e-4 > rate**kept
    assert memory_needed(forgetting, rate**5) == 6  # that weight itself is kept
    assert memory_needed(SlidingWindow(9), 0.1) == 10
    assert memory_needed(PeriodicRestart(9), 0.1) == 9
    assert math.isclose(lost_weight(NoForgetting(), 10, 25), 15)


def test_without_forgetting_the_memory_is_a_window():
    window, fades = mapped("sw_lsvi_ucb", memory=None, length=5), mapped("lsvi_ucb", memory=5)
    for one in SEEN:
        assert led_through(window, one) == led_through(fades, one)
    np.testing.assert_allclose(indices(window, SEEN[-1]), indices(fades, SEEN[-1]), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "plan_every"), [(name, 1) for name in LEARNERS] + [("opt_wlsvi", 4), ("opt_rlsvi", 4)]
)
def test_saved_and_loaded_it_goes_on_as_if_it_had_never_stopped(name, plan_every, tmp_path):
    file = tmp_path / "agent.safetensors"
    make_agent = partial(mapped, name, memory=8, plan_every=plan_every)
    agent = assert_saving_changes_nothing(make_agent, SEEN, file, features=MAP)
    agent.save(file)
    with pytest.raises(ValueError, match=r"^features must be the map that the agent was made with, got N"):
        EpisodicAgent.load(file)
    assert bits(load(file, features=MAP).state) == bits(agent.state)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (Custom(lambda state: FEATURES[state][:1], 1, SPEC.dim), f"{SPEC.dim} .*, got 1 and {SPEC.dim}$"),
        (Custom(lambda state: FEATURES[state][:, :1], SPEC.num_actions, 1), f"got {SPEC.num_actions} and 1$"),
    ],
)
def test_features_that_do_not_fit_a_file_are_refused(features, message, tmp_path):
    mapped("opt_wlsvi").save(tmp_path / "agent.safetensors")
    for loaded in (EpisodicAgent.load, load):
        with pytest.raises(ValueError, match=f"^features must be of {SPEC.num_actions} actions .*{message}"):
            loaded(tmp_path / "agent.safetensors", features=features)


def test_features_are_not_asked_for_where_a_file_has_them(tmp_path):
    online("opt_wlsvi", make()).save(tmp_path / "agent.safetensors")
    with pytest.raises(ValueError, match=r"^features must be left out, as the file has them in a table, got"):
        load(tmp_path / "agent.safetensors", features=MAP)
    Bandit("greedy", dim=2).save(tmp_path / "agent.safetensors")
    with pytest.raises(ValueError, match=r"^features must be left out for a bandit, got"):
        load(tmp_path / "agent.safetensors", features=MAP)
    with pytest.raises(ValueError, match=r"^path must be of an EpisodicAgent, got one of a Bandit"):
        EpisodicAgent.load(tmp_path / "agent.safetensors")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("lsvi_ucb", {}, r"^memory must be given, in episodes, where weights do not fade, got None with"),
        ("opt_wlsvi", dict(rate=1.0), r"^memory must be given, in episodes, where weights do not fade"),
        ("sw_lsvi_ucb", dict(memory=5), r"^memory must be at least 6 for SlidingWindow.*, got 5$"),
        ("opt_wlsvi", dict(memory=0), "^memory must be a positive integer, got 0$"),
        ("opt_wlsvi", dict(tolerance=0.0), r"^tolerance must be a number in \(0, 1\], got 0.0$"),
        ("opt_wlsvi", dict(known=dict(psi=1)), "^known must be empty where .*, got 'psi'$"),
        ("ucbvi", dict(memory=9), f"{PLAIN}.*, got Count"),
        ("adaptive_lin_ucb", dict(horizon=1), PLAIN),
        ("cw_oful", dict(horizon=1), PLAIN),
        ("adaptive", dict(base=dict(algorithm="ucbvi", scale=0.01)), PLAIN),
        ("adaptive_opt_wlsvi", dict(memory=0), "^memory must be a positive integer, got 0$"),
        ("detect_and_restart", {}, "^algorithm must play nothing by force, which is done in tables"),
        ("matrix_rl", {}, "^algorithm must learn from what it earns alone where states cannot be counted"),
    ],
)
def test_bad_settings_are_one_sentence(name, options, message):
    given = dict(horizon=SPEC.horizon) | {**BANDIT_PARAMETERS, **PARAMETERS}[name] | options
    with pytest.raises(ValueError, match=message):
        EpisodicAgent(name, features=MAP, **given)


def test_bad_features_are_one_sentence_and_change_nothing():
    here = {"rows": FEATURES[0]}
    features = Custom(lambda _: here["rows"], num_actions=SPEC.num_actions, dim=SPEC.dim)
    learner = EpisodicAgent("opt_wlsvi", features=features, horizon=3, rate=0.9, radius=0.4, memory=4)
    before = bits(learner.state)
    for here["rows"], message in (
        (np.ones((2, 3)), r"^features of state must have shape \(2, 12\), got \(2, 3\)$"),
        (np.full((2, 12), np.nan), "^features of state must be finite, got nan at index"),
        (np.ones((2, 12)), "^features must have norms of at most 1, got one of 3.4641$"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.begin("anything")
        assert not learner.under_way
        assert bits(learner.state) == before


JUMPED = [one._replace(rewards=3 + one.rewards / 9) for one in SEEN]
RANDOM: dict[str, Any] = dict(algorithm="opt_rlsvi", scale=0.3, upper=0.8, rate=(0.75, 0.9375, 1.0))


def agents(algorithm: str, *, memory: int, tolerance: float, **parameters: Any) -> list[EpisodicAgent]:
    """The agent that counts states, and the one that remembers."""
    given: Any = dict(horizon=SPEC.horizon, seed=5, **parameters)
    remembers = EpisodicAgent(algorithm, features=MAP, memory=memory, tolerance=tolerance, **given)
    return [EpisodicAgent(algorithm, features=FEATURES, **given), remembers]


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("adaptive_opt_wlsvi", dict(shortest=2, longest=8, share=0.1)),
        ("adaptive_opt_wlsvi", dict(shortest=2, longest=8, decision="draw")),
        ("adaptive", dict(base=RANDOM)),
    ],
)
def test_it_equals_the_mixture_that_counts_states(algorithm: str, parameters: dict[str, Any]) -> None:
    lived = [*SEEN, *SEEN, *JUMPED] if "share" in parameters else [*SEEN, *JUMPED]
    counts, remembers = agents(algorithm, memory=len(lived), tolerance=1.0, **parameters)
    for t, one in enumerate(lived):
        length = SPEC.horizon - (t % 4 == 3)
        assert led_through(remembers, one, length=length) == led_through(counts, one, length=length)
        np.testing.assert_allclose(indices(remembers, one), indices(counts, one), rtol=0, atol=1e-8)
    mixture, counted = remembers.state.weighing, counts.state
    np.testing.assert_allclose(mixture.log_weights, counted.log_weights, rtol=0, atol=1e-8)
    np.testing.assert_allclose(mixture.base.sums.gram, _whole(counts, counted.base.gram), rtol=0, atol=1e-9)
    np.testing.assert_allclose(mixture.base.sums.weight, counted.base.weight, rtol=1e-12)
    if "share" in parameters:
        assert mixture.base.sums.weight[-1] < len(lived)  # there was a fresh start
    for name, number in counts.agent.diagnostics(counted).items():
        assert remembers.agent.diagnostics(remembers.state)[name] == pytest.approx(number)


def _whole(learner: EpisodicAgent, grams: np.ndarray) -> np.ndarray:
    """Grams of blocks `[..., B, m, m]` as those of all coordinates."""
    if grams.ndim == 4:
        return grams
    assert learner.states.blocks is not None
    whole = np.zeros((*grams.shape[:2], SPEC.dim, SPEC.dim))
    for b, each in enumerate(learner.states.blocks.order):
        whole[..., each[:, None], each] = grams[:, :, b]
    return whole


def test_memories_that_need_more_episodes_than_are_kept_are_left_out() -> None:
    _, remembers = agents("adaptive_opt_wlsvi", memory=120, tolerance=1e-3)
    agent = remembers.agent
    assert isinstance(agent, RememberedMixture)
    assert agent.base.base.forgetting.rate == (1 - 1 / 8, 1 - 1 / 16, 1.0)  # 0.9375^120 < 0.001 < 0.96875^120


def test_the_last_memory_is_a_window_of_what_is_kept() -> None:
    """A mixture of one memory that forgets nothing, beside that memory alone."""
    given: Any = dict(features=MAP, horizon=SPEC.horizon, seed=5, memory=7)
    base: Any = dict(radius=0.4, ridge=0.5, clip="tight")
    alone = EpisodicAgent("lsvi_ucb", **base, **given)
    mixed = EpisodicAgent("adaptive", base=dict(algorithm="lsvi_ucb", **base), tolerance=1e-6, **given)
    for one in SEEN:
        assert led_through(mixed, one) == led_through(alone, one)
    np.testing.assert_allclose(indices(mixed, SEEN[-1]), indices(alone, SEEN[-1]), rtol=0, atol=1e-9)


def test_a_mixture_saved_and_loaded_goes_on_as_if_it_had_never_stopped(tmp_path: Any) -> None:
    def make_agent() -> EpisodicAgent:
        return agents("adaptive_opt_wlsvi", memory=9, tolerance=1.0, shortest=2, longest=8)[1]

    file = tmp_path / "agent.safetensors"
    assert_saving_changes_nothing(make_agent, [*SEEN, *JUMPED], file, features=MAP)
