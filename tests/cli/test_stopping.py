"""Signals: the first stops a run in good order, the second at once; one goes on where there is something."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from driftwise.__main__ import main
from driftwise.cli.app import Stopped
from driftwise.cli.run import STOPPING, hold_signals
from driftwise.simulation.simulator import Simulation
from tests.experiments.test_full_disk import FILE

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", SIGNALS)
def test_the_first_signal_is_answered_and_waits_for_a_look_the_second_does_not(number, capsys):
    before = [signal.getsignal(each) for each in SIGNALS]
    with pytest.raises(Stopped) as stopped, hold_signals(lambda: True) as look:  # noqa: PT012
        look()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Stopped):
            look()
        signal.raise_signal(number)
        pytest.fail("it did not stop")
    assert stopped.value.code == 128 + number
    assert str(stopped.value) == "interrupted: the same command goes on from here"
    assert capsys.readouterr().err == f"{STOPPING}\n"
    assert [signal.getsignal(each) for each in SIGNALS] == before
    assert signal.set_wakeup_fd(-1) == -1


DEAF = """
import hashlib, os, signal, sys, threading
from driftwise.cli.run import hold_signals

with hold_signals(lambda: sys.argv[1] == "goes on"):
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**8)  # a minute of compiled code, which hears no signal
"""


@pytest.mark.parametrize(("second", "can_resume"), [(signal.SIGINT, "goes on"), (signal.SIGTERM, "does not")])
def test_a_second_signal_ends_a_process_that_is_deaf_in_compiled_code(second, can_resume):
    command = [sys.executable, "-c", DEAF, can_resume]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == f"{STOPPING}\n"
        process.send_signal(second)
        said = process.stderr.read()
    assert process.returncode == 128 + second
    hint = ": the same command goes on from here" if can_resume == "goes on" else ""
    assert said == f"driftwise: interrupted{hint}\n"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_stopped_run_keeps_what_it_played_and_resumes_to_same_bytes(number, tmp_path, capsys, monkeypatch):
    (tmp_path / "small.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    command = ["run", "small.toml", "--quiet", "--out"]
    advance = Simulation.advance

    def interrupted(self: Simulation, seconds: float | None = None) -> None:
        advance(self, seconds)
        signal.raise_signal(number)

    with monkeypatch.context() as impatient:
        impatient.setattr(Simulation, "advance", interrupted)
        assert main([*command, "out"]) == 128 + number
    said = capsys.readouterr().err.splitlines()
    assert said == [STOPPING, "driftwise: interrupted: the same command goes on from here"]
    (kept,) = Path("out/tasks").iterdir()
    assert 0 < int(np.load(kept)["done"]) < 40
    for out in ("out", "whole"):
        assert main([*command, out]) == 0
    assert Path("out/results.parquet").read_bytes() == Path("whole/results.parquet").read_bytes()
