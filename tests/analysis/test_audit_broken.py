"""An audit that cannot fail is worthless: every algorithm that is broken on purpose is found."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import build
from driftwise.analysis import audit
from driftwise.analysis.audit import LEMMAS, subject
from driftwise.base import Model, Spec
from driftwise.environments import LinearMdp
from driftwise.parts import ExponentialWeights, LeastSquares, NoForgetting, Ucb
from tests.analysis.test_audit import RATE, audited, violated
from tests.examples import BANDIT, NUM_EPISODES, SPEC, STATIONARY, agent, make, make_bandit
from tests.sabotage import BREAKS, ROWS, by_theory, findings_about, learnt

AUDIT = Path(audit.__file__).parent


@pytest.mark.parametrize(("name", "statement", "says"), ROWS)
def test_a_broken_agent_is_found_by_the_statement_that_is_named(
    name: str, statement: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (agent,) = (agent for agent, breaks in BREAKS.items() if name in breaks)
    BREAKS[agent][name](monkeypatch)
    assert any(says in each.reading for each in findings_about(agent) if each.statement == statement)


@pytest.mark.parametrize("agent", [agent for agent in BREAKS if "told" not in agent])
def test_the_same_agents_violate_nothing_when_they_are_whole(agent: str) -> None:
    assert not [each for each in findings_about(agent) if each.violated]


def test_an_agent_that_theory_tunes_has_theorys_radius() -> None:
    found = audited(by_theory(), make(drift=STATIONARY), num_episodes=14)["theory_radius"]
    assert found.reading == "holds"
    assert found.radius_share == 1


def test_the_audit_takes_nothing_from_what_it_audits_but_what_is_said() -> None:
    """No radius of the theory, no inverse of the agents."""
    source = "".join(path.read_text(encoding="utf-8") for path in AUDIT.rglob("*.py"))
    shared = re.findall(r"^from (driftwise\.(?:theory|base\.arrays).+)", source, re.MULTILINE)
    assert shared == ["driftwise.base.arrays import map_tree"]


def test_every_identity_and_what_is_probable_of_an_agent_is_broken_by_one() -> None:
    named = {name for name, lemma in LEMMAS.items() if lemma.kind == "identity"}
    of_agents = {name for name, lemma in LEMMAS.items() if lemma.group == "this agent"}
    named |= {name for name in of_agents if LEMMAS[name].kind == "probable"}
    assert named <= {statement for _, statement, _ in ROWS}
    assert {name for name, *_ in ROWS} == {name for breaks in BREAKS.values() for name in breaks}


def test_a_small_radius_violates_nothing_and_promises_nothing() -> None:
    found = audited(agent("opt_wlsvi"), make(drift=STATIONARY), beta_scale=0.0)
    assert violated(found) == set()
    lost = {name for name, finding in found.items() if finding.verdict == "not promised"}
    assert {"concentration", "key_lemma", "optimism", "episode_regret"} <= lost
    assert found["concentration"].worst_ratio == math.inf
    assert found["optimism"].radius_share == 0


def test_a_radius_that_is_too_small_is_said_with_its_share_of_theorys() -> None:
    environment = make_bandit(STATIONARY, noise_scale=0.3)
    told = dict(noise_scale=0.3, norm_bound=environment.norm_bound(NUM_EPISODES))
    small = build(BANDIT, "d_lin_ucb", rate=RATE, **told, radius_scale=0.2)
    found = audited(small, environment, num_runs=3)["concentration"]
    assert found.reading == "not promised: radius is 0.20 × theory's"
    assert found.failing_runs == 3
    assert 0 < found.violations < found.checked


def test_values_beyond_the_horizon_are_found() -> None:
    """Without the clip at H the estimates grow from step to step."""
    unclipped = LeastSquares(SPEC, ExponentialWeights(RATE), Ucb(1e5), clip="none")
    assert {"bounded_weights", "transition_concentration"} <= violated(audited(unclipped, make()))


def test_the_bias_lemma_as_printed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the masses μ(S) as they stand, the variation of probability measures is 0 whatever they do."""
    monkeypatch.setattr(subject, "_mass", lambda mu: np.linalg.norm(mu.sum(-1), axis=-1))
    found = violated(audited(agent("sw_lsvi_ucb"), make(), beta_scale=1.0))
    assert found == {"transition_bias", "sharp_transition_bias"}


def test_successors_of_another_model_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values are at the top, the good state pays one; the other is said to follow, and seldom does."""
    theta, mu = np.array([[[1.0, 0.0]] * 2]), np.array([[[[0.95, 0.05]] * 2] * 2])
    environment = LinearMdp(np.eye(2)[:, None], theta, mu, np.array([1.0, 0.0]), dw.drift.Constant())
    bold = LeastSquares(Spec(2, 1, 2, 2), NoForgetting(), Ucb(300.0))
    said = Model(theta[0], mu[0, ..., ::-1])
    monkeypatch.setattr(subject.Subject, "model", lambda self, t: said)
    assert violated(audited(bold, environment, num_episodes=400, stride=400, delta=0.5)) == {"surprises"}


def test_drift_that_is_not_told_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    still = np.zeros((NUM_EPISODES - 1, 1))
    monkeypatch.setattr(subject.Subject, "moves", (still, still))
    found = audited(agent("lin_ucb"), make_bandit(noise_scale=0.3))
    assert violated(found) == {"reward_bias", "sharp_reward_bias"}


def test_weights_that_do_not_fit_the_gram_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    learnt(gram=lambda after: 0.9 * after.gram)(monkeypatch)
    light = LeastSquares(BANDIT, ExponentialWeights(RATE), Ucb(3.0), ridge=1e-3, clip="none")
    assert "weighted_features" in violated(audited(light, make_bandit(STATIONARY)))


def test_a_matrix_of_squared_weights_that_is_too_large_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    learnt(gram_sq=lambda after: after.gram)(monkeypatch)
    assert "determinant" in violated(audited(agent("d_lin_ucb"), make_bandit(STATIONARY)))
