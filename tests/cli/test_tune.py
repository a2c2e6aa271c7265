"""`driftwise tune`: its tables, its JSON, its advice, logs, and how it fails."""
# Bad arguments are the point of some tests here.
# pyright: reportArgumentType=false

import json
import re
from typing import Any

import pytest

from driftwise.__main__ import main
from driftwise.algorithms import ALGORITHMS
from driftwise.analysis.bounds import bound_rates_table, bounds_table, tunings_table
from driftwise.base import Spec
from driftwise.experiments import EXPERIMENTS, prepare
from driftwise.online import Bandit, DecisionLog, backtest
from driftwise.theory.bounds import BOUNDS, Setting, first_useful_length
from driftwise.theory.bounds.advice import advise
from tests.online.test_backtest import world
from tests.online.test_replay import write_csv

MDP = ["tune", "--dim", "10", "--horizon", "10", "--episodes", "20000"]
BANDIT = ["tune", "--dim", "2", "--episodes", "6000", "--variation", "5.4"]


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return capsys.readouterr().out


def in_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    return json.loads(said(capsys, *arguments, "--json"))


def named_bounds(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {bound["name"]: bound for bound in told["bounds"]}


@pytest.mark.parametrize(
    ("arguments", "agent"), [([*MDP, "--variation", "5"], "adaptive_opt_wlsvi"), (BANDIT, "adaptive_lin_ucb")]
)
def test_the_tables_have_every_bound_or_a_smaller_one_and_the_advice_is_below(arguments, agent, capsys):
    text, told = said(capsys, *arguments), in_json(capsys, *arguments)
    for sentence in (
        "These are worst-case bounds",
        "'driftwise tune --log FILE' measures memories",
        f"{agent} weighs them as it goes",
    ):
        assert sentence in " ".join(text.split())
    for bound in told["bounds"]:
        least = min(other["total"] for other in told["bounds"] if _same_tuning(bound, other))
        shown = least if bound["rate_only"] else least / told["trivial"]
        row = rf"^{re.escape(bound['algorithm'])} .* {re.escape(format(shown, '.3g'))} "
        assert re.search(row, text, re.MULTILINE)
    last = text[text.index("Recommendation. ") :]
    assert " ".join(last.split()) == f"Recommendation. {' '.join(told['advice'])}"
    assert max(map(len, last.splitlines())) <= 80
    assert 2 <= len(told["advice"]) <= 4
    about = [bound for bound in BOUNDS.values() if bound.problem == told["problem"]]
    expected = {bound.name for bound in about if bound.applies_to(Setting(2, 6000, 5.0))}
    assert {bound["name"] for bound in told["bounds"]} == expected


def _same_tuning(first: dict[str, Any], second: dict[str, Any]) -> bool:
    keys = ("algorithm", "rate_only", "parameters", "ridge", "options")
    return all(first[key] == second[key] for key in keys)


@pytest.mark.parametrize(
    ("horizon", "problem"), [(10, "linear MDP"), (1, "linear MDP"), (1, "linear bandit")]
)
@pytest.mark.parametrize("variation", [0.0, 5.0])
def test_no_tuning_is_there_twice_and_no_column_is_empty(horizon, problem, variation):
    setting = Setting(2, 6000, variation, horizon=horizon)
    for table in (tunings_table, bounds_table, bound_rates_table):
        rows = [[cell.text for cell in row] for row in table(setting, problem).rows]
        assert len({tuple(row[:3]) for row in rows}) == len(rows) > 0
        if table is not bound_rates_table:  # nor under another name
            assert len({(row[0], *row[2:]) for row in rows}) == len(rows)
        for column in zip(*rows, strict=True):
            assert {*column} - {"–"}


def test_tunings_that_are_one_have_one_row_with_both_names(capsys):
    text = said(capsys, "tune", "--dim", "5", "--horizon", "1", "--episodes", "5000", "--variation", "5")
    assert len(re.findall(r"^opt_wlsvi +paper, horizon_aware +1 ", text, re.MULTILINE)) == 2
    assert text.count("horizon_aware") == 2


OPTIONS = {  # by what a file has: the command, the setting, and the trivial bound
    "delta = 0.1": (MDP, Setting(10, 20000, 5.0, horizon=10, delta=0.1), "HK = 200,000"),
    "ridge = 3": (BANDIT, Setting(2, 6000, 5.4, ridge=3), "2SK = 12,000"),
    "noise_scale = 2": (BANDIT, Setting(2, 6000, 5.4, noise_scale=2), "2SK = 12,000"),
    "norm_bound = 3": (BANDIT, Setting(2, 6000, 5.4, norm_bound=3), "2SK = 36,000"),
}


@pytest.mark.parametrize("text", OPTIONS)
def test_the_numbers_are_those_of_theory(text, capsys, with_options):
    command, setting, trivial = OPTIONS[text]
    arguments = [*command, *["--variation", "5"] * (command is MDP), *with_options(text)]
    told = in_json(capsys, *arguments)
    assert told["trivial"] == float(trivial.split(" = ")[1].replace(",", ""))
    assert f"beside the trivial bound {trivial}" in said(capsys, *arguments)
    for found in told["bounds"]:
        expected = BOUNDS[found["name"]].evaluate(setting)
        assert found["total"] == pytest.approx(expected.total, rel=1e-12)
        assert found["total"] == pytest.approx(sum(term["value"] for term in found["terms"]), rel=1e-12)
        assert found["parameters"] == pytest.approx(expected.parameters)
        assert found["radius"] == pytest.approx(expected.radius)
        assert found["ridge"] == expected.setting.ridge
    named = named_bounds(told)
    if command is MDP:
        assert named["theorem_1"]["remembered"] == pytest.approx(200)  # √(dK/Δ) = 1/log(1/η)
        assert named["lsvi_ucb_restart"]["parameters"] == {"period": 200}  # √(10·20000/5)
        exponents = dict(dim="5/4", horizon="2", variation="1/4", num_episodes="3/4")
        assert named["theorem_1"]["exponents"] == exponents
        assert named["theorem_1"]["first_below_trivial"] == first_useful_length(BOUNDS["theorem_1"], setting)
        assert named["lower_mdp"]["first_below_trivial"] == 500  # d^(2/3)·Δ^(1/3)·K^(2/3) < K: K > d²Δ
        assert told["blocks"] == {"BoRL": 448, "Ada-LSVI-UCB-Restart": 20000}


@pytest.mark.parametrize(
    ("episodes", "sentence"),
    [
        ("20000", "choose online: BoRL with blocks of 448."),  # Ada-LSVI-UCB-Restart's block is the whole run
        ("5000000", "choose online: BoRL with blocks of 7,072, Ada-LSVI-UCB-Restart with blocks of 353,554."),
        ("9", "the run is too short to choose a memory online"),
    ],
)
def test_one_block_is_no_choice(episodes, sentence, capsys):
    text = said(capsys, *MDP[:-1], episodes, "--variation", "5")
    assert f"If the variation is not known, {sentence}" in text


def test_the_recommended_call_is_what_was_evaluated(capsys, with_options):
    told = in_json(capsys, *BANDIT, *with_options("ridge = 3.0"))
    call = r"η = ([\d.]+) in weight_ucb\.tuned\(\.\.\., tuning='corrected', ridge=3\.0\)"
    rate = re.search(call, told["advice"][0])
    assert rate is not None
    known: Any = dict(num_episodes=6000, variation=5.4, noise_scale=0.5, tuning="corrected", ridge=3.0)
    agent = ALGORITHMS["weight_ucb"].tuned(Spec.bandit(dim=2, num_arms=5), **known)
    assert agent.ridge == 3.0
    assert agent.forgetting.rate == pytest.approx(float(rate[1]), abs=1e-6)
    assert "ridge='dim'" in in_json(capsys, *BANDIT)["advice"][0]


def test_what_is_beyond_all_numbers_is_none_in_json(capsys, with_options):
    named = named_bounds(in_json(capsys, *BANDIT, *with_options("noise_scale = 1e308")))
    assert named["oful"]["total"] is None
    assert named["lower_bandit"]["total"] > 0


REMEMBER = (
    r"^Remember about 1,125 episodes, with λ = 10: .*\(η = 0\.9991.* in opt_wlsvi\.tuned\(\.\.\., "
    r"tuning='ridge_dim', clip='tight'\)"
)


@pytest.mark.parametrize(
    ("variation", "regime", "algorithm", "sentence"),
    [
        ("0", "still", "lsvi_ucb", r"^Nothing varies: use lsvi_ucb \(λ = 1\), which never forgets\."),
        ("0.0001", "still", "lsvi_ucb", r"^A variation of 0\.0001 in 20,000 episodes is so small "),
        ("5", "drifting", "opt_wlsvi", REMEMBER),
        ("1e5", "too fast", "lsvi_ucb_restart", r"so large that only about 2 of them .* no forgetting can f"),
    ],
)
def test_the_advice_depends_on_how_much_varies(variation, regime, algorithm, sentence, capsys):
    told = in_json(capsys, *MDP, "--variation", variation)
    assert told["regime"] == regime
    assert BOUNDS[told["recommended"]].algorithm == algorithm
    assert re.search(sentence, told["advice"][0])
    said = " ".join(told["advice"])
    assert ("nothing is guaranteed" in said) == ("Its bound" in said) == (regime != "too fast")


def test_a_bound_that_says_something_is_a_guarantee():
    advice = advise(Setting(2, 50_000, 0.01, noise_scale=0.1), "linear bandit")
    assert advice.recommended.is_informative
    assert advice.recommended.bound.name == "d_lin_ucb_unsplit"
    sentence = r"With probability 0\.95 its regret is at most 1.*, 15% of the largest possible regret"
    assert re.match(sentence, advice.sentences[1])


def test_what_is_recommended_holds_for_all_arms_and_features():
    for problem, horizon in (("linear MDP", 5), ("linear bandit", 1)):
        for variation in (0.01, 1.0, 30.0):
            bound = advise(Setting(4, 10_000, variation, horizon=horizon), problem).recommended.bound
            assert (bound.assumes, bound.rate_only, bound.side) == ("", False, "upper")
            assert bound.status != "withdrawn"


def test_more_variation_than_is_possible_is_refused():
    for problem, horizon, most in (("linear bandit", 1, 200), ("linear MDP", 3, 4 * 2 * 3 * 100)):
        possible = f"be a number in [0, {most}], the most that is possible in 101 episodes, got {most + 1.0}"
        with pytest.raises(ValueError, match=f"^{re.escape(f'variation must {possible}')}$"):
            advise(Setting(4, 101, most + 1.0, horizon=horizon), problem)
    with pytest.raises(ValueError, match=r"^variation must be 0 in a single episode, got 0.5$"):
        advise(Setting(4, 1, 0.5), "linear bandit")
    assert "Nothing varies" in advise(Setting(4, 1, 0.0), "linear bandit").sentences[0]


def test_a_ridge_that_no_tuned_form_takes_is_refused():
    with pytest.raises(ValueError, match=r"^ridge must be None for a linear MDP, .* got 3.0$"):
        advise(Setting(4, 100, 1.0, horizon=2, ridge=3.0), "linear MDP")


def test_the_environments_of_an_experiment_have_the_sizes(capsys):
    told = in_json(capsys, "tune", "unknown_variation_bandit", "--episodes", "400")
    study = prepare(EXPERIMENTS["unknown_variation_bandit"], num_episodes=400)
    assert [*told] == [*study.environments]
    for label, environment in study.environments.items():
        setting = told[label]["setting"]
        assert (setting["dim"], setting["horizon"], setting["num_episodes"]) == (2, 1, 400)
        assert setting["variation"] == pytest.approx(environment.variation(400).total)
        assert setting["noise_scale"] == 0.3
        assert setting["norm_bound"] == pytest.approx(0.8)
    text = said(capsys, "tune", "quickstart")
    assert text.startswith("combination_lock: linear MDP, d = 20, H = 5, K = 2,000, Δ = ")
    assert "Recommendation. " in text
    for agent in EXPERIMENTS["quickstart"].agents:
        assert re.search(f"^{re.escape(agent)} ", text, re.MULTILINE)


LOG_COLUMNS = ("--reward", "gain", "--features", "x,y")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    features, rewards = world(400, changes=7)
    columns = {"x": features[:, 0], "y": features[:, 1], "gain": [*rewards], "arm": ["a", "b"] * 200}
    columns["gain"][7] = ""
    return str(write_csv(tmp_path_factory.mktemp("logs") / "log.csv", columns))


def test_prints_the_scores_the_advice_and_how_to_read_them(file, capsys):
    assert main(["tune", "--log", file, *LOG_COLUMNS]) == 0
    out, err = capsys.readouterr()
    for word in ("\n4096 ", "\nall ", "\nmixture ", "best?: ", "Advised memory: ", "\nForgetting helps: "):
        assert word in out
    assert max(map(len, out.splitlines()[1:])) <= 80
    assert err == "driftwise: skipped 1 of 400 rows: a value is missing or not finite\n"


def test_json_page_and_options(file, tmp_path, with_options, capsys):
    text = "ridge = 2.0\nnoise_scale = 0.5\naction = 'arm'\nshared = true"
    options, out = with_options(f"memories = [8, 64]\nwindows = [20]\n{text}"), tmp_path / "new"
    printed = in_json(capsys, "tune", "--log", file, *LOG_COLUMNS, *options, "--out", str(out))
    assert [each["name"] for each in printed["memories"]] == ["8", "64", "window 20", "all"]
    assert (printed["ridge"], printed["noise_scale"], printed["noise_given"]) == (2.0, 0.5, True)
    assert (printed["rows"], printed["skipped"], printed["dim"]) == (399, 1, 5)
    assert (printed["features"], printed["actions"]) == (["x", "y"], ["a", "b"])
    assert len(printed["weights"]) == len(printed["at_rows"]) == 399
    assert printed["advised"] in printed["may_be_best"]
    assert printed["forgetting"] == "helps"
    assert json.loads((out / "tune.json").read_text(encoding="utf-8")) == printed
    page = (out / "tune.html").read_text(encoding="utf-8")
    for word in ("How long to remember", "Score of each memory", "Weights of the memories", "window 20"):
        assert word in page


def test_numbers_that_are_not_known_are_none_in_json_and_a_dash_in_text(tmp_path, capsys):
    file = str(write_csv(tmp_path / "log.csv", {"x": [1.0], "y": [2.0], "gain": [3.0]}))
    command = ("tune", "--log", file, *LOG_COLUMNS)
    assert in_json(capsys, *command)["gain"] == {"value": 0.0, "low": None, "high": None}
    assert "nan" not in said(capsys, *command)


def test_a_decision_log_is_read_as_it_is(tmp_path, with_options, capsys):
    features, rewards = world(300, changes=3)
    log, bandit = DecisionLog(tmp_path / "log.jsonl"), Bandit("lin_ucb", dim=2, radius=1.0)
    for row, reward in zip(features, rewards, strict=True):
        decision = bandit.decide(row[None])
        log.add_decision(decision, arms=row[None])
        if reward > -2:
            log.add_reward(decision.id, reward)
    command = ["tune", "--log", str(log.path)]
    found = in_json(capsys, *command, *with_options("memories = [8, 64]"))
    kept = rewards > -2
    assert (found["rows"], found["skipped"], found["dim"]) == (kept.sum(), (~kept).sum(), 2)
    expected = backtest(features[kept], rewards[kept], memories=[8, 64])
    assert [each["score"] for each in found["memories"]] == [each.score for each in expected.memories]
    own = "shared must be left out for a decision log, whose arms have features of their own"
    for arguments, message in (
        (["--reward", "gain"], "--reward must be left out for a decision log, which has its own names"),
        (with_options("shared = true"), own),
    ):
        assert main([*command, *arguments]) == 2
        assert capsys.readouterr().err == f"driftwise: error: {message}\n"
