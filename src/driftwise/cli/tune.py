"""`driftwise tune`."""

from __future__ import annotations

from typing import Annotated, Any

from driftwise.analysis.bounds import (
    bounds_table,
    caution,
    choosers,
    content,
    legend,
    rates_table,
    tunings_table,
)
from driftwise.analysis.studies import agents_table, setting_of
from driftwise.analysis.terminal import paragraph
from driftwise.base.validation import require_choice
from driftwise.cli.app import InputError, app, check, json_text, print_table
from driftwise.cli.backtest import backtest_log
from driftwise.cli.options import Json, argument, flag, integer, number, word
from driftwise.experiments.files import find_study
from driftwise.theory.bounds.advice import Advice, advise, require_possible_variation
from driftwise.theory.bounds.bound import Problem, Setting

EXAMPLES = """\b
Examples:
  driftwise tune mine.toml
  driftwise tune --dim 10 --horizon 10 --episodes 20000 --variation 5
  driftwise tune --problem bandit --dim 2 --episodes 6000 --variation 5 --json
  driftwise tune --log clicks.csv --action article --reward click \\
    --features age,hour --windows 100,1000 --out tuned
  driftwise tune --log decisions.jsonl"""

PROBLEMS: dict[str, Problem] = {"mdp": "linear MDP", "bandit": "linear bandit"}
NOISE, NORM_BOUND, DELTA = 0.5, 1.0, 0.05  # σ, S and δ, unless given
WITH_A_LOG = "With a log: "


@app.command("tune", epilog=EXAMPLES)
def _tune(
    file_or_name: Annotated[
        str | None, argument("FILE|NAME", "An experiment, for the sizes of its environments.")
    ] = None,
    dim: Annotated[int | None, integer("--dim", "Features, d.", bits=62)] = None,
    episodes: Annotated[
        int | None, integer("--episodes", "Episodes or rounds of the run, K.", bits=62)
    ] = None,
    variation: Annotated[
        float | None, number("--variation", "How far the world moves in all of them, Δ.", at_least=0)
    ] = None,
    horizon: Annotated[
        int | None, integer("--horizon", "Steps of an episode, H; a bandit has one.", bits=62)
    ] = None,
    problem: Annotated[str | None, word("PROBLEM", "mdp or bandit.  [default: mdp]")] = None,
    delta: Annotated[
        float | None,
        number(
            "--delta",
            f"The chance at which bounds may fail, δ.  [default: {DELTA:g}]",
            above=0,
            at_most=1,
        ),
    ] = None,
    ridge: Annotated[
        float | None,
        number("--ridge", "A bandit's λ.  [default: each tuning's own, 1 or d; with a log 0.1]", above=0),
    ] = None,
    noise: Annotated[
        float | None,
        number(
            "--noise",
            f"The deviation of a bandit's rewards, σ.  [default: {NOISE:g}; with a log the likeliest]",
            at_least=0,
        ),
    ] = None,
    norm_bound: Annotated[
        float | None,
        number("--norm-bound", f"How long a bandit's θ may be, S.  [default: {NORM_BOUND:g}]", above=0),
    ] = None,
    log: Annotated[
        str | None,
        word(
            "FILE",
            "A log to measure memories on: .csv or .parquet, oldest row first; or .jsonl of a DecisionLog.",
        ),
    ] = None,
    action: Annotated[
        str | None, word("COL", f"{WITH_A_LOG}the column of what was done.  [default: one action]")
    ] = None,
    reward: Annotated[str | None, word("COL", f"{WITH_A_LOG}the column of what came of it.")] = None,
    features: Annotated[str | None, word("COL,…", f"{WITH_A_LOG}columns of what was known before.")] = None,
    shared: Annotated[
        bool, flag("--shared", f"{WITH_A_LOG}actions differ by a level alone, as in 'driftwise replay'.")
    ] = False,
    memories: Annotated[
        str | None, word("N,…", f"{WITH_A_LOG}memories to score.  [default: 8, 16, …, 4096]")
    ] = None,
    windows: Annotated[str | None, word("N,…", f"{WITH_A_LOG}windows to score besides.")] = None,
    out: Annotated[
        str | None, word("DIR", f"{WITH_A_LOG}a folder for tune.json and a page, tune.html.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how fast to forget, by theory's bounds or by a log. Bounds are for an experiment, or for sizes."""
    sizes = {"--dim": dim, "--episodes": episodes, "--variation": variation}
    assumed = {"--horizon": horizon, "--problem": problem, "--delta": delta, "--norm-bound": norm_bound}
    columns = {"--reward": reward, "--features": features}
    besides = {"--action": action, "--memories": memories, "--windows": windows, "--out": out}
    if log is not None:
        _given({}, sizes | assumed | {"FILE|NAME": file_or_name}, "with --log")
        options: dict[str, Any] = dict(
            shared=shared, memories=memories, windows=windows, ridge=ridge, noise=noise
        )
        backtest_log(log, action, reward, features, **options, out=out, as_json=as_json)
        return
    of_a_log = columns | besides | {"--shared": shared or None}
    if file_or_name is not None:
        taken = {"--dim": dim, "--variation": variation, "--horizon": horizon, "--problem": problem}
        _given({}, of_a_log | taken, "with an experiment")
        given = dict(delta=delta, ridge=ridge, noise_scale=noise, norm_bound=norm_bound)
        given = {name: value for name, value in given.items() if value is not None}
        _tune_experiment(file_or_name, episodes, given, as_json=as_json)
        return
    known = _given(sizes, of_a_log, "without --log")
    kind = PROBLEMS[check(require_choice, "--problem", "mdp" if problem is None else problem, list(PROBLEMS))]
    if horizon is None and kind == "linear MDP":
        raise InputError("--horizon must be a positive integer for an MDP, got none")
    if horizon not in (None, 1) and kind == "linear bandit":
        raise InputError(f"--horizon must be 1 for a bandit, got {horizon}")
    for name, value in (("--ridge", ridge), ("--noise", noise), ("--norm-bound", norm_bound)):
        if value is not None and kind == "linear MDP":
            raise InputError(f"{name} must be left out for an MDP, got {value:g}")
    setting = check(
        Setting,
        *known,
        horizon=horizon or 1,
        delta=DELTA if delta is None else delta,
        ridge=ridge,
        noise_scale=NOISE if noise is None else noise,
        norm_bound=NORM_BOUND if norm_bound is None else norm_bound,
    )
    check(require_possible_variation, "--variation", setting, kind)
    advice = check(advise, setting, kind)
    if as_json:
        print(json_text(content(setting, kind, advice)))
        return
    print_table(tunings_table(setting, kind))
    print_table(bounds_table(setting, kind))
    print_table(rates_table(setting, kind))
    print(f"{paragraph(legend(setting, kind))}\n")
    print(f"If the variation is not known, {choosers(setting, kind)}.\n")
    print(f"{paragraph(caution(kind))}\n")
    _print_advice(advice)


def _print_advice(advice: Advice) -> None:
    print(paragraph(f"Recommendation. {' '.join(advice.sentences)}"))


def _tune_experiment(
    file_or_name: str, episodes: int | None, given: dict[str, Any], *, as_json: bool
) -> None:
    """The same for every environment of an experiment, beside the numbers that its agents have there."""
    study, found = check(find_study, file_or_name, num_episodes=episodes), {}
    for label, environment in study.environments.items():
        try:
            problem, setting = setting_of(environment, study.lengths[label], **given)
            found[label] = setting, problem, advise(setting, problem)
        except ValueError as error:
            raise InputError(f"{file_or_name}: {label}: {error}") from None
    if as_json:
        print(json_text({label: content(*each) for label, each in found.items()}))
        return
    for label, (setting, problem, advice) in found.items():
        sizes = f"d = {setting.dim}, H = {setting.horizon}, K = {setting.num_episodes:,}"
        print(f"{label}: {problem}, {sizes}, Δ = {setting.variation:.4g}\n\nThe agents of the experiment")
        print_table(agents_table(study, [label]).without("environment"))
        print_table(tunings_table(setting, problem))
        print_table(bounds_table(setting, problem))
        _print_advice(advice)
        print()
    for setting, problem in {problem: (setting, problem) for setting, problem, _ in found.values()}.values():
        print(f"{paragraph(legend(setting, problem))}\n")
        print(paragraph(caution(problem)))


def _given(needed: dict[str, Any], unwanted: dict[str, Any], when: str) -> list[Any]:
    """The values of the options that are needed, if none of the unwanted ones is there."""
    for name, value in needed.items():
        if value is None:
            raise InputError(f"{name} must be given {when}, got none")
    for name, value in unwanted.items():
        if value is not None:
            raise InputError(f"{name} must be left out {when}, got {value!r}")
    return [*needed.values()]
