"""A service from end to end: threads, rewards that come late or never, saving, a kill, and going on."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from driftwise.online import Bandit, Outcome, load

SERVICE = """
import queue, sys, threading
from pathlib import Path

import numpy as np

from driftwise.online import Bandit, load

path, log, seed = Path(sys.argv[1]), open(sys.argv[2], "a"), int(sys.argv[3])
bandit = load(path) if path.exists() else Bandit("lin_ucb", dim=3, noise_scale=0.1, max_pending=200)
decided, lock = queue.Queue(maxsize=30), threading.Lock()


def serve(number):
    rng = np.random.default_rng([seed, number])
    while True:
        arms = rng.normal(size=(4, 3))
        decision = bandit.decide(arms)
        with lock:
            print(decision.id, *arms[decision.arm], file=log, flush=True)
        decided.put(decision.id)


for number in range(4):
    threading.Thread(target=serve, args=(number,), daemon=True).start()
waiting, learnt = [], 0
while True:
    waiting.append(decided.get())
    if len(waiting) > 20:
        id = waiting.pop(10 if learnt % 2 else 0)
        number = int(id.split("-")[1])
        if number % 7:  # else its reward never comes
            bandit.learn(id, reward=number % 10 / 10)
            learnt += 1
            if learnt % 50 == 0:
                bandit.save(path)
                print(bandit.summary().rewards, flush=True)
"""


def killed_after(saves: int, path: Path, log: Path, seed: int) -> int:
    """Run the service until it has said so often that it saved, end it, and return the rewards it named."""
    command = [sys.executable, "-c", SERVICE, str(path), str(log), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(saves)]
        process.kill()
    return int(said[-1])


def number_of(id: str) -> int:
    return int(id.split("-")[1])


def reward_of(id: str) -> float:
    return number_of(id) % 10 / 10


def logged(log: Path) -> dict[str, np.ndarray]:
    """Features of what was chosen, by the ids of decisions."""
    lines = (line.split() for line in log.read_text().splitlines())
    return {id: np.array(features, dtype=float) for id, *features in lines}


def require_sums(bandit: Bandit, learnt: dict[str, np.ndarray]) -> None:
    """What it knows is what these decisions teach."""
    features = np.array(list(learnt.values()))
    rewards = np.array([reward_of(id) for id in learnt])
    np.testing.assert_allclose(bandit.state.gram[0], np.eye(3) + features.T @ features, rtol=1e-9)
    np.testing.assert_allclose(bandit.state.cross[0, :, 0], features.T @ rewards, rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_service_that_is_killed_goes_on_with_what_it_saved(tmp_path):
    path, log = tmp_path / "agent.safetensors", tmp_path / "decisions.log"
    said = killed_after(3, path, log, seed=1)
    bandit = load(path)
    before = bandit.summary()
    assert before.rewards >= said == 150
    assert 0 < before.pending < 60 + before.decisions // 7
    assert before.expired == 0
    made = {id: features for id, features in logged(log).items() if number_of(id) < before.decisions}
    late = [id for id in made if bandit.learn(id, reward_of(id), strict=False) == Outcome.LEARNT]
    assert before.pending - 4 <= len(late) <= before.pending  # four threads may not have logged their last
    middle = bandit.summary()
    assert middle.rewards == before.rewards + len(late) == len(made)
    require_sums(bandit, made)
    bandit.save(path)

    killed_after(4, path, log, seed=2)
    again = load(path).summary()
    assert again.rewards >= middle.rewards + 200
    assert again.decisions == again.rewards + again.pending + again.expired
