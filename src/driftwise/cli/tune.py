"""`driftwise tune`."""

from __future__ import annotations

import math
import textwrap
from typing import Annotated, Any

from driftwise.analysis.table import Cell, Table, numbers, words
from driftwise.base.validation import require_choice
from driftwise.cli.app import InputError, app, check, json_text, print_table
from driftwise.cli.options import Json, integer, number, word
from driftwise.theory import bandit_tuning, tuning
from driftwise.theory.bounds.advice import Advice, advise, described, require_possible_variation
from driftwise.theory.bounds.bound import Bound, Evaluation, Problem, Setting, first_useful, trivial
from driftwise.theory.bounds.catalogue import BOUNDS

EXAMPLES = """\b
Examples:
  driftwise tune --dim 10 --horizon 10 --episodes 20000 --variation 5
  driftwise tune --problem bandit --dim 2 --episodes 6000 --variation 5 --json"""

PROBLEMS: dict[str, Problem] = {"mdp": "linear MDP", "bandit": "linear bandit"}
TRIVIAL: dict[Problem, str] = {"linear MDP": "HK", "linear bandit": "2SK"}
NOISE, NORM_BOUND = 0.5, 1.0  # σ and S, unless given


@app.command("tune", epilog=EXAMPLES)
def _tune(
    dim: Annotated[int, integer("--dim", "Features, d.", bits=62)],
    episodes: Annotated[int, integer("--episodes", "Episodes or rounds of the run, K.", bits=62)],
    variation: Annotated[
        float, number("--variation", "How far the world moves in all of them, Δ.", at_least=0)
    ],
    horizon: Annotated[
        int | None, integer("--horizon", "Steps of an episode, H; a bandit has one.", bits=62)
    ] = None,
    problem: Annotated[str, word("PROBLEM", "mdp or bandit.")] = "mdp",
    delta: Annotated[
        float, number("--delta", "The chance at which bounds may fail, δ.", above=0, at_most=1)
    ] = 0.05,
    ridge: Annotated[
        float | None, number("--ridge", "A bandit's λ.  [default: each tuning's own, 1 or d]", above=0)
    ] = None,
    noise: Annotated[
        float | None,
        number("--noise", f"The deviation of a bandit's rewards, σ.  [default: {NOISE:g}]", at_least=0),
    ] = None,
    norm_bound: Annotated[
        float | None,
        number("--norm-bound", f"How long a bandit's θ may be, S.  [default: {NORM_BOUND:g}]", above=0),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how fast to forget, and what is guaranteed then."""
    kind = PROBLEMS[check(require_choice, "--problem", problem, list(PROBLEMS))]
    if horizon is None and kind == "linear MDP":
        raise InputError("--horizon must be a positive integer for an MDP, got none")
    if horizon not in (None, 1) and kind == "linear bandit":
        raise InputError(f"--horizon must be 1 for a bandit, got {horizon}")
    for name, value in (("--ridge", ridge), ("--noise", noise), ("--norm-bound", norm_bound)):
        if value is not None and kind == "linear MDP":
            raise InputError(f"{name} must be left out for an MDP, got {value:g}")
    setting = check(
        Setting,
        dim,
        episodes,
        variation,
        horizon=horizon or 1,
        delta=delta,
        ridge=ridge,
        noise_scale=NOISE if noise is None else noise,
        norm_bound=NORM_BOUND if norm_bound is None else norm_bound,
    )
    check(require_possible_variation, "--variation", setting, kind)
    advice = check(advise, setting, kind)
    if as_json:
        print(json_text(_content(setting, kind, advice)))
        return
    print_table(_tunings_table(setting, kind))
    print_table(_bounds_table(setting, kind))
    print_table(_rates_table(setting, kind))
    print(f"{textwrap.fill(_legend(setting, kind), 80)}\n")
    print(f"If the variation is not known, {_listed(setting, _blocks(setting, kind))}.\n")
    print(f"Recommendation. {' '.join(advice.sentences)}")


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


def _tunings_table(setting: Setting, problem: Problem) -> Table:
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
    title = "Tunings: how fast each forgets, and its radius"
    return Table.of("tunings", columns + numbers("remembered", "radius"), _merged(rows), title)


def _bounds_table(setting: Setting, problem: Problem) -> Table:
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


def _legend(setting: Setting, problem: Problem) -> str:
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


def _rates_table(setting: Setting, problem: Problem) -> Table:
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
    return [bound.evaluate(setting) for bound in wanted]


def _blocks(setting: Setting, problem: Problem) -> dict[str, int]:
    """Block lengths of the algorithms that choose a memory online."""
    sizes: dict[str, Any] = dict(dim=setting.dim, num_episodes=setting.num_episodes)
    if problem == "linear bandit":
        return {"BOB": bandit_tuning.bob_block_length(**sizes)}
    return {
        "BoRL": tuning.borl_block_length(**sizes),
        "Ada-LSVI-UCB-Restart": tuning.ada_restart_block_length(**sizes, horizon=setting.horizon),
    }


def _listed(setting: Setting, blocks: dict[str, int]) -> str:
    """Algorithms that choose a memory online, in words; in a single block nothing is chosen twice."""
    several = {name: length for name, length in blocks.items() if length < setting.num_episodes}
    if not several:
        return "the run is too short to choose a memory online: its first block would be the whole of it"
    listed = ", ".join(f"{name} with blocks of {length:,}" for name, length in several.items())
    return f"choose online: {listed}"


def _content(setting: Setting, problem: Problem, advice: Advice) -> dict[str, Any]:
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
