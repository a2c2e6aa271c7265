"""The public contract checks of parts: ours keep them, and what breaks them is told."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.base import Array, Moments, Sample, count, number, record
from driftwise.base.part import CONFIGURABLE, part
from driftwise.checks import (
    ContractError,
    check_agent,
    check_detector,
    check_drift,
    check_exploration,
    check_forgetting,
)
from driftwise.parts import Cusum, DirectionalForgetting, ExponentialWeights, Glr, NoForgetting, RandomRestart
from driftwise.parts.exploration import Greedy, Thompson, Ucb, Uniform
from tests.examples import DRIFTS, SENSITIVE, SPEC, broken_part, make
from tests.parts.test_forgetting import DIRECTIONAL, EXAMPLES

kinds = dw.exploration
EXPLORATIONS = [Ucb(0.3), Ucb(0.3, norm="single"), kinds.CautiousUcb(0.3, 0.2), Thompson(0.3), Greedy()]
EXPLORATIONS += [kinds.RandomisedUcb(0.3, sign="signed"), kinds.TruncatedThompson(0.3, 0.1, 0.6), Uniform()]
EXPLORATIONS += [kinds.EpsilonGreedy(0.2), kinds.Softmax(0.5), kinds.InverseGap(4.0)]
PARTS = {
    check_forgetting: [*EXAMPLES, DIRECTIONAL, DirectionalForgetting(0.8, fading=0.9)],
    check_exploration: EXPLORATIONS,
    check_drift: [dw.drift.Constant(), *DRIFTS.values()],
    check_detector: [SENSITIVE, Glr(), Cusum(), RandomRestart(0.3)],
}


@pytest.mark.parametrize(
    ("check", "part"),
    [(check, part) for check, parts in PARTS.items() for part in parts],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_every_part_keeps_its_contract(check, part):
    check(part)


def test_every_exploration_has_an_example():
    ours = {cls for cls in CONFIGURABLE.values() if cls.__module__ == "driftwise.parts.exploration"}
    assert {type(each) for each in EXPLORATIONS} == ours


def learning(base: type, **change: Callable[[Moments, Moments, Sample], Any]) -> Any:
    """A forgetting that learns some sums wrongly: from those before, those after, and the sample."""

    def update(self: Any, before: Moments, sample: Sample) -> Moments:
        after = base.update(self, before, sample)  # pyright: ignore[reportAttributeAccessIssue]
        return after._replace(**{name: other(before, after, sample) for name, other in change.items()})

    return broken_part(base, update=update)


def undecided(self: Any, moments: Moments, sample: Sample) -> Moments:
    """It looks at a number that no program knows."""
    return moments if self.rate < 0 else ExponentialWeights.update(self, moments, sample)


def bent(self: Any, moments: Moments, sample: Sample) -> Moments:
    """It squares its rewards."""
    return DirectionalForgetting.update(self, moments, sample._replace(reward=sample.reward**2))


def reward_first(before: Moments, after: Moments, sample: Sample) -> np.ndarray:
    return (1 + sample.reward[:, None, None]) * after.gram


CONTRADICTING = learning(ExponentialWeights, cross=lambda before, after, _: before.cross + after.cross)(0.8)
SQUARELESS = broken_part(ExponentialWeights, init=lambda self, moments, _: moments._replace(gram_sq=None))
NOISELESS = learning(DirectionalForgetting, gram_sq=lambda _, after, sample: 0.5 * after.gram)
HEAVY = broken_part(NoForgetting, weights=lambda self, tick: np.full(tick, 2.0))
FORGETTINGS = [
    (NOISELESS(0.8), "^gram_sq must cover the noise in cross, got an eigenvalue -"),
    (learning(DirectionalForgetting, gram=reward_first)(0.8), "^gram must not depend on rewards$"),
    (broken_part(DirectionalForgetting, update=bent)(0.8), "^cross must be linear in rewards, got .* away$"),
    (CONTRADICTING, "^cross of the moments must be what weights say, got .* away at tick 2$"),
    (SQUARELESS(0.8), r"^gram_sq may be left out where all weights are 0 or 1, got \[0.8 1. \]$"),
    (HEAVY(), r"^weights must be 1 numbers in \[0, 1\] at tick 1, got \[2.\]$"),
    (broken_part(ExponentialWeights, update=undecided)(0.8), "^update must compile, got TracerBoolConv"),
    (3, "^forgetting must be a Forgetting, got 3$"),
]


def test_an_agent_with_a_forgetting_that_contradicts_its_weights_is_told_so():
    agent = dw.algorithms.least_squares(SPEC, forgetting=CONTRADICTING, exploration=Ucb(0.4))
    with pytest.raises(ContractError, match=r"^cross of the moments must be what weights say"):
        check_agent(agent, make())
    around = dw.algorithms.random_restart(agent, probability=0.1)
    with pytest.raises(ContractError, match=r"^cross of the moments must be what weights say"):
        check_agent(around, make())


def squared(self: Any, inverse: Array, moments: Moments, features: Any, key: Any) -> Array:
    """It takes for granted what some forgettings leave out."""
    wide = moments.gram if moments.gram_sq is None else moments.gram_sq
    return 0 * Ucb.perturb(self, inverse, moments, features, key) + wide.sum()


def lost(self: Any, q: Array) -> Array:
    """It draws actions that are not there."""
    return np.full(q.shape, 1 / q.shape[-1]) + 0 * np.maximum(q, 0)


def boundless(self: Any, *args: Any) -> Array:
    """It adds what is no number."""
    return np.nan * Greedy.perturb(self, *args)


def doubtful(self: Any, inverse: Array, moments: Moments, features: Any) -> Array:
    """It doubts more than all."""
    return 2 + np.zeros((len(inverse), len(features.values)))


LOOKING = broken_part(Ucb, perturb=squared, uses_gram_sq=False)(0.3)
BROKEN_EXPLORATIONS = [
    (LOOKING, "^perturb must not look at gram_sq where uses_gram_sq is False"),
    (broken_part(Uniform, policy=lost)(), "^policy must leave out actions that are not there, got .* 0.25"),
    (broken_part(Greedy, doubt=doubtful)(), r"^doubt must be shares in \[0, 1\] of shape \(2, 16\)"),
    (broken_part(Greedy, perturb=boundless)(), r"^perturb must give finite numbers of shape \(2, 16\)"),
    ("me", "^exploration must be an Exploration, got 'me'$"),
]


@record
class Wrong(dw.drift.Drift):
    """A drift with one of several faults."""

    fault: str
    every: int = count(default=10)
    num_anchors: int = 2

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        if self.fault == "greedy":
            episodes += 1
        late = episodes // self.every % 2
        if self.fault == "jumpy":
            late = (episodes >= episodes[0] + 5).astype(int)
        weights = np.eye(2)[late]
        if self.fault == "heavy":
            weights[37] *= 1.2
        return weights[:, :1] if self.fault == "narrow" else weights

    def changes(self, num_episodes: int) -> tuple[int, ...]:
        return (15,) if self.fault == "late" else (20, 10) if self.fault == "backward" else (10, 20)


class Unnamed(dw.drift.Drift):
    """It cannot be written down."""

    num_anchors = 1

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        return np.ones((len(episodes), 1))


BROKEN_DRIFTS = [
    (Wrong("greedy"), "^mixture must not change what it is given$"),
    (Wrong("jumpy"), "^mixture must not depend on which episodes are asked for together$"),
    (Wrong("heavy"), r"^mixture must be weights that sum to 1, got \[0.  1.2\] in episode 37$"),
    (Wrong("narrow"), r"^mixture must have shape \(200, 2\), got \(200, 1\)$"),
    (Wrong("late"), "^changes must be moves, but nothing moves at 15$"),
    (Wrong("backward"), r"^changes must be increasing episodes of the run, got \(20, 10\)$"),
    (Unnamed(), "^drift must be made by @part or @record, got"),
]


@part
class Alarming(RandomRestart):
    """A detector with one of several faults."""

    fault: str = "none"
    since: Any = number(default=0.0)

    @property
    def events(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return ("alarms",) if self.fault == "quiet" else ("restarts",)

    def init(self, like: Array) -> Any:
        return (np.zeros(2),)

    def detect(self, state: Any, observed: Array, chance: Array) -> tuple[Any, Array]:
        if self.fault == "rough":
            state[0][:] = observed
        if self.fault == "growing":
            state = (np.append(state[0], observed),)
        alarm = chance < self.probability
        return state, alarm * 1.0 if self.fault == "vague" else alarm


OWN = {name: CONFIGURABLE.pop(name) for name in ("Wrong", "Alarming")}  # other tests list all there are


@pytest.fixture(autouse=True)
def own_names(monkeypatch):
    for name, cls in OWN.items():
        monkeypatch.setitem(CONFIGURABLE, name, cls)


DETECTORS = [
    (Alarming(0.3, "quiet"), r"^events must be names with 'restarts' among them, got \('alarms',\)$"),
    (Alarming(0.3, "rough"), "^detect must leave the state as it was given, changed in episode 0$"),
    (Alarming(0.3, "growing"), "^the state must keep its shapes and types, changed in episode 0$"),
    (Alarming(0.3, "vague"), "^an alarm must be true or false, got .* in episode 0$"),
]
BROKEN = {check_forgetting: FORGETTINGS, check_exploration: BROKEN_EXPLORATIONS}
BROKEN |= {check_drift: BROKEN_DRIFTS, check_detector: DETECTORS}


def test_the_same_without_the_fault_keeps_its_contract():
    check_drift(Wrong("none"))
    check_detector(Alarming(0.3))


@pytest.mark.parametrize(
    ("check", "part", "said"), [(check, *row) for check, rows in BROKEN.items() for row in rows]
)
def test_a_part_that_breaks_its_contract_is_told_so(check, part, said):
    with pytest.raises(ContractError, match=said):
        check(part)
