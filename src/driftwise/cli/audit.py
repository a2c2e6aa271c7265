"""`driftwise audit`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from driftwise.base.validation import require_choice
from driftwise.cli import completion
from driftwise.cli.app import InputError, app, check, counted, json_text, page_folder, print_table, write_page
from driftwise.cli.options import Episodes, Json, Seed, argument, integer, number, word

if TYPE_CHECKING:
    from driftwise.analysis.audit import Audit

EXAMPLES = """\b
Examples:
  driftwise audit
  driftwise audit quickstart --episodes 500 --agent OPT-WLSVI --beta-scale 1
  driftwise audit mine.toml --runs 20 --out results/audit"""

BUILT_IN = "An experiment.  [default: small MDPs and bandits: stationary, abrupt, gradual]"
FEWEST_EPISODES = 3  # in which the built-in worlds can move as they are to


@app.command("audit", epilog=EXAMPLES)
def _audit(
    file_or_name: Annotated[str | None, argument("FILE|NAME", BUILT_IN, completion.experiments)] = None,
    episodes: Episodes = None,
    runs: Annotated[int, integer("--runs", "Runs of each agent.")] = 1,
    stride: Annotated[
        int | None, integer("--stride", "Check every N-th episode.  [default: about 200 of all]")
    ] = None,
    seed: Seed = None,
    agent: Annotated[str | None, word("LABEL", "Audit only this agent.  [default: all]")] = None,
    beta_scale: Annotated[
        float | None,
        number(
            "--beta-scale",
            "Explore with C times theory's radius for the true σ and S.  [default: the agents' own]",
            metavar="C",
            at_least=0,
        ),
    ] = None,
    delta: Annotated[
        float,
        number(
            "--delta",
            "Probability that a radius given as a number fails.",
            metavar="D",
            above=0,
            at_most=1,
        ),
    ] = 0.05,
    out: Annotated[str | None, word("DIR", "Folder for audit.json and audit.html.")] = None,
    as_json: Json = False,
) -> None:
    """Check on live runs what an agent does and what is proven of it.

    The true model is at hand, so every statement can be checked exactly. The exit code is 1 if one is
    violated. Where the radius is below theory's, optimism and what follows from it are not promised; then
    their failure is no violation.
    """
    from driftwise.analysis.audit import audit_by_hand, audit_study, builtin_experiments
    from driftwise.analysis.audit.page import html_page
    from driftwise.experiments import prepare
    from driftwise.experiments.files import find_study

    sizes = dict(num_episodes=episodes, num_runs=runs, seed=seed)
    if file_or_name is None:
        if episodes is not None and episodes < FEWEST_EPISODES:
            raise InputError(
                f"--episodes must be at least {FEWEST_EPISODES} without a FILE|NAME, got {episodes}"
            )
        studies = [check(prepare, experiment, **sizes) for experiment in builtin_experiments()]
    else:
        studies = [check(find_study, file_or_name, **sizes)]
    if agent is not None:
        labels = dict.fromkeys(label for study in studies for label in study.experiment.agents)
        check(require_choice, "--agent", agent, list(labels))
        studies = [study for study in studies if agent in study.experiment.agents]
    options: dict[str, Any] = dict(stride=stride, delta=delta, beta_scale=beta_scale, agent=agent)
    options["progress"] = lambda environment, label: print(f"{label} in {environment}", file=sys.stderr)
    with page_folder(out, "audit") as folder:
        audits = [audit_by_hand()] if file_or_name is None and agent is None else []
        audits += [check(audit_study, study, **options) for study in studies]
        if as_json:
            print(json_text(audits))
        else:
            for audit in audits:
                _print_audit(audit)
        if folder is not None:
            write_page(folder, "audit", json_text(audits), html_page(audits))
    if any(audit.violated for audit in audits):
        raise typer.Exit(1)


def _print_audit(audit: Audit) -> None:
    from driftwise.analysis.audit import findings_table, grouped, worst_of

    print(f"{audit.name}: {', '.join(audit.sizes)}")
    for group, findings in grouped(audit.findings).items():
        print(f"\n{group}:")
        print_table(findings_table(worst_of(findings), "audit").without("about"))
    for finding in audit.violated:
        allowed = f"at most {finding.allowed:g} of all runs may" if finding.allowed else "none may"
        print(
            f"violated: {finding.statement} by {finding.agent} in {finding.environment}: "
            f"{finding.violations:,} of {finding.checked:,}, in {finding.failing_runs} of "
            f"{counted(finding.runs, 'run')} ({allowed})"
        )
    for finding in audit.findings:
        if finding.verdict == "not promised":
            print(
                f"not promised: {finding.statement} by {finding.agent} in {finding.environment}: "
                f"{finding.violations:,} of {finding.checked:,} fail; "
                f"its radius is {finding.radius_share:.2g} × theory's"
            )
    for skipped in audit.skipped:
        if not skipped.statement:
            print(f"skipped: {skipped.agent} in {skipped.environment}: {skipped.why}")
    print()
