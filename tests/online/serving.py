"""The service of examples/service on a free port of this machine, to be asked and to be killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "service"
SAVE_EVERY = "0.01"  # seconds, so that kills meet a save
FORKS = """
import os, socket, sys
import service, uvicorn

for folder in sys.stdin:
    child = os.fork()
    if child:
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    try:
        os.environ["FOLDER"] = folder.strip()
        app, port = service.make_app(), socket.socket(proto=socket.IPPROTO_TCP)  # else answers are delayed
        port.bind(("127.0.0.1", 0))
        port.listen()
        print(os.getpid(), port.getsockname()[1], flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_keep_alive=600)).run(sockets=[port])
    finally:
        sys.stdout.flush()
        os._exit(0)
"""


class Served:
    """A service under way."""

    def __init__(self, pid: int, port: int) -> None:
        self._pid, self.port, self.ended = pid, port, False

    def end(self, number: signal.Signals) -> None:
        """Send the one signal that ends it."""
        os.kill(self._pid, number)
        self.ended = True

    def connect(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=60)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        with closing(self.connect()) as connection:
            return post(connection, path, json.dumps(body))

    def get(self, path: str) -> tuple[int, str]:
        with closing(self.connect()) as connection:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()


def post(connection: HTTPConnection, path: str, body: str | bytes) -> tuple[int, Any]:
    """The status and the content of an answer."""
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, json.loads(response.read())


class Starter:
    """Starts the service by forks of one process that has imported it, one at a time."""

    def __init__(self) -> None:
        paths = os.pathsep.join([str(FOLDER), *sys.path])
        environment = os.environ | {"PYTHONPATH": paths, "SAVE_EVERY": SAVE_EVERY}
        command, pipe = [sys.executable, "-c", FORKS], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def _read(self) -> list[int]:
        assert self._process.stdout is not None
        return [*map(int, self._process.stdout.readline().split())]

    @contextmanager
    def serve(self, folder: Path) -> Iterator[Served]:
        """The service of a folder, which is asked to end if it was not killed before."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{folder}\n")
        self._process.stdin.flush()
        served = Served(*self._read())
        try:
            yield served
        finally:
            if not served.ended:
                served.end(signal.SIGTERM)
            self._read()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
