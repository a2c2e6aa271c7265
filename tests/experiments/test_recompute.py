"""Code that changed between two halves of a run is never mixed: it is refused, or all is computed again."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from driftwise.__main__ import main
from driftwise.base.provenance import provenance
from driftwise.simulation import simulator
from driftwise.simulation.simulator import Simulation
from tests.experiments.test_full_disk import FILE

COMMAND = ["run", "small.toml", "--quiet", "--out", "out"]


def other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    changed: dict[str, Any] = {**provenance(), "sources": {"driftwise": "another"}}
    monkeypatch.setattr(simulator, "provenance", lambda: changed)


@pytest.mark.parametrize("finished", [False, True])
def test_other_code_is_refused_in_one_line_and_recomputes_on_request(finished, tmp_path, capsys, monkeypatch):
    (tmp_path / "small.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    advance = Simulation.advance

    def interrupted(self: Simulation, seconds: float | None = None) -> None:
        advance(self, seconds)
        signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as stopped:
        if not finished:
            stopped.setattr(Simulation, "advance", interrupted)
        assert main(COMMAND) == (0 if finished else 128 + signal.SIGTERM)
    (kept,) = Path("out/tasks").iterdir()
    before = kept.read_bytes()
    other_code(monkeypatch)
    capsys.readouterr()
    assert main(COMMAND) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"driftwise: error: {kept} was computed by other code (driftwise): bring that")
    assert "--recompute" in said
    assert said.index("\n") == len(said) - 1
    assert kept.read_bytes() == before
    assert main([*COMMAND, "--recompute"]) == 0
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["sources"] == {"driftwise": "another"}  # and nothing of the old
    assert {"cpu", "cpus"} <= {*manifest["host"]}
    assert isinstance(manifest["xla_flags"], str)
    assert main(["report", "out", "--format", "csv"]) == 0
    assert main([*COMMAND, "--recompute"]) == 0  # nothing is left to do again


def test_a_report_reads_what_other_code_computed(tmp_path, monkeypatch):
    (tmp_path / "small.toml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    assert main(COMMAND) == 0
    other_code(monkeypatch)
    assert main(["report", "out", "--format", "csv"]) == 0
