"""Valid files and command lines, changed at random: cases for `validate`, `replay` and `load`.

A case is told by its number alone, so that one which fails can be made again.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import tomli_w
from pyarrow import parquet

from driftwise.experiments import experiment as experiment_files
from driftwise.online import Bandit, EpisodicAgent, agent_files
from tests.examples import PARAMETERS, SPEC
from tests.examples import make as make_environment
from tests.online.streams import lead, make
from tests.online.test_replay import drawn, write_csv

Rng = np.random.Generator
BUILTIN = Path(experiment_files.__file__).parent
EXPERIMENTS = [path.read_text(encoding="utf-8") for path in sorted(BUILTIN.rglob("*.toml"))]
NUMBERS = [0, 1, -1, 2, 7, 0.5, -0.5, 1.5, 1e-320, 1e308, -1e308, 1e-12, 2**40, 2**53, 2**63 - 1, -(2**63)]
WORDS = [
    "",
    " ",
    "\x00",
    "é",
    "a" * 5000,
    "50%",
    "-1%",
    "1e400%",
    "None",
    "__class__",
    "../..",
    "=1+1",
    "\ud7ff",
]
NO_NUMBERS = [float("nan"), float("inf"), -float("inf")]
HOSTILE = [*NUMBERS, *NO_NUMBERS, *WORDS, True, False, [], {}, [[]], [0, "a"], {"type": 1}]


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


REAL = ["lin_ucb", "d_lin_ucb", "greedy", "uniform", "sw_lin_ucb", "master", "opt_wlsvi", "q_ucb"]
ALGORITHMS = [*REAL, "", "\x00", "run"]
PARAMETER_NAMES = ["rate", "radius", "ridge", "length", "noise_scale", "seed", "base.algorithm", "base"]
KEYS = [*PARAMETER_NAMES, "", ".", "a.b.c", "tuned"]
COLUMNS = {"--action": "arm", "--reward": "gain", "--features": "x", "--propensity": "chance"}


def replay_arguments(number: int, folder: Path) -> list[str]:
    """Arguments of `driftwise replay`: a log that is changed, or options that are."""
    rng = np.random.default_rng([2, number])
    columns = {name: list(values) for name, values in drawn(int(rng.integers(2, 60)), seed=number).items()}
    if rng.random() < 0.4:
        for _ in range(int(rng.integers(1, 3))):
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
    arguments = ["replay", str(path), *(word for pair in options.items() for word in pair)]
    if rng.random() < 0.5:
        values = [*NUMBERS, *WORDS, "[", "{}", "[1, 2]", "true"]
        settings = [f"{pick(rng, KEYS)}={pick(rng, values)}" for _ in range(int(rng.integers(3)))]
        arguments += [f"--policy={pick(rng, ALGORITHMS)}:{','.join(settings)}"]
    if rng.random() < 0.5:
        names = ("frozen_after", "every", "seed", "clip", "delta", "memory", "k", "shared", "columns")
        lines = [f"{name} = {pick(rng, [*NUMBERS, '', 'true'])}" for name in names if rng.random() < 0.15]
        (folder / f"{number}.toml").write_text("\n".join(lines), encoding="utf-8")
        arguments += ["--options", str(folder / f"{number}.toml")]
    if rng.random() < 0.4:
        ranges = ["0,1", "-1,2", "1,0", "0", "a,b", "0,1e308", "-1e308,1e308", "0,1e-320"]
        arguments += ["--range", pick(rng, ranges)]
    if rng.random() < 0.3:
        arguments += ["--learn", pick(rng, ["all", "accepted", "ALL"])]
    if rng.random() < 0.3:
        name = pick(rng, ["a", "lin_ucb", "logged", "", ":"])
        arguments += [f"--policy={name}:{pick(rng, KEYS)}={pick(rng, NUMBERS)}"]
    return arguments + ["--json"] * bool(rng.random() < 0.5)


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
        description, tensors, _ = agent_files.read_agent_file(original)
        if rng.random() < 0.6:
            changed_value(rng, description)
        if rng.random() < 0.6:
            _changed_tensor(rng, tensors)
        try:
            agent_files.write_agent_file(path, agent_files.AgentFile(description, tensors))
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
