"""Mistakes in experiment files: each is one line with file, key, what was found and what was expected."""

import os
from pathlib import Path

import pytest

import driftwise as dw
from driftwise.__main__ import main
from driftwise.experiments.building import EXPECTED_EPISODES as EXPECTED
from tests.cli.test_cli import names

TOP = 'name = "mine"\nsummary = "Mine"\nepisodes = 40\nruns = 3\n'
ENVIRONMENT = '[environment]\ntype = "combination_lock"\n'
AGENTS = '[agents."OPT-WLSVI"]\nalgorithm = "opt_wlsvi"\nrate = 0.9\nradius = 0.4\n'


def in_top(line: str) -> str:
    return TOP + line + "\n" + ENVIRONMENT + AGENTS


def in_environment(line: str) -> str:
    return TOP + ENVIRONMENT + line + "\n" + AGENTS


def in_drift(table: str) -> str:
    return in_environment(f"drift = {{ {table} }}")


def in_agent(old: str, new: str) -> str:
    return TOP + ENVIRONMENT + AGENTS.replace(old, new.replace("\\n", "\n"))


def with_tuned(line: str) -> str:
    return TOP + ENVIRONMENT + f'[agents.t]\nalgorithm = "opt_wlsvi"\ntuned = true\n{line}\n'


def around(meta: str, base: str, more: str = "") -> str:
    return TOP + ENVIRONMENT + f'[agents.a]\nalgorithm = "{meta}"\nbase = {base}\n{more}\n'


def typed(environment: str, line: str) -> str:
    return f'[environment]\ntype = "{environment}"\n{line}\n'


def in_detector(fields: str) -> str:
    return around("change_detection", LSVI_UCB, f"detector = {{ {fields} }}")


def in_arms(fields: str) -> str:
    return around("borl", f'{{ algorithm = "opt_wlsvi", {fields} }}')


def rows(text: str) -> list[list[str]]:
    """What is written, and how the line about it begins."""
    return [line.split(" => ") for line in text.strip().splitlines()]


UNIFORM = '[agents.u]\nalgorithm = "uniform"\n'
TOO_LARGE = "its numbers are too large or too small to compute with"
DIAMETER = dw.environments.continuing_river_swim().diameter(40)  # its last digits depend on the processor
LSVI_UCB = '{ algorithm = "lsvi_ucb", radius = 0.4 }'
TOLD = "must go with a form that needs the variation, such as one with tuned = true, got"
IN_DRIFT = rows("""
at = [5] => type is missing: a drift needs it, one of Constant, Abrupt,
type = 'abrupt', at = [5] => type must be one of 10 names, got 'abrupt' (did you mean 'Abrupt'?); they are
type = 'Spec', at = [5] => type must be one of 10 names, got 'Spec'; they are
type = 'Abrupt', att = [5] => att is no key of Abrupt (did you mean 'at'?), expected one of at, num_anchors
type = 'Constant', at = [5] => at is no key of Constant, expected none
type = 'Abrupt' => at is missing: Abrupt needs it
type = 'Abrupt', at = 5 => at must be increasing episodes, got 5
type = 'Abrupt', at = ['half'] => at must EXPECTED, got 'half'
type = 'Abrupt', at = ['101%'] => at must EXPECTED, got '101%'
type = 'Abrupt', at = ['+1'] => at must EXPECTED, got '+1' after nothing
type = 'Abrupt', at = ['50%-30'] => at must be an integer of at least 1, got -10, of a run of 40 episodes
type = 'Abrupt', at = ['1%', '2%'] => at must be increasing episodes, got [1, 1], of a run of 40 episodes
type = 'Then', at = [3], drifts = [{type = 'Constant'}, {type = 'Abrupt', at = ['+1']}] => drifts.1.at must
type = 'Sum', drifts = [{type = 'Nothing'}] => drifts.0.type must be one of 10 names, got 'Nothing'
type = 'Product', drifts = 3 => drifts must list at least one Drift, got 3
type = 'Repeat', drift = {type = 'Constant'}, period = '0%' => period must be a positive integer, got 0, of
type = 'Recorded', weights = 'no/rows.csv' => weights must be an array, or the name of a file of numbers, got
type = 'RandomWalk', scale = '5%' => scale must be a number of at least 0, got '5%'
""")
IN_ENVIRONMENT = rows("""
horizn = 3 => horizn is no key of combination_lock (did you mean 'horizon'?), expected one of horizon, drift,
horizon = 2.5 => horizon must be an integer of at least 2, got 2.5
horizon = [3, 4] => horizon must be an integer of at least 2, got [3, 4]
rewards = 'coin' => rewards must be one of mean, bernoulli, got 'coin'
drift = 'Abrupt' => drift must be a table, got 'Abrupt'
""")
IN_AGENT = rows("""
opt_ | opt- => algorithm must be one of NUMBER names, got 'opt-wlsvi' (did you mean 'opt_wlsvi'?); they are
opt_wlsvi | d_lin_ucb => algorithm must be one for MDPs, such as 'opt_wlsvi', got 'd_lin_ucb', which is for
opt_wlsvi | clock_lin_ucb => algorithm must be one for MDPs, such as 'sw_lsvi_ucb', got 'clock_lin_ucb', which
radius | raduis => raduis is no key of opt_wlsvi (did you mean 'radius'?), expected one of
rate | spec => spec is no key of opt_wlsvi, expected one of rate, radius,
rate = 0.9 |  => rate is missing: opt_wlsvi needs it
0.9 | 'fast' => rate must be a number in (0, 1], got 'fast'
0.9 | 1.5 => rate must be a number in (0, 1], got 1.5
0.9 | nan => rate must be a number in (0, 1], got nan
0.9 | [0.9, 1.5] => rate must be a number in (0, 1], got 1.5
0.9 | [0.9, 'a'] => rate must be a number in (0, 1], got 'a'
0.9 | [] => rate must be a value, or a list of values to try, got []
0.9 | [[0.9]] => rate must be a value, or a list of values to try, got [[0.9]]
0.9 | [0.9, 0.9] => rate must list different values, got [0.9, 0.9]
0.9 | 0.9\\nnorm = 'singel' => norm must be one of sandwich, single, got 'singel' (did you mean 'single'?)
0.9 | 0.9\\ntuned = 'yes' => tuned must be true or false, got 'yes'
0.9 | 0.9\\nvariation_scale = 10 => variation_scale TOLD opt_wlsvi
""")
IN_TUNED = rows("""
rate = 0.9 => rate is no key of opt_wlsvi.tuned, expected one of tuning, delta, beta_scale, norm, clip
variation = 1 => variation is no key of opt_wlsvi.tuned, expected one of
beta_scale = -1 => beta_scale must be a number of at least 0, got -1
variation_scale = -1 => variation_scale must be a number of at least 0, got -1
variation_scale = 'all' => variation_scale must be a number of at least 0, got 'all'
""")
TOP_LEVEL = rows("""
import = 'mylab' => import must be a list of modules, got 'mylab'
import = ['my lab'] => import must be names of modules, as mylab or mylab.drifts, got ['my lab']
import = ['mylaboratory.drifts'] => import must be modules that can be imported, got 'mylaboratory.drifts':
seeds = 1 => seeds is no key of an experiment (did you mean 'seed'?), expected one of name, summary, finding,
seed = -1 => seed must be an integer of at least 0, got -1
record_every = '2' => record_every must be a positive integer, got '2'
finding = '' => finding must be one line of text, got ''
""")
IN_ARMS = rows("""
rate = [], radius = 0.4 => rate must be a value, or a list of values to try, got []
rate = [0.9, 0.9], radius = 0.4 => rate must list different values, got [0.9, 0.9]
rate = [0.9, 1.9], radius = 0.4 => rate must be a number in (0, 1], got 1.9
""")
IN_BASE = rows("""
3 => .base must be a table, got 3
{ radius = 3 } => .base.algorithm is missing: an agent needs it, one of
{ algorithm = "sw_lin_ucb" } => .base.algorithm must be one for MDPs, such as 'sw_lsvi_ucb', got 'sw_lin_ucb',
{ algorithm = "lsvi_ucb", raduis = 1 } => .base.raduis is no key of lsvi_ucb (did you mean 'radius'?),
{ algorithm = "lsvi_ucb", radius = -1 } => .base.radius must be a number of at least 0, got -1
{ algorithm = "lsvi_ucb", radius = [1, 2] } => .base.radius must be a single value in a base, got [1, 2]
{ algorithm = "lsvi_ucb", radius = 1, variation_scale = 2 } => .base.variation_scale TOLD lsvi_ucb
""")
IN_DETECTOR = rows("""
window = 9 => detector.type is missing: a detector needs it, one of Glr, Cusum, RandomRestart
type = 'Glrr' => detector.type must be one of Glr, Cusum, RandomRestart, got 'Glrr' (did you mean 'Glr'?)
type = 'Cusum', windw = 9 => detector.windw is no key of Cusum, expected one of warmup, slack, threshold
type = 'Glr', noise_scale = 0 => detector.noise_scale must be a number above 0, got 0
type = 'Glr', noise_scale = [0.1, 0.3] => noise_scale must be a single number, got a grid, [0.1, 0.3]
""")
TOO_MUCH = rows("""
cheung_two_armed | budget = 1e308 => cheung_two_armed: TOO_LARGE (float division by zero), got num_rounds = 40
oil_discovery | noise = 1e308 => oil_discovery: TOO_LARGE (Numerical result out of range), got noise = 1e+308
inventory | price = 1e308 => reward of anchor 0 must be finite, got nan at index (0, 2)
dynamic_pricing | highest = 1e-320 => features must be finite, got inf at index (0, 0)
""")
MISTAKES = {
    "name = ": "not valid TOML: Invalid value (at end of document)",
    "name = 'a'\nx y\n": "not valid TOML: Expected '=' after a key in a key/value pair (at line 2, column 3)",
    TOP + AGENTS + AGENTS: "not valid TOML: Cannot declare ('agents', 'OPT-WLSVI') twice (at line 9,",
    "a = " + "[" * 9999: "not valid TOML: nested too deeply",
    in_top("").replace("runs", "rusn"): "rusn is no key of an experiment (did you mean 'runs'?), expected",
    in_top("").replace("runs = 3", ""): "runs is missing: an experiment needs it",
    in_top("").replace("= 40", "= 0"): "episodes must be a positive integer, got 0",
    in_top("").replace("= 40", "= 4.5"): "episodes must be a positive integer, got 4.5",
    in_top("").replace("= 40", "= true"): "episodes must be a positive integer, got True",
    in_top("").replace("= 3", "= 4294967296"): "runs must be an integer below 2^32, got 4294967296",
    in_top("").replace('"Mine"', '"a\\nb"'): "summary must be one line of text, got 'a\\nb'",
    in_top("").replace('"mine"', '"../x"'): 'name must be letters, digits, "_", "-" and ".", got \'../x\'',
    TOP + "environment = 3\n" + AGENTS: "environment must be a table, got 3",
    TOP + "agents = 3\n" + ENVIRONMENT: "agents must be a table, got 3",
    TOP + ENVIRONMENT + "[agents]\n": "agents must have at least one table, got none",
    TOP + ENVIRONMENT + "[agents]\na = 1\n": "agents.a must be a table, got 1",
    TOP + ENVIRONMENT + '[agents.""]\n': "a name in agents must be one line of text, got ''",
    TOP + ENVIRONMENT + "[agents._a]\n": "a name in agents must not start with '_', got '_a'",
    TOP + "[environment]\n" + AGENTS: "environment.type is missing: an environment needs it, one of",
    TOP + ENVIRONMENT.replace("ation_", "ation-") + AGENTS: "environment.type must be one of",
    in_drift("type = 'Periodic', period = 9, num_anchors = 3"): "environment.drift must have at most 2 anch",
    TOP + ENVIRONMENT + "[agents.a]\nrate = 0.9\n": "agents.a.algorithm is missing: an agent needs it, one",
    TOP + typed("two_state_switch", "") + '[agents.a]\nalgorithm = "sw_lin_ucb"\n': (
        "agents.a.algorithm must be one for MDPs, such as 'sw_ucrl', got 'sw_lin_ucb', which is for bandits"
    ),
    in_agent("0.9", "[0.8, 0.9]") + '[agents."OPT-WLSVI (rate=0.9)"]\nalgorithm = "uniform"\n': (
        'agents."OPT-WLSVI (rate=0.9)" must differ from agents."OPT-WLSVI" in name, '
        "got 'OPT-WLSVI (rate=0.9)' twice"
    ),
    with_tuned("beta_scale = 1e308"): "agents.t: radius must be a number of at least 0, got inf",
    TOP + typed("russac_abrupt", "") + '[agents.b]\nalgorithm = "bob"\ntuned = true\nvariation_scale = 2\n': (
        "agents.b.variation_scale TOLD bob.tuned"
    ),
    TOP
    + typed("continuing_river_swim", "")
    + '[agents.s]\nalgorithm = "sw_ucrl"\ntuned = true\ndelta = 1e-320': (
        "agents.s: sw_ucrl.tuned: TOO_LARGE (cannot convert float infinity to integer), "
        f"got num_episodes = 40, variation = 0.0, diameter = {DIAMETER!r}, delta = 1e-320"
    ),
    TOP + typed("continuing_river_swim", "") + '[agents.s]\nalgorithm = "ucrl2"\ndelta = 1e-320': (
        "agents.s: constant must be a number of at least 0, got inf"
    ),
    TOP + ENVIRONMENT + '[agents.a]\nalgorithm = "random_restart"\nprobability = 0.1\n': (
        "agents.a.base is missing: random_restart needs it"
    ),
    in_arms("rate = 0.9, radius = 0.4, norm = ['sandwich', 'single']"): (
        "agents.a: parts must be alike but for their numbers, got norm ['sandwich', 'single']"
    ),
    around("change_detection", LSVI_UCB, "detector = 3"): "agents.a.detector must be a Detector, got 3",
    **{in_detector(words): f"agents.a.{says}" for words, says in IN_DETECTOR},
    **{in_drift(words): f"environment.drift.{says}" for words, says in IN_DRIFT},
    **{in_environment(words): f"environment.{says}" for words, says in IN_ENVIRONMENT},
    **{TOP + typed(*words.split(" | ")) + UNIFORM: f"environment: {says}" for words, says in TOO_MUCH},
    **{in_agent(*words.split(" | ")): f'agents."OPT-WLSVI".{says}' for words, says in IN_AGENT},
    **{with_tuned(words): f"agents.t.{says}" for words, says in IN_TUNED},
    **{in_top(words): says for words, says in TOP_LEVEL},
    **{in_arms(words): f"agents.a.base.{says}" for words, says in IN_ARMS},
    **{around("random_restart", words): f"agents.a{says}" for words, says in IN_BASE},
}
MEANINGS = {"EXPECTED": EXPECTED, "TOLD": TOLD, "TOO_LARGE": TOO_LARGE}
MEANINGS["NUMBER"] = f"{len(dw.algorithms.ALGORITHMS)}"


@pytest.mark.parametrize(("text", "line"), MISTAKES.items(), ids=range(len(MISTAKES)))
def test_a_mistake_is_one_line_and_nothing_is_written(text, line, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(text, encoding="utf-8")
    for word, meaning in MEANINGS.items():
        line = line.replace(word, meaning)
    for command in ("validate", "run"):
        assert main([command, "mine.toml"]) == 2
        said = capsys.readouterr()
        assert said.err.startswith(f"driftwise: error: mine.toml: {line}")
        assert (said.out, said.err.count("\n")) == ("", 1)
    assert names(tmp_path) == ["mine.toml"]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="descriptors have no names here")
def test_a_pipe_that_was_handed_over_is_read_to_its_end(capsys):
    reads, writes = os.pipe()
    os.write(writes, in_top("").encode("utf-8-sig"))  # and the mark of its encoding is no part of it
    os.close(writes)
    try:
        assert main(["validate", f"/dev/fd/{reads}"]) == 0
    finally:
        os.close(reads)
    assert "valid: 1 environment, 1 agent" in capsys.readouterr().out


def test_a_length_that_the_drift_cannot_have_is_one_line_and_writes_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(in_drift("type = 'Gradual', knots = ['20%', '60%']"), encoding="utf-8")
    assert main(["run", "mine.toml", "--episodes", "2"]) == 2
    line = "environment.drift.knots must be increasing episodes, got [1, 1], of a run of 2 episodes"
    assert capsys.readouterr().err == f"driftwise: error: mine.toml: {line}\n"
    assert names(tmp_path) == ["mine.toml"]
