"""MASTER against its algorithm in plain loops, its schedule, and when it restarts."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import driftwise as dw
from driftwise.algorithms import lin_ucb, lsvi_ucb
from driftwise.algorithms.unknown_variation.master import Master
from driftwise.base import Agent, Episode, FeatureTable, Plan, Spec, random
from driftwise.environments import linear_bandit
from tests.examples import SPEC, refused
from tests.reference import master as textbook

SIZES = Spec(num_states=2, num_actions=1, dim=1, horizon=2)
LOW, HIGH = -1.0, 2.0


class Tally(NamedTuple):
    """What an instance has learnt."""

    rounds: np.ndarray
    total: np.ndarray


class Tallying(Agent):
    """A base whose optimistic value of state 1 is what the features say; it counts episodes and rewards."""

    spec = SIZES

    def init(self, features: FeatureTable) -> Tally:
        return Tally(np.zeros((), dtype=np.int64), np.zeros(()))

    def plan(self, state: Tally, features: FeatureTable, key: Any) -> Plan:
        values = np.zeros((2, 2))
        values[0, 1] = features.values[0, 0]
        return Plan(*[np.zeros(0)] * 4, values=values, drawn="of the base")

    def act(self, plan: Plan, h: Any, state: Any, uniform: Any) -> Any:
        return np.asarray(0)

    def update(self, state: Tally, features: FeatureTable, plan: Plan, episode: Episode) -> Tally:
        assert plan.drawn == "of the base"
        return Tally(state.rounds + 1, state.total + episode.rewards.sum())


class Step(NamedTuple):
    """A round of the part, and of the reference."""

    order: int  # of the part's block
    age: int  # of it, before the round
    slot: int  # the order of the part's acting instance
    begins: np.ndarray  # [M] which of its instances begin with the round
    state: Any  # of the part, after the round
    block: tuple[int, int]  # order and age of the reference's
    acting: textbook.Instance
    covering: list[textbook.Instance]


def steps(agent: Master, plain: textbook.Master, num_rounds: int, seed: int) -> Iterator[Step]:
    """Both through the same random rewards and values, with the same chances."""
    generator = np.random.default_rng(seed)
    key = random.key(seed)
    state = agent.init(FeatureTable(np.zeros((1, 1))))
    for t in range(num_rounds):
        rewards, value = generator.uniform(LOW, HIGH, size=2), generator.uniform(2 * LOW, 2 * HIGH + 0.5)
        table = FeatureTable(np.full((1, 1), value))
        plan = agent.plan(state, table, random.fold(key, t))
        acting = plain.acting(plan.drawn.chances)
        covering, block = plain.covering(), (plain.order, plain.age)
        plain.learn(acting, scaled(rewards.mean()), float(np.clip(scaled(value / 2), 0, 1)))
        order, age = int(state.order), int(state.age)
        scheduled = agent.advance_schedule(state, plan.drawn.chances)
        slot, begins = int(np.argmax(scheduled.end > age)), scheduled.end != state.schedule.end
        nothing = np.zeros(2, dtype=int)
        episode = Episode(np.array([1, 0]), nothing, np.zeros((2, 1)), rewards, nothing)
        state = agent.update(state, table, plan, episode)
        yield Step(order, age, slot, begins, state, block, acting, covering)


def scaled(reward: float) -> float:
    return (reward - LOW) / (HIGH - LOW)


def both(width: float, num_orders: int, first_order: int = 0) -> tuple[Master, textbook.Master]:
    options: dict[str, Any] = dict(num_orders=num_orders, first_order=first_order)
    agent = Master(Tallying(), width=2 * width, test_scale=0.5, low=LOW, high=HIGH, **options)
    return agent, textbook.Master(width=width, **options)


def failed_tests(num_rounds: int, seed: int, **options: Any) -> list[int | None]:
    """Of the reference, which the part equals: in blocks, in who acts, in what was learnt, in restarts."""
    agent, plain = both(**options)
    for step in steps(agent, plain, num_rounds, seed):
        assert (step.order, step.age) == step.block
        assert step.slot == step.acting.order
        for each in step.covering:
            if each.learnt:
                total = sum(2 * (LOW + reward * (HIGH - LOW)) for reward in each.learnt)
                assert step.state.bases.rounds[each.order] == len(each.learnt)
                np.testing.assert_allclose(step.state.bases.total[each.order], total, atol=1e-9)
        assert step.state.restarted == bool(plain.restarts[-1])
    return plain.restarts


@given(
    width=st.floats(0.01, 0.3),
    num_orders=st.integers(1, 6),
    first_order=st.integers(0, 7),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=20, deadline=None)
def test_it_equals_the_algorithm_in_plain_loops(width, num_orders, first_order, seed):
    failed_tests(60, seed, width=width, num_orders=num_orders, first_order=first_order)


def test_it_equals_the_algorithm_when_either_test_fails():
    sizes: dict[str, Any] = dict(width=0.07, num_orders=5, first_order=1)
    tests = Counter(test for seed in range(6) for test in failed_tests(120, seed, **sizes))
    assert tests[1] > 10
    assert tests[2] > 10
    assert tests[None] > 200


def test_blocks_double_up_to_the_largest_order():
    orders = [step.order for step in steps(*both(1e9, num_orders=4, first_order=1), 30, seed=0)]
    assert orders == [1] * 2 + [2] * 4 + [3] * 24
    assert [step.order for step in steps(*both(1e9, 3, first_order=9), 8, seed=0)] == [2] * 8


def test_instances_are_as_many_as_expected():
    """In a block of 2ⁿ rounds order m has 2ⁿ⁻ᵐ chances of 2^{-(n−m)/2}: within five standard errors."""
    order, blocks = 5, 40
    begun = np.zeros(order + 1, dtype=int)
    for step in steps(*both(1e9, num_orders=order + 1, first_order=order), blocks * 2**order, seed=2):
        begun += step.begins
    for m in range(order + 1):
        chance, tries = 2 ** (-(order - m) / 2), blocks * 2 ** (order - m)
        assert abs(begun[m] - chance * tries) <= 5 * np.sqrt(tries * chance * (1 - chance))
    assert begun[order] == blocks


def restarts(test_scale: float, changes: tuple[int, ...]) -> np.ndarray:
    """In runs of 400 rounds, where all arms become as bad as the worst at the changes: `[runs, rounds]`."""
    arms, path = (
        dw.arms.FixedArms(np.eye(3).tolist()),
        dw.paths.abrupt_path([[0.9, 0.7, 0.7], [0.1, 0.1, 0.1]], changes),
    )
    environment = linear_bandit(arms=arms, path=path, noise_scale=0.1)
    base = lin_ucb(environment.spec, radius=0.3, ridge=0.1)
    agent = Master(base, num_orders=9, width=1.0, test_scale=test_scale)
    result = dw.simulate(agent, environment, num_episodes=400, num_runs=10)
    return result.diagnostics["restarts"]


NEVER = (10**6,)


def test_it_restarts_soon_after_a_large_change_and_seldom_without_one():
    changed, still = restarts(0.7, (300,)), restarts(0.7, NEVER)
    assert changed[:, 300:360].any(axis=1).all()
    assert still.sum(axis=1).mean() < 0.5
    np.testing.assert_array_equal(changed[:, :300], still[:, :300])


def test_it_never_restarts_with_wide_tests_and_often_with_narrow_ones():
    assert restarts(1e6, (300,)).sum() == 0
    assert restarts(0.0, NEVER).sum(axis=1).min() > 100


def test_mistakes_are_told_in_one_sentence():
    base: Any = lsvi_ucb(SPEC, radius=0.4)
    with refused("num_orders must be a positive integer, got 0"):
        Master(base, num_orders=0, width=1.0)
    with refused("width must be a number above 0, got 0"):
        Master(base, num_orders=3, width=0)
    with refused("high must be above low, got low 1.0 and high 1.0"):
        Master(base, num_orders=3, width=1.0, low=1.0)
