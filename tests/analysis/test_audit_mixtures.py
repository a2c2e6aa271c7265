"""The audit of mixtures of memories: it recomputes all of them, and violates nothing where they are whole."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import adaptive_lin_ts, adaptive_lin_ucb, adaptive_opt_wlsvi
from driftwise.algorithms.unknown_variation import mixture as module
from driftwise.algorithms.unknown_variation.mixture import MixtureOfMemories
from driftwise.analysis.audit import LEMMAS, audit_agent
from driftwise.analysis.audit.lemmas.memories_of_mixtures import best_sequences
from driftwise.analysis.audit.mixture_views import MixtureSnapshot, MixtureSubject, MixtureTrace
from driftwise.analysis.audit.reference import explored_gram_sq
from driftwise.analysis.audit.snapshot import Snapshot, observe_run
from driftwise.environments import LinearBandit
from driftwise.parts import LearntNoise
from tests.analysis.test_audit import audited, violated
from tests.examples import BANDIT, SPEC, STATIONARY, agent, make, make_bandit
from tests.reference import adaptive as definition

MEMORIES: dict[str, Any] = dict(shortest=3, longest=12)
OF_MIXTURES = {name for name, lemma in LEMMAS.items() if lemma.view in (MixtureSnapshot, MixtureTrace)}
SIZES: dict[str, Any] = dict(num_episodes=16, stride=4)


@pytest.mark.parametrize("decision", ["heaviest", "draw"])
def test_mixtures_do_what_they_say_in_mdps(decision: Any) -> None:
    mixture = adaptive_opt_wlsvi(SPEC, radius=0.4, **MEMORIES, decision=decision)
    found = audited(mixture, make(), **SIZES)
    assert violated(found) == set()
    assert found.keys() >= OF_MIXTURES | {"gram_recursion", "estimator", "index", "value"}
    assert not found.keys() & {"action", "optimism", "theorem", "reward_bias"}
    assert found["fixed_share"].checked == 16


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("recipe", [adaptive_lin_ucb, adaptive_lin_ts])
def test_mixtures_do_what_they_say_in_bandits(recipe: Any, share: float) -> None:
    found = audited(recipe(BANDIT, **MEMORIES, share=share), make_bandit(noise_scale=0.3), **SIZES)
    assert violated(found) == set()
    assert OF_MIXTURES - {"mixture_value"} <= found.keys()


@pytest.mark.parametrize("decision", ["heaviest", "draw"])
def test_neither_an_amount_that_all_rewards_have_nor_short_features_matter(decision: Any) -> None:
    """Differences of arms are smaller than the rounding up to which such indices count as tied."""
    arms, far = ((0.1, 0.0, 0.0), (0.1, 0.1, 0.0), (0.1, 0.0, 0.1)), 1e8
    path = dw.paths.Mixture(((far, 1e-3, 0.0), (far, 0.0, 1e-3)), dw.drift.Abrupt((8,), num_anchors=2))
    environment = LinearBandit(dw.arms.FixedArms(arms), path, noise_scale=1e-4)
    mixture = adaptive_lin_ucb(environment.spec, **MEMORIES, decision=decision)
    (*_, played) = dw.play(mixture, environment, 16)
    assert played.carry.state.origin > 0.09 * far
    assert 0.1 <= played.carry.state.unit < 0.2
    assert violated(audited(mixture, environment, **SIZES)) == set()


@pytest.mark.parametrize("origin", ["zero", "learnt"])
@pytest.mark.parametrize("recipe", [adaptive_lin_ucb, adaptive_lin_ts])
def test_outliers_and_a_learnt_prior_are_recomputed(recipe: Any, origin: Any) -> None:
    """With little noise, so that the weights are larger than the ridge says."""
    mixture = replace(recipe(BANDIT, **MEMORIES, origin=origin), outlier=0.2)
    environment = make_bandit(STATIONARY, noise_scale=0.03)
    assert violated(audited(mixture, environment, num_episodes=40, stride=5)) == set()
    subject = MixtureSubject(mixture, environment, 40, 0.05)
    memories = [view for view in observe_run(subject) if isinstance(view, Snapshot)]
    assert any((explored_gram_sq(memory) != memory.gram).any() for memory in memories)
    any_reward = MixtureSubject(replace(mixture, outlier=0.0), environment, 40, 0.05)
    others = [view for view in observe_run(any_reward) if isinstance(view, Snapshot)]
    assert others[-1].moments.cross.tolist() != memories[-1].moments.cross.tolist()


def jumping(*times: int) -> LinearBandit:
    """Two arms in the plane, whose parameter turns round at these times."""
    path = dw.paths.Mixture(((0.9, 0.0), (-0.9, 0.0)), dw.drift.Abrupt(times, num_anchors=2))
    return LinearBandit(dw.arms.FixedArms(((1.0, 0.0), (0.8, 0.6))), path, noise_scale=0.1)


def test_a_fresh_start_is_recomputed_and_a_missing_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = jumping(20, 40)
    mixture = adaptive_lin_ucb(environment.spec, shortest=2, longest=8)
    held = [played.carry.state.base.weight[-1] for played in dw.play(mixture, environment, 60)]
    assert (np.diff(held) < 0).sum() >= 2  # it has started anew
    sizes: dict[str, Any] = dict(num_episodes=60, stride=10)
    assert violated(audited(mixture, environment, **sizes)) == set()
    monkeypatch.setattr(MixtureOfMemories, "alarm", lambda self, *args: np.bool(False))
    assert violated(audited(mixture, environment, **sizes)) >= {"gram_recursion", "count_recursion"}


def test_a_fresh_start_after_few_samples_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = jumping(5)
    mixture = adaptive_lin_ucb(environment.spec, shortest=2, longest=4)
    assert violated(audited(mixture, environment, num_episodes=10, stride=1)) == set()
    monkeypatch.setattr(module, "_LEAST_SAMPLES", 0)
    assert violated(audited(mixture, environment, num_episodes=10, stride=1)) >= {"gram_recursion"}


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
    scores = np.random.default_rng(4).normal(scale=3.0, size=(5, 3))
    prior, shares = np.array([0.2, 0.2, 0.6]), 1 / np.arange(2.0, 7.0)
    scored, price = best_sequences(scores, prior, shares)
    for length in range(1, 6):
        best = definition.best_sequence(scores[:length], prior, shares.tolist())
        assert (price - scored)[length - 1] == pytest.approx(best)
