"""`driftwise tune --log`."""

from __future__ import annotations

from typing import Any

from driftwise.analysis.backtest import LIMITS, READING, html_page, scores_table, sentences
from driftwise.analysis.terminal import paragraph
from driftwise.base.validation import require_number
from driftwise.cli.app import (
    InputError,
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
from driftwise.cli.options import listed
from driftwise.online.backtesting import backtest
from driftwise.online.decision_log import DecisionLog
from driftwise.online.replay import read_samples


def backtest_log(
    file: str,
    action: str | None,
    reward: str | None,
    features: str | None,
    *,
    shared: bool,
    memories: str | None,
    windows: str | None,
    ridge: float | None,
    noise: float | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Score memories on a log, and print or write what was found."""
    lengths = {"memories": _counts("--memories", memories), "windows": _counts("--windows", windows)}
    given = lengths | {"ridge": ridge, "noise_scale": noise}
    if noise is not None:
        check(require_number, "--noise", noise, above=0)
    options = {name: value for name, value in given.items() if value is not None}
    log = open_log(file, needed=("reward",), action=action, reward=reward, features=features)
    if shared and isinstance(log, DecisionLog):
        raise InputError(
            "--shared must be left out for a decision log, whose arms have features of their own"
        )
    with page_folder(out, "tune") as folder:
        samples = check(read_samples, log, shared=shared)
        with progress_bar("tune") as progress:
            found = check_options(backtest, samples.features, samples.rewards, **options, progress=progress)
        named = listed(features) if features is not None else None
        columns = {"action": action, "reward": reward, "features": named, "shared": shared}
        told = {"log": str(log.path)} | columns | {"actions": samples.actions, "skipped": samples.skipped}
        text = json_text(told | found.to_json() | {"advice": sentences(found)})
        say_skipped(samples.skipped, found.rows)
        if as_json:
            print(text)
        else:
            print_table(scores_table(found, f"Forecasts one row ahead: {log.path}"))
            print(f"{paragraph(f'{READING} {LIMITS}')}\n")
            for sentence in sentences(found):
                print(paragraph(sentence))
        if folder is not None:
            write_page(folder, "tune", text, html_page(found, str(log.path)))


def _counts(name: str, text: str | None) -> list[Any] | None:
    """Integers of an option that commas separate."""
    if text is None:
        return None
    try:
        return [int(each) for each in listed(text)]
    except ValueError:
        raise InputError(f"{name} must be integers with commas between them, got {text!r}") from None
