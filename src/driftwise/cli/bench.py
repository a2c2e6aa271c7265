"""`driftwise bench`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftwise.base.cores import num_cores
from driftwise.base.validation import require_choice
from driftwise.cli.app import (
    InputError,
    app,
    blaming_out,
    check,
    json_text,
    page_files,
    print_table,
    progress_bar,
    write_page,
)
from driftwise.cli.options import Address, Engines, Json, integer, listed, require_engine, word
from driftwise.cli.stopping import held_signals

if TYPE_CHECKING:
    from driftwise.analysis.bench.places import Place

ALL = "all"  # of --agents

EXAMPLES = """\b
Examples:
  driftwise bench
  driftwise bench --with gradual --agents adaptive_lin_ucb --out results/bench
  driftwise bench --import mylab --agents mine
  driftwise bench --suite full --engine ray --out results/full"""


@app.command("bench", epilog=EXAMPLES)
def _bench(
    suite: Annotated[str, word("SIZE", "The sizes: small or full.")] = "small",
    agents: Annotated[
        str | None, word("A,B", "Policies, or all of ours.  [default: four of a kind, and those of --import]")
    ] = None,
    having: Annotated[
        str | None, word("A,B", "Only scenarios whose name has all of these.", "--with")
    ] = None,
    workers: Annotated[int | None, integer("--workers", "Processes.  [default: one for each core]")] = None,
    engine: Engines = "processes",
    address: Address = None,
    out: Annotated[
        str, word("DIR", "A folder for bench.json, bench.html and what was played.")
    ] = "results/bench",
    as_json: Json = False,
) -> None:
    """Play policies in scenarios of bandits and MDPs, and judge them.

    Fixed memories are the yardstick. A command that was stopped goes on from there.

    A module of --import adds its own by driftwise.scenarios.register_policy. The exit code is 1 if a policy
    fails a verdict. What the folder has is not played again, unless driftwise or its module has changed.
    """
    from driftwise.analysis.bench.cells import FILE, play_cells
    from driftwise.analysis.bench.page import html_page, lead, tables
    from driftwise.analysis.bench.verdicts import bench_of
    from driftwise.scenarios.contestants import FIELDS
    from driftwise.scenarios.scenario import SUITES
    from driftwise.scenarios.scenario import suite as scenarios_of
    from driftwise.simulation.files import locked, output_folder

    check(require_choice, "--suite", suite, list(SUITES))
    known = [*dict.fromkeys(name for field in FIELDS.values() for name in field.contestants)]
    first = [name for name in known if any(name in field.policies for field in FIELDS.values())]
    chosen = {None: first, ALL: known}.get(agents) or [*dict.fromkeys(listed(agents or ""))]
    for each in chosen:
        check(require_choice, "--agents", each, known)
    if not chosen:
        raise InputError(f"--agents must name at least one of {', '.join(known)}, got {agents!r}")
    players, names = {}, {}  # by kind
    for kind, field in FIELDS.items():
        own = [each for each in chosen if each in (field.policies if agents is None else field.contestants)]
        found = [name for name, each in scenarios_of(suite).items() if each.kind == kind]
        found = [name for name in found if all(each in name for each in listed(having or ""))]
        if own and found:
            players[kind], names[kind] = [*field.yardsticks, *own], found
    if not names:
        raise InputError(f"--with must be part of a name in suite {suite} that --agents play, got {having!r}")
    pairs = [(agent, name) for kind in names for name in names[kind] for agent in players[kind]]
    place = _place(engine, workers, address)
    with ExitStack() as stack:
        with blaming_out(out):
            folder = stack.enter_context(output_folder(Path(out), (*page_files("bench"), FILE)))
            stack.enter_context(locked(folder))
        with held_signals(goes_on=lambda: True) as stop_if_asked, progress_bar("bench") as progress:

            def after_a_cell(done: int, total: int) -> None:
                progress(done, total)
                stop_if_asked()

            cells = check(play_cells, pairs, suite, folder, place=place, progress=after_a_cell)
        benches = [bench_of(kind, suite, players[kind], names[kind], cells) for kind in names]
        text = json_text({each.kind: each for each in benches})
        if as_json:
            print(text)
        for bench in benches:
            if not as_json:
                for table in tables(bench):
                    print_table(table)
                print(lead(bench))
            for agent, error in bench.errors.items():
                typer.echo(f"driftwise: {agent} could not play everywhere: {error}", err=True)
        write_page(folder, "bench", text, html_page(benches))
    if any(bench.failed for bench in benches):
        raise typer.Exit(1)


def _place(engine: str, workers: int | None, address: str | None) -> Place:
    from driftwise.analysis.bench.places import in_processes, on_ray

    require_engine(engine, workers, address)
    return check(on_ray, address) if engine == "ray" else in_processes(workers or num_cores())
