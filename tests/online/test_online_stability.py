"""Long runs: nothing grows, and the gram stays positive definite."""

import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftwise.online import Bandit
from driftwise.parts import Glr
from tests.online.streams import BANDITS, KNOWN

DIM = 3
KINDS: dict[str, dict[str, Any]] = {
    "d_lin_ucb": dict(rate=0.99, noise_scale=0.1),
    "lin_ucb": dict(noise_scale=0.1),
    "sw_lin_ucb": dict(length=100, noise_scale=0.1),
    "restart_lin_ucb": dict(period=100, noise_scale=0.1),
}


def play(bandit: Bandit, num_rounds: int, arms: np.ndarray) -> None:
    """Hard rounds: all arms in one plane, and every third decision never has its reward."""
    for t in range(num_rounds):
        decision = bandit.decide(arms[t % len(arms)])
        if t % 3:
            bandit.learn(decision.id, 0.1 * (t % 11) - decision.arm)


def sets_in_a_plane() -> np.ndarray:
    arms = np.random.default_rng(0).normal(size=(100, 4, DIM))
    arms[..., 2] = arms[..., 0]
    return arms / np.linalg.norm(arms, axis=-1, keepdims=True)


def grown(bandit: Bandit, num_rounds: int) -> int:
    """Bytes that so many rounds have left behind, after as many to settle in."""
    arms = sets_in_a_plane()
    settle = min(num_rounds, 2000)
    play(bandit, settle, arms)
    tracemalloc.start()
    try:
        play(bandit, settle, arms)
        before, _ = tracemalloc.get_traced_memory()
        play(bandit, num_rounds, arms)
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def resident_bytes() -> int:
    """Return the bytes that the process holds now."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


LED_BY_PLANS: dict[str, dict[str, Any]] = {
    "d_lin_ts": dict(rate=0.99, scale=0.1),
    "change_detection": dict(base=dict(algorithm="lin_ucb", noise_scale=0.1), detector=Glr(noise_scale=0.5)),
    **{name: KNOWN[name] for name in ("borl", "master") if name in BANDITS},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "num_rounds"),
    [(name, num) for name in KINDS for num in (5_000, 1_000_000)] + [(name, 10_000) for name in LED_BY_PLANS],
)
def test_nothing_grows_and_the_gram_stays_sound(name, num_rounds):
    bandit = Bandit(name, dim=DIM, max_pending=50, **(KINDS | LED_BY_PLANS)[name])
    assert grown(bandit, num_rounds) < (20_000 if name in KINDS else 100_000)
    summary = bandit.summary()
    assert summary.pending <= 50
    assert 1 <= summary.condition < 1e12
    assert np.isfinite([summary.effective_samples, summary.recent_error, summary.drift]).all()
    if name in KINDS:
        gram = bandit.state.gram[0]
        assert np.array_equal(gram, gram.T)
        assert np.linalg.eigvalsh(gram)[0] > 0.99  # the ridge is 1, and nothing points out of the plane


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_ten_million_rounds():
    bandit, arms = Bandit("d_lin_ucb", dim=DIM, rate=0.99, noise_scale=0.1, max_pending=50), sets_in_a_plane()
    play(bandit, 1_000_000, arms)
    blocks, resident = sys.getallocatedblocks(), resident_bytes()
    play(bandit, 9_000_000, arms)
    assert sys.getallocatedblocks() - blocks < 1000  # a ten-thousandth of one for each round
    assert resident_bytes() - resident < 4e6  # half a byte for each round
    gram = bandit.state.gram[0]
    assert np.linalg.eigvalsh(gram)[0] > 0.99
    assert bandit.summary().effective_samples == pytest.approx(199, rel=1e-3)
