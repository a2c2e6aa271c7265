"""Mistakes on the command line: each is one line and the exit code 2, and nothing is written."""

import os
import shlex
from pathlib import Path

import pytest

from driftwise.__main__ import main
from driftwise.simulation import running
from tests.online.test_replay import drawn, write_csv

SHORT = {  # words in the tables below, and what they stand for
    "MDP": "--dim 10 --horizon 10 --episodes 20000",
    "BANDIT": "--dim 2 --episodes 6000 --variation 5.4",
    "ONLINE": "--action arm --reward gain --features x --propensity chance",
    "SCORED": "--log log.csv --reward gain --features x",
    "FOLDER": "--out must be a folder that can be written, got",
}
COMMANDS = """
run quikstart => experiment must be one of 25 names or a file (NAME.toml), got 'quikstart' (did you mean
run => missing argument 'FILE|NAME' (see 'driftwise run --help')
rnu quickstart => command must be one of 12 names, got 'rnu' (did you mean 'run'?); they are run, report,
list --import => --import must be followed by the name of a module, got nothing
--verbose => option must be one of --version, --import, --install-completion, --show-completion, --help, got
run quickstart --episode 5 => option must be one of 10 names, got '--episode' (did you mean '--episodes'?)
run quickstart --engine rya => --engine must be one of processes, ray, got 'rya' (did you mean 'ray'?)
run quickstart --engine ray --workers 2 => --workers is for --engine processes, got 2 with --engine ray
run quickstart --device tpu => --device must be one of cpu, gpu, got 'tpu' (did you mean 'gpu'?)
run quickstart --workers 0 => --workers must be a positive integer, got 0
run quickstart --episodes many => --episodes must be a positive integer, got 'many'
run quickstart --runs 2.5 => --runs must be a positive integer, got '2.5'
run quickstart --runs 4294967296 => --runs must be an integer below 2^32, got 4294967296
run quickstart --seed -1 => --seed must be an integer of at least 0, got -1
run quickstart --episodes => option '--episodes' requires an argument (see 'driftwise --help')
run quickstart --out FILE => FOLDER 'FILE': FILE is a file, not a folder
run quickstart --out PIPE => FOLDER 'PIPE': PIPE is a pipe, not a folder
audit quickstart --out PIPE => FOLDER 'PIPE': PIPE is a pipe, not a folder
audit quickstart --out PIPES => FOLDER 'PIPES': audit.html is a pipe, not a file
run quickstart --out FILE/x => FOLDER 'FILE/x': Not a directory
run quickstart --out= => FOLDER '': the name is empty
run quickstart --out FULL => FOLDER 'FULL': regret.png is a folder, not a file
report nowhere => nowhere must be a results folder, but there is no such folder
report . --format docx => --format must be one of html, svg, pdf, png, csv, latex, got 'docx'
report . --width 3 => --width must be left out for html: it is for svg, pdf, png, got 3.0
report . --font serif => --font must be left out for html: it is for svg, pdf, png, got 'serif'
report . => manifest.json is missing: nothing finished is there to read
compare nowhere here => nowhere must be a results folder, but there is no such folder
compare here => missing argument 'DIR2' (see 'driftwise compare --help')
compare here there --metric regert => --metric must be one of regret, reward, got 'regert' (did you mean
compare here there --format xml => --format must be one of text, json, csv, got 'xml'
init FILE => PATH must be a new file that can be written, got 'FILE': File exists
init . => PATH must be a new file that can be written, got '.': File exists
init no/x => PATH must be a new file that can be written, got 'no/x': No such file or directory
validate no.toml => no.toml: cannot be read: No such file or directory
validate no/file => no/file: cannot be read: No such file or directory
validate FULL => FULL: cannot be read: Is a directory
validate PIPE => PIPE: cannot be read: it is a pipe, not a file
validate bytes.csv => bytes.csv: not valid TOML: byte 128 is not UTF-8
list drifts everything => got unexpected extra argument
list drift => KIND must be one of 11 names, got 'drift' (did you mean 'drifts'?);
list --problem MDPs => --problem must be one of
list drifts --problem any => --problem is for algorithms, got it with drifts
list --with xyzzy => --with must be a text that some row contains, got 'xyzzy'
show opt_wlvsi => NAME must be one that 'driftwise list' has, got 'opt_wlvsi' (did you mean 'opt_wlsvi'?)
audit nowhere => experiment must be one of
audit quickstart --agent LSVI => --agent must be one of OPT-WLSVI,
audit --agent nobody => --agent must be one of 11 names, got 'nobody'; they are D-LinUCB, SW-LinUCB,
audit --episodes 2 => --episodes must be at least 3 without a FILE|NAME, got 2
audit --beta-scale x => --beta-scale must be a number of at least 0, got 'x'
audit --stride 0 => --stride must be a positive integer, got 0
audit --beta-scale -1 => --beta-scale must be a number of at least 0, got -1.0
bench --suite tiny => --suite must be one of small, full, got 'tiny'
bench --agents epsilon_gredy => --agents must be one of 44 names, got 'epsilon_gredy' (did you mean 'epsilon_
bench --agents , => --agents must name at least one of
bench --with hurricane => --with must be part of a name in suite small that --agents play, got 'hurricane'
bench --engine dask => --engine must be one of processes, ray, got 'dask'
bench --engine ray --workers 2 => --workers is for --engine processes, got 2 with --engine ray
control --problems cartpole => --problems must be one of 16 names, got 'cartpole' (did you mean 'cart_pole'?);
control --agents all => --agents must be one of adaptive, memory_10, memory_all, got 'all'
control --episodes 2 => --episodes must be an integer of at least 4, got 2
control --runs 0 => --runs must be a positive integer, got 0
tune MDP --variation x => --variation must be a number of at least 0, got 'x'
tune MDP --variation -1 => --variation must be a number of at least 0, got -1.0
tune MDP --variation nan => --variation must be a number of at least 0, got nan
tune MDP --variation 1e9 => --variation must be a number in [0, 2.5297e+06], the most that is
tune --dim 10 --episodes 1 --variation 5 => --variation must be 0 in a single episode, got 5.0
tune MDP => --variation must be given where there is no experiment and no log, got none
tune => tune must be given an experiment (FILE|NAME), a log (--log) or sizes (--dim,
tune --reward gain => --reward must be left out without --log, got 'gain'
tune MDP --variation 1 --out here => --out must be left out without --log, got 'here'
tune --dim 10 --episodes 0 => --episodes must be a positive integer, got 0
tune BANDIT --dim 1.5 => --dim must be a positive integer, got '1.5'
tune quickstart --dim 3 => --dim must be left out with an experiment, got 3
tune quickstart --reward r => --reward must be left out with an experiment, got 'r'
tune quickstart --log x.csv --reward r => FILE|NAME must be left out with --log, got 'quickstart'
tune average_reward_drift => average_reward_drift: continuing_river_swim: it has no episodes, and
tune nothing.toml => nothing.toml: cannot be read: No such file or directory
tune --log log.csv --reward gain => --features must name columns of log.csv
tune --log log.csv --features x => --reward must name columns of log.csv
tune SCORED --dim 3 => --dim must be left out with --log, got 3
tune SCORED --options none.toml => --options: none.toml cannot be read: No such file
tune SCORED --reward gian => log.csv has no column 'gian' (did you mean 'gain'?)
tune SCORED --reward arm => log.csv: row 1: arm must be a number, got '
tune SCORED --out= => FOLDER ''
tune SCORED --log none.csv => none.csv cannot be read: No such file or directory
tune SCORED --log none.jsonl => none.jsonl cannot be read: No such file or directory
tune --log empty.csv --reward gain --features x --out new => empty.csv must have at least one row
replay none.parquet => none.parquet cannot be read: No such file or directory
replay log.txt ONLINE => the ending of the log's name must be one of .csv, .parquet, .jsonl, got '.txt'
replay PIPE.csv ONLINE => PIPE.csv cannot be read: it is a pipe, not a file
replay PIPE.parquet ONLINE => PIPE.parquet cannot be read: it is a pipe, not a file
replay bytes.csv ONLINE => bytes.csv
replay log.csv --reward gain => --action, --features must name columns of log.csv
replay log.csv ONLINE --policy '' => policy : algorithm must be one of
replay log.csv ONLINE --reward gian => log.csv has no column 'gian' (did you mean 'gain'?)
replay log.csv ONLINE --policy 'a:b c=1' => --policy must have a KEY of letters, digits, '_' and dots, got 'b
replay log.csv ONLINE --policy lin_ucb:nosuch=1 => policy lin_ucb: nosuch is no key of lin_ucb, expected one
replay log.csv ONLINE --policy lin_ucb:radius => --policy must be KEY=VALUE, got 'radius'
replay log.csv ONLINE --policy uniform --policy uniform => --policy must have different names
replay log.csv ONLINE --policy live:file=none => --policy: none cannot be read: No such file
replay log.csv ONLINE --range 1 => --range must be two numbers with a comma between them, got '1'
replay log.csv ONLINE --learn some => --learn must be one of accepted, all, got 'some'
replay log.csv ONLINE --policy a:b=1,b=2 => --policy must give each parameter once
replay log.csv ONLINE --options none.toml => --options: none.toml cannot be read: No such file
replay log.csv ONLINE --features , => features must name at least one column, got none
"""
OPTIONS = """
tune MDP --variation 5 | delta = 0 => delta must be a number in (0, 1], got 0
tune MDP --variation 5 | ridge = 3 => ridge must be left out for an MDP, got 3
tune MDP --variation 5 | noise_scale = 1.0 => noise_scale must be left out for an MDP, got 1.0
tune MDP --variation 5 | norm_bound = 1.0 => norm_bound must be left out for an MDP, got 1.0
tune BANDIT | ridge = 0.0 => ridge must be a number above 0, got 0.0
tune BANDIT | noise_scale = -1.0 => noise_scale must be a number of at least 0, got -1.0
tune BANDIT | norm_bound = 0.0 => norm_bound must be a number above 0, got 0.0
tune BANDIT | norm_bound = 'x' => norm_bound must be a number above 0, got 'x'
tune BANDIT | noise = 1 => --options: options.toml: an option must be one of delta, ridge, noise_scale, norm
tune BANDIT | noise => --options: options.toml is not TOML:
tune SCORED | delta = 0.1 => --options: options.toml: an option must be one of
tune SCORED | noise_scale = 0.0 => noise_scale must be a number above 0, got 0.0
tune SCORED | memories = 8 => --options: options.toml: memories must be a list, got 8
tune SCORED | memories = [8, 'x'] => memories must be an integer of at least 2, got 'x'
tune SCORED | memories = [1] => memories must be an integer of at least 2, got 1
tune SCORED | windows = [0] => windows must be a positive integer, got 0
tune SCORED | encoder = 'none.toml' => encoder: none.toml cannot be read: No such file
replay log.csv ONLINE | every = 'none' => every must be a positive integer, got 'none'
replay log.csv ONLINE | clipp = 1 => --options: options.toml: an option must be one of 19 names, got 'clipp'
replay log.csv ONLINE | features = 'x' => --options: options.toml: features must be a list, got 'x'
replay log.csv ONLINE | encoder = 'none.toml' => encoder: none.toml cannot be read: No such file
replay log.csv ONLINE | policies.uniform = 3 => policies.uniform must be a table of parameters, got 3
replay log.csv ONLINE | assume_random = 1 => assume_random must be a bool, got 1
replay log.csv ONLINE | learn = 'some' => learn must be one of accepted, all, got 'some'
"""


def expand(text: str) -> str:
    for word, meaning in SHORT.items():
        text = text.replace(f"{word} ", f"{meaning} ").removesuffix(word) + meaning * text.endswith(word)
    return text


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder to work in, with logs, and things that are no folders or files, in which nothing is played."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "run_task", lambda *_: pytest.fail("computed before the check of arguments"))
    Path("FILE").touch()
    Path("FULL", "regret.png").mkdir(parents=True)
    Path("PIPES").mkdir()
    for name in ("PIPE", "PIPES/audit.html", "PIPE.csv", "PIPE.parquet"):
        os.mkfifo(name)
    write_csv(Path("log.csv"), drawn(100))
    Path("bytes.csv").write_bytes(bytes(range(256)) * 20)
    Path("empty.csv").write_text("x,gain\n")
    return tmp_path


@pytest.mark.parametrize("row", COMMANDS.strip().splitlines() + OPTIONS.strip().splitlines())
def test_a_mistake_is_one_line_and_exit_code_2(row, folder, capsys):
    call, line = map(expand, row.split(" => "))
    call, _, options = call.partition(" | ")
    if options:
        Path("options.toml").write_text(options)
        call += " --options options.toml"
    before = sorted(folder.rglob("*"))
    assert main(shlex.split(call)) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"driftwise: error: {line}")
    assert sorted(folder.rglob("*")) == before
