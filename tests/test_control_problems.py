"""Control problems as tasks: they can be stopped, and a command plays them and writes a page."""

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from driftwise.__main__ import main
from driftwise.environments.drift import Abrupt
from driftwise.gym import READY_DRIFTS, make_drifting
from driftwise.gym.control_problems import CONTROL_PROBLEMS, ControlTask


@pytest.mark.parametrize("problem", ["mountain_car", "cart_pole_reversed"])
def test_a_stopped_run_goes_on_as_if_it_had_not_been(problem: str):
    task = ControlTask("adaptive", problem, seed=3, num_episodes=4)
    whole, first = task.begin(), task.begin()
    while not whole.finished:
        whole.advance()
    first.advance()
    second = task.begin()
    second.restore(first.checkpoint())
    second.advance(60.0)
    np.testing.assert_array_equal(second.result().returns, whole.result().returns)
    assert (first.done, second.done) == (1, 4)


def test_a_checkpoint_of_other_episodes_is_refused():
    work = ControlTask("adaptive", "cart_pole", seed=0, num_episodes=3).begin()
    work.advance()
    checkpoint = work.checkpoint()
    with pytest.raises(ValueError, match="returns must be of the 2 episodes that were played"):
        work.restore({**checkpoint, "done": np.asarray(2)})


@pytest.mark.parametrize("id", [id for id in READY_DRIFTS if id != "LunarLander-v3"])  # which needs Box2D
def test_ready_drifts_change_what_happens(id: str):
    for name, ready in READY_DRIFTS[id].items():
        options = {"is_slippery": True} if id == "FrozenLake-v1" else {}
        env = make_drifting(id, name, Abrupt((1,), num_anchors=2), **options)
        ends, action = [], env.action_space
        for episode in range(2):
            env.reset(seed=0, options={"episode": episode})
            action.seed(0)
            ends.append([env.step(action.sample())[0] for _ in range(4)])
        assert [env.reset(seed=0, options={"episode": t})[1]["parameter"] for t in range(2)] == [
            *ready.values
        ]
        if id != "FrozenLake-v1":  # where chance may give the same states
            assert not np.allclose(*ends), name


def test_problems_can_be_made():
    for problem in CONTROL_PROBLEMS.values():
        assert isinstance(problem.make(), gymnasium.Env)


def test_the_command_writes_a_page_and_plays_nothing_twice(tmp_path: Path, capsys: pytest.CaptureFixture):
    words = ["control", "--problems", "mountain_car", "--agents", "adaptive", "--episodes", "4"]
    words += ["--runs", "1", "--out", str(tmp_path), "--workers", "1"]
    assert main([*words]) == 0
    assert "mountain_car  adaptive" in capsys.readouterr().out
    assert "Control problems" in (tmp_path / "control.html").read_text()
    content = json.loads((tmp_path / "control.json").read_text())
    assert len(content["mountain_car"]["adaptive"][0]) == 4
    checkpoints = {path: path.stat().st_mtime_ns for path in (tmp_path / "tasks").iterdir()}
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == content
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "tasks").iterdir()} == checkpoints
