"""`driftwise replay`."""

from __future__ import annotations

import contextlib
import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from driftwise.cli.app import InputError, app, check, count, made_folder, stdout

if TYPE_CHECKING:
    from driftwise.online.replay import Replay

EXAMPLES = """\b
Examples:
  driftwise replay clicks.csv --action article --reward click --features age,hour --propensity chance
  driftwise replay log.parquet --action arm --reward gain --features x,y --algorithm lin_ucb \\
    --set noise_scale=0.5 --every 1000 --out results/replay"""

DEFAULT = "d_lin_ucb", {"rate": 0.999, "noise_scale": 0.5}


@app.command("replay", epilog=EXAMPLES)
def _replay(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A log: .csv or .parquet, oldest row first.")],
    action: Annotated[str, typer.Option(metavar="COL", help="The column of what was done.")],
    reward: Annotated[str, typer.Option(metavar="COL", help="The column of what came of it.")],
    features: Annotated[str, typer.Option(metavar="COL,…", help="Columns of what was known before.")],
    propensity: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="The logged action's probability.  [default: the action's share of the log]"
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="See 'driftwise list'.  [default: d_lin_ucb, rate 0.999, noise_scale 0.5]"
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A parameter of the algorithm; may be given again.",
            show_default=False,
        ),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option("--shared", help="Actions differ by a level alone; the context's weights are common."),
    ] = False,
    frozen: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=count("--frozen"), help="Learn from N rows, then estimate on the others."
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(metavar="N", parser=count("--every"), help="Rows of a window.  [default: a fiftieth]"),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N",
            parser=count("--seed", at_least=0, bits=64),
            help="The same seed gives the same numbers.",
        ),
    ] = 0,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="A folder for replay.json and a page, replay.html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Estimate what an agent would have earned, from decisions that were logged."""
    from driftwise.online.replay import Log, replay

    name, parameters = (algorithm, {}) if algorithm else DEFAULT
    parameters = {**parameters, **_parameters(settings or [])}
    columns = tuple(filter(None, (column.strip() for column in features.split(","))))
    log = check(Log, file, action=action, reward=reward, features=columns, propensity=propensity)
    folder = None if out is None else made_folder(out)
    with _progress() as progress:
        found = check(
            replay,
            log,
            name,
            parameters,
            shared=shared,
            frozen_after=frozen,
            every=every,
            seed=seed,
            progress=progress,
        )
    text = json.dumps(found.to_json(), indent=2, ensure_ascii=False, allow_nan=False)
    if found.skipped:
        lost = f"skipped {found.skipped:,} of {found.rows + found.skipped:,} rows"
        print(f"driftwise: {lost}: a value is missing or not finite", file=sys.stderr)
    if found.warning:
        print(f"driftwise: {found.warning}", file=sys.stderr)
    if as_json:
        print(text)
    else:
        _print_text(found)
    if folder is not None:
        _write(folder, found, text)


def _parameters(settings: list[str]) -> dict[str, Any]:
    """`key=value` with TOML's values and dotted keys; a bare word is a string."""
    lines = []
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or not key.strip():
            raise InputError(f"--set must be KEY=VALUE, got {setting!r}")
        if not _is_key(key):
            raise InputError(f"--set must have a KEY of letters, digits, '_' and dots, got {key!r}")
        try:
            tomllib.loads(f"value = {value}")
        except tomllib.TOMLDecodeError:
            value = json.dumps(value.strip(), ensure_ascii=False)
        lines.append(f"{key} = {value}")
    try:
        return tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"--set must give each parameter once, got {settings}: {error}") from None


def _is_key(key: str) -> bool:
    try:
        return bool(tomllib.loads(f"{key} = 0"))
    except tomllib.TOMLDecodeError:
        return False


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal; it goes when all is done."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("replay", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print_text(found: Replay) -> None:
    from driftwise.analysis.replay_page import lead
    from driftwise.analysis.statistics.wording import shown

    table = Table(box=SIMPLE_HEAD, title=f"{found.algorithm} on {found.log.path}")
    table.title_justify = "left"
    table.add_column("mean reward")
    for heading in ("value", "standard error", "95 % from", "to"):
        table.add_column(heading, justify="right")
    for name, each in found.final.values.items():
        table.add_row(name, *(shown(number, 4) for number in (each.value, each.error, each.low, each.high)))
    stdout().print(table)
    print(lead(found))


def _write(folder: Path, found: Replay, text: str) -> None:
    from driftwise.analysis.replay_page import html_page
    from driftwise.simulation.files import write_files

    page = html_page(found)
    writers: dict[str, Any] = {
        "replay.json": lambda file: file.write(f"{text}\n".encode()),
        "replay.html": lambda file: file.write(page.encode()),
    }
    try:
        paths = write_files(folder, writers)
    except OSError as error:
        raise InputError(f"--out {str(folder)!r} cannot be written: {error.strerror or error}") from None
    for path in paths:
        print(path, file=sys.stderr)
