"""The audit of mixtures of memories: it recomputes all of them, and violates nothing where they are whole."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import adaptive_lin_ts, adaptive_lin_ucb, adaptive_opt_wlsvi
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.analysis.audit import LEMMAS, audit_agent
from driftwise.analysis.audit.lemmas.memories_of_mixtures import best_sequences
from driftwise.analysis.audit.mixture_views import MixtureSnapshot, MixtureTrace
from driftwise.environments import LinearBandit
from driftwise.parts import LearntNoise
from tests.analysis.test_audit import audited, violated
from tests.examples import BANDIT, SPEC, agent, make, make_bandit
from tests.reference import adaptive as definition

MEMORIES: dict[str, Any] = dict(shortest=3, longest=12)
OF_MIXTURES = {name for name, lemma in LEMMAS.items() if lemma.view in (MixtureSnapshot, MixtureTrace)}
SIZES: dict[str, Any] = dict(num_episodes=16, stride=4)


@pytest.mark.parametrize(
    ("decision", "weighing"),
    [("heaviest", "per_step"), ("mixture", "together"), ("variance", "per_step"), ("draw", "together")],
)
def test_mixtures_do_what_they_say_in_mdps(decision: Any, weighing: Any) -> None:
    mixture = adaptive_opt_wlsvi(SPEC, radius=0.4, **MEMORIES, decision=decision, weighing=weighing)
    found = audited(mixture, make(), **SIZES)
    assert violated(found) == set()
    assert found.keys() >= OF_MIXTURES | {"gram_recursion", "estimator", "index", "value"}
    assert not found.keys() & {"action", "optimism", "theorem", "reward_bias"}
    assert found["fixed_share"].checked == 16 * (SPEC.horizon if weighing == "per_step" else 1)


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("recipe", [adaptive_lin_ucb, adaptive_lin_ts])
def test_mixtures_do_what_they_say_in_bandits(recipe: Any, share: float) -> None:
    found = audited(recipe(BANDIT, **MEMORIES, share=share), make_bandit(noise_scale=0.3), **SIZES)
    assert violated(found) == set()
    assert OF_MIXTURES - {"mixture_value"} <= found.keys()


def test_rewards_may_be_counted_from_the_first() -> None:
    """Norms of at most 1 leave no room beside a feature that is 1."""
    path = dw.paths.Mixture(((0.9,), (-0.9,)), dw.drift.Abrupt((8,), num_anchors=2))
    environment = LinearBandit(dw.arms.FixedArms(((1.0,), (1.0,))), path, noise_scale=0.3)
    mixture = adaptive_lin_ucb(environment.spec, **MEMORIES)
    assert next(dw.play(mixture, environment, 1)).carry.state.origin != 0
    assert violated(audited(mixture, environment, **SIZES)) == set()


def jumping() -> LinearBandit:
    """Two arms in the plane, whose parameter turns round twice."""
    path = dw.paths.Mixture(((0.9, 0.0), (-0.9, 0.0)), dw.drift.Abrupt((20, 40), num_anchors=2))
    return LinearBandit(dw.arms.FixedArms(((1.0, 0.0), (0.8, 0.6))), path, noise_scale=0.1)


def test_a_fresh_start_is_recomputed_and_one_that_never_comes_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mixture = adaptive_lin_ucb(jumping().spec, shortest=2, longest=8)
    held = [played.carry.state.base.weight[-1] for played in dw.play(mixture, jumping(), 60)]
    assert (np.diff(held) < 0).sum() >= 2  # it has started anew
    sizes: dict[str, Any] = dict(num_episodes=60, stride=10)
    assert violated(audited(mixture, jumping(), **sizes)) == set()
    monkeypatch.setattr(MixtureOfMemories, "alarm", lambda self, *args: np.bool(False))
    assert violated(audited(mixture, jumping(), **sizes)) >= {"gram_recursion", "count_recursion"}


def test_an_agent_may_learn_its_noise_without_a_mixture_and_theorys_radius_is_not_in_its_units() -> None:
    learning = replace(agent("d_lin_ucb"), noise=LearntNoise())  # pyright: ignore
    found = audited(learning, make_bandit(noise_scale=0.3), **SIZES)
    assert {"learnt_noise", "radius", "index"} <= found.keys()
    assert violated(found) & {"learnt_noise", "radius", "bonus", "index", "action"} == set()
    found = audited(learning, make_bandit(noise_scale=0.3), **SIZES, beta_scale=1.0)
    assert (found["theory_radius"].radius_share, violated(found)) == (1, set())


def test_theory_knows_no_radius_of_a_mixture() -> None:
    mixture = adaptive_lin_ucb(BANDIT, **MEMORIES)
    _, (skipped,) = audit_agent(mixture, make_bandit(), num_episodes=5, beta_scale=1.0)
    assert skipped.why == "theory knows no radius of a mixture"


def test_the_best_sequence_is_that_of_all_sequences() -> None:
    scores = np.random.default_rng(4).normal(scale=3.0, size=(5, 1, 3))
    prior, shares = np.array([0.2, 0.2, 0.6]), 1 / np.arange(2.0, 7.0)
    scored, price = best_sequences(scores, prior, shares)
    for length in range(1, 6):
        best = definition.best_sequence(scores[:length, 0], prior, shares.tolist())
        assert (price - scored)[length - 1, 0] == pytest.approx(best)
