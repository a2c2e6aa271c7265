"""The audit finds nothing where the theory is kept, and says how much of every bound is used."""

import dataclasses
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.algorithms import ALGORITHMS, adaptive, ucbvi
from driftwise.analysis.audit import LEMMAS, audit_agent, audit_by_hand, audit_study, builtin_experiments
from driftwise.analysis.audit.findings import AuditFinding, beyond_chance, worst_of
from driftwise.analysis.audit.reference import recomputed_policy, recomputed_width
from driftwise.analysis.audit.snapshot import Snapshot, Trace, observe_run
from driftwise.analysis.audit.subject import Subject, bias_bound
from driftwise.base import Array, Moments, Radius
from driftwise.base.part import part
from driftwise.environments import hard_instance, random_linear_mdp
from driftwise.environments.models.linear_bandit import SignFlips
from driftwise.experiments import experiment_of, prepare
from driftwise.parts import ConfidenceRadius, ExponentialWeights, Greedy, LeastSquares, SlidingWindow, Ucb
from driftwise.theory.tuning import lsvi_ucb_radius
from tests.examples import BANDIT, DRIFTS, NUM_EPISODES, SPEC, STATIONARY, agent, make, make_bandit

PROVEN = {name: DRIFTS.get(name, STATIONARY) for name in ("stationary", "abrupt", "gradual")}
MDP_AGENTS = ("opt_wlsvi", "lsvi_ucb", "sw_lsvi_ucb", "lsvi_ucb_restart")
BANDIT_AGENTS = ("d_lin_ucb", "weight_ucb", "sw_lin_ucb", "lin_ucb", "restart_lin_ucb", "oracle_restart")
OF_AGENTS = {name for name, lemma in LEMMAS.items() if lemma.view in (Snapshot, Trace)}
RATE = 0.9
DOCS = Path(__file__).parents[2] / "docs" / "audit.md"


def audited(agent: Any, environment: Any, **options: Any) -> dict[str, AuditFinding]:
    """The findings by statement."""
    found, _ = audit_agent(agent, environment, **{"num_episodes": NUM_EPISODES, "stride": 3, **options})
    return {finding.statement: finding for finding in found}


def violated(found: dict[str, AuditFinding]) -> set[str]:
    return {name for name, finding in found.items() if finding.violated}


@pytest.mark.parametrize("drift", PROVEN)
@pytest.mark.parametrize("name", MDP_AGENTS)
def test_nothing_is_violated_with_the_radius_of_theory(name: str, drift: str) -> None:
    found = audited(agent(name), make(drift=PROVEN[drift]), beta_scale=1.0)
    assert violated(found) == set()
    missing = {"reward_concentration", "failures", "learnt_noise", "radius"}  # no noise; β is a number
    assert found.keys() == OF_AGENTS - missing
    assert 0 < found["key_lemma"].worst_ratio < 1


@pytest.mark.parametrize("drift", PROVEN)
@pytest.mark.parametrize("name", BANDIT_AGENTS)
def test_nothing_is_violated_by_bandits_with_true_noise(name: str, drift: str) -> None:
    environment = make_bandit(PROVEN[drift], noise_scale=0.3)
    found = audited(agent(name), environment, num_runs=3)
    assert violated(found) == set()
    assert 0.1 < found["concentration"].worst_ratio < 1
    assert found["concentration"].runs == 3


@pytest.mark.parametrize("name", ["epsilon_greedy", "greedy", "lin_ts"])
def test_bandits_that_explore_otherwise_do_what_they_say(name: str) -> None:
    found = audited(agent(name), make_bandit(noise_scale=0.3))
    assert violated(found) == set()
    assert {"index", "policy", "action"} <= found.keys()


@pytest.mark.parametrize("clip", ["paper", "tight", "range", "none"])
def test_values_are_clipped_as_the_agent_says(clip: Any) -> None:
    """A ridge of one hundredth and a radius of 2: some values are at the top, and some are not."""
    clipped = least_squares(Ucb(2.0), ridge=1e-2, clip=clip)
    assert violated(audited(clipped, make(), num_episodes=20)) & {"value", "index", "estimator"} == set()


def test_every_case_is_as_computed_by_hand() -> None:
    audit = audit_by_hand()
    for finding in audit.findings:
        assert finding.verdict == ("attained" if finding.worst_ratio > 1 / 2 else "as computed")
    assert {finding.group for finding in audit.findings} == {"mathematics"}
    tested = {finding.statement for finding in audit.findings}
    sure = {name for name, lemma in LEMMAS.items() if lemma.kind == "always"}
    assert sure - {"failures"} <= tested  # these are all spent or not


def test_a_bound_above_the_trivial_one_says_nothing() -> None:
    found = audited(agent("opt_wlsvi"), make(drift=STATIONARY), beta_scale=1.0)["theorem"]
    assert (found.verdict, found.silent, found.checked) == ("says nothing here", 1, 1)
    bandit = audited(agent("lin_ucb"), make_bandit(STATIONARY, noise_scale=0.3))["sum_of_widths"]
    assert (bandit.verdict, bandit.silent) == ("holds", 0)


def test_a_radius_that_is_a_number_is_held_against_theorys() -> None:
    environment, sizes = make(drift=STATIONARY), dict(dim=SPEC.dim, horizon=SPEC.horizon)
    whole = lsvi_ucb_radius(**sizes, num_episodes=NUM_EPISODES, delta=0.05)
    for share in (0.25, 1.0, 3.0):
        found = audited(ALGORITHMS["lsvi_ucb"](SPEC, radius=share * whole), environment)
        assert found["optimism"].radius_share == pytest.approx(share)
        assert violated(found) == set()
        assert ("× theory's" in found["theory_radius"].reading) == (share != 1)
        assert found["surprises"].radius_share is None


def test_theorys_radius_has_the_true_noise() -> None:
    """An agent that is told too little noise has a radius below theory's."""
    found = audited(agent("lin_ucb"), make_bandit(STATIONARY, noise_scale=0.9))
    assert found["optimism"].radius_share is not None
    assert 1 / 3 < found["optimism"].radius_share < 1


@part
class StrangeRadius(Radius):
    """A radius of someone else."""

    def at(self, moments: Moments) -> Array:
        return moments.gram[..., 0, 0] * 0 + 1.0


NOISY = make_bandit(noise_scale=0.3)
CORRUPTED = make_bandit(noise_scale=0.3, corruption=SignFlips(1.0))
least_squares = partial(LeastSquares, SPEC, ExponentialWeights(RATE))


@pytest.mark.parametrize(
    ("agent", "environment", "statement", "reason"),
    [
        (agent("oppo"), make("latent_chains"), "", "it is a PolicyOptimisation, no least-squares agent"),
        (agent("ucrl_vtr"), make("latent_chains"), "", "it is a ValueTargeted, no least-squares agent"),
        (agent("matrix_rl"), make("latent_chains"), "", "its regression is another one: it needs "),
        (adaptive(ucbvi(SPEC, scale=0.1)), make(), "", "it is a CountingValueIteration, no "),
        (agent("cw_oful"), NOISY, "", "its samples have weights that no statement is about"),
        (agent("lin_ucb"), CORRUPTED, "", "the rewards of linear_bandit are corrupted"),
        (agent("weight_ucb"), NOISY, "gram_sq_recursion", "the exploration makes no use of Σ ω² φφᵀ"),
        (least_squares(Greedy()), make(), "optimism", "the exploration is not UCB"),
        (least_squares(Ucb(StrangeRadius())), make(), "radius", "no formula of its radius is known here"),
    ],
)
def test_what_is_skipped_has_a_reason(agent: Any, environment: Any, statement: str, reason: str) -> None:
    found, skipped = audit_agent(agent, environment, num_episodes=5)
    (why,) = (each.why for each in skipped if each.statement == statement)
    assert why.startswith(reason)
    assert bool(found) == bool(statement)
    assert not found or {"gram_recursion", "value", "reward_bias"} <= {each.statement for each in found}


@pytest.mark.parametrize("drift", PROVEN)
def test_the_bias_of_the_key_lemma_can_be_half_as_large(drift: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bias_r + H bias_P` instead of `2H (bias_r + bias_P)`, in all statements that have it."""

    def once(run: Snapshot) -> np.ndarray:
        of_rewards, of_transitions = run.biases
        return of_rewards + run.subject.spec.horizon * of_transitions

    monkeypatch.setattr(Snapshot, "bias", property(once))
    tight = ALGORITHMS["opt_wlsvi"](SPEC, rate=0.5, radius=20.0, clip="tight")
    found = audited(tight, make(drift=PROVEN[drift]))
    assert violated(found) == set()
    assert found["key_lemma"].worst_ratio > 0.1


def test_coins_are_noise_too() -> None:
    found = audited(agent("opt_wlsvi"), make(rewards="bernoulli"), beta_scale=1.0)
    assert violated(found) == set()
    assert 0.1 < found["reward_concentration"].worst_ratio < 1
    assert "reward_variance" not in found


def test_the_bound_on_widths_is_russacs() -> None:
    dim, horizon, rate = SPEC.dim, SPEC.horizon, RATE
    memory = (1 - rate**NUM_EPISODES) / (1 - rate)
    potential = 2 * dim * (NUM_EPISODES * np.log(1 / rate) + np.log1p(memory / dim))
    found = audited(agent("opt_wlsvi"), make())["sum_of_widths"]
    bound = found.median_margin / (1 - found.worst_ratio)
    assert bound == pytest.approx(horizon * np.sqrt(NUM_EPISODES * potential))


@pytest.mark.parametrize("period", [1, 2, NUM_EPISODES])
def test_widths_of_the_last_episode_of_an_epoch_count(period: int) -> None:
    found = audited(ALGORITHMS["lsvi_ucb_restart"](SPEC, period=period, radius=9.0), make())["sum_of_widths"]
    potential = 2 * SPEC.dim * -(-NUM_EPISODES // period) * np.log1p(period / SPEC.dim)
    assert not found.violated
    bound = found.median_margin / (1 - found.worst_ratio)
    assert bound == pytest.approx(SPEC.horizon * np.sqrt(NUM_EPISODES * potential))


def test_the_run_is_the_simulators() -> None:
    environment, looked_at = make(), agent("opt_wlsvi")
    result = dw.simulate(looked_at, environment, num_episodes=NUM_EPISODES, num_runs=3)
    bound = audited(looked_at, environment, num_runs=3)["theorem"]
    regrets = result.cumulative_regret[:, -1]
    right = bound.median_margin + float(np.median(regrets))  # is the same in all runs: the radius is a number
    assert bound.worst_ratio == pytest.approx(float(regrets.max()) / right, rel=1e-9)


def test_the_stride_thins_what_is_checked_and_keeps_the_last_episode() -> None:
    for stride, checked in ((1, 11), (4, 4), (100, 2)):  # of stride 4: 0, 4, 8 and 10
        found = audited(agent("opt_wlsvi"), make(), num_episodes=11, stride=stride)
        assert found["weighted_features"].checked == checked * SPEC.horizon


@pytest.mark.parametrize(
    ("failing", "runs", "expected"),
    [(0, 1, False), (1, 1, True), (1, 10, False), (2, 10, False), (3, 10, True)],
)
def test_failures_count_beyond_chance(failing: int, runs: int, expected: bool) -> None:
    assert beyond_chance(failing, runs, 0.05) is expected
    assert beyond_chance(failing, runs, 0.0) is (failing > 0)


def test_the_bias_bound_is_at_most_the_printed_one_for_every_window() -> None:
    rng = np.random.default_rng(0)
    dim, ridge, tick = 4, 0.5, 12
    moves, weights = rng.random((tick, 2)), ExponentialWeights(RATE).weights(tick)
    bound = bias_bound(weights, moves, dim, ridge, np.sqrt(dim))
    for length in range(1, tick):
        printed = np.sqrt(dim / (ridge * (1 - RATE))) * moves[-length:].sum(0)
        printed += 2 * np.sqrt(dim) * RATE**length / (ridge * (1 - RATE))
        assert (bound <= printed).all()


def test_the_bias_bound_of_a_window_is_that_of_the_window() -> None:
    moves = np.full((12, 1), 0.01)
    bound = bias_bound(SlidingWindow(5).weights(12), moves, 3, 2.0, 1.0)
    assert bound == pytest.approx(np.sqrt(3 * 5 / 2) * 5 * 0.01)


def test_the_worst_of_findings_has_the_counts_of_all() -> None:
    near, far = (audited(agent("opt_wlsvi"), make(), beta_scale=scale)["optimism"] for scale in (0.5, 2.0))
    (worst,) = worst_of([far, near])
    assert worst.worst_ratio == near.worst_ratio > far.worst_ratio
    assert worst.checked == near.checked + far.checked


def test_every_statement_says_what_and_where_and_mathematics_is_what_the_agent_cannot_break() -> None:
    for name, lemma in LEMMAS.items():
        assert lemma.where, name
        assert any(sign in lemma.formula for sign in "≤="), name
    biases = ["reward_bias", "transition_bias", "sharp_reward_bias", "sharp_transition_bias"]
    expected = ["linear_q", *biases, "reward_variance", "reward_concentration"]
    assert [name for name, lemma in LEMMAS.items() if lemma.group == "mathematics"] == expected


def test_a_statement_with_an_unknown_condition_is_not_checked_as_if_it_were_met(monkeypatch) -> None:
    monkeypatch.setitem(LEMMAS, "misspelt", dataclasses.replace(LEMMAS["optimism"], needs=("optimsm",)))
    with pytest.raises(KeyError, match="optimsm"):
        audited(agent("epsilon_greedy_lsvi"), make())


def test_an_environment_that_is_met_for_a_part_is_audited_in_that_part() -> None:
    table = dict(type="random_linear_mdp", num_states=6, num_actions=2, dim=12, horizon=3)
    environments = {"half": {**table, "episodes": "50%"}, "whole": table}
    agents = {"LSVI-UCB": dict(algorithm="lsvi_ucb", radius=9.0)}
    sizes: dict[str, Any] = dict(name="parts", summary="Parts of a run", episodes=NUM_EPISODES, runs=1)
    parts = experiment_of({**sizes, "environments": environments, "agents": agents})
    audit = audit_study(prepare(parts, num_runs=1), stride=1)
    checked = {each.environment: each.checked for each in audit.findings if each.statement == "determinant"}
    assert checked == {"half": 20 * 3, "whole": 40 * 3}
    assert audit.sizes == ("20 (half) + 40 (whole) episodes", "1 run", "seed 0", "checked every episode")
    longer = audit_study(prepare(parts, num_episodes=402, num_runs=1))
    assert longer.strides == {"half": 2, "whole": 3}
    assert longer.sizes[-1] == "about 200 episodes of each checked at most"


def rescaled(agent: Any, environment: Any, scale: float) -> Any:
    found = Subject(agent, environment, NUM_EPISODES, 0.05).with_theory_radius(scale)
    return found.agent.exploration.radius  # pyright: ignore


TOLD: list[dict[str, Any]] = [dict(noise_scale=5.0), dict(noise_scale=0.3, confidence="published")]
TOLD += [dict(noise_scale=0.3, radius_scale=0.5), dict(radius=2.0)]


@pytest.mark.parametrize("told", TOLD)
def test_theorys_radius_is_one_whatever_the_agent_was_told(told: dict[str, Any]) -> None:
    """Each is told something else: of the noise, of δ, a scale, or a number."""
    other = ALGORITHMS["d_lin_ucb"](BANDIT, rate=0.9, **told)
    for scale in (0.5, 1.0):
        found = audited(other, make_bandit(STATIONARY, noise_scale=0.3), beta_scale=scale)
        assert found["theory_radius"].radius_share == pytest.approx(scale)
        assert violated(found) == set()


def test_a_radius_for_bandits_promises_nothing_in_an_mdp() -> None:
    small = least_squares(Ucb(ConfidenceRadius(noise_scale=0.01, norm_bound=0.01)))
    found = audited(small, make(drift=STATIONARY), num_episodes=14)
    assert found["optimism"].verdict == "not promised"
    assert violated(found) == set()
    assert audited(small, make(drift=STATIONARY), beta_scale=1.0)["theory_radius"].radius_share == 1


def test_what_a_radius_is_told_of_the_drift_is_not_scaled() -> None:
    environment = make()
    known: dict[str, Any] = dict(variations=environment.variation(NUM_EPISODES), local_variation="known")
    run: dict[str, Any] = dict(num_episodes=NUM_EPISODES, variation=3.0, beta_scale=0.1)
    told = ALGORITHMS["lsvi_ucb_restart"].tuned(environment.spec, **run, **known)
    radius = told.exploration.radius  # pyright: ignore
    found = rescaled(told, environment, 1.0)
    assert found.radius == pytest.approx(10 * radius.radius)
    assert found.reward_variation == radius.reward_variation


def test_an_mdp_of_one_step_is_no_bandit() -> None:
    single = random_linear_mdp(num_states=6, num_actions=2, dim=12, horizon=1)
    found = rescaled(ALGORITHMS["lsvi_ucb"](single.spec, radius=0.1), single, 1.0)
    expected = lsvi_ucb_radius(dim=12, horizon=1, num_episodes=NUM_EPISODES, delta=0.05)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("name", ["d_lin_ucb", "weight_ucb", "lin_ucb"])
def test_widths_that_are_summed_are_those_of_the_bonus(name: str) -> None:
    subject = Subject(agent(name), make_bandit(noise_scale=0.3), 10, 0.05)  # pyright: ignore
    *snapshots, trace = observe_run(subject)
    assert isinstance(trace, Trace)
    seen = [recomputed_width(each)[0] for each in snapshots if isinstance(each, Snapshot)]
    assert all(np.isclose(width, among).any() for (width,), among in zip(trace.widths, seen, strict=True))


@pytest.mark.slow
def test_builtin_experiments_hold_and_are_as_the_docs_say() -> None:
    """To the last digit that is written there."""
    experiments = builtin_experiments()
    audits = [audit_study(prepare(each, num_runs=1)) for each in experiments]
    for experiment, audit in zip(experiments, audits, strict=True):
        pairs = {(each.environment, each.agent) for each in audit.findings}
        assert len(pairs) == len(experiment.environments or ()) * len(experiment.agents)
    found = [finding for each in audits for finding in each.findings]
    assert not [finding for finding in found if finding.violated]
    assert {finding.statement for finding in found if finding.verdict != "vacuous"} == LEMMAS.keys()
    worst = {each.name: {one.statement: one for one in worst_of(each.findings)} for each in audits}
    row = r"^\| `(\w+)` \|" + r" ?([\d.]*) \|" * 4 + "$"
    rows = re.findall(row, DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    inequalities = {name for name, lemma in LEMMAS.items() if lemma.kind != "identity"}
    assert {name for name, *_ in rows} == inequalities - {"theory_radius", "failures"}
    for name, *cells in rows:
        for audit, written in zip(("audit-mdp", "audit-bandit"), (cells[:2], cells[2:]), strict=True):
            one = worst[audit].get(name)
            assert bool(written[0]) == (one is not None), name
            ratios = () if one is None else (one.worst_ratio, one.median_ratio)
            for text, ratio in zip(written, ratios, strict=False):
                digit = 10.0 ** -len(text.partition(".")[2])
                assert text == "" or abs(float(text) - ratio) < 0.51 * digit, name


@pytest.mark.parametrize(("gap", "tied"), [(1e-13, True), (1e-8, False)])
def test_actions_are_tied_only_where_rounding_could_tell_them_apart(gap: float, tied: bool) -> None:
    subject = Subject(agent("lsvi_ucb"), make(), 1, 0.05)  # pyright: ignore
    run = next(iter(observe_run(subject)))
    assert isinstance(run, Snapshot)
    q = np.full_like(run.plan.q, 1.0)
    q[..., 1] -= gap
    policy = recomputed_policy(dataclasses.replace(run, plan=run.plan._replace(q=q)))
    assert (policy == ([0.5, 0.5] if tied else [1.0, 0.0])).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(num_episodes=0), "num_episodes must be a positive integer, got 0"),
        (dict(num_episodes=3, stride=0), "stride must be a positive integer, got 0"),
        (dict(num_episodes=3, delta=0), "delta must be a number in (0, 1], got 0"),
        (dict(num_episodes=3, beta_scale=-1), "beta_scale must be a number of at least 0, got -1"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="must be") as error:
        audit_agent(ALGORITHMS["opt_wlsvi"](SPEC, rate=0.9, radius=1), make(), **options)
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["opt_wlsvi", "lsvi_ucb"])
def test_the_radius_of_theory_is_that_for_the_true_measures(name: str) -> None:
    with pytest.warns(UserWarning, match="need its mu_bound"):
        environment = hard_instance(num_signs=1, horizon=2)
    run: dict[str, Any] = dict(num_episodes=20, variation=0.0, mu_bound=environment.mu_bound)
    tuned = ALGORITHMS[name].tuned(environment.spec, **run)
    assert isinstance(tuned, LeastSquares)
    assert isinstance(tuned.exploration, Ucb)
    assert Subject(tuned, environment, 20, 0.05).mdp_radius == pytest.approx(tuned.exploration.radius)
