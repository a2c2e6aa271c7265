"""Episodic agents: the simulated run step by step, short episodes, calls out of turn, and mistakes."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import ALGORITHMS
from driftwise.base import AnchorMeasures, Episode, InitialDistribution, MeanRewards, Positions
from driftwise.base.knowledge import SuccessorProjection
from driftwise.environments import LinearMdp
from driftwise.online import Bandit, EpisodicAgent
from tests.examples import NUM_EPISODES, PARAMETERS, SPEC, agent, fitting, make
from tests.online.streams import bits

SEED = 5
COUNTING = [name for name in PARAMETERS if ALGORITHMS[name].problem in ("tabular MDP", "metric MDP")]
KNOWN_ARRAYS = (AnchorMeasures, InitialDistribution, SuccessorProjection, Positions)


@pytest.fixture(autouse=True)
def recipes_as_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """No default parameters: simulations have the recipes' own."""
    monkeypatch.setattr("driftwise.online.episodes.agent_building.default_parameters", lambda _: {})


def needs(name: str) -> tuple[Any, ...]:
    return agent(name).needs


def fitting_environment(name: str) -> LinearMdp:
    """One that can tell the algorithm all it needs."""
    return make(fitting(agent(name))[0], rewards="bernoulli")


def online(name: str, environment: LinearMdp, **options: Any) -> EpisodicAgent:
    """The example agent of an algorithm, with all that it needs known to it."""
    table = environment.to_arrays(needs=needs(name)).table
    known = {kind.label: table.get(kind).array for kind in needs(name) if kind in KNOWN_ARRAYS}
    if "positions" in known:
        known["positions"] = environment.positions
    given = dict(features=environment.features, known=known) | options
    return EpisodicAgent(name, horizon=SPEC.horizon, seed=SEED, **given, **PARAMETERS[name])


def known_rewards(name: str, environment: LinearMdp, t: int) -> np.ndarray | None:
    if MeanRewards not in needs(name):
        return None
    return np.einsum("sad,hd->hsa", environment.features, environment.model(t).theta)


def led_through(
    learner: EpisodicAgent, one: Episode, *, length: int = SPEC.horizon, rewards: np.ndarray | None = None
) -> list[int]:
    """The actions of an agent that meets an episode, which terminates after `length` steps."""
    learner.begin(int(one.states[0]), rewards=rewards)
    actions = []
    for h in range(length):
        actions.append(learner.act())
        learner.observe(one.rewards[h], int(one.successors[h]), terminated=h + 1 == length < SPEC.horizon)
    assert not learner.under_way
    return actions


def drawn_episodes(num_episodes: int, seed: int = 0) -> list[Episode]:
    """Rewards and states of some world, whatever is done in it."""
    rng = np.random.default_rng(seed)
    walks = rng.integers(SPEC.num_states, size=(num_episodes, SPEC.horizon + 1))
    rewards = rng.random((num_episodes, SPEC.horizon))
    none = np.zeros(0)
    return [Episode(walk[:-1], none, none, paid, walk[1:]) for walk, paid in zip(walks, rewards, strict=True)]


@pytest.mark.parametrize("name", PARAMETERS)
def test_fed_with_the_episodes_of_a_run_it_does_what_that_run_did(name):
    environment = fitting_environment(name)
    learner, actions = online(name, environment), set()
    for t, one in enumerate(dw.play(agent(name), environment, NUM_EPISODES, seed=SEED)):
        taken = led_through(learner, one.episode, rewards=known_rewards(name, environment, t))
        assert taken == one.episode.actions.tolist()
        np.testing.assert_allclose(learner.plan.q[:, : SPEC.num_states], one.plan.q, rtol=0, atol=1e-9)
        actions.update(taken)
    assert len(actions) > 1
    assert learner.num_episodes == NUM_EPISODES


@pytest.mark.parametrize("name", sorted(set(PARAMETERS) - set(COUNTING)))
def test_nothing_can_be_earned_after_the_end_of_an_episode(name):
    environment = fitting_environment(name)
    learner = online(name, environment)
    for t, one in enumerate(drawn_episodes(15)):
        led_through(learner, one, length=1 + t % 3, rewards=known_rewards(name, environment, t))
        assert np.abs(learner.plan.q[:, SPEC.num_states]).max() <= 1e-12
        assert np.isfinite(learner.plan.q).all()


@pytest.mark.parametrize("terminated", [True, False])
def test_a_terminated_step_is_worth_its_reward_and_one_left_unfinished_that_of_its_successor(terminated):
    features = np.eye(4).reshape(2, 2, 4)
    learner = EpisodicAgent("lsvi_ucb", features=features, horizon=2, radius=0.0, ridge=1e-9)
    for first, paid in ((0, 0.5), (1, 0.25)):
        for _ in range(4):  # greedy: both actions of both states in both steps, by ties
            learner.begin(first)
            for reward in (0.0, paid):
                learner.act()
                learner.observe(reward, 0)
    for _ in range(200):
        learner.begin(1)
        learner.act()
        learner.observe(1.0, 0, terminated=terminated)
        if not terminated:
            learner.end()
    learner.begin(0)
    ahead = learner.plan.values[1, 0]
    assert ahead > 0.2
    assert learner.plan.q[0, 1].max() == pytest.approx(1.0 + ahead * (not terminated), abs=0.05)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_of_an_episode_that_is_left_only_what_was_seen_counts(length):
    """Sums are those of the steps that were played; the gauge has those of them that an action followed."""
    environment = make()
    learner = EpisodicAgent("lsvi_ucb", features=environment.features, horizon=4, radius=0.3, ridge=0.5)
    for number, one in enumerate(drawn_episodes(3)):  # three steps: the last of four is never reached
        learner.begin(int(one.states[0]))
        gram = learner.state.gram - 0.5 * np.eye(SPEC.dim)
        cross, plan, before = learner.state.cross, learner.plan, learner.summary()
        state, errors = int(one.states[0]), []
        for h in range(length):
            action = learner.act()
            phi, reached = environment.features[state, action], int(one.successors[h])
            learner.observe(one.rewards[h], reached)
            gram[h] += np.outer(phi, phi)
            cross[h] += np.outer(phi, np.eye(1 + SPEC.num_states + 1)[0] * one.rewards[h])
            cross[h][:, 1 + reached] += phi
            errors.append(abs(one.rewards[h] + plan.values[h + 1, reached] - phi @ plan.weights[h]))
            state = reached
        learner.end()
        assert not learner.under_way
        np.testing.assert_allclose(learner.state.gram - 0.5 * np.eye(SPEC.dim), gram, rtol=0, atol=1e-12)
        np.testing.assert_allclose(learner.state.cross, cross, rtol=0, atol=1e-12)
        seen = np.mean(errors[:-1]) if length > 1 else 0.0  # what followed the last step is not known
        expected = (number * before.recent_error + seen) / (number + 1)
        assert learner.summary().recent_error == pytest.approx(expected, abs=1e-12)
    assert learner.num_episodes == 3


@pytest.mark.parametrize("name", COUNTING)
def test_who_counts_learns_that_nothing_can_be_earned_after_the_end(name):
    learner, thought = online(name, fitting_environment(name)), []
    for one in drawn_episodes(300):
        led_through(learner, one, length=1)
        thought.append(learner.plan.values[1, SPEC.num_states])
    assert thought[0] == pytest.approx(SPEC.horizon - 1, abs=1.01)
    assert thought[-1] < thought[0] / 2


def test_a_plan_may_serve_for_several_episodes():
    environment, plans = make(), []
    learner = online("opt_wlsvi", environment, plan_every=3)
    for one in drawn_episodes(7):
        led_through(learner, one)
        plans.append(learner.plan)
    assert [plan is before for before, plan in itertools.pairwise(plans)] == [True, True, False] * 2
    with pytest.raises(ValueError, match=r"^plan_every must be 1 but for plain least squares, got 2$"):
        online("random_restart", environment, plan_every=2)


def started(name: str = "opt_wlsvi") -> EpisodicAgent:
    """After some episodes, in the middle of one, with an action chosen."""
    learner = online(name, make())
    for one in drawn_episodes(4):
        led_through(learner, one)
    learner.begin(2)
    learner.act()
    return learner


def fresh(begun: bool = False) -> EpisodicAgent:
    learner = online("opt_wlsvi", make())
    if begun:
        learner.begin(0)
    return learner


NONE = "must come after begin, as no episode is under way$"
BAD_CALLS: dict[str, tuple[Any, type[Exception], str]] = {
    "act before": (lambda _: fresh().act(), RuntimeError, f"^act {NONE}"),
    "end before": (lambda _: fresh().end(), RuntimeError, f"^end {NONE}"),
    "observe before": (lambda _: fresh().observe(0.5, 1), RuntimeError, f"^observe {NONE}"),
    "observe early": (lambda _: fresh(True).observe(0.5, 1), RuntimeError, "^observe must come after act"),
    "begin twice": (lambda it: it.begin(1), RuntimeError, "^begin must come after the end of an episode"),
    "act twice": (lambda it: it.act(), RuntimeError, "^act must come after observe"),
    "save within": (lambda it: it.save("nowhere"), RuntimeError, "^save must come between episodes"),
    "nan": (lambda it: it.observe(float("nan"), 1), ValueError, "^reward must be a number .*, got nan$"),
    "huge": (lambda it: it.observe(1e200, 1), ValueError, r"^reward must be .*, got 1e\+200$"),
    "text": (lambda it: it.observe("1", 1), ValueError, "^reward must be a number .*, got '1'$"),
    "no state": (lambda it: it.observe(0.5, None), ValueError, "^next_state must be .*, got None$"),
    "far state": (lambda it: it.observe(0.5, 6), ValueError, "^next_state must be a state .* to 5, got 6$"),
    "negative": (lambda it: it.observe(0.5, -1), ValueError, "^next_state must be an integer .*, got -1$"),
    "fraction": (lambda it: it.observe(0.5, 1.5), ValueError, "^next_state must be an integer .*, got 1.5$"),
}


@pytest.mark.parametrize(("call", "kind", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_mistakes_are_one_sentence(call, kind, message):
    """That they change nothing is tested with calls of all kinds, in production."""
    with pytest.raises(kind, match=message) as caught:
        call(started())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(features=np.zeros((2, 3))), r"^features must have shape \(any, any, any\), got \(2, 3\)$"),
        (dict(features=np.ones((2, 2, 4))), "^features must have norms of at most 1, got one of 2$"),
        (dict(features=np.full((1, 1, 1), 1e300)), "^features must have norms of at most 1, got one of inf$"),
        (dict(features=np.zeros((0, 2, 3))), r"^features must be of some states and actions, got the shape"),
        (dict(features=lambda state: state), r"^features must be an array \[S, A, d\], or have num_actions"),
        (dict(horizon=0), "^horizon must be a positive integer, got 0$"),
        (dict(plan_every=0), "^plan_every must be a positive integer, got 0$"),
        (dict(rate=(0.9, 0.99)), "^rate must be a single number, got a grid, "),
        (dict(known=dict(psi=1)), "^known must be one of measures, initial, .*, positions, got 'psi'"),
        (dict(algorithm="oppo", step_size=0.1, rate=None), r"^known must have the measures .*, got \[\]$"),
    ],
)
def test_bad_settings_are_one_sentence(options, message):
    given = dict(algorithm="opt_wlsvi", features=make().features, horizon=3, rate=0.9, radius=0.4) | options
    with pytest.raises(ValueError, match=message):
        EpisodicAgent(**given)


def test_rewards_are_known_to_those_who_need_them_alone():
    environment = fitting_environment("matrix_rl")
    with pytest.raises(ValueError, match=r"^rewards must be given, as the algorithm needs the mean ones"):
        online("matrix_rl", environment).begin(0)
    with pytest.raises(ValueError, match=r"^rewards must be left out, got"):
        online("opt_wlsvi", environment).begin(0, rewards=known_rewards("matrix_rl", environment, 0))


def assert_saving_changes_nothing(
    make_agent: Callable[[], EpisodicAgent],
    episodes: Sequence[Episode],
    file: Path,
    options: Callable[[int], dict[str, Any]] = lambda t: {},
    **load: Any,
) -> EpisodicAgent:
    """Play with an agent that is saved and loaded now and then, and return one that is not."""
    continued, restored = make_agent(), make_agent()
    for t, one in enumerate(episodes):
        if t % 9 == 5:
            restored.save(file)
            restored = EpisodicAgent.load(file, **load)
        assert led_through(restored, one, **options(t)) == led_through(continued, one, **options(t))
    assert bits(restored.state) == bits(continued.state)
    assert restored.summary() == continued.summary()
    return continued


@pytest.mark.parametrize("name", PARAMETERS)
def test_saved_and_loaded_it_goes_on_as_if_it_had_never_stopped(name, tmp_path):
    environment = fitting_environment(name)

    def options(t: int) -> dict[str, Any]:
        return dict(length=1 + t % 3, rewards=known_rewards(name, environment, t))

    file = tmp_path / "agent.safetensors"
    learner = assert_saving_changes_nothing(
        lambda: online(name, environment), drawn_episodes(24), file, options
    )
    summary = learner.summary()
    assert summary.episodes == 24
    assert np.isfinite([summary.recent_error, summary.recent_bonus, summary.drift]).all()
    assert summary.recent_error > 0
    assert (summary.effective_samples is None) == (summary.condition is None)
    if summary.effective_samples is not None and summary.condition is not None:
        assert 0 <= summary.effective_samples <= 24
        assert 1 <= summary.condition < np.inf


def test_agents_print_what_they_are_and_how_far_they_got() -> None:
    learner = online("opt_wlsvi", make())
    assert repr(learner) == f"EpisodicAgent({learner.agent!r}, learnt from 0 episodes)"
    led_through(learner, drawn_episodes(1)[0])
    learner.begin(0)
    learner.act()
    learner.observe(0.5, 1)
    assert repr(learner).endswith(", learnt from 1 episode, in step 1 of another)")
    bandit = Bandit("lin_ucb", dim=2, noise_scale=0.1)
    bandit.decide(np.eye(2))
    assert repr(bandit) == "Bandit('lin_ucb', dim=2, 1 decisions, 1 of them pending)"
