"""An online bandit for every algorithm that can be one, and a stream of rounds for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from driftwise.online import Bandit, Decision
from tests.examples import BANDIT, BANDIT_PARAMETERS, PARAMETERS

KNOWN: dict[str, dict[str, Any]] = {**PARAMETERS, **BANDIT_PARAMETERS}


def make(name: str = "d_lin_ucb", **options: Any) -> Bandit:
    """The online bandit of an algorithm; some algorithms for MDPs are bandits too."""
    return Bandit(name, dim=BANDIT.dim, **{"seed": 3, **KNOWN[name], **options})


def _can_be_one(name: str) -> bool:
    try:
        make(name)
    except ValueError as error:
        if name in BANDIT_PARAMETERS or not str(error).startswith("algorithm must"):
            raise
        return False
    return True


BANDITS = [name for name in KNOWN if _can_be_one(name)]


def rounds(num: int, seed: int) -> Iterator[tuple[np.ndarray, float]]:
    """Decision sets of one to four arms, and a reward for whatever is chosen."""
    rng = np.random.default_rng(seed)
    for _ in range(num):
        arms = np.abs(rng.normal(size=(rng.integers(1, 5), BANDIT.dim)))
        yield arms / np.linalg.norm(arms, axis=1, keepdims=True), float(rng.uniform())


def numbered(bandit: Bandit, arms: Any) -> Decision:
    """A decision whose id, and time, is its number."""
    number = bandit._pending.num_made
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
    return [None if state is None else state.tobytes()]
