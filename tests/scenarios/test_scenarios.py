"""Scenarios: every name is a world of its own, and any policy can play those of bandits."""

import itertools
import operator
import re

import jax
import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import build
from driftwise.analysis.adaptation import decision_lag
from driftwise.base import ArgumentError
from driftwise.environments import LinearBandit
from driftwise.parts import Glr
from driftwise.scenarios import (
    Context,
    Reward,
    Scenario,
    bandit_policy,
    find_scenario,
    mdp_policy,
    play_policy,
    suite,
)
from driftwise.scenarios.contestants import POLICY_SETS
from driftwise.scenarios.problems import BANDIT_PROBLEMS
from driftwise.scenarios.rounds import BanditRounds, lagged_values
from driftwise.scenarios.scenario import FEEDBACKS, all_scenarios
from tests.reference.bandits import rounds
from tests.scenarios.strangers import OF_MDPS, scenario, stranger, told

ROUNDS = 120
DELAY = FEEDBACKS["delayed"].delay


both_kinds = pytest.mark.parametrize("kind", [{}, OF_MDPS], ids=["bandits", "mdps"])


def world(here: Scenario) -> LinearBandit:
    environment = here.environment()
    assert isinstance(environment, LinearBandit)
    return environment


@pytest.mark.parametrize("size", ["small", "full"])
def test_all_scenarios_are_the_whole_product_and_each_is_found_by_its_name(size):
    scenarios = all_scenarios(size)
    assert len(scenarios) == (3 * (1 + 7 * 2) + 2 * (1 + 6 * 2)) * 4 * 3  # two MDPs have no move of one arm
    assert all(find_scenario(name, size) == each for name, each in scenarios.items())
    assert suite("full") == all_scenarios("full")


def test_the_small_suite_has_all_bandits_and_nearly_any_two_words_of_mdps():
    small = suite()
    assert {name for name, each in all_scenarios().items() if each.kind == "bandits"} < small.keys()
    chosen, whole = (
        [each for each in found.values() if each.kind == "mdps"] for found in (small, all_scenarios())
    )
    assert len(chosen) == 3 * (15 + 13 + 13)
    lacking: set[tuple[str, str]] = set()
    for names in itertools.combinations(("problem", "move", "strength", "feedback", "start"), 2):
        words = operator.attrgetter(*names)
        lacking |= {*map(words, whole)} - {*map(words, chosen)}
    still = {("none", "poisoned"), ("one_arm", "lost")}  # of moves in few scenarios
    assert lacking == {("at_once", "warm"), ("at_once", "restarted"), *still}
    assert all(name.replace("/restarted", "/cold") in small for name in small)


def test_every_scenario_has_draws_of_its_own_and_one_that_restarts_those_of_its_twin(monkeypatch):
    monkeypatch.undo()  # of the seed that the other tests have
    seeds = {name: each.seed for name, each in all_scenarios().items()}
    twins = [name for name in seeds if name.endswith("/restarted")]
    assert all(seeds[name] == seeds[name.replace("/restarted", "/cold")] for name in twins)
    assert len({*seeds.values()}) == len(seeds) - len(twins)


def test_every_world_of_the_small_suite_can_be_made_and_starts_alike():
    for each in all_scenarios().values():
        if each.feedback != "at_once" or each.start == "restarted":
            continue
        environment = each.environment()
        path = environment.at(np.arange(each.warm_up + each.rounds))
        moves = np.abs(np.diff(path, axis=0)).sum(axis=-1)
        assert not moves[: each.warm_up - 1].any() if each.warm_up else True
        assert bool(moves.any()) == (each.move != "none")
        if each.move in ("abrupt_rare", "abrupt_frequent", "one_arm"):
            assert each.changes == tuple(np.flatnonzero(moves > 0.1) + 1 - each.warm_up)


def test_a_weak_move_goes_half_the_way_of_a_strong_one():
    made = (scenario(strength=strength).environment() for strength in ("weak", "strong"))
    paths = [environment.at(np.arange(ROUNDS)) for environment in made]
    weak, strong = (path[ROUNDS // 2] - path[0] for path in paths)
    np.testing.assert_allclose(2 * weak, strong, rtol=0, atol=1e-12)
    assert np.abs(strong).max() > 0.3


@pytest.mark.parametrize("problem", BANDIT_PROBLEMS)
def test_one_arm_alone_moves_and_rotation_makes_every_arm_the_best(problem):
    features = np.eye(8)[:5]  # the arms' own
    one = scenario(problem=problem, move="one_arm").environment().at(np.arange(ROUNDS)) @ features.T
    assert (np.ptp(one, axis=0) > 0.1).tolist() == [False, False, True, False, False]
    turned = scenario(problem=problem, move="rotating").environment().at(np.arange(ROUNDS)) @ features.T
    assert {*np.argmax(turned, axis=1)} == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("problem", BANDIT_PROBLEMS)
def test_an_online_bandit_plays_a_scenario_as_the_simulator_plays_its_world(problem):
    here = scenario(problem=problem)
    environment = world(here)
    agent = build(environment.spec, "d_lin_ucb", rate=0.95, radius=0.3)
    episodes = [each.episode for each in dw.play(agent, environment, ROUNDS)]
    means = [each.means for each in rounds(environment, ROUNDS)]
    taken = [here[each.actions[0]] for here, each in zip(means, episodes, strict=True)]
    played = play_policy(bandit_policy("d_lin_ucb", rate=0.95, radius=0.3), here)
    np.testing.assert_allclose(played.values, taken, rtol=0, atol=1e-9)
    np.testing.assert_allclose(played.optimal, np.max(means, axis=1), rtol=0, atol=1e-9)
    assert played.optimal.min() > 0.2


def test_rewards_are_those_of_the_arms_that_were_taken():
    for (came, reward), here in zip(told(scenario()), rounds(world(scenario()), ROUNDS), strict=True):
        assert came == reward.number
        assert reward.arm == reward.number % 5
        np.testing.assert_array_equal(reward.arms, here.features)
        assert reward.value == pytest.approx(here.rewards[reward.arm], abs=1e-12)


@both_kinds
def test_observations_come_late_or_never_and_are_otherwise_the_same(kind):
    at_once = [observation for _, observation in told(scenario(**kind))]
    delayed, lost = (told(scenario(feedback, **kind)) for feedback in ("delayed", "lost"))
    assert [(t, late.number) for t, late in delayed] == [(t, t - DELAY) for t in range(DELAY, len(at_once))]
    assert len(at_once) / 4 <= len(lost) <= 3 / 4 * len(at_once)  # of half, by more than three deviations
    assert all(came == kept.number for came, kept in lost)
    for _, other in [*delayed, *lost]:
        for first, second in zip(*map(jax.tree.leaves, (other, at_once[other.number])), strict=True):
            np.testing.assert_array_equal(first, second)
    assert [came for came, _ in lost] != [came for came, _ in told(scenario("lost", **kind), run=1)]


@pytest.mark.parametrize("problem", BANDIT_PROBLEMS)
def test_poison_mirrors_some_rewards_of_the_best_arm_alone(problem):
    clean, poisoned = (told(scenario(each, problem=problem)) for each in ("at_once", "poisoned"))
    pairs = [(before, after) for (_, before), (_, after) in zip(clean, poisoned, strict=True)]
    changed = [(before, after) for before, after in pairs if before.value != after.value]
    means = [each.means for each in rounds(world(scenario(problem=problem)), ROUNDS)]
    best = {reward.number for _, reward in clean if reward.arm == np.argmax(means[reward.number])}
    assert 0 < len(changed) < len(best)
    for before, after in changed:
        assert after.value == pytest.approx(1 - before.value, abs=1e-12)
        assert after.number in best


@pytest.mark.parametrize(
    ("name", "feedback", "kind"),
    [("adaptive_lin_ucb", feedback, {}) for feedback in ("at_once", "delayed")]
    + [(name, "delayed", OF_MDPS) for name in ("adaptive_opt_wlsvi", "change_detection", "ucrl_vtr")],
)
def test_policies_of_ours_survive_a_restart_while_observations_are_on_their_way(name, feedback, kind):
    cold, restarted = (scenario(feedback, start, **kind) for start in ("cold", "restarted"))
    make = POLICY_SETS[cold.kind].policies[name]
    played = [play_policy(make, here).values.tobytes() for here in (cold, restarted)]
    assert played[0] == played[1]


def test_a_policy_that_keeps_nothing_begins_anew_after_a_restart():
    forgetful = play_policy(lambda spec, seed: Forgetful(), scenario(start="restarted"))
    first = [each.means[0] for each in rounds(world(scenario()), ROUNDS)]
    assert (np.abs(forgetful.values - first) < 1e-12).nonzero()[0].tolist() == [0, ROUNDS // 2]


def test_a_policy_that_cannot_be_pickled_cannot_be_restarted():
    policy = stranger()
    policy.note = lambda: None  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ArgumentError, match="policy must be one that can be pickled, for a restart"):
        play_policy(lambda spec, seed: policy, scenario(start="restarted"))


class Forgetful:
    """Arm 0 in its first round, then arm 1; it keeps nothing of itself."""

    def __init__(self) -> None:
        self.arm = 0

    def decide(self, context: Context) -> int:
        return self.arm

    def learn(self, reward: Reward) -> None:
        self.arm = 1

    def __reduce__(self):
        return Forgetful, ()


@both_kinds
def test_a_warm_start_has_rounds_that_do_not_count_before_the_same_moves(kind):
    cold, warm, policy = scenario(**kind), scenario(start="warm", **kind), stranger()
    assert warm.changes == cold.changes == (cold.rounds // 3, 2 * cold.rounds // 3)
    played = play_policy(lambda spec, seed: policy, warm)
    assert len(policy.seen) == cold.rounds + cold.rounds // 5
    assert len(played.values) == len(played.taken) == cold.rounds
    late = warm.environment().at(np.arange(warm.warm_up, warm.warm_up + cold.rounds))
    np.testing.assert_array_equal(late, cold.environment().at(np.arange(cold.rounds)))
    if warm.kind == "bandits":
        best = [each.means.max() for each in rounds(world(warm), len(policy.seen))]
        np.testing.assert_allclose(played.optimal, best[-ROUNDS:], rtol=0, atol=1e-12)


def test_runs_differ_and_each_is_the_same_bytes_twice():
    make = bandit_policy("d_lin_ts", rate=0.95, scale=0.3)
    first, again, other = (play_policy(make, scenario("lost"), run=run) for run in (0, 0, 1))
    assert first.values.tobytes() == again.values.tobytes()
    assert first.optimal.tobytes() != other.optimal.tobytes()


class Watching:
    """The best arm of some rounds ago; it raises an alarm with some rewards, and counts those it has had."""

    def __init__(self, best: list[int], alarms: tuple[int, ...]) -> None:
        self.best, self.alarms, self.count = best, alarms, 0

    def decide(self, context: Context) -> int:
        return self.best[context.number]

    def learn(self, reward: Reward) -> bool:
        self.count += 1
        return self.count - 1 in self.alarms


@pytest.mark.parametrize("behind", [0, 7])
def test_decisions_for_the_world_of_some_rounds_ago_are_so_far_behind(behind):
    here = scenario(move="rotating", start="warm")
    rounds = BanditRounds(here, 0)
    numbers = np.arange(rounds.num_rounds)
    best = rounds.means(numbers, np.maximum(numbers - behind, 0)).argmax(axis=-1).tolist()
    played = play_policy(lambda spec, seed: Watching(best, ()), here)
    lags = range(13)
    values, optimal, chance = lagged_values(played.rounds, played.taken, lags)
    assert values.shape == optimal.shape == chance.shape == (13, ROUNDS - 12)
    assert decision_lag(values, optimal, chance, lags) == behind
    np.testing.assert_allclose(values[behind], optimal[behind], rtol=0, atol=1e-12)
    np.testing.assert_allclose(optimal[0], played.optimal[12:], rtol=0, atol=1e-12)
    every = [rounds.values(np.full(len(numbers), arm), numbers, numbers)[0] for arm in range(5)]
    np.testing.assert_allclose(chance[0], np.mean(every, axis=0)[-ROUNDS + 12 :], rtol=0, atol=1e-12)


def test_lags_are_of_rounds_in_which_the_world_has_moved():
    here = scenario(move="gradual")  # in rounds 30 to 90
    values, *_ = lagged_values(BanditRounds(here, 0), np.zeros(ROUNDS, dtype=int), [0, 5])
    assert values.shape == (2, 90 + 5 - 30 - 1)


def test_alarms_ring_in_the_round_in_which_their_reward_comes_after_the_warm_up():
    warm = scenario("delayed", "warm", problem="logistic_bandit")
    alarms = (3, 30)  # counted in rewards: DELAY rounds later than their decisions
    played = play_policy(lambda spec, seed: Watching([0] * 200, alarms), warm)
    assert played.alarms is not None
    assert np.flatnonzero(played.alarms).tolist() == [each + DELAY - warm.warm_up for each in alarms]
    assert play_policy(lambda spec, seed: stranger(), warm).alarms is None


def test_an_agent_that_looks_out_for_changes_tells_its_alarms():
    here, base = scenario(move="one_arm"), {"algorithm": "lin_ucb", "radius": 0.5}
    detecting = bandit_policy("change_detection", base=base, detector=Glr(noise_scale=0.2))
    alarms = play_policy(detecting, here).alarms
    assert alarms is not None
    assert 40 <= np.flatnonzero(alarms)[0] < 60  # the arm becomes the worst in round 40
    assert play_policy(bandit_policy("lin_ucb", radius=0.5), here).alarms is None


@pytest.mark.parametrize(
    ("decided", "kind", "sentence"),
    [(arm, {}, f"decide on an arm from 0 to 4, got {arm!r}") for arm in (5, -1, 0.0, None, "first")]
    + [(np.zeros((5, 6)), OF_MDPS, "policy must have shape")]
    + [(np.full((5, 6, 3), 0.5), OF_MDPS, "policy must hold probabilities that sum to 1")],
)
def test_what_is_no_arm_or_no_chances_is_refused(decided, kind, sentence):
    policy = stranger()
    policy.decide = lambda context: decided
    with pytest.raises(ArgumentError, match=re.escape(sentence)):
        play_policy(lambda spec, seed: policy, scenario(**kind))


def test_a_policy_of_one_kind_is_refused_by_the_problems_of_the_other():
    with pytest.raises(ArgumentError, match="scenario must be one of a bandit, for the policy of one"):
        play_policy(bandit_policy("adaptive_lin_ucb"), scenario(**OF_MDPS))
    with pytest.raises(ArgumentError, match="scenario must be one of an MDP, for the policy of one"):
        play_policy(mdp_policy("opt_wlsvi", rate=0.9), scenario())
    with pytest.raises(ArgumentError, match="did you mean 'linear_bandit/none/lost/cold'"):
        find_scenario("linear_bandit/none/lost/cald")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (dict(problem="bandit"), "problem must be one of linear_bandit,"),
        (dict(problem="linear_bandit", move="gradal"), r"\(did you mean 'gradual'\?\)"),
        (dict(problem="linear_bandit", strength="weak"), "strength must be 'strong' where nothing moves"),
        (dict(problem="tabular_mdp", move="one_arm"), "move must leave something to earn"),
        (dict(problem="linear_bandit", rounds=19), "rounds must be an integer of at least 20, got 19"),
    ],
)
def test_what_is_no_scenario_is_refused(given, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        Scenario(**given)
