"""A disk that is full: a clear sentence each time, nothing lost, and in the end the same bytes."""

import os
import shutil
import subprocess
import sys

import pytest

from driftwise.__main__ import main

FILE = """
name = "small"
summary = "A small experiment"
episodes = 40
runs = 3

[environment]
type = "combination_lock"
horizon = 3
drift = { type = "Abrupt", at = ["50%"] }

[agents.forgets]
algorithm = "opt_wlsvi"
rate = 0.9
radius = 0.4
"""
SIZES = ("4k", "40k", "90k", "50m")  # too small to begin, to keep the run, to write the figure; and enough
SCRIPT = """
mkdir disk && mount -t tmpfs -o size=4k tmpfs disk || exit 99
for size in $SIZES; do
  mount -o remount,size=$size disk
  "$PYTHON" -m driftwise run small.toml --quiet --out disk/out >"out.$size" 2>"err.$size"
  echo "$size $? $(ls disk/out 2>/dev/null | tr '\\n' ' ')" >> codes
done
cp disk/out/results.parquet from_disk.parquet
"""


@pytest.mark.slow
def test_a_full_disk_is_told_and_the_same_command_goes_on(tmp_path, monkeypatch):
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True).returncode:
        pytest.skip("a disk of a few kilobytes needs `unshare -rm`, which this machine does not allow")
    (tmp_path / "small.toml").write_text(FILE)
    environment = {**os.environ, "PYTHON": sys.executable, "SIZES": " ".join(SIZES)}
    shell = [unshare, "-rm", "sh", "-c", SCRIPT]
    done = subprocess.run(shell, cwd=tmp_path, env=environment, capture_output=True, text=True)
    if done.returncode == 99:
        pytest.skip(f"a disk of a few kilobytes cannot be mounted here: {done.stderr.strip()}")
    lines = [line.split() for line in (tmp_path / "codes").read_text().splitlines()]
    assert [line[1] for line in lines] == ["2", "2", "2", "0"]
    for size, _, *found in lines[:-1]:
        said = (tmp_path / f"err.{size}").read_text().splitlines()
        assert said[-1:] == [
            "driftwise: error: --out must be a folder that can be written, got 'disk/out': "
            "No space left on device"
        ]
        assert len(said) == 1
        assert ("manifest.json" in found) == (size == SIZES[2])  # the seal of a run, which needs no figure
    monkeypatch.chdir(tmp_path)
    assert main(["run", "small.toml", "--quiet", "--out", "elsewhere"]) == 0
    undisturbed = (tmp_path / "elsewhere" / "results.parquet").read_bytes()
    assert (tmp_path / "from_disk.parquet").read_bytes() == undisturbed
