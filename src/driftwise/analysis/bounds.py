"""Tunings and bounds of the theory as tables, in words, and as JSON."""

import math
from collections.abc import Callable
from typing import Any

from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.theory import bandit_tuning, tuning
from driftwise.theory.bounds import BOUNDS
from driftwise.theory.bounds.advice import Advice, describe_forgetting
from driftwise.theory.bounds.bound import (
    Bound,
    BoundValue,
    ProblemClass,
    Setting,
    first_useful_length,
    trivial,
)

_TRIVIAL: dict[ProblemClass, str] = {"linear MDP": "HK", "linear bandit": "2SK"}


def caution(problem: ProblemClass) -> str:
    """Return sentences on the limits of bounds."""
    adaptive = "adaptive_opt_wlsvi" if problem == "linear MDP" else "adaptive_lin_ucb"
    return (
        "These are worst-case bounds; each tuning minimises one. They do not estimate the memory that is "
        "best for you: 'driftwise tune --log FILE' measures memories on your data, and "
        f"{adaptive} weighs them as it goes and needs no variation."
    )


def _tuning_rows(
    setting: Setting, problem: ProblemClass, cells: Callable[[BoundValue], tuple[Any, ...]]
) -> list[tuple[Any, ...]]:
    """Return a row for the smallest bound of each tuning; rows that differ in its name alone are one."""
    smallest: dict[Any, BoundValue] = {}
    for value in _evaluated(setting, problem, rate_only=False):
        tuning = value.bound.algorithm, _options(value.bound), *value.parameters.items(), value.setting.ridge
        smallest[tuning] = min(smallest.get(tuning, value), value, key=lambda value: value.total)
    names: dict[Any, list[str]] = {}
    for value in smallest.values():
        row = value.bound.algorithm, Cell.of("{:g}".format, value.setting.ridge), *cells(value)
        names.setdefault(row, []).append(_options(value.bound))
    return [(algorithm, ", ".join(tunings), *rest) for (algorithm, *rest), tunings in names.items()]


def _options(bound: Bound) -> str:
    """Return the keywords of a tuning but for λ and clip, which are shown elsewhere."""
    named = {name: value for name, value in bound.options.items() if name not in ("clip", "ridge")}
    texts = (text if name == "tuning" else f"{name.replace('_', ' ')} {text}" for name, text in named.items())
    return ", ".join(texts) or "–"


def tunings_table(setting: Setting, problem: ProblemClass) -> Table:
    """Return the tunings with their memories."""

    def cells(best: BoundValue) -> tuple[Any, ...]:
        remembered = Cell.of("{:,.0f}".format, best.remembered)
        return describe_forgetting(best), remembered, Cell.of("{:.3g}".format, best.radius)

    columns = words("algorithm", "tuning") + numbers("λ") + words("forgetting")
    title = "Tunings: the memory at which a bound is smallest, and its radius"
    columns += numbers("remembered", "radius")
    return Table.of("tunings", columns, _tuning_rows(setting, problem, cells), title)


def bounds_table(setting: Setting, problem: ProblemClass) -> Table:
    """Return the smallest bound of each tuning."""
    symbol, most = _TRIVIAL[problem], trivial(setting, problem)

    def cells(best: BoundValue) -> tuple[Any, ...]:
        status = best.bound.status + f" ({best.bound.assumes})" * bool(best.bound.assumes)
        return Cell.of("{:.3g}".format, best.total / most), _first(best.bound, setting), status

    columns = words("algorithm", "tuning") + numbers("λ", f"bound / {symbol}", f"below {symbol} at K")
    title = f"Their bounds, beside the trivial bound {symbol} = {most:,.0f}"
    rows = _tuning_rows(setting, problem, cells)
    return Table.of("bounds", columns + words("status"), rows, title).without_empty()


def legend(setting: Setting, problem: ProblemClass) -> str:
    """Return sentences on the columns of the tables."""
    symbol = _TRIVIAL[problem]
    bounds = [evaluation.bound for evaluation in _evaluated(setting, problem, rate_only=False)]
    clipped = ", ".join(dict.fromkeys(bound.algorithm for bound in bounds if "clip" in bound.options))
    return (
        f"remembered: episodes; a window, a period, or 1/log(1/η). bound / {symbol}: the smallest bound of "
        f"the tuning (--json has all); above 1 it is vacuous. below {symbol} at K: the first length of "
        "run at which it is not, with the same variation; –: none. status: proven as printed, "
        "corrected, withdrawn since it rests on a step that fails, or ours; in brackets what it assumes."
    ) + f" Bounds of {clipped} are about clip='tight'." * bool(clipped)


def bound_rates_table(setting: Setting, problem: ProblemClass) -> Table:
    """Return the bounds that are known as rates only."""
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
    columns = words("algorithm", "side", "rate") + numbers("value", f"below {_TRIVIAL[problem]} at K")
    title = "Rates: no constants, no logarithms, not to be compared with the above"
    return Table.of("rates", columns, rows, title)


def _first(bound: Bound, setting: Setting) -> Cell:
    first = first_useful_length(bound, setting)
    return Cell("–", (math.inf,)) if first is None else Cell.of("{:.3g}".format, first)


def _evaluated(setting: Setting, problem: ProblemClass, *, rate_only: bool) -> list[BoundValue]:
    wanted = (bound for bound in BOUNDS.values() if (bound.problem, bound.rate_only) == (problem, rate_only))
    return [bound.evaluate(setting) for bound in wanted if bound.applies_to(setting)]


def _blocks(setting: Setting, problem: ProblemClass) -> dict[str, int]:
    """Return block lengths of the algorithms that choose a memory online."""
    sizes: dict[str, Any] = dict(dim=setting.dim, num_episodes=setting.num_episodes)
    if problem == "linear bandit":
        return {"BOB": bandit_tuning.bob_block_length(**sizes)}
    return {
        "BoRL": tuning.borl_block_length(**sizes),
        "Ada-LSVI-UCB-Restart": tuning.ada_restart_block_length(**sizes, horizon=setting.horizon),
    }


def choosers(setting: Setting, problem: ProblemClass) -> str:
    """Return a sentence on the algorithms that choose a memory online, if they have several blocks."""
    blocks = _blocks(setting, problem)
    several = {name: length for name, length in blocks.items() if length < setting.num_episodes}
    if not several:
        return "the run is too short to choose a memory online: its first block would be the whole of it"
    listed = ", ".join(f"{name} with blocks of {length:,}" for name, length in several.items())
    return f"choose online: {listed}"


def bounds_json(setting: Setting, problem: ProblemClass, advice: Advice) -> dict[str, Any]:
    """Return the setting, all bounds and the advice as plain values."""
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


def _as_json(evaluation: BoundValue) -> dict[str, Any]:
    bound = evaluation.bound
    names = ("name", "algorithm", "options", "forgetting", "side", "status", "assumes", "source", "rate_only")
    return {
        **{name: getattr(bound, name) for name in names},
        "parameters": evaluation.parameters,
        "remembered": None if bound.rate_only else evaluation.remembered,
        "ridge": evaluation.setting.ridge,
        "radius": evaluation.radius,
        "exponents": {name: str(power) for name, power in bound.exponents._asdict().items()},
        "terms": [dict(name=t.name, formula=t.formula, value=evaluation.terms[t.name]) for t in bound.terms],
        "total": evaluation.total,
        "first_below_trivial": first_useful_length(bound, evaluation.setting),
    }
