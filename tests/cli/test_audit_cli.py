"""`driftwise audit`: what it prints and writes, and its exit code."""

import json

import pytest

from driftwise.__main__ import main
from driftwise.analysis.audit import LEMMAS
from driftwise.parts.exploration import uniform_policy
from tests.browser import find_chromium, probe
from tests.sabotage import planned

SHORT = ["--episodes", "20", "--stride", "5"]
OWN_RADIUS = ["audit", "quickstart", *SHORT, "--agent", "LSVI-UCB"]  # far below theory's
THEORY = [*OWN_RADIUS, "--beta-scale", "1"]
LOOK = """
const gaps = [...document.querySelectorAll("td.number + td:not(.number)")].map((cell) => {
  const [number, word] = [cell.previousElementSibling, cell].map((each) => {
    const range = document.createRange();
    range.selectNodeContents(each);
    return range.getBoundingClientRect();
  });
  return word.top < number.bottom ? word.left - number.right : Infinity;  // cards
});
return {
  figures: document.querySelectorAll(".figure .heatmaplayer").length,
  gaps: gaps.length,
  closest: Math.min(...gaps),
};
"""


@pytest.mark.slow
def test_without_an_experiment_small_ones_hold(capsys):
    assert main(["audit", *SHORT]) == 0
    said = capsys.readouterr()
    assert all(name in said.out for name in LEMMAS)
    assert "violated" not in said.out
    assert "audit-mdp: 20 episodes, 1 run, seed 0, checked every 5 episodes" in said.out
    parts = said.out.split("audit-mdp:")[1].split("mathematics:")
    assert "this agent:" in parts[0]
    assert "optimism" in parts[0]
    assert "reward_bias" in parts[1]
    cases = "2 (turning_bandit) + 3 (turning_plane) + 2 (turning_mdp) + 2 (turning_mixture)"
    assert f"by hand: {cases}" in said.out
    assert "D-LinUCB in gradual" in said.err.splitlines()


def test_a_violation_is_told_and_is_the_exit_code(capsys, monkeypatch):
    planned(policy=lambda plan: uniform_policy(plan.q))(monkeypatch)
    assert main(OWN_RADIUS) == 1
    lines = capsys.readouterr().out.splitlines()
    (told,) = (line for line in lines if line.startswith("violated: policy by LSVI-UCB"))
    assert told.endswith("in 1 of 1 run (none may)")


def test_a_radius_below_theorys_is_told_with_its_share_and_is_no_violation(capsys):
    assert main(OWN_RADIUS) == 0
    out = capsys.readouterr().out
    (told,) = (line for line in out.splitlines() if line.startswith("not promised: optimism by LSVI-UCB"))
    assert told.endswith("fail; its radius is 0.0018 × theory's")
    assert "not promised: radius is 0.0018 × theory's" in out.replace("\n", " ")
    assert "violated:" not in out


def test_json_has_every_finding(capsys):
    assert main([*THEORY, "--json", "--seed", "3", "--runs", "2"]) == 0
    (audit,) = json.loads(capsys.readouterr().out)
    place = "combination_lock"
    expected = dict(name="quickstart", lengths={place: 20}, strides={place: 5}, num_runs=2, seed=3)
    assert audit | expected == audit
    found = {each["statement"]: each for each in audit["findings"]}
    missing = {each["statement"] for each in audit["skipped"]}
    of_mixtures = {name for name in LEMMAS if "mixture" in name} | {"scores", "fixed_share"}
    assert {*found, *missing} == {*LEMMAS} - of_mixtures
    assert found["optimism"]["runs"] == 2
    assert found["optimism"]["verdict"] != "violated"


def test_out_has_the_data_and_a_page_that_names_all(tmp_path, capsys):
    folder = tmp_path / "deep" / "audit"
    assert main([*THEORY, "--out", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["audit.html", "audit.json"]
    (audit,) = json.loads((folder / "audit.json").read_text())
    page = (folder / "audit.html").read_text()
    assert all(each["statement"] in page for each in audit["findings"])
    assert "LSVI-UCB in combination_lock" in page


def test_what_is_skipped_is_said_with_a_reason(capsys, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        'name = "mine"\nsummary = "one"\nepisodes = 5\nruns = 1\n'
        '[environment]\ntype = "combination_lock"\nhorizon = 3\n'
        '[agents.other]\nalgorithm = "oppo"\ntuned = true\n'
    )
    assert main(["audit", str(file)]) == 0
    assert "skipped: other in combination_lock: it is a " in capsys.readouterr().out


def test_the_shortest_built_in_audit_is_one(capsys):
    assert main(["audit", "--episodes", "3"]) == 0
    assert "audit-mdp: 3 episodes, 1 run, seed 0, checked every episode" in capsys.readouterr().out


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium")
@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_works_in_a_browser(tmp_path, width, capsys):
    assert main([*OWN_RADIUS, "--out", str(tmp_path / "audit")]) == 0
    found = probe((tmp_path / "audit" / "audit.html").read_text(), LOOK, tmp_path, width=width)
    assert found["figures"] == 1
    assert found["gaps"] > 0
    assert found["closest"] is None or found["closest"] >= 12  # pixels
