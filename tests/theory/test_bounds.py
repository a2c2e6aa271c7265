"""Bounds: their terms against the proofs, their exponents against their growth, and what they promise."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false, reportOptionalOperand=false, reportAttributeAccessIssue=false
# pyright: reportOperatorIssue=false

import functools
import inspect
import itertools
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from driftwise.algorithms import ALGORITHMS
from driftwise.algorithms.algorithm import register
from driftwise.base import Moments, Radius, Sample, Spec, Variation
from driftwise.parts import ExponentialWeights, LeastSquares, NoForgetting, PeriodicRestart, SlidingWindow
from driftwise.parts.regression import empty_moments
from driftwise.theory.bounds import BOUNDS, stated_bound
from driftwise.theory.bounds import terms as bound_terms
from driftwise.theory.bounds.bound import Bound, BoundValue, Setting, best_memory, first_useful_length
from tests.examples import refused

EXPLICIT = [name for name, bound in BOUNDS.items() if not bound.rate_only]
TUNED = [name for name in EXPLICIT if BOUNDS[name].algorithm in ALGORITHMS]


def setting_for(bound: Bound, **changes: Any) -> Setting:
    """Sizes at which the leading terms lead."""
    own = {} if bound.problem == "linear bandit" else dict(horizon=10**4)
    return Setting(**dict(dim=100, num_episodes=10**12, variation=1e6) | own | changes)


@pytest.fixture
def without_logarithms(monkeypatch: pytest.MonkeyPatch) -> None:
    """Logarithms of the sizes are constants, so that powers can be told apart."""
    plain = SimpleNamespace(**vars(math) | dict(log1p=lambda _: 1.0))
    monkeypatch.setattr(bound_terms, "math", plain)
    monkeypatch.setattr(bound_terms, "analysis_window", lambda setting, memory: math.ceil(60 * memory))
    monkeypatch.setattr(bound_terms, "bandit_radius", lambda dim, ridge, **_: ridge**0.5 + dim**0.5)
    for name in ("opt_wlsvi_radius", "lsvi_ucb_radius"):
        monkeypatch.setattr(bound_terms, name, lambda dim, horizon, **_: dim * horizon)


def test_theorem_1_is_the_sum_of_the_four_terms_of_its_proof():
    """Equations (22) to (25) with η = e^{−1/50}, written out."""
    d, H, K, delta, variation, rate = 3, 4, 5000, 0.1, 2.0, math.exp(-1 / 50)
    beta = 0.5 * d * H * math.sqrt(math.log(2 * d * H * K / (delta * (1 - rate))))
    window = math.ceil(math.log(K / (1 - rate)) / math.log(1 / rate))
    widths = H * math.sqrt(K) * math.sqrt(2 * d * K / 50 + 2 * d * math.log(1 + 1 / (d * (1 - rate))))
    expected = {
        "exploration": 2 * beta * widths,
        "martingale": 4 * math.sqrt(H**3 * K * math.log(4 / delta)),
        "drift": 4 * H * math.sqrt(d / (1 - rate)) * window * variation,
        "what is older": 4 * H * 4 * H * K * math.sqrt(d) * rate**window / (1 - rate),
    }
    setting = Setting(d, K, variation, horizon=H, delta=delta, constant=0.5)
    found = BOUNDS["theorem_1"].evaluate(setting, memory=50.0)
    assert found.terms == pytest.approx(expected, rel=1e-5)
    assert found.total == pytest.approx(sum(expected.values()), rel=1e-5)
    assert found.radius == pytest.approx(beta, rel=1e-9)


def test_sw_ucb_is_the_sum_of_the_two_terms_of_proposition_1():
    d, K, W, variation = 3, 5000, 60, 2.0
    beta = 1 + 0.2 * math.sqrt(2 * math.log(K / 0.1) + d * math.log(1 + W / d))
    found = BOUNDS["sw_lin_ucb"].evaluate(Setting(d, K, variation, delta=0.1, noise_scale=0.2), memory=W)
    widths = math.sqrt(2 * d * K * math.ceil(K / W) * math.log(1 + W / d))
    assert found.terms == pytest.approx(
        {"exploration": 2 * beta * widths, "drift": 2 * math.sqrt(d * W) * W * variation}, rel=1e-9
    )


def test_the_total_of_theorem_1_is_equation_10():
    """As the theorem has it (H² in the first term), in another order than the proof, with Corollary 1's η."""
    d, H, K, delta, variation = 10, 5, 10**6, 0.05, 20.0
    forgotten = math.sqrt(variation / (d * K))  # log(1/η)
    remembered = 1 / -math.expm1(-forgotten)
    iota = math.log(2 * d * H * K * remembered / delta)
    window = math.ceil(math.log(K * remembered) / forgotten)
    explored = d**1.5 * H**2 * math.sqrt(8 * K * iota * (K * forgotten + math.log1p(remembered / d)))
    by_chance = 4 * H**1.5 * math.sqrt(K * math.log(4 / delta))
    misled = 4 * H * math.sqrt(d * remembered) * window * variation
    older = 16 * H**2 * K * math.sqrt(d) * math.exp(-window * forgotten) * remembered
    found = BOUNDS["theorem_1"].evaluate(Setting(d, K, variation, horizon=H))
    assert found.total == pytest.approx(explored + by_chance + misled + older, rel=1e-9)


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_says_where_it_is_from_and_what_it_is_about_and_no_term_is_negative(name):
    bound = BOUNDS[name]
    assert bound.name == name
    assert bound.source
    assert all(term.formula for term in bound.terms)
    assert (bound.status == "withdrawn") == name.endswith("_published")
    assert bound.algorithm in ALGORITHMS or (bound.rate_only and not bound.options)
    for variation, num_episodes in itertools.product((0.0, 0.3, 50.0), (1, 7, 4000)):
        found = bound.evaluate(setting_for(bound, variation=variation, num_episodes=num_episodes))
        assert list(found.terms) == [term.name for term in bound.terms]
        assert min(found.terms.values()) >= 0


@pytest.mark.usefixtures("without_logarithms")
@pytest.mark.parametrize("name", BOUNDS)
def test_declared_exponents_are_how_the_bound_grows(name):
    bound = BOUNDS[name]
    base = setting_for(bound, variation=1e6 if bound.exponents.variation else 0.0)
    in_play = [axis for axis in bound.exponents._fields if getattr(base, axis) > 1]

    def size(setting: Setting) -> float:
        found = bound.evaluate(setting)  # of d^7 H^8 and the like, no run is so long that another term leads
        return next(iter(found.terms.values())) if bound.rate_only else found.total

    for axis in in_play:
        larger = replace(base, **{axis: 10 * getattr(base, axis)})
        grown = math.log10(size(larger) / size(base))
        assert grown == pytest.approx(float(getattr(bound.exponents, axis)), abs=0.04), axis


def test_exponents_are_written_as_in_the_table_of_algorithms():
    assert BOUNDS["theorem_1"].summary == "d^(5/4) H^2 Δ^(1/4) K^(3/4)"
    assert BOUNDS["lsvi_ucb"].summary == "d^(3/2) H^2 K^(1/2), stationary"
    assert BOUNDS["sw_lsvi_ucb"].summary == "d^(5/4) H^2 Δ^(1/4) K^(3/4), ours"
    assert BOUNDS["d_lin_ucb_orthogonal"].summary == "d^(2/3) Δ^(1/3) K^(2/3), orthogonal arms"


@pytest.mark.parametrize("name", sorted({bound.algorithm for bound in BOUNDS.values()} - {"any"}))
def test_the_table_of_algorithms_has_the_bound_of_the_catalogue(name):
    stated = stated_bound(name)
    assert stated is not None
    assert ALGORITHMS[name].bound == stated.summary


def test_a_bound_in_two_places_and_in_none_is_refused():
    row = dict(problem="linear MDP", forgetting="none", exploration="none", paper="none")
    for name, own, found in (("lsvi_ucb", "K", "both"), ("of_nobody", "", "neither")):

        def recipe(spec: Spec) -> LeastSquares:
            raise NotImplementedError

        recipe.__name__ = name
        with pytest.raises(ValueError, match=f"^bound of {name} must stand in the catalogue .* got {found}$"):
            register(**row, bound=own)(recipe)


def agent_of(found: BoundValue) -> LeastSquares:
    setting, bound = found.setting, found.bound
    bandit = bound.problem == "linear bandit"
    known: dict[str, Any] = dict(num_episodes=setting.num_episodes, variation=setting.variation, delta=0.05)
    spec = Spec(num_states=3, num_actions=2, dim=setting.dim, horizon=setting.horizon)
    if bandit:
        spec, known = Spec.bandit(dim=setting.dim, num_arms=5), known | dict(noise_scale=0.5)
    if bound.options.get("local_variation") == "known":
        known["variations"] = Variation(*np.zeros((2, setting.num_episodes - 1)))
    agent = ALGORITHMS[bound.algorithm].tuned(spec, **known, **bound.options)
    assert isinstance(agent, LeastSquares)
    return agent


@pytest.mark.parametrize("name", TUNED)
def test_a_bound_is_evaluated_at_the_parameters_of_the_tuned_recipe(name):
    horizon = 4 if BOUNDS[name].problem == "linear MDP" else 1
    found = BOUNDS[name].evaluate(Setting(4, 2000, 3.0, horizon=horizon))
    agent, given = agent_of(found), found.parameters
    kinds: dict[str, Any] = {"rate": ExponentialWeights, "length": SlidingWindow, "period": PeriodicRestart}
    kind = next((kinds[parameter] for parameter in given), NoForgetting)
    assert type(agent.forgetting) is kind
    for parameter, value in given.items():
        assert getattr(agent.forgetting, parameter) == pytest.approx(value, rel=1e-12)
    assert agent.ridge == found.setting.ridge
    radius = agent.exploration.radius
    if isinstance(radius, Radius):
        radius = float(radius.at(moments_at_the_end(agent, found.setting.num_episodes)))
    assert radius == pytest.approx(found.radius, rel=1e-12)


def moments_at_the_end(agent: LeastSquares, num_episodes: int) -> Moments:
    """After the run; where it restarts, after the last episode of the first epoch, before all is dropped."""
    forgetting, horizon, dim = agent.forgetting, agent.spec.horizon, agent.spec.dim
    if isinstance(forgetting, PeriodicRestart):
        forgetting, num_episodes = NoForgetting(), int(forgetting.period)
    none, phis = np.zeros(horizon), np.random.default_rng(0).normal(size=(num_episodes, horizon, dim))
    samples = [Sample(phi, none, none.astype(int), none + 1) for phi in phis]
    moments = forgetting.init(empty_moments(samples[0], 0, agent.ridge, gram_sq=False), samples[0])
    return functools.reduce(forgetting.update, samples, moments)


@pytest.mark.parametrize("name", ["theorem_1", "theorem_1_horizon_aware", "theorem_1_ridge_dim"])
@pytest.mark.parametrize("horizon", [1, 10, 50])
@pytest.mark.parametrize("num_episodes", [10**4, 10**6, 10**8])
def test_the_best_rate_is_that_of_the_tuning_up_to_a_constant(name, horizon, num_episodes):
    for dim, variation in itertools.product((2, 20), (0.5, 20.0)):
        setting, bound = Setting(dim, num_episodes, variation, horizon=horizon), BOUNDS[name]
        best, tuned = best_memory(bound, setting), bound.evaluate(setting).memory
        assert 0.1 < min(best, num_episodes) / min(tuned, num_episodes) < 10


def test_the_best_rate_scales_as_theory_says():
    """log(1/η) ∝ (Δ/(dHK))^½: the powers of Corollary 1, and H, which it leaves out."""
    bound = BOUNDS["theorem_1"]
    base = Setting(10, 10**9, 10.0, horizon=10)
    for axis, power in (("dim", -0.5), ("num_episodes", -0.5), ("variation", 0.5), ("horizon", -0.5)):
        larger = replace(base, **{axis: 10 * getattr(base, axis)})
        ratio = best_memory(bound, base) / best_memory(bound, larger)
        assert math.log10(ratio) == pytest.approx(power, abs=0.06), axis


def test_without_variation_nothing_is_lost_to_drift_and_theorem_1_is_lsvi_ucb_with_its_own_radius():
    still = Setting(6, 10**4, 0.0, horizon=5)
    weighted, stationary = (BOUNDS[name].evaluate(still) for name in ("theorem_1", "lsvi_ucb"))
    assert weighted.terms["drift"] == weighted.terms["what is older"] == 0
    ratio = weighted.terms["exploration"] / stationary.terms["exploration"]
    assert ratio == pytest.approx(weighted.radius / stationary.radius)


def test_lower_bounds_are_below_what_is_proven():
    for lower, problem in (("lower_mdp", "linear MDP"), ("lower_bandit", "linear bandit")):
        for dim, variation, num_episodes in itertools.product((2, 50), (1.0, 100.0), (10**4, 10**12)):
            setting = Setting(dim, num_episodes, variation)
            below = BOUNDS[lower].evaluate(setting).total
            for bound in BOUNDS.values():
                upper = bound.side == "upper" and bound.status != "withdrawn" and bound.applies_to(setting)
                if bound.problem == problem and upper:
                    assert below <= bound.evaluate(setting).total


def test_a_rate_without_variation_is_about_what_does_not_vary():
    still, varying = Setting(4, 10**9, 0.0, horizon=3), Setting(4, 10**9, 1.0, horizon=3)
    for name in ("lsvi_ucb_plus_plus", "ucrl_vtr", "ucrl_vtr_plus"):
        assert (BOUNDS[name].applies_to(still), BOUNDS[name].applies_to(varying)) == (True, False)
        assert BOUNDS["lower_mixture"].evaluate(still).total <= BOUNDS[name].evaluate(still).total
    assert BOUNDS["lsvi_ucb"].applies_to(varying)  # which has a term for it
    assert BOUNDS["lower_mixture"].applies_to(varying)  # nobody can do better where more may happen
    found = BOUNDS["ucrl_vtr_plus"].evaluate(replace(still, num_episodes=100)).total  # Theorem 6, by hand
    assert found == pytest.approx((4 * 3 + 2 * 9 / 3**0.5) * (3 * 100) ** 0.5 + 16 * 27 + 64 * 9)


def test_the_correction_costs_and_what_is_ours_is_of_one_proof():
    """No bound of ours splits the past, so that they differ by their tunings alone."""
    for name in ("sw_lin_ucb", "restart_lin_ucb", "d_lin_ucb"):
        bounds = (BOUNDS[name + suffix] for suffix in ("", "_ridge_dim", "_published"))
        corrected, *others = (bound.evaluate(Setting(10, 10**6, 10.0)).total for bound in bounds)
        assert max(others) < corrected
    ours = [bound for bound in BOUNDS.values() if bound.status == "ours" or bound.name == "weight_ucb"]
    assert not [bound.name for bound in ours if "what is older" in {term.name for term in bound.terms}]
    setting = Setting(5, 10**5, 1.0)
    alike = (BOUNDS[name].evaluate(setting).total for name in ("weight_ucb", "d_lin_ucb_ridge_dim"))
    assert len({*alike}) == 1
    for name in ("theorem_1", "d_lin_ucb"):
        unsplit, split = (BOUNDS[each].evaluate(setting) for each in (f"{name}_unsplit", name))
        assert unsplit.memory == split.memory
        assert unsplit.total < split.total


def test_bounds_on_mdps_are_about_values_that_are_not_negative():
    spec = Spec(num_states=2, num_actions=2, dim=3, horizon=2)
    for bound in BOUNDS.values():
        of_values = bound.side == "upper" and ALGORITHMS[bound.algorithm].takes("clip")
        if bound.problem == "linear MDP" and of_values:
            assert bound.options["clip"] == "tight", bound.name
            made = inspect.signature(ALGORITHMS[bound.algorithm].tuned).bind_partial(spec, **bound.options)
            assert made.arguments["clip"] == "tight"


def test_bad_requests_are_refused():
    setting = Setting(2, 100, 1.0, horizon=3)
    with refused("horizon must be 1 for a linear bandit, got 3"):
        BOUNDS["oful"].evaluate(setting)
    with refused("memory must be a number above 0, got 0"):
        BOUNDS["theorem_1"].evaluate(setting, memory=0)
    with refused("growth must be one of fixed, proportional, got 'linear'"):
        first_useful_length(BOUNDS["theorem_1"], setting, growth="linear")
    for field, words in (("status", "proven, .*"), ("problem", "linear bandit, .*")):
        with pytest.raises(ValueError, match=f"^{field} must be one of {words} got 'other'"):
            replace(BOUNDS["oful"], **{field: "other"})
