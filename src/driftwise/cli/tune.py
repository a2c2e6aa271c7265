"""`driftwise tune`: by theory's bounds, or by the scores of memories on a log."""

from typing import Any

from driftwise.base.validation import require_number
from driftwise.cli import app
from driftwise.cli.app import InputError, check, split_words
from driftwise.cli.output import json_text, open_page, print_paragraph, print_table, progress_bar

_LOG_OPTIONS: dict[str, type] = dict.fromkeys(("action", "reward", "encoder"), str) | {"shared": bool}
_LOG_OPTIONS |= dict.fromkeys(("features", "memories", "windows"), list)
_LOG_OPTIONS |= {"ridge": object, "noise_scale": object}
_BOUND_OPTIONS: dict[str, type] = dict.fromkeys(("delta", "ridge", "noise_scale", "norm_bound"), object)


@app.command(
    "tune mine.toml",
    "tune --dim 10 --horizon 10 --episodes 20000 --variation 5",
    "tune --dim 2 --episodes 6000 --variation 5 --json",
    "tune --log clicks.csv --action article --reward click \\\n"
    "    --features age,hour --options tune.toml --out tuned",
    "tune --log decisions.jsonl",
)
def _tune(
    file_or_name: str | None = app.argument(
        "FILE|NAME", "An experiment whose sizes to take.", app.complete_experiments, default=None
    ),
    dim: int | None = app.int_option("--dim", "Number of features, d.", bits=62),
    episodes: int | None = app.int_option("--episodes", "Number of episodes or rounds, K.", bits=62),
    variation: float | None = app.float_option("--variation", "How far the model moves, Δ.", at_least=0),
    horizon: int | None = app.int_option("--horizon", "Steps per episode, H.  [default: a bandit]", bits=62),
    log: str | None = app.option(
        "FILE", "Log to score memories on: .csv or .parquet, oldest row first, or .jsonl of a DecisionLog."
    ),
    action: str | None = app.option("COL", "With a log: column with the action.  [default: one action]"),
    reward: str | None = app.option("COL", "With a log: column with the reward."),
    features: str | None = app.option("COL,…", "With a log: columns with the features."),
    options_file: str | None = app.option(
        "FILE",
        "TOML file of further options. With a log: action, reward, features, encoder, shared, memories, "
        "windows, ridge, noise_scale. Else: delta, ridge, noise_scale, norm_bound.",
        "--options",
    ),
    out: str | None = app.option("DIR", "With a log: folder for tune.json and tune.html."),
    as_json: bool = app.JSON,
) -> None:
    """Say how fast to forget, by theory's bounds or by a log.

    Bounds are for the environments of an experiment, or for the sizes given as options. With a log, each
    memory is scored by how well it predicts the next row.
    """
    from driftwise.cli.replay import read_options  # later: --help has commands in the order of their imports

    sizes = {"--dim": dim, "--episodes": episodes, "--variation": variation}
    words = None if features is None else split_words(features)
    columns = {"action": action, "reward": reward, "features": words}
    log_only = {f"--{name}": value for name, value in columns.items()} | {"--out": out}
    if log is not None:
        when, others = "with --log", {**sizes, "--horizon": horizon, "FILE|NAME": file_or_name}
    elif file_or_name is not None:
        when, others = "with an experiment", log_only | {"--dim": dim, "--variation": variation}
        others |= {"--horizon": horizon}
    else:
        when, others = "without --log", log_only
    for name, value in others.items():
        if value is not None:
            raise InputError(f"{name} must be left out {when}, got {value!r}")
    settings = read_options(options_file, _BOUND_OPTIONS if log is None else _LOG_OPTIONS)
    if log is not None:
        named = {name: value for name, value in columns.items() if value is not None}
        _tune_log(log, settings | named, out=out, as_json=as_json)
        return
    if "norm_bound" in settings:
        check(require_number, "norm_bound", settings["norm_bound"], above=0)
    if file_or_name is not None:
        _tune_experiment(file_or_name, episodes, settings, as_json=as_json)
        return
    if all(value is None for value in sizes.values()):
        needed = "an experiment (FILE|NAME), a log (--log) or sizes (--dim, --horizon, --episodes, "
        raise InputError(f"tune must be given {needed}--variation), got none of them")
    for name, value in sizes.items():
        if value is None:
            raise InputError(f"{name} must be given where there is no experiment and no log, got none")
    for name, value in settings.items():
        if horizon is not None and name != "delta":
            raise InputError(f"{name} must be left out for an MDP, got {value!r}")
    known = dict(dim=dim, num_episodes=episodes, variation=variation, horizon=horizon or 1)
    _tune_sizes("linear bandit" if horizon is None else "linear MDP", known | settings, as_json=as_json)


def _tune_log(file: str, settings: dict[str, Any], *, out: str | None, as_json: bool) -> None:
    from driftwise.analysis import backtest_report as report
    from driftwise.cli.replay import LOG_KEYS, open_log, warn_of_skipped
    from driftwise.online import DecisionLog, backtest
    from driftwise.online.replay import read_samples

    columns = {name: settings.pop(name) for name in LOG_KEYS if name in settings}
    shared = columns.pop("shared", False)
    log = open_log(file, needed=("reward",), **columns)
    if shared and isinstance(log, DecisionLog):
        raise InputError("shared must be left out for a decision log, whose arms have features of their own")
    with open_page("tune", out) as write_page:
        samples = check(read_samples, log, shared=shared)
        with progress_bar("tune") as progress:
            result = check(backtest, samples.features, samples.rewards, **settings, progress=progress)
        source = {name: columns.get(name) for name in ("action", "reward", "features")} | {"shared": shared}
        facts = {"log": str(log.path), **source, "actions": samples.actions, "skipped": samples.skipped}
        sentences = report.backtest_sentences(result)
        facts |= result.to_json() | {"advice": sentences}
        text = json_text(facts) if as_json or out is not None else ""
        warn_of_skipped(samples.skipped, result.rows)
        if as_json:
            print(text)
        else:
            print_table(report.scores_table(result, f"Forecasts one row ahead: {log.path}"))
            print_paragraph(f"{report.SCORES_NOTE} {report.LIMITS_NOTE}", "\n\n")
            for sentence in sentences:
                print_paragraph(sentence)
        write_page(text, lambda: report.backtest_page(result, str(log.path)))


def _tune_sizes(problem: Any, sizes: dict[str, Any], *, as_json: bool) -> None:
    """Print tunings, bounds and a recommendation for these sizes."""
    from driftwise.analysis import bounds
    from driftwise.theory.bounds.advice import advise, require_possible_variation
    from driftwise.theory.bounds.bound import Setting

    setting = check(Setting, **sizes)
    check(require_possible_variation, "--variation", setting, problem)
    advice = check(advise, setting, problem)
    if as_json:
        print(json_text(bounds.bounds_json(setting, problem, advice)))
        return
    for make_table in (bounds.tunings_table, bounds.bounds_table, bounds.bound_rates_table):
        print_table(make_table(setting, problem))
    print_paragraph(bounds.legend(setting, problem), "\n\n")
    print(f"If the variation is not known, {bounds.choosers(setting, problem)}.\n")
    print_paragraph(bounds.caution(problem), "\n\n")
    print_paragraph(f"Recommendation. {' '.join(advice.sentences)}")


def _tune_experiment(name: str, episodes: int | None, settings: dict[str, Any], *, as_json: bool) -> None:
    """Print the same for every environment of an experiment, beside the parameters of its agents."""
    from driftwise.analysis import bounds
    from driftwise.analysis.studies import agents_table, setting_of
    from driftwise.experiments.study import find_study
    from driftwise.theory.bounds.advice import advise

    study, results = check(find_study, name, num_episodes=episodes), {}
    for label, environment in study.environments.items():
        try:
            problem, setting = setting_of(environment, study.lengths[label], **settings)
            results[label] = setting, problem, advise(setting, problem)
        except ValueError as error:
            raise InputError(f"{name}: {label}: {error}") from None
    if as_json:
        print(json_text({label: bounds.bounds_json(*result) for label, result in results.items()}))
        return
    for label, (setting, problem, advice) in results.items():
        sizes = f"d = {setting.dim}, H = {setting.horizon}, K = {setting.num_episodes:,}"
        print(f"{label}: {problem}, {sizes}, Δ = {setting.variation:.4g}\n\nThe agents of the experiment")
        print_table(agents_table(study, [label]).without("environment"))
        print_table(bounds.tunings_table(setting, problem))
        print_table(bounds.bounds_table(setting, problem))
        print_paragraph(f"Recommendation. {' '.join(advice.sentences)}")
        print()
    for problem, setting in {problem: setting for setting, problem, _ in results.values()}.items():
        print_paragraph(bounds.legend(setting, problem), "\n\n")
        print_paragraph(bounds.caution(problem))
