"""`driftwise run`, and what commands that play for long share: engines, and how signals stop them."""

import contextlib
import functools
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import typer

from driftwise.base.validation import require_choice
from driftwise.cli import app
from driftwise.cli.app import InputError, Stopped, check, check_options
from driftwise.cli.output import as_out_errors, print_paragraph, print_table

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPING = "driftwise: stopping soon; Ctrl-C again stops at once"


@app.command(
    "run quickstart",
    "run quickstart --episodes 4000 --runs 64 --out elsewhere",
    "run mine.toml --workers 2",
    "run mine.toml --engine ray --device gpu",
)
def _run(
    file_or_name: str = app.FILE_OR_NAME,
    episodes: int | None = app.EPISODES,
    runs: int | None = app.RUNS,
    seed: int | None = app.SEED,
    out: str | None = app.option("DIR", "Results folder; a stopped run continues.  [default: results/NAME]"),
    workers: int | None = app.int_option("--workers", "Number of processes.  [default: 1]"),
    engine: str = app.ENGINE,
    device: str | None = app.option("DEVICE", "Device: cpu or gpu.  [default: JAX's choice]"),
    recompute: bool = typer.Option(
        False, "--recompute", help="Recompute tasks that another version of the code left in the folder."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="Print only the paths of the files."),
) -> None:
    """Run an experiment: a table of regrets, the data, and a figure.

    Ctrl-C stops it in good order, and the same command goes on from there. With more runs, episodes, agents
    or environments it plays only what is new.
    """
    from driftwise.experiments import outcomes, saved_results
    from driftwise.experiments.study import find_study

    study = check(find_study, file_or_name, num_episodes=episodes, num_runs=runs, seed=seed)
    out = f"results/{study.experiment.name}" if out is None else out
    with contextlib.ExitStack() as stack:  # interrupts get lost while JAX is loaded, too
        poll = stack.enter_context(hold_signals(functools.partial(saved_results.has_checkpoints, Path(out))))
        chosen = make_engine(engine, workers)
        from driftwise.simulation import devices

        if device is not None:
            check(require_choice, "--device", device, ("cpu", "gpu"))
        if engine != "ray":  # whose nodes have the device, and perhaps not this machine
            check_options(devices.find_devices, device=device)  # after what an engine sets for it
        from driftwise.analysis.finished import FIGURE, RESULT_FILES, FinishedStudy
        from driftwise.base import files
        from driftwise.simulation.checkpoints import shorter_checkpoints

        stack.enter_context(as_out_errors(out))
        folder = stack.enter_context(files.output_folder(Path(out), (*RESULT_FILES, saved_results.CLAIM)))
        stack.enter_context(files.lock_folder(folder))
        files.remove_leftovers(folder)
        study = check(saved_results.merge_with_folder, folder, study)
        tasks = check(outcomes.fitting_tasks, study, engine=chosen, device=device)
        poll()
        kept = stack.enter_context(saved_results.claim_folder(folder, study))
        options: dict[str, Any] = dict(checkpoints=kept, engine=chosen, poll=poll, recompute=recompute)
        with outcomes.show_progress(quiet) as progress, engine_errors():
            results = outcomes.run_study(study, tasks=tasks, **options, progress=progress)
        finished = FinishedStudy.of(study, results)
        if not (saved := saved_results.is_saved(folder, finished.manifest)):
            finished.write(folder)
            for _, task in tasks:  # from which they continued
                for path in shorter_checkpoints(kept, task):
                    path.unlink()
        if not (complete := saved and (folder / FIGURE).exists()):
            finished.write_figure(folder)
        poll()
    if not quiet:
        _print_tables(finished)
        if complete:
            print("All of it was there already; no file was changed.", file=sys.stderr)
    for name in RESULT_FILES:
        print(folder / name)


def make_engine(name: str, workers: int | None) -> Any:
    """Return the engine of these options; None for this process."""
    from driftwise.simulation.engines import Processes, RayCluster

    check(require_choice, "--engine", name, ("processes", "ray"))
    if name == "ray":
        if workers is not None:
            raise InputError(f"--workers is for --engine processes, got {workers} with --engine ray")
        return RayCluster()
    return Processes(workers) if workers is not None and workers > 1 else None


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Turn the errors of tasks and engines into an `InputError`."""
    from driftwise.simulation.checkpoints import CheckpointError
    from driftwise.simulation.tasks import EngineError

    try:
        yield
    except (CheckpointError, EngineError, FloatingPointError) as error:
        raise InputError(str(error)) from None


@contextlib.contextmanager
def hold_signals(can_resume: Callable[[], bool] = lambda: False) -> Iterator[Callable[[], None]]:
    """Hold Ctrl-C and SIGTERM back until the function given is called; a second signal does not wait.

    Raised at any moment, an interrupt can get lost in a callback of compiled code, or leave a file behind.
    `can_resume` is called when everything is written: it returns whether the run can be continued.
    """
    received: list[int] = []
    stopping = threading.Event()

    def stop_if_asked() -> None:
        if received:
            stopping.set()
            raise Stopped(received[-1])

    def hold(number: int, frame: Any) -> None:
        received.append(number)
        if len(received) > 1:
            stop_if_asked()

    if threading.current_thread() is not threading.main_thread():  # where signals do not arrive
        yield stop_if_asked
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    watcher = threading.Thread(target=_watch, args=(reader, stopping, can_resume), daemon=True)
    watcher.start()
    handlers = {number: signal.signal(number, hold) for number in _SIGNALS}
    wakeup_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    try:
        yield stop_if_asked
    except Stopped as stopped:
        raise Stopped(stopped.number, can_resume=can_resume()) from None
    finally:
        signal.set_wakeup_fd(wakeup_before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        writer.close()
        watcher.join()
        reader.close()


def _watch(reader: socket.socket, stopping: threading.Event, can_resume: Callable[[], bool]) -> None:
    """Acknowledge the first signal; end the process at the second, whose handler waits for compiled code."""
    count = 0
    while numbers := reader.recv(64):
        for number in filter(_SIGNALS.__contains__, numbers):
            count += 1
            if count == 1:
                print(STOPPING, file=sys.stderr, flush=True)
            elif not stopping.wait(0.5):
                stopped = Stopped(number, can_resume=can_resume())
                cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # which progress bars hide
                print(f"{cursor}driftwise: {stopped}", file=sys.stderr, flush=True)
                os._exit(stopped.code)


def _print_tables(study: Any) -> None:
    """The final regrets, and the exponents where environments differ in length or in variation."""
    from driftwise.analysis.formatting import format_count
    from driftwise.analysis.report import rates
    from driftwise.analysis.report.data import manifest_text
    from driftwise.analysis.report.final_table import ON_A_TERMINAL, final_table

    report, facts = study.data, study.manifest
    sizes = f"{format_count(facts['num_episodes'], 'episode')}, {format_count(facts['num_runs'], 'run')}"
    device = manifest_text(facts["device"])
    print_paragraph(f"{facts['config']['summary']}: {sizes}, seed {facts['seed']}, on {device}")
    print_table(final_table(report, ("environment",) * (len(report) > 1) + ON_A_TERMINAL, ranked=False))
    for note in dict.fromkeys(note for data in report.values() for note in data.grid_notes):
        print_paragraph(note, "\n\n")
    sweeps = rates.find_sweeps(report) if "environments" in facts["config"] else ()
    for sweep in sweeps:
        print(sweep.title)
        print_table(rates.exponents_table([sweep]).without("sweep"))
    if sweeps:
        print_paragraph(rates.exponents_legend(rates.exponents_table(sweeps)), "\n\n")
