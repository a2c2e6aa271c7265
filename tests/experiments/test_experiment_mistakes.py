"""Mistakes in experiment files: each is one line with file, key, what was found and what was expected."""

import inspect
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
ALGORITHMS = ", ".join(dw.algorithms.ALGORITHMS)
ENVIRONMENTS = ", ".join(dw.environments.ENVIRONMENTS)
DRIFTS = "Constant, Abrupt, Gradual, Periodic, RandomWalk, Then, Repeat, Sum, Product, Recorded"
OPT_WLSVI = ", ".join(list(inspect.signature(dw.algorithms.opt_wlsvi).parameters)[1:])
TUNED = "delta, beta_scale, tuning, norm, clip"
LOCK = "horizon, drift, changing, intended, rewards, seed"
KEYS = "name, summary, finding, episodes, runs, seed, import, record_every, environment, environments, agents"


def in_top(line: str) -> str:
    return TOP + line + "\n" + ENVIRONMENT + AGENTS


def in_environment(line: str) -> str:
    return TOP + ENVIRONMENT + line + "\n" + AGENTS


def in_drift(table: str) -> str:
    return in_environment(f"drift = {{ {table} }}")


def in_agent(old: str, new: str) -> str:
    return TOP + ENVIRONMENT + AGENTS.replace(old, new)


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


def no_name(given: str, names: str, near: str = "") -> str:
    hint = f" (did you mean {near!r}?)" if near else ""
    return f"must be one of {names.count(', ') + 1} names, got {given!r}{hint}; they are {names}"


UNIFORM = '[agents.u]\nalgorithm = "uniform"\n'
TOO_LARGE = "its numbers are too large or too small to compute with"
DIAMETER = dw.environments.continuing_river_swim().diameter(40)  # its last digits depend on the processor
LSVI_UCB = '{ algorithm = "lsvi_ucb", radius = 0.4 }'
TOLD = "must go with a form that needs the variation, such as one with tuned = true, got"
IN_DRIFT = {  # fields of its drift, and what is said of them
    "at = [5]": f"type is missing: a drift needs it, one of {DRIFTS}",
    "type = 'abrupt', at = [5]": f"type {no_name('abrupt', DRIFTS, 'Abrupt')}",
    "type = 'Spec', at = [5]": f"type {no_name('Spec', DRIFTS)}",
    "type = 'Abrupt', att = [5]": (
        "att is no key of Abrupt (did you mean 'at'?), expected one of at, num_anchors"
    ),
    "type = 'Constant', at = [5]": "at is no key of Constant, expected none",
    "type = 'Abrupt'": "at is missing: Abrupt needs it",
    "type = 'Abrupt', at = 5": "at must be increasing episodes, got 5",
    "type = 'Abrupt', at = ['half']": f"at must {EXPECTED}, got 'half'",
    "type = 'Abrupt', at = ['101%']": f"at must {EXPECTED}, got '101%'",
    "type = 'Abrupt', at = ['+1']": f"at must {EXPECTED}, got '+1' after nothing",
    "type = 'Abrupt', at = ['50%-30']": (
        "at must be an integer of at least 1, got -10, of a run of 40 episodes"
    ),
    "type = 'Abrupt', at = ['1%', '2%']": (
        "at must be increasing episodes, got [1, 1], of a run of 40 episodes"
    ),
    "type = 'Then', at = [3], drifts = [{type = 'Constant'}, {type = 'Abrupt', at = ['+1']}]": (
        f"drifts.1.at must {EXPECTED}, got '+1' after nothing"
    ),
    "type = 'Sum', drifts = [{type = 'Nothing'}]": f"drifts.0.type {no_name('Nothing', DRIFTS)}",
    "type = 'Product', drifts = 3": "drifts must list at least one Drift, got 3",
    "type = 'Repeat', drift = {type = 'Constant'}, period = '0%'": (
        "period must be a positive integer, got 0, of a run of 40 episodes"
    ),
    "type = 'Recorded', weights = 'no/rows.csv'": (
        "weights must be an array, or the name of a file of numbers, "
        "got 'no/rows.csv' (No such file or directory)"
    ),
    "type = 'RandomWalk', scale = '5%'": "scale must be a number of at least 0, got '5%'",
}
IN_ENVIRONMENT = {  # lines of the environment, and what is said of them
    "horizn = 3": f"horizn is no key of combination_lock (did you mean 'horizon'?), expected one of {LOCK}",
    "horizon = 2.5": "horizon must be an integer of at least 2, got 2.5",
    "horizon = [3, 4]": "horizon must be an integer of at least 2, got [3, 4]",
    "rewards = 'coin'": "rewards must be one of mean, bernoulli, got 'coin'",
    "drift = 'Abrupt'": "drift must be a table, got 'Abrupt'",
}
IN_AGENT = {  # words of the agent's table, and others in their place, and what is said of them
    ("opt_", "opt-"): f"algorithm {no_name('opt-wlsvi', ALGORITHMS, 'opt_wlsvi')}",
    ("opt_wlsvi", "d_lin_ucb"): (
        "algorithm must be one for MDPs, such as 'opt_wlsvi', got 'd_lin_ucb', which is for bandits"
    ),
    ("opt_wlsvi", "clock_lin_ucb"): (
        "algorithm must be one for MDPs, such as 'sw_lsvi_ucb', got 'clock_lin_ucb', which is for bandits"
    ),
    ("radius", "raduis"): (
        f"raduis is no key of opt_wlsvi (did you mean 'radius'?), expected one of {OPT_WLSVI}"
    ),
    ("rate", "spec"): f"spec is no key of opt_wlsvi, expected one of {OPT_WLSVI}",
    ("rate = 0.9", ""): "rate is missing: opt_wlsvi needs it",
    ("0.9", "'fast'"): "rate must be a number in (0, 1], got 'fast'",
    ("0.9", "1.5"): "rate must be a number in (0, 1], got 1.5",
    ("0.9", "nan"): "rate must be a number in (0, 1], got nan",
    ("0.9", "[0.9, 1.5]"): "rate must be a number in (0, 1], got 1.5",
    ("0.9", "[0.9, 'a']"): "rate must be a number in (0, 1], got 'a'",
    ("0.9", "[]"): "rate must be a value, or a list of values to try, got []",
    ("0.9", "[[0.9]]"): "rate must be a value, or a list of values to try, got [[0.9]]",
    ("0.9", "[0.9, 0.9]"): "rate must list different values, got [0.9, 0.9]",
    ("rate = 0.9", "rate = 0.9\nnorm = 'singel'"): (
        "norm must be one of sandwich, single, got 'singel' (did you mean 'single'?)"
    ),
    ("rate = 0.9", "rate = 0.9\ntuned = 'yes'"): "tuned must be true or false, got 'yes'",
    ("rate = 0.9", "rate = 0.9\nvariation_scale = 10"): f"variation_scale {TOLD} opt_wlsvi",
}
IN_TUNED = {  # lines of a tuned agent, and what is said of them
    "rate = 0.9": f"rate is no key of opt_wlsvi.tuned, expected one of {TUNED}",
    "variation = 1": f"variation is no key of opt_wlsvi.tuned, expected one of {TUNED}",
    "beta_scale = -1": "beta_scale must be a number of at least 0, got -1",
    "variation_scale = -1": "variation_scale must be a number of at least 0, got -1",
    "variation_scale = 'all'": "variation_scale must be a number of at least 0, got 'all'",
}
TOP_LEVEL = {  # lines of the top level, and what is said of them
    "import = 'mylab'": "import must be a list of modules, got 'mylab'",
    "import = ['my lab']": "import must be names of modules, as mylab or mylab.drifts, got ['my lab']",
    "import = ['mylaboratory.drifts']": (
        "import must be modules that can be imported, got 'mylaboratory.drifts': "
        "ModuleNotFoundError: No module named 'mylaboratory'"
    ),
    "seeds = 1": f"seeds is no key of an experiment (did you mean 'seed'?), expected one of {KEYS}",
    "seed = -1": "seed must be an integer of at least 0, got -1",
    "record_every = '2'": "record_every must be a positive integer, got '2'",
    "finding = ''": "finding must be one line of text, got ''",
}
IN_ARMS = {  # fields of the base of an agent with arms, and what is said of them
    "rate = [], radius = 0.4": "rate must be a value, or a list of values to try, got []",
    "rate = [0.9, 0.9], radius = 0.4": "rate must list different values, got [0.9, 0.9]",
    "rate = [0.9, 1.9], radius = 0.4": "rate must be a number in (0, 1], got 1.9",
}
MISTAKES = {
    "name = ": "not valid TOML: Invalid value (at end of document)",
    "name = 'a'\nx y\n": (
        "not valid TOML: Expected '=' after a key in a key/value pair (at line 2, column 3)"
    ),
    TOP + AGENTS + AGENTS: (
        "not valid TOML: Cannot declare ('agents', 'OPT-WLSVI') twice (at line 9, column 20)"
    ),
    "a = " + "[" * 9999: "not valid TOML: nested too deeply",
    in_top("seed = 1").replace("runs", "rusn"): (
        f"rusn is no key of an experiment (did you mean 'runs'?), expected one of {KEYS}"
    ),
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
    TOP + "[environment]\n" + AGENTS: (
        f"environment.type is missing: an environment needs it, one of {ENVIRONMENTS}"
    ),
    TOP + ENVIRONMENT.replace("ation_", "ation-") + AGENTS: (
        f"environment.type {no_name('combination-lock', ENVIRONMENTS, 'combination_lock')}"
    ),
    TOP + typed("cheung_two_armed", "budget = 1e308") + UNIFORM: (
        f"environment: cheung_two_armed: {TOO_LARGE} (float division by zero), "
        "got num_rounds = 40, budget = 1e+308"
    ),
    TOP + typed("oil_discovery", "noise = 1e308") + UNIFORM: (
        f"environment: oil_discovery: {TOO_LARGE} (Numerical result out of range), got noise = 1e+308"
    ),
    TOP + typed("inventory", "price = 1e308") + UNIFORM: (
        "environment: reward of anchor 0 must be finite, got nan at index (0, 2)"
    ),
    TOP + typed("dynamic_pricing", "highest = 1e-320") + UNIFORM: (
        "environment: features must be finite, got inf at index (0, 0)"
    ),
    in_drift("type = 'Periodic', period = 9, num_anchors = 3"): (
        "environment.drift must have at most 2 anchors, a lock and its mirror image, "
        "got Periodic(period=9.0, num_anchors=3)"
    ),
    TOP + ENVIRONMENT + "[agents.a]\nrate = 0.9\n": (
        f"agents.a.algorithm is missing: an agent needs it, one of {ALGORITHMS}"
    ),
    around("random_restart", '{ algorithm = "sw_lin_ucb" }'): (
        "agents.a.base.algorithm must be one for MDPs, such as 'sw_lsvi_ucb', got 'sw_lin_ucb', "
        "which is for bandits"
    ),
    TOP + typed("two_state_switch", "") + '[agents.a]\nalgorithm = "sw_lin_ucb"\n': (
        "agents.a.algorithm must be one for MDPs, such as 'sw_ucrl', got 'sw_lin_ucb', which is for bandits"
    ),
    in_agent("0.9", "[0.8, 0.9]") + '[agents."OPT-WLSVI (rate=0.9)"]\nalgorithm = "uniform"\n': (
        'agents."OPT-WLSVI (rate=0.9)" must differ from agents."OPT-WLSVI" in name, '
        "got 'OPT-WLSVI (rate=0.9)' twice"
    ),
    with_tuned("beta_scale = 1e308"): "agents.t: radius must be a number of at least 0, got inf",
    TOP + typed("russac_abrupt", "") + '[agents.b]\nalgorithm = "bob"\ntuned = true\nvariation_scale = 2\n': (
        f"agents.b.variation_scale {TOLD} bob.tuned"
    ),
    TOP
    + typed("continuing_river_swim", "")
    + '[agents.s]\nalgorithm = "sw_ucrl"\ntuned = true\ndelta = 1e-320': (
        f"agents.s: sw_ucrl.tuned: {TOO_LARGE} (cannot convert float infinity to integer), "
        f"got num_episodes = 40, variation = 0.0, diameter = {DIAMETER!r}, delta = 1e-320"
    ),
    TOP + typed("continuing_river_swim", "") + '[agents.s]\nalgorithm = "ucrl2"\ndelta = 1e-320': (
        "agents.s: constant must be a number of at least 0, got inf"
    ),
    TOP + ENVIRONMENT + '[agents.a]\nalgorithm = "random_restart"\nprobability = 0.1\n': (
        "agents.a.base is missing: random_restart needs it"
    ),
    around("random_restart", "3"): "agents.a.base must be a table, got 3",
    around("random_restart", "{ radius = 3 }"): (
        f"agents.a.base.algorithm is missing: an agent needs it, one of {ALGORITHMS}"
    ),
    around("random_restart", LSVI_UCB.replace("radius", "raduis")): (
        "agents.a.base.raduis is no key of lsvi_ucb (did you mean 'radius'?), "
        "expected one of radius, ridge, clip"
    ),
    around("random_restart", LSVI_UCB.replace("0.4", "-1")): (
        "agents.a.base.radius must be a number of at least 0, got -1"
    ),
    around("random_restart", LSVI_UCB.replace("0.4", "[0.4, 0.5]")): (
        "agents.a.base.radius must be a single value in a base, got [0.4, 0.5]"
    ),
    around("random_restart", LSVI_UCB.replace("radius = 0.4", "radius = 0.4, variation_scale = 2")): (
        f"agents.a.base.variation_scale {TOLD} lsvi_ucb"
    ),
    in_arms("rate = 0.9, radius = 0.4, norm = ['sandwich', 'single']"): (
        "agents.a: parts must be alike but for their numbers, got norm ['sandwich', 'single']"
    ),
    around("change_detection", LSVI_UCB, "detector = 3"): "agents.a.detector must be a Detector, got 3",
    in_detector("window = 9"): (
        "agents.a.detector.type is missing: a detector needs it, one of Glr, Cusum, RandomRestart"
    ),
    in_detector("type = 'Glrr'"): (
        "agents.a.detector.type must be one of Glr, Cusum, RandomRestart, got 'Glrr' (did you mean 'Glr'?)"
    ),
    in_detector("type = 'Cusum', windw = 9"): (
        "agents.a.detector.windw is no key of Cusum, expected one of warmup, slack, threshold"
    ),
    in_detector("type = 'Glr', noise_scale = 0"): (
        "agents.a.detector.noise_scale must be a number above 0, got 0"
    ),
    in_detector("type = 'Glr', noise_scale = [0.1, 0.3]"): (
        "agents.a.noise_scale must be a single number, got a grid, [0.1, 0.3]"
    ),
    **{in_drift(words): f"environment.drift.{says}" for words, says in IN_DRIFT.items()},
    **{in_environment(words): f"environment.{says}" for words, says in IN_ENVIRONMENT.items()},
    **{in_agent(*words): f'agents."OPT-WLSVI".{says}' for words, says in IN_AGENT.items()},
    **{with_tuned(words): f"agents.t.{says}" for words, says in IN_TUNED.items()},
    **{in_top(words): says for words, says in TOP_LEVEL.items()},
    **{in_arms(words): f"agents.a.base.{says}" for words, says in IN_ARMS.items()},
}


@pytest.mark.parametrize(("text", "line"), MISTAKES.items(), ids=range(len(MISTAKES)))
def test_a_mistake_is_one_line_and_nothing_is_written(text, line, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(text, encoding="utf-8")
    for command in ("validate", "run"):
        assert main([command, "mine.toml"]) == 2
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", f"driftwise: error: mine.toml: {line}\n")
    assert names(tmp_path) == ["mine.toml"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("no.toml", "no.toml: cannot be read: No such file or directory"),
        ("no/file", "no/file: cannot be read: No such file or directory"),
        ("folder", "folder: cannot be read: Is a directory"),
        ("latin", "latin: not valid TOML: byte 8 is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(name, line, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("latin").write_bytes(b'name = "\xe9"')
    assert main(["validate", name]) == 2
    assert capsys.readouterr().err == f"driftwise: error: {line}\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
def test_a_fifo_is_refused_and_not_waited_for(tmp_path, capsys):
    path = tmp_path / "mine.toml"
    os.mkfifo(path)
    assert main(["validate", str(path)]) == 2
    line = f"driftwise: error: {path}: cannot be read: it is a pipe, not a file\n"
    assert capsys.readouterr().err == line


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


def test_a_length_that_the_drift_cannot_have_is_one_line_and_nothing_is_written(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(in_drift("type = 'Gradual', knots = ['20%', '60%']"), encoding="utf-8")
    assert main(["run", "mine.toml", "--episodes", "2"]) == 2
    line = "environment.drift.knots must be increasing episodes, got [1, 1], of a run of 2 episodes"
    assert capsys.readouterr().err == f"driftwise: error: mine.toml: {line}\n"
    assert names(tmp_path) == ["mine.toml"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [("file", "it is there already"), (".", "it is there already"), ("no/x", "No such file or directory")],
)
def test_init_writes_new_files_only(path, reason, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    assert main(["init", path]) == 2
    line = f"PATH must be a new file that can be written, got {path!r}: {reason}"
    assert capsys.readouterr().err == f"driftwise: error: {line}\n"
    assert names(tmp_path) == ["file"]
    assert Path("file").read_text() == "mine"
