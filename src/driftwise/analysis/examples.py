"""Examples of whatever has a name: lines of Python, and the table that an experiment file has for it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from driftwise.algorithms import Algorithm
from driftwise.analysis.catalogue import singular
from driftwise.base.extras import needed_by
from driftwise.base.part import CONFIGURABLE

with needed_by("an example", "cli"):
    import tomli_w

EPISODES = 1000
WORLDS = {  # for the problems of algorithms
    "linear bandit": "russac_abrupt",
    "tabular MDP": "river_swim",
    "metric MDP": "oil_discovery",
    "average reward": "continuing_river_swim",
}
FACTS = {  # about a run, which files know themselves
    "spec": "environment.spec",
    "num_episodes": f"{EPISODES}",
    "variation": f"environment.variation({EPISODES}).total",
    "variations": f"environment.variation({EPISODES})",
    "changes": f"environment.changes({EPISODES})",
    "diameter": f"environment.diameter({EPISODES})",
    "num_kernels": "len(environment.mu)",
}
OF_PAIRS = ("tabular MDP", "metric MDP")  # whose variation is that of the pair that moves most
VALUES: dict[str, Any] = {  # of parameters that have no default
    "amplitude": [0.3, 0.3],
    "anchors": [[1.0, 0.0], [0.0, 1.0]],
    "arms": {"type": "FreshArms", "num_arms": 20, "dim": 2},
    "at": [500],
    "budget": 10.0,
    "centre": [0.5, 0.5],
    "dim": 2,
    "drift": {"type": "Abrupt", "at": [50]},
    "drifts": [{"type": "Abrupt", "at": [250]}, {"type": "Periodic", "period": 100}],
    "end": 1.57,
    "epsilon": 0.1,
    "exploration": {"type": "Ucb", "radius": 0.4},
    "forgetting": {"type": "ExponentialWeights", "rate": 0.99},
    "gamma": 50.0,
    "half_life": 150.0,
    "knots": [250, 750],
    "length": 200,
    "lower": 0.0,
    "noise_scale": 0.1,
    "num_arms": 20,
    "path": {"type": "Rotation", "start": 0.0, "end": 1.57, "rounds": EPISODES},
    "period": 100,
    "phase": [0.0, 1.57],
    "probability": 0.01,
    "radius": 0.4,
    "rate": 0.99,
    "regret_scale": 1.0,
    "rounds": EPISODES,
    "scale": 0.1,
    "share": 0.01,
    "start": 0.0,
    "temperature": 0.1,
    "upper": 1.0,
    "weights": [0.0, 0.5, 1.0],
    "widening": 0.2,
}
SETS = {"FixedArms": [[1.0, 0.0], [0.0, 1.0]], "ContextArms": [[[1.0, 0.0], [0.0, 1.0]]]}
BASE = {"algorithm": "lsvi_ucb", "radius": 0.4}
ARMS = {"algorithm": "opt_wlsvi", "rate": [0.9, 0.99, 1.0], "radius": 0.4}  # for a choice between agents
WIDTH = 76  # of a line of Python


class Example(NamedTuple):
    """How something is used in Python, and what an experiment file says instead."""

    python: str
    file: str


def example(kind: str, maker: Any) -> Example:
    """An example of something by the kind of things that it is listed with."""
    if isinstance(maker, Algorithm):
        lines, table = _of_algorithm(maker)
    elif kind == "environments":
        values = _needed(maker)
        made = _fitting(f"environment = dw.environments.{maker.__name__}", _keywords(values))
        lines = ["import driftwise as dw", *_imports(values), "", made]
        table = {"environment": {"type": maker.__name__, **values}}
    else:
        values, key = _needed(maker), singular(kind)
        part = {"type": maker.__name__, **values}
        lines = [*_imports(part), "", _fitting(f"{key} = {maker.__name__}", _keywords(values))]
        table = _in_a_file(key, part)
    return Example("\n".join(lines), _toml(table))


def _of_algorithm(algorithm: Algorithm) -> tuple[list[str], dict[str, Any]]:
    """A run of it where it belongs; tuned, where that leaves less to say."""
    world = WORLDS.get(algorithm.problem, "combination_lock")
    bandit = algorithm.problem == "linear bandit"
    of_world = f"num_rounds={EPISODES}" if bandit else f"drift=dw.drift.Abrupt(at=[{EPISODES // 2}])"
    of_file = {} if bandit else {"drift": {"type": "Abrupt", "at": ["50%"]}}
    own, tuned = _needed(algorithm.recipe), _needed(algorithm.tuned)
    is_tuned = len(tuned.keys() - FACTS) < len(own.keys() - FACTS)
    values = tuned if is_tuned else own
    if algorithm.wraps:
        values["base"] = ARMS if algorithm.takes_arms else BASE
    facts = {key: _fact(key, algorithm.problem) for key in values if key in FACTS}
    said = {key: value for key, value in values.items() if key not in FACTS}
    codes = facts | {key: _code(value) for key, value in said.items()}
    first = codes.pop("base" if algorithm.wraps else "spec")
    arguments = [first, *(f"{key}={code}" for key, code in codes.items())]
    lines = [
        "import driftwise as dw",
        *_imports(said),
        "",
        f"environment = dw.environments.{world}({of_world})",
        _fitting(f"agent = dw.algorithms.{algorithm.name}{'.tuned' * is_tuned}", arguments),
        f"result = dw.simulate(agent, environment, num_episodes={EPISODES}, num_runs=8)",
    ]
    agent = {"algorithm": algorithm.name, **({"tuned": True} if is_tuned else {}), **said}
    return lines, {"environment": {"type": world, **of_file}, "agents": {algorithm.name: agent}}


def _toml(table: dict[str, Any]) -> str:
    """A table as a file has it, short lists in one line."""
    items = re.compile(r"\[\n((?:\s+[^\[\]{}\n]+,\n)+)\s*\]")
    return items.sub(
        lambda found: f"[{' '.join(found[1].split()).rstrip(',')}]", tomli_w.dumps(table)
    ).strip()


def _fitting(call: str, arguments: list[str]) -> str:
    line = f"{call}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return "\n".join([f"{call}(", *(f"    {each}," for each in arguments), ")"])


def _fact(key: str, problem: str) -> str:
    of_pairs = problem in OF_PAIRS and key in ("variation", "variations")
    return FACTS[key].replace(")", ', norm="pairs")') if of_pairs else FACTS[key]


def _needed(maker: Callable[..., Any]) -> dict[str, Any]:
    """Values for the parameters without a default; of facts about the run, None."""
    values = {}
    for name, each in inspect.signature(maker).parameters.items():
        if each.default is each.empty or (name == "noise_scale" and each.default is None):
            known = SETS.get(maker.__name__, "…") if name == "features" else VALUES.get(name, "…")
            values[name] = None if name in FACTS and not isinstance(maker, type) else known
    if maker.__name__ == "Then":
        values["at"] = VALUES["at"]
    return values


def _in_a_file(key: str, table: dict[str, Any]) -> dict[str, Any]:
    """Where an experiment file has a part of this kind."""
    if key == "drift":
        return {"environment": {"drift": table}}
    if key in ("path", "arms", "corruption"):
        own = {name: VALUES[name] for name in ("arms", "path")} | {key: table}
        return {"environment": {"type": "linear_bandit", **own}}
    if key == "detector":
        return {"agents": {"mine": {"algorithm": "change_detection", "base": BASE, "detector": table}}}
    own = {name: VALUES[name] for name in ("forgetting", "exploration")} | {key: table}
    return {"agents": {"mine": {"algorithm": "least_squares", **own}}}


def _code(value: Any) -> str:
    """A value of a file as Python."""
    if isinstance(value, dict) and "algorithm" in value:
        arguments = {key: each for key, each in value.items() if key != "algorithm"}
        return f"dw.algorithms.{_call(value['algorithm'], arguments, 'environment.spec')}"
    if isinstance(value, dict):
        return _call(value["type"], {key: each for key, each in value.items() if key != "type"})
    if isinstance(value, list):
        return f"[{', '.join(map(_code, value))}]"
    return repr(value)


def _call(name: str, arguments: Mapping[str, Any], *first: str) -> str:
    return f"{name}({', '.join([*first, *_keywords(arguments)])})"


def _keywords(arguments: Mapping[str, Any]) -> list[str]:
    return [f"{key}={_code(value)}" for key, value in arguments.items()]


def _imports(value: Any) -> list[str]:
    """Lines that import the parts within a value, from the package that offers them."""
    found: dict[str, set[str]] = {}
    for name in _types(value):
        cls = CONFIGURABLE[name]
        package = cls.__module__.rpartition(".")[0]
        offered = getattr(sys.modules.get(package), name, None) is cls
        found.setdefault(package if offered else cls.__module__, set()).add(name)
    return [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(found.items())]


def _types(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["type"]] if "type" in value else []
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _types(each)
