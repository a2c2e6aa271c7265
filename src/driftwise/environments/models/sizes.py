"""Sizes of models that cannot fit into memory are refused before any array is made."""

from __future__ import annotations

from driftwise.base.memory import require_room, size_of
from driftwise.base.types import Spec
from driftwise.base.validation import require_count
from driftwise.environments.drift import Drift


def require_models(spec: Spec, drift: Drift) -> None:
    """Room for features, rewards and measures of linear MDPs, as they are made and as they are kept."""
    features = spec.num_states, spec.num_actions, spec.dim
    theta = drift.num_anchors, spec.horizon, spec.dim
    arrays = 2 * size_of(features, theta, (*theta, spec.num_states))
    require_room("models", arrays, f"{spec} and {drift.num_anchors} anchor{'s' * (drift.num_anchors > 1)}")


def require_path(num_episodes: int, width: int) -> int:
    """The number of episodes, if there is room for `width` numbers of each."""
    num_episodes = require_count("num_episodes", num_episodes)
    require_room("paths", size_of((num_episodes, width)), f"num_episodes = {num_episodes}")
    return num_episodes
