"""`driftwise replay`."""

from __future__ import annotations

import json
import sys
import tomllib
from functools import partial
from typing import Annotated, Any

from driftwise.cli.app import (
    InputError,
    app,
    check,
    check_options,
    json_text,
    page_folder,
    print_table,
    progress_bar,
    say_skipped,
    write_page,
)
from driftwise.cli.logs import open_log
from driftwise.cli.options import SEED, Json, argument, flag, integer, listed, number, word

EXAMPLES = """\b
Examples:
  driftwise replay clicks.csv --action article --reward click \\
    --features age,hour --propensity chance --range 0,1
  driftwise replay decisions.jsonl --policy square_cb:gamma=50 \\
    --policy fast:algorithm=d_lin_ucb,rate=0.99,noise_scale=0.5 \\
    --against fast
  driftwise replay log.parquet --action arm --reward gain --features x,y \\
    --algorithm lin_ucb --set noise_scale=0.5 --learn all --out replayed"""

DEFAULT = "adaptive_lin_ucb"  # that of a bandit, too: it is told nothing


@app.command("replay", epilog=EXAMPLES)
def _replay(
    file: Annotated[
        str, argument("FILE", "A log: .csv or .parquet, oldest row first, or .jsonl of a DecisionLog.")
    ],
    action: Annotated[str | None, word("COL", "Column with the action.")] = None,
    reward: Annotated[str | None, word("COL", "Column with the reward.")] = None,
    features: Annotated[str | None, word("COL,…", "Columns with the features, numbers or words.")] = None,
    encoder: Annotated[
        str | None, word("FILE", "TOML file that says how columns become features, instead of --features.")
    ] = None,
    propensity: Annotated[
        str | None,
        word(
            "COL",
            "Column with the probability of the logged action.  "
            "[default: its share of the log, if actions are random]",
        ),
    ] = None,
    time: Annotated[
        str | None,
        word("COL", "Column with the time, in seconds or ISO 8601, for agents that forget by the clock."),
    ] = None,
    algorithm: Annotated[
        str | None,
        word("NAME", "Algorithm to replay, from 'driftwise list'.  [default: adaptive_lin_ucb]"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        word("KEY=VALUE", "Parameter of the algorithm. May be given again.", "--set"),
    ] = None,
    policies: Annotated[
        list[str] | None,
        word(
            "NAME:KEY=VALUE,…",
            "Policy to replay, instead of --algorithm: a name of your choice, its algorithm (unless that is "
            "the name) and parameters, or the file of a saved Bandit. May be given again.",
            "--policy",
        ),
    ] = None,
    against: Annotated[
        str | None,
        word("NAME", "Compare the others with this policy, besides the logged one."),
    ] = None,
    learn: Annotated[
        str, word("ROWS", "Rows to learn from: accepted (as if the agent had acted) or all.")
    ] = "accepted",
    clip: Annotated[float | None, number("--clip", "Largest importance weight of a row.", above=0)] = None,
    reward_range: Annotated[
        str | None,
        word(
            "LOW,HIGH",
            "Smallest and largest reward, for intervals that hold at all times.",
            "--range",
        ),
    ] = None,
    delta: Annotated[
        float, number("--delta", "Probability with which an interval may fail.", above=0, at_most=0.5)
    ] = 0.05,
    memory: Annotated[
        float | None,
        number(
            "--memory",
            "Memory of weighted means, 1/(1−η) rows.  [default: a tenth]",
            metavar="N",
            at_least=1,
        ),
    ] = None,
    k: Annotated[
        float,
        number(
            "--k",
            "Weight of the reward model in intervals that hold at all times.",
            at_least=0,
        ),
    ] = 0.0,
    assume_random: Annotated[
        bool, flag("--assume-random", "Go on without propensities even if actions are not random.")
    ] = False,
    shared: Annotated[
        bool,
        flag("--shared", "Actions share weights and differ only by a constant."),
    ] = False,
    frozen: Annotated[
        int | None, integer("--frozen", "Learn from the first N rows, then estimate on the others.")
    ] = None,
    every: Annotated[int | None, integer("--every", "Rows in a window.  [default: a fiftieth]")] = None,
    seed: Annotated[int, integer("--seed", SEED, at_least=0, bits=64)] = 0,
    out: Annotated[str | None, word("DIR", "Folder for replay.json and replay.html.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate what policies would have earned, from logged decisions.

    Estimators: replay by rejection, importance weights (plain and normalised), and doubly robust.
    """
    from driftwise.analysis.replay import html_page, lead, tables
    from driftwise.analysis.terminal import paragraph
    from driftwise.online.replay import Options, replay

    if policies and (algorithm is not None or settings):
        raise InputError("--policy must not be given together with --algorithm or --set")
    name = DEFAULT if algorithm is None else algorithm
    single = {name: _parameters("--set", settings or [])}
    made = dict(map(_policy, policies)) if policies else single
    if len(made) < len(policies or []):
        raise InputError(f"--policy must have different names, got {policies}")
    columns = dict(action=action, reward=reward, features=features, propensity=propensity, time=time)
    log = open_log(file, needed=("action", "reward"), encoder=encoder, **columns)
    learning = dict(learn=learn, clip=clip, shared=shared, every=every, seed=seed)
    judging = dict(delta=delta, memory=memory, k=k, against=against, assume_random=assume_random)
    options = partial(Options, frozen_after=frozen, reward_range=_range(reward_range))
    options = check_options(options, **learning, **judging)
    with page_folder(out, "replay") as folder:
        with progress_bar("replay") as progress:
            found = check(replay, log, made, options, progress=progress)
        text = json_text(found.to_json())
        say_skipped(found.skipped, found.rows)
        for warning in found.warnings:
            print(f"driftwise: {warning}", file=sys.stderr)
        if as_json:
            print(text)
        else:
            for table in tables(found):
                print_table(table)
            print(paragraph(lead(found)))
        if folder is not None:
            write_page(folder, "replay", text, html_page(found))


def _policy(text: str) -> tuple[str, Any]:
    """A policy by its name: a table, or the bandit of a file."""
    from driftwise.online import Bandit, NamedBandit, load

    name, _, settings = text.partition(":")
    table = _parameters("--policy", [each for each in settings.split(",") if each.strip()])
    if "file" not in table:
        return name.strip(), table
    try:
        bandit = check(load, table["file"])
    except OSError as error:
        raise InputError(f"--policy: {table['file']} cannot be read: {error.strerror or error}") from None
    if not isinstance(bandit, Bandit | NamedBandit) or len(table) > 1:
        raise InputError(f"--policy must have nothing but the file of a Bandit, got {text!r}")
    return name.strip(), bandit


def _range(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        low, high = map(float, listed(text))
    except ValueError:
        raise InputError(f"--range must be two numbers with a comma between them, got {text!r}") from None
    return low, high


def _parameters(option: str, settings: list[str]) -> dict[str, Any]:
    """`key=value` with TOML's values, numbers such as .5 and dotted keys; a bare word is a string."""
    lines = []
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise InputError(f"{option} must be KEY=VALUE, got {setting!r}")
        if not _is_toml(f"{key} = 0"):
            raise InputError(f"{option} must have a KEY of letters, digits, '_' and dots, got {key!r}")
        if not _is_toml(f"value = {value}"):
            value = _number(value) or json.dumps(value.strip(), ensure_ascii=False)
        lines.append(f"{key} = {value}")
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{option} must give each parameter once, got {settings}: {error}") from None


def _number(value: str) -> str | None:
    """A number that TOML writes otherwise, such as .5, in its way."""
    try:
        return repr(float(value))
    except ValueError:
        return None


def _is_toml(line: str) -> bool:
    try:
        return bool(tomllib.loads(line))
    except tomllib.TOMLDecodeError:
        return False
