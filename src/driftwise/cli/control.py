"""`driftwise control`."""

from pathlib import Path
from typing import Any

from driftwise.base.resources import num_cores
from driftwise.base.validation import require_choice
from driftwise.cli import app
from driftwise.cli.app import check, split_words
from driftwise.cli.output import as_out_errors, json_text, open_page, print_table, progress_bar
from driftwise.cli.run import engine_errors, hold_signals, make_engine


@app.command(
    "control",
    "control --out results/control",
    "control --problems cart_pole_reversed --agents adaptive,memory_all",
    "control --problems all --runs 2 --episodes 60",
)
def _control(
    problems: str = app.option(
        "A,B", "Problems of Gymnasium to play, or all.", default="cart_pole,mountain_car,cart_pole_reversed"
    ),
    agents: str = app.option(
        "A,B", "Agents: adaptive, memory_10, memory_all.", default="adaptive,memory_all"
    ),
    episodes: int | None = app.int_option(
        "--episodes", "Episodes of a run.  [default: 100 at rest, 240 with a drift]", at_least=4
    ),
    runs: int = app.int_option("--runs", "Runs of each agent, with seeds 0, 1, …", default=5),
    workers: int | None = app.int_option("--workers", "Number of processes.  [default: one for each core]"),
    out: str = app.option(
        "DIR", "Folder for control.json, control.html and what was played.", default="results/control"
    ),
    as_json: bool = app.JSON,
) -> None:
    """Play control problems of Gymnasium, at rest and under drift.

    One default for all: cart_pole (also _reversed, _length, _gravity), mountain_car (_reversed, _gravity,
    _force), acrobot (_reversed, _mass, _length) and pendulum (_gravity, _mass, _length). A command that was
    stopped continues where it stopped, and what the folder has is not played again.
    """
    from driftwise.analysis.control_page import control_page, control_table
    from driftwise.base.files import lock_folder
    from driftwise.gym.control_problems import CONTROL_AGENTS, CONTROL_PROBLEMS, ControlTask
    from driftwise.simulation.running import run_tasks

    known = [*CONTROL_PROBLEMS]
    chosen = known if problems == "all" else [*dict.fromkeys(split_words(problems))]
    players = [*dict.fromkeys(split_words(agents))]
    for option, names, choices in (
        ("--problems", chosen, known),
        ("--agents", players, [*CONTROL_AGENTS]),
    ):
        for name in names or [""]:
            check(require_choice, option, name, choices)
    keys = [(problem, agent, seed) for problem in chosen for agent in players for seed in range(runs)]
    lengths = {name: episodes or CONTROL_PROBLEMS[name].num_episodes for name in chosen}
    tasks = [ControlTask(agent, problem, seed, lengths[problem]) for problem, agent, seed in keys]
    where, folder = make_engine("processes", workers or num_cores()), Path(out)
    with as_out_errors(out), open_page("control", out) as write_page, lock_folder(folder):
        with hold_signals(can_resume=lambda: True) as stop_if_asked, progress_bar("control") as progress:
            finished: dict[int, int] = {}

            def report(number: int, done: int, total: int) -> None:
                finished[number] = done
                progress(sum(finished.values()), sum(task.num_episodes for task in tasks))

            options: dict[str, Any] = dict(progress=report, poll=stop_if_asked, recompute=True)
            with engine_errors():
                played = run_tasks(tasks, folder / "tasks", engine=where, **options)
        results: dict[str, dict[str, list[Any]]] = {}
        for (problem, agent, _), run in zip(keys, played, strict=True):
            results.setdefault(problem, {}).setdefault(agent, []).append(run)
        returns = {
            problem: {agent: [run.returns.tolist() for run in own] for agent, own in rows.items()}
            for problem, rows in results.items()
        }
        text = json_text(returns)
        if as_json:
            print(text)
        else:
            print_table(control_table(results))
        drifts = {name: CONTROL_PROBLEMS[name].drift for name in chosen}
        jumps = {name: drift.changes(lengths[name]) if drift else () for name, drift in drifts.items()}
        write_page(text, lambda: control_page(results, jumps))
