"""Learners of the gain: equal to their papers' loops, in problems without episodes."""

import itertools
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import build
from driftwise.algorithms.average_reward.ucrl import OptimisticGain
from driftwise.base import Episode
from driftwise.base.random import key
from driftwise.base.types import Variation
from driftwise.checks import ContractError, check_agent, check_environment
from driftwise.environments.planning import diameter
from driftwise.experiments import experiment_of, prepare
from driftwise.parts import CountRadius, Cusum, Phases
from driftwise.simulation.simulator import Simulation
from driftwise.simulation.tasks import Task
from tests import examples
from tests.examples import CONTINUING, CONTINUING_PARAMETERS, DRIFTS, NUM_EPISODES, NUM_RUNS, STATIONARY, make
from tests.reference import average_reward as reference

SIZES = CONTINUING.num_states, CONTINUING.num_actions
OPTIONS: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, seed=5)
LEARNERS = [name for name in CONTINUING_PARAMETERS if name != "uniform"]


def phased(restarts: tuple[int, ...], scale: float, **widenings: tuple[float, ...]) -> tuple[Any, Any, Any]:
    """Variation-aware UCRL with a widening for each phase, its radii, and when it restarts."""
    told: dict[str, Any] = {f"{kind}_widening": Phases(restarts, each) for kind, each in widenings.items()}
    agent = dw.algorithms.variation_ucrl(CONTINUING, restarts=restarts, **told, scale=scale)
    firsts = 1, *(start + 1 for start in restarts)
    widened: dict[str, Any] = {k: dict(zip(firsts, each, strict=True)) for k, each in widenings.items()}
    return agent, reference.ortner_radii(*SIZES, 0.05, scale, **widened), dict(restarts=restarts)


LOOPS: dict[str, tuple[Any, reference.Radii, dict[str, Any]]] = {  # agents, their radii, and their rules
    "sw_ucrl": (
        examples.continuing_agent("sw_ucrl"),
        reference.ucrl2_radii(*SIZES, 0.05, 0.05),
        dict(window=12),
    ),
    "swucrl2_cw": (
        examples.continuing_agent("swucrl2_cw"),
        reference.cheung_radii(*SIZES, 0.05, 0.05, steps=NUM_EPISODES, widening=0.2),
        dict(window=12, period=12),
    ),
    "ucrl2": (examples.continuing_agent("ucrl2"), reference.ucrl2_radii(*SIZES, 0.05, 0.05), {}),
    "variation_ucrl": phased((9, 25), 0.02, reward=(0.0, 0.05, 0.2), transition=(0.3, 0.02, 0.1)),
    # value iteration is as rough as at the start: its tolerance is 1/√t with t from the restart
    "a late restart": phased((400,), 0.05, reward=(0.0, 0.0), transition=(0.0, 0.0)),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_learner_equals_the_loop_of_its_paper(name, seed):
    agent, radii, rules = LOOPS[name]
    num_steps = 430 if name == "a late restart" else NUM_EPISODES
    environment = examples.make_continuing(seed=seed, rewards="bernoulli")
    played = [(one.plan, one.episode) for one in dw.play(agent, environment, num_steps, seed=seed)]
    history = [
        (int(e.states[0]), int(e.actions[0]), float(e.rewards[0]), int(e.successors[0])) for _, e in played
    ]
    assert all(later[0] == earlier[3] for earlier, later in itertools.pairwise(history))
    decided = reference.decisions(history, *SIZES, radii, **rules)
    for (plan, episode), one in zip(played, decided, strict=True):
        np.testing.assert_allclose(plan.q[0], one.q, rtol=0, atol=1e-8)
        assert np.argmax(plan.policy[0], axis=-1).tolist() == one.policy
        assert episode.actions[0] == one.policy[episode.states[0]]
    assert 4 < len({one.first for one in decided}) < num_steps


@pytest.mark.slow
@pytest.mark.parametrize(("meta", "base"), examples.nestings(CONTINUING_PARAMETERS))
def test_learners_in_agents_keep_the_contract(meta, base):
    parameters = examples.wrapped(meta, base, CONTINUING_PARAMETERS[base])
    if meta == "change_detection":
        parameters["watch"] = "rewards"
    agent = build(CONTINUING, meta, **parameters)
    check_agent(agent, examples.make_continuing(), num_episodes=20)


def test_residuals_of_relative_values_are_not_watched():
    """They are no errors of prediction: an agent that learns well would be restarted all the time."""
    base = examples.continuing_agent("ucrl2")
    message = r"^watch must be 'rewards' around a base for problems without episodes, got 'residuals'$"
    with pytest.raises(ValueError, match=message):
        dw.algorithms.change_detection(base, detector=Cusum())
    watching = dw.algorithms.change_detection(base, detector=Cusum(), watch="rewards")
    with pytest.raises(ValueError, match=message):
        dw.algorithms.change_detection(watching, detector=Cusum())


@pytest.mark.parametrize("name", CONTINUING_PARAMETERS)
def test_learners_keep_the_contract(name):
    environment = examples.make_continuing(rewards="bernoulli")
    check_agent(examples.continuing_agent(name), environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_environments_keep_the_contract_under_every_drift(drift):
    check_environment(examples.make_continuing(drift))


def check_optimism(name: str, scale: float) -> None:
    known: dict[str, Any] = dict(scale=scale)
    environment = examples.make_continuing(STATIONARY, rewards="bernoulli")
    match name:
        case "sw_ucrl":
            known |= dict(num_episodes=300, changes=(), diameter=5.0)
        case "swucrl2_cw":
            known |= dict(num_episodes=300, variations=environment.variation(300))
        case "variation_ucrl":
            known |= dict(num_episodes=300, variation=0.0, variations=environment.variation(300))
    agent = dw.algorithms.ALGORITHMS[name].tuned(CONTINUING, **known)
    check_agent(agent, environment, optimistic=True, num_episodes=300, num_runs=NUM_RUNS)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_the_gain_is_not_underestimated_with_a_share_of_the_radius_of_theory(name):
    check_optimism(name, 0.05)


def test_without_a_radius_the_gain_is_underestimated():
    with pytest.raises(ContractError, match=r"^the value must be at least V\*"):
        check_optimism("ucrl2", 0.0)


def test_a_widening_may_change_from_phase_to_phase():
    counts, age = np.array([[0.0, 4.0]]), np.asarray(2)
    late = CountRadius(1.0, 2.0, 3.0, lateness=5.0).at(counts, age, np.asarray(9))
    np.testing.assert_allclose(
        late, 3 * np.sqrt((1 + 2 * np.log(3) + 5 * np.log(8)) / np.array([[1.0, 4.0]]))
    )
    radius = CountRadius(1.0, 2.0, 3.0, Phases((5, 7), (0.1, 0.2, 0.3)))
    root = 3 * np.sqrt((1 + 2 * np.log(3)) / np.array([[1.0, 4.0]]))
    for tick, widening in ((4, 0.1), (5, 0.2), (6, 0.2), (7, 0.3), (99, 0.3)):
        np.testing.assert_allclose(radius.at(counts, age, np.asarray(tick)), root + widening)
    assert CountRadius(1.0, widening=Phases((), (0.4,))).at(counts, age, np.asarray(9))[0, 0] == 1.4


def test_regret_is_the_gain_less_the_reward_whatever_is_recorded_and_wherever_it_is_cut():
    environment, agent = examples.make_continuing(), examples.continuing_agent("sw_ucrl")
    options = {**OPTIONS, "num_episodes": 600}
    every = dw.simulate(agent, environment, **options)
    assert every.regret.min() < 0 < every.regret.max()
    exact = np.cumsum(environment.gains(np.arange(600)) - every.values, axis=-1)
    np.testing.assert_allclose(every.cumulative_regret, exact, rtol=0, atol=1e-9)
    some = dw.simulate(agent, environment, **options, record_every=8)
    np.testing.assert_allclose(some.cumulative_regret, exact[:, 7::8], rtol=0, atol=1e-9)
    first, second = (Simulation(Task(agent, environment, **options)) for _ in "ab")
    first.advance()
    second.restore(first.checkpoint())
    while second.done < 600:
        second.advance()
    np.testing.assert_array_equal(second.result().regret, every.regret)


def test_regret_is_cut_at_zero_unless_it_is_signed():
    curves = np.array([[0.5, 1.5]]), np.ones((1, 2)), np.ones(2, dtype=int), None, {}
    np.testing.assert_array_equal(dw.Result(curves[0], *curves).regret, [[0.5, 0.0]])
    np.testing.assert_array_equal(dw.Result(curves[0], *curves, signed=True).regret, [[0.5, -0.5]])


def scripted(agent: OptimisticGain, environment: dw.environments.ContinuingMdp, num_steps: int):
    """The plan of an agent that has watched somebody stay in either state, leaving each once on either side.

    The drift swaps the actions halfway.
    """
    world = environment.to_arrays()
    state = agent.init(world.example)
    plan = agent.plan(state, world.example, key(0))
    here, counts = 0, np.zeros((2, 2, 2))
    quarter = num_steps // 4
    for t in range(num_steps):
        kernel = environment.model(t)[1]
        leave = t % quarter == quarter - 1
        action = int(np.flatnonzero(kernel[here].argmax(axis=-1) == (1 - here if leave else here))[0])
        to = int(kernel[here, action].argmax())
        counts[here, action, to] += 1
        one, taken, after = (np.asarray([number], dtype=np.int32) for number in (here, action, to))
        episode = Episode(one, taken, world.example.values[:1], np.asarray([float(here)]), after)
        state = agent.update(state, world.example, plan, episode)
        plan = agent.plan(state, world.example, key(0))
        here = to
    span = np.ptp(state.epoch.values)
    return counts / counts.sum(axis=-1, keepdims=True), float(span)


def test_a_window_over_two_mdps_of_diameter_one_seems_wide_and_widening_cures_it():
    """Cheung, Simchi-Levi & Zhu 2020, Proposition 3."""
    seen, spans = {}, {}
    for widening in (0.0, 0.4):
        for length in (16, 64, 256):
            environment = dw.environments.two_state_switch(drift=dw.drift.Abrupt((length // 2,)))
            assert [diameter(environment.model(t)[1]) for t in (0, length)] == [1, 1]
            agent = dw.algorithms.swucrl2_cw(
                environment.spec, length=length, widening=widening, num_episodes=length, scale=0.0
            )
            mixture, spans[widening, length] = scripted(agent, environment, length)
            seen[widening, length] = diameter(mixture, slack=widening)
    for length in (16, 64, 256):
        assert seen[0.0, length] == pytest.approx(length / 4)
        assert seen[0.4, length] <= 2 / 0.4
        assert spans[0.4, length] <= 2 / 0.4
    assert spans[0.0, 256] > 4 * spans[0.0, 16] > 4


def test_learning_finds_the_gain_where_nothing_changes():
    """Mean regret in the last quarter of 4000 steps: chance stays where it is, the learner comes down."""
    environment = examples.make_continuing(STATIONARY)
    options = {**OPTIONS, "num_episodes": 4000}
    learnt = dw.simulate(examples.continuing_agent("ucrl2"), environment, **options)
    chance = dw.simulate(examples.continuing_agent("uniform"), environment, **options)
    assert learnt.regret[:, 3000:].mean() < chance.regret[:, 3000:].mean() / 4


def test_epochs_become_rare():
    environment = examples.make_continuing(STATIONARY)
    result = dw.simulate(examples.continuing_agent("ucrl2"), environment, **{**OPTIONS, "num_episodes": 2000})
    epochs = result.diagnostics["epochs"]
    assert (epochs[:, 0] == 1).all()
    assert 0 < epochs[:, 1000:].sum() < epochs[:, :1000].sum() / 4


def test_tuned_windows_and_phases_are_those_of_the_papers():
    variations = Variation(np.full(9999, 0.001), np.full(9999, 0.002))
    tuned = dw.algorithms.swucrl2_cw.tuned(CONTINUING, num_episodes=10_000, variations=variations)
    window = 3 * 6 ** (2 / 3) * np.sqrt(2 * 10_000 / (1 + variations.total))
    assert tuned.forgetting == dw.forgetting.SlidingWindow(int(np.ceil(window)))
    assert tuned.period == np.ceil(window)
    assert tuned.transition_radius.widening == pytest.approx(
        np.sqrt((variations.transition_budget + 1) * window / 10_000)
    )
    known: dict[str, Any] = dict(num_episodes=10_000, diameter=3.0, delta=0.1)
    spread = 3 * 6 * np.sqrt(2 * np.log(10**5))
    for count in (10**3, 10**4):
        best = int(np.ceil((16.53 * 10**4 * spread / count) ** (2 / 3)))
        windowed = dw.algorithms.sw_ucrl.tuned(CONTINUING, **known, changes=(5,) * count)
        assert windowed.forgetting == dw.forgetting.SlidingWindow(best)
    longest = dw.algorithms.sw_ucrl.tuned(CONTINUING, **known, changes=())
    assert longest.forgetting == dw.forgetting.SlidingWindow(10_000)
    moving = Variation(np.linspace(0, 0.01, 99), np.full(99, 0.002))
    phased = dw.algorithms.variation_ucrl.tuned
    known = dict(num_episodes=100, variations=moving)
    assert phased(CONTINUING, **known, variation=0.0).forgetting == dw.forgetting.RestartAt(())
    made = phased(CONTINUING, **known, variation=0.5)
    assert made.forgetting == dw.forgetting.RestartAt((4, 20, 56))
    shares = [moving.reward[start:stop].sum() for start, stop in ((0, 3), (4, 19), (20, 55), (56, 99))]
    assert made.reward_radius.widening == Phases((4, 20, 56), tuple(shares))


def test_phases_of_the_paper_count_the_variation_of_transitions_as_often_as_the_diameter():
    river = dw.environments.continuing_river_swim(drift=dw.drift.Abrupt((10_000,)))
    moves, diameter = river.variation(20_000), river.diameter(20_000)
    run: dict[str, Any] = dict(num_episodes=20_000, variation=moves.total, variations=moves)
    phased = dw.algorithms.variation_ucrl.tuned
    printed = moves.reward_budget + diameter * moves.transition_budget
    for variation, phases, more in (
        (moves.total, 68, {}),
        (printed, 289, dict(tuning="paper", diameter=diameter)),
    ):
        ends = np.cumsum([int(np.ceil((i / variation) ** 2)) for i in range(1, phases + 1)])
        assert ends[-2] < 20_000 <= ends[-1]
        made = phased(river.spec, **run, **more)
        assert made.forgetting == dw.forgetting.RestartAt(tuple(ends[:-1].tolist()))
    with pytest.raises(ValueError, match=r"^diameter must be given for tuning='paper', got None$"):
        phased(river.spec, **run, tuning="paper")


def test_what_does_not_fit_is_refused():
    algorithms = dw.algorithms
    with pytest.raises(ValueError, match=r"^spec must have horizon 1, that of problems without episodes"):
        algorithms.ucrl2(make().spec)
    bandit = dw.environments.random_linear_mdp(num_states=6, num_actions=2, dim=12, horizon=1)
    with pytest.raises(ValueError, match=r"^environment must be without episodes, which the agent needs"):
        dw.simulate(examples.continuing_agent("ucrl2"), bandit, num_episodes=3)
    told = algorithms.matrix_rl(CONTINUING, radius=0.1)
    with pytest.raises(ValueError, match=r"^environment must have rewards and .*, which the agent needs"):
        dw.simulate(told, examples.make_continuing(), num_episodes=3)
    with pytest.raises(ValueError, match=r"^values must be one more than starts \(1\), got 1"):
        Phases((3,), (0.5,))
    with pytest.raises(ValueError, match=r"^starts must be rising, got \(5, 3\)$"):
        Phases((5, 3), (0.5, 0.1, 0.2))
    with pytest.raises(ValueError, match=r"^reward_widening must be a number of at least 0, got 'a'$"):
        algorithms.variation_ucrl(CONTINUING, reward_widening="a")  # pyright: ignore[reportArgumentType]
    message = r"^transition_widening must have phases that start at the restarts \(4,\), got \(3,\)$"
    with pytest.raises(ValueError, match=message):
        algorithms.variation_ucrl(CONTINUING, restarts=(4,), transition_widening=Phases((3,), (0.5, 0.1)))
    short = examples.make_continuing().variation(5)
    message = (
        r"^variations must have 9 moves, one less than num_episodes, got 4 of rewards and 4 of transitions$"
    )
    with pytest.raises(ValueError, match=message):
        algorithms.variation_ucrl.tuned(CONTINUING, num_episodes=10, variation=1.0, variations=short)


@pytest.mark.slow
@pytest.mark.parametrize(
    "agent",
    [dw.algorithms.ucbvi(CONTINUING, scale=0.01, steps="shared"), dw.algorithms.q_ucb(CONTINUING, scale=0.1)],
    ids=["ucbvi", "q_ucb"],
)
def test_agents_for_episodes_run_and_are_myopic(agent):
    """In the end they take the action that pays most now."""
    environment = examples.make_continuing(STATIONARY)
    check_agent(agent, environment, num_episodes=NUM_EPISODES, num_runs=NUM_RUNS)
    *_, last = dw.play(agent, environment, 400)
    paid = environment.model(0)[0]
    assert last.plan.policy[0, last.episode.states[0]].argmax() == paid[last.episode.states[0]].argmax()


def test_an_experiment_knows_the_changes_and_the_diameter():
    tables: dict[str, Any] = dict(
        environment=dict(type="continuing_river_swim", drift=dict(type="Abrupt", at=["50%"])),
        agents=dict(W=dict(algorithm="sw_ucrl", tuned=True)),
    )
    told = dict(name="n", summary="s", finding="f", episodes=400, runs=1)
    (group,) = prepare(experiment_of({**told, **tables})).groups
    known: dict[str, Any] = dict(num_episodes=400, changes=(200,))
    environment = group.task.environment
    assert isinstance(environment, dw.environments.ContinuingMdp)
    tuned = dw.algorithms.sw_ucrl.tuned(environment.spec, **known, diameter=environment.diameter(400))
    assert group.task.agent == tuned
    tables["environment"] = dict(type="river_swim", horizon=1)
    with pytest.raises(ValueError, match=r"^environment must be without episodes, which the agent needs"):
        prepare(experiment_of({**told, **tables}))
