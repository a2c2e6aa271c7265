"""Every fast form of a decider equals the definition, which leads the agent by its plans."""

import dataclasses
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from driftwise.algorithms import adaptive, adaptive_glb_omd, build, d_glb_omd
from driftwise.algorithms.bandits.bandit_agent import bandit_agent
from driftwise.algorithms.unknown_variation.adaptive import mixture
from driftwise.base import Agent, FeatureTable, Forgetting, Moments, Sample, Spec, WeightFunction, random
from driftwise.base.arrays import map_tree
from driftwise.base.part import index_part, part
from driftwise.online import Bandit
from driftwise.online.deciders import (
    Decider,
    LeastSquaresDecider,
    MirrorDescentDecider,
    MixtureDecider,
    PlannedDecider,
    RoundDraws,
    compiled_mixture,
    make_decider,
)
from driftwise.online.deciders.anchors import MIN_ANCHORED_DIM, anchor_life
from driftwise.online.deciders.definition import Choice
from driftwise.online.deciders.maps_decider import MapsDecider
from driftwise.online.episodes.agent_building import with_blocks, with_memory
from driftwise.online.limits import run_silently
from driftwise.parts import (
    Caution,
    ConfidenceRadius,
    Exploration,
    ExponentialWeights,
    LearntNoise,
    PeriodicRestart,
    SlidingWindow,
    Thompson,
    Ucb,
)
from driftwise.parts.least_squares import prior_excess
from driftwise.parts.radii import GrowingRadius
from tests.examples import BANDIT, WRAPPING
from tests.online.streams import BANDITS, KNOWN, make, rounds

SPEC = Spec.bandit(dim=3, num_arms=1)
RATES = (0.8, 0.97, 1.0)
NORMS: list[Any] = [("sandwich", "count"), ("single", "count"), ("single", "determinant")]
MIRRORS: list[dict[str, Any]] = [
    dict(rate=0.9, norm_bound=2.0, ridge=0.5),
    dict(rate=1.0, link="log", ridge=0.5, radius=0.3),
    dict(rate=0.9, link="identity", noise_scale=0.2),
]


@part
class Halving(WeightFunction):
    """A forgetting that the library does not have, which drops half of the past in every round."""

    def weights(self, tick: int) -> np.ndarray:
        return 0.5 ** np.arange(tick - 1, -1, -1.0)

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments

    def update(self, moments: Moments, sample: Sample) -> Moments:
        return ExponentialWeights(0.5).update(moments, sample)


class Case(NamedTuple):
    """An agent, its fast decider, and a stream for both."""

    agent: Any
    kind: type
    num_draws: int = 1
    jump: float = 0.0  # of the rewards, after half of the rounds
    num: int = 80
    atol: float = 1e-9  # of indices; that of states is relative
    exact: bool = False  # whether features explain rewards, but for little noise


def least_squares(forgetting: Forgetting, exploration: Exploration, caution: Caution | None = None) -> Any:
    return bandit_agent(SPEC, forgetting, exploration, 0.3, caution=caution)


def mixture_of(exploration: Exploration, origin: Any = "zero", prior: Any = "given", **options: Any) -> Any:
    base = least_squares(ExponentialWeights(RATES), exploration)
    spec = Spec.bandit(dim=SPEC.dim + (origin == "learnt"), num_arms=1)
    return mixture(dataclasses.replace(base, spec=spec, noise=LearntNoise(), prior=prior), origin, **options)


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for name in BANDITS:
        agent = make(name).agent
        kind = type(make_decider(agent, 3))
        if kind in (LeastSquaresDecider, MixtureDecider, MirrorDescentDecider):
            found[name] = Case(agent, kind)
    for forgetting in (SlidingWindow(9), PeriodicRestart(25)):
        agent = least_squares(forgetting, Ucb(0.5, "single"), Caution(0.4))
        found[f"caution under {forgetting}"] = Case(agent, LeastSquaresDecider)
    for origin in ("zero", "learnt"):
        for norm, information in NORMS:
            radius = ConfidenceRadius(noise_scale=1.0, norm_bound=0.0, information=information)
            agent = mixture_of(Ucb(radius, norm), origin)
            found[f"mixture {origin} {norm} {information}"] = Case(agent, MixtureDecider, jump=3.0)
    for exploration in (Ucb(0.5), Thompson(0.5), Thompson(ConfidenceRadius(noise_scale=1.0))):
        for decision in ("heaviest", "draw"):
            for num_draws in (1, 3):
                agent = mixture_of(exploration, "learnt", decision=decision)
                name = f"mixture {exploration} {decision} {num_draws}"
                found[name] = Case(agent, MixtureDecider, num_draws, num=40)
    for exploration in (Ucb(GrowingRadius(0.8, 0.3)), Thompson(0.5)):
        for origin in ("zero", "learnt"):
            agent = mixture_of(exploration, origin, "learnt")
            name = f"exact {origin} {exploration}"
            found[name] = Case(agent, MixtureDecider, num=40, jump=3.0, atol=1e-7, exact=True)
            found[f"outliers {origin} {exploration}"] = Case(agent, MixtureDecider, jump=300.0, atol=1e-7)
    for name in ("adaptive_lin_ucb", "adaptive_lin_ts"):
        for expand, origin in itertools.product(("auto", "products", "fourier"), ("zero", "learnt")):
            agent = build(SPEC, name, expand=expand, origin=origin, shortest=4, longest=16)
            found[f"maps {name} {expand} {origin}"] = Case(agent, MapsDecider, jump=3.0, atol=1e-6)
    for given in MIRRORS:
        found[f"mirror {given}"] = Case(d_glb_omd(SPEC, **given), MirrorDescentDecider)
    agent = adaptive_glb_omd(SPEC, shortest=4, longest=16, link="identity", norm_bound=9.0, share=0.05)
    found["mirror mixture"] = Case(agent, MirrorDescentDecider, jump=5.0)
    for link in ("logistic", "log"):
        agent = adaptive_glb_omd(SPEC, shortest=4, longest=16, link=link, norm_bound=3.0)
        found[f"mirror mixture {link}"] = Case(agent, MirrorDescentDecider)
    large, num = Spec.bandit(dim=MIN_ANCHORED_DIM, num_arms=1), 2 * anchor_life(MIN_ANCHORED_DIM)
    for name, given in LARGE.items():
        agent = build(large, name, noise_scale=0.1, **given)
        found[f"many dimensions {name}"] = Case(agent, LeastSquaresDecider, num=num)
    agent = bandit_agent(large, Halving(), Ucb(0.3))
    found["many dimensions, a forgetting of a plugin"] = Case(agent, LeastSquaresDecider, num=num)
    for name in ("adaptive_lin_ucb", "adaptive_lin_ts"):
        agent = build(large, name, longest=16)
        case = Case(agent, MixtureDecider, jump=5.0, num=8, atol=1e-7)
        found |= {
            f"many dimensions {name}": case,
            f"exact, many dimensions {name}": case._replace(exact=True),
        }
    return found


LARGE: dict[str, dict[str, Any]] = {
    "lin_ucb": {},
    "d_lin_ucb": {"rate": 0.99},
    "weight_ucb": {"rate": 0.9},
    "sw_lin_ucb": {"length": 30},
    "restart_lin_ucb": {"period": 50},
    "robust_weight_ucb": {"rate": 0.9, "corruption": 2.0},
}
CASES = cases()


def choose(decider: Decider, arms: np.ndarray, number: int) -> Choice:
    offer = decider.offer(arms, number)
    return offer.choice(decider.draws.arm(offer.policy, number))


def arms_of(case: Case, arms: np.ndarray, number: int) -> np.ndarray:
    """Arms of the case's dimension, the first feature 1 for all; numbered draws for other dimensions."""
    dim = case.agent.spec.dim
    if dim != arms.shape[1]:
        arms = np.random.default_rng(number).normal(size=(len(arms), dim)) / dim**0.5
    return np.concatenate([np.ones((len(arms), 1)), arms[:, 1:]], axis=1)


def require_alike(case: Case) -> tuple[Decider, Decider]:
    """Lead both deciders through a stream with late rewards, some of them means of several; compare all."""
    agent, draws = case.agent, case.num_draws
    fast, slow = make_decider(agent, 3, draws), PlannedDecider(agent, RoundDraws(3), draws)
    assert isinstance(fast, case.kind)
    waiting: list[Any] = []
    close: dict[str, Any] = dict(rtol=0, atol=case.atol)
    for t, (arms, reward) in enumerate(rounds(case.num, seed=4)):
        arms, sums = arms_of(case, arms, t), None
        if agent.counts_waiting and waiting:
            rows = np.array([[*agent.expand(choices[0].features), 1.0] for choices, _ in waiting])
            sums = rows.T @ rows
        offers = [run_silently(each.offer, arms, t, 0.0, sums) for each in (fast, slow)]
        for one, other in zip(offers[0][1:5], offers[1][1:5], strict=True):
            np.testing.assert_allclose(one, other, **close)
        arm = slow.draws.arm(offers[1].policy, t)
        assert fast.draws.arm(offers[0].policy, t) == arm
        choices = [offer.choice(arm) for offer in offers]
        np.testing.assert_allclose(choices[0][1:3], choices[1][1:3], **close)
        if case.exact:
            reward = 1e-3 * reward + 5 * float(arms[arm] @ np.linspace(-1, 1, arms.shape[1]))
        waiting.append((choices, reward + case.jump * (t > case.num / 2)))
        if t % 3:
            choices, late = waiting.pop(0)
            weight = (1.0, 2.5)[t % 2] if agent.takes_counts else 1.0
            for decider, choice in zip((fast, slow), choices, strict=True):
                run_silently(decider.learn, choice, late, float(t), weight)
    if case.exact:  # ρ > 0 in the memory that never forgets
        last, agent = map_tree(operator.itemgetter(-1), slow.state.base), index_part(agent.base, -1)
        variance = agent.noise.variance(last.noise.errors)
        assert prior_excess(np.linalg.inv(last.gram), last, variance).item() > 0
    rtol = max(case.atol, 1e-8)
    map_tree(lambda *pair: np.testing.assert_allclose(*pair, rtol=rtol, atol=rtol), fast.state, slow.state)
    return fast, slow


@pytest.mark.parametrize("name", CASES)
def test_a_fast_form_equals_the_definition(name: str) -> None:
    require_alike(CASES[name])


@pytest.mark.parametrize(
    "name", [name for name in CASES if CASES[name].kind in (MixtureDecider, MapsDecider)]
)
def test_a_mixture_by_numpy_equals_the_definition(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_mixture, "KERNEL", None)
    require_alike(CASES[name])


DRAWN: dict[str, Callable[[np.random.Generator], np.ndarray]] = {  # features of three arms
    "one-hot": lambda rng: np.eye(3),
    "blocks": lambda rng: np.kron(np.eye(3), rng.normal(size=2)),
    "dense": lambda rng: rng.normal(size=(3, 4)),
    "maps": lambda rng: rng.normal(size=(3, 2)),
}
CHANGES = [  # what is added to rewards, in units of noise, and the unit of rewards
    dict(added=1000.0), dict(added=-1000.0), dict(unit=1e-8), dict(unit=1e8), dict(added=50.0, unit=1e6),
]  # fmt: skip


def led(
    decider: Decider, features: str, *, added: float = 0.0, unit: float = 1.0
) -> tuple[list[int], np.ndarray]:
    """Return the arms of some rounds, and the indices without their unit, with rewards that come late."""
    rng, waiting, arms_taken, indices = np.random.default_rng(7), list[Any](), list[int](), list[np.ndarray]()
    for t in range(40):
        arms = DRAWN[features](rng)
        theta, noise = np.linspace(-1, 1, arms.shape[1]) * (-1) ** (t // 25), rng.normal(size=3)
        rows = np.array([[*decider.agent.expand(choice.features), 1.0] for choice, _ in waiting])
        sums = rows.T @ rows if waiting else None
        offer = run_silently(decider.offer, arms, t, 0.0, sums)
        choice = offer.choice(decider.draws.arm(offer.policy, t))
        waiting.append((choice, unit * ((arms @ theta + noise)[choice.arm] + added)))
        if t % 4:
            run_silently(decider.learn, *waiting.pop(0))
        arms_taken.append(choice.arm)
        indices.append(offer.scores / unit - added)
    return arms_taken, np.array(indices[10:])  # noise is known by then


@pytest.mark.parametrize("features", DRAWN)
@pytest.mark.parametrize("name", ["adaptive_lin_ucb", "adaptive_lin_ts"])
@pytest.mark.parametrize("form", ["definition", "numpy", "compiled"])
def test_no_decision_depends_on_units_or_an_amount_that_all_rewards_have_more(
    form: str, name: str, features: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "compiled" and compiled_mixture.KERNEL is None:
        pytest.skip("nothing was compiled")
    if form == "numpy":
        monkeypatch.setattr(compiled_mixture, "KERNEL", None)
    dim = DRAWN[features](np.random.default_rng(0)).shape[1]
    expand = "auto" if features == "maps" else "no"
    agent: Any = build(Spec.bandit(dim=dim, num_arms=3), name, shortest=4, longest=16, expand=expand)

    def decider() -> Decider:
        return PlannedDecider(agent, RoundDraws(3)) if form == "definition" else make_decider(agent, 3)

    taken, indices = led(decider(), features)
    for change in CHANGES:
        others, changed = led(decider(), features, **change)
        assert others == taken
        np.testing.assert_allclose(changed, indices, rtol=0, atol=1e-6)


FOUR: list[tuple[tuple[float, ...], float]] = [((40, 42, 45, 50), 2.0), ((0.2, 0.5, 0.8, 0.1), 0.0)]


def lead_four(
    decider: Decider, seed: int, means: Sequence[float], noise: float, num: int, wrong: int = -1
) -> list[int]:
    """Return the arms of a stream of four one-hot arms, where one reward may be wrong by a million."""
    rng, arms, taken = np.random.default_rng(seed), np.eye(4), list[int]()
    for t in range(num):
        offer = run_silently(decider.offer, arms, t)
        choice = offer.choice(decider.draws.arm(offer.policy, t))
        reward = means[choice.arm] + noise * rng.normal() + 1e6 * (t == wrong)
        run_silently(decider.learn, choice, float(reward))
        taken.append(choice.arm)
    return taken


@pytest.mark.parametrize(("means", "noise"), FOUR, ids=["noisy", "exact"])
@pytest.mark.parametrize("name", ["adaptive_lin_ucb", "adaptive_lin_ts"])
def test_the_best_arm_is_found_from_any_seed(name: str, means: Sequence[float], noise: float) -> None:
    agent = build(Spec.bandit(dim=4, num_arms=4), name)
    for seed in range(20):
        last = lead_four(make_decider(agent, seed), seed, means, noise, 400)[-100:]
        assert last.count(int(np.argmax(means))) > 50, seed


@pytest.mark.parametrize("wrong", [50, 400])
@pytest.mark.parametrize("name", ["adaptive_lin_ucb", "adaptive_lin_ts"])
def test_one_reward_that_is_wrong_by_a_million_does_not_matter_for_long(name: str, wrong: int) -> None:
    agent = build(Spec.bandit(dim=4, num_arms=4), name)
    for seed in range(3):
        taken = lead_four(make_decider(agent, seed), seed, *FOUR[0], wrong + 700, wrong=wrong)
        assert taken[wrong + 500 :].count(3) >= 0.9 * 200


def test_an_alarm_replaces_the_last_memory_of_mirror_descent() -> None:
    fast, _ = require_alike(CASES["mirror mixture"])
    assert fast.state.base.weight[-1] < fast.state.tick


def test_fast_forms_are_used_where_agents_declare_them() -> None:
    direct = {name for name, case in CASES.items() if case.kind is LeastSquaresDecider}
    assert {"d_lin_ucb", "lin_ucb", "weight_ucb", "sw_lin_ucb", "restart_lin_ucb", "opt_wlsvi"} <= direct
    assert {"adaptive_lin_ucb", "adaptive_lin_ts"} <= {*CASES}
    assert "d_lin_ts" not in CASES
    assert isinstance(make_decider(make("d_lin_ts").agent, 3, 5), LeastSquaresDecider)


def test_caution_in_a_mixture_or_in_episodes_of_states_has_no_fast_form() -> None:
    base = least_squares(ExponentialWeights((0.9, 1.0)), Ucb(0.5, "single"), Caution(0.4))
    agent = mixture(dataclasses.replace(base, noise=LearntNoise()), "zero")
    assert isinstance(make_decider(agent, 3), PlannedDecider)
    spec = Spec(num_states=4, num_actions=2, dim=3, horizon=2)
    states = dataclasses.replace(base, spec=spec, forgetting=ExponentialWeights(0.9))
    assert with_blocks(states) is states
    with pytest.raises(ValueError, match=r"^algorithm must be one of plain least squares for continuous st"):
        with_memory(states, memory=9, tolerance=0.1)


def test_caution_changes_the_sums() -> None:
    case = CASES[f"caution under {SlidingWindow(9)}"]
    _, cautious = require_alike(case)
    _, plain = require_alike(case._replace(agent=dataclasses.replace(case.agent, caution=None)))
    assert np.linalg.norm(plain.state.gram - cautious.state.gram) > 0.1


@pytest.mark.parametrize("several", [False, True])
def test_projections_are_those_of_the_definition(several: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = d_glb_omd(SPEC, rate=0.9, norm_bound=0.3, ridge=0.1)
    sizes, eigh = list[int](), np.linalg.eigh

    def counted(metric: np.ndarray) -> Any:
        sizes.append(len(metric))
        return eigh(metric)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    require_alike(Case(adaptive(agent, shortest=4, longest=16) if several else agent, MirrorDescentDecider))
    assert sizes
    if several:
        assert 0 < min(sizes) < 4  # only memories that lie outside are projected


def test_a_mixture_of_mirror_descent_is_one_of_any_forecasts() -> None:
    base = d_glb_omd(SPEC, rate=1.0, ridge=0.05, norm_bound=100.0, radius=GrowingRadius(0.7, 0.3))
    base = dataclasses.replace(base, step="mean", step_size=1.0)
    assert adaptive(base) == adaptive_glb_omd(SPEC)


def test_mirror_descent_that_is_not_finite_is_an_error() -> None:
    bandit = Bandit("adaptive_glb_omd", dim=3)
    broken = bandit._decider.state
    bandit._decider.state = broken._replace(base=broken.base._replace(gram=np.nan * broken.base.gram))
    with pytest.raises(FloatingPointError, match="its index is not finite"):
        bandit.decide(np.eye(3))


def test_a_reward_that_no_memory_explains_leaves_weights_as_planned() -> None:
    """Under a noise with light tails the density of such a reward is 0 in floating point."""
    agent = dataclasses.replace(mixture_of(Ucb(0.5, "single")), noise=LearntNoise(max_degrees=1e6))
    fast, slow = make_decider(agent, 3), PlannedDecider(agent, RoundDraws(3))
    assert isinstance(fast, MixtureDecider)
    for t, (arms, reward) in enumerate(rounds(60, seed=4)):
        for decider in (fast, slow):
            run_silently(decider.learn, choose(decider, arms, t), 1e9 if t == 50 else reward)
        np.testing.assert_allclose(np.exp(fast.state.log_weights), np.exp(slow.state.log_weights), atol=1e-6)


def test_ties_are_broken_by_the_draws_of_the_simulator() -> None:
    deciders = make()._decider, PlannedDecider(make().agent, RoundDraws(3))
    chosen = [[choose(decider, np.eye(3), t).arm for t in range(20)] for decider in deciders]
    assert chosen[0] == chosen[1]
    assert {*chosen[0]} == {0, 1, 2}


def test_numpy_is_silent_within_deciders_alone() -> None:
    huge = np.array([1e300])
    with np.errstate(all="raise"):
        assert run_silently(lambda: run_silently(np.multiply, huge, huge) + huge) == np.inf
        with pytest.raises(FloatingPointError, match="overflow"):
            np.multiply(huge, huge)


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9])
def test_few_words_are_the_first_of_many(size: int) -> None:
    key = random.fold(random.key(11), 5)
    for draw in (random.draw_uniform, random.draw_coarse):
        assert np.array_equal(draw(key, size, np.float64)[:1], draw(key, 200, np.float64)[:1])
    few, all_of_them = (random.draw_uniform(key, num, np.float64) for num in (size, 200))
    assert np.array_equal(few, all_of_them[:size])
    many = random.fold(key, np.arange(100))  # beyond the few
    assert all(np.array_equal(random.fold(key, i), many[i]) for i in range(100))


def plans_for_any_arms(agent: Agent) -> bool:
    """Return whether an agent plans for three arms that it was not made for."""
    table = FeatureTable(np.zeros((3, agent.spec.dim)))
    try:
        return agent.plan(agent.init(table), table, random.key(0)).q.shape == (1, 1, 3)
    except (AttributeError, IndexError, TypeError, ValueError):  # it expects another table
        return False


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in WRAPPING])
def test_agents_declare_whether_they_know_arms_by_their_features(name: str) -> None:
    agent = build(Spec.bandit(dim=BANDIT.dim, num_arms=1), name, **KNOWN[name])
    assert agent.needs or agent.sees_arms == plans_for_any_arms(agent)


def test_an_agent_that_does_not_know_arms_by_features_is_refused() -> None:
    with pytest.raises(ValueError, match="algorithm must know arms by their features, got 'ucbvi', which"):
        make("ucbvi")
