"""Copies of agents: bytes, pickles and files, and what is said where two agents have one file."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from driftwise.base.files import HOST, fcntl
from driftwise.online import Bandit, EpisodicAgent, load
from driftwise.online.features import Custom
from tests.online.streams import COPIES, bits, lead, make, numbered


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
