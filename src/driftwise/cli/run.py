"""`driftwise run`."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from driftwise.base.validation import require_choice
from driftwise.cli.app import InputError, app, blaming_out, check, check_options, counted, print_table
from driftwise.cli.options import (
    Address,
    Engines,
    Episodes,
    FileOrName,
    Runs,
    Seed,
    flag,
    integer,
    require_engine,
    word,
)
from driftwise.cli.stopping import held_signals

if TYPE_CHECKING:
    from driftwise.analysis.finished import FinishedStudy
    from driftwise.simulation.engines import Engine

EXAMPLES = """\b
Examples:
  driftwise run quickstart
  driftwise run quickstart --episodes 4000 --runs 64 --out elsewhere
  driftwise run mine.toml --workers 2
  driftwise run mine.toml --engine ray --device gpu"""


@app.command("run", epilog=EXAMPLES)
def _run(
    file_or_name: FileOrName,
    episodes: Episodes = None,
    runs: Runs = None,
    seed: Seed = None,
    out: Annotated[
        str | None,
        word("DIR", "Folder for the results. A run that was stopped there goes on.  [default: results/NAME]"),
    ] = None,
    workers: Annotated[int | None, integer("--workers", "Number of processes.  [default: 1]")] = None,
    engine: Engines = "processes",
    address: Address = None,
    device: Annotated[str | None, word("DEVICE", "Device: cpu or gpu.  [default: JAX's choice]")] = None,
    recompute: Annotated[
        bool, flag("--recompute", "Compute again what another version of the code left in the folder.")
    ] = False,
    quiet: Annotated[bool, flag("--quiet", "Print only the paths of the files.")] = False,
) -> None:
    """Run an experiment: a table of regrets, the data, and a figure.

    Ctrl-C stops it in good order, and the same command goes on from there. With more runs, episodes, agents
    or environments it plays only what is new.
    """
    from driftwise.experiments.files import find_study
    from driftwise.experiments.growing import CLAIM, grown
    from driftwise.experiments.progress import shown_progress
    from driftwise.experiments.running import fitting_tasks, run_study
    from driftwise.experiments.saving import FILES, claimed, drop_shorter, has_checkpoints, is_saved

    study = check(find_study, file_or_name, num_episodes=episodes, num_runs=runs, seed=seed)
    if out is None:
        out = f"results/{study.experiment.name}"
    with contextlib.ExitStack() as stack:  # interrupts get lost while JAX is loaded, too
        look = stack.enter_context(held_signals(functools.partial(has_checkpoints, Path(out))))
        chosen = _engine(engine, workers, address, device)
        from driftwise.analysis.finished import FinishedStudy
        from driftwise.base.files import remove_leftovers
        from driftwise.simulation.files import locked, output_folder

        with blaming_out(out):
            study = check(grown, Path(out), study)
        tasks = check(fitting_tasks, study, engine=chosen, device=device)
        look()
        with blaming_out(out):
            folder = stack.enter_context(output_folder(Path(out), (*FILES, CLAIM)))
            stack.enter_context(locked(folder))
            remove_leftovers(folder)
            kept = check(stack.enter_context, claimed(folder, study))
        options: dict[str, Any] = dict(checkpoints=kept, engine=chosen, look=look, recompute=recompute)
        with shown_progress(quiet) as progress, blaming_out(out), _blaming_what_ran():
            outcomes = run_study(study, tasks=tasks, **options, progress=progress)
        with blaming_out(out):
            finished, saved = FinishedStudy.of(study, outcomes), is_saved(folder, study, outcomes)
            if not saved:
                finished.write(folder)
                drop_shorter(kept, study, tasks)
        look()
    if not quiet:
        _print_tables(finished)
        if saved:
            print("All of it was there already; no file was changed.", file=sys.stderr)
    for name in FILES:
        print(folder / name)


def _engine(name: str, workers: int | None, address: str | None, device: str | None) -> Engine | None:
    from driftwise.simulation.devices import find_devices
    from driftwise.simulation.engines import Processes, RayCluster

    require_engine(name, workers, address)
    if device is not None:
        check(require_choice, "--device", device, ("cpu", "gpu"))
    if name == "ray":
        return check(RayCluster, address)  # its nodes have the device, and perhaps not this machine
    chosen = Processes(workers) if workers is not None and workers > 1 else None
    check_options(find_devices, device=device)  # after what an engine sets for it
    return chosen


@contextlib.contextmanager
def _blaming_what_ran() -> Iterator[None]:
    from driftwise.simulation.checkpoints import CheckpointError
    from driftwise.simulation.running import EngineError

    try:
        yield
    except (CheckpointError, EngineError, FloatingPointError) as error:
        raise InputError(str(error)) from None


def _print_tables(study: FinishedStudy) -> None:
    """The final regrets, and the exponents where environments differ in length or in variation."""
    from driftwise.analysis.report.panels.common import manifest_text
    from driftwise.analysis.report.panels.final_table import ON_A_TERMINAL, final_table
    from driftwise.analysis.report.panels.rates import rates_table, sweeps, verdicts
    from driftwise.analysis.terminal import paragraph

    report, facts = study.data, study.manifest
    sizes = f"{counted(facts['num_episodes'], 'episode')}, {counted(facts['num_runs'], 'run')}"
    device = manifest_text(facts["device"])
    print(paragraph(f"{facts['config']['summary']}: {sizes}, seed {facts['seed']}, on {device}"))
    print_table(final_table(report, ("environment",) * (len(report) > 1) + ON_A_TERMINAL, ranked=False))
    for note in dict.fromkeys(note for data in report.values() for note in data.grid_notes):
        print(f"{paragraph(note)}\n")
    found = sweeps(report) if "environments" in facts["config"] else ()
    for sweep in found:
        print(sweep.title)
        print_table(rates_table([sweep]).without("sweep"))
    if found:
        print(f"{paragraph(verdicts(rates_table(found)))}\n")
