"""Tasks that play on only when a test lets them, so that no test has to guess how long things take."""

import contextlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.simulation import checkpoints
from driftwise.simulation.tasks import CHUNK, Task
from tests.examples import NUM_RUNS, agent, make

CHUNKS = 4  # of a task behind a gate
LISTENING = "0A"  # the state of a socket, in the kernel's tables


@dataclass(frozen=True)
class Gate(dw.drift.Drift):
    """No drift, but checkpoints after whatever is played at once, and a third chunk needs a file.

    It has the anchors that the example drift has, so that the compiled program is the same.
    """

    path: str
    waits: str  # a file that says that someone stands at it

    num_anchors = 2

    def __setstate__(self, state: dict[str, str]) -> None:
        """A process that is handed the task writes all checkpoints, from the first on."""
        vars(self).update(state)
        checkpoints._SECONDS_BETWEEN, checkpoints._TIME_SHARE = 0.0, 1e9

    def mixture(self, episodes: np.ndarray) -> np.ndarray:
        while episodes[0] >= 2 * CHUNK and not Path(self.path).exists():
            Path(self.waits).touch()
            time.sleep(0.02)
        return np.tile([1.0, 0.0], (len(episodes), 1))


def gated_task(gate: Path, *, seed: int = 0) -> Task:
    """A task that stands at `2 * CHUNK` episodes, which its checkpoint has, until there is a file `gate`."""
    environment = make(drift=Gate(str(gate), f"{gate}-{seed}"))
    return Task(
        agent("opt_wlsvi"),
        environment,
        num_episodes=CHUNKS * CHUNK,
        num_runs=NUM_RUNS,
        seed=seed,
        record_every=CHUNK,
    )


def stands_at_the_gate(task: Task, folder: Path) -> bool:
    """Whether a task has begun to wait, and its checkpoint has all that can be played without the file."""
    path = folder / checkpoints.checkpoint_name(task)
    drift: Any = vars(task.environment)["drift"]
    waits = Path(drift.waits)  # a signal that came before would stop it at the checkpoint
    return waits.exists() and path.exists() and int(np.load(path)["done"]) == 2 * CHUNK


def contents(folder: Path) -> dict[str, dict[str, bytes]]:
    """Every array of every checkpoint, without the time that was spent on it."""
    return {
        path.name: {
            name: value.tobytes()
            for name, value in np.load(path).items()
            if name not in ("seconds", "sha256")
        }
        for path in sorted(folder.iterdir())
    }


def processes_with(variable: str) -> list[int]:
    """Processes that have `NAME=value` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if variable.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def listened_on(processes: list[int]) -> list[IPv4Address | IPv6Address]:
    """Addresses of the TCP sockets on which processes wait for connections."""
    own = set()
    for process in processes:
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):  # it was closed meanwhile
                own.add(os.readlink(descriptor))
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for row in Path(table).read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = row.split()[:10]
            if state == LISTENING and f"socket:[{inode}]" in own:
                words = [int(local[i : i + 8], 16) for i in range(0, len(local.partition(":")[0]), 8)]
                address = ip_address(b"".join(word.to_bytes(4, sys.byteorder) for word in words))
                mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
                found.append(mapped or address)
    return found


def wait_until(happened: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait for something that happens within seconds, or on a busy machine within minutes."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"
)
