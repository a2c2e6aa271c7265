"""The public contract checks of parts: ours keep them, and what breaks them is told."""

from __future__ import annotations

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
from driftwise.parts import (
    Cusum,
    DirectionalForgetting,
    Exploration,
    ExponentialWeights,
    Glr,
    Greedy,
    NoForgetting,
    RandomRestart,
    Thompson,
    Ucb,
    Uniform,
)
from tests.examples import DRIFTS, SENSITIVE, SPEC, make
from tests.parts.test_forgetting import DIRECTIONAL, EXAMPLES

EXPLORATIONS: list[Exploration] = [
    Ucb(0.3),
    Ucb(0.3, norm="single"),
    dw.exploration.CautiousUcb(0.3, widening=0.2),
    dw.exploration.RandomisedUcb(0.3, sign="signed"),
    Thompson(0.3),
    dw.exploration.TruncatedThompson(0.3, 0.1, 0.6),
    Greedy(),
    dw.exploration.EpsilonGreedy(0.2),
    Uniform(),
    dw.exploration.Softmax(0.5),
    dw.exploration.InverseGap(4.0),
]


FADING = DirectionalForgetting(0.8, fading=0.9)


@pytest.mark.parametrize("forgetting", [*EXAMPLES, DIRECTIONAL, FADING], ids=str)
def test_every_forgetting_keeps_its_contract(forgetting):
    check_forgetting(forgetting)


@pytest.mark.parametrize("exploration", EXPLORATIONS, ids=str)
def test_every_exploration_keeps_its_contract(exploration):
    check_exploration(exploration)


@pytest.mark.parametrize("drift", [dw.drift.Constant(), *DRIFTS.values()], ids=str)
def test_every_drift_keeps_its_contract(drift):
    check_drift(drift)


@pytest.mark.parametrize("detector", [SENSITIVE, Glr(), Cusum(), RandomRestart(0.3)], ids=str)
def test_every_detector_keeps_its_contract(detector):
    check_detector(detector)


def test_every_exploration_has_an_example():
    ours = {cls for cls in CONFIGURABLE.values() if cls.__module__ == "driftwise.parts.exploration"}
    assert {type(each) for each in EXPLORATIONS} == ours


@part
class Contradicting(ExponentialWeights):
    """What it sums is not what its weights say, while Σω and Σω² are."""

    def update(self, moments: Moments, sample: Sample) -> Moments:
        learnt = ExponentialWeights.update(self, moments, sample)
        return learnt._replace(cross=moments.cross + learnt.cross)


@part
class Squareless(ExponentialWeights):
    """It leaves out what is not the same as the gram."""

    def init(self, moments: Moments, sample: Sample) -> Moments:
        return moments._replace(gram_sq=None)


@part
class Heavy(NoForgetting):
    """Its samples count twice."""

    def weights(self, tick: int) -> np.ndarray:
        return np.full(tick, 2.0)


@part
class Deciding(ExponentialWeights):
    """It looks at a number that no program knows."""

    def update(self, moments: Moments, sample: Sample) -> Moments:
        return moments if self.rate < 0 else ExponentialWeights.update(self, moments, sample)


@part
class Narrow(DirectionalForgetting):
    """Its width is not that of its estimate."""

    def update(self, moments: Moments, sample: Sample) -> Moments:
        learnt = DirectionalForgetting.update(self, moments, sample)
        return learnt._replace(gram_sq=0.5 * learnt.gram)


@part
class Blunt(DirectionalForgetting):
    """It looks at rewards before it forgets."""

    def update(self, moments: Moments, sample: Sample) -> Moments:
        learnt = DirectionalForgetting.update(self, moments, sample)
        return learnt._replace(gram=(1 + sample.reward[:, None, None]) * learnt.gram)


@part
class Bent(DirectionalForgetting):
    """It squares its rewards."""

    def update(self, moments: Moments, sample: Sample) -> Moments:
        squared = sample._replace(reward=sample.reward**2)
        return DirectionalForgetting.update(self, moments, squared)


@pytest.mark.parametrize(
    ("forgetting", "said"),
    [
        (Narrow(0.8), "^gram_sq must cover the noise in cross, got an eigenvalue -"),
        (Blunt(0.8), "^gram must not depend on rewards$"),
        (Bent(0.8), "^cross must be linear in rewards, got .* away$"),
        (Contradicting(0.8), "^cross of the moments must be what weights say, got .* away at tick 2$"),
        (Squareless(0.8), r"^gram_sq may be left out where all weights are 0 or 1, got \[0.8 1. \]$"),
        (Heavy(), r"^weights must be 1 numbers in \[0, 1\] at tick 1, got \[2.\]$"),
        (Deciding(0.8), "^update must compile, got TracerBoolConversionError"),
        (3, "^forgetting must be a Forgetting, got 3$"),
    ],
)
def test_a_forgetting_that_breaks_its_contract_is_told_so(forgetting, said):
    with pytest.raises(ContractError, match=said):
        check_forgetting(forgetting)


def test_an_agent_with_a_forgetting_that_contradicts_its_weights_is_told_so():
    agent = dw.algorithms.least_squares(SPEC, forgetting=Contradicting(0.8), exploration=Ucb(0.4))
    with pytest.raises(ContractError, match=r"^cross of the moments must be what weights say"):
        check_agent(agent, make())
    around = dw.algorithms.random_restart(agent, probability=0.1)
    with pytest.raises(ContractError, match=r"^cross of the moments must be what weights say"):
        check_agent(around, make())


@part
class Squared(Ucb):
    """It takes for granted what some forgettings leave out."""

    def perturb(self, inverse: Array, moments: Moments, features: Any, key: Any) -> Array:
        wide = moments.gram if moments.gram_sq is None else moments.gram_sq
        return 0 * Ucb.perturb(self, inverse, moments, features, key) + wide.sum()

    uses_gram_sq = False  # pyright: ignore


@part
class Lost(Uniform):
    """It draws actions that are not there."""

    def policy(self, q: Array) -> Array:
        return np.full(q.shape, 1 / q.shape[-1]) + 0 * np.maximum(q, 0)


@part
class Doubtful(Greedy):
    """It doubts more than all."""

    def doubt(self, inverse: Array, moments: Moments, features: Any) -> Array:
        return 2 + np.zeros((len(inverse), len(features.values)))


@part
class Boundless(Greedy):
    """It adds what is no number."""

    def perturb(self, inverse: Array, moments: Moments, features: Any, key: Any) -> Array:
        return np.nan * Greedy.perturb(self, inverse, moments, features, key)


@pytest.mark.parametrize(
    ("exploration", "said"),
    [
        (Squared(0.3), "^perturb must not look at gram_sq where uses_gram_sq is False"),
        (Lost(), "^policy must leave out actions that are not there, got probability 0.25"),
        (Doubtful(), r"^doubt must be shares in \[0, 1\] of shape \(2, 16\)"),
        (Boundless(), r"^perturb must give finite numbers of shape \(2, 16\)"),
        ("me", "^exploration must be an Exploration, got 'me'$"),
    ],
)
def test_an_exploration_that_breaks_its_contract_is_told_so(exploration, said):
    with pytest.raises(ContractError, match=said):
        check_exploration(exploration)


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


@pytest.mark.parametrize(
    ("drift", "said"),
    [
        (Wrong("greedy"), "^mixture must not change what it is given$"),
        (Wrong("jumpy"), "^mixture must not depend on which episodes are asked for together$"),
        (Wrong("heavy"), r"^mixture must be weights that sum to 1, got \[0.  1.2\] in episode 37$"),
        (Wrong("narrow"), r"^mixture must have shape \(200, 2\), got \(200, 1\)$"),
        (Wrong("late"), "^changes must be moves, but nothing moves at 15$"),
        (Wrong("backward"), r"^changes must be increasing episodes of the run, got \(20, 10\)$"),
        (Unnamed(), "^drift must be made by @part or @record, got"),
    ],
)
def test_a_drift_that_breaks_its_contract_is_told_so(drift, said):
    check_drift(Wrong("none"))
    with pytest.raises(ContractError, match=said):
        check_drift(drift)


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


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("quiet", r"^events must be names with 'restarts' among them, got \('alarms',\)$"),
        ("rough", "^detect must leave the state as it was given, changed in episode 0$"),
        ("growing", "^the state must keep its shapes and types, changed in episode 0$"),
        ("vague", "^an alarm must be true or false, got .* in episode 0$"),
    ],
)
def test_a_detector_that_breaks_its_contract_is_told_so(fault, said):
    check_detector(Alarming(0.3))
    with pytest.raises(ContractError, match=said):
        check_detector(Alarming(0.3, fault))
