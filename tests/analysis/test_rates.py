"""Environments that are met for parts of a run, and the exponents that are fitted to them."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import driftwise as dw
from driftwise.__main__ import main
from driftwise.analysis.finished import FinishedStudy
from driftwise.analysis.report.data import ReportData, load_report_data, longest
from driftwise.analysis.report.rates import Fit, declared_bound, exponents_table, find_sweeps, is_about
from driftwise.analysis.report.writing import report_html
from driftwise.experiments import EXPERIMENTS, Progress, experiment_of, prepare, run_experiment, run_study
from driftwise.theory.bounds import BOUNDS
from tests.examples import NUM_EPISODES, NUM_RUNS

AGENTS: dict[str, Any] = {
    "D-LinUCB": dict(algorithm="d_lin_ucb", tuned=True, noise_scale=0.1),
    "uniform": dict(algorithm="uniform"),
}
RATES = EXPERIMENTS["rates"]


def turning(**changed: Any) -> dict[str, Any]:
    arms = dict(type="FreshArms", num_arms=4, dim=2, shape="sphere")
    path = dict(type="Rotation", start=0.0, end=6.0, rounds="100%") | changed.pop("path", {})
    return dict(type="linear_bandit", noise_scale=0.1, arms=arms, path=path, **changed)


def experiment(**environments: Any) -> Any:
    sizes = dict(name="part", summary="Parts of a run", episodes=NUM_EPISODES, runs=NUM_RUNS)
    return experiment_of({**sizes, "environments": environments, "agents": AGENTS})


JUMPS = dict(type="russac_abrupt")  # its variation is the same whatever the length
PARTS = experiment(quarter=dict(**JUMPS, episodes="25%"), half=dict(**JUMPS, episodes="50%"), whole=JUMPS)


def test_an_environment_may_be_met_for_a_part_of_the_run() -> None:
    told: list[Progress] = []
    outcomes = run_experiment(PARTS, progress=told.append)
    lengths = {outcome.environment_label: int(outcome.result.episodes[-1]) for outcome in outcomes}
    assert lengths == {"quarter": 10, "half": 20, "whole": 40}
    assert {(each.environment_label, each.total) for each in told} == {*lengths.items()}
    assert told[-1].done == told[-1].total == 40


def test_the_length_of_a_part_tunes_its_agents_and_is_what_percentages_are_of() -> None:
    assert prepare(PARTS).environments["quarter"].changes(10) == (1, 3, 5)
    groups = prepare(PARTS, num_episodes=400).groups
    longer = {group.environment_label: group for group in groups if group.name == "D-LinUCB"}
    assert longer["quarter"].task.num_episodes == 100
    rates = [longer[name].task.agent.forgetting.rate for name in ("quarter", "half", "whole")]  # pyright: ignore
    assert rates == sorted(rates)


@pytest.mark.parametrize(
    ("environments", "message"),
    [
        (dict(a=turning(episodes="50%")), "environments must have one with all 40 episodes, got 20 at most"),
        (dict(a=turning(episodes=50)), "environments.a.episodes must be at most the experiment's 40, got 50"),
        (dict(a=turning(episodes=0)), "environments.a.episodes must be a positive integer, got 0"),
        (dict(a=turning(episodes="x")), "environments.a.episodes must be episodes, or percentages .*'x'"),
    ],
)
def test_a_wrong_part_is_refused(environments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prepare(experiment(**environments))


@pytest.mark.slow
def test_parts_are_kept_and_reported_as_they_were_run(tmp_path: Path) -> None:
    study = prepare(PARTS)
    FinishedStudy.of(study, run_study(study)).write(tmp_path)
    report = load_report_data(tmp_path)
    assert {label: data.num_episodes for label, data in report.items()} == dict(quarter=10, half=20, whole=40)
    assert longest(report).manifest["num_episodes"] == 40
    page = report_html(report)
    assert "40 episodes" in page
    assert "--episodes 40" in page
    assert "K varies, Δ = " in page


def made(sizes: dict[str, tuple[int, float]], regret: Any) -> dict[str, ReportData]:
    """A report on environments of those lengths and turns, of agents whose regret is known."""
    turns = {label: (length, turning(path=dict(end=turn))) for label, (length, turn) in sizes.items()}
    return made_of(turns, regret)


def made_of(tables: dict[str, tuple[int, Any]], regret: Any = lambda *_: 1.0) -> dict[str, ReportData]:
    manifest: dict[str, Any] = {"config": {"agents": AGENTS}, "environments": {}, "agents": []}
    report = {}
    for label, (length, table) in tables.items():
        environment = prepare(experiment(**{label: table}), num_episodes=length).environments[label]
        manifest["environments"][label] = {**environment.config, "name": environment.name}
        manifest["agents"] += [dict(environment=label, label=name, name=name, point={}) for name in AGENTS]
        variation = environment.variation(length).total
        finals = {name: regret(name, length, variation) * np.array([0.9, 1.0, 1.1]) for name in AGENTS}
        curves = {
            name: dw.Result(
                np.zeros((3, 1)), -final[:, None] / length, np.zeros((3, 1)), np.array([length]), None, {}
            )
            for name, final in finals.items()
        }
        report[label] = ReportData(manifest, label, curves)
    return report


def test_the_exponents_of_a_power_law_are_found_and_held_against_the_declared_ones() -> None:
    sizes = {f"K{n}": (n, 2.0) for n in (200, 400, 800)} | {f"D{turn}": (800, turn) for turn in (1.0, 4.0)}
    powers = {"D-LinUCB": (0.75, 0.25), "uniform": (1.0, 0.0)}
    found = find_sweeps(made(sizes, lambda name, k, v: k ** powers[name][0] * v ** powers[name][1]))
    assert [sweep.along for sweep in found] == ["num_episodes", "variation"]
    assert found[0].sizes.tolist() == [200, 400, 800]
    assert found[1].sizes == pytest.approx([1, 2, 4], rel=0.01)
    for place, sweep in enumerate(found):
        tuned, uniform = sweep.fits
        assert tuned.exponent.estimate == pytest.approx(powers["D-LinUCB"][place], abs=0.01)
        assert uniform.exponent.estimate == pytest.approx(powers["uniform"][place], abs=0.01)
        assert tuned.declared == (Fraction(3, 4), Fraction(1, 4))[place]
        assert tuned.verdict in ("compatible", "near")
        assert 0 < tuned.share < 1
        assert uniform.bound is None


def test_an_exponent_off_the_declared_one_is_called_so() -> None:
    sizes = {f"K{n}": (n, 2.0) for n in (200, 400, 800)}
    (linear,) = find_sweeps(made(sizes, lambda name, k, v: float(k)))
    (constant,) = find_sweeps(made(sizes, lambda name, k, v: 1.0))
    assert linear.fits[0].verdict == "above"
    assert constant.fits[0].verdict == "below"


def test_an_interval_that_has_the_declared_exponent_says_so() -> None:
    wide, narrow = (
        dw.statistics.IntervalEstimate(*np.array(ends)) for ends in ((0.6, 0.4, 0.8), (0.7, 0.69, 0.71))
    )
    fit = Fit("an agent", np.ones(3), wide, None, Fraction(3, 4), np.nan)
    assert fit.verdict == "compatible"
    assert fit._replace(exponent=narrow).verdict == "near"


@pytest.mark.parametrize("scale", ["radius_scale", "variation_scale"])
def test_an_agent_is_not_held_against_anothers_bound(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS["D-LinUCB"], scale, 0.5)
    (sweep,) = find_sweeps(made({f"K{n}": (n, 2.0) for n in (200, 400, 800)}, lambda name, k, v: float(k)))
    assert sweep.fits[0].declared == Fraction(3, 4)
    assert np.isnan(sweep.fits[0].share)
    headings = [column.heading for column in exponents_table([sweep]).columns]
    assert "declared" in headings
    assert "regret / bound" not in headings  # nobody has a number there


def test_values_that_may_be_negative_are_not_held_against_a_bound_that_needs_more() -> None:
    for clip, expected in (("tight", True), ("paper", False)):
        table = dict(algorithm="opt_wlsvi", tuned=True, clip=clip)
        bound = declared_bound(table)
        assert bound is BOUNDS["theorem_1"]
        assert is_about(BOUNDS["theorem_1"], table) is expected


@pytest.mark.parametrize(
    "changed",
    [
        dict(noise_scale=0.5),
        dict(arms=dict(type="FreshArms", num_arms=9, dim=2, shape="sphere")),
        dict(path={**turning()["path"], "radius": 0.5}),
        dict(path=dict(type="Sinusoid", centre=[0.5, 0.0], amplitude=[0.4, 0.0], phase=[0, 0], period=50)),
    ],
)
def test_environments_that_differ_in_more_are_no_sweep(changed: dict[str, Any]) -> None:
    sizes = {"a": (200, turning()), "b": (400, turning()), "c": (800, turning())}
    assert len(find_sweeps(made_of(sizes))) == 1
    assert find_sweeps(made_of({**sizes, "c": (800, {**turning(), **changed})})) == ()


def test_two_environments_or_unlike_ones_are_no_sweep() -> None:
    assert find_sweeps(made({"a": (200, 1.0), "b": (400, 1.0)}, lambda *_: 1.0)) == ()
    assert find_sweeps(made({"a": (200, 1.0), "b": (400, 2.0), "c": (800, 4.0)}, lambda *_: 1.0)) == ()


@pytest.mark.slow
def test_the_command_prints_the_exponents(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "parts.toml"
    file.write_text(tomli_w.dumps(PARTS.config | {"agents": {"uniform": AGENTS["uniform"]}}))
    assert main(["run", str(file), "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "How regret grows with K, 10, 20, 40, at Δ = " in out
    assert "Parts of a run: 40 episodes, 3 runs" in out
    assert "exponent: α of R ≈ C·Kᵅ" in out
    assert "declared" not in out  # of an agent without a bound


def test_the_built_in_sweep_holds_one_thing_fixed_at_a_time() -> None:
    study = prepare(RATES)
    lengths = study.lengths
    variation = {label: each.variation(lengths[label]).total for label, each in study.environments.items()}
    assert [lengths[label] for label in ("K/16", "K/8", "K/4", "K/2", "K")] == [500, 1000, 2000, 4000, 8000]
    turns = [variation[label] / (2 * np.pi) for label in ("K/16", "K", "Δ/4", "Δ/2", "2Δ", "4Δ")]
    assert turns == pytest.approx([1, 1, 0.25, 0.5, 2, 4], rel=0.01)


@pytest.mark.slow
def test_measured_exponents_are_near_those_of_the_corrected_bounds(tmp_path: Path) -> None:
    study = prepare(RATES)
    FinishedStudy.of(study, run_study(study)).write(tmp_path)
    for sweep in find_sweeps(load_report_data(tmp_path)):
        fits = {fit.agent: fit for fit in sweep.fits}
        for name in ("D-LinUCB", "SW-UCB", "RestartUCB"):
            assert fits[name].verdict in ("compatible", "near")
            assert fits[name].share < 1
        if sweep.along == "num_episodes":
            assert fits["LinUCB"].exponent.estimate == pytest.approx(1, abs=0.02)
