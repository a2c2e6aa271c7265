"""`driftwise run`."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from driftwise.base.validation import require_choice
from driftwise.cli.app import EXAMPLES, FileOrName, InputError, app, check, count, counted, stdout
from driftwise.cli.rates import print_rates
from driftwise.experiments import Experiment, Outcome, find_experiment, run_experiment
from driftwise.experiments.files import try_experiment
from driftwise.experiments.progress import held_interrupts, shown_progress
from driftwise.simulation.results import EVENTS

if TYPE_CHECKING:
    from driftwise.simulation.engines import Engine


@app.command("run", epilog=EXAMPLES)
def _run(
    file_or_name: FileOrName,
    episodes: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=count("--episodes"), help="Episodes of a run.  [default: the experiment's]"
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N", parser=count("--runs"), help="Runs of each agent.  [default: the experiment's]"
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
    out: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="The folder to write to. A run that was stopped there goes on.  [default: results/NAME]",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", parser=count("--workers"), help="Processes to run in.  [default: 1]"),
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="ENGINE", help="processes, on this machine, or ray, on a Ray cluster.")
    ] = "processes",
    address: Annotated[
        str | None,
        typer.Option(metavar="ADDR", help="Of the Ray cluster.  [default: a running one, or one of its own]"),
    ] = None,
    device: Annotated[
        str | None, typer.Option(metavar="DEVICE", help="cpu or gpu.  [default: JAX's choice]")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the paths of the files only.")] = False,
) -> None:
    """Run an experiment: a table of regrets, the data, and a figure."""
    experiment = check(find_experiment, file_or_name)
    check(try_experiment, experiment, episodes, source=file_or_name)  # before anything is written
    chosen = _engine(engine, workers, address, device)
    if out is None:
        out = f"results/{experiment.name}"
    from driftwise.analysis.figures import regret_png
    from driftwise.experiments.saving import FILES, claimed, claimed_by, is_saved, save_outcomes
    from driftwise.simulation.files import locked, output_folder, remove_leftovers

    with contextlib.ExitStack() as stack:
        look = stack.enter_context(held_interrupts())
        with _blaming_out(out):
            folder = stack.enter_context(output_folder(Path(out), FILES))
            stack.enter_context(locked(folder))
            remove_leftovers(folder)
            claim = claimed_by(experiment, episodes, runs, seed)
            kept = check(stack.enter_context, claimed(folder, claim))
        with shown_progress(quiet) as progress:
            given: dict[str, Any] = dict(num_episodes=episodes, num_runs=runs, seed=seed, device=device)
            with _blaming_out(out), _telling_how_to_go_on():
                outcomes = run_experiment(
                    experiment, **given, checkpoints=kept, engine=chosen, progress=progress, look=look
                )
        with _blaming_out(out):
            saved = is_saved(folder, experiment, outcomes)
            if not saved:
                save_outcomes(folder, experiment, outcomes, regret_png)
    if not quiet:
        _print_regrets(experiment, outcomes)
        if experiment.environments:
            print_rates(folder)
        if saved:
            print("All of it was there already; no file was changed.", file=sys.stderr)
    for name in FILES:
        print(folder / name)


def _engine(name: str, workers: int | None, address: str | None, device: str | None) -> Engine | None:
    from driftwise.simulation.engines import Processes, RayCluster
    from driftwise.simulation.program import find_device

    check(require_choice, "--engine", name, ("processes", "ray"))
    if device is not None:
        check(require_choice, "--device", device, ("cpu", "gpu"))
    if name == "ray":
        if workers is not None:
            raise InputError(f"--workers is for --engine processes, got {workers} with --engine ray")
        return check(RayCluster, address)  # its nodes have the device, and perhaps not this machine
    if address is not None:
        raise InputError(f"--address is for --engine ray, got {address!r} with --engine {name}")
    chosen = Processes(workers) if workers is not None and workers > 1 else None
    check(find_device, device)  # after what an engine sets for it
    return chosen


@contextlib.contextmanager
def _telling_how_to_go_on() -> Iterator[None]:
    from driftwise.simulation.checkpoints import CheckpointError
    from driftwise.simulation.running import EngineError

    try:
        yield
    except (CheckpointError, EngineError, FloatingPointError) as error:
        raise InputError(str(error)) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(": the same command goes on from here") from None


@contextlib.contextmanager
def _blaming_out(out: str) -> Iterator[None]:
    try:
        if not out:
            raise NotADirectoryError(None, "the name is empty")
        yield
    except OSError as error:
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror or str(error)
        raise InputError(f"--out must be a folder that can be written, got {out!r}: {reason}") from None


def _print_regrets(experiment: Experiment, outcomes: Sequence[Outcome]) -> None:
    from driftwise.analysis.statistics import mean_interval
    from driftwise.analysis.statistics.wording import shown, with_half_width

    facts = outcomes[0].result.manifest
    several = facts["num_runs"] > 1
    table = Table(box=SIMPLE_HEAD)
    settings = {outcome.setting for outcome in outcomes}
    if len(settings) > 1:
        table.add_column("environment")
    table.add_column("agent")
    table.add_column(
        "final cumulative regret" + (", mean ± 95 % (Student's t)" if several else ""), justify="right"
    )
    told = {name for outcome in outcomes for name in outcome.result.counts}
    events = [name for name in EVENTS if name in told]
    for name in events:
        table.add_column(name + (", mean" if several else ""), justify="right")
    table.add_column("seconds", justify="right")
    for outcome in outcomes:
        mean, half_width = mean_interval(outcome.result.cumulative_regret[:, -1])
        regret = with_half_width(float(mean), float(half_width))
        where = [outcome.setting] if len(settings) > 1 else []
        counts = {name: float(count.mean()) for name, count in outcome.result.counts.items()}
        happened = [shown(counts.get(name, math.nan), 3) for name in events]
        table.add_row(*where, outcome.label, regret, *happened, f"{outcome.seconds:.1f}")
    length = max(outcome.result.manifest["num_episodes"] for outcome in outcomes)
    sizes = f"{counted(length, 'episode')}, {counted(facts['num_runs'], 'run')}"
    print(f"{experiment.summary}: {sizes}, seed {facts['seed']}, on {facts['device']}")
    stdout().print(table)
