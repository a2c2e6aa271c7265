"""`driftwise audit`."""

import sys
from typing import Any

import typer

from driftwise.base.validation import require_choice
from driftwise.cli import app
from driftwise.cli.app import InputError, check
from driftwise.cli.output import json_text, open_page, print_table

_BUILT_IN = "An experiment.  [default: small MDPs and bandits, stationary and with abrupt or gradual drift]"


@app.command(
    "audit",
    "audit quickstart --episodes 500 --agent OPT-WLSVI --beta-scale 1",
    "audit mine.toml --runs 20 --out results/audit",
)
def _audit(
    file_or_name: str | None = app.argument("FILE|NAME", _BUILT_IN, app.complete_experiments, default=None),
    episodes: int | None = app.EPISODES,
    runs: int = app.int_option("--runs", "Runs of each agent.", default=1),
    stride: int | None = app.int_option("--stride", "Check every N-th episode.  [default: about 200 checks]"),
    seed: int | None = app.SEED,
    agent: str | None = app.option("LABEL", "Audit only this agent.  [default: all]"),
    beta_scale: float | None = app.float_option(
        "--beta-scale",
        "Explore with C times the radius of theory for the true σ and S.  [default: the agents' own radius]",
        metavar="C",
        at_least=0,
    ),
    out: str | None = app.option("DIR", "Folder for audit.json and audit.html."),
    as_json: bool = app.JSON,
) -> None:
    """Check statements about an agent and its theory on recorded runs.

    The true model is known, so every statement is checked exactly. The exit code is 1 if one is violated.
    Where the radius is below theory's, optimism and its consequences are not promised; their failure is then
    no violation.
    """
    from driftwise.analysis.audit import audit_by_hand, audit_study, builtin_experiments
    from driftwise.analysis.audit.audit_page import audit_html
    from driftwise.experiments import prepare
    from driftwise.experiments.study import find_study

    sizes = dict(num_episodes=episodes, num_runs=runs, seed=seed)
    if file_or_name is not None:
        studies = [check(find_study, file_or_name, **sizes)]
    elif episodes is not None and episodes < 3:
        raise InputError(f"--episodes must be at least 3 without a FILE|NAME, got {episodes}")
    else:
        studies = [check(prepare, experiment, **sizes) for experiment in builtin_experiments()]
    if agent is not None:
        labels = dict.fromkeys(label for study in studies for label in study.experiment.agents)
        check(require_choice, "--agent", agent, list(labels))
        studies = [study for study in studies if agent in study.experiment.agents]
    options: dict[str, Any] = dict(stride=stride, beta_scale=beta_scale, agent=agent)
    options["progress"] = lambda environment, label: print(f"{label} in {environment}", file=sys.stderr)
    with open_page("audit", out) as write_page:
        audits = [audit_by_hand()] if file_or_name is None and agent is None else []
        audits += [check(audit_study, study, **options) for study in studies]
        if as_json:
            print(json_text(audits))
        else:
            for audit in audits:
                _print_audit(audit)
        write_page(json_text(audits), lambda: audit_html(audits))
    if any(audit.violated for audit in audits):
        raise typer.Exit(1)


def _print_audit(audit: Any) -> None:
    from driftwise.analysis.audit import findings_table, grouped, worst_of
    from driftwise.analysis.formatting import format_count

    print(f"{audit.name}: {', '.join(audit.sizes)}")
    for group, findings in grouped(audit.findings).items():
        print(f"\n{group}:")
        print_table(findings_table(worst_of(findings), "audit").without("about"))
    unpromised = [finding for finding in audit.findings if finding.verdict == "not promised"]
    for finding in [*audit.violated, *unpromised]:
        failed = f"{finding.violations:,} of {finding.checked:,}"
        place = f"{finding.statement} by {finding.agent} in {finding.environment}: {failed}"
        if finding.verdict == "not promised":
            print(f"not promised: {place} fail; its radius is {finding.radius_share:.2g} × theory's")
        else:
            runs = f"in {finding.failing_runs} of {format_count(finding.runs, 'run')}"
            allowed = f"at most {finding.allowed:g} of all runs may" if finding.allowed else "none may"
            print(f"violated: {place}, {runs} ({allowed})")
    for skipped in audit.skipped:
        if not skipped.statement:
            print(f"skipped: {skipped.agent} in {skipped.environment}: {skipped.why}")
    print()
