"""The steps that fail do fail, and what replaces them holds."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.environments import LinearMdp
from driftwise.theory import counter_examples
from driftwise.theory.tuning import opt_wlsvi_radius

EXAMPLES = Path(__file__).parents[2] / "examples"


def lowest_form(matrix: np.ndarray) -> float:
    """The least yᵀMy for |y| = 1."""
    return float(np.linalg.eigvalsh(matrix + matrix.T)[0] / 2)


def test_two_matrices_with_one_characteristic_polynomial_differ_in_sign() -> None:
    found = counter_examples.same_characteristic_polynomial()
    assert np.poly(found.matrix) == pytest.approx(np.poly(np.eye(2)))
    assert found.value == -8


def test_a_part_of_the_gram_over_the_gram_is_not_positive() -> None:
    printed = counter_examples.part_of_a_gram(unit_ball=False)
    assert printed.matrix == pytest.approx(np.array([[0.4, 0.0], [-0.2, 0.0]]))
    assert printed.value == pytest.approx(-0.6)
    within = counter_examples.part_of_a_gram()
    assert within.value == pytest.approx(-2 / 7)
    assert lowest_form(within.matrix) < 0


@pytest.mark.parametrize("seed", range(3))
def test_with_orthogonal_actions_it_is_positive(seed: int) -> None:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    actions = basis[rng.integers(4, size=12)]
    share = counter_examples.gram_share(actions, np.arange(12) < 7, ridge=1.0)
    assert lowest_form(share) >= -1e-12


def test_the_published_radius_covers_each_round_and_is_crossed_by_nearly_every_run() -> None:
    found = counter_examples.crossings(num_rounds=3000, num_runs=200)
    assert found.share_at.max() <= 0.05
    assert found.share_by[-1] > 0.5  # ten times what is allowed
    assert (np.diff(found.share_by) >= 0).all()


@pytest.mark.parametrize("change", [dict(shares=3000), dict(shares=0), dict(rate=1.0)])
def test_few_runs_cross_a_radius_that_spreads_delta_or_any_without_forgetting(change: dict[str, Any]) -> None:
    assert counter_examples.crossings(num_rounds=3000, num_runs=200, **change).share_by[-1] <= 0.05


def test_the_recursion_is_the_weighted_sum() -> None:
    found = counter_examples.crossings(num_rounds=30, num_runs=4, rate=0.8, ridge=2.0, seed=5)
    noise = np.random.default_rng(5).normal(size=(4, 30))
    weights = 0.8 ** np.arange(29, -1, -1)
    norm = np.abs(noise @ weights) / np.sqrt((weights**2).sum() + 2.0)
    assert found.ratios[:, -1] * found.radius[-1] == pytest.approx(norm, rel=1e-12)


@pytest.mark.slow
def test_at_length_every_run_crosses_the_published_radius() -> None:
    found = counter_examples.crossings(num_rounds=20_000, num_runs=400)
    assert found.share_by[-1] == 1
    assert counter_examples.crossings(num_rounds=20_000, num_runs=400, shares=20_000).share_by[-1] == 0


def test_measures_whose_masses_cancel_exceed_the_ridge_term_that_the_assumption_allows() -> None:
    found = counter_examples.signed_measures()
    assert found.assumed == pytest.approx(np.sqrt(2))
    assert found.needed == pytest.approx(np.hypot(np.sqrt(2), 9000))
    assert found.ridge_term == pytest.approx(1.35 / 1.01 + 3e-6, rel=1e-9)  # nε² = 0.01, n/2 the other way
    assert found.ridge_bound(np.sqrt(2)) == pytest.approx(0.00426, rel=1e-3)
    assert found.ridge_term <= found.ridge_bound(found.needed)

    run: dict[str, Any] = dict(dim=2, horizon=found.horizon, num_episodes=10**6, delta=0.05, rate=1.0)
    assert found.truth == pytest.approx(2.85)
    assert found.optimistic(opt_wlsvi_radius(**run)) == pytest.approx(1.548, abs=1e-3)
    assert found.optimistic(opt_wlsvi_radius(**run, mu_bound=found.needed)) > found.truth


def test_the_signed_measures_are_a_linear_mdp_that_warns() -> None:
    found = counter_examples.signed_measures(size=0.1)
    theta, mu = np.zeros((1, 3, 2)), np.tile(found.measures, (1, 3, 1, 1))
    with pytest.warns(UserWarning, match=r"\|mu\|\(S\) is 9.11043, above sqrt\(dim\) = 1.41421"):
        environment = LinearMdp(features=found.features, theta=theta, mu=mu, initial=np.array([1.0, 0.0]))
    assert environment.mu_bound == pytest.approx(found.needed)


@pytest.mark.parametrize(
    "name", ["not_positive", "crossing_the_radius", "signed_measures", "how_much_does_it_drift"]
)
def test_the_examples_draw_their_figures(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "figure.png"
    monkeypatch.setattr("sys.argv", [name, str(target)])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert target.read_bytes().startswith(b"\x89PNG")
    assert str(target) in capsys.readouterr().out
