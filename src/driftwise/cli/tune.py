"""`driftwise tune`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from driftwise.base.validation import require_choice
from driftwise.cli import completion
from driftwise.cli.app import InputError, app, check
from driftwise.cli.options import Json, argument, flag, integer, number, word

if TYPE_CHECKING:
    from driftwise.theory.bounds.bound import Problem

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
NOTHING = (
    "tune must be given an experiment (FILE|NAME), a log (--log) or sizes (--dim, --horizon, --episodes, "
    "--variation), got none of them"
)


@app.command("tune", epilog=EXAMPLES)
def _tune(
    file_or_name: Annotated[
        str | None, argument("FILE|NAME", "An experiment whose sizes to take.", completion.experiments)
    ] = None,
    dim: Annotated[int | None, integer("--dim", "Number of features, d.", bits=62)] = None,
    episodes: Annotated[
        int | None, integer("--episodes", "Number of episodes or rounds, K.", bits=62)
    ] = None,
    variation: Annotated[
        float | None, number("--variation", "How far the world moves over the whole run, Δ.", at_least=0)
    ] = None,
    horizon: Annotated[
        int | None, integer("--horizon", "Steps in an episode, H. A bandit has one.", bits=62)
    ] = None,
    problem: Annotated[str | None, word("PROBLEM", "Kind of problem: mdp or bandit.  [default: mdp]")] = None,
    delta: Annotated[
        float | None,
        number(
            "--delta",
            f"Probability with which bounds may fail, δ.  [default: {DELTA:g}]",
            above=0,
            at_most=1,
        ),
    ] = None,
    ridge: Annotated[
        float | None,
        number("--ridge", "Ridge of a bandit, λ.  [default: the tuning's, 1 or d; with a log 0.1]", above=0),
    ] = None,
    noise: Annotated[
        float | None,
        number(
            "--noise",
            f"Standard deviation of a bandit's rewards, σ.  [default: {NOISE:g}; with a log the likeliest]",
            at_least=0,
        ),
    ] = None,
    norm_bound: Annotated[
        float | None,
        number("--norm-bound", f"Bound on the norm of a bandit's θ, S.  [default: {NORM_BOUND:g}]", above=0),
    ] = None,
    log: Annotated[
        str | None,
        word(
            "FILE",
            "Log to score memories on: .csv or .parquet, oldest row first, or .jsonl of a DecisionLog.",
        ),
    ] = None,
    action: Annotated[
        str | None, word("COL", f"{WITH_A_LOG}column with the action.  [default: one action]")
    ] = None,
    reward: Annotated[str | None, word("COL", f"{WITH_A_LOG}column with the reward.")] = None,
    features: Annotated[str | None, word("COL,…", f"{WITH_A_LOG}columns with the features.")] = None,
    shared: Annotated[
        bool,
        flag(
            "--shared",
            f"{WITH_A_LOG}actions share weights and differ only by a constant.",
        ),
    ] = False,
    memories: Annotated[
        str | None, word("N,…", f"{WITH_A_LOG}memories to score.  [default: 8, 16, …, 4096]")
    ] = None,
    windows: Annotated[str | None, word("N,…", f"{WITH_A_LOG}sliding windows to score as well.")] = None,
    out: Annotated[str | None, word("DIR", f"{WITH_A_LOG}folder for tune.json and tune.html.")] = None,
    as_json: Json = False,
) -> None:
    """Say how fast to forget, by theory's bounds or by a log.

    Bounds are for the environments of an experiment, or for the sizes given as options. With a log, each
    memory is scored by how well it predicts the next row.
    """
    sizes = {"--dim": dim, "--episodes": episodes, "--variation": variation}
    assumed = {"--horizon": horizon, "--problem": problem, "--delta": delta, "--norm-bound": norm_bound}
    columns = {"--reward": reward, "--features": features}
    besides = {"--action": action, "--memories": memories, "--windows": windows, "--out": out}
    if log is not None:
        from driftwise.cli.backtest import backtest_log

        _given({}, sizes | assumed | {"FILE|NAME": file_or_name}, "with --log")
        options: dict[str, Any] = dict(
            shared=shared, memories=memories, windows=windows, ridge=ridge, noise=noise
        )
        backtest_log(log, action, reward, features, **options, out=out, as_json=as_json)
        return
    from driftwise.cli.bounds import tune_experiment, tune_sizes

    of_a_log = columns | besides | {"--shared": shared or None}
    if file_or_name is not None:
        taken = {"--dim": dim, "--variation": variation, "--horizon": horizon, "--problem": problem}
        _given({}, of_a_log | taken, "with an experiment")
        given = dict(delta=delta, ridge=ridge, noise_scale=noise, norm_bound=norm_bound)
        given = {name: value for name, value in given.items() if value is not None}
        tune_experiment(file_or_name, episodes, given, as_json=as_json)
        return
    _given({}, of_a_log, "without --log")
    if all(value is None for value in sizes.values()):
        raise InputError(NOTHING)
    known = _given(sizes, {}, "where there is no experiment and no log")
    kind = PROBLEMS[check(require_choice, "--problem", "mdp" if problem is None else problem, list(PROBLEMS))]
    if horizon is None and kind == "linear MDP":
        raise InputError("--horizon must be a positive integer for an MDP, got none")
    if horizon not in (None, 1) and kind == "linear bandit":
        raise InputError(f"--horizon must be 1 for a bandit, got {horizon}")
    for name, value in (("--ridge", ridge), ("--noise", noise), ("--norm-bound", norm_bound)):
        if value is not None and kind == "linear MDP":
            raise InputError(f"{name} must be left out for an MDP, got {value:g}")
    tune_sizes(
        kind,
        *known,
        horizon=horizon or 1,
        delta=DELTA if delta is None else delta,
        ridge=ridge,
        noise_scale=NOISE if noise is None else noise,
        norm_bound=NORM_BOUND if norm_bound is None else norm_bound,
        as_json=as_json,
    )


def _given(needed: dict[str, Any], unwanted: dict[str, Any], when: str) -> list[Any]:
    """The values of the options that are needed, if none of the unwanted ones is there."""
    for name, value in unwanted.items():
        if value is not None:
            raise InputError(f"{name} must be left out {when}, got {value!r}")
    for name, value in needed.items():
        if value is None:
            raise InputError(f"{name} must be given {when}, got none")
    return [*needed.values()]
