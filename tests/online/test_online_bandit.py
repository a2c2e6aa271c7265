"""Online bandits: the simulated run event by event, and mistakes that change nothing."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import ALGORITHMS, build
from driftwise.base.knowledge import name_needs
from driftwise.environments import LinearBandit
from driftwise.online import Bandit, Decision
from driftwise.online.deciders.clock_decider import uses_clock
from driftwise.parts import Glr
from driftwise.parts.forgetting import WindowMemory
from tests.examples import (
    BANDIT,
    BANDIT_PARAMETERS,
    NUM_EPISODES,
    NUM_RUNS,
    bandit_agent,
    make_bandit,
    nestings,
    wrapped,
)
from tests.online.streams import BANDITS, KNOWN, bits, numbered
from tests.reference import bandits


def needs(name: str) -> tuple[Any, ...]:
    """What an algorithm needs besides arms and rewards."""
    return build(BANDIT, name, **KNOWN[name]).needs


ENVIRONMENTS = {"noise": make_bandit(noise_scale=0.3), "coins": make_bandit(rewards="bernoulli")}
EVERY = {name: KNOWN[name] for name in BANDITS}
SEED = 5
ANY = (-9.0, 9.0)  # rewards also for those who know of clicks alone


def online(name: str) -> Bandit:
    return Bandit(name, dim=BANDIT.dim, seed=SEED, reward_range=ANY, **EVERY[name])


def offered(environment: LinearBandit) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The features of the arms that are there, without empty rows, and what each of them would pay."""
    for here in bandits.rounds(environment, NUM_EPISODES, seed=SEED):
        yield here.features[here.present], here.rewards[here.present]


def fed(bandit: Bandit, environment: LinearBandit) -> Iterator[tuple[Decision, float]]:
    """Decisions and rewards of a run that it is led through."""
    for second, (features, paid) in enumerate(offered(environment)):
        decision = bandit.decide(features, time=second)
        bandit.learn(decision.id, paid[decision.arm])
        yield decision, paid[decision.arm]


def differences(left: Any, right: Any) -> list[float]:
    """The largest difference in every leaf of two states, but for samples of windows.

    A run keeps the numbers of its arms, which are the same in all rounds, in place of their features. What
    leaves a window is in its sums.
    """
    if isinstance(left, tuple):
        assert type(left) is type(right)
        if isinstance(left, WindowMemory):
            left, right = left[1:], right[1:]
        return [each for pair in zip(left, right, strict=True) for each in differences(*pair)]
    if left is None:
        assert right is None
        return []
    assert left.shape == right.shape
    return [float(np.max(np.abs(np.asarray(left, dtype=float) - right), initial=0))]


def test_every_algorithm_is_here_and_rounds_differ_in_size():
    assert set(KNOWN) == {name for name, each in ALGORITHMS.items() if each.problem != "average reward"}
    refused = {name for name in KNOWN if needs(name) or ALGORITHMS[name].problem == "tabular MDP"}
    assert set(KNOWN) - set(EVERY) == refused
    for environment in ENVIRONMENTS.values():
        assert {len(features) for features, _ in offered(environment)} == {1, 3, 4}


WRAPPED = nestings(
    name for name in BANDIT_PARAMETERS if not ALGORITHMS[name].wraps and not uses_clock(bandit_agent(name))
)
LED = [(name, EVERY[name], environment) for name in EVERY for environment in ENVIRONMENTS]
LED += [(meta, wrapped(meta, base, BANDIT_PARAMETERS[base]), "noise") for meta, base in WRAPPED]


@pytest.mark.parametrize(("name", "parameters", "environment"), LED)
def test_fed_with_the_rounds_of_a_run_it_decides_and_learns_as_that_run_did(name, parameters, environment):
    bandit = Bandit(name, dim=BANDIT.dim, seed=SEED, reward_range=ANY, **parameters)
    agent, arms = build(BANDIT, name, **parameters), set()
    played = list(dw.play(agent, ENVIRONMENTS[environment], NUM_EPISODES, seed=SEED))
    for one, (decision, reward) in zip(played, fed(bandit, ENVIRONMENTS[environment]), strict=True):
        assert decision.arm == one.episode.actions[0]
        assert abs(decision.index - one.plan.q[0, 0, decision.arm]) <= 1e-9
        assert abs(decision.bonus - one.plan.bonus[0, 0, decision.arm]) <= 1e-9
        assert abs(reward - one.record.reward) <= 1e-9
        arms.add(decision.arm)
    assert len(arms) > 1
    assert max(differences(bandit.state, played[-1].carry.state)) <= 1e-9


@pytest.mark.parametrize("name", ["d_lin_ts", "master_lin_ucb"])  # the simulator equals the plain loop in all
def test_it_earns_and_learns_what_the_first_simulated_run_does(name):
    environment, bandit = ENVIRONMENTS["noise"], online(name)
    rewards = [reward for _, reward in fed(bandit, environment)]
    options: dict[str, Any] = dict(num_episodes=NUM_EPISODES, num_runs=NUM_RUNS, seed=SEED)
    simulated = dw.simulate(bandit_agent(name), environment, keep_state=True, **options)
    np.testing.assert_allclose(rewards, simulated.returns[0], rtol=0, atol=1e-9)
    assert max(differences(bandit.state, first_run(simulated.state))) <= 1e-9


def first_run(state: Any) -> Any:
    """Leaves of simulated states without their axis of runs."""
    if isinstance(state, tuple):
        kept = [first_run(each) for each in state]
        return type(state)(*kept) if hasattr(state, "_fields") else tuple(kept)
    return None if state is None else state[0]


GOOD = np.array([[0.6, 0.0, 0.8], [0.1, 0.5, 0.2]])
WAITING = 6  # the id of a decision that has no reward yet
MISTAKES: dict[str, tuple[str, tuple[Any, ...], str]] = {  # a call, and its error but for the end
    **{
        f"features {name}": ("decide", (features,), f"features must [^\n]*{message}[^\n]*$")
        for name, features, message in (
            ("none at all", np.zeros((0, 3)), r"at least one arm, got the shape \(0, 3\)"),
            ("empty", [], r"shape \(any, 3\), got \(0,\)"),
            ("none", None, "array of numbers, got None"),
            ("nan", [[0.1, float("nan"), 0.2]], r"finite, got nan at index \(0, 1\)"),
            ("inf", [[0.1, 0.2, 0.3], [float("-inf"), 0, 0]], r"finite, got -inf at index \(1, 0\)"),
            ("too large", [[0.1, -1e7, 0.2]], r"between ±1e\+06, got one of size 1e\+07"),
            ("of another dimension", np.zeros((2, 4)), r"shape \(any, 3\), got \(2, 4\)"),
            ("of one arm, not in a list", [0.1, 0.2, 0.3], r"shape \(any, 3\), got \(3,\)"),
            ("too deep", np.zeros((1, 2, 3)), r"shape \(any, 3\), got \(1, 2, 3\)"),
            ("ragged", [[0.1, 0.2, 0.3], [0.1]], "array of numbers, got"),
            ("text", [["0.1", "0.2", "0.3"]], "array of numbers, got"),
            ("complex", [[0.1j, 0.2, 0.3]], "array of numbers, got"),
        )
    },
    **{
        f"reward {reward}": ("learn", (WAITING, reward), r"reward must be a [^\n]*number[^\n]*, got [^\n]+$")
        for reward in (float("nan"), float("inf"), float("-inf"), -1e200, "0.7", None, [0.7], 0.7j)
    },
    **{
        f"id {name}": ("learn", (id, 0.5), f"id must be [^\n]*{message}$")
        for name, id, message in (
            ("rewarded", 2, "got '2': it was rewarded already"),
            ("never made", 7, "got '7': it was never made here, was lost in a crash, or was forgotten"),
            ("float", 1.0, "characters, got 1.0"),
            ("empty", "", "characters, got ''"),
            ("long", "x" * 201, "characters, got 'x+…"),
            ("large", 2**64, "characters, got 18446744073709551616"),
            ("boolean", True, "characters, got True"),
            ("none", None, "characters, got None"),
        )
    },
}


def started(name: str) -> Bandit:
    """Some decisions made, of which the last waits for its reward."""
    bandit = online(name)
    for reward in (0.4, 0.1, 0.9, 0.2, 0.7, 0.3):
        bandit.learn(numbered(bandit, GOOD).id, reward)
    numbered(bandit, GOOD[::-1])
    return bandit


@pytest.mark.parametrize("name", EVERY)
def test_mistakes_are_named_in_one_sentence_and_change_nothing(name):
    bandit, twin = started(name), started(name)
    before = bandit.state
    for call, arguments, message in MISTAKES.values():
        with pytest.raises(ValueError, match=f"^{message}"):
            getattr(bandit, call)(*arguments)
    assert bits(bandit.state) == bits(before) == bits(twin.state)
    assert after(bandit) == after(twin)
    assert bits(bandit.state) == bits(twin.state) != bits(before)


def after(bandit: Bandit) -> list[Decision]:
    """What a bandit that has started does next."""
    bandit.learn(WAITING, 0.3)
    decisions = []
    for reward in (0.2, 0.8, 0.5):
        decisions.append(numbered(bandit, GOOD))
        bandit.learn(decisions[-1].id, reward)
    return decisions


BY_CHANCE = {  # what they do with a reward was drawn when they decided
    *("ada_lsvi_ucb_restart", "bob", "borl", "master", "master_lin_ucb", "master_lsvi_ucb"),
    *("opt_wlsvi_borl", "random_restart", "covering_restart", "detect_and_restart"),
}


@pytest.mark.parametrize("name", [name for name in EVERY if name not in BY_CHANCE])
def test_rewards_are_learnt_in_the_order_in_which_they_come(name):
    rewards, order = (0.9, 0.1, 0.6, 0.3, 0.8), (3, 0, 4, 2, 1)
    late, direct = online(name), online(name)
    decisions = [late.decide(GOOD[[t % 2]], time=t) for t in range(5)]  # one arm: what is pulled is known
    assert bits(late.state) == bits(online(name).state)
    for t in order:
        late.learn(decisions[t].id, rewards[t])
        direct.learn(direct.decide(GOOD[[t % 2]], time=t).id, rewards[t])
    assert bits(late.state) == bits(direct.state)
    assert numbered(late, GOOD) == numbered(direct, GOOD)
    with pytest.raises(ValueError, match="rewarded already"):
        late.learn(decisions[0].id, 0.5)


PATIENT: dict[str, dict[str, Any]] = {  # they begin nothing anew in the first two rounds
    "borl": dict(num_episodes=40, block_length=20),
    "change_detection": dict(detector=Glr()),
    "master": dict(num_episodes=2000, regret_scale=1.0, first_order=10),
    "random_restart": dict(probability=0.0),
}


@pytest.mark.parametrize("name", PATIENT)
def test_two_rewards_that_come_late_both_reach_the_wrapped_agent(name):
    base = dict(algorithm="lin_ucb", radius=(0.1, 0.2, 0.3) if name == "borl" else 0.2)
    bandit = Bandit(name, dim=3, seed=SEED, base=base, **PATIENT[name])
    decisions = [bandit.decide(GOOD[[t]]) for t in range(2)]
    for t in (1, 0):
        bandit.learn(decisions[t].id, 0.5)
    state = bandit.state
    grams = state.bases.gram if name == "master" else state.base.gram
    learnt = np.sum((grams - np.eye(3)).reshape(-1, 3, 3), axis=0)
    np.testing.assert_allclose(learnt, GOOD.T @ GOOD, rtol=0, atol=1e-12)


def test_a_block_is_played_by_the_arm_that_began_it_whatever_waits():
    """Decisions of one moment draw arms of their own; the first to be rewarded has the block."""
    base = dict(algorithm="lin_ucb", radius=(0.1, 0.2, 0.3))
    bandit = Bandit("borl", dim=3, seed=SEED, base=base, **PATIENT["borl"])
    decisions = [bandit.decide(GOOD[[0]]) for _ in range(12)]
    arms = []
    for decision in decisions:
        bandit.learn(decision.id, 0.5)
        arms.append(int(bandit.state.arm))
    assert len(set(arms)) == 1
    assert len({decision.bonus for decision in decisions}) > 1


def test_the_caller_may_reuse_arrays_and_gets_copies_of_the_state():
    bandit, twin = started("d_lin_ucb"), started("d_lin_ucb")
    features = GOOD.copy()
    decision = numbered(bandit, features)
    features[:] = 7.0
    bandit.state.gram[:] = 7.0
    numbered(twin, GOOD)
    for each in (bandit, twin):
        each.learn(decision.id, 0.5)
    assert bits(bandit.state) == bits(twin.state)


CLOCK: dict[str, Any] = dict(algorithm="clock_lin_ucb", half_life="1h", radius=0.4)
BAD_SETTINGS: list[tuple[dict[str, Any], str]] = [
    (dict(algorithm="d_lin_ucp"), "algorithm must be one of .*did you mean 'd_lin_ucb'"),
    (dict(dim=0), "dim must be a positive integer, got 0"),
    (dict(seed=-1), "seed must be an integer of at least 0, got -1"),
    (dict(rate=(0.9, 0.99)), "rate must be a single number, got a grid"),
    (dict(radius=[0.1, 0.2]), "radius must be a single number, got a grid"),
    (dict(ridge=0), "ridge must be a number above 0, got 0"),
    (dict(max_pending=0), "max_pending must be a positive integer, got 0"),
    (dict(expire_after=0), "expire_after must be a positive integer, got 0"),
    (dict(expire_after=1.5), "expire_after must be a positive integer, got 1.5"),
    *((dict(expire_after_seconds=age), "expire_after_seconds must be a dur.*: ") for age in (0, -1, "soon")),
    *((dict(reward_range=edges), "reward_range must be") for edges in (3, (1, 0), (0, np.nan))),
    (dict(outside="drop"), "outside must be"),
    (dict(epsilon=1.5), "epsilon must be"),
    (dict(num_draws=0), "num_draws must be"),
    (CLOCK | dict(half_life="6 parsecs"), "half_life must be a duration.*, got"),
    (CLOCK | dict(prior="flat"), "prior must be one of zero, hold, decay, got"),
    (CLOCK | dict(reference="then"), "reference must be one of now, last, got"),
    (dict(algorithm="random_restart", base=CLOCK, probability=0.1), "algorithm must forget by the clock its"),
    (dict(algorithm="adaptive_lin_ucb", shortest="1h"), "longest must be a duration"),
    (dict(algorithm="adaptive_lin_ucb", shortest="2h", longest="1h"), "longest must be at .* '2h', got '1h'"),
    (dict(algorithm="adaptive_lin_ucb", shortest=8, longest="soon"), "longest must be a duration"),
    (dict(algorithm="lin_ucb", radus=0.1), r"radus is no key of lin_ucb \(did you mean 'radius'\?\), exp"),
    (dict(algorithm="d_lin_ucb", radius=0.1), r"rate is missing: d_lin_ucb needs it$"),
    (dict(algorithm="random_restart", probability=0.1), r"base is missing: random_restart needs it$"),
    (
        dict(algorithm="random_restart", probability=0.1, base=dict(algorithm="lin_ucb", radus=0.1)),
        r"base.radus is no key of lin_ucb",
    ),
]


@pytest.mark.parametrize(("changed", "message"), BAD_SETTINGS)
def test_bad_settings_are_named_in_one_sentence(changed, message):
    usual = {} if "algorithm" in changed else dict(algorithm="d_lin_ucb", rate=0.9, noise_scale=0.3)
    with pytest.raises(ValueError, match=f"^{message}"):
        Bandit(**({"dim": 3} | usual | changed))


@pytest.mark.parametrize("name", [name for name in KNOWN if needs(name)])
def test_an_algorithm_that_needs_more_is_refused(name):
    needed = name_needs(needs(name))
    sentence = f"^algorithm must learn from its own rewards alone, got '{name}', which needs {needed}$"
    with pytest.raises(ValueError, match=sentence):
        Bandit(name, dim=BANDIT.dim, **KNOWN[name])


def test_an_index_that_is_not_finite_is_an_error_and_no_decision():
    without_ridge = Bandit("lin_ucb", dim=3, radius=1.0, ridge=1e-300)
    without_ridge.learn(without_ridge.decide(np.ones((1, 3))).id, 0.5)  # now the gram has no inverse
    too_curious = Bandit("lin_ucb", dim=3, radius=1e308)
    too_curious.learn(too_curious.decide(0 * GOOD).id, 0.5)
    for bandit in (without_ridge, too_curious):
        with pytest.raises(FloatingPointError, match="agent: its index is not finite; the ridge may be too"):
            bandit.decide(100 * GOOD)
        assert bandit.pending() == []


def test_sparse_rows_are_dense_ones():
    sparse = pytest.importorskip("scipy.sparse")
    bandits = [Bandit(dim=4, seed=1) for _ in range(2)]
    rows = np.kron(np.eye(2), np.array([[1.0, -0.5]]))
    for given, bandit in zip((rows, sparse.csr_array(rows)), bandits, strict=True):
        decision = bandit.decide(given, id="first")
        bandit.learn("first", 0.7)
        bandit.learn_from(given, [0.1, 0.2])
        assert decision.arm in (0, 1)
    dense, other = (bandit.scores(rows).tolist() for bandit in bandits)
    assert dense == other == bandits[1].scores(sparse.csc_matrix(rows)).tolist()
