"""An online bandit for every algorithm that can be one, and a stream of rounds for it."""

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.online import Bandit, Decision, load
from tests.examples import BANDIT, BANDIT_PARAMETERS, PARAMETERS

KNOWN: dict[str, dict[str, Any]] = {**PARAMETERS, **BANDIT_PARAMETERS}


def make(name: str = "d_lin_ucb", **options: Any) -> Bandit:
    """The online bandit of an algorithm; some algorithms for MDPs are bandits too."""
    return Bandit(name, dim=BANDIT.dim, **{"seed": 3, **KNOWN[name], **options})


COPIES: dict[str, Callable[[Any, Path], Any]] = {  # of an agent, by a folder for files
    "bytes": lambda agent, _: type(agent).from_bytes(agent.to_bytes()),
    "pickle": lambda agent, _: pickle.loads(pickle.dumps(agent)),
    "deepcopy": lambda agent, _: copy.deepcopy(agent),
    "file": lambda agent, folder: agent.save(folder / "agent") or load(folder / "agent"),
}


def _can_be_one(name: str) -> bool:
    try:
        make(name)
    except ValueError as error:
        if name in BANDIT_PARAMETERS or not str(error).startswith("algorithm must"):
            raise
        return False
    return True


BANDITS = [name for name in KNOWN if _can_be_one(name)]


def run_together(*threads: threading.Thread) -> None:
    """Start all threads, and wait until they have ended."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def rounds(num: int, seed: int) -> Iterator[tuple[np.ndarray, float]]:
    """Decision sets of one to four arms, and a reward for whatever is chosen."""
    rng = np.random.default_rng(seed)
    for _ in range(num):
        arms = np.abs(rng.normal(size=(rng.integers(1, 5), BANDIT.dim)))
        yield arms / np.linalg.norm(arms, axis=1, keepdims=True), float(rng.uniform())


def numbered(bandit: Bandit, arms: Any) -> Decision:
    """A decision whose id, and time, is its number."""
    number = bandit._pending.num_decisions
    return bandit.decide(arms, id=number, time=number)


def lead(bandit: Bandit, num: int, seed: int) -> list[Decision]:
    """Decisions of a stream in which rewards come two decisions late, every seventh never."""
    late: list[tuple[int, float]] = []
    decisions = []
    for arms, reward in rounds(num, seed):
        decisions.append(numbered(bandit, arms))
        late.append((int(decisions[-1].id), reward))
        number, earned = late[0]
        if len(late) > 2:
            late.pop(0)
            if number % 7:
                bandit.learn(number, earned)
    return decisions


def bits(state: Any) -> list[bytes | None]:
    """All leaves of a state, exactly."""
    if isinstance(state, tuple):
        return [leaf for each in state for leaf in bits(each)]
    return [None if state is None else np.asarray(state).tobytes()]
