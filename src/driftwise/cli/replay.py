"""`driftwise replay`."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import Annotated, Any

from driftwise.cli.app import (
    InputError,
    app,
    check,
    json_text,
    page_folder,
    print_table,
    progress_bar,
    say_skipped,
    write_page,
)
from driftwise.cli.options import SEED, Json, argument, flag, integer, listed, word

EXAMPLES = """\b
Examples:
  driftwise replay clicks.csv --action article --reward click \\
    --features age,hour --propensity chance
  driftwise replay decisions.jsonl --algorithm square_cb --set gamma=50
  driftwise replay log.parquet --action arm --reward gain --features x,y \\
    --algorithm lin_ucb --set noise_scale=0.5 --every 1000 --out replayed"""

DEFAULT = "d_lin_ucb", {"rate": 0.999, "noise_scale": 0.5}


@app.command("replay", epilog=EXAMPLES)
def _replay(
    file: Annotated[
        str, argument("FILE", "A log: .csv or .parquet, oldest row first; or .jsonl of a DecisionLog.")
    ],
    action: Annotated[str | None, word("COL", "The column of what was done.")] = None,
    reward: Annotated[str | None, word("COL", "The column of what came of it.")] = None,
    features: Annotated[str | None, word("COL,…", "Columns of what was known before.")] = None,
    propensity: Annotated[
        str | None,
        word("COL", "The logged action's probability.  [default: the action's share of the log]"),
    ] = None,
    algorithm: Annotated[
        str | None,
        word("NAME", "See 'driftwise list'.  [default: d_lin_ucb, rate 0.999, noise_scale 0.5]"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        word("KEY=VALUE", "A parameter of the algorithm; may be given again.", "--set"),
    ] = None,
    shared: Annotated[
        bool,
        flag("--shared", "Actions differ by a level alone; the context's weights are common."),
    ] = False,
    frozen: Annotated[
        int | None, integer("--frozen", "Learn from N rows, then estimate on the others.")
    ] = None,
    every: Annotated[int | None, integer("--every", "Rows of a window.  [default: a fiftieth]")] = None,
    seed: Annotated[int, integer("--seed", SEED, at_least=0, bits=64)] = 0,
    out: Annotated[str | None, word("DIR", "A folder for replay.json and a page, replay.html.")] = None,
    as_json: Json = False,
) -> None:
    """Estimate what an agent would have earned from logged decisions."""
    from driftwise.analysis.replay import estimates_table, html_page, lead
    from driftwise.online.replay import replay

    name, parameters = DEFAULT if algorithm is None else (algorithm, {})
    parameters = {**parameters, **_parameters(settings or [])}
    log = _log(file, action=action, reward=reward, features=features, propensity=propensity)
    options = dict(shared=shared, frozen_after=frozen, every=every, seed=seed)
    with page_folder(out, "replay") as folder:
        with progress_bar("replay") as progress:
            found = check(replay, log, name, parameters, **options, progress=progress)
        text = json_text(found.to_json())
        say_skipped(found.skipped, found.rows)
        if found.warning:
            print(f"driftwise: {found.warning}", file=sys.stderr)
        if as_json:
            print(text)
        else:
            print_table(estimates_table(found))
            print(lead(found))
        if folder is not None:
            write_page(folder, "replay", text, html_page(found))


def _log(file: str, **columns: str | None) -> Any:
    """A table, whose columns have to be named, or a decision log, which names its own."""
    from driftwise.online.decision_log import SUFFIX, DecisionLog
    from driftwise.online.replay import Log

    if file.lower().endswith(SUFFIX):
        if given := [f"--{name}" for name, column in columns.items() if column is not None]:
            raise InputError(
                f"{', '.join(given)} must be left out for a decision log, which has its own names"
            )
        return check(DecisionLog, file)
    needed = ("action", "reward", "features")
    if missing := [f"--{name}" for name in needed if columns[name] is None]:
        raise InputError(f"{', '.join(missing)} must name columns of {file}")
    return check(Log, file, **columns | {"features": listed(columns["features"] or "")})


def _parameters(settings: list[str]) -> dict[str, Any]:
    """`key=value` with TOML's values, numbers such as .5 and dotted keys; a bare word is a string."""
    lines = []
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise InputError(f"--set must be KEY=VALUE, got {setting!r}")
        if not _is_toml(f"{key} = 0"):
            raise InputError(f"--set must have a KEY of letters, digits, '_' and dots, got {key!r}")
        if not _is_toml(f"value = {value}"):
            value = _number(value) or json.dumps(value.strip(), ensure_ascii=False)
        lines.append(f"{key} = {value}")
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"--set must give each parameter once, got {settings}: {error}") from None


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
