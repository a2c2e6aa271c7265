"""Whatever is in a file or on the command line, the answer is a result or one sentence, and it comes soon.

Valid files and command lines are changed at random. A case is told by its number alone, so that one which
fails can be made again.
"""

import contextlib
import functools
import json
import re
import signal
import time
import tomllib
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import tomli_w
from pyarrow import parquet

from driftwise.__main__ import main
from driftwise.experiments import experiment as experiment_files
from driftwise.online import Bandit, EpisodicAgent, agent_files, load
from tests.examples import PARAMETERS, SPEC
from tests.examples import make as make_environment
from tests.online.streams import lead, make
from tests.online.test_replay import drawn, write_csv

pytestmark = pytest.mark.slow

SECONDS = 5.0  # of this process' own time, which other processes do not spend
HANGING = 120  # seconds of any clock after which nothing comes any more, on the slowest machine
NOTES = (  # that may go with a result, each once
    r"(driftwise: skipped \d+ of \d+ rows: [^\n]+\n)?"
    r"(driftwise: \S+ learnt from \d+ of \d+ rows, [^\n]+\n)?"
)
VALIDATED, REPLAYED, LOADED = ([range(k, k + 250) for k in range(0, num, 250)] for num in (4000, 2000, 4000))
Rng = np.random.Generator
BUILTIN = Path(experiment_files.__file__).parent
EXPERIMENTS = [path.read_text(encoding="utf-8") for path in sorted(BUILTIN.rglob("*.toml"))]
NUMBERS = [0, 1, -1, 2, 7, 0.5, -0.5, 1.5, 1e-320, 1e308, -1e308, 1e-12, 2**40, 2**53, 2**63 - 1, -(2**63)]
WORDS = ["", " ", "\x00", "é", "a" * 5000, "50%", "-1%", "1e400%", "None", "__class__", "../..", "=1+1"]
WORDS.append("\ud7ff")
NO_NUMBERS = [float("nan"), float("inf"), -float("inf")]
HOSTILE = [*NUMBERS, *NO_NUMBERS, *WORDS, True, False, [], {}, [[]], [0, "a"], {"type": 1}]
REAL = ["lin_ucb", "d_lin_ucb", "greedy", "uniform", "sw_lin_ucb", "master", "opt_wlsvi", "q_ucb"]
ALGORITHMS = [*REAL, "", "\x00", "run"]
PARAMETER_NAMES = ["rate", "radius", "ridge", "length", "noise_scale", "seed", "base.algorithm", "base"]
KEYS = [*PARAMETER_NAMES, "", ".", "a.b.c", "tuned"]
VALUES = [*NUMBERS, *WORDS, "[", "{}", "[1, 2]", "true"]
COLUMNS = {"--action": "arm", "--reward": "gain", "--features": "x", "--propensity": "chance"}
RANGES = ["0,1", "-1,2", "1,0", "0", "a,b", "0,1e308", "-1e308,1e308", "0,1e-320"]
REPLAY_OPTIONS = ("frozen_after", "every", "seed", "clip", "delta", "memory", "k", "shared", "columns")


def pick(rng: Rng, choices: Sequence[Any]) -> Any:
    """One of the choices."""
    return choices[int(rng.integers(len(choices)))]


def changed_bytes(rng: Rng, content: bytes) -> bytes:
    """A content with a few bytes flipped, cut out, repeated or put in."""
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        first, last = sorted(int(each) for each in rng.integers(0, len(changed) + 1, 2))
        last = min(last, first + 40) if rng.random() < 0.7 else last
        how = rng.integers(5)
        if how == 0 and first < len(changed):
            changed[first] ^= 1 << int(rng.integers(8))
        elif how == 1:
            del changed[first:last]
        elif how == 2:
            changed[first:first] = changed[first:last][:10_000]
        elif how == 3:
            changed[first:first] = rng.bytes(int(rng.integers(1, 9)))
        else:
            number = int(pick(rng, [0, 1, 2**31, 2**63 - 1, 2**64 - 1]))
            changed[first : first + 8] = number.to_bytes(8, "little")
    return bytes(changed)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container within a value, with each of its keys."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def changed_value(rng: Rng, value: Any, *, others: Sequence[Any] = ()) -> None:
    """Change a nested value: most often a number, else a value, one from elsewhere, one more or less."""
    for _ in range(int(rng.integers(1, 3))):
        found = list(places(value))
        numbers = [each for each in found if type(each[0][each[1]]) in (int, float)]
        if numbers and rng.random() < 0.6:
            container, key = pick(rng, numbers)
            container[key] = pick(rng, [*NUMBERS, container[key] * 2, -container[key], container[key] / 10])
        elif found:
            container, key = pick(rng, found)
            how = rng.integers(4)
            if how == 0:
                del container[key]
            elif how == 1:
                other, there = pick(rng, list(places(pick(rng, others))) if others else found)
                container[key] = json.loads(json.dumps(other[there], default=str))
            elif how == 2 and isinstance(container, dict):
                container[pick(rng, [*WORDS, "type", "seed", "radius", "rate"])] = pick(rng, HOSTILE)
            else:
                container[key] = pick(rng, HOSTILE)


def experiment(number: int) -> bytes:
    """An experiment's file: one of the package's, changed as text or as a table."""
    rng = np.random.default_rng([1, number])
    text = pick(rng, EXPERIMENTS)
    if rng.random() < 0.3:
        return changed_bytes(rng, text.encode())
    table = tomllib.loads(text)
    changed_value(rng, table, others=[tomllib.loads(each) for each in EXPERIMENTS[:4]])
    try:
        return tomli_w.dumps(table).encode()
    except (TypeError, ValueError):  # what TOML cannot say
        return changed_bytes(rng, text.encode())


def replay_arguments(number: int, folder: Path) -> list[str]:
    """Arguments of `driftwise replay`: a log that is changed, or options that are."""
    rng = np.random.default_rng([2, number])
    columns = {name: list(values) for name, values in drawn(int(rng.integers(2, 60)), seed=number).items()}
    for _ in range(int(rng.integers(1, 3)) if rng.random() < 0.4 else 0):
        column = pick(rng, list(columns.values()))
        column[int(rng.integers(len(column)))] = pick(rng, [*NUMBERS, "nan", "inf", '"', ",", *WORDS[:4]])
    if rng.random() < 0.3:
        path = folder / f"{number}.parquet"
        plain = {name: [str(each) for each in values] for name, values in columns.items()}
        parquet.write_table(pa.table(plain if rng.random() < 0.5 else drawn(20, seed=number)), path)
    else:
        path = write_csv(folder / f"{number}.csv", columns)
    if rng.random() < 0.2:
        path.write_bytes(changed_bytes(rng, path.read_bytes()))
    options = dict(COLUMNS)
    if rng.random() < 0.15:
        options[pick(rng, list(options))] = pick(rng, ["arm", "gain", "x", "x,gain", "chance", "", ",", "é"])
    policies = []
    for _ in range(int(rng.integers(3))):
        settings = [f"{pick(rng, KEYS)}={pick(rng, VALUES)}" for _ in range(int(rng.integers(3)))]
        policies.append(f"--policy={pick(rng, [*ALGORITHMS, 'a', 'logged', ':'])}:{','.join(settings)}")
    names = [name for name in REPLAY_OPTIONS if rng.random() < 0.08]
    lines = [f"{name} = {pick(rng, [*NUMBERS, '', 'true'])}" for name in names]
    (folder / f"{number}.toml").write_text("\n".join(lines), encoding="utf-8")
    options["--options"] = str(folder / f"{number}.toml")
    if rng.random() < 0.4:
        options["--range"] = pick(rng, RANGES)
    if rng.random() < 0.3:
        options["--learn"] = pick(rng, ["all", "accepted", "ALL"])
    words = (word for pair in options.items() for word in pair)
    return ["replay", str(path), *words, *policies, *["--json"] * int(rng.integers(2))]


def saved_agents(folder: Path) -> list[Path]:
    """Files of agents of several kinds, some with decisions that wait."""
    paths = []
    for name in ("d_lin_ucb", "d_lin_ts", "sw_lin_ucb", "bob", "master_lin_ucb"):
        bandit = make(name, max_pending=4)
        lead(bandit, 25, seed=1)
        paths.append(folder / f"{name}.safetensors")
        bandit.save(paths[-1])
    features, options = make_environment().features, PARAMETERS["opt_wlsvi"]
    agent = EpisodicAgent("opt_wlsvi", features=features, horizon=SPEC.horizon, **options)
    paths.append(folder / "episodic.safetensors")
    agent.save(paths[-1])
    return paths


def use(agent: Bandit | EpisodicAgent) -> None:
    """Reward what waits, and go on for a few decisions or episodes."""
    if isinstance(agent, Bandit):
        for number in list(agent._pending.waiting):
            agent.learn(number, 0.5)
        for _ in range(2):
            agent.learn(agent.decide(np.eye(agent.agent.spec.dim)).id, 0.5)
    else:
        for _ in range(2):
            agent.begin(0)
            while agent.under_way:
                agent.act()
                agent.observe(0.5, 0)
    agent.summary()


def agent_file(number: int, paths: Sequence[Path], path: Path) -> None:
    """Write a file of an agent that was changed as bytes, in its header, or within, and then sealed again."""
    rng = np.random.default_rng([3, number])
    original = pick(rng, paths)
    how = rng.integers(3)
    if how == 0:
        path.write_bytes(changed_bytes(rng, original.read_bytes()))
    elif how == 1:
        content = original.read_bytes()
        end = 8 + int.from_bytes(content[:8], "little")
        header = json.loads(content[8:end])
        changed_value(rng, header)
        told = json.dumps(header).encode()
        path.write_bytes(len(told).to_bytes(8, "little") + told + content[end:])
    else:
        description, tensors, *_ = agent_files.read_agent_file(original)
        if rng.random() < 0.6:
            changed_value(rng, description)
        if rng.random() < 0.6:
            _changed_tensor(rng, tensors)
        try:
            agent_files.write_agent_file(path, agent_files.AgentFile(description, tensors, {}))
        except (TypeError, ValueError):  # what JSON cannot say
            path.write_bytes(changed_bytes(rng, original.read_bytes()))


def _changed_tensor(rng: Rng, tensors: dict[str, np.ndarray]) -> None:
    name = pick(rng, sorted(tensors))
    array, put = tensors[name], functools.partial(tensors.__setitem__, name)
    changes: list[Callable[[], Any]] = [
        lambda: tensors.pop(name),
        lambda: put(array.astype(pick(rng, [np.float64, np.float32, np.int64, np.int32, bool]))),
        lambda: put(array.ravel()),
        lambda: put(array[None]),
        lambda: put(np.concatenate([array.ravel()] * 2)),
        lambda: put(tensors[pick(rng, sorted(tensors))]),
        lambda: array.put(int(rng.integers(max(array.size, 1))), pick(rng, [-1, 0, 1, 2**31 - 1])),
        lambda: array.dtype.kind == "f" and array.put(0, pick(rng, [np.nan, np.inf, -1.0, 1e308, 1e-320])),
    ]
    with np.errstate(all="ignore"):
        if array.size:
            pick(rng, changes)()


@pytest.fixture(autouse=True)
def as_a_program() -> Iterator[None]:
    """Warnings are printed, as where no tests run."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        yield


class HungError(BaseException):
    """An answer that does not come; no handler of errors may take it for one of its own."""


@contextlib.contextmanager
def not_hanging() -> Iterator[None]:
    """End what waits, or works, far longer than any case may."""

    def stop(*_: object) -> None:
        raise HungError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANGING)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def problems(cases: range, answer: Callable[[int], str | None]) -> list[str]:
    """Cases whose answer is a traceback, more than a line, late, or none."""
    found = []
    for number in cases:
        started = time.process_time()
        try:
            with not_hanging():
                problem = answer(number)
        except (Exception, HungError) as error:
            problem = f"{type(error).__name__}: {error}"
        took = time.process_time() - started
        if problem is None and took > SECONDS:
            problem = f"it took {took:.1f} seconds"
        if problem is not None:
            found.append(f"{number}: {problem[:300]}")
    return found


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str | None:
    """None if a command ends well and says nothing else, or says one line; else what is wrong with it."""
    code = main(arguments)
    out, err = capsys.readouterr()
    well = code == 0 and re.fullmatch(NOTES, err)
    refused = code in (1, 2) and out == "" and re.fullmatch(r"driftwise: error: [^\n]+\n", err)
    return None if well or refused else f"code {code}: {out[:100]} {err}"


@pytest.mark.parametrize("cases", VALIDATED, ids=str)
def test_validate_answers_every_file(cases, tmp_path, capsys):
    path = tmp_path / "changed.toml"

    def answer(number: int) -> str | None:
        path.write_bytes(experiment(number))
        return said(["validate", str(path)], capsys)

    assert problems(cases, answer) == []


@pytest.mark.parametrize("cases", REPLAYED, ids=str)
def test_replay_answers_every_log_and_every_option(cases, tmp_path, capsys):
    assert problems(cases, lambda number: said(replay_arguments(number, tmp_path), capsys)) == []


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return saved_agents(tmp_path_factory.mktemp("agents"))


@pytest.mark.parametrize("cases", LOADED, ids=str)
def test_load_answers_every_file(cases, agents, tmp_path):
    path = tmp_path / "changed.safetensors"

    def answer(number: int) -> str | None:
        agent_file(number, agents, path)
        try:
            agent = load(path)
            with contextlib.suppress(FloatingPointError):  # numbers that support no decision
                use(agent)
            agent.save(path)
            load(path)  # it may have learnt what is not finite
        except ValueError as error:
            message = str(error)
            return None if re.fullmatch("(path|features) must be .+", message) else message
        return None

    assert problems(cases, answer) == []
