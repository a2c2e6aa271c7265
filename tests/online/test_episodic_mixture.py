"""Mixtures of memories over one store of episodes: what they would be with a table of states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from driftwise.online import EpisodicAgent
from driftwise.online.episodes import RememberedMixture
from tests.examples import SPEC
from tests.online.test_episodic import assert_saving_changes_nothing, led_through
from tests.online.test_episodic_memory import FEATURES, MAP, SEEN, indices

JUMPED = [one._replace(rewards=3 + one.rewards / 9) for one in SEEN]
RANDOM: dict[str, Any] = dict(algorithm="opt_rlsvi", scale=0.3, upper=0.8, rate=(0.75, 0.9375, 1.0))


def agents(algorithm: str, *, memory: int, tolerance: float, **parameters: Any) -> list[EpisodicAgent]:
    """The agent that counts states, and the one that remembers."""
    given: Any = dict(horizon=SPEC.horizon, seed=5, **parameters)
    remembers = EpisodicAgent(algorithm, features=MAP, memory=memory, tolerance=tolerance, **given)
    return [EpisodicAgent(algorithm, features=FEATURES, **given), remembers]


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [
        ("adaptive_opt_wlsvi", dict(shortest=2, longest=8, share=0.1)),
        ("adaptive_opt_wlsvi", dict(shortest=2, longest=8, decision="draw")),
        ("adaptive", dict(base=RANDOM)),
    ],
)
def test_it_equals_the_mixture_that_counts_states(algorithm: str, parameters: dict[str, Any]) -> None:
    counts, remembers = agents(algorithm, memory=60, tolerance=1.0, **parameters)
    for t, one in enumerate((*SEEN, *JUMPED)):
        length = SPEC.horizon - (t % 4 == 3)
        assert led_through(remembers, one, length=length) == led_through(counts, one, length=length)
        np.testing.assert_allclose(indices(remembers, one), indices(counts, one), rtol=0, atol=1e-8)
    mixture, counted = remembers.state.weighing, counts.state
    np.testing.assert_allclose(mixture.log_weights, counted.log_weights, rtol=0, atol=1e-8)
    np.testing.assert_allclose(mixture.base.sums.gram, _whole(counts, counted.base.gram), rtol=0, atol=1e-9)
    np.testing.assert_allclose(mixture.base.sums.weight, counted.base.weight, rtol=1e-12)
    if "share" in parameters:
        assert mixture.base.sums.weight[-1] < len(SEEN + JUMPED)  # there was a fresh start
    for name, number in counts.agent.diagnostics(counted).items():
        assert remembers.agent.diagnostics(remembers.state)[name] == pytest.approx(number)


def _whole(learner: EpisodicAgent, grams: np.ndarray) -> np.ndarray:
    """Grams of blocks `[..., B, m, m]` as those of all coordinates."""
    if grams.ndim == 4:
        return grams
    assert learner.states.blocks is not None
    whole = np.zeros((*grams.shape[:2], SPEC.dim, SPEC.dim))
    for b, each in enumerate(learner.states.blocks.order):
        whole[..., each[:, None], each] = grams[:, :, b]
    return whole


def test_memories_that_need_more_episodes_than_are_kept_are_left_out() -> None:
    _, remembers = agents("adaptive_opt_wlsvi", memory=120, tolerance=1e-3)
    agent = remembers.agent
    assert isinstance(agent, RememberedMixture)
    assert agent.base.base.forgetting.rate == (1 - 1 / 8, 1 - 1 / 16, 1.0)  # 0.9375^120 < 0.001 < 0.96875^120


def test_the_last_memory_is_a_window_of_what_is_kept() -> None:
    """A mixture of one memory that forgets nothing, beside that memory alone."""
    given: Any = dict(features=MAP, horizon=SPEC.horizon, seed=5, memory=7, radius=0.4, ridge=0.5)
    alone = EpisodicAgent("lsvi_ucb", clip="tight", **given)
    mixed = EpisodicAgent("adaptive_opt_wlsvi", tolerance=1e-6, **given)
    for one in SEEN:
        assert led_through(mixed, one) == led_through(alone, one)
    np.testing.assert_allclose(indices(mixed, SEEN[-1]), indices(alone, SEEN[-1]), rtol=0, atol=1e-9)


def test_saved_and_loaded_it_goes_on_as_if_it_had_never_stopped(tmp_path: Any) -> None:
    def make_agent() -> EpisodicAgent:
        return agents("adaptive_opt_wlsvi", memory=9, tolerance=1.0, shortest=2, longest=8)[1]

    file = tmp_path / "agent.safetensors"
    assert_saving_changes_nothing(make_agent, [*SEEN, *JUMPED], file, features=MAP)
