"""Sizes of models that cannot fit into memory are refused before any array is made."""

from __future__ import annotations

from driftwise.base.memory import require_room, size_of
from driftwise.base.validation import require_count
from driftwise.environments.drift import Drift


def require_models(
    sizes: tuple[int, int, int, int], drift: Drift, *, steps: int = 1, **arguments: int
) -> None:
    """Room for linear MDPs of S states, A actions, d features and H steps, at the peak of their making.

    Features are made, copied to be kept, and squared to be checked. The maker's measures, of as many `steps`
    as differ, come in three copies before those of all H. The `arguments` are what the sizes follow from.
    """
    num_states, num_actions, dim, horizon = sizes
    features, measures = (num_states, num_actions, dim), (dim, num_states)
    rewards, kept = (drift.num_anchors, horizon, num_states, num_actions), (drift.num_anchors, horizon)
    at_peak = size_of(features, features, features, (*kept, *measures), (*kept, dim), rewards)
    at_peak += at_peak // 4  # masks of what is not finite, or out of bounds
    given = 3 * size_of((drift.num_anchors, steps, *measures))
    told = ", ".join(f"{name} = {value}" for name, value in arguments.items())
    anchors = f"{drift.num_anchors} anchor{'s' * (drift.num_anchors > 1)}"
    require_room("models", at_peak + given, f"{told} and {anchors}")


def require_path(num_episodes: int, width: int) -> int:
    """The number of episodes, if there is room for `width` numbers of each."""
    num_episodes = require_count("num_episodes", num_episodes)
    require_room("paths", size_of((num_episodes, width)), f"num_episodes = {num_episodes}")
    return num_episodes
