"""`driftwise replay`, and the logs and options of commands."""

import contextlib
import dataclasses
import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from driftwise.base.validation import require_choice, require_instance
from driftwise.cli import app
from driftwise.cli.app import InputError, check, check_options, split_words
from driftwise.cli.output import json_text, open_page, os_errors, print_paragraph, print_table, progress_bar

LOG_KEYS: dict[str, type] = dict.fromkeys(("action", "reward", "propensity", "time", "encoder"), str)
LOG_KEYS |= {"features": list, "shared": bool}


@app.command(
    "replay clicks.csv --action article --reward click \\\n"
    "    --features age,hour --propensity chance --range 0,1",
    "replay decisions.jsonl --policy square_cb:gamma=50 \\\n"
    "    --policy fast:algorithm=d_lin_ucb,rate=0.99,noise_scale=0.5",
    "replay log.parquet --options replay.toml --out replayed",
)
def _replay(
    file: str = app.argument("FILE", "A log: .csv or .parquet, oldest row first, or a DecisionLog's .jsonl."),
    action: str | None = app.option("COL", "Column with the action."),
    reward: str | None = app.option("COL", "Column with the reward."),
    features: str | None = app.option("COL,…", "Columns with the features, numbers or words."),
    propensity: str | None = app.option(
        "COL",
        "Column with the probability of the logged action.  "
        "[default: its share of the log, if actions are random]",
    ),
    policy: list[str] | None = app.option(
        "NAME:KEY=VALUE,…",
        "Policy to replay: a name of your choice, its algorithm (unless that is the name) and its "
        "parameters, or the file of a saved Bandit. May be repeated.  [default: adaptive_lin_ucb]",
    ),
    learn: str | None = app.option(
        "ROWS", "Rows to learn from: accepted (as if the agent had acted) or all.  [default: accepted]"
    ),
    reward_range: str | None = app.option(
        "LOW,HIGH", "Smallest and largest reward, for intervals that hold at all times.", "--range"
    ),
    options_file: str | None = app.option(
        "FILE",
        "TOML file with any of these options, and with time, encoder, shared, clip, delta, memory, "
        "k, against, assume_random, frozen_after, every, seed, policies.",
        "--options",
    ),
    out: str | None = app.option("DIR", "Folder for replay.json and replay.html."),
    as_json: bool = app.JSON,
) -> None:
    """Estimate what policies would have earned, from logged decisions.

    Estimators: replay by rejection, importance weights (plain and normalised), and doubly robust.
    """
    from driftwise.analysis.replay_report import replay_lead, replay_page, replay_tables
    from driftwise.online.replay import Options, replay

    names = [field.name for field in dataclasses.fields(Options)]
    settings = read_options(options_file, dict.fromkeys(names, object) | LOG_KEYS | {"policies": dict})
    policies = _policies(policy or [], settings.pop("policies", {}))
    columns = {name: settings.pop(name) for name in {*settings} - {*names}}
    words = None if features is None else split_words(features)
    named = dict(action=action, reward=reward, features=words, propensity=propensity)
    columns |= {name: value for name, value in named.items() if value is not None}
    log = open_log(file, needed=("action", "reward"), **columns)
    if reward_range is not None:
        try:
            low, high = map(float, split_words(reward_range))
        except ValueError:
            expected = "two numbers with a comma between them"
            raise InputError(f"--range must be {expected}, got {reward_range!r}") from None
        settings["reward_range"] = low, high
    own = {} if learn is None else {"learn": learn}
    settings = {name: value for name, value in settings.items() if name not in own}
    options = check_options(partial(Options, **settings), **own)
    with open_page("replay", out) as write_page:
        with progress_bar("replay") as progress:
            result = check(replay, log, policies, options, progress=progress)
        text = json_text(result.to_json()) if as_json or out is not None else ""
        warn_of_skipped(result.skipped, result.rows)
        for warning in result.warnings:
            print(f"driftwise: {warning}", file=sys.stderr)
        if as_json:
            print(text)
        else:
            for table in replay_tables(result):
                print_table(table)
            print_paragraph(replay_lead(result))
        write_page(text, lambda: replay_page(result))


def _policies(texts: list[str], tables: dict[str, Any]) -> dict[str, Any]:
    """Return the policies of `--policy` and of a file: tables of parameters, or the bandits of files."""
    from driftwise.online import Bandit, NamedBandit, load

    policies, parts = dict[str, Any](), (text.partition(":") for text in texts)
    pairs = [(name.strip(), _parameters(split_words(settings))) for name, _, settings in parts]
    for name, table in [*pairs, *tables.items()]:
        if name in policies:
            raise InputError(f"--policy must have different names, got {name!r} twice")
        if not isinstance(table, dict):
            raise InputError(f"policies.{name} must be a table of parameters, got {table!r}")
        policies[name] = table
        if "file" in table:
            with os_errors(f"--policy: {table['file']} cannot be read"):
                policies[name] = check(load, table["file"])
            if not isinstance(policies[name], Bandit | NamedBandit) or len(table) > 1:
                raise InputError(f"--policy {name} must have only the file of a Bandit, got {table!r}")
    return policies or {"adaptive_lin_ucb": {}}  # as a Bandit's: it needs no parameters


def _parameters(settings: Sequence[str]) -> dict[str, Any]:
    """Return `key=value` pairs as TOML reads them, with dotted keys, numbers such as .5, and bare words."""
    lines = []
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise InputError(f"--policy must be KEY=VALUE, got {setting!r}")
        values = [value, json.dumps(value.strip(), ensure_ascii=False)]
        with contextlib.suppress(ValueError):
            values.insert(1, repr(float(value)))
        for line in (f"{key} = {value}" for value in values):
            with contextlib.suppress(tomllib.TOMLDecodeError):
                tomllib.loads(line)
                lines.append(line)
                break
        else:
            raise InputError(f"--policy must have a KEY of letters, digits, '_' and dots, got {key!r}")
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"--policy must give each parameter once, got {settings}: {error}") from None


def read_options(file: str | None, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Return the options in a TOML file, of names and kinds as given; an `object` is checked elsewhere."""
    if file is None:
        return {}
    try:
        with os_errors(f"--options: {file} cannot be read"):
            options = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"--options: {file} is not TOML: {error}") from None
    for name, value in options.items():
        check(require_choice, f"--options: {file}: an option", name, list(kinds))
        check(require_instance, f"--options: {file}: {name}", value, kinds[name])
    return options


def open_log(file: str, *, needed: tuple[str, ...], encoder: str | None = None, **columns: Any) -> Any:
    """Return the log in a file: a table with named columns, or a decision log, which has its own names."""
    from driftwise.online.decision_log import SUFFIX, DecisionLog
    from driftwise.online.replay import TableLog
    from driftwise.online.replay.table_log import SUFFIXES

    check(require_choice, "the ending of the log's name", Path(file).suffix.lower(), (*SUFFIXES, SUFFIX))
    with os_errors(f"{file} cannot be read"):
        Path(file).stat()
    named = {name: value for name, value in {**columns, "encoder": encoder}.items() if value is not None}
    if file.lower().endswith(SUFFIX):
        if named:
            options = ", ".join(name if name in ("time", "encoder") else f"--{name}" for name in named)
            raise InputError(f"{options} must be left out for a decision log, which has its own names")
        return check(DecisionLog, file)
    needed = needed if encoder is not None else (*needed, "features")  # an encoder names them
    if missing := [f"--{name}" for name in needed if name not in named]:
        raise InputError(f"{', '.join(missing)} must name columns of {file}")
    if encoder is not None:
        from driftwise.online.encoding import Encoder

        with os_errors(f"encoder: {encoder} cannot be read"):
            named["encoder"] = check(Encoder.from_toml, encoder)
    return check(TableLog, file, **{"action": None, **named, "features": tuple(named.get("features", ()))})


def warn_of_skipped(skipped: int, rows: int) -> None:
    """Print a line on the error stream if rows of a log could not be used."""
    if skipped:
        share = f"skipped {skipped:,} of {rows + skipped:,} rows"
        print(f"driftwise: {share}: a value is missing or not finite", file=sys.stderr)
