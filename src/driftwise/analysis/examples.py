"""Examples of every registered name: lines of Python, and the table that an experiment file has for it."""

import functools
import inspect
import re
import sys
import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import Any, NamedTuple

from driftwise.algorithms import Algorithm
from driftwise.base.extras import require_extra
from driftwise.base.part import CONFIGURABLE

with require_extra("an example", "cli"):
    import tomli_w

_EPISODES = 1000


class Example(NamedTuple):
    """Lines of Python, and the table of an experiment file that has the same effect."""

    python: str
    file: str


def make_example(kind: str, maker: Any) -> Example:
    """Return an example of an algorithm, an environment, or a part of this kind, such as `drift`."""
    if isinstance(maker, Algorithm):
        lines, table = _algorithm_example(maker)
    else:
        values = _required_values(maker)
        package = "dw.environments." if kind == "environment" else ""
        call = _format_call(f"{kind} = {package}{maker.__name__}", _keywords(values))
        lines = [*["import driftwise as dw"] * bool(package), *_imports(call), "", call]
        table = _file_table(kind, {"type": maker.__name__, **values})
    short_lists = re.compile(r"\[\n((?:\s+[^\[\]{}\n]+,\n)+)\s*\]")
    file = short_lists.sub(lambda match: f"[{' '.join(match[1].split())[:-1]}]", tomli_w.dumps(table))
    return Example("\n".join(lines), file.strip())


@functools.cache
def _data() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("driftwise.analysis") / "examples.toml").read_text(encoding="utf-8"))


def _algorithm_example(algorithm: Algorithm) -> tuple[list[str], dict[str, Any]]:
    """Return a run in an environment for the algorithm; it is tuned where that needs fewer values."""
    facts = dict(_data()["facts"])
    if algorithm.problem in ("tabular MDP", "metric MDP"):  # the variation of the pair that changes most
        for name in ("variation", "variations"):
            facts[name] = facts[name].replace(")", ', norm="pairs")')
    own, tuned = _required_values(algorithm.recipe), _required_values(algorithm.tuned)
    is_tuned = len(tuned.keys() - facts) < len(own.keys() - facts)
    values = tuned if is_tuned else own
    if algorithm.wraps:
        values["base"] = _data()["agents"]["arms" if algorithm.takes_arms else "base"]
    given = {name: value for name, value in values.items() if name not in facts}
    codes = {name: facts[name] for name in values if name in facts}
    codes |= {name: _code(value) for name, value in given.items()}
    first = codes.pop("base" if algorithm.wraps else "spec")
    call = f"agent = dw.algorithms.{algorithm.name}{'.tuned' * is_tuned}"
    call = _format_call(call, [first, *(f"{name}={code}" for name, code in codes.items())])
    environment = _data()["environments"].get(algorithm.problem, "combination_lock")
    size, drift = f"num_rounds={_EPISODES}", {}
    if algorithm.problem != "linear bandit":
        size = f"drift=dw.drift.Abrupt(at=[{_EPISODES // 2}])"
        drift = {"drift": {"type": "Abrupt", "at": ["50%"]}}
    lines = ["import driftwise as dw", *_imports(call), ""]
    lines += [f"environment = dw.environments.{environment}({size})", call]
    lines += [f"result = dw.simulate(agent, environment, num_episodes={_EPISODES}, num_runs=8)"]
    agent = {"algorithm": algorithm.name, **({"tuned": True} if is_tuned else {}), **given}
    return lines, {"environment": {"type": environment, **drift}, "agents": {algorithm.name: agent}}


def _required_values(maker: Callable[..., Any]) -> dict[str, Any]:
    """Return values for the parameters without a default; for facts about the run, `None`."""
    data, values = _data(), {}
    for name, parameter in inspect.signature(maker).parameters.items():
        if name in data["facts"] and not isinstance(maker, type) and parameter.default is parameter.empty:
            values[name] = None
        elif name == "features":
            values[name] = data["features"].get(maker.__name__, "…")
        elif parameter.default is parameter.empty or (name == "noise_scale" and parameter.default is None):
            values[name] = data["values"].get(name, "…")
    return values | ({"at": data["values"]["at"]} if maker.__name__ == "Then" else {})


def _file_table(kind: str, table: dict[str, Any]) -> dict[str, Any]:
    """Return the place that an experiment file has for a part of this kind."""
    values = _data()["values"]
    match kind:
        case "environment":
            return {"environment": table}
        case "drift":
            return {"environment": {"drift": table}}
        case "path" | "arms" | "corruption":
            parts = {"arms": values["arms"], "path": values["path"], kind: table}
            return {"environment": {"type": "linear_bandit", **parts}}
        case "detector":
            agent = {"algorithm": "change_detection", "base": _data()["agents"]["base"], "detector": table}
        case _:
            parts = {name: values[name] for name in ("forgetting", "exploration")} | {kind: table}
            agent = {"algorithm": "least_squares", **parts}
    return {"agents": {"mine": agent}}


def _format_call(function: str, arguments: list[str]) -> str:
    line = f"{function}({', '.join(arguments)})"
    lines = [f"{function}(", *(f"    {argument}," for argument in arguments), ")"]
    return line if len(line) <= 76 else "\n".join(lines)


def _keywords(values: dict[str, Any]) -> list[str]:
    return [f"{name}={_code(value)}" for name, value in values.items() if name not in ("type", "algorithm")]


def _code(value: Any) -> str:
    """Return a value of a file as Python."""
    if isinstance(value, list):
        return f"[{', '.join(map(_code, value))}]"
    if not isinstance(value, dict):
        return repr(value)
    if "algorithm" in value:
        return f"dw.algorithms.{value['algorithm']}({', '.join(['environment.spec', *_keywords(value)])})"
    return f"{value['type']}({', '.join(_keywords(value))})"


def _imports(code: str) -> list[str]:
    """Return lines that import the parts in code, from the package that offers them."""
    modules: dict[str, list[str]] = {}
    for name in sorted({*re.findall(r"\b[A-Z]\w*(?=\()", code)}):
        part = CONFIGURABLE[name]
        package = part.__module__.rpartition(".")[0]
        is_offered = vars(sys.modules[package]).get(name) is part
        modules.setdefault(package if is_offered else part.__module__, []).append(name)
    return [f"from {module} import {', '.join(names)}" for module, names in sorted(modules.items())]
