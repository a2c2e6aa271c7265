"""Cost of a request to the reference service, against an empty FastAPI handler.

    python -m benchmarks.service

One client asks both in turns, within one run and over one connection each. Between the two stands a commit of
SQLite alone, to the same disk and with the same wait for it: what no service that keeps its word can save.
Then many clients at once ask for decisions, which are written together. All ends after as many requests as
there are rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

EXAMPLE = Path(__file__).parent.parent / "examples" / "service"
TURN = 25  # requests of one kind before it is the next one's turn
BATCH = 100
CLIENTS = 16
LIMIT = 6  # times an empty handler, for the median of a decision less that of a commit


def empty_app() -> Any:
    """An application that does nothing."""
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/decide")
    async def decide() -> dict[str, Any]:
        return {}

    return app


@contextmanager
def served(factory: str, folder: Path) -> Iterator[int]:
    """The port at which an application is served."""
    command = [sys.executable, "-m", "uvicorn", "--factory", factory, "--port", "0", "--no-access-log"]
    command += ["--timeout-keep-alive", "600"]  # a connection waits for its turn
    environment = os.environ | {
        "FOLDER": str(folder),
        "PYTHONPATH": os.pathsep.join([str(EXAMPLE), *sys.path]),
    }
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if "running on" in line:
                    break
            else:
                raise RuntimeError(f"{factory} does not start")
            yield int(line.split("127.0.0.1:")[1].split()[0])
        finally:
            process.terminate()
            process.communicate()


class Client:
    """One connection, and what it asks for."""

    def __init__(self, port: int, name: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        self._rng, self._name, self._numbers, self._asked = random.Random(name), name, count(), 0

    def close(self) -> None:
        self._connection.close()

    def offer(self) -> dict[str, Any]:
        arms = [[self._rng.uniform(-0.3, 0.3) for _ in range(9)] for _ in range(3)]
        return {"id": f"{self._name} {next(self._numbers)}", "arms": arms}

    def reward(self) -> dict[str, Any]:
        """Of the oldest decision that has none."""
        self._asked += 1
        return {"id": f"{self._name} {self._asked - 1}", "reward": self._rng.random()}

    def post(self, path: str, body: Any) -> float:
        """Seconds until there is an answer, which has to be right."""
        content = json.dumps(body)
        started = time.perf_counter()
        self._connection.request("POST", path, content, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        answer = response.read()
        taken = time.perf_counter() - started
        if response.status != 200 or b"unknown" in answer:
            raise RuntimeError(answer.decode())
        return taken


def commits(folder: Path) -> Callable[[], float]:
    """A call that commits one row, and takes as many seconds as it says."""
    log = sqlite3.connect(folder / "alone.sqlite")
    log.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE rows (line TEXT)")

    def commit() -> float:
        started = time.perf_counter()
        with log:
            log.execute("INSERT INTO rows VALUES (?)", ("x" * 700,))
        return time.perf_counter() - started

    return commit


def measured(calls: dict[str, Callable[[], float]], rounds: int) -> dict[str, np.ndarray]:
    """Milliseconds of calls, which take turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(-(-rounds // TURN)):
        for name, call in calls.items():
            times[name] += [1e3 * call() for _ in range(TURN)]
    return {name: np.array(taken) for name, taken in times.items()}


def per_second(port: int, rounds: int) -> float:
    """Decisions in a second that clients at once are given."""

    def ask(number: int) -> None:
        with closing(Client(port, f"at once {number}")) as client:
            for _ in range(-(-rounds // CLIENTS)):
                client.post("/decide", client.offer())

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rounds / (time.perf_counter() - started)


def main() -> int:
    parser = argparse.ArgumentParser(description="Cost of a request to the reference service.")
    parser.add_argument("--rounds", type=int, default=1000, help="requests of each kind")
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        empty_port = stack.enter_context(served("benchmarks.service:empty_app", folder))
        port = stack.enter_context(served("service:make_app", folder))
        empty, client, many = (
            stack.enter_context(closing(Client(*each)))
            for each in ((empty_port, "one"), (port, "one"), (port, "many"))
        )
        calls = {
            "empty handler": lambda: empty.post("/decide", empty.offer()),
            "a commit of SQLite alone": commits(folder),
            "decide": lambda: client.post("/decide", client.offer()),
            "learn": lambda: client.post("/learn", client.reward()),
            f"decide, one of a list of {BATCH}": lambda: (
                many.post("/decide", [many.offer() for _ in range(BATCH)]) / BATCH
            ),
        }
        found = measured(calls, options.rounds)
        rates = {name: per_second(each, options.rounds) for name, each in (("empty", empty_port), ("", port))}
    medians = {name: float(np.median(taken)) for name, taken in found.items()}
    print("| | median, ms | 95 % | 99 % | of an empty handler |\n|---|---|---|---|---|")
    for name, taken in found.items():
        middle, *high = np.percentile(taken, (50, 95, 99))
        shown = " | ".join(f"{each:.2f}" for each in (middle, *high))
        print(f"| {name} | {shown} | {middle / medians['empty handler']:.2f} |")
    print(
        f"\n{CLIENTS} clients at once: {rates['']:.0f} decisions a second, "
        f"{rates[''] / rates['empty']:.2f} of an empty handler's"
    )
    return int(medians["decide"] - medians["a commit of SQLite alone"] > LIMIT * medians["empty handler"])


if __name__ == "__main__":
    sys.exit(main())
