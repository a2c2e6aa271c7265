"""How long tabular algorithms remember, from the sizes of the problem and the variation."""

from __future__ import annotations

import math

from driftwise.base.types import Spec
from driftwise.base.validation import require_count, require_number


def memory(spec: Spec, *, num_episodes: int, variation: float, power: float) -> float:
    r"""Episodes worth remembering for an algorithm with regret $\sqrt{H^a SAT}$ where nothing moves.

    Over $D$ epochs it loses $\sqrt{H^a SATD}$, and $HT\Delta/D$ to what moves within them. Both are equal
    at $D = (SA)^{-1/3} \Delta^{2/3} H^{(2-a)/3} T^{1/3}$ with $T = KH$, and the memory is $K/D$; it has no
    end where nothing varies. `power` is $a$.
    """
    num_episodes = require_count("num_episodes", num_episodes)
    variation = require_number("variation", variation, at_least=0)
    steps, pairs = num_episodes * spec.horizon, spec.num_states * spec.num_actions
    epochs = (variation**2 * steps * spec.horizon ** (2 - power) / pairs) ** (1 / 3)
    return num_episodes / epochs if epochs > 0 else math.inf


def restart_period(spec: Spec, *, num_episodes: int, variation: float, power: float) -> int:
    """The memory as a whole number of episodes, of at least one and at most all."""
    episodes = memory(spec, num_episodes=num_episodes, variation=variation, power=power)
    return max(1, math.ceil(min(episodes, num_episodes)))


def log_term(spec: Spec, factor: float, *, num_episodes: int, delta: float) -> float:
    r"""$\log(cSAT/\delta)$ with $T = KH$ and the `factor` $c$, for all steps of a run at once."""
    delta = require_number("delta", delta, above=0, at_most=1)
    steps = spec.horizon * require_count("num_episodes", num_episodes)
    return math.log(factor * spec.num_states * spec.num_actions * steps / delta)
