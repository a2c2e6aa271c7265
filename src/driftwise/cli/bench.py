"""`driftwise bench`."""

from pathlib import Path
from typing import Any

import typer

from driftwise.base.resources import num_cores
from driftwise.base.validation import require_choice
from driftwise.cli import app
from driftwise.cli.app import InputError, check, split_words
from driftwise.cli.output import as_out_errors, json_text, open_page, print_table, progress_bar
from driftwise.cli.run import engine_errors, hold_signals, make_engine


@app.command(
    "bench",
    "bench --with gradual --agents adaptive_lin_ucb --out results/bench",
    "bench --import mylab --agents mine",
    "bench --suite full --engine ray --out results/full",
)
def _bench(
    suite: str = app.option("SIZE", "Sizes of the scenarios: small or full.", default="small"),
    agents: str | None = app.option(
        "A,B", "Policies to play, or all.  [default: four for each kind of problem, and those of --import]"
    ),
    having: str | None = app.option("A,B", "Only scenarios whose names contain all of these.", "--with"),
    workers: int | None = app.int_option("--workers", "Number of processes.  [default: one for each core]"),
    engine: str = app.ENGINE,
    out: str = app.option(
        "DIR", "Folder for bench.json, bench.html and what was played.", default="results/bench"
    ),
    as_json: bool = app.JSON,
) -> None:
    """Play policies in scenarios of bandits and MDPs, and judge them.

    They are compared with fixed memories. A command that was stopped continues where it stopped.

    A module given with --import adds its own policies by driftwise.scenarios.register_policy. The exit code
    is 1 if a policy fails a verdict. What the folder has is not played again, unless driftwise or the module
    of a policy has changed.
    """
    from driftwise.analysis.bench.bench_page import bench_lead, bench_page, bench_tables
    from driftwise.analysis.bench.verdicts import bench_of, run_scores
    from driftwise.base.files import lock_folder
    from driftwise.scenarios import scenario as scenarios
    from driftwise.scenarios.contestants import POLICY_SETS
    from driftwise.scenarios.playing import ScenarioTask
    from driftwise.simulation.running import run_tasks

    check(require_choice, "--suite", suite, list(scenarios.SUITES))
    known = [*dict.fromkeys(name for own in POLICY_SETS.values() for name in own.contestants)]
    defaults = [name for name in known if any(name in own.policies for own in POLICY_SETS.values())]
    chosen = {None: defaults, "all": known}.get(agents) or [*dict.fromkeys(split_words(agents or ""))]
    for name in chosen:
        check(require_choice, "--agents", name, known)
    if not chosen:
        raise InputError(f"--agents must name at least one of {', '.join(known)}, got {agents!r}")
    parts, every = split_words(having or ""), scenarios.suite(suite)
    matching = {name: own for name, own in every.items() if all(part in name for part in parts)}
    players, names = {}, {}  # by kind
    for kind, own in POLICY_SETS.items():
        playable = own.policies if agents is None else own.contestants
        those = [name for name, scenario in matching.items() if scenario.kind == kind]
        if those and (playing := [name for name in chosen if name in playable]):
            players[kind], names[kind] = [*own.yardsticks, *playing], those
    if not names:
        raise InputError(f"--with must be part of a name in suite {suite} that --agents play, got {having!r}")
    pairs = [(agent, name) for kind in names for name in names[kind] for agent in players[kind]]
    where = make_engine(engine, workers or num_cores() if engine == "processes" else workers)
    tasks = [check(ScenarioTask.of, agent, matching[name], run_scores) for agent, name in pairs]
    folder = Path(out)
    with as_out_errors(out), open_page("bench", out) as write_page, lock_folder(folder):
        if (folder / "cells.jsonl").exists():
            raise InputError(f"--out must be a new folder, got {out!r} of an older version of driftwise")
        with hold_signals(can_resume=lambda: True) as stop_if_asked, progress_bar("bench") as progress:
            finished: set[int] = set()

            def report(number: int, done: int, total: int) -> None:
                if done == total:
                    finished.add(number)
                    progress(len(finished), len(tasks))

            options: dict[str, Any] = dict(progress=report, poll=stop_if_asked, recompute=True)
            with engine_errors():
                results = run_tasks(tasks, folder / "tasks", engine=where, **options)
        outcomes = dict(zip(pairs, results, strict=True))
        benches = [bench_of(kind, suite, players[kind], names[kind], outcomes) for kind in names]
        text = json_text({bench.kind: bench for bench in benches})
        if as_json:
            print(text)
        for bench in benches:
            if not as_json:
                for table in bench_tables(bench):
                    print_table(table)
                print(bench_lead(bench))
            for agent, error in bench.errors.items():
                typer.echo(f"driftwise: {agent} could not play everywhere: {error}", err=True)
        write_page(text, lambda: bench_page(benches))
    if any(bench.failed for bench in benches):
        raise typer.Exit(1)
