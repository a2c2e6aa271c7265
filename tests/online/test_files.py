"""Agents as files and copies: what was saved goes on as if it had never stopped, one program at a time."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from driftwise.base.files import HOST, fcntl, read_stamp, replace_file, replace_unchanged
from driftwise.online import Bandit, EpisodicAgent, agent_files, load
from driftwise.online.features import Custom
from tests.online.streams import BANDITS, COPIES, bits, lead, make, numbered

FIRST, SECOND = 25, 30  # rounds before and after the stop: blocks end and instances begin in both


def started(name: str = "d_lin_ucb", **options: Any) -> Bandit:
    bandit = make(name, **options)
    lead(bandit, FIRST, seed=1)
    return bandit


@pytest.mark.parametrize("name", BANDITS)
def test_stopped_saved_and_loaded_equals_never_stopped(name, tmp_path):
    stopped, never = started(name), started(name)
    stopped.save(tmp_path / "agent.safetensors")
    restored = load(tmp_path / "agent.safetensors")
    assert restored.agent == never.agent
    assert (summary := restored.summary()) == never.summary()
    assert summary.rewards + summary.pending == FIRST == summary.decisions
    assert 0 <= summary.effective_samples <= summary.rewards
    assert 1 <= summary.condition < np.inf
    assert np.isfinite([summary.recent_error, summary.recent_bonus, summary.drift]).all()
    waiting = [number for number in (21, 23, 24) if number % 7]
    for number in waiting:  # rewards of decisions made before
        for bandit in (restored, never):
            bandit.learn(number, 0.25)
    assert lead(restored, SECOND, seed=2) == lead(never, SECOND, seed=2)
    assert bits(restored.state) == bits(never.state)
    assert restored.summary() == never.summary()


def test_a_file_names_what_it_holds_and_can_be_saved_again(tmp_path):
    bandit = started("d_lin_ucb", max_pending=7, expire_after=9)
    first, second = tmp_path / "first.safetensors", tmp_path / "second.safetensors"
    bandit.save(first)
    load(first).save(second)
    metadata = metadata_of(first)
    assert metadata == metadata_of(second)  # the checksum too
    described = json.loads(metadata["description"])
    assert (metadata["product"], metadata["format"]) == ("driftwise.online", "4")
    assert (described["algorithm"], described["seed"]) == ("d_lin_ucb", 3)
    assert (described["max_pending"], described["expire_after"]) == (7, 9)
    assert described["agent"]["forgetting"] == {"type": "ExponentialWeights", "rate": 0.9}
    assert [*tmp_path.glob(".*")] == []


def metadata_of(path: Path) -> dict[str, str]:
    with safe_open(path, framework="np") as file:
        return file.metadata()


def test_a_file_that_is_not_there_is_the_systems_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "agent.safetensors")


def test_a_save_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "agent.safetensors"
    bandit = started()
    bandit.save(path)
    before = path.read_bytes()
    bandit.learn(bandit.decide(np.eye(3)).id, 0.5)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        bandit.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


SAVER = """
import os, pathlib, signal, sys
import numpy as np
from driftwise.online import Bandit, load, agent_files

path, when = sys.argv[1:]
bandit = load(path)
bandit.learn(bandit.decide(np.eye(3)).id, 0.5)
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
replace, opened = os.replace, pathlib.Path.open


class Half:
    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, content):
        self.file.write(content[: len(content) // 2])
        self.file.flush()
        die()


if when == "in the middle of writing":
    pathlib.Path.open = lambda *given, **named: (Half if "wb" in given else lambda file: file)(
        opened(*given, **named)
    )
elif when == "before it is on the disk":
    os.fsync = die
elif when == "before it takes the place of the old":
    os.replace = die
elif when == "right after that":
    os.replace = lambda *paths: die(replace(*paths))
bandit.save(path)
"""
MOMENTS = {  # and how many rewards the file knows of afterwards
    "in the middle of writing": 0,
    "before it is on the disk": 0,
    "before it takes the place of the old": 0,
    "right after that": 1,
}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("when", MOMENTS)
def test_a_kill_while_saving_leaves_the_old_file_or_the_new_one(when, tmp_path):
    path = tmp_path / "agent.safetensors"
    make().save(path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, "-c", SAVER, str(path), when], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert load(path).summary().rewards == MOMENTS[when]
    assert (path.read_bytes() == before) == (MOMENTS[when] == 0)


@pytest.mark.skipif(os.name != "posix", reason="needs links and modes")
def test_a_link_stays_a_link_and_a_mode_what_it_was(tmp_path):
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "agent.safetensors", tmp_path / "agent.safetensors"
    make().save(file)
    file.chmod(0o600)
    link.symlink_to(file)
    bandit = started()
    bandit.save(link)
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o600
    assert load(file).summary() == bandit.summary()


def test_of_two_saves_at_once_the_newer_stays(tmp_path, monkeypatch):
    path, bandit, write = tmp_path / "agent.safetensors", started(), agent_files.write_agent_file
    writing, learnt = threading.Event(), threading.Event()

    def slow_at_first(*given: Any) -> Any:
        if not writing.is_set():
            writing.set()
            learnt.wait(0.3)  # the other one would be done by then if it could
        return write(*given)

    monkeypatch.setattr(agent_files, "write_agent_file", slow_at_first)
    first = threading.Thread(target=bandit.save, args=(path,))
    first.start()
    writing.wait()
    bandit.learn(bandit.decide(np.eye(3)).id, 0.5)  # nobody waits for the disk
    bandit.save(path)
    learnt.set()
    first.join()
    assert load(path).summary() == bandit.summary()


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {}) for name in ("d_lin_ucb", "adaptive_lin_ucb", "sw_lin_ucb", "d_lin_ts")),
        ("lin_ts", dict(epsilon=0.1, num_draws=4)),
    ],
)
def test_a_copy_goes_on_as_its_original_and_apart_from_it(name, options, how, tmp_path):
    original = make(name, metadata={"made": "here"}, **options)
    lead(original, 20, seed=1)
    copied = COPIES[how](original, tmp_path)
    assert (copied.summary(), copied.pending()) == (original.summary(), original.pending())
    assert copied.metadata == {"made": "here"}
    before = bits(original.state)
    decisions = lead(copied, 20, seed=2)
    assert bits(original.state) == before
    assert decisions == lead(original, 20, seed=2)
    assert bits(copied.state) == bits(original.state)
    assert copied.decide(np.eye(3)).id != original.decide(np.eye(3)).id


def rows(state: float) -> np.ndarray:
    return np.array([[state, 0.0], [0.0, state]])


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
@pytest.mark.parametrize("features", [np.eye(4).reshape(2, 2, 4) / 2, Custom(rows, 2, 2)])
def test_an_episodic_agent_is_copied_in_the_middle_of_an_episode(features, how, tmp_path):
    agent = EpisodicAgent("opt_wlsvi", features=features, horizon=3, rate=0.9, radius=1.0)
    agent.begin(1)
    agent.act()
    copied = COPIES[how](agent, tmp_path)
    for each in (agent, copied):
        each.observe(0.5, 0)
        each.end()
        each.begin(0)
    assert agent.act() == copied.act()
    assert agent.summary() == copied.summary()


def test_bytes_of_something_else_are_refused_in_a_sentence():
    agent = EpisodicAgent("lsvi_ucb", features=np.eye(4).reshape(2, 2, 4), horizon=3, radius=1.0)
    assert EpisodicAgent.from_bytes(agent.to_bytes()).summary() == agent.summary()
    with pytest.raises(ValueError, match=r"^content must be of a Bandit, got one of an EpisodicAgent$"):
        Bandit.from_bytes(agent.to_bytes())
    with pytest.raises(ValueError, match=r"^content must be an agent's, and whole, got \d+ bytes: it is"):
        Bandit.from_bytes(make().to_bytes()[:-1])
    with pytest.raises(ValueError, match=r"^content must be bytes, got a str$"):
        Bandit.from_bytes("agent")  # pyright: ignore[reportArgumentType]


def test_of_two_agents_with_one_file_the_second_to_save_is_told(tmp_path):
    path, other = tmp_path / "agent.safetensors", tmp_path / "other.safetensors"
    make().save(path)
    first, second = load(path), load(path)
    for each in (first, second):
        each.learn(each.decide(np.eye(3)).id, 0.5)
    first.save(path)
    first.save(path)  # its own file
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="has been replaced by somebody else since it was loaded"):
        second.save(path)
    assert path.read_bytes() == before
    second.save(other)
    path.unlink()
    first.save(path)  # nothing is lost


@pytest.mark.skipif(fcntl is None, reason="needs locks of POSIX")
def test_while_somebody_else_saves_a_file_nobody_else_does(tmp_path):
    path, bandit = tmp_path / "agent.safetensors", make()
    bandit.save(path)
    before = path.read_bytes()
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        numbered(bandit, np.eye(3))
        with pytest.raises(FileExistsError, match="is being saved by somebody else: two agents need"):
            bandit.save(path)
        assert load(path).summary().decisions == 0
    assert path.read_bytes() == before
    bandit.save(path)


@pytest.mark.skipif(fcntl is None, reason="needs locks of POSIX")
def test_a_file_replaced_just_before_it_is_locked_is_not_overwritten(tmp_path, monkeypatch):
    path, lock = tmp_path / "agent.safetensors", fcntl.flock
    path.write_bytes(b"old")

    def replace_and_lock(file, operation: int) -> None:
        if operation & fcntl.LOCK_EX:
            replace_file(path, b"somebody else's")
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", replace_and_lock)
    with pytest.raises(FileExistsError, match="has been replaced by somebody else since it was loaded"):
        replace_unchanged(path, b"new", seen=read_stamp(path))
    assert path.read_bytes() == b"somebody else's"


def test_what_a_killed_process_left_half_written_is_gone_after_the_next_save(tmp_path):
    path, bandit = tmp_path / "agent.safetensors", make()
    with subprocess.Popen([sys.executable, "-c", "pass"]) as ended:
        pass
    orphan = tmp_path / f".{path.name}.1f.{HOST}.{ended.pid}.part"
    alive = tmp_path / f".{path.name}.1f.{HOST}.{os.getppid()}.part"
    of_another = tmp_path / f".another.safetensors.1f.{HOST}.{ended.pid}.part"
    for each in (orphan, alive, of_another):
        each.touch()
    bandit.save(path)
    assert {*tmp_path.iterdir()} == {path, alive, of_another}
