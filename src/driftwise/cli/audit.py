"""`driftwise audit`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from driftwise.base.validation import require_choice
from driftwise.cli.app import InputError, app, check, count, counted, made_folder, stdout
from driftwise.cli.numbers import number
from driftwise.experiments import find_experiment
from driftwise.experiments.files import try_experiment

if TYPE_CHECKING:
    from driftwise.analysis.audit import Audit, Finding

EXAMPLES = """\b
Examples:
  driftwise audit
  driftwise audit quickstart --episodes 500 --agent OPT-WLSVI --beta-scale 1
  driftwise audit mine.toml --runs 20 --out results/audit"""


FEWEST_EPISODES = 3  # in which the built-in worlds can move as they are to


@app.command("audit", epilog=EXAMPLES)
def _audit(
    file_or_name: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE|NAME",
            help="An experiment.  [default: small MDPs and bandits that stand still, jump and glide]",
            show_default=False,
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=count("--episodes"), help="Episodes of a run.  [default: the experiment's]"
        ),
    ] = None,
    runs: Annotated[int, typer.Option(metavar="N", parser=count("--runs"), help="Runs of each agent.")] = 1,
    stride: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=count("--stride"),
            help="Check every N-th episode.  [default: about 200 of all]",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=count("--seed", at_least=0, bits=64),
            help="The same seed gives the same numbers.  [default: the experiment's]",
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The only agent to audit.  [default: all]")
    ] = None,
    beta_scale: Annotated[
        float | None,
        number(
            "--beta-scale",
            "Explore with C times theory's radius.  [default: the agents' own]",
            metavar="C",
            at_least=0,
        ),
    ] = None,
    delta: Annotated[
        float,
        number("--delta", "What a radius given as a number may fail with.", metavar="D", above=0, at_most=1),
    ] = 0.05,
    out: Annotated[
        str | None, typer.Option(metavar="DIR", help="A folder for audit.json and a page, audit.html.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Check every lemma on live runs, with the true model at hand; the exit code is 1 if one is violated."""
    from driftwise.analysis.audit import audit_experiment, builtin_experiments

    if file_or_name is None:
        experiments = builtin_experiments()
        if episodes is not None and episodes < FEWEST_EPISODES:
            raise InputError(
                f"--episodes must be at least {FEWEST_EPISODES} without a FILE|NAME, got {episodes}"
            )
    else:
        experiments = (check(find_experiment, file_or_name),)
        check(try_experiment, experiments[0], episodes, source=file_or_name)
    if agent is not None:
        experiments = _with_agent(experiments, agent)
    folder = None if out is None else made_folder(out)
    audits = [
        check(
            audit_experiment,
            experiment,
            num_episodes=episodes,
            num_runs=runs,
            seed=seed,
            stride=stride,
            delta=delta,
            beta_scale=beta_scale,
            agent=agent,
            progress=lambda environment, label: print(f"{label} in {environment}", file=sys.stderr),
        )
        for experiment in experiments
    ]
    text = json.dumps([audit.to_json() for audit in audits], indent=2, ensure_ascii=False, allow_nan=False)
    if as_json:
        print(text)
    else:
        for audit in audits:
            _print_audit(audit)
    if folder is not None:
        _write(folder, audits, text)
    if any(audit.violated for audit in audits):
        raise typer.Exit(1)


def _with_agent(experiments: Sequence, agent: str) -> Sequence:
    """The experiments that have an agent of that label."""
    labels = dict.fromkeys(label for experiment in experiments for label in experiment.agents)
    check(require_choice, "--agent", agent, list(labels))
    return [experiment for experiment in experiments if agent in experiment.agents]


def _print_audit(audit: Audit) -> None:
    from driftwise.analysis.audit import worst_of

    print(f"{audit.name}: {', '.join(audit.sizes)}")
    if audit.findings:
        stdout().print(_table(worst_of(audit.findings)))
    for finding in audit.violated:
        allowed = f"at most {finding.allowed:g} of all runs may" if finding.allowed else "none may"
        print(
            f"violated: {finding.statement} by {finding.agent} in {finding.environment}: "
            f"{finding.violations:,} of {finding.checked:,}, in {finding.failing_runs} of "
            f"{counted(finding.runs, 'run')} ({allowed})"
        )
    for skipped in audit.skipped:
        if not skipped.statement:
            print(f"skipped: {skipped.agent} in {skipped.environment}: {skipped.why}")
    print()


def _table(findings: Sequence[Finding]) -> Table:
    from driftwise.analysis.statistics.wording import shown

    table = Table(box=SIMPLE_HEAD)
    for heading in ("statement", "in the paper"):
        table.add_column(heading)
    for heading in ("checked", "violations", "worst ratio", "median ratio", "median margin"):
        table.add_column(heading, justify="right")
    for heading in ("worst for", "verdict"):
        table.add_column(heading)
    for each in findings:
        sizes = each.worst_ratio, each.median_ratio, each.median_margin
        numbers = ["–" if each.kind == "identity" else shown(size, 2) for size in sizes]
        where = f"{each.agent}, {each.environment}"
        table.add_row(
            each.statement,
            each.where,
            f"{each.checked:,}",
            f"{each.violations:,}",
            *numbers,
            where,
            each.verdict,
        )
    return table


def _write(folder: Path, audits: Sequence[Audit], text: str) -> None:
    from driftwise.analysis.audit.page import html_page
    from driftwise.simulation.files import replace_file

    for name, content in (("audit.json", f"{text}\n"), ("audit.html", html_page(audits))):
        try:
            replace_file(folder / name, lambda file, content=content: file.write(content.encode()))
        except OSError as error:
            raise InputError(f"--out {str(folder)!r} cannot be written: {error.strerror or error}") from None
        print(folder / name, file=sys.stderr)
