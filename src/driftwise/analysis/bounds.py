"""Tunings and bounds of the theory as tables, in words, and as JSON."""

from __future__ import annotations

import math
from typing import Any

from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.theory import bandit_tuning, tuning
from driftwise.theory.bounds.advice import Advice, described
from driftwise.theory.bounds.bound import Bound, Evaluation, Problem, Setting, first_useful, trivial
from driftwise.theory.bounds.catalogue import BOUNDS

TRIVIAL: dict[Problem, str] = {"linear MDP": "HK", "linear bandit": "2SK"}
ADAPTIVE: dict[Problem, str] = {"linear MDP": "adaptive_opt_wlsvi", "linear bandit": "adaptive_lin_ucb"}


def caution(problem: Problem) -> str:
    """What bounds do not say."""
    return (
        "All of this is bounds: a tuning makes small what is lost at most, whatever happens. It is no "
        "estimate of the memory that is best for you. 'driftwise tune --log FILE' measures memories on your "
        f"data, and {ADAPTIVE[problem]} weighs them as it goes, told no variation."
    )


def _tunings(setting: Setting, problem: Problem) -> list[list[Evaluation]]:
    """Bounds of each tuning, the smallest first."""
    found: dict[Any, list[Evaluation]] = {}
    for each in _evaluated(setting, problem, rate_only=False):
        numbers = (*each.parameters.items(), each.setting.ridge)
        found.setdefault((each.bound.algorithm, _options(each.bound), numbers), []).append(each)
    return [sorted(bounds, key=lambda each: each.total) for bounds in found.values()]


def _options(bound: Bound) -> str:
    """The keywords of a tuning; λ has a column, and what values are cut at a sentence of its own."""
    named = {name: value for name, value in bound.options.items() if name not in ("clip", "ridge")}
    return (
        ", ".join(
            each if name == "tuning" else f"{name.replace('_', ' ')} {each}" for name, each in named.items()
        )
        or "–"
    )


def tunings_table(setting: Setting, problem: Problem) -> Table:
    """The tunings, with how long each remembers."""
    rows = [
        (
            best.bound.algorithm,
            _options(best.bound),
            Cell.of("{:g}".format, best.setting.ridge),
            described(best),
            Cell.of("{:,.0f}".format, best.remembered),
            Cell.of("{:.3g}".format, best.radius),
        )
        for best, *_ in _tunings(setting, problem)
    ]
    columns = words("algorithm", "tuning") + numbers("λ") + words("forgetting")
    title = "Tunings: the memory at which a bound is smallest, and its radius"
    return Table.of("tunings", columns + numbers("remembered", "radius"), _merged(rows), title)


def bounds_table(setting: Setting, problem: Problem) -> Table:
    """The smallest bound of each tuning."""
    symbol, most = TRIVIAL[problem], trivial(setting, problem)
    rows = [
        (
            best.bound.algorithm,
            _options(best.bound),
            Cell.of("{:g}".format, best.setting.ridge),
            Cell.of("{:.3g}".format, best.total / most),
            _first(best.bound, setting),
            best.bound.status + f" ({best.bound.assumes})" * bool(best.bound.assumes),
        )
        for best, *_ in _tunings(setting, problem)
    ]
    columns = words("algorithm", "tuning") + numbers("λ", f"bound / {symbol}", f"below {symbol} at K")
    title = f"Their bounds, beside the trivial bound {symbol} = {most:,.0f}"
    return Table.of("bounds", columns + words("status"), _merged(rows), title).without_empty()


def _merged(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows of tunings that differ in their names alone as one row with all the names."""
    names: dict[Any, list[str]] = {}
    for algorithm, name, *rest in rows:
        names.setdefault((algorithm, *rest), []).append(name)
    return [(algorithm, ", ".join(found), *rest) for (algorithm, *rest), found in names.items()]


def legend(setting: Setting, problem: Problem) -> str:
    """What the columns of the tables mean."""
    symbol = TRIVIAL[problem]
    bounds = [each.bound for each in _evaluated(setting, problem, rate_only=False)]
    clipped = dict.fromkeys(bound.algorithm for bound in bounds if "clip" in bound.options)
    return (
        f"remembered: episodes; a window, a period, or 1/log(1/η). bound / {symbol}: the smallest bound of "
        f"the tuning (--json has all); above 1 it says nothing. below {symbol} at K: the first length of "
        "run at which it says something, with the same variation; –: none. status: proven as printed, "
        "corrected, withdrawn since it rests on a step that fails, or ours; in brackets what it assumes."
        + f" Bounds of {', '.join(clipped)} are about clip='tight'."
        * bool(clipped)
    )


def rates_table(setting: Setting, problem: Problem) -> Table:
    """Bounds of which the rate alone is known."""
    rows = [
        (
            evaluation.bound.algorithm,
            evaluation.bound.side,
            " + ".join(term.formula for term in evaluation.bound.terms),
            Cell.of("{:.3g}".format, evaluation.total),
            _first(evaluation.bound, setting),
        )
        for evaluation in _evaluated(setting, problem, rate_only=True)
    ]
    columns = words("algorithm", "side", "rate") + numbers("value", f"below {TRIVIAL[problem]} at K")
    title = "Rates: no constants, no logarithms, not to be compared with the above"
    return Table.of("rates", columns, rows, title)


def _first(bound: Bound, setting: Setting) -> Cell:
    first = first_useful(bound, setting)
    return Cell("–", (math.inf,)) if first is None else Cell.of("{:.3g}".format, first)


def _evaluated(setting: Setting, problem: Problem, *, rate_only: bool) -> list[Evaluation]:
    wanted = (each for each in BOUNDS.values() if (each.problem, each.rate_only) == (problem, rate_only))
    return [bound.evaluate(setting) for bound in wanted if bound.is_about(setting)]


def _blocks(setting: Setting, problem: Problem) -> dict[str, int]:
    """Block lengths of the algorithms that choose a memory online."""
    sizes: dict[str, Any] = dict(dim=setting.dim, num_episodes=setting.num_episodes)
    if problem == "linear bandit":
        return {"BOB": bandit_tuning.bob_block_length(**sizes)}
    return {
        "BoRL": tuning.borl_block_length(**sizes),
        "Ada-LSVI-UCB-Restart": tuning.ada_restart_block_length(**sizes, horizon=setting.horizon),
    }


def choosers(setting: Setting, problem: Problem) -> str:
    """Algorithms that choose a memory online, in words; in a single block nothing is chosen twice."""
    blocks = _blocks(setting, problem)
    several = {name: length for name, length in blocks.items() if length < setting.num_episodes}
    if not several:
        return "the run is too short to choose a memory online: its first block would be the whole of it"
    listed = ", ".join(f"{name} with blocks of {length:,}" for name, length in several.items())
    return f"choose online: {listed}"


def content(setting: Setting, problem: Problem, advice: Advice) -> dict[str, Any]:
    """All of it as tables."""
    kinds = (_evaluated(setting, problem, rate_only=only) for only in (False, True))
    return {
        "problem": problem,
        "setting": setting,
        "trivial": trivial(setting, problem),
        "bounds": [_as_json(evaluation) for kind in kinds for evaluation in kind],
        "blocks": _blocks(setting, problem),
        "regime": advice.regime,
        "recommended": advice.recommended.bound.name,
        "advice": advice.sentences,
    }


def _as_json(evaluation: Evaluation) -> dict[str, Any]:
    bound = evaluation.bound
    names = ("name", "algorithm", "options", "forgetting", "side", "status", "assumes", "source", "rate_only")
    return {
        **{name: getattr(bound, name) for name in names},
        "parameters": evaluation.parameters,
        "remembered": None if bound.rate_only else evaluation.remembered,
        "ridge": evaluation.setting.ridge,
        "radius": evaluation.radius,
        "exponents": {name: str(power) for name, power in bound.exponents._asdict().items()},
        "terms": [
            {"name": term.name, "formula": term.formula, "value": evaluation.terms[term.name]}
            for term in bound.terms
        ],
        "total": evaluation.total,
        "first_below_trivial": first_useful(bound, evaluation.setting),
    }
